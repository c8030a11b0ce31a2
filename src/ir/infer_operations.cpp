// Inference: operations on scalars and conversions.
#include <fmt/format.h>
#include <algorithm>

#include "inference.hpp"
#include "lift/build.hpp"

namespace lift::detail {

std::string written(Span span, const std::string& otherwise) {
  if (!span || span.end - span.begin > 30 || span.end > span.file->text.size()) return otherwise;
  const std::string text = span.file->text.substr(span.begin, span.end - span.begin);
  return text.find('\n') == std::string::npos ? text : otherwise;
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
    if (t.isVariable()) continue;
    std::string hint;
    if (!t.isScalar() && !t.isVector()) {
      // Passed by its name, it has no operands that could be written in another way.
      const bool isPassed = values.size() == 2 && operands[0].syntax->span.begin == operands[1].syntax->span.begin;
      if (isPassed && arrays == 2) hint = fmt::format("zipWith({}) is of arrays", row.name);
      if (isPassed && arrays == 1) hint = "join(xs) has the elements of all rows; map takes each row";
      if (arrays == 1 && values.size() == 1) hint = fmt::format("write map({}, {})", row.name, textAt(0));
      if (arrays == 1 && values.size() == 2 && !isPassed && !row.infix.empty())
        hint =
            fmt::format("write map(fun x => {}, {})",
                        last == 0 ? fmt::format("x {} {}", shown, textAt(1)) : fmt::format("{} {} x", textAt(0), shown),
                        textAt(last));
      if (arrays == 2 && values.size() == 2 && !isPassed)
        hint = fmt::format("write zipWith({}, {}, {})", row.name, textAt(0), textAt(1));
      // Inside a definition of another file the user can only map the whole definition.
      const auto call = std::find_if(expansions_.rbegin(), expansions_.rend(),
                                     [&](const Expansion& e) { return e.call.file == expansions_.front().call.file; });
      if (call != expansions_.rend() && span.file != call->call.file)
        hint = call->arguments.size() == 1
                   ? fmt::format("write map({}, {})", call->definition->name, written(call->arguments[0], "xs"))
                   : "";
      report(span, fmt::format("'{}' works on scalars and vectors, found {}", shown, show(t)), hint);
      return false;
    }
    const Type scalar = t.isVector() ? solver_.resolve(t.element()) : t;
    if (row.typing != OpTyping::integral || !scalar.isScalar() || isInteger(scalar.scalar())) continue;
    if (op == Op::bitXor && isFloat(scalar.scalar())) hint = "powers are written pow(x, y); square(x) is x * x";
    if (scalar.scalar() == Scalar::boolean) {
      if (!row.infix.empty())
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

// The operation as a function, of a tuple when it has several operands.
Expr Inference::operationAsFunction(Op op, std::optional<Type> expected, Span span) {
  const auto arity = static_cast<std::size_t>(info(op).arity);
  Type parameter = solver_.freshType(), result = solver_.freshType();
  if (arity > 1) {
    std::vector<Type> parts;
    for (std::size_t i = 0; i < arity; i++) parts.push_back(solver_.freshType());
    parameter = Type::tuple(parts);
  }
  if (expected) {
    // One array where the operation takes two of its elements is to be reduced.
    const Type wanted = solver_.resolve(*expected);
    const Type given = wanted.isFunction() ? solver_.resolve(wanted.parameter()) : wanted;
    if (arity > 1 && (given.isArray() || given.isScalar())) {
      constexpr std::pair<Op, const char*> ofArrays[] = {{Op::add, "sum"},        {Op::mul, "product"},
                                                         {Op::max, "maximum"},    {Op::min, "minimum"},
                                                         {Op::logicalAnd, "all"}, {Op::logicalOr, "any"}};
      const auto* ofArray = std::ranges::find(ofArrays, op, &std::pair<Op, const char*>::first);
      const bool reduces = given.isArray() && ofArray != std::end(ofArrays);
      report(span, fmt::format("{} takes {} values, and is given one, {}", info(op).name, arity, show(given)),
             reduces ? fmt::format("{} is of an array", ofArray->second)
                     : fmt::format("zipWith({}, xs, ys) takes those of two arrays", info(op).name));
      return poison(expected);
    }
    expect(Type::function(parameter, result), *expected, span);
  }
  parameter = solver_.resolve(parameter);
  const Expr p = Expr::variable("p", parameter);
  std::vector<Argument> operands;
  for (std::size_t i = 0; i < arity; i++)
    operands.push_back({{}, typedSyntax(arity > 1 ? componentOf(p, parameter, i) : p, span), {}});
  return Expr::lambda(p, operation(op, operands, result, span));
}

struct Inference::OperationTypes {
  std::vector<Type> operands;
  Type result;
  Type common;                      // of all operands that have no type of their own
  std::optional<TypeClass> wanted;  // of `common`
};

Inference::OperationTypes Inference::typesOf(Op op) {
  const Type boolean = Type::scalar(Scalar::boolean), t = solver_.freshType();
  OperationTypes types{std::vector<Type>(static_cast<std::size_t>(info(op).arity), t), t, t, {}};
  switch (info(op).typing) {
    case OpTyping::numeric: types.wanted = TypeClass::numeric; break;
    case OpTyping::floating: types.wanted = TypeClass::floating; break;
    case OpTyping::integral: types.wanted = TypeClass::integral; break;
    case OpTyping::comparison:
      types.wanted = op == Op::eq || op == Op::ne ? TypeClass::comparable : TypeClass::numeric;
      types.result = boolean;
      break;
    case OpTyping::logical:
      std::ranges::fill(types.operands, boolean);
      types.result = boolean;
      break;
    case OpTyping::selection:
      types.operands[0] = boolean;
      types.wanted = TypeClass::comparable;
      break;
  }
  return types;
}

// Of vectors, comparisons and logical operations have a truth value for each lane, and select may take one for each.
void Inference::widenTruth(Op op, OperationTypes& types, const std::vector<Expr>& values, Span span) {
  const OpTyping typing = info(op).typing;
  const bool compares = typing == OpTyping::comparison;
  if (!compares && typing != OpTyping::logical && typing != OpTyping::selection) return;
  const auto isVector = [&](Expr v) { return solver_.resolve(v.type()).isVector(); };
  const auto vector =
      typing == OpTyping::selection && !isVector(values[0]) ? values.end() : std::ranges::find_if(values, isVector);
  if (vector == values.end()) {
    // What is not known yet must not become a vector, since the result is none.
    if (compares && solver_.resolve(types.common).isVariable()) solver_.require(types.common, TypeClass::scalar, span);
    return;
  }
  const Type lanes = Type::vector(solver_.resolve(vector->type()).length(), Type::scalar(Scalar::boolean));
  if (typing == OpTyping::logical) std::ranges::fill(types.operands, lanes);
  if (typing != OpTyping::selection) {
    types.result = lanes;
    return;
  }
  types.operands[0] = lanes;
  const Type chosen = Type::vector(lanes.length(), solver_.freshType());
  solver_.unify(chosen, types.common, span);  // else the operands do not fit
  types.common = types.operands[1] = types.operands[2] = types.result = chosen;
}

bool Inference::takesOperand(Op op, const OperationTypes& types, std::size_t i, Expr value, Span span) {
  const OpInfo& row = info(op);
  const auto refuse = [&](const std::string& wanted, const std::string& found, const std::string& hint = {}) {
    report(
        span,
        fmt::format("operand of '{}': expected {}, found {}", row.infix.empty() ? row.name : row.infix, wanted, found),
        hint);
    return false;
  };
  if (!solver_.unify(value.type(), types.operands[i], span)) {
    const Type found = solver_.zonk(value.type()), wanted = solver_.zonk(types.operands[i]);
    std::string hint;
    if (found.isScalar() && wanted.isScalar()) hint = fmt::format("convert with {}(…)", wanted.str());
    if (found.isScalar() != wanted.isScalar()) hint = "splat(w, x) makes a vector of a scalar";
    return refuse(wanted.str(), found.str(), hint);
  }
  if (types.wanted && types.operands[i] == types.common && !solver_.fits(types.common, *types.wanted))
    return refuse(describe(*types.wanted), show(types.common),
                  types.wanted == TypeClass::floating && solver_.fits(types.common, TypeClass::integral)
                      ? "convert with f32(…)"
                      : "");
  return true;
}

Expr Inference::operation(Op op, std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const OpInfo& row = info(op);
  const auto arity = static_cast<std::size_t>(row.arity);
  if (arguments.size() > arity) {
    if (reportsSurplus(arguments.size() - arity, span)) return poison(expected);
    report(span, fmt::format("'{}' takes {} operand{}, found {}", row.infix.empty() ? row.name : row.infix, arity,
                             arity == 1 ? "" : "s", arguments.size()));
    return poison(expected);
  }
  if (arguments.empty()) return operationAsFunction(op, expected, span);
  if (const auto done = incomplete(op, arity, {}, arguments, expected, span)) return *done;

  OperationTypes types = typesOf(op);
  if (expected && types.result == types.common) solver_.unify(types.result, *expected, span);
  std::vector<Expr> values;
  for (std::size_t i = 0; i < arity; i++) {
    // What a definition gives is shared by uses that want the same type of it.
    const bool isDefined = callsDefinition(arguments[i]);
    values.push_back(
        infer(arguments[i].syntax, arguments[i].scope, isDefined ? std::optional(types.operands[i]) : std::nullopt));
  }
  if (op != Op::select && !fitsOperation(op, arguments, values, span)) return poison(expected);
  widenTruth(op, types, values, span);
  for (std::size_t i = 0; i < arity; i++)
    if (!takesOperand(op, types, i, values[i], arguments[i].syntax->span)) return poison(expected);
  if (types.wanted) solver_.require(types.common, *types.wanted, span);
  const Expr prim = Expr::primitive(Prim::op, {}, Type::function(types.operands, types.result),
                                    static_cast<std::uint8_t>(op), place(span));
  return finish(applyAll(prim, values), expected, span);
}

Expr Inference::conversion(std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  if (arguments.size() > 1) {
    if (reportsSurplus(arguments.size() - 1, span)) return poison(expected);
    report(span, "convert(…) converts one value");
    return poison(expected);
  }
  const Expr placeholder = Expr::variable("convert", Type::function(solver_.freshType(), solver_.freshType()));
  solver_.require(placeholder.type().result(), TypeClass::numeric, span);
  conversions_.push_back(placeholder);
  if (arguments.empty()) return finish(placeholder, expected, span);
  const Expr value = infer(arguments[0].syntax, arguments[0].scope, placeholder.type().parameter());
  if (const Type from = solver_.resolve(value.type()); from.isVector()) {
    const Type to = Type::vector(from.length(), solver_.freshType());
    solver_.unify(placeholder.type().result(), to, span);
  } else if (!from.isScalar() && !from.isVariable()) {
    report(span, fmt::format("convert(…) converts scalars and vectors, found {}", show(from)));
    return poison(expected);
  }
  return finish(Expr::apply(placeholder, value), expected, span);
}

Expr Inference::conversion(Scalar to, std::vector<Argument> arguments, std::optional<Type> expected, Span span) {
  const auto prim = [&](Type from) {
    const Type r = solver_.resolve(from);
    const Type result = r.isVector() ? Type::vector(r.length(), Type::scalar(to)) : Type::scalar(to);
    return Expr::primitive(Prim::convert, {}, Type::function(from, result), static_cast<std::uint8_t>(to));
  };
  if (arguments.empty()) {
    Type from = solver_.freshType();
    if (expected && solver_.resolve(*expected).isFunction()) from = solver_.resolve(*expected).parameter();
    return finish(prim(from), expected, span);
  }
  if (arguments.size() != 1) {
    if (reportsSurplus(arguments.size() - 1, span)) return poison(expected);
    report(span, fmt::format("{}(…) converts one value", info(to).name));
    return poison(expected);
  }
  const Expr value = infer(arguments[0].syntax, arguments[0].scope);
  if (solver_.resolve(value.type()).isVariable()) solver_.applyDefaults();
  const Type from = solver_.resolve(value.type());
  if (!from.isScalar() && !from.isVector() && !from.isVariable()) {
    report(span, fmt::format("{}(…) converts scalars and vectors, found {}", info(to).name, show(from)),
           from.isArray() ? fmt::format("map({}, xs) converts each element of an array", info(to).name) : "");
    return poison(expected);
  }
  return finish(Expr::apply(prim(value.type()), value), expected, span);
}

}  // namespace lift::detail
