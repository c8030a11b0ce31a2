// Convolutions recognised in terms. Each element of the result is read as an expression of elements of arrays
// (affine.hpp); which indices are pixels, kernels, channels, taps, groups or images follows from where they occur:
//
//   in the input and the result: pixels and images;    in the weights and the result: kernels;
//   in both operands and the result: groups;           in both operands and the sum: channels, and taps, which share a
//                                                      dimension of the input with pixels.
#include "recognise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "lift/affine.hpp"
#include "lift/build.hpp"
#include "lift/conv_program.hpp"
#include "lift/terms.hpp"

namespace lift::detail {
namespace {

using affine::Access;
using affine::Digit;
using affine::Element;
using affine::Form;
using Digits = std::vector<Digit>;

struct Not {
  std::string why;
};

bool has(const Digits& digits, Digit d) { return std::find(digits.begin(), digits.end(), d) != digits.end(); }
void append(Digits& digits, const Digits& more) { digits.insert(digits.end(), more.begin(), more.end()); }

// Rows and columns of the input, which are no digits of the element.
constexpr Digit rowsOfInput = -1, columnsOfInput = -2;

// Digits and their extents.
class Extents {
 public:
  explicit Extents(const Element& e) : element_(e) {}
  void set(Digit virtualDigit, std::int64_t extent) { virtual_[virtualDigit] = extent; }
  std::int64_t of(Digit d) const { return d < 0 ? virtual_.at(d) : element_.extents[static_cast<std::size_t>(d)]; }
  std::int64_t of(const Digits& digits) const {
    std::int64_t n = 1;
    for (const Digit d : digits) n *= of(d);
    return n;
  }

 private:
  const Element& element_;
  std::map<Digit, std::int64_t> virtual_;
};

// The digits of a form that are wanted, as an index of their own times `unit`.
struct Index {
  Digits digits;
  std::int64_t unit = 1;
};
template <class Wanted>
std::optional<Index> indexOf(const Form& form, const Extents& extents, const Wanted& wanted) {
  Index index;
  for (const auto& [digit, coefficient] : form.terms)
    if (wanted(digit)) index.digits.push_back(digit);
  std::sort(index.digits.begin(), index.digits.end(),
            [&](Digit a, Digit b) { return form.terms.at(a) > form.terms.at(b); });
  if (index.digits.empty()) return index;
  index.unit = form.terms.at(index.digits.back());
  std::int64_t next = index.unit;
  for (auto d = index.digits.rbegin(); d != index.digits.rend(); ++d) {
    if (form.terms.at(*d) != next || next < 1) return std::nullopt;
    next *= extents.of(*d);
  }
  return index;
}
std::optional<Index> indexOf(const Form& form, const Extents& extents) {
  return indexOf(form, extents, [](Digit) { return true; });
}

// A form with its digits counted upwards, from the least index on; those that it counts downwards.
struct Upwards {
  Form form;
  Digits reversed;
};
Upwards upwards(Form form, const Extents& extents) {
  Digits reversed;
  for (auto& [digit, coefficient] : form.terms)
    if (coefficient < 0) {
      form.constant += coefficient * (extents.of(digit) - 1);
      coefficient = -coefficient;
      reversed.push_back(digit);
    }
  return {form, reversed};
}

Digits outermostFirst(const Form& form) {
  Digits digits;
  for (const auto& [digit, coefficient] : form.terms) digits.push_back(digit);
  std::sort(digits.begin(), digits.end(),
            [&](Digit a, Digit b) { return std::abs(form.terms.at(a)) > std::abs(form.terms.at(b)); });
  return digits;
}

// An array whose dimensions are digits, and layouts of it.
class Arranged {
 public:
  Arranged(Expr array, const Extents& extents) : array_(array), extents_(extents) {}

  Expr array() const { return array_; }

