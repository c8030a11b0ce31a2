// A map's function on vectors that hold its elements' values: windows, tuples, reductions and iterations included.
#include <unordered_map>

#include "computed.hpp"
#include "lift/build.hpp"
#include "lift/terms.hpp"
#include "terms.hpp"

namespace lift::rewrite::detail {

using namespace build;

namespace {

// The terms of a function with vectors in place of the scalars that differ from lane to lane.
class Lanes {
 public:
  explicit Lanes(Nat width) : width_(width) {}

  // map(f, in)  ->  asScalar(map(f on vectors, in in vectors)), of tuples and arrays of scalars component by component
  std::optional<Expr> map(Expr f, Expr in) {
    const Type element = f.body().type();
    const auto vectors = arrayInLanes(in);
    const auto type = vectors ? typeInLanes(element) : std::nullopt;
    const auto function = type ? onLanes(f, {vectors->type().element()}, *type) : std::nullopt;
    if (!function) return std::nullopt;
    if (element.isScalar()) return call(Prim::asScalar, {build::map(*function, *vectors)});
    const Expr value = Expr::variable("v", *type);
    const Expr scalars = isLaneArray(element) ? scalarsOf(function->body(), element)
                                              : let(value, function->body(), scalarsOf(value, element));
    return call(Prim::join, {build::map(Expr::lambda(function->parameter(), scalars), *vectors)});
  }

 private:
  // Vectors of the elements' values: [w]f32 -> [1]<w>f32, [w][k]f32 -> [1][k]<w>f32.
  std::optional<Expr> arrayInLanes(Expr in) const {
    const Type element = in.type().element();
    if (element.isScalar()) return call(Prim::asVector, {width_}, {in});
    if (element.isArray()) {
      const Expr columns = call(Prim::transpose, {in});
      const Expr column = Expr::variable("column", columns.type().element());
      const auto vectors = arrayInLanes(column);
      if (!vectors) return std::nullopt;
      return call(Prim::transpose, {build::map(Expr::lambda(column, *vectors), columns)});
    }
    if (!element.isTuple()) return std::nullopt;
    const Spine s = spineOf(in);
    const auto parts = ofAll(s.isPrim(Prim::zip) ? s.arguments : components(call(Prim::unzip, {in})),
                             [this](Expr part) { return arrayInLanes(part); });
    return parts ? std::optional(zip(*parts)) : std::nullopt;
  }

  static bool isLaneArray(Type type) { return type.isArray() && type.element().isScalar(); }

  // One element of the type for each lane of its vectors: <w>f32 -> [w]f32, (<w>f32, [k]<w>f32) -> [w](f32, [k]f32).
  Expr scalarsOf(Expr vectors, Type type) const {
    if (type.isScalar()) return call(Prim::asScalar, {fill(1, vectors)});
    if (isLaneArray(type))
      return call(Prim::transpose, {call(Prim::split, {width_}, {call(Prim::asScalar, {vectors})})});
    if (type.isArray()) {
      const auto ofElement = [&](Expr v) { return scalarsOf(v, type.element()); };
      return call(Prim::transpose, {build::map("v", vectors, ofElement)});
    }
    std::vector<Expr> parts;
    for (std::size_t i = 0; i < type.components().size(); i++)
      parts.push_back(scalarsOf(component(vectors, i), type.components()[i]));
    return zip(parts);
  }

  std::optional<Type> typeInLanes(Type type) const {
    if (type.isScalar()) return Type::vector(width_, type);
    if (type.isArray()) {
      const auto element = typeInLanes(type.element());
      return element ? std::optional(Type::array(type.length(), *element)) : std::nullopt;
    }
    if (!type.isTuple()) return std::nullopt;
    const auto parts = ofAll(type.components(), [this](Type component) { return typeInLanes(component); });
    return parts ? std::optional(Type::tuple(*parts)) : std::nullopt;
  }

