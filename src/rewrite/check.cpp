// Rules on random instances of their left sides.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lift/diagnostic.hpp"
#include "lift/exact.hpp"
#include "lift/inputs.hpp"
#include "lift/rewrite_check.hpp"
#include "random_terms.hpp"
#include "terms.hpp"

namespace lift::rewrite {
namespace {

using detail::Flavour;
using detail::Random;

constexpr std::int64_t mostElements = 400;  // of one input

// The type variables and sizes of a rule that an instance has to choose.
struct Open {
  std::vector<NatVar> sizes;
  std::vector<std::uint64_t> types;
  std::set<std::uint64_t> scalars;  // of the types: those that stand in vectors and operations
  std::set<NatVar> widths;          // of the sizes: those of vectors
  explicit Open(const Rule& rule) {
    add(rule.typed().left);
    add(rule.typed().right);
    for (const Expr v : rule.typed().variables) add(v.type(), false);
    for (const auto& [name, size] : rule.typed().sizes) add(Nat(size));
  }

 private:
  void add(Nat n) {
    for (const NatVar v : n.variables())
      if (v.role() == NatVar::Role::meta && std::ranges::find(sizes, v) == sizes.end()) sizes.push_back(v);
  }

  void add(Type t, bool scalar) {
    const bool isVector = t.isVector();
    if (t.isVariable()) {
      if (std::ranges::find(types, t.variableId()) == types.end()) types.push_back(t.variableId());
      if (scalar) scalars.insert(t.variableId());
    }
    if (isVector && t.length().variable()) widths.insert(*t.length().variable());
    if (t.hasLength()) add(t.length());
    for (const Type part : t.parts()) add(part, scalar || isVector);
  }

  void add(Expr e) {
    detail::anySubterm(e, [this](Expr s, const auto&) {
      if (s.isNatLiteral()) add(s.natValue());
      if (s.isPrimitive())
        for (const Nat n : s.nats()) add(n);
      add(s.type(), s.isPrimitive() && info(s.prim()).dialect == Dialect::scalar);
      return false;
    });
  }
};

// One draw: values for all that is open.
class Instance {
 public:
  Instance(const Rule& rule, const Open& open, Random& random)
      : rule_(rule), open_(open), random_(random), terms_(random) {}

  // Whether sizes that fit were found. Then `program` and `arguments` are the instance.
  bool draw() {
    if (!drawSizes()) return false;
    drawTypes();
    return drawProgram();
  }

  Program program;
  Arguments arguments;

 private:
  bool drawSizes() {
    static const std::vector<std::int64_t> lengths = {1, 2, 3, 4, 5, 6, 8}, widths = {2, 4};
    for (const NatVar v : open_.sizes) {
      const bool width = open_.widths.count(v) > 0;
      sizes_.insert_or_assign(v, random_.pick(width ? widths : lengths));
    }
    const TypedRule& typed = rule_.typed();
    const auto fits = [this](const SizeCondition& c) {
      try {
        return holds({c.kind, size(c.left), size(c.right), {}}) == Truth::proved;
      } catch (const UserError&) {
        return false;  // a divisor is zero
      }
    };
    if (!std::ranges::all_of(typed.assumed, fits)) return false;
    if (!std::ranges::all_of(typed.required, fits)) return false;
    for (const std::string& tunable : rule_.tunables()) arguments.emplace(tunable, size(typed.sizes.at(tunable)));
    return true;
  }

  void drawTypes() {
    const Type scalar = Type::scalar(random_.oneIn(2) ? Scalar::f32 : Scalar::i32);
    for (const std::uint64_t id : open_.types) {
      const std::size_t kind = open_.scalars.count(id) ? 9 : random_.below(10);
      types_.insert_or_assign(id, kind == 0   ? Type::tuple({scalar, scalar})
                                  : kind == 1 ? Type::vector(2, scalar)
                                  : kind <= 4 ? Type::array(static_cast<std::int64_t>(2 + random_.below(2)), scalar)
                                              : scalar);
    }
  }

  bool drawProgram() {
    std::unordered_map<Expr, Expr> values;
    Expr left = rule_.typed().left;
    const auto& variables = rule_.typed().variables;
    for (auto v = variables.rbegin(); v != variables.rend(); ++v) left = Expr::lambda(*v, left);
    left = withFreshBinders(mapTypes(
        left, [this](Nat n) { return size(n); }, [this](Type t) { return types_.at(t.variableId()); }));
    for (std::size_t i = 0; i < variables.size(); i++) {
      const Expr v = left.parameter();
      const auto value = drawValue(v);
      if (!value) return false;
      values.emplace(v, *value);
      left = left.body();
    }
    program.name = "instance";
    program.body = etaLong(substitute(left, values));
    return true;
  }

  // A function, an input, or sometimes a term of an input.
  std::optional<Expr> drawValue(Expr metavariable) {
    const Type type = metavariable.type();
    const Flavour flavour = metavariable.name() != "f"          ? Flavour::any
                            : rule_.when() == When::moves       ? Flavour::moves
                            : rule_.when() == When::selects     ? Flavour::moves
                            : rule_.when() == When::accumulates ? Flavour::accumulates
                            : rule_.when() == When::linear      ? Flavour::linear
                                                                : Flavour::any;
    if (type.isFunction()) return terms_.function(type, flavour);
    for (const Leaf& l : leavesOf(type)) {
      std::int64_t elements = 1;
      for (const Nat n : l.shape) elements *= *n.constant();
      if (elements > mostElements) return std::nullopt;
    }
    const Expr input = Expr::variable(metavariable.name(), detail::integerType(type));
    program.parameters.push_back(input);
    const Expr value = detail::converted(input, type);
    return random_.oneIn(4) ? terms_.term(type, {value}, Flavour::any) : std::optional(value);
  }

