// What a part computes, read off its term.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "lift/epilogue.hpp"
#include "lift/mapping.hpp"
#include "lift/strategies.hpp"
#include "lift/terms.hpp"
#include "parts.hpp"

namespace lift {

std::string_view name(Pattern pattern) {
  switch (pattern) {
    case Pattern::product: return "matrix product";
    case Pattern::convolution: return "convolution";
    case Pattern::stencil: return "stencil";
    case Pattern::rows: return "reduction of rows";
    case Pattern::reduction: return "reduction";
    case Pattern::elementwise: return "elementwise map";
    case Pattern::transposition: return "transposition";
    case Pattern::other: return "other";
  }
  return "";
}

namespace detail::parts {

using rewrite::operator+;

bool runsLoop(Expr primitive) {
  const Prim p = primitive.prim();
  const bool computes = info(p).dialect == Dialect::functional && !movesData(p);
  return computes && p != Prim::ifThenElse && p != Prim::vectorize && p != Prim::at;
}

namespace {

bool hasWindows(Expr e) { return anyPrimitive(e, isSlide); }

}  // namespace

bool isComputedInOrder(Expr e) {
  return anyTerm(e, [](Expr x) {
    const Spine s = spineOf(x);
    if (!s.head.isPrimitive() || !holdsArrays(x.type())) return false;
    return runsInOrder(s.head.prim()) || isReduce(s.head.prim());
  });
}

bool mayBeCore(Expr term) { return anyPrimitive(term, runsLoop) || (hasWindows(term) && !onlyMovesData(term)); }

bool hasStepsOfParts(Expr term) {
  if (!takesLaunches(term)) return false;
  const auto& a = spineOf(term).arguments;
  return a.back().type().isArray() || std::any_of(a.begin(), a.end() - 1, [](Expr f) { return mayBeCore(f.body()); });
}

std::optional<std::array<Joined, 2>> joinedIn(Expr e, rewrite::Path path) {
  Spine s = spineOf(e);
  for (; isResultLayout(s, Crops::yes); s = spineOf(e)) {
    path.push_back(1);
    e = s.arguments.back();
  }
  if (!s.isPrim(Prim::concat) || std::ranges::any_of(s.arguments, onlyMovesData)) return std::nullopt;
  return std::array{Joined{s.arguments[0], path + rewrite::argumentPath(s, 0)},
                    Joined{s.arguments[1], path + rewrite::argumentPath(s, 1)}};
}

namespace {

// The first of the two dimensions of the array that a layout exchanges, and does nothing else.
std::optional<std::size_t> exchanged(Expr layout, Expr array) {
  const Spine s = spineOf(layout);
  if (s.isPrim(Prim::transpose)) return s.arguments[0] == array ? std::optional<std::size_t>(0) : std::nullopt;
  if (!s.isCall(Prim::map) || s.arguments[1] != array || !s.arguments[0].isLambda()) return std::nullopt;
  const auto inside = exchanged(s.arguments[0].body(), s.arguments[0].parameter());
  return inside ? std::optional(*inside + 1) : std::nullopt;
}

}  // namespace

Nat Nest::elements() const {
  Nat all = 1;
  for (const Loop& loop : loops) all = all * loop.length();
  return all;
}

Nest nestOf(Expr term, std::size_t most) {
  Nest nest;
  Expr given = term;  // with its layouts
  std::optional<std::size_t> turned;
  for (nest.body = underLayouts(given); isComputingMap(nest.body); nest.body = underLayouts(given)) {
    if (nest.loops.size() == most) break;
    if (const auto dimension = exchanged(given, nest.body)) turned = nest.loops.size() + *dimension;
    const Spine s = spineOf(nest.body);
    nest.loops.push_back({s.arguments[0].parameter(), s.arguments[1]});
    given = s.arguments[0].body();
  }
  nest.turned = turned && *turned + 1 == nest.loops.size();
  return nest;
}

std::optional<Expr> resultOfEpilogue(Expr map, const std::function<bool(Expr)>& isResult) {
  if (!isComputingMap(map) || anyPrimitive(spineOf(map).arguments[0], runsLoop)) return std::nullopt;
  const auto epilogue = rewrite::epilogueOf(map, isResult);
  const bool keepsType = epilogue && epilogue->value.type() == epilogue->element.type();
  return keepsType ? std::optional(epilogue->result) : std::nullopt;
}

Core coreOf(Expr term) {
  Core core;
  rewrite::Path path;
  for (Expr e = term;;) {
    core.path = path;
    const bool turned = nestOf(e).turned;  // how the result is written decides how it is computed
    for (const Expr under = underLayouts(e); e != under; e = spineOf(e).arguments.back()) path.push_back(1);
    if (!turned) core.path = path;
    const auto result = resultOfEpilogue(e, mayBeCore);
    if (!result) return core;
    core.epilogues.push_back(path);
    path = path + rewrite::Path{1} + *rewrite::pathOf(*result, spineOf(e).arguments[1]);
    e = *result;
  }
}

namespace {

// The first loop in the order of the text; nothing where there is none.
std::optional<Spine> firstLoop(Expr e) {
  std::optional<Spine> found;
  anyTerm(e, [&](Expr x) {
    const Spine s = spineOf(x);
    if (s.head.isPrimitive() && runsLoop(s.head)) found = s;
    return found.has_value();
  });
  return found;
}

// The loops of the nest whose variables a term depends on, also by way of inner loops' inputs. Of a pair each component
// by itself: of zip(vs, ws) the elements of ws do not depend on vs.
class Dependence {
 public:
  explicit Dependence(const Nest& nest) : loops_(nest.loops.size()) {
    for (std::size_t i = 0; i < loops_; i++) {
      On on = read(nest.loops[i].input);
      on.forEachLeaf([&](std::vector<bool>& leaf) { leaf[i] = true; });
      of_.emplace(nest.loops[i].variable, on);
    }
  }
  std::vector<bool> of(Expr e) { return anyOf(read(e)); }