  // A value of that type, made of one that is the same in all lanes where it has no vectors yet.
  std::optional<Expr> as(Type type, std::optional<Expr> e) const {
    if (!e || e->type() == type) return e;
    if (e->type().isScalar()) return splat(width_, *e);
    if (type.isArray()) {
      const Expr x = Expr::variable("x", e->type().element());
      const auto each = as(type.element(), x);
      return each ? std::optional(build::map(Expr::lambda(x, *each), *e)) : std::nullopt;
    }
    if (!type.isTuple()) return std::nullopt;
    std::vector<Expr> parts;
    for (std::size_t i = 0; i < type.components().size(); i++) {
      const auto part = as(type.components()[i], component(*e, i));
      if (!part) return std::nullopt;
      parts.push_back(*part);
    }
    return tuple(parts);
  }

  // The function of values of other types; what it gives is of type `to` where one is given.
  std::optional<Expr> onLanes(Expr f, const std::vector<Type>& from, std::optional<Type> to = {}) {
    if (!f.isLambda()) return std::nullopt;
    const Expr x = f.parameter();
    const Expr now = Expr::variable(x.name(), from.size() == 1 ? from[0] : Type::tuple(from));
    names_.insert_or_assign(x, now);
    same_.clear();
    auto body = inLanes(f.body());
    if (to) body = as(*to, body);
    return body ? std::optional(Expr::lambda(now, *body)) : std::nullopt;
  }

  // What has one value for all lanes, so computed: it depends on nothing else than on names, and components of names,
  // that are no vectors, as indices of inner loops are.
  std::optional<Expr> sameInAllLanes(Expr e) {
    const auto isKnown = [&](Expr v) { return names_.contains(v); };
    if (std::ranges::none_of(e.freeVariables(), isKnown)) return e;
    if (const auto found = same_.find(e); found != same_.end()) return found->second;
    std::optional<Expr> now = nameInLanes(e);
    if (now && now->type() != e.type()) now.reset();
    if (!now && !e.isVariable()) {
      bool all = true;
      now = withParts(e, [&](Expr part) {
        const auto same = all ? sameInAllLanes(part) : std::nullopt;
        all = all && same;
        return same.value_or(part);
      });
      if (!all) now.reset();
    }
    return same_.emplace(e, now).first->second;
  }

  // A name or a component of one.
  std::optional<Expr> nameInLanes(Expr e) const {
    if (const auto name = names_.find(e); name != names_.end()) return name->second;
    const Spine s = spineOf(e);
    if (!s.isPrim(Prim::get) || s.arguments.size() != 1) return std::nullopt;
    const auto whole = nameInLanes(s.arguments[0]);
    return whole ? std::optional(call(Prim::get, s.head.nats(), {*whole})) : std::nullopt;
  }

