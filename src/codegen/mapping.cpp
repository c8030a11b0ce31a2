// Where work runs: the default mapping of functional programs, and the rules that every mapping must keep.
#include <fmt/format.h>

#include <algorithm>

#include "lift/diagnostic.hpp"
#include "lowering.hpp"

namespace lift {
namespace {

constexpr int maxDimensions = 3;

// Results that several windows share are stored when one costs more operations than this; cheaper ones are computed
// again for every window. A load and a store, and a launch, are worth some dozen operations; without a bound, a chain
// of stencils would cost operations exponential in its length.
constexpr double recomputedOperations = 16;

Expr etaPrimitive(Prim prim, std::vector<Nat> nats, Type type, const std::vector<Expr>& arguments) {
  return applyAll(Expr::primitive(prim, std::move(nats), type), arguments);
}

Expr mapOver(Prim prim, std::vector<Nat> nats, Expr f, Expr in) {
  const Type out = Type::array(in.type().length(), f.type().result());
  return etaPrimitive(prim, std::move(nats), Type::function(f.type(), Type::function(in.type(), out)), {f, in});
}

Expr toGlobal(Expr e) { return etaPrimitive(Prim::toGlobal, {}, Type::function(e.type(), e.type()), {e}); }

// Names of mere rearrangements are replaced by what they stand for, so that the maps of a nest meet.
Expr withoutViewNames(Expr e) {
  if (e.is(Expr::Form::lambda)) return Expr::lambda(e.parameter(), withoutViewNames(e.body()));
  if (!e.is(Expr::Form::apply)) return e;
  Spine s = spineOf(e);
  if (s.isPrim(Prim::let) && s.arguments.size() == 2 && onlyMovesData(s.arguments[1]))
    return withoutViewNames(substitute(s.arguments[0].body(), s.arguments[0].parameter(), s.arguments[1]));
  for (Expr& a : s.arguments) a = withoutViewNames(a);
  return applyAll(s.head, s.arguments);
}

class DefaultMapping {
 public:
  explicit DefaultMapping(const Program& program)
      : parameters_(program.parameters.begin(), program.parameters.end()), spans_(program.spans) {}

  // Where the primitives stand, those included that took the place of others.
  detail::Spans takeSpans() { return std::move(spans_); }

  // The term that a kernel computes: parallel over its outermost dimensions.
  Expr result(Expr e) {
    if (!e.type().isArray() && !e.type().is(Type::Kind::tuple)) return alone(e);
    if (!e.is(Expr::Form::apply)) return identityMap(e);
    Spine s = spineOf(e);
    auto& a = s.arguments;
    if (isWrittenThrough(s.head.prim())) {
      for (Expr& x : a) x = result(x);
      return applyAll(s.head, a);
    }
    switch (s.head.prim()) {
      case Prim::let: {
        const Expr value = onlyMovesData(a[1])     ? operand(a[1])
                           : a[1].type().isArray() ? toGlobal(result(a[1]))
                                                   : sequential(a[1]);
        if (value == a[1] || onlyMovesData(value)) return result(substitute(a[0].body(), a[0].parameter(), value));
        parameters_.insert(a[0].parameter());
        return applyAll(s.head, {Expr::lambda(a[0].parameter(), result(a[0].body())), value});
      }
      case Prim::toGlobal:
        return result(a[0]);
      case Prim::iterate: {
        if (!a[1].type().isArray()) return alone(e);
        parameters_.insert(a[0].parameter());
        const Expr f = Expr::lambda(a[0].parameter(), result(a[0].body()));
        return applyAll(s.head, {f, onlyMovesData(a[1]) ? operand(a[1]) : result(a[1])});
      }
      case Prim::map:
        if (isInvertibleIn(a[0].body(), a[0].parameter())) {
          a[1] = result(a[1]);
          return applyAll(s.head, a);
        }
        if (onlyMovesData(e)) return identityMap(e);
        return mapNest(e, depthOf(e));
      case Prim::generate: {
        const Expr i = Expr::variable("i", a[0].parameter().type());
        const Expr indices = applyAll(Expr::primitive(Prim::generate, s.head.nats(),
                                                      Type::function(Type::function(i.type(), i.type()),
                                                                     Type::array(s.head.nats()[0], i.type()))),
                                      {Expr::lambda(i, i)});
        return mapOver(Prim::mapGlb, {Nat(0)}, Expr::lambda(a[0].parameter(), sequential(a[0].body())), indices);
      }
      default:
        break;
    }
    if (onlyMovesData(e)) return identityMap(e);
    return alone(e);
  }

