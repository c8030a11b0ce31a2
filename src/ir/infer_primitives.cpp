// Inference: primitives and operations, by their schemes; the variadic ones by functions of their own.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <functional>

#include "inference.hpp"
#include "lift/build.hpp"

namespace lift::detail {
namespace {

constexpr int maxIterateExpansion = 64;

// The text at a span, where there is one and it is short; else a name for it.
std::string written(Span span, const std::string& otherwise) {
  if (!span || span.end - span.begin > 30 || span.end > span.file->text.size()) return otherwise;
  const std::string text = span.file->text.substr(span.begin, span.end - span.begin);
  return text.find('\n') == std::string::npos ? text : otherwise;
}

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
    if (t.is(Type::Kind::tuple) && t.components().size() == parts.size())
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
  if (solver_.resolve(t).is(Type::Kind::function)) {
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
    if (b.is(Type::Kind::variable)) return true;
    if (a.isArray() && b.isArray()) return a.length() == b.length() && mayEqual(a.element(), b.element());
    if (!a.is(Type::Kind::tuple) || !b.is(Type::Kind::tuple) || a.components().size() != b.components().size())
      return a == b;
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

bool Inference::fitsOperation(Op op, const std::vector<Argument>& operands, const std::vector<Expr>& values,
                              Span span) {
  const OpInfo& row = info(op);
  const std::string shown(row.infix.empty() ? row.name : row.infix);
  const auto typeAt = [&](std::size_t i) { return solver_.resolve(values[i].type()); };
  const auto textAt = [&](std::size_t i) { return written(operands[i].syntax->span, i == 0 ? "a" : "b"); };
  std::size_t arrays = 0, last = 0;
  for (std::size_t i = 0; i < values.size(); i++)
    if (typeAt(i).isArray()) arrays++, last = i;
  for (std::size_t i = 0; i < values.size(); i++) {
    const Type t = typeAt(i);
    if (t.is(Type::Kind::variable)) continue;
    std::string hint;
    if (!t.isScalar() && !t.is(Type::Kind::vector)) {
      if (arrays == 1 && values.size() == 1) hint = fmt::format("write map({}, {})", row.name, textAt(0));
      if (arrays == 1 && values.size() == 2 && !row.infix.empty())
        hint =
            fmt::format("write map(fun x => {}, {})",
                        last == 0 ? fmt::format("x {} {}", shown, textAt(1)) : fmt::format("{} {} x", textAt(0), shown),
                        textAt(last));
      if (arrays == 2 && values.size() == 2)
        hint = fmt::format("write zipWith({}, {}, {})", row.name, textAt(0), textAt(1));
      report(span, fmt::format("'{}' works on scalars and vectors, found {}", shown, show(t)), hint);
      return false;
    }
    const Type scalar = t.is(Type::Kind::vector) ? solver_.resolve(t.element()) : t;
    if (row.typing != OpTyping::integral || !scalar.isScalar() || isInteger(scalar.scalar())) continue;
    if (op == Op::bitXor && isFloat(scalar.scalar())) hint = "powers are written pow(x, y); square(x) is x * x";
    if (scalar.scalar() == Scalar::boolean) {
      hint = fmt::format("{} binds less tightly than a comparison, as in C: write (a {} b) == c", shown, shown);
      if (op == Op::bitAnd && values.size() == 2 && typeAt(0) == typeAt(1)) hint = "logical and is written &&";
      if (op == Op::bitOr && values.size() == 2 && typeAt(0) == typeAt(1)) hint = "logical or is written ||";
      if (op == Op::bitNot) hint = "logical not is written !x";
    }
    report(span, fmt::format("'{}' works on integers, found {}", shown, show(t)), hint);
    return false;
  }
  return true;
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
    for (std::size_t i = 0; i < arity; i++)
      operands.push_back({{}, typedSyntax(arity > 1 ? componentOf(p, parameter, i) : p, span), {}});
    return Expr::lambda(p, operation(op, operands, result, span));
  }
  if (const auto done = incomplete(op, arity, {}, arguments, expected, span)) return *done;

  const Type boolean = Type::scalar(Scalar::boolean);
  const Type t = solver_.freshType();
  std::vector<Type> operands(arity, t);
  Type result = t;
  std::optional<TypeClass> wanted;  // of t
  switch (row.typing) {
    case OpTyping::numeric:
      wanted = TypeClass::numeric;
      break;
    case OpTyping::floating:
      wanted = TypeClass::floating;
      break;
    case OpTyping::integral:
      wanted = TypeClass::integral;
      break;
    case OpTyping::comparison:
      wanted = op == Op::eq || op == Op::ne ? TypeClass::comparable : TypeClass::numeric;
      result = boolean;
      break;
    case OpTyping::logical:
      std::fill(operands.begin(), operands.end(), boolean);
      result = boolean;
      break;
    case OpTyping::selection:
      operands[0] = boolean;
      wanted = TypeClass::comparable;
      break;
  }
  if (expected) solver_.unify(result, *expected, span);
  std::vector<Expr> values;
  for (std::size_t i = 0; i < arity; i++) {
    // What a definition gives is shared by uses that want the same type of it.
    const bool isDefined = callsDefinition(arguments[i]);
    values.push_back(
        infer(arguments[i].syntax, arguments[i].scope, isDefined ? std::optional(operands[i]) : std::nullopt));
  }
  if (op != Op::select && !fitsOperation(op, arguments, values, span)) return poison(expected);
  for (std::size_t i = 0; i < arity; i++) {
    const Expr v = values[i];
    if (!solver_.unify(v.type(), operands[i], arguments[i].syntax->span)) {
      const Type found = solver_.zonk(v.type()), wanted = solver_.zonk(operands[i]);
      std::string hint;
      if (found.isScalar() && wanted.isScalar()) hint = fmt::format("convert with {}(…)", wanted.str());
      if (found.isScalar() != wanted.isScalar()) hint = "splat(w, x) makes a vector of a scalar";
      report(arguments[i].syntax->span,
             fmt::format("operand of '{}': expected {}, found {}", shown, wanted.str(), found.str()), hint);
      return poison(expected);
    }
    if (wanted && operands[i] == t && !solver_.fits(t, *wanted)) {
      report(arguments[i].syntax->span,
             fmt::format("operand of '{}': expected {}, found {}", shown, describe(*wanted), show(t)));
      return poison(expected);
    }
  }
  if (wanted) solver_.require(t, *wanted, span);
  const Expr prim =
      Expr::primitive(Prim::op, {}, Type::function(operands, result), static_cast<std::uint8_t>(op), place(span));
  return finish(applyAll(prim, values), expected, span);
}

Expr Inference::conversion(std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  if (arguments.size() > 1) {
    report(span, "convert(…) converts one value");
    return poison(expected);
  }
  const Expr placeholder = Expr::variable("convert", Type::function(solver_.freshType(), solver_.freshType()));
  solver_.require(placeholder.type().result(), TypeClass::numeric, span);
  conversions_.push_back(placeholder);
  if (arguments.empty()) return finish(placeholder, expected, span);
  const Expr value = infer(arguments[0].syntax, arguments[0].scope, placeholder.type().parameter());
  if (const Type from = solver_.resolve(value.type()); from.is(Type::Kind::vector)) {
    const Type to = Type::vector(from.length(), solver_.freshType());
    solver_.unify(placeholder.type().result(), to, span);
  } else if (!from.isScalar() && !from.is(Type::Kind::variable)) {
    report(span, fmt::format("convert(…) converts scalars and vectors, found {}", show(from)));
    return poison(expected);
  }
  return finish(Expr::apply(placeholder, value), expected, span);
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
  return build::call(Prim::generate, {wanted.length()}, {Expr::lambda(Expr::variable("_", index), inner)});
}

// "f is given 2 of 4 arguments: a, b, c, d", where the argument is a call of a definition that lacks some.
std::string Inference::whatLacks(const Argument& argument) const {
  SynPtr s = argument.syntax;
  Scope scope = argument.scope;
  std::size_t given = 0;
  for (int steps = 0; steps < maxAliases; steps++) {
    if (const auto* call = std::get_if<Syn::Call>(&s->node)) {
      given += call->arguments.size();
      s = call->function;
      continue;
    }
    const auto* name = std::get_if<Syn::Name>(&s->node);
    const auto meaning = name ? meaningOf(*name, scope) : std::nullopt;
    if (!meaning) return {};
    if (const Thunk* t = std::get_if<Thunk>(&*meaning)) {
      s = t->syntax;
      scope = t->scope;
      continue;
    }
    const Global* g = std::get_if<Global>(&*meaning);
    if (!g || given == 0 || given >= g->definition->parameters.size()) return {};
    std::vector<std::string> parameters;
    for (const auto& p : g->definition->parameters) parameters.push_back(p.name);
    return fmt::format("{} is given {} of {} arguments: {}", g->definition->name, given, parameters.size(),
                       fmt::join(parameters, ", "));
  }
  return {};
}

bool Inference::inOrder(const PrimInfo& row, const SynScheme& scheme, const std::vector<const Argument*>& slots) {
  const auto wantsFunction = [&](std::size_t i) {
    return std::holds_alternative<SynType::Function>(scheme.parameters[i].type->node);
  };
  std::vector<const Argument*> functions, others;
  std::size_t wanted = 0, wrong = slots.size();
  for (std::size_t i = 0; i < slots.size(); i++) {
    wanted += wantsFunction(i);
    if (!slots[i]) continue;
    if (!slots[i]->name.empty()) return true;
    const bool given = isFunction(*slots[i]);
    (given ? functions : others).push_back(slots[i]);
    if (given && !wantsFunction(i) && wrong == slots.size()) wrong = i;
  }
  if (wanted == 0 || wrong == slots.size() || row.prim == Prim::let) return true;
  std::string hint = fmt::format("its type is {}", row.scheme);
  if (functions.size() == wanted && others.size() <= slots.size() - wanted) {
    // As it may have been meant; what is missing, the first values, has its parameter's name.
    std::size_t missing = slots.size() - wanted - others.size(), f = 0, o = 0;
    hint = fmt::format("write {}(", row.name);
    for (std::size_t i = 0; i < slots.size(); i++) {
      const std::string& name = scheme.parameters[i].name;
      if (i > 0) hint += ", ";
      if (!wantsFunction(i) && missing > 0) {
        missing--;
        hint += name;
      } else {
        hint += written((wantsFunction(i) ? functions[f++] : others[o++])->syntax->span, name);
      }
    }
    hint += ")";
  }
  if (const std::string lacks = whatLacks(*slots[wrong]); !lacks.empty()) hint = lacks;
  report(slots[wrong]->syntax->span,
         fmt::format("argument '{}' of {} is a value, found a function", scheme.parameters[wrong].name, row.name),
         hint);
  return false;
}

Expr Inference::primitive(Prim prim, std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const PrimInfo& row = info(prim);
  const SynScheme& scheme = detail::schemeOf(prim);

  if (prim == Prim::tuple && arguments.size() >= 2) return tuple(arguments, expected, span);
  if (prim == Prim::arrayOf && !arguments.empty()) return array(arguments, expected, span);
  if (prim == Prim::zip && arguments.size() >= 2) return zip(arguments, expected, span);
  if (prim == Prim::zip && arguments.size() == 1 && !(expected && functionType(*expected))) {  // of a tuple of arrays
    const Expr in = infer(arguments[0].syntax, arguments[0].scope);
    const Span where = arguments[0].syntax->span;
    const Type type = solver_.resolve(in.type());
    arguments.clear();
    if (!type.is(Type::Kind::tuple)) {
      arguments.push_back({{}, typedSyntax(in, where), {}});
    } else {
      for (std::size_t i = 0; i < type.components().size(); i++)
        arguments.push_back({{}, typedSyntax(componentOf(in, type, i), where), {}});
      return zip(arguments, expected, span);
    }
  }
  if (prim == Prim::ifThenElse && arguments.size() == 3) return ifThenElse(arguments, expected, span);
  // Where a function is wanted, what lacks one argument stays a partial application whose type its scheme tells.
  const std::optional<Type> function = expected ? functionType(*expected) : std::nullopt;
  std::size_t arity = scheme.parameters.size();
  if (isVariadic(prim)) {
    const Type in = function ? solver_.resolve(function->parameter()) : Type::scalar(Scalar::i32);
    arity = arguments.empty() && in.is(Type::Kind::tuple) ? in.components().size() : 2;
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
    const auto indexFn = name ? indexFnNamed(name->text) : std::nullopt;
    if (!indexFn) {
      report(slots[i]->syntax->span, "this is not an index function",
             "reorder takes reverse, stride(s), unstride(s), shift(k) or transpose(r, c)");
      return poison(expected);
    }
    if (static_cast<int>(fnArguments.size()) != info(*indexFn).arity) {
      report(slots[i]->syntax->span,
             fmt::format("{} takes {} sizes, found {}", info(*indexFn).name, info(*indexFn).arity, fnArguments.size()));
      return poison(expected);
    }
    detail = static_cast<std::uint8_t>(*indexFn);
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
    if (!expect(values[0]->type(), instance.parameters[0], data[0]->syntax->span, "the padding"))
      return poison(expected);
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
               found.isScalar() && wanted.isScalar() ? fmt::format("convert with {}(…)", wanted.str())
                                                     : fmt::format("its type is {}", row.scheme));
        return poison(expected);
      }
    }

  for (const auto& c : instance.conditions) {
    conditions_.push_back(
        {c.kind, c.left, c.right, span, place(span), std::string(row.name), instance.parameters.back()});
    // Of an array with less than one element nothing can be made.
    if (c.kind == SizeCondition::Kind::lessEqual && solver_.zonk(c.right).constant() &&
        reportRefuted(conditions_.back()))
      return poison(expected);
  }
  if (prim == Prim::reorder) {
    const Nat n = solver_.resolve(instance.parameters.back()).is(Type::Kind::array)
                      ? solver_.resolve(instance.parameters.back()).length()
                      : Nat(1);
    for (const auto& c : indexConditions(static_cast<IndexFn>(detail), nats, n))
      conditions_.push_back({c.kind, c.left, c.right, span, place(span), "reorder", instance.parameters.back()});
  }

  Expr e = Expr::primitive(prim, nats, type, detail, place(span));
  spans_.emplace(e, place(span));
  for (const auto& v : values)
    if (v) e = Expr::apply(e, *v);
  return finish(e, expected, span);
}

}  // namespace lift::detail
