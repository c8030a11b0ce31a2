// Inference: primitives, the variadic ones by functions of their own.
#include <fmt/format.h>
#include <functional>

#include "inference.hpp"
#include "lift/build.hpp"

namespace lift::detail {
namespace {

constexpr int maxIterateExpansion = 64;

}  // namespace

// ------------------------------------------------------------------------------------------------------- primitives

Expr Inference::componentOf(Expr value, Type type, std::size_t i) {
  const Type get = Type::function(type, type.components()[i]);
  return Expr::apply(Expr::primitive(Prim::get, {Nat(static_cast<std::int64_t>(i))}, get), value);
}

Expr Inference::tuple(const std::vector<Argument>& parts, std::optional<Type> expected, Span span) {
  std::vector<std::optional<Type>> wanted(parts.size());
  if (expected) {
    const Type t = solver_.resolve(*expected);
    if (t.isTuple() && t.components().size() == parts.size())
      for (std::size_t i = 0; i < parts.size(); i++) wanted[i] = t.components()[i];
  }
  std::vector<Expr> values;
  for (std::size_t i = 0; i < parts.size(); i++) values.push_back(infer(parts[i].syntax, parts[i].scope, wanted[i]));
  return finish(build::tuple(values), expected, span);
}

Expr Inference::array(const std::vector<Argument>& elements, std::optional<Type> expected, Span span) {
  const Type element = solver_.freshType();
  const Type array = Type::array(Nat(static_cast<std::int64_t>(elements.size())), element);
  if (expected && !expect(array, *expected, span)) return poison(expected);
  std::vector<Expr> values;
  for (const Argument& a : elements) {
    if (isFunction(a)) {
      report(a.syntax->span, "an array holds values, this is a function");
      return poison(expected);
    }
    values.push_back(infer(a.syntax, a.scope));
    if (solver_.unify(values.back().type(), element, a.syntax->span)) continue;
    report(a.syntax->span, fmt::format("the elements of an array are of one type: expected {}, found {}", show(element),
                                       show(values.back().type())));
    return poison(expected);
  }
  const Type type = Type::function(std::vector(values.size(), element), array);
  return applyAll(Expr::primitive(Prim::arrayOf, {}, type), values);
}

Expr Inference::project(const SynPtr& tuple, const Scope& scope, int component, std::optional<Type> expected,
                        Span span) {
  const Expr value = infer(tuple, scope);
  const Type type = solver_.resolve(value.type());
  if (isPoison(type)) return poison(expected);
  if (type.isVariable()) {
    report(span, "the tuple's type is not known here", "annotate it, e.g. fun (p: (f32, f32)) => p.0");
    return poison(expected);
  }
  if (!type.isTuple()) {
    report(span, fmt::format("a value of type {} has no components", show(type)), laneHint(type));
    return poison(expected);
  }
  if (component < 0 || static_cast<std::size_t>(component) >= type.components().size()) {
    report(span, fmt::format("{} has no component {}", show(type), component),
           fmt::format("components are numbered 0 to {}", type.components().size() - 1));
    return poison(expected);
  }
  return finish(componentOf(value, type, static_cast<std::size_t>(component)), expected, span);
}

Expr Inference::ifThenElse(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span) {
  const Type boolean = Type::scalar(Scalar::boolean), t = expected.value_or(solver_.freshType());
  const Expr condition = infer(arguments[0].syntax, arguments[0].scope);
  if (!expect(condition.type(), boolean, arguments[0].syntax->span, "the condition of 'if'")) return poison(expected);
  const Expr a = infer(arguments[1].syntax, arguments[1].scope);
  if (!expect(a.type(), t, arguments[1].syntax->span)) return poison(expected);
  const Expr b = infer(arguments[2].syntax, arguments[2].scope);
  if (!expect(b.type(), t, arguments[2].syntax->span, "both sides of 'if' have one type")) return poison(expected);
  if (solver_.resolve(t).isFunction()) {
    report(span, "'if' chooses between values, not functions", "call them: if c then f(x) else g(x)");
    return poison(expected);
  }
  return applyAll(Expr::primitive(Prim::ifThenElse, {}, Type::function({boolean, t, t}, t)), {condition, a, b});
}

Expr Inference::zip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span) {
  const Nat n = solver_.freshNat("n");
  std::vector<Expr> values;
  std::vector<Type> arrays, elements;
  for (const Argument& a : arguments) {
    const Expr e = infer(a.syntax, a.scope);
    const Type element = solver_.freshType();
    const Nat length = solver_.freshNat("n");
    if (!solver_.unify(e.type(), Type::array(length, element), a.syntax->span)) {
      report(a.syntax->span, fmt::format("zip takes arrays, found {}", show(e.type())));
      return poison(expected);
    }
    if (!solver_.unify(length, n, span)) {
      report(
          span,
          fmt::format("zip of arrays of unequal lengths: {} and {}", solver_.zonk(n).str(), solver_.zonk(length).str()),
          {}, {{Severity::note, a.syntax->span, fmt::format("this one is {}", show(e.type())), {}, {}}});
      return poison(expected);
    }
    values.push_back(e);
    arrays.push_back(e.type());
    elements.push_back(element);
  }
  const Type type = Type::function(arrays, Type::array(n, Type::tuple(elements)));
  return finish(applyAll(Expr::primitive(Prim::zip, {}, type), values), expected, span);
}