  void part(std::int64_t from, std::int64_t count) {
    const auto length = *typeAt(dims_).length().constant();
    if (from > 0) each(dims_, [&](Expr x) { return build::drop(from, x); });
    if (from + count < length) each(dims_, [&](Expr x) { return build::take(count, x); });
  }
  // The next dimension is these digits.
  void add(const Digits& digits) {
    for (std::size_t i = digits.size(); i-- > 1;)
      each(dims_, [&](Expr x) { return build::split(extents_.of(digits[i]), x); });
    added(digits);
  }
  // The elements of the next dimension that the form reads are its digits.
  void add(const Form& form) {
    const auto [up, reversed] = upwards(form, extents_);
    const Digits digits = outermostFirst(up);
    std::int64_t count = 1;
    for (const auto& [digit, coefficient] : up.terms) count += coefficient * (extents_.of(digit) - 1);
    part(up.constant, count);
    for (std::size_t i = 0; i < digits.size(); i++) {
      const std::int64_t step = up.terms.at(digits[i]);
      count -= step * (extents_.of(digits[i]) - 1);  // what is left for the further digits
      if (count > step) throw Not{"its elements are read again"};
      if (i + 1 == digits.size() && step == 1) break;
      const int at = dims_ + static_cast<int>(i);
      each(at, [&](Expr x) {
        return count == step ? build::split(step, x) : build::call(Prim::slide, {count, step}, {x});
      });
      if (i + 1 == digits.size()) each(at, [](Expr x) { return build::call(Prim::join, {x}); });
    }
    for (std::size_t i = 0; i < digits.size(); i++)
      if (has(reversed, digits[i]))
        each(dims_ + static_cast<int>(i),
             [](Expr x) { return build::call(Prim::reorder, {}, {x}, static_cast<std::uint8_t>(IndexFn::reverse)); });
    added(digits);
  }
  // The same for every value of the digits that it does not depend on.
  void repeat(const Digits& digits) {
    for (const Digit d : digits) {
      if (has(order_, d)) continue;
      array_ = build::fill(extents_.of(d), array_);
      order_.insert(order_.begin(), d);
      dims_++;
    }
  }
  // Each dimension joined of its digits; all together those that there are.
  void arrange(const std::vector<Digits>& wanted) {
    Digits order;
    for (const Digits& digits : wanted) append(order, digits);
    if (order.empty()) throw Not{"it reads one element"};
    if (std::multiset<Digit>(order.begin(), order.end()) != std::multiset<Digit>(order_.begin(), order_.end()))
      throw Not{"an operand does not depend on all that it should"};
    for (std::size_t to = 0; to < order.size(); to++)
      for (auto from = static_cast<std::size_t>(std::find(order_.begin(), order_.end(), order[to]) - order_.begin());
           from > to; from--) {
        each(static_cast<int>(from) - 1, [](Expr x) { return build::call(Prim::transpose, {x}); });
        std::swap(order_[from - 1], order_[from]);
      }
    int rank = static_cast<int>(order.size());
    for (int at = 0; at < static_cast<int>(wanted.size()); at++) {
      const auto count = static_cast<int>(wanted[static_cast<std::size_t>(at)].size());
      for (int i = 1; i < count; i++) each(at, [](Expr x) { return build::call(Prim::join, {x}); });
      if (count == 0 && at < rank)
        each(at, [](Expr x) { return build::split(x.type().length(), x); });
      else if (count == 0)
        each(at - 1, [](Expr x) { return build::split(1, x); });
      rank += 1 - count;
    }
  }

 private:
  Type typeAt(int depth) const {
    Type t = array_.type();
    for (int i = 0; i < depth; i++) t = t.element();
    return t;
  }
  void added(const Digits& digits) {
    append(order_, digits);
    dims_ += static_cast<int>(digits.size());
    if (!digits.empty()) return;
    // Of one element: it becomes part of the next dimension, or of the last one.
    if (typeAt(dims_).element().isArray())
      each(dims_, [](Expr x) { return build::call(Prim::join, {x}); });
    else if (dims_ > 0)
      each(dims_ - 1, [](Expr x) { return build::call(Prim::join, {x}); });
    else
      throw Not{"it reads one element"};
  }
  template <class F>
  void each(int depth, const F& f) {
    array_ = below(array_, depth, f);
  }
  template <class F>
  static Expr below(Expr x, int depth, const F& f) {
    if (depth == 0) return f(x);
    const Expr row = Expr::variable("row", x.type().element());
    return build::map(Expr::lambda(row, below(row, depth - 1, f)), x);
  }