  Nat size(Nat n) const { return n.substitute(sizes_); }

  const Rule& rule_;
  const Open& open_;
  Random& random_;
  detail::RandomTerms terms_;
  std::map<NatVar, Nat> sizes_;
  std::unordered_map<std::uint64_t, Type> types_;
};

bool hasFloats(Expr body) {
  return detail::anySubterm(body, [](Expr e, const auto&) {
    if (e.type().isFunction()) return false;
    const auto leaves = leavesOf(e.type());
    return std::ranges::any_of(leaves, [](const Leaf& l) { return isFloat(l.scalar); });
  });
}

bool hasDot(Expr e) {
  return detail::anySubterm(e, [](Expr s, const auto&) { return s.isPrimitive() && s.prim() == Prim::dot; });
}

// Whether floating-point numbers may be rounded otherwise on the right side.
bool mayRound(const Rule& rule) {
  return rule.when() == When::rounds || rule.when() == When::accumulates || rule.when() == When::linear ||
         hasDot(rule.typed().right);
}

// How the two programs' results differ in their bits; empty when they do not.
std::string difference(const std::map<std::string, Tensor>& before, const Program& after, std::uint64_t fill) {
  const auto results = interpret(after, randomInputs(after, fill));
  for (const auto& [name, expected] : before) {
    const Tensor& actual = results.at(name);
    const Difference d = compare(actual, expected, 1);
    if (d.maxAbs != 0)
      return fmt::format("element {} of {} is {} before and {} after", d.at, name, expected.get(d.at),
                         actual.get(d.at));
  }
  return {};
}

// The instance as a well-formed program that has a value, and that value.
std::optional<std::map<std::string, Tensor>> valueOf(const Program& program, std::uint64_t fill) {
  try {
    verify(program);
    return interpret(program, randomInputs(program, fill));
  } catch (const InternalError&) {
    return std::nullopt;  // a type that an operation is not defined on
  } catch (const UserError&) {
    return std::nullopt;  // an index out of range, say
  }
}

// One instance; false when it does not count.
bool checkInstance(const Rule& rule, const Instance& instance, std::uint64_t fill, CheckResult& result) {
  const auto value = valueOf(instance.program, fill);
  if (!value) return false;
  const auto differ = [&](std::string what, std::optional<Program> after) {
    result.disagreement = Disagreement{std::move(what), instance.program, std::move(after), fill};
    return true;
  };
  try {
    const Applied applied = applyRule(rule, instance.program.body, instance.arguments);
    if (!applied.term) return false;
    Program after = instance.program;
    after.body = *applied.term;
    if (after.result() != instance.program.result())
      return differ(fmt::format("the type {} becomes {}", instance.program.result().str(), after.result().str()),
                    after);
    verify(after);
    const bool floats = hasFloats(instance.program.body);
    std::string what;
    try {
      if (!floats || !mayRound(rule)) what = difference(*value, after, fill);
      if (floats && what.empty()) {
        if (const auto exact = exactDifference(instance.program, after, fill)) what = "without rounding, " + *exact;
        result.exact++;
      }
    } catch (const UserError& e) {
      what = fmt::format("the right side cannot be interpreted: {}", e.what());
    }
    if (!what.empty()) return differ(what, after);
  } catch (const InternalError& e) {
    return differ(e.what(), std::nullopt);
  }
  return true;
}

}  // namespace

std::optional<std::string> exactDifference(const Program& before, const Program& after, std::uint64_t fill) {
  const auto inputs = randomInputs(before, fill);
  return lift::exactDifference(interpretExactly(before, inputs), interpretExactly(after, inputs));
}

std::optional<std::string> roundingRule(const Derivation& derivation) {
  for (const Step& step : derivation.steps)
    if (mayRound(ruleNamed(step.rule))) return step.rule;
  return std::nullopt;
}

CheckResult checkRule(const Rule& rule, const CheckOptions& options) {
  std::uint64_t stream = options.seed;
  for (const char c : rule.name()) stream = stream * 31 + static_cast<unsigned char>(c);
  Random random(stream);
  // The rule itself, of f32, and its forms of other floating-point types take turns.
  std::vector<std::pair<const Rule*, Open>> forms{{&rule, Open(rule)}};
  for (const Rule& form : rule.forms()) forms.emplace_back(&form, Open(form));
  CheckResult result;
  const int most = options.samples * options.triesPerSample;
  while (result.samples < options.samples && result.draws < most && !result.disagreement) {
    const auto& [form, open] = forms[static_cast<std::size_t>(result.draws++) % forms.size()];
    Instance instance(*form, open, random);
    if (instance.draw() && checkInstance(*form, instance, random.below(1000000), result)) result.samples++;
  }
  return result;
}

}  // namespace lift::rewrite