  // Nothing where it cannot be computed on vectors. What is the same in all lanes keeps its type.
  std::optional<Expr> inLanes(Expr e) {
    if (const auto name = names_.find(e); name != names_.end()) return name->second;
    if (const auto same = sameInAllLanes(e)) return same;
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive()) return std::nullopt;
    if (isOfScalars(s)) return e.type().isScalar() ? ofScalars(e) : chosenTuple(s);
    const auto argument = [&](std::size_t i) { return inLanes(s.arguments[i]); };
    const auto withArguments = [&](const auto& f) -> std::optional<Expr> {
      const auto vectors = ofAll(s.arguments, f);
      const auto detail = s.isPrim(Prim::reorder) ? static_cast<std::uint8_t>(s.head.indexFn()) : std::uint8_t{0};
      return vectors ? std::optional(call(s.head.prim(), s.head.nats(), *vectors, detail)) : std::nullopt;
    };
    switch (s.head.prim()) {
      case Prim::let: {
        const auto value = argument(1);
        const auto f = value ? onLanes(s.arguments[0], {value->type()}) : value;
        return f ? std::optional(let(f->parameter(), *value, f->body())) : f;
      }
      case Prim::map: {
        const auto in = argument(1);
        const auto f = in ? onLanes(s.arguments[0], {in->type().element()}) : in;
        return f ? std::optional(build::map(*f, *in)) : f;
      }
      case Prim::generate: {
        const auto f = onLanes(s.arguments[0], {s.arguments[0].parameter().type()});
        return f ? std::optional(call(s.head.prim(), s.head.nats(), {*f})) : f;
      }
      case Prim::scan:
      case Prim::scanExclusive:
      case Prim::reduce: {
        const auto type = typeInLanes(s.arguments[0].type());
        const auto init = type ? as(*type, argument(0)) : std::nullopt, in = init ? argument(2) : init;
        const auto f = in ? onLanes(s.arguments[1], {*type, in->type().element()}, type) : in;
        return f ? std::optional(call(s.head.prim(), {*init, *f, *in})) : f;
      }
      case Prim::iterate: {
        const auto type = typeInLanes(e.type());
        const bool keepsType = s.arguments[1].type() == e.type();
        const auto init = type && keepsType ? as(*type, argument(1)) : std::nullopt;
        const auto f = init ? onLanes(s.arguments[0], {*type}, type) : init;
        return f ? std::optional(call(s.head.prim(), s.head.nats(), {*f, *init})) : f;
      }
      case Prim::iterateWhile: return whileAnyLane(s);
      case Prim::arrayOf:
      case Prim::pad:
      case Prim::concat:
        return withArguments([this](Expr a) {
          const auto type = typeInLanes(a.type());
          return type ? as(*type, inLanes(a)) : std::nullopt;
        });
      case Prim::at:
        if (!sameInAllLanes(s.arguments[0])) return std::nullopt;
        [[fallthrough]];
      case Prim::tuple:
      case Prim::get:
      case Prim::zip:
      case Prim::unzip:
      case Prim::split:
      case Prim::join:
      case Prim::transpose:
      case Prim::reorder:
      case Prim::slide:
      case Prim::slideStrict:
      case Prim::padClamp:
      case Prim::padMirror:
      case Prim::padWrap:
      case Prim::take:
      case Prim::drop: return withArguments([this](Expr a) { return inLanes(a); });
      default: return std::nullopt;
    }
  }

  // As long as the condition holds in a lane; the others stay as they are.
  std::optional<Expr> whileAnyLane(const Spine& s) {
    const Expr condition = s.arguments[0], step = s.arguments[1];
    const auto type = typeInLanes(s.arguments[2].type());
    // Steps of lanes that have ended are computed, too.
    if (!type || !s.arguments[2].type().isRegister() || mayFailWithin(condition) || mayFailWithin(step))
      return std::nullopt;
    const auto init = as(*type, inLanes(s.arguments[2]));
    const auto holds = init ? onLanes(condition, {*type}, Type::vector(width_, Type::scalar(Scalar::boolean))) : init;
    const auto next = holds ? onLanes(step, {*type}, type) : holds;
    if (!next) return std::nullopt;
    const Expr goesOn = Expr::lambda(holds->parameter(), call(Prim::anyLane, {holds->body()}));
    const Expr now = next->parameter(), again = withFreshBinders(*holds);
    const Expr mask = Expr::variable("holds", again.body().type()), after = Expr::variable("next", *type);
    const Expr chosen = let(mask, substitute(again.body(), {{again.parameter(), now}}),
                            let(after, next->body(), chosenBy(mask, after, now)));
    return call(Prim::iterateWhile, s.head.nats(), {goesOn, Expr::lambda(now, chosen), *init});
  }

  // Lane by lane, of vectors and tuples of them.
  Expr chosenBy(Expr mask, Expr then, Expr otherwise) const {
    if (then.type().isTuple()) {
      std::vector<Expr> parts;
      for (std::size_t i = 0; i < then.type().components().size(); i++)
        parts.push_back(chosenBy(mask, component(then, i), component(otherwise, i)));
      return tuple(parts);
    }
    const Expr operands = tuple({mask, then, otherwise});
    const Expr lane = Expr::variable(
        "lane", Type::tuple({Type::scalar(Scalar::boolean), then.type().element(), then.type().element()}));
    return call(Prim::vectorize, {width_},
                {Expr::lambda(lane, call(Prim::ifThenElse, {get(lane, 0), get(lane, 1), get(lane, 2)})), operands});
  }

  static bool isOfScalars(const Spine& s) {
    return s.isPrim(Prim::op) || s.isPrim(Prim::convert) || s.isPrim(Prim::ifThenElse);
  }