  Expr array_;
  const Extents& extents_;
  Digits order_;
  int dims_ = 0;
};

// ------------------------------------------------------------------------------------------------- reading a layer

// Rows or columns: outputs o and taps k read elements stride * o + dilation * k + offset of [first, end).
struct Axis {
  int dimension = -1;  // of the input; none: one element
  Digits outputs, taps;
  std::int64_t stride = 1, dilation = 1, offset = 0, first = 0, end = 1, padding = 0;
};

struct Layer {
  const Access* input = nullptr;
  const Access* weights = nullptr;
  Axis rows, columns;
  Digits images, groups, channels, kernels;
  ConvSpec spec;
};

class Reading {
 public:
  Reading(const Element& e, const affine::Sum& sum, const Extents& extents) : e_(e), sum_(sum), extents_(extents) {
    for (const Digits& d : e.result) append(result_, d);
  }

  Layer layer(const Access& input, const Access& weights, bool slides) {
    layer_ = {};
    layer_.input = &input;
    layer_.weights = &weights;
    if (!weights.guards.empty()) throw Not{"its weights are padded"};
    for (const Digit d : sum_.digits)
      if (!isOf(input, d) || !isOf(weights, d)) throw Not{"it sums what one operand does not depend on"};
    for (const Digit d : result_)
      if (!isOf(input, d) && !isOf(weights, d)) throw Not{"its results are repeated"};
    readInput(slides);
    readWeights();
    describe();
    return layer_;
  }

 private:
  static int countOf(const Access& access, Digit d) {
    int n = 0;
    for (const Form& form : access.place) n += form.terms.count(d) > 0;
    return n;
  }
  static bool isOf(const Access& access, Digit d) { return countOf(access, d) > 0; }
  bool isPixel(Digit d) const { return has(result_, d) && !isOf(*layer_.weights, d); }
  bool isGroup(Digit d) const { return has(result_, d) && isOf(*layer_.weights, d); }

  struct Region {
    std::int64_t first, end;
  };
  // Of each dimension of the input, where there is more than zeros.
  std::vector<std::optional<Region>> regions() const {
    const Access& in = *layer_.input;
    std::vector<std::optional<Region>> regions(in.place.size());
    for (const affine::Guard& g : in.guards) {
      bool found = false;
      for (std::size_t i = 0; i < in.place.size() && !found; i++) {
        if (g.index.terms.empty() || in.place[i].terms != g.index.terms) continue;
        const std::int64_t first = in.place[i].constant - g.index.constant;
        const Region region{first, first + g.length};
        regions[i] = !regions[i]
                         ? region
                         : Region{std::max(regions[i]->first, region.first), std::min(regions[i]->end, region.end)};
        found = true;
      }
      if (!found) throw Not{"what is padded is no dimension of the input"};
    }
    return regions;
  }

  static std::int64_t lengthOf(const Access& access, std::size_t dimension) {
    Type t = access.source.type();
    for (std::size_t i = 0; i < dimension; i++) t = t.element();
    return *t.length().constant();
  }

  Axis axisOf(std::size_t dimension, const std::optional<Region>& region) const {
    const Form& form = layer_.input->place[dimension];
    const auto outputs = indexOf(form, extents_, [&](Digit d) { return isPixel(d); });
    const auto taps = indexOf(form, extents_, [&](Digit d) { return has(sum_.digits, d); });
    if (!outputs || !taps) throw Not{"its windows do not follow each other"};
    Axis axis{
        static_cast<int>(dimension),       outputs->digits, taps->digits, outputs->unit, taps->unit, form.constant, 0,
        lengthOf(*layer_.input, dimension)};
    if (region) {
      axis.first = std::max(axis.first, region->first);
      axis.end = std::min(axis.end, region->end);
    }
    const std::int64_t o = extents_.of(axis.outputs), k = extents_.of(axis.taps);
    const std::int64_t last = axis.offset + axis.stride * (o - 1) + axis.dilation * (k - 1);
    axis.first = std::max(axis.first, axis.offset);  // what is in front of all windows
    axis.padding = axis.first - axis.offset;
    if (last - axis.end >= 0 && !region) throw Not{"it reads beyond its input"};
    if (axis.end - 1 - last >= axis.stride) axis.end = last + 1;  // what is behind all windows
    if (axis.first >= axis.end) throw Not{"its windows are of zeros"};
    return axis;
  }