Expr Inference::unzip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span) {
  const Expr e = infer(arguments[0].syntax, arguments[0].scope);
  const Type type = solver_.resolve(e.type());
  const Type element = type.isArray() ? solver_.resolve(type.element()) : type;
  if (isPoison(type) || isPoison(element)) return poison(expected);
  if (!type.isArray() || !element.isTuple()) {
    report(span, fmt::format("unzip takes an array of tuples, found {}", show(type)));
    return poison(expected);
  }
  std::vector<Type> arrays;
  for (const Type c : element.components()) arrays.push_back(Type::array(type.length(), c));
  const Expr prim = Expr::primitive(Prim::unzip, {}, Type::function(type, Type::tuple(arrays)));
  return finish(Expr::apply(prim, e), expected, span);
}

// <w>t for a scalar t, component by component for tuples, element by element for arrays.
Type Inference::vectorOf(Nat width, Type t, Span span) {
  t = solver_.resolve(t);
  if (t.isArray()) return Type::array(t.length(), vectorOf(width, t.element(), span));
  if (t.isTuple()) {
    std::vector<Type> parts;
    for (const Type c : t.components()) parts.push_back(vectorOf(width, c, span));
    return Type::tuple(std::move(parts));
  }
  solver_.require(t, TypeClass::scalar, span);
  return Type::vector(width, t);
}

std::optional<Type> Inference::scalarsOf(Type t) {
  t = solver_.resolve(t);
  if (t.isVector()) return t.element();
  if (t.isArray()) {
    const auto s = scalarsOf(t.element());
    return s ? std::optional(Type::array(t.length(), *s)) : std::nullopt;
  }
  if (!t.isTuple()) return std::nullopt;
  std::vector<Type> parts;
  for (const Type c : t.components()) {
    const auto s = scalarsOf(c);
    if (!s) return std::nullopt;
    parts.push_back(*s);
  }
  return Type::tuple(std::move(parts));
}

Expr Inference::vectorize(std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  if (arguments.size() < 2) {
    report(span, "vectorize takes a width and a function", "write vectorize(4, f)");
    return poison(expected);
  }
  const Nat width = sizeOf(arguments[0].syntax, arguments[0].scope);
  std::optional<Expr> in;
  std::optional<Type> vectors;
  if (arguments.size() > 2) {
    in = infer(arguments[2].syntax, arguments[2].scope);
    vectors = in->type();
  } else if (expected && solver_.resolve(*expected).isFunction()) {
    vectors = solver_.resolve(*expected).parameter();
  }
  Type scalars = solver_.freshType();
  if (vectors) {
    if (const auto s = scalarsOf(*vectors)) {
      scalars = *s;
    } else if (!solver_.resolve(*vectors).isVariable()) {
      report(span, fmt::format("vectorize({}) works on vectors, found {}", width.str(), show(*vectors)));
      return poison(expected);
    }
  }
  const Type result = solver_.freshType();
  const Expr f = infer(arguments[1].syntax, arguments[1].scope, Type::function(scalars, result));
  const Type from = vectorOf(width, scalars, span);
  const Type type = Type::function(f.type(), Type::function(from, vectorOf(width, result, span)));
  Expr e = Expr::apply(Expr::primitive(Prim::vectorize, {width}, type), f);
  if (in) {
    if (!expect(in->type(), from, arguments[2].syntax->span)) return poison(expected);
    e = Expr::apply(e, *in);
  }
  return finish(e, expected, span);
}