  // if c then (a, b) else (d, e)  ->  (if c then a else d, if c then b else e)
  std::optional<Expr> chosenTuple(const Spine& s) {
    const Type type = s.arguments[1].type();
    if (!type.isTuple()) return std::nullopt;
    std::vector<Expr> parts;
    for (std::size_t i = 0; i < type.components().size(); i++) {
      const auto part =
          inLanes(call(Prim::ifThenElse, {s.arguments[0], component(s.arguments[1], i), component(s.arguments[2], i)}));
      if (!part) return std::nullopt;
      parts.push_back(*part);
    }
    return tuple(parts);
  }

  // A term of scalar operations as one vectorised function of the operands that are no such operations.
  std::optional<Expr> ofScalars(Expr e) {
    std::vector<Expr> scalars, vectors;
    std::unordered_map<Expr, Expr> operands;
    bool all = true;
    const std::function<Expr(Expr)> walk = [&](Expr term) {
      if (const auto same = sameInAllLanes(term)) return *same;
      const Spine s = spineOf(term);
      // All branches are computed.
      if (isOfScalars(s)) return all = all && !choosesWhatMayFail(s), withParts(term, walk);
      if (const auto known = operands.find(term); known != operands.end()) return known->second;
      const auto vector = inLanes(term);
      if (vector && vector->type() == term.type()) return *vector;
      all = all && vector && term.type().isScalar();
      if (!all) return term;
      scalars.push_back(Expr::variable("s", term.type()));
      vectors.push_back(*vector);
      return operands.emplace(term, scalars.back()).first->second;
    };
    const Expr body = walk(e);
    if (!all || !e.type().isScalar()) return std::nullopt;
    if (vectors.empty()) return body;
    const Expr operand = tuple(scalars);
    const Expr lane = Expr::variable("lane", operand.type());
    std::unordered_map<Expr, Expr> parts;
    for (std::size_t i = 0; i < scalars.size(); i++)
      parts.emplace(scalars[i], scalars.size() == 1 ? lane : get(lane, i));
    return call(Prim::vectorize, {width_}, {Expr::lambda(lane, substitute(body, parts)), tuple(vectors)});
  }

  Nat width_;
  std::unordered_map<Expr, Expr> names_;  // variables whose values differ from lane to lane, and those for vectors
  std::unordered_map<Expr, std::optional<Expr>> same_;
};

}  // namespace

std::optional<Expr> mapInLanes(Expr e, Nat lanes) {
  const Spine s = spineOf(e);
  if (!s.isPrim(Prim::map) || !s.arguments[0].isLambda()) return std::nullopt;
  if (const auto w = lanes.constant(); w && (*w < 2 || *w > 16 || (*w & (*w - 1)) != 0)) return std::nullopt;
  return Lanes(lanes).map(withFreshBinders(s.arguments[0]), s.arguments[1]);
}

std::vector<Rule> computedVectorRules() {
  return {Rule(RuleRow{"mapInLanes", "map(f, xs) => asScalar(map(fun vs => f on vectors of w, [vectors of xs]))",
                       "lift-conv §4.3, lanes over whatever a function takes"},
               {"w"}, [](Expr e, const Arguments& arguments) { return mapInLanes(e, arguments.at("w")); }),
          computedRule({"ifAsSelect",
                        "if i >= 0 && i < 5 then f((xs: [5]t)[i]) else y => select(i >= 0 && i < 5, "
                        "f(xs[select(i >= 0 && i < 5, i, 0)]), y)",
                        "branches computed whichever is chosen, with indices and divisors that cannot fail"},
                       ifAsSelect),
          computedRule({"andAsSelect",
                        "i >= 0 && i < 5 && (xs: [5]t)[i] == y => "
                        "select(i >= 0 && i < 5, xs[select(i >= 0 && i < 5, i, 0)] == y, false)",
                        "the same of a condition that is asked where another holds"},
                       andAsSelect),
          computedRule({"orAsSelect",
                        "i < 0 || i > 4 || (xs: [5]t)[i] == y => "
                        "select(i < 0 || i > 4, true, xs[select(i < 0 || i > 4, 0, i)] == y)",
                        "the same of a condition that is asked where another does not hold"},
                       orAsSelect)};
}

}  // namespace lift::rewrite::detail