  void readInput(bool slides) {
    const Access& in = *layer_.input;
    const auto padded = regions();
    std::vector<std::size_t> windows, others;
    for (std::size_t i = 0; i < in.place.size(); i++) {
      bool pixels = false, groups = false;
      for (const auto& [d, coefficient] : in.place[i].terms) {
        if (countOf(in, d) > 1) throw Not{"an index is of several dimensions"};
        pixels = pixels || isPixel(d);
        groups = groups || isGroup(d);
      }
      if (pixels && groups) throw Not{"its weights depend on the place"};
      const auto whole = indexOf(in.place[i], extents_);
      const bool dense = whole && whole->unit == 1 && !padded[i];
      const bool sums = std::any_of(in.place[i].terms.begin(), in.place[i].terms.end(),
                                    [&](const auto& t) { return has(sum_.digits, t.first); });
      if (groups && !dense) throw Not{"its groups of channels do not follow each other"};
      if (pixels ? sums || !dense : !dense)
        windows.push_back(i);
      else if (pixels)
        others.push_back(i);
      else
        for (const Digit d : whole->digits) (isGroup(d) ? layer_.groups : layer_.channels).push_back(d);
    }
    chooseAxes(windows, others, padded, slides);
  }

  // Rows and columns are where windows slide; a dimension beside them is the other one of an image.
  void chooseAxes(std::vector<std::size_t> windows, std::vector<std::size_t> others,
                  const std::vector<std::optional<Region>>& padded, bool slides) {
    if (windows.size() > 2) throw Not{"its windows have more than two dimensions"};
    if (windows.empty() && !slides) throw Not{"it has no windows"};
    if (windows.size() < 2 && !others.empty()) {
      const auto inner =
          std::find_if(others.begin(), others.end(), [&](std::size_t i) { return !windows.empty() && i > windows[0]; });
      const std::size_t least = windows.empty() ? 1 : 2;  // one more is an image of a batch
      if (inner != others.end()) {
        windows.push_back(*inner);
        others.erase(inner);
      } else {
        while (windows.size() < 2 && others.size() >= least) {
          windows.insert(windows.begin(), others.back());
          others.pop_back();
        }
      }
    }
    if (!windows.empty()) layer_.columns = axisOf(windows.back(), padded[windows.back()]);
    if (windows.size() == 2) layer_.rows = axisOf(windows[0], padded[windows[0]]);
    for (const std::size_t i : others) append(layer_.images, indexOf(layer_.input->place[i], extents_)->digits);
  }

  void readWeights() {
    for (const Form& form : layer_.weights->place) {
      for (const Digit d : outermostFirst(form)) {
        if (countOf(*layer_.weights, d) > 1) throw Not{"an index is of several dimensions"};
        if (has(result_, d) && !isOf(*layer_.input, d)) layer_.kernels.push_back(d);
      }
    }
  }