 private:
  // A computing map nest of the term, and how many of its levels become dimensions.
  static bool isComputingMap(Expr e) {
    const Spine s = spineOf(e);
    return s.isPrim(Prim::map) && s.arguments.size() == 2 &&
           !isInvertibleIn(s.arguments[0].body(), s.arguments[0].parameter());
  }
  // The part of a map's body that is below invertible layouts.
  static Expr underLayouts(Expr e) {
    Spine s = spineOf(e);
    while (s.head.is(Expr::Form::primitive) && s.arguments.size() == 1 && isInvertibleLayout(s.head.prim())) {
      e = s.arguments[0];
      s = spineOf(e);
    }
    return e;
  }
  // Whether evaluating the term runs a scan or an iteration: as the input of a map that is a dimension, each of the
  // map's work-items would do it again. Those that are stored in front of the kernel do not count.
  bool runsLoops(Expr e) const {
    if (e.is(Expr::Form::lambda)) return runsLoops(e.body());
    if (!e.is(Expr::Form::apply) || (computesArray(e) && isClosed(e))) return false;
    const Spine s = spineOf(e);
    if (s.head.is(Expr::Form::primitive) && (detail::isScan(s.head.prim()) || s.isPrim(Prim::iterate))) return true;
    return std::any_of(s.arguments.begin(), s.arguments.end(), [&](Expr a) { return runsLoops(a); });
  }
  // Whether the elements of a map below another may go to work-items of their own.
  bool isDimension(Expr e) const { return isComputingMap(e) && !runsLoops(spineOf(e).arguments[1]); }
  // Dimensions of a nest: its outermost maps, up to three; a map over one element takes none.
  static bool isTrivial(Expr map) { return spineOf(map).arguments[1].type().length() == Nat(1); }
  int depthOf(Expr map) const {
    int depth = isTrivial(map) ? 0 : 1;
    Expr body = underLayouts(spineOf(map).arguments[0].body());
    while (depth < maxDimensions && isDimension(body)) {
      if (!isTrivial(body)) depth++;
      body = underLayouts(spineOf(body).arguments[0].body());
    }
    return std::max(depth, 1);
  }

  // The nest with `dimensions` dimensions left to give, the innermost being 0.
  Expr mapNest(Expr e, int dimensions, bool inLambda = false) {
    const Spine s = spineOf(e);
    const Expr f = s.arguments[0];
    const Expr in = inLambda ? inside(s.arguments[1]) : operand(s.arguments[1]);
    const Expr below = underLayouts(f.body());
    if (isTrivial(e) && isDimension(below))
      return mapOver(Prim::mapSeq, {}, Expr::lambda(f.parameter(), underneath(f.body(), dimensions)), in);
    const Expr body = dimensions > 1 ? underneath(f.body(), dimensions - 1) : sequential(f.body());
    return mapOver(Prim::mapGlb, {Nat(dimensions - 1)}, Expr::lambda(f.parameter(), body), in);
  }
  Expr underneath(Expr body, int dimensions) {
    if (isComputingMap(body)) return mapNest(body, dimensions, true);
    Spine s = spineOf(body);
    s.arguments[0] = underneath(s.arguments[0], dimensions);
    return applyAll(s.head, s.arguments);
  }

  // Pure data movement: every element is copied by a work-item of its own.
  Expr identityMap(Expr e) {
    const Expr moved = operand(e);
    const int depth = std::min<int>(maxDimensions, static_cast<int>(shapeOf(e.type()).size()));
    return depth == 0 ? moved : identityMap(moved, depth - 1);
  }
  static Expr identityMap(Expr e, int dim) {
    const Expr x = Expr::variable("x", e.type().element());
    return mapOver(Prim::mapGlb, {Nat(dim)}, Expr::lambda(x, dim > 0 ? identityMap(x, dim - 1) : x), e);
  }

  // What one work-item does.
  Expr sequential(Expr e) { return inside(e); }

