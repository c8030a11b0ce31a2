// The rules that every mapping must keep, the user's and the default one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <set>
#include <unordered_set>
#include <utility>

#include "lift/diagnostic.hpp"
#include "lowering.hpp"

namespace lift {
namespace {

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
    bool endsEarly = false;  // inside of iterateWhile
    auto operator<=>(const Context&) const = default;
    bool anyGroup() const { return group[0] || group[1] || group[2]; }
    bool anyLocal() const { return local[0] || local[1] || local[2]; }
    bool anyGlobal() const { return global[0] || global[1] || global[2]; }
  };

  void report(Expr primitive, std::string message, std::string hint) {
    errors_.push_back(
        {Severity::error, detail::spanOf(program_.spans, primitive), std::move(message), std::move(hint), {}});
  }

  void checkImage(Expr primitive, Expr e) {
    if (!isOutside(e))
      report(primitive, "toImage inside of a map",
             "an image is complete before a kernel reads it; keep it outside of every map");
    for (const Leaf& l : leavesOf(e.type()))
      if (!isFloat(l.scalar) || l.scalar == Scalar::f64)
        report(primitive, fmt::format("toImage of {}: images hold f32, f16 or h16", info(l.scalar).name),
               "toGlobal keeps arrays of any type");
  }

  void visit(Expr e, Context context) {
    if (e.isLambda()) return visit(e.body(), context);
    if (!e.isApply() || !visited_.emplace(e.node(), context).second) return;
    const Spine s = spineOf(e);
    // What depends on no function's parameter is a kernel of its own, wherever it stands.
    if (endsKernel(s) && isOutside(e)) context = Context{};
    if (s.isPrim(Prim::toImage)) checkImage(s.head, e);
    Context inner = context;
    if (s.head.isPrimitive()) check(s.head, isOutside(e), context, inner);
    const bool isSteps = s.head.isPrimitive() && isIteration(s.head.prim());
    if (isSteps && isOutside(e)) inner.endsEarly = false;  // of kernels
    for (const Expr a : s.arguments) {
      const bool isInFront = (s.isPrim(Prim::let) || isSteps) && isOutside(e);
      const bool runs = a.isLambda() && !isInFront;
      if (runs) bound_.insert(a.parameter());
      visit(a, a.type().isFunction() ? inner : context);
    }
    if (!s.head.isPrimitive()) visit(s.head, context);
  }

  void check(Expr p, bool isOutside, const Context& context, Context& inner) {
    const auto dim = [&] { return static_cast<std::size_t>(p.nats()[0].constant().value_or(0)); };
    const std::string name(info(p.prim()).name);
    if (context.endsEarly && (isKernelMap(p.prim()) || isByGroup(p.prim())))
      report(p, fmt::format("{} inside iterateWhile", name),
             "whether it goes on is decided by one work-item: put iterateWhile outside of every map, or use iterate");
    if (isByGroup(p.prim())) {  // outside of all maps the kernel is one group
      if (context.anyLocal() || context.anyGlobal())
        report(
            p, fmt::format("{} inside {}", name, context.anyLocal() ? "mapLcl" : "mapGlb"),
            "the work-items of a group reduce together: use it directly in mapWrg, in a work-item reduce in sequence");
      inner.local[0] = true;
    }
    if (isKernelMap(p.prim()) && traits(p.prim()).loop != Traits::Loop::map) {
      if (!isOutside || context.anyLocal() || context.anyGlobal() || context.anyGroup())
        report(p, fmt::format("{} inside of a map", name),
               "all work-items update its elements together: use it outside of every map, reduceByIndexLcl in mapWrg");
      inner.global[0] = true;
    }
    switch (p.prim()) {
      case Prim::iterateWhile: inner.endsEarly = true; break;
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
      default: break;
    }
  }

  bool isOutside(Expr e) const {
    const auto& free = e.freeVariables();
    return std::ranges::none_of(free, [&](Expr v) { return bound_.count(v) > 0; });
  }

  const Program& program_;
  std::unordered_set<Expr> bound_;  // parameters of functions, but for names and states of loops outside of all of them
  std::set<std::pair<const detail::ExprNode*, Context>> visited_;
  std::vector<Diagnostic> errors_;
};

}  // namespace

void checkMapping(const Program& program) { MappingRules(program).run(); }

}  // namespace lift