  void describe() {
    const Axis &h = layer_.rows, &w = layer_.columns;
    ConvSpec& s = layer_.spec;
    s.groups = extents_.of(layer_.groups);
    s.batch = extents_.of(layer_.images);
    s.ic = s.groups * extents_.of(layer_.channels);
    s.oc = s.groups * extents_.of(layer_.kernels);
    s.ih = h.end - h.first;
    s.iw = w.end - w.first;
    s.kh = extents_.of(h.taps);
    s.kw = extents_.of(w.taps);
    s.sh = h.stride;
    s.sw = w.stride;
    s.dh = s.kh > 1 ? h.dilation - 1 : 0;
    s.dw = s.kw > 1 ? w.dilation - 1 : 0;
    const std::int64_t oh = extents_.of(h.outputs), ow = extents_.of(w.outputs);
    const auto behind = [](const Axis& axis, std::int64_t out, std::int64_t extent) {
      return std::max<std::int64_t>(0, axis.offset + axis.stride * (out - 1) + extent - axis.end);
    };
    s.setPadding(h.padding, w.padding, behind(h, oh, s.extentH()), behind(w, ow, s.extentW()));
    if (s.oh != oh || s.ow != ow) throw Not{"its windows are not those of a layer"};
    if (const auto problems = s.problems(); !problems.empty()) throw Not{problems[0]};
  }

  const Element& e_;
  const affine::Sum& sum_;
  const Extents& extents_;
  Digits result_;
  Layer layer_;
};

// ------------------------------------------------------------------------------------------------------ restating

// The order of a tensor's dimensions, a letter for each, outermost first: those of one element left out.
std::string orderOf(const std::vector<Digits>& dimensions, const std::function<char(Digit)>& letterOf) {
  std::string order;
  for (const Digits& digits : dimensions)
    for (const Digit d : digits)
      if (const char c = letterOf(d); order.empty() || order.back() != c) order += c;
  return order;
}

// The layout of that order: the natural one, another, or, of blocks of so many channels, one of blocks.
Layout layoutOf(const std::string& order, std::int64_t lastBlock, Layout natural, const std::vector<Layout>& all) {
  for (const Layout layout : all) {
    const std::string_view name = layoutName(layout);
    std::string letters;  // nChw16c: nchwc
    for (const char c : name)
      if (std::isalpha(static_cast<unsigned char>(c))) letters += static_cast<char>(std::tolower(c));
    if (blockOf(layout) > 1 && blockOf(layout) != lastBlock) continue;
    std::string present;
    for (const char c : letters)
      if (order.find(c) != std::string::npos && (present.empty() || present.back() != c)) present += c;
    if (present == order) return layout;
  }
  return natural;
}

class Restating {
 public:
  Restating(const Element& e, const Layer& layer, const Extents& extents, Expr sum)
      : e_(e), layer_(layer), extents_(extents), sum_(sum), elements_(scalarOf(sum.type())) {
    extents_.set(rowsOfInput, layer.spec.ih);
    extents_.set(columnsOfInput, layer.spec.iw);
    channelsOfOutput_ = layer.groups;
    append(channelsOfOutput_, layer.kernels);
    output_ = {layer.images, layer.rows.outputs, layer.columns.outputs, channelsOfOutput_};
  }

  Recognised made() {
    const Expr value = withBias(e_.value);
    Recognised r;
    r.spec = layer_.spec;
    r.layouts = layouts();
    r.sources = {layer_.input->source, layer_.weights->source};
    const Expr input = Expr::variable("input", typeOf(r.spec.inputShape()));
    const Expr weights = Expr::variable("weights", typeOf(r.spec.weightShape()));
    const Expr biases = Expr::variable("biases", typeOf(r.spec.biasShape()));
    const Expr layer = layerProgram(input, weights, biases);
    Arranged result(value == sum_ ? layer : computedOf(layer, value, r.sources), extents_);
    for (const Digits& digits : output_) result.add(digits);
    result.arrange(e_.result);
    if (bias_) r.sources.push_back(bias_->source);
    const Expr biasValues = bias_ ? arranged(*bias_, {channelsOfOutput_})
                                  : build::fill(r.spec.oc, Expr::literal(ScalarValue::of(elements_, 0)));
    r.restated = etaLong(build::let(
        input, inputArray(), build::let(weights, weightArray(), build::let(biases, biasValues, result.array()))));
    const auto place = rewrite::pathOf(layer, r.restated);
    ensure(place.has_value(), "the layer's program is in what is made of it");
    r.layer = *place;
    return r;
  }