  // What the only work-item of a kernel does.
  Expr alone(Expr e, bool shared = false) {
    if (!e.is(Expr::Form::apply)) return e;
    Spine s = spineOf(e);
    shared = shared || sharesElements(s);
    for (Expr& x : s.arguments)
      x = x.is(Expr::Form::lambda) ? Expr::lambda(x.parameter(), inside(x.body())) : operand(x, shared);
    return renamed(s);
  }

  // Work that is worth doing once instead of at every use.
  bool isExpensive(Expr e) {
    if (const auto known = expensive_.find(e); known != expensive_.end()) return known->second;
    bool is = false;
    if (e.is(Expr::Form::lambda)) is = isExpensive(e.body());
    if (e.is(Expr::Form::apply)) is = isExpensive(e.function()) || isExpensive(e.argument());
    if (e.is(Expr::Form::primitive))
      is = detail::isReduce(e.prim()) || detail::isScan(e.prim()) || e.prim() == Prim::iterate;
    return expensive_[e] = is;
  }

  // Whether elements of the arguments occur several times in the result: windows that overlap, also of inner rows.
  static bool sharesElements(const Spine& s) {
    const auto overlapping = [](Expr p) {
      return (p.prim() == Prim::slide || p.prim() == Prim::slideStrict) &&
             lessEqual(p.nats()[0], p.nats()[1]) != Truth::proved;
    };
    if (!s.head.is(Expr::Form::primitive)) return false;
    if (s.isPrim(Prim::map)) return onlyMovesData(s.arguments[0]) && anyPrimitive(s.arguments[0], overlapping);
    return overlapping(s.head);
  }

  // Whether the array gets memory of its own; `shared` says that its elements are read for several results. Of a map
  // that only moves data, what it moves may get some.
  bool isStored(Expr e, bool shared) {
    if (!computesArray(e) || !isClosed(e)) return false;
    if (const Spine s = spineOf(e); s.isPrim(Prim::map) && onlyMovesData(s.arguments[0])) return false;
    return isExpensive(e) || (shared && operations(e, shared) > recomputedOperations);
  }

  // Scalar operations, about, that an element of the term costs where it is not stored. What is below is counted as it
  // will be: an array that is stored costs nothing more.
  double operations(Expr e, bool shared) {
    if (e.is(Expr::Form::lambda)) return operations(e.body(), shared);
    if (!e.is(Expr::Form::apply)) return 0;
    auto& known = operations_[shared ? 1 : 0];
    if (const auto found = known.find(e); found != known.end()) return found->second;
    const Spine s = spineOf(e);
    const bool below = shared || sharesElements(s);
    double count = s.isPrim(Prim::op) || s.isPrim(Prim::convert) ? 1 : 0;
    for (const Expr a : s.arguments) {
      const bool reads = s.isPrim(Prim::map) && !a.is(Expr::Form::lambda);
      const double times = reads ? occurrences(s.arguments[0].body(), s.arguments[0].parameter()) : 1;
      if (!isStored(a, below)) count += times * operations(a, below);
    }
    return known[e] = count;
  }

  // How often the term, of which one element is evaluated, reads the variable.
  static double occurrences(Expr e, Expr variable) {
    std::unordered_map<Expr, double> counts;
    const std::function<double(Expr)> visit = [&](Expr x) -> double {
      if (x == variable) return 1;
      if (!x.hasFree(variable)) return 0;
      if (const auto known = counts.find(x); known != counts.end()) return known->second;
      if (x.is(Expr::Form::lambda)) return visit(x.body());
      const Spine s = spineOf(x);
      double count = 0;
      for (const Expr a : s.arguments) {
        const bool mapped = s.isPrim(Prim::map) && !a.is(Expr::Form::lambda);
        count += visit(a) * (mapped ? occurrences(s.arguments[0].body(), s.arguments[0].parameter()) : 1);
      }
      return counts[x] = count;
    };
    return visit(e);
  }
  static bool computesArray(Expr e) {
    if (!e.is(Expr::Form::apply) || !e.type().isArray()) return false;
    const Spine s = spineOf(e);
    return isComputingMap(e) || detail::isScan(s.head.prim()) || s.isPrim(Prim::iterate) ||
           (s.isPrim(Prim::let) && !onlyMovesData(e));
  }
  bool isClosed(Expr e) const {
    for (const Expr v : e.freeVariables())
      if (!parameters_.count(v)) return false;
    return true;
  }