Expr Inference::iterate(std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const Nat count = sizeOf(arguments[0].syntax, arguments[0].scope);
  Expr value = infer(arguments[2].syntax, arguments[2].scope);
  const Expr x = Expr::variable("x", value.type());
  const auto step = [&](Expr in) {
    return inferCall(arguments[1].syntax, arguments[1].scope, {{{}, typedSyntax(in, span), {}}}, {}, span);
  };
  const Expr once = step(x);
  const Type from = solver_.zonk(x.type()), to = solver_.zonk(once.type());
  // Of the result literals may be open; what changes is a size.
  const std::function<bool(Type, Type)> mayEqual = [&](Type a, Type b) {
    if (b.isVariable()) return true;
    if (a.isArray() && b.isArray()) return a.length() == b.length() && mayEqual(a.element(), b.element());
    if (!a.isTuple() || !b.isTuple() || a.components().size() != b.components().size()) return a == b;
    for (std::size_t i = 0; i < a.components().size(); i++)
      if (!mayEqual(a.components()[i], b.components()[i])) return false;
    return true;
  };
  if (from.hasMetas() || mayEqual(from, to)) {
    if (!expect(once.type(), x.type(), span, "iterate's function must keep the type")) return poison(expected);
    const Type f = Type::function(x.type(), x.type());
    const Expr prim = Expr::primitive(Prim::iterate, {count}, Type::function(f, f));
    spans_.emplace(prim, place(span));
    return finish(applyAll(prim, {Expr::lambda(x, once), value}), expected, span);
  }
  const auto times = count.constant();
  if (!times || *times > maxIterateExpansion || *times < 0) {
    report(span, fmt::format("iterate's function changes {} to {}", from.str(), to.str()),
           fmt::format("then the count must be a constant up to {}", maxIterateExpansion));
    return poison(expected);
  }
  for (std::int64_t i = 0; i < *times; i++) value = step(value);
  return finish(value, expected, span);
}

// The components of the only argument, a tuple of arrays, in its place.
bool Inference::takeApart(std::vector<Argument>& arguments) {
  const Expr in = infer(arguments[0].syntax, arguments[0].scope);
  const Span where = arguments[0].syntax->span;
  const Type type = solver_.resolve(in.type());
  arguments.clear();
  if (!type.isTuple()) {
    arguments.push_back({{}, typedSyntax(in, where), {}});
    return false;
  }
  for (std::size_t i = 0; i < type.components().size(); i++)
    arguments.push_back({{}, typedSyntax(componentOf(in, type, i), where), {}});
  return true;
}

Expr Inference::primitive(Prim prim, std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const PrimInfo& row = info(prim);
  const SynScheme& scheme = detail::schemeOf(prim);

  if (prim == Prim::tuple && arguments.size() >= 2) return tuple(arguments, expected, span);
  if (prim == Prim::arrayOf && !arguments.empty()) return array(arguments, expected, span);
  if (prim == Prim::zip && arguments.size() >= 2) return zip(arguments, expected, span);
  if (prim == Prim::zip && arguments.size() == 1 && !(expected && functionType(*expected)) && takeApart(arguments))
    return zip(arguments, expected, span);
  if (prim == Prim::ifThenElse && arguments.size() == 3) return ifThenElse(arguments, expected, span);
  // Where a function is wanted, what lacks one argument stays a partial application whose type its scheme tells.
  const std::optional<Type> function = expected ? functionType(*expected) : std::nullopt;
  std::size_t arity = scheme.parameters.size();
  if (isVariadic(prim)) {
    const Type in = function ? solver_.resolve(function->parameter()) : Type::scalar(Scalar::i32);
    arity = arguments.empty() && in.isTuple() ? in.components().size() : 2;
  }
  const bool isCurried = function && (arguments.size() + 1 == arity || functionType(function->result()));
  if (!isVariadic(prim) && prim != Prim::vectorize && arguments.size() < scheme.parameters.size()) {
    const auto given =
        slotsOf(std::string(row.name), scheme.parameters, arguments, fmt::format("its type is {}", row.scheme));
    if (!given || !inOrder(row, scheme, *given)) return poison(expected);
  }
  const bool hasRule = isVariadic(prim) || prim == Prim::unzip || prim == Prim::get || prim == Prim::iterate;
  if (prim != Prim::vectorize && (hasRule || !isCurried))
    if (const auto done = incomplete(prim, arity, {}, arguments, expected, span)) return *done;

  if (arguments.size() > scheme.parameters.size()) {
    if (reportsSurplus(arguments.size() - scheme.parameters.size(), span)) return poison(expected);
    report(span,
           fmt::format("{} takes {} argument{}, found {}", row.name, scheme.parameters.size(),
                       scheme.parameters.size() == 1 ? "" : "s", arguments.size()),
           fmt::format("its type is {}", row.scheme));
    return poison(expected);
  }

  const auto found =
      slotsOf(std::string(row.name), scheme.parameters, arguments, fmt::format("its type is {}", row.scheme));
  if (!found) return poison(expected);
  const auto& slots = *found;
  if (!inOrder(row, scheme, slots)) return poison(expected);
  if (prim == Prim::unzip) return unzip(arguments, expected, span);
  if (prim == Prim::vectorize) return vectorize(std::move(arguments), expected, span);
  if (prim == Prim::iterate) return iterate({*slots[0], *slots[1], *slots[2]}, expected, span);
  if (prim == Prim::get) {
    const auto component = sizeOf(slots[0]->syntax, slots[0]->scope).constant();
    return project(slots[1]->syntax, slots[1]->scope, static_cast<int>(component.value_or(-1)), expected, span);
  }
  return byScheme(prim, slots, expected, span);
}

}  // namespace lift::detail
