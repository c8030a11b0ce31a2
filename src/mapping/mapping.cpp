// The default mapping of a program, and of what a program with a mapping leaves open.
#include "lift/mapping.hpp"

#include <algorithm>
#include <functional>
#include <memory>

#include "default_mapping.hpp"

namespace lift {
namespace {

// Whether the primitive says where its work runs, or in which order.
bool isPlace(Expr p) {
  return info(p.prim()).dialect == Dialect::opencl && traits(p.prim()).loop != Traits::Loop::none;
}

bool saysWhere(Expr e) { return anyPrimitive(e, isPlace); }

// A program that says where some of its kernels run: what it keeps in memory by toGlobal, or gives as a result, without
// saying where it is computed is mapped as if it stood alone.
class RestMapping : detail::Walk {
 public:
  using Map = std::function<Expr(Expr)>;
  // Of a tuple; `kept`: names of what is kept in memory.
  using MapTuple = std::function<Expr(Expr, const std::vector<Expr>& kept, bool inStep)>;
  RestMapping(rewrite::Rewriting& rewriting, Map map, MapTuple mapTuple)
      : Walk(rewriting), map_(std::move(map)), mapTuple_(std::move(mapTuple)) {}

  // Of the program's result, or that of a step of an iteration.
  Expr result(Expr e, std::vector<Expr> keptNames = {}, bool inStep = false) {
    if (!e.isApply()) return e;
    const Spine s = spineOf(e);
    if (s.isPrim(Prim::let) || isSteps(s)) {
      if (isSteps(s)) keptNames.clear();
      if (s.isPrim(Prim::let) && endsKernel(spineOf(s.arguments[1]))) keptNames.push_back(s.arguments[0].parameter());
      for (std::size_t i = 0; i + 1 < s.arguments.size(); i++)
        e = functionBody(e, i, [&](Expr b) { return result(b, keptNames, inStep || isSteps(s)); });
      return argument(e, s.arguments.size() - 1, [this](Expr x) { return kept(x); });
    }
    if (!s.isPrim(Prim::tuple)) return saysWhere(e) ? e : map_(e);
    if (!saysWhere(e)) return mapTuple_(e, keptNames, inStep);
    return parts(e, [&](Expr x) { return result(x, keptNames, inStep); });
  }

 private:
  // Of kernels: where a condition decides, one work-item may take them all.
  static bool isSteps(const Spine& s) {
    return s.isPrim(Prim::iterate) ||
           (s.isPrim(Prim::iterateWhile) && std::any_of(s.arguments.begin(), s.arguments.end() - 1, saysWhere));
  }

  Expr kept(Expr e) {
    const Spine s = spineOf(e);
    if (isSteps(s)) return result(e);
    return endsKernel(s) && !saysWhere(e) ? argument(e, 0, map_) : e;
  }

  Map map_;
  MapTuple mapTuple_;
};

}  // namespace

bool isMapped(const Program& program) { return saysWhere(program.body); }

// For a primitive that the compiler made, the place of something within the term.
std::string placeIn(const std::unordered_map<Expr, Span>& spans, Expr term) {
  const Expr head = spineOf(term).head;
  if (!head.isPrimitive()) return head.isVariable() ? head.name() : "";
  const auto spanOf = [&](Expr p) {
    const auto found = spans.find(p);
    return found == spans.end() ? Span{} : found->second;
  };
  Span span = spanOf(head);
  if (!span)
    anyPrimitive(term, [&](Expr p) {
      span = spanOf(p);
      return static_cast<bool>(span);
    });
  return std::string(info(head.prim()).name) + (span ? " at " + placeOf(span) : "");
}

namespace {

rewrite::Strategy strategyOf(const Program& program, const MappingOptions& options, kernel::Notes* notes,
                             std::shared_ptr<detail::DefaultMapping::Spans> spans) {
  return [=, whole = !isMapped(program), parameters = program.parameters](Expr e, rewrite::Rewriting& r) {
    const auto mapped = [&](Expr part, const std::vector<Expr>& free) {
      return detail::DefaultMapping(r, free, options, notes, *spans).run(part);
    };
    if (whole) return std::optional(mapped(e, parameters));
    const auto map = [&](Expr part) { return mapped(part, part.freeVariables()); };
    const auto mapTuple = [&](Expr tuple, const std::vector<Expr>& kept, bool inStep) {
      return detail::DefaultMapping(r, tuple.freeVariables(), options, notes, *spans).runTuple(tuple, kept, inStep);
    };
    return std::optional(RestMapping(r, map, mapTuple).result(e));
  };
}

}  // namespace

rewrite::Strategy defaultMapping(const Program& program, const MappingOptions& options, kernel::Notes* notes) {
  return strategyOf(program, options, notes, std::make_shared<detail::DefaultMapping::Spans>(program.spans));
}

Mapping mappingOf(const Program& program, const MappingOptions& options, kernel::Notes* notes) {
  rewrite::Rewriting rewriting(program);
  const auto spans = std::make_shared<detail::DefaultMapping::Spans>(program.spans);
  rewriting.apply(strategyOf(program, options, notes, spans));
  if (rewriting.derivation().steps.empty()) return {program, {}};
  Mapping mapping{rewriting.program(), rewriting.derivation()};
  mapping.program.spans = std::move(*spans);
  return mapping;
}

Program mapByDefault(const Program& program, const MappingOptions& options, kernel::Notes* notes) {
  return mappingOf(program, options, notes).program;
}

}  // namespace lift