  // toGlobal as the program has it.
  bool isKernelBoundary(Expr e) const { return spineOf(e).isPrim(Prim::toGlobal) && isClosed(e); }

  // A term that is read outside of every lambda: expensive intermediates get a kernel of their own.
  Expr operand(Expr e, bool shared = false) {
    if (!e.is(Expr::Form::apply)) return e;
    if (isKernelBoundary(e) || isStored(e, shared)) return toGlobal(result(e));
    return alone(e, shared);
  }

  // A term inside a lambda: arrays that do not depend on the lambda are computed once, outside.
  Expr inside(Expr e) {
    if (e.is(Expr::Form::lambda)) return Expr::lambda(e.parameter(), inside(e.body()));
    if (!e.is(Expr::Form::apply)) return e;
    if (isKernelBoundary(e)) return toGlobal(result(e));
    // A kernel cannot end inside of a map: there toGlobal asks for nothing that sharing between work-items could see.
    if (const Spine s = spineOf(e); s.isPrim(Prim::toGlobal)) return inside(s.arguments[0]);
    if (computesArray(e) && isClosed(e) && !onlyMovesData(e) && (isExpensive(e) || !e.freeVariables().empty()))
      return toGlobal(result(e));
    Spine s = spineOf(e);
    for (Expr& x : s.arguments) x = inside(x);
    return renamed(s);
  }

  // A reduction over joined rows is a reduction over the rows of reductions of a row, in the same order: loops over
  // each dimension instead of one whose index must be divided. The same for rows that are zipped.
  static Expr reduceSeq(Expr init, Expr f, Expr in) {
    const Spine s = spineOf(in);
    std::vector<Expr> rows;
    if (s.isPrim(Prim::join)) {
      rows.push_back(s.arguments[0]);
    } else if (s.isPrim(Prim::zip)) {
      for (const Expr a : s.arguments) {
        const Spine joined = spineOf(a);
        if (!joined.isPrim(Prim::join)) break;
        rows.push_back(joined.arguments[0]);
      }
      const auto sameRows = [&](Expr r) {
        return r.type().length() == rows[0].type().length() &&
               r.type().element().length() == rows[0].type().element().length();
      };
      if (rows.size() != s.arguments.size() || !std::all_of(rows.begin(), rows.end(), sameRows)) rows.clear();
    }
    const Type u = init.type();
    if (rows.empty()) {
      const Type type = Type::function(u, Type::function(f.type(), Type::function(in.type(), u)));
      return applyAll(Expr::primitive(Prim::reduceSeq, {}, type), {init, f, in});
    }
    const Expr outer = rows.size() == 1 ? rows[0] : zip(rows);
    const Expr p = Expr::variable("p", Type::tuple({u, outer.type().element()}));
    Expr row = get(p, 1);
    if (rows.size() > 1) {
      std::vector<Expr> parts;
      for (int i = 0; i < static_cast<int>(rows.size()); i++) parts.push_back(get(row, i));
      row = zip(parts);
    }
    return reduceSeq(init, Expr::lambda(p, reduceSeq(get(p, 0), f, row)), outer);
  }

  static Expr get(Expr tuple, int component) {
    const Type type = tuple.type().components()[static_cast<std::size_t>(component)];
    return etaPrimitive(Prim::get, {Nat(component)}, Type::function(tuple.type(), type), {tuple});
  }

  static Expr zip(const std::vector<Expr>& arrays) {
    std::vector<Type> elements;
    for (const Expr a : arrays) elements.push_back(a.type().element());
    Type type = Type::array(arrays[0].type().length(), Type::tuple(elements));
    for (auto a = arrays.rbegin(); a != arrays.rend(); ++a) type = Type::function(a->type(), type);
    return etaPrimitive(Prim::zip, {}, type, arrays);
  }

  Expr renamed(const Spine& s) {
    if (!s.head.is(Expr::Form::primitive)) return applyAll(s.head, s.arguments);
    Prim prim = s.head.prim();
    if (prim == Prim::reduce) return reduceSeq(s.arguments[0], s.arguments[1], s.arguments[2]);
    if (prim == Prim::scan) prim = Prim::scanSeq;
    if (prim == Prim::scanExclusive) prim = Prim::scanExclusiveSeq;
    if (prim == s.head.prim()) return applyAll(s.head, s.arguments);
    const Expr head = Expr::primitive(prim, s.head.nats(), s.head.type());
    if (const Span span = detail::spanOf(spans_, s.head)) spans_.emplace(head, span);
    return applyAll(head, s.arguments);
  }

