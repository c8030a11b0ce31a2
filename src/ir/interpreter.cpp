// The evaluation of terms: call by value, eager but for the sides of a condition, closures over linked environments.
// The depth of the C++ stack follows the nesting of the term and never the length of an array or the count of an
// iteration.
#include "lift/interpreter.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "lift/diagnostic.hpp"
#include "lift/free_memory.hpp"
#include "meanings.hpp"

namespace lift {
namespace {

using namespace detail;

// The values of the variables in scope, innermost first, and what scalars are computed with.
struct Binding {
  Expr variable;
  Value value;
  std::shared_ptr<const Binding> outer;
};
struct Environment {
  const Arithmetic* arithmetic;
  std::shared_ptr<const Binding> innermost = nullptr;
};

Environment bind(Expr variable, Value value, Environment outer) {
  return {outer.arithmetic,
          std::make_shared<const Binding>(Binding{variable, std::move(value), std::move(outer.innermost)})};
}

const Value& lookUp(Expr variable, const Environment& environment) {
  for (const Binding* b = environment.innermost.get(); b != nullptr; b = b->outer.get())
    if (b->variable == variable) return b->value;
  throw InternalError("the interpreter met the free variable " + variable.name());
}

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
std::int64_t plus(std::int64_t a, std::int64_t b) { return __builtin_add_overflow(a, b, &a) ? most : a; }

// Numbers in a value of the type, as far as 64 bits count.
std::int64_t numbersIn(Type type) {
  std::int64_t all = 1;
  switch (type.kind()) {
    case Type::Kind::array:
      return __builtin_mul_overflow(constantOf(type.length()), numbersIn(type.element()), &all) ? most : all;
    case Type::Kind::tuple:
      all = 0;
      for (const Type t : type.components()) all = plus(all, numbersIn(t));
      return all;
    default: return all;
  }
}

// Refuses so many numbers where they would exhaust the memory, before any of it is taken.
void requireRoom(std::int64_t numbers, Type type, Span place, std::string_view what) {
  constexpr std::int64_t large = std::int64_t{1} << 22U;
  if (numbers < large) return;
  const std::int64_t left = freeMemory();
  if (numbers > left / static_cast<std::int64_t>(sizeof(Value)))
    throw UserError(
        ExitStatus::program,
        fmt::format("{}: {} does not fit into the interpreter's memory: a number takes {} bytes, {} are free", what,
                    type.str(), sizeof(Value), left),
        "`liftc run` keeps numbers as they are", place);
}

// A primitive and the arguments it has so far. `rest` is the type of that application: no primitive returns a
// function, so when `rest` is none the primitive has all its arguments and means a value, else it waits for the next.
Value partial(Expr prim, std::vector<Value> known, Type rest, const Arithmetic& arithmetic) {
  if (!rest.isFunction()) {
    requireRoom(numbersIn(rest), rest, prim.place(), info(prim.prim()).name);
    return meaningOf(prim, std::move(known), arithmetic);
  }
  return Value::of(Value::Function([prim, known = std::move(known), rest, &arithmetic](const Value& next) {
    std::vector<Value> more = known;
    more.push_back(next);
    return partial(prim, std::move(more), rest.result(), arithmetic);
  }));
}

Value evaluate(Expr e, const Environment& environment);

Value closure(Expr lambda, const Environment& environment) {
  return Value::of(Value::Function([parameter = lambda.parameter(), body = lambda.body(), environment](const Value& x) {
    return evaluate(body, bind(parameter, x, environment));
  }));
}

// if, && and || evaluate what their first argument asks for; nothing for other applications.
std::optional<Value> lazily(const Spine& s, const Environment& environment) {
  const auto& a = s.arguments;
  if (s.isPrim(Prim::ifThenElse) && a.size() == 3)
    return evaluate(evaluate(a[0], environment).scalar().truth() ? a[1] : a[2], environment);
  const bool isAnd = s.isPrim(Prim::op) && s.head.op() == Op::logicalAnd;
  const bool isOr = s.isPrim(Prim::op) && s.head.op() == Op::logicalOr;
  if ((!isAnd && !isOr) || a.size() != 2 || !a[0].type().isScalar()) return std::nullopt;
  Value first = evaluate(a[0], environment);
  return first.scalar().truth() == isOr ? first : evaluate(a[1], environment);
}

// f(a)(b)…: all arguments, then the head; a primitive takes them at once.
Value applied(Expr e, const Environment& environment) {
  const Spine spine = spineOf(e);
  if (std::optional<Value> value = lazily(spine, environment)) return *value;
  std::vector<Value> arguments;
  for (const Expr a : spine.arguments) arguments.push_back(evaluate(a, environment));
  const Expr head = spine.head;
  if (head.isPrimitive()) return partial(head, std::move(arguments), e.type(), *environment.arithmetic);
  Value result = evaluate(head, environment);
  for (const Value& a : arguments) result = result.function()(a);
  return result;
}

Value evaluate(Expr e, const Environment& environment) {
  switch (e.form()) {
    case Expr::Form::variable: return lookUp(e, environment);
    case Expr::Form::lambda: return closure(e, environment);
    case Expr::Form::apply: return applied(e, environment);
    case Expr::Form::literal: return Value::of(environment.arithmetic->literal(e.value()));
    case Expr::Form::natLiteral: return index(constantOf(e.natValue()));
    case Expr::Form::primitive: return partial(e, {}, e.type(), *environment.arithmetic);
  }
  throw InternalError("unknown form of term");
}

void requireConstant(const Program& program, const std::vector<NatVar>& sizes) {
  for (const NatVar v : sizes)
    throw UserError(ExitStatus::program, fmt::format("the size {} of {} has no value", v.name(), program.name));
}

// The numbers of an input as the arithmetic has them.
Value taken(const Value& input, const Arithmetic& arithmetic) {
  if (std::holds_alternative<ScalarValue>(input.data)) return Value::of(arithmetic.literal(input.scalar()));
  return build(length(input.sequence()),
               [&](std::int64_t i) { return taken(element(input.sequence(), i), arithmetic); });
}

}  // namespace

const Arithmetic& roundedArithmetic() {
  static const Arithmetic rounded;
  return rounded;
}

Value evaluate(Expr term) { return evaluate(term, Environment{&roundedArithmetic()}); }

Value evaluate(const Program& program, const std::map<std::string, Tensor>& inputs, const Arithmetic& arithmetic) {
  requireConstant(program, program.sizes);
  requireConstant(program, program.tunables);
  Environment environment{&arithmetic};
  // Inputs are there twice: as they are, and as the arithmetic has them.
  std::int64_t numbers = 0;
  for (const Expr p : program.parameters) {
    for (int copy = 0; copy < 2; copy++) numbers = plus(numbers, numbersIn(p.type()));
    requireRoom(numbers, p.type(), {}, p.name());
  }
  numbers = plus(numbers, numbersIn(program.result()));
  requireRoom(numbers, program.result(), {}, "the result");
  for (const Expr p : program.parameters)
    environment = bind(p, taken(fromTensors(inputs, p.type(), p.name()), arithmetic), std::move(environment));
  return evaluate(program.body, environment);
}

std::map<std::string, Tensor> interpret(const Program& program, const std::map<std::string, Tensor>& inputs) {
  return toTensors(evaluate(program, inputs, roundedArithmetic()), program.result(), "out");
}

}  // namespace lift