 private:
  Type typeOf(const std::vector<std::int64_t>& shape) const {
    Type t = Type::scalar(elements_);
    for (auto n = shape.rbegin(); n != shape.rend(); ++n) t = Type::array(*n, t);
    return t;
  }

  Expr layerProgram(Expr input, Expr weights, Expr biases) const {
    static std::mutex mutex;
    static std::map<std::string, Program> known;
    const std::lock_guard lock(mutex);
    const std::string text = fmt::format("{} {}", info(elements_).name, layer_.spec.str());
    auto found = known.find(text);
    if (found == known.end()) found = known.emplace(text, convProgram(layer_.spec, elements_)).first;
    std::unordered_map<Expr, Expr> arguments;
    for (const Expr p : found->second.parameters)
      arguments.emplace(p, p.name() == "input" ? input : p.name() == "weights" ? weights : biases);
    return etaLong(substitute(found->second.body, arguments));
  }

  // Of all of them, or the same for some.
  bool isOfChannels(const Access& access) const {
    Digits all;
    for (const Form& form : access.place)
      for (const auto& [d, coefficient] : form.terms) all.push_back(d);
    const std::set<Digit> different(all.begin(), all.end());
    return all.empty() == channelsOfOutput_.empty() && different.size() == all.size() &&
           std::all_of(all.begin(), all.end(), [&](Digit d) { return has(channelsOfOutput_, d); });
  }

  const Access* accessOf(Expr variable) const {
    if (!variable.is(Expr::Form::variable)) return nullptr;
    const auto found = e_.accesses.find(variable.id());
    return found == e_.accesses.end() ? nullptr : &found->second;
  }

  // What the sum starts with, or is added to it first, where it is one number for each kernel; the rest is what is
  // computed of the layer's output.
  Expr withBias(Expr value) {
    const Expr init = e_.sums.at(sum_.id()).init;
    const auto isBias = [&](Expr x) { return accessOf(x) != nullptr && isOfChannels(*accessOf(x)); };
    if (isBias(init)) {
      bias_ = accessOf(init);
      return value;
    }
    if (!(init.is(Expr::Form::literal) && init.value().asDouble() == 0))
      return replaceTerms(value, {{sum_, build::operation(Op::add, {init, sum_})}});
    const std::optional<Expr> sum = biased(value, isBias);
    return sum ? replaceTerms(value, {{*sum, sum_}}) : value;
  }

  template <class IsBias>
  std::optional<Expr> biased(Expr e, const IsBias& isBias) {
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::op) && s.head.op() == Op::add)
      for (const std::size_t i : {0U, 1U})
        if (s.arguments[i] == sum_ && isBias(s.arguments[1 - i])) {
          bias_ = accessOf(s.arguments[1 - i]);
          return e;
        }
    for (const Expr a : s.arguments)
      if (const auto found = biased(a, isBias)) return found;
    return std::nullopt;
  }

  Expr inputArray() const {
    const auto& place = layer_.input->place;
    Arranged a(layer_.input->source, extents_);
    for (std::size_t i = 0; i < place.size(); i++) {
      const bool isRow = layer_.rows.dimension == static_cast<int>(i);
      const bool isColumn = layer_.columns.dimension == static_cast<int>(i);
      const Axis& axis = isRow ? layer_.rows : layer_.columns;
      if (isRow || isColumn)
        addPart(a, axis.first, {isRow ? rowsOfInput : columnsOfInput});
      else
        addPart(a, place[i].constant, indexOf(place[i], extents_)->digits);
    }
    Digits channels = layer_.groups;
    append(channels, layer_.channels);
    const auto axis = [](const Axis& x, Digit d) { return x.dimension < 0 ? Digits() : Digits{d}; };
    a.arrange({layer_.images, axis(layer_.rows, rowsOfInput), axis(layer_.columns, columnsOfInput), channels});
    return a.array();
  }

  void addPart(Arranged& a, std::int64_t from, const Digits& digits) const {
    a.part(from, extents_.of(digits));
    a.add(digits);
  }

