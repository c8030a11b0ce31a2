// Inference: primitives and operations, by their schemes; the variadic ones by functions of their own.
#include <fmt/format.h>
#include <algorithm>

#include "inference.hpp"

namespace lift::detail {
namespace {

constexpr int maxIterateExpansion = 64;

}  // namespace

// ------------------------------------------------------------------------------------------------------- primitives

Expr Inference::tuple(const std::vector<Argument>& parts, std::optional<Type> expected, Span span) {
  std::vector<std::optional<Type>> wanted(parts.size());
  if (expected) {
    const Type t = solver_.resolve(*expected);
    if (t.is(Type::Kind::tuple) && t.components().size() == parts.size())
      for (std::size_t i = 0; i < parts.size(); i++) wanted[i] = t.components()[i];
  }
  std::vector<Expr> values;
  std::vector<Type> types;
  for (std::size_t i = 0; i < parts.size(); i++) {
    values.push_back(infer(parts[i].syntax, parts[i].scope, wanted[i]));
    types.push_back(values.back().type());
  }
  Type type = Type::tuple(types);
  for (auto t = types.rbegin(); t != types.rend(); ++t) type = Type::function(*t, type);
  return finish(applyAll(Expr::primitive(Prim::tuple, {}, type), values), expected, span);
}

Expr Inference::project(const SynPtr& tuple, const ScopePtr& scope, int component, std::optional<Type> expected,
                        Span span) {
  const Expr value = infer(tuple, scope);
  const Type type = solver_.resolve(value.type());
  if (type.is(Type::Kind::variable)) {
    report(span, "the tuple's type is not known here", "annotate it, e.g. fun (p: (f32, f32)) => p.0");
    return poison(expected);
  }
  if (!type.is(Type::Kind::tuple)) {
    report(span, fmt::format("a value of type {} has no components", show(type)));
    return poison(expected);
  }
  if (component < 0 || static_cast<std::size_t>(component) >= type.components().size()) {
    report(span, fmt::format("{} has no component {}", show(type), component),
           fmt::format("components are numbered 0 to {}", type.components().size() - 1));
    return poison(expected);
  }
  const Expr get = Expr::primitive(Prim::get, {Nat(component)},
                                   Type::function(type, type.components()[static_cast<std::size_t>(component)]));
  return finish(Expr::apply(get, value), expected, span);
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
  Type type = Type::array(n, Type::tuple(elements));
  for (auto t = arrays.rbegin(); t != arrays.rend(); ++t) type = Type::function(*t, type);
  return finish(applyAll(Expr::primitive(Prim::zip, {}, type), values), expected, span);
}

Expr Inference::unzip(const std::vector<Argument>& arguments, std::optional<Type> expected, Span span) {
  const Expr e = infer(arguments[0].syntax, arguments[0].scope);
  const Type type = solver_.resolve(e.type());
  const Type element = type.isArray() ? solver_.resolve(type.element()) : type;
  if (!type.isArray() || !element.is(Type::Kind::tuple)) {
    report(span, fmt::format("unzip takes an array of tuples, found {}", show(type)));
    return poison(expected);
  }
  std::vector<Type> arrays;
  for (const Type c : element.components()) arrays.push_back(Type::array(type.length(), c));
  const Expr prim = Expr::primitive(Prim::unzip, {}, Type::function(type, Type::tuple(arrays)));
  return finish(Expr::apply(prim, e), expected, span);
}

// <w>t for a scalar t, component by component for tuples.
Type Inference::vectorOf(Nat width, Type t, Span span) {
  t = solver_.resolve(t);
  if (t.is(Type::Kind::tuple)) {
    std::vector<Type> parts;
    for (const Type c : t.components()) parts.push_back(vectorOf(width, c, span));
    return Type::tuple(std::move(parts));
  }
  solver_.require(t, TypeClass::scalar, span);
  return Type::vector(width, t);
}

std::optional<Type> Inference::scalarsOf(Type t) {
  t = solver_.resolve(t);
  if (t.is(Type::Kind::vector)) return t.element();
  if (!t.is(Type::Kind::tuple)) return std::nullopt;
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
  } else if (expected && solver_.resolve(*expected).is(Type::Kind::function)) {
    vectors = solver_.resolve(*expected).parameter();
  }
  Type scalars = solver_.freshType();
  if (vectors) {
    if (const auto s = scalarsOf(*vectors)) {
      scalars = *s;
    } else if (!solver_.resolve(*vectors).is(Type::Kind::variable)) {
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
    expect(in->type(), from, arguments[2].syntax->span);
    e = Expr::apply(e, *in);
  }
  return finish(e, expected, span);
}

Expr Inference::iterate(std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const Nat count = sizeOf(arguments[0].syntax, arguments[0].scope);
  Expr value = infer(arguments[2].syntax, arguments[2].scope);
  const Expr x = Expr::variable("x", value.type());
  const auto step = [&](Expr in) {
    return inferCall(arguments[1].syntax, arguments[1].scope, {{{}, typedSyntax(in, span), nullptr}}, {}, span);
  };
  const Expr once = step(x);
  const Type from = solver_.zonk(x.type()), to = solver_.zonk(once.type());
  if (from == to || from.hasMetas()) {
    expect(once.type(), x.type(), span, "iterate's function must keep the type");
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

Expr Inference::operation(Op op, std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const OpInfo& row = info(op);
  const auto arity = static_cast<std::size_t>(row.arity);
  const std::string shown(row.infix.empty() ? row.name : row.infix);
  if (arguments.size() > arity) {
    report(span,
           fmt::format("'{}' takes {} operand{}, found {}", shown, arity, arity == 1 ? "" : "s", arguments.size()));
    return poison(expected);
  }
  if (arguments.empty()) {  // the operation as a function, of a tuple when it has several operands
    Type parameter = solver_.freshType(), result = solver_.freshType();
    if (arity > 1) {
      std::vector<Type> parts;
      for (std::size_t i = 0; i < arity; i++) parts.push_back(solver_.freshType());
      parameter = Type::tuple(parts);
    }
    if (expected) expect(Type::function(parameter, result), *expected, span);
    parameter = solver_.resolve(parameter);
    const Expr p = Expr::variable("p", parameter);
    std::vector<Argument> operands;
    for (std::size_t i = 0; i < arity; i++) {
      Expr component = p;
      if (arity > 1)
        component = Expr::apply(Expr::primitive(Prim::get, {Nat(static_cast<std::int64_t>(i))},
                                                Type::function(parameter, parameter.components()[i])),
                                p);
      operands.push_back({{}, typedSyntax(component, span), nullptr});
    }
    return Expr::lambda(p, operation(op, operands, result, span));
  }
  if (arguments.size() < arity) {
    report(span, fmt::format("'{}' takes {} operands, found {}", shown, arity, arguments.size()));
    return poison(expected);
  }

  const Type boolean = Type::scalar(Scalar::boolean);
  const Type t = solver_.freshType();
  std::vector<Type> operands(arity, t);
  Type result = t;
  switch (row.typing) {
    case OpTyping::numeric:
      solver_.require(t, TypeClass::numeric, span);
      break;
    case OpTyping::floating:
      solver_.require(t, TypeClass::floating, span);
      break;
    case OpTyping::integral:
      solver_.require(t, TypeClass::integral, span);
      break;
    case OpTyping::comparison:
      solver_.require(t, op == Op::eq || op == Op::ne ? TypeClass::comparable : TypeClass::numeric, span);
      result = boolean;
      break;
    case OpTyping::logical:
      std::fill(operands.begin(), operands.end(), boolean);
      result = boolean;
      break;
    case OpTyping::selection:
      operands[0] = boolean;
      solver_.require(t, TypeClass::comparable, span);
      break;
  }
  if (expected) solver_.unify(result, *expected, span);
  std::vector<Expr> values;
  for (std::size_t i = 0; i < arity; i++) {
    const Expr v = infer(arguments[i].syntax, arguments[i].scope);
    if (!solver_.unify(v.type(), operands[i], arguments[i].syntax->span)) {
      const Type found = solver_.zonk(v.type()), wanted = solver_.zonk(operands[i]);
      std::string hint;
      if (found.isScalar() && wanted.isScalar()) hint = fmt::format("convert with {}(…)", wanted.str());
      if (found.isScalar() != wanted.isScalar()) hint = "splat(w, x) makes a vector of a scalar";
      report(arguments[i].syntax->span,
             fmt::format("operand of '{}': expected {}, found {}", shown, wanted.str(), found.str()), hint);
      return poison(expected);
    }
    values.push_back(v);
  }
  Type type = result;
  for (auto o = operands.rbegin(); o != operands.rend(); ++o) type = Type::function(*o, type);
  return finish(applyAll(Expr::primitive(Prim::op, {}, type, static_cast<std::uint8_t>(op)), values), expected, span);
}

Expr Inference::conversion(Scalar to, std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const auto prim = [&](Type from) {
    const Type r = solver_.resolve(from);
    const Type result = r.is(Type::Kind::vector) ? Type::vector(r.length(), Type::scalar(to)) : Type::scalar(to);
    return Expr::primitive(Prim::convert, {}, Type::function(from, result), static_cast<std::uint8_t>(to));
  };
  if (arguments.empty()) {
    Type from = solver_.freshType();
    if (expected && solver_.resolve(*expected).is(Type::Kind::function)) from = solver_.resolve(*expected).parameter();
    return finish(prim(from), expected, span);
  }
  if (arguments.size() != 1) {
    report(span, fmt::format("{}(…) converts one value", info(to).name));
    return poison(expected);
  }
  const Expr value = infer(arguments[0].syntax, arguments[0].scope);
  if (solver_.resolve(value.type()).is(Type::Kind::variable)) solver_.applyDefaults();
  const Type from = solver_.resolve(value.type());
  if (!from.isScalar() && !from.is(Type::Kind::vector) && !from.is(Type::Kind::variable)) {
    report(span, fmt::format("{}(…) converts scalars and vectors, found {}", info(to).name, show(from)));
    return poison(expected);
  }
  return finish(Expr::apply(prim(value.type()), value), expected, span);
}

// One value in every place of an array of arrays, where such an array is wanted: pad(1, 1, 0.0, rows).
Expr Inference::spread(Expr value, Type wanted) {
  wanted = solver_.resolve(wanted);
  if (!wanted.isArray() || solver_.resolve(value.type()).isArray()) return value;
  const Expr inner = spread(value, wanted.element());
  const Type index = Type::scalar(Scalar::i32);
  const Type f = Type::function(index, inner.type());
  const Expr generate =
      Expr::primitive(Prim::generate, {wanted.length()}, Type::function(f, Type::array(wanted.length(), inner.type())));
  return Expr::apply(generate, Expr::lambda(Expr::variable("_", index), inner));
}

Expr Inference::primitive(Prim prim, std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const PrimInfo& row = info(prim);
  const SynScheme& scheme = detail::schemeOf(prim);
  const auto headSyntax = [&] { return std::make_shared<const Syn>(Syn{span, Syn::Name{std::string(row.name)}}); };

  if (prim == Prim::tuple && arguments.size() >= 2) return tuple(arguments, expected, span);
  if (prim == Prim::zip && arguments.size() >= 2) return zip(arguments, expected, span);
  if (prim == Prim::zip || prim == Prim::tuple ||
      ((prim == Prim::unzip || prim == Prim::get || prim == Prim::iterate) &&
       arguments.size() < scheme.parameters.size()))
    return etaExpand(headSyntax(), nullptr, std::move(arguments), expected.value_or(solver_.freshType()), span);

  if (arguments.size() > scheme.parameters.size()) {
    report(span,
           fmt::format("{} takes {} argument{}, found {}", row.name, scheme.parameters.size(),
                       scheme.parameters.size() == 1 ? "" : "s", arguments.size()),
           fmt::format("its type is {}", row.scheme));
    return poison(expected);
  }

  // Named arguments go to their parameters, the others fill what is left in order.
  std::vector<const Argument*> slots(scheme.parameters.size(), nullptr);
  for (const Argument& a : arguments) {
    if (a.name.empty()) continue;
    std::size_t i = 0;
    while (i < slots.size() && scheme.parameters[i].name != a.name) i++;
    if (i == slots.size() || slots[i]) {
      report(a.syntax->span,
             i == slots.size() ? fmt::format("{} has no parameter named '{}'", row.name, a.name)
                               : fmt::format("parameter '{}' of {} is given twice", a.name, row.name),
             fmt::format("its type is {}", row.scheme));
      return poison(expected);
    }
    slots[i] = &a;
  }
  std::size_t next = 0;
  for (const Argument& a : arguments) {
    if (!a.name.empty()) continue;
    while (slots[next]) next++;
    slots[next] = &a;
  }
  if (prim == Prim::unzip) return unzip(arguments, expected, span);
  if (prim == Prim::vectorize) return vectorize(std::move(arguments), expected, span);
  if (prim == Prim::iterate) return iterate({*slots[0], *slots[1], *slots[2]}, expected, span);
  if (prim == Prim::get) {
    const auto component = sizeOf(slots[0]->syntax, slots[0]->scope).constant();
    return project(slots[1]->syntax, slots[1]->scope, static_cast<int>(component.value_or(-1)), expected, span);
  }

  // Sizes and the index function.
  std::map<std::string, Nat> given;
  std::vector<Nat> nats;
  std::uint8_t detail = 0;
  std::vector<const Argument*> data;
  std::vector<std::string> dataNames;
  for (std::size_t i = 0; i < slots.size(); i++) {
    const auto& p = scheme.parameters[i];
    const bool isNat = std::holds_alternative<SynType::Nat>(p.type->node);
    const bool isIndex = std::holds_alternative<SynType::Index>(p.type->node);
    if (!isNat && !isIndex) {
      data.push_back(slots[i]);
      dataNames.push_back(p.name);
      continue;
    }
    if (!slots[i]) {
      report(span, fmt::format("{} needs its {} '{}'", row.name, isNat ? "size" : "index function", p.name),
             fmt::format("its type is {}", row.scheme));
      return poison(expected);
    }
    if (isNat) {
      const Nat value = sizeOf(slots[i]->syntax, slots[i]->scope);
      given.emplace(p.name, value);
      nats.push_back(value);
      continue;
    }
    SynPtr fn = slots[i]->syntax;
    std::vector<SynPtr> fnArguments;
    if (const auto* call = std::get_if<Syn::Call>(&fn->node)) {
      for (const auto& a : call->arguments) fnArguments.push_back(a.value);
      fn = call->function;
    }
    const auto* name = std::get_if<Syn::Name>(&fn->node);
    const auto found = name ? indexFnNamed(name->text) : std::nullopt;
    if (!found) {
      report(slots[i]->syntax->span, "this is not an index function",
             "reorder takes reverse, stride(s), unstride(s), shift(k) or transpose(r, c)");
      return poison(expected);
    }
    if (static_cast<int>(fnArguments.size()) != info(*found).arity) {
      report(slots[i]->syntax->span,
             fmt::format("{} takes {} sizes, found {}", info(*found).name, info(*found).arity, fnArguments.size()));
      return poison(expected);
    }
    detail = static_cast<std::uint8_t>(*found);
    for (const SynPtr& a : fnArguments) nats.push_back(sizeOf(a, slots[i]->scope));
  }

  const auto positive = [&](std::size_t i, std::string_view what) {
    if (i < nats.size() && nats[i].upper() && *nats[i].upper() < 1) {
      report(span, fmt::format("{}: {} must be at least 1, found {}", row.name, what, nats[i].str()));
      return false;
    }
    return true;
  };
  if (prim == Prim::split && !positive(0, "the chunk size")) return poison(expected);
  if ((prim == Prim::slide || prim == Prim::slideStrict) && !(positive(0, "the window") && positive(1, "the step")))
    return poison(expected);
  if (prim == Prim::asVector || prim == Prim::splat)
    if (const auto w = nats[0].constant(); w && *w != 2 && *w != 3 && *w != 4 && *w != 8 && *w != 16) {
      report(span, fmt::format("{} is not a vector width", *w), "OpenCL has vectors of 2, 3, 4, 8 and 16");
      return poison(expected);
    }
  if (prim == Prim::mapGlb || prim == Prim::mapWrg || prim == Prim::mapLcl)
    if (const auto d = nats[0].constant(); !d || *d < 0 || *d > 2) {
      report(span, fmt::format("{}: the dimension must be 0, 1 or 2, found {}", row.name, nats[0].str()));
      return poison(expected);
    }

  Instance instance(prim, solver_, given, span);
  const std::size_t missing = static_cast<std::size_t>(std::count(data.begin(), data.end(), nullptr));
  for (std::size_t i = 0; i + missing < data.size(); i++)
    if (!data[i]) {
      report(span, fmt::format("{}: argument '{}' is missing", row.name, dataNames[i]),
             fmt::format("its type is {}", row.scheme));
      return poison(expected);
    }
  Type type = instance.functionType();
  if (expected && missing > 0) {
    Type partial = instance.result;
    for (std::size_t i = data.size(); i-- > data.size() - missing;)
      partial = Type::function(instance.parameters[i], partial);
    if (!expect(partial, *expected, span, std::string(row.name))) return poison(expected);
  } else if (expected && prim != Prim::splat) {
    solver_.unify(instance.result, *expected, span);  // a mismatch is reported below, with the arguments known
  }

  // Data first, functions when their parameter types are known.
  std::vector<std::optional<Expr>> values(data.size());
  if (prim == Prim::pad && data[0] && data[1]) {
    values[1] = infer(data[1]->syntax, data[1]->scope, instance.parameters[1]);
    values[0] = spread(infer(data[0]->syntax, data[0]->scope), instance.parameters[0]);
    expect(values[0]->type(), instance.parameters[0], data[0]->syntax->span, "the padding");
  }
  for (const bool functions : {false, true})
    for (std::size_t i = 0; i < data.size(); i++) {
      if (!data[i] || solver_.resolve(instance.parameters[i]).is(Type::Kind::function) != functions || values[i])
        continue;
      const Argument& a = *data[i];
      if (functions) {
        values[i] = infer(a.syntax, a.scope, instance.parameters[i]);
        // An error below it, which is reported, may have left something that is no function.
        const Type found = solver_.resolve(values[i]->type());
        if (!found.is(Type::Kind::function) && !found.is(Type::Kind::variable)) return poison(expected);
        continue;
      }
      values[i] = infer(a.syntax, a.scope);
      if (!solver_.unify(values[i]->type(), instance.parameters[i], a.syntax->span)) {
        const Type found = solver_.zonk(values[i]->type()), wanted = solver_.zonk(instance.parameters[i]);
        report(a.syntax->span,
               fmt::format("argument '{}' of {}: expected {}, found {}", dataNames[i], row.name, wanted.str(),
                           found.str()),
               fmt::format("its type is {}", row.scheme));
        return poison(expected);
      }
    }

  if (prim == Prim::at && data[0] && data[1]) {
    const auto* index = std::get_if<Syn::Integer>(&data[0]->syntax->node);
    const auto length = solver_.zonk(instance.parameters.back()).length().constant();
    if (index && length && (index->value < 0 || index->value >= *length))
      report(span, fmt::format("index {} is out of range of {} elements", index->value, *length),
             "elements are counted from 0");
  }
  for (const auto& c : instance.conditions)
    conditions_.push_back(
        {c.kind, c.left, c.right, span, place(span), std::string(row.name), instance.parameters.back()});
  if (prim == Prim::reorder) {
    const Nat n = solver_.resolve(instance.parameters.back()).is(Type::Kind::array)
                      ? solver_.resolve(instance.parameters.back()).length()
                      : Nat(1);
    for (const auto& c : indexConditions(static_cast<IndexFn>(detail), nats, n))
      conditions_.push_back({c.kind, c.left, c.right, span, place(span), "reorder", instance.parameters.back()});
  }

  Expr e = Expr::primitive(prim, nats, type, detail);
  spans_.emplace(e, place(span));
  for (const auto& v : values)
    if (v) e = Expr::apply(e, *v);
  return finish(e, expected, span);
}

}  // namespace lift::detail
