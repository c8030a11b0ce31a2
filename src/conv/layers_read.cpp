// Which indices are pixels, kernels, channels, taps, groups or images follows from where they occur:
//
//   in the input and the result: pixels and images;    in the weights and the result: kernels;
//   in both operands and the result: groups;           in both operands and the sum: channels, and taps, which share a
//                                                      dimension of the input with pixels.
#include "layers.hpp"

namespace lift::detail::layers {

std::optional<Index> indexOf(const Form& form, const Extents& extents, const std::function<bool(Digit)>& wanted) {
  Index index;
  for (const auto& [digit, coefficient] : form.terms)
    if (wanted(digit)) index.digits.push_back(digit);
  std::ranges::sort(index.digits, [&](Digit a, Digit b) { return form.terms.at(a) > form.terms.at(b); });
  if (index.digits.empty()) return index;
  index.unit = form.terms.at(index.digits.back());
  std::int64_t next = index.unit;
  for (auto d = index.digits.rbegin(); d != index.digits.rend(); ++d) {
    if (form.terms.at(*d) != next || next < 1) return std::nullopt;
    next *= extents.of(*d);
  }
  return index;
}

namespace {

class Reading {
 public:
  Reading(const Element& e, const affine::Sum& sum, const Extents& extents) : e_(e), sum_(sum), extents_(extents) {
    for (const Digits& d : e.result) append(result_, d);
  }

  Layer layer(const Access& input, const Access& weights) {
    layer_ = {};
    layer_.input = &input;
    layer_.weights = &weights;
    if (!weights.guards.empty()) throw Not{"its weights are padded"};
    for (const Digit d : sum_.digits)
      if (!isOf(input, d) || !isOf(weights, d)) throw Not{"it sums what one operand does not depend on"};
    for (const Digit d : result_)
      if (!isOf(input, d) && !isOf(weights, d)) throw Not{"its results are repeated"};
    readInput();
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

  void readInput() {
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
      const bool sums =
          std::ranges::any_of(in.place[i].terms, [&](const auto& t) { return has(sum_.digits, t.first); });
      if (groups && !dense) throw Not{"its groups of channels do not follow each other"};
      if (pixels ? sums || !dense : !dense)
        windows.push_back(i);
      else if (pixels)
        others.push_back(i);
      else
        for (const Digit d : whole->digits) (isGroup(d) ? layer_.groups : layer_.channels).push_back(d);
    }
    chooseAxes(windows, others, padded);
  }

  // Rows and columns are where windows slide; a dimension beside them is the other one of an image.
  void chooseAxes(std::vector<std::size_t> windows, std::vector<std::size_t> others,
                  const std::vector<std::optional<Region>>& padded) {
    if (windows.size() > 2) throw Not{"its windows have more than two dimensions"};
    if (windows.empty() && !e_.slides) throw Not{"it has no windows"};
    if (windows.size() < 2 && !others.empty()) {
      const auto inner =
          std::ranges::find_if(others, [&](std::size_t i) { return !windows.empty() && i > windows[0]; });
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

}  // namespace

Layer readLayer(const Element& element, const affine::Sum& sum, const Extents& extents, const Access& input,
                const Access& weights) {
  return Reading(element, sum, extents).layer(input, weights);
}

}  // namespace lift::detail::layers