  // The elements that an access reads, in these dimensions.
  Expr arranged(const Access& access, const std::vector<Digits>& dimensions) const {
    if (!access.guards.empty()) throw Not{"what is computed of its outputs reads padding"};
    Arranged a(access.source, extents_);
    for (const Form& form : access.place) a.add(form);
    if (isOfChannels(access)) a.repeat(channelsOfOutput_);
    a.arrange(dimensions);
    return a.array();
  }

  Expr weightArray() const {
    return arranged(*layer_.weights, {channelsOfOutput_, layer_.rows.taps, layer_.columns.taps, layer_.channels});
  }

  // `value` for each output, of the sum there and elements of other arrays: of all outputs, or one for each channel.
  Expr computedOf(Expr layer, Expr value, std::vector<Expr>& sources) const {
    std::vector<Expr> variables{sum_}, arrays{layer};
    std::vector<bool> isOfAll{true};
    for (const Expr v : value.freeVariables()) {
      if (v == sum_) continue;
      const Access* access = accessOf(v);
      if (access == nullptr) throw Not{"it is more than one sum"};
      if (access->place.empty()) {
        sources.push_back(access->source);
        value = substitute(value, v, access->source);
        continue;
      }
      variables.push_back(v);
      sources.push_back(access->source);
      isOfAll.push_back(!isOfChannels(*access));
      arrays.push_back(arranged(*access, isOfAll.back() ? output_ : std::vector<Digits>{channelsOfOutput_}));
    }
    return elementwise(value, variables, arrays, isOfAll, 0);
  }

  static Expr elementwise(Expr value, const std::vector<Expr>& variables, const std::vector<Expr>& arrays,
                          const std::vector<bool>& isOfAll, int depth) {
    constexpr int innermost = 3;
    std::vector<Expr> mapped;
    for (std::size_t i = 0; i < arrays.size(); i++)
      if (isOfAll[i] || depth == innermost) mapped.push_back(arrays[i]);
    const Expr all = build::zip(mapped), x = Expr::variable("x", all.type().element());
    std::vector<Expr> inner = arrays;
    std::size_t component = 0;
    for (std::size_t i = 0; i < arrays.size(); i++)
      if (isOfAll[i] || depth == innermost) inner[i] = mapped.size() == 1 ? x : build::get(x, component++);
    if (depth < innermost)
      return build::map(Expr::lambda(x, elementwise(value, variables, inner, isOfAll, depth + 1)), all);
    std::unordered_map<Expr, Expr> now;
    for (std::size_t i = 0; i < variables.size(); i++) now.emplace(variables[i], inner[i]);
    return build::map(Expr::lambda(x, substitute(value, now)), all);
  }

  ConvLayouts layouts() const {
    const auto letter = [&](Digit d) -> char {
      const auto is = [&](const Digits& digits) { return has(digits, d); };
      if (is(layer_.images)) return 'n';
      if (is(layer_.rows.outputs) || is(layer_.rows.taps)) return 'h';
      if (is(layer_.columns.outputs) || is(layer_.columns.taps)) return 'w';
      return 'c';
    };
    const auto letterOfWeight = [&](Digit d) {
      return has(channelsOfOutput_, d) ? 'o' : letter(d) == 'c' ? 'i' : letter(d);
    };
    const auto digitsOf = [&](const Access& access) {
      std::vector<Digits> dimensions;
      for (const Form& form : access.place) dimensions.push_back(outermostFirst(form));
      return dimensions;
    };
    const auto lastOf = [&](const std::vector<Digits>& dimensions) {
      return dimensions.empty() ? 1 : extents_.of(dimensions.back());
    };
    const std::vector<Layout> ofImages{Layout::nhwc, Layout::nchw, Layout::nChw16c, Layout::nChw8c};
    const auto in = digitsOf(*layer_.input);
    return {layoutOf(orderOf(in, letter), lastOf(in), Layout::nhwc, ofImages),
            layoutOf(orderOf(digitsOf(*layer_.weights), letterOfWeight), 1, Layout::ohwi, {Layout::ohwi, Layout::oihw}),
            layoutOf(orderOf(e_.result, letter), lastOf(e_.result), Layout::nhwc, ofImages), elements_};
  }

