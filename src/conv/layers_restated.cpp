// Layers restated: the layer's program between layouts of its operands and of its result.
#include <fmt/format.h>

#include <mutex>
#include <set>

#include "layers.hpp"
#include "lift/build.hpp"
#include "lift/conv_program.hpp"
#include "lift/terms.hpp"

namespace lift::detail::layers {

using affine::Arranged;

namespace {

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
           std::ranges::all_of(all, [&](Digit d) { return has(channelsOfOutput_, d); });
  }

  // What the sum starts with, or is added to it first, where it is one number for each kernel; the rest is what is
  // computed of the layer's output.
  Expr withBias(Expr value) {
    const Expr init = e_.sums.at(sum_.id()).init;
    const auto isBias = [&](Expr x) { return e_.accessOf(x) != nullptr && isOfChannels(*e_.accessOf(x)); };
    if (isBias(init)) {
      bias_ = e_.accessOf(init);
      return value;
    }
    if (!(init.isLiteral() && init.value().asDouble() == 0))
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
          bias_ = e_.accessOf(s.arguments[1 - i]);
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
      const Access* access = e_.accessOf(v);
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

}  // namespace

Recognised restated(const Element& element, const Layer& layer, const Extents& extents, Expr sum) {
  return Restating(element, layer, extents, sum).made();
}

}  // namespace lift::detail::layers