  std::unordered_set<Expr> parameters_;
  detail::Spans spans_;
  std::unordered_map<Expr, bool> expensive_;
  std::array<std::unordered_map<Expr, double>, 2> operations_;  // by whether shared
};

// ------------------------------------------------------------------------------------------------------------- rules

class MappingRules {
 public:
  explicit MappingRules(const Program& program) : program_(program) {}

  void run() {
    visit(program_.body, {});
    if (!errors_.empty()) throw UserError(ExitStatus::program, std::move(errors_));
  }

 private:
  struct Context {
    std::array<bool, 3> group{}, local{}, global{};
    bool anyGroup() const { return group[0] || group[1] || group[2]; }
    bool anyLocal() const { return local[0] || local[1] || local[2]; }
    bool anyGlobal() const { return global[0] || global[1] || global[2]; }
  };

  void report(Expr primitive, std::string message, std::string hint) {
    errors_.push_back(
        {Severity::error, detail::spanOf(program_.spans, primitive), std::move(message), std::move(hint), {}});
  }

  void visit(Expr e, const Context& context) {
    if (e.is(Expr::Form::lambda)) return visit(e.body(), context);
    if (!e.is(Expr::Form::apply)) return;
    const Spine s = spineOf(e);
    Context inner = context;
    if (s.head.is(Expr::Form::primitive)) check(s.head, context, inner);
    for (const Expr a : s.arguments) visit(a, a.type().is(Type::Kind::function) ? inner : context);
    if (!s.head.is(Expr::Form::primitive)) visit(s.head, context);
  }

  void check(Expr p, const Context& context, Context& inner) {
    const auto dim = [&] { return static_cast<std::size_t>(p.nats()[0].constant().value_or(0)); };
    const std::string name(info(p.prim()).name);
    switch (p.prim()) {
      case Prim::mapGlb:
        if (context.anyGroup() || context.anyLocal())
          report(p, "mapGlb inside a work-group", "use mapLcl inside mapWrg, or mapGlb for all dimensions");
        else if (context.global[dim()])
          report(p, fmt::format("mapGlb({0}) inside mapGlb({0})", dim()),
                 "each dimension can be mapped once on the way in");
        inner.global[dim()] = true;
        break;
      case Prim::mapWrg:
        if (context.anyLocal() || context.anyGlobal())
          report(p, "mapWrg inside a work-item's work", "work-groups are mapped outside of mapLcl and mapGlb");
        else if (context.group[dim()])
          report(p, fmt::format("mapWrg({0}) inside mapWrg({0})", dim()),
                 "each dimension can be mapped once on the way in");
        inner.group[dim()] = true;
        break;
      case Prim::mapLcl:
        if (!context.anyGroup())
          report(p, "mapLcl outside of mapWrg",
                 "work-items belong to a work-group: wrap the outer map in mapWrg, or use mapGlb");
        else if (context.local[dim()])
          report(p, fmt::format("mapLcl({0}) inside mapLcl({0})", dim()),
                 "each dimension can be mapped once on the way in");
        inner.local[dim()] = true;
        break;
      case Prim::toLocal:
        if (!context.anyGroup()) report(p, "toLocal outside of mapWrg", "local memory belongs to a work-group");
        break;
      default:
        break;
    }
  }

  const Program& program_;
  std::vector<Diagnostic> errors_;
};

}  // namespace

bool isMapped(const Program& program) {
  return anyPrimitive(program.body, [](Expr p) {
    const bool place = p.prim() == Prim::toGlobal || p.prim() == Prim::toLocal || p.prim() == Prim::toPrivate;
    return info(p.prim()).dialect == Dialect::opencl && !place;
  });
}

Program mapByDefault(const Program& program) {
  if (isMapped(program)) return program;
  Program out = program;
  DefaultMapping mapping(program);
  out.body = mapping.result(withoutViewNames(etaLong(program.body)));
  out.spans = mapping.takeSpans();
  return out;
}

void checkMapping(const Program& program) { MappingRules(program).run(); }

}  // namespace lift