  const Element& e_;
  const Layer& layer_;
  Extents extents_;
  Expr sum_;
  Scalar elements_;  // of all arrays
  const Access* bias_ = nullptr;
  Digits channelsOfOutput_;
  std::vector<Digits> output_;  // images, rows, columns, channels
};

Recognised recognised(Expr term) {
  const Type type = baseOf(term.type());
  if (!term.type().isArray() || !type.is(Type::Kind::scalar) ||
      !(scalarOf(type) == Scalar::f32 || isHalf(scalarOf(type))))
    throw Not{"it is not of f32, f16 or h16"};
  if (!anyPrimitive(term, [](Expr p) { return p.prim() == Prim::reduce; })) throw Not{"it reduces nothing"};
  std::string why;
  const auto element = affine::elementOf(term, &why);
  if (!element) throw Not{why};
  const auto sum = std::find_if(element->sums.begin(), element->sums.end(), [&](const auto& s) {
    const auto& free = element->value.freeVariables();
    return std::any_of(free.begin(), free.end(), [&](Expr v) { return v.id() == s.first; });
  });
  if (sum == element->sums.end()) throw Not{"it is no sum"};
  const auto& free = element->value.freeVariables();
  const Expr variable = *std::find_if(free.begin(), free.end(), [&](Expr v) { return v.id() == sum->first; });
  const Spine product = spineOf(sum->second.term);
  if (!product.isPrim(Prim::op) || product.head.op() != Op::mul) throw Not{"it is no sum of products"};
  const auto operand = [&](std::size_t i) -> const Access& {
    const Expr x = product.arguments[i];
    const auto found = x.is(Expr::Form::variable) ? element->accesses.find(x.id()) : element->accesses.end();
    if (found == element->accesses.end()) throw Not{"its operands are computed where they are multiplied"};
    if (scalarOf(baseOf(found->second.source.type())) != scalarOf(type)) throw Not{"its operands are of other types"};
    return found->second;
  };
  const Access &a = operand(0), &b = operand(1);
  const Extents extents(*element);
  const auto attempt = [&](const Access& input, const Access& weights) {
    const Layer layer = Reading(*element, sum->second, extents).layer(input, weights, element->slides);
    return Restating(*element, layer, extents, variable).made();
  };
  try {
    return attempt(a, b);
  } catch (const Not& first) {
    try {
      return attempt(b, a);
    } catch (const Not&) {
      throw first;
    }
  }
}

}  // namespace

std::optional<Recognised> recogniseConv(Expr term, std::string* why) {
  try {
    return recognised(term);
  } catch (const Not& no) {
    if (why != nullptr) *why = no.why;
    return std::nullopt;
  }
}

namespace {
constexpr const char* ruleName = "asConvolution";
}

rewrite::Rule convRule() {
  const rewrite::RuleRow row{
      ruleName,
      "map(fun window => map(fun k => reduce(0.0, fun (a, (w, x)) => a + w * x, zip(k, window)), ks), "
      "slide(3, 1, pad(1, 1, 0.0, (xs: [n]f32)))) => "
      "let input = layout(xs) in let weights = layout(ks) in let biases = fill(o, 0.0) in "
      "layout(conv(weights, biases, input))",
      "lift-conv listing 3", rewrite::When::rounds};
  return {row, {}, [](Expr e, const rewrite::Arguments&) -> std::optional<Expr> {
            const auto found = recogniseConv(e);
            return found ? std::optional(found->restated) : std::nullopt;
          }};
}

std::optional<OperatorMatch> matchConv(Expr term) {
  const auto found = recogniseConv(term);
  if (!found) return std::nullopt;
  std::string descriptor = found->spec.str();
  if (const std::string order = found->layouts.str(); !order.empty()) descriptor += " with " + order;
  return OperatorMatch{descriptor, found->sources, ruleName, found->layer};
}

}  // namespace lift::detail