 private:
  using On = ByComponent<std::vector<bool>>;

  std::vector<bool> anyOf(On on) const {
    std::vector<bool> any(loops_);
    on.forEachLeaf([&](const std::vector<bool>& leaf) {
      for (std::size_t i = 0; i < loops_; i++) any[i] = any[i] || leaf[i];
    });
    return any;
  }

  On read(Expr e) {
    if (const auto found = of_.find(e); found != of_.end()) return found->second;
    On on = ofTerm(e);
    of_.emplace(e, on);
    return on;
  }

  On ofTerm(Expr e) {
    On on{{}, std::vector<bool>(loops_)};
    if (e.isLambda()) return read(e.body());
    if (!e.isApply()) return on;
    const Spine s = spineOf(e);
    const auto& a = s.arguments;
    if (s.isPrim(Prim::get)) {
      const On whole = read(a[0]);
      return whole.components.empty() ? whole
                                      : whole.components.at(static_cast<std::size_t>(*s.head.nats()[0].constant()));
    }
    if (s.isPrim(Prim::zip) || s.isPrim(Prim::tuple)) {
      for (const Expr x : a) on.components.push_back(read(x));
      return on;
    }
    if (s.head.isPrimitive() && movesData(s.head.prim()) && a.size() == 1) return read(a[0]);
    if (!s.head.isPrimitive()) on.leaf = anyOf(read(s.head));
    for (const Expr x : a) {
      const std::vector<bool> also = anyOf(read(x));
      for (std::size_t i = 0; i < loops_; i++) on.leaf[i] = on.leaf[i] || also[i];
    }
    return on;
  }

  std::size_t loops_;
  std::unordered_map<Expr, On> of_;
};

Pattern ofReductions(Recognised& form, const Spine& reduction) {
  const Nest& nest = form.nest;
  if (nest.loops.empty()) return Pattern::reduction;
  Dependence dependence(nest);
  bool windows = hasWindows(reduction.arguments[2]);
  for (const Nest::Loop& loop : nest.loops) windows = windows || hasWindows(loop.input);
  const Spine operands = spineOf(reduction.arguments[2]);
  if (operands.isPrim(Prim::zip) && operands.arguments.size() == 2) {
    const std::vector<bool> a = dependence.of(operands.arguments[0]), b = dependence.of(operands.arguments[1]);
    const auto only = [](const std::vector<bool>& x, const std::vector<bool>& y, std::size_t i) {
      return x[i] && !y[i];
    };
    const auto depends = [&](const std::vector<bool>& x, const std::vector<bool>& y) {
      for (std::size_t i = 0; i < x.size(); i++)
        if (only(x, y, i)) return true;
      return false;
    };
    if (depends(a, b) && depends(b, a)) {
      form.operands = operands.arguments;
      form.dependsOn = {a, b};
      const std::size_t inner = nest.loops.size() - 1, outer = inner - 1;
      form.rowsThenColumns = (only(a, b, outer) && only(b, a, inner)) || (only(b, a, outer) && only(a, b, inner));
      return windows ? Pattern::convolution : Pattern::product;
    }
    form.whyNoProduct = depends(a, b) || depends(b, a)
                            ? "one operand is the same for all results that differ in the other"
                            : "its two operands change together from result to result";
  }
  return windows ? Pattern::stencil : Pattern::rows;
}

// How many dimensions of an array may be cut so that what a piece needs is computed for it alone: none of a scan, one
// of rows each of which is one.
class Apart {
 public:
  using Depths = ByComponent<int>;
  static constexpr int all = 64;

  void bind(Expr variable, const Depths& of) {
    const bool isNew = known_.insert_or_assign(variable, of).second;
    if (!isNew) terms_.clear();
  }
  static bool any(Depths d, int depth) {
    bool found = false;
    d.forEachLeaf([&](int leaf) { found = found || leaf == depth; });
    return found;
  }
  static Depths element(Depths array) {
    return changed(std::move(array), [](int d) { return d == all ? d : d - 1; });
  }

  Depths of(Expr e) {
    if (e.isVariable()) {
      const auto found = known_.find(e);
      return found == known_.end() ? Depths{{}, all} : found->second;
    }
    if (const auto found = terms_.find(e); found != terms_.end()) return found->second;
    const Depths depths = ofTerm(e);
    terms_.insert_or_assign(e, depths);
    return depths;
  }

 private:
  Depths ofTerm(Expr e) {
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive() || s.arguments.empty() || !holdsArrays(e.type())) return {{}, all};
    const auto& a = s.arguments;
    const auto changed = [&](const auto& f) { return Apart::changed(of(a.back()), f); };
    switch (s.head.prim()) {
      case Prim::get: {
        const Depths whole = of(a[0]);
        const auto k = static_cast<std::size_t>(*s.head.nats()[0].constant());
        return whole.components.empty() ? whole : whole.components[k];
      }
      case Prim::tuple:
      case Prim::zip: {
        Depths parts{{}, all};
        for (const Expr x : a) parts.components.push_back(of(x));
        return parts;
      }
      case Prim::let: bind(a[0].parameter(), of(a[1])); return of(a[0].body());
      case Prim::map: {
        const Depths in = of(a[1]);
        if (any(in, 0)) return {{}, 0};
        bind(a[0].parameter(), element(in));
        return Apart::changed(of(a[0].body()), [](int d) { return d == all ? d : d + 1; });
      }
      case Prim::generate: return Apart::changed(of(a[0].body()), [](int d) { return d == all ? d : d + 1; });
      case Prim::split:
      case Prim::slide:
      case Prim::slideStrict: return changed([](int d) { return d == 0 || d == all ? d : d + 1; });
      case Prim::join: return changed([](int d) { return d == all ? d : std::max(d - 1, 0); });
      case Prim::transpose: return changed([](int d) { return d == 1 ? 0 : d; });
      case Prim::at: return element(changed([](int d) { return std::max(d, 1); }));
      default: break;
    }
    if (runsInOrder(s.head.prim()) || isReduce(s.head.prim())) return {{}, 0};
    if (movesData(s.head.prim()) && a.size() == 1) return of(a[0]);
    return {{}, isComputedInOrder(e) ? 0 : all};
  }

  template <class F>
  static Depths changed(Depths d, const F& f) {
    d.forEachLeaf([&](int& leaf) { leaf = f(leaf); });
    return d;
  }
  std::unordered_map<Expr, Depths> known_, terms_;  // of variables, of terms
};

// The loops of the nest that a kernel may run side by side: what is computed in order for all elements of a loop below
// others would be computed for each of them.
Nest loopsApart(Expr term) {
  Nest nest = nestOf(term);
  if (!isComputedInOrder(term)) return nest;
  Apart apart;
  for (std::size_t i = 0; i < nest.loops.size(); i++) {
    const Apart::Depths of = apart.of(nest.loops[i].input);
    if (i > 0 && Apart::any(of, 0)) return nestOf(term, i);
    apart.bind(nest.loops[i].variable, Apart::element(of));
  }
  return nest;
}

// Whether the innermost loop is one of few elements, of channels say, within a long one of approximated functions:
// whatever neighbours in that compute fills vectors.
bool endsInFewElements(const Nest& nest) {
  constexpr std::int64_t few = 4, many = 16;
  if (nest.loops.size() < 2 || nest.turned || !approximates(nest.body)) return false;
  const auto length = [&](std::size_t fromInside) {
    return nest.loops[nest.loops.size() - fromInside].length().constant();
  };
  return length(1) && *length(1) <= few && length(2) && *length(2) >= many;
}

}  // namespace

Recognised recognise(Expr term) {
  Recognised form;
  form.nest = loopsApart(term);
  const bool isOfRows = form.nest.loops.size() < nestOf(term).loops.size();
  if (endsInFewElements(form.nest)) form.nest = nestOf(term, form.nest.loops.size() - 1);
  const auto loop = firstLoop(form.nest.body);
  if (loop) {
    // What an element needs besides a reduction: a scan or an iteration is another matter.
    const bool reduces = !anyPrimitive(form.nest.body, [](Expr p) { return runsLoop(p) && p.prim() != Prim::reduce; });
    form.reduces = reduces;
    if (reduces) form.reduced = loop->arguments[2].type().length();
    if (reduces) form.input = loop->arguments[2];
    if (reduces) form.pattern = ofReductions(form, *loop);
  } else if (!form.nest.loops.empty()) {
    const auto& loops = form.nest.loops;
    const bool windows = std::ranges::any_of(loops, [](const Nest::Loop& l) { return hasWindows(l.input); });
    form.pattern = windows ? Pattern::stencil : Pattern::elementwise;
  }
  // Families of stencils take each window as an element, none takes rows of windows as one.
  if (isOfRows && form.pattern == Pattern::stencil) form.pattern = Pattern::other;
  return form;
}

Expr tidied(const Program& program) {
  using namespace rewrite;
  Rewriting r(program);
  r.apply(canonical());
  return r.program().body;
}

}  // namespace detail::parts
}  // namespace lift
