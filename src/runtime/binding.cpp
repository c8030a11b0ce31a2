// Symbolic sizes from the shapes of inputs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lift/device.hpp"
#include "lift/diagnostic.hpp"

namespace lift::runtime {
namespace {

using kernel::Plan;
using kernel::PlanBuffer;

std::string describe(const ArrayType& type) {
  std::string text(info(type.scalar).name);
  for (std::int64_t n : type.shape) text += fmt::format("[{}]", n);
  return text;
}

std::string describe(const PlanBuffer& buffer) {
  std::string text(info(buffer.scalar).name);
  for (const Nat& n : buffer.shape) text += fmt::format("[{}]", n.str());
  return text;
}

std::string inputsOf(const Plan& plan) {
  std::vector<std::string> all;
  for (const PlanBuffer& b : plan.buffers)
    if (b.role == PlanBuffer::Role::input) all.push_back(fmt::format("{} : {}", b.name, describe(b)));
  return all.empty() ? "the program has no inputs" : fmt::format("the inputs are {}", fmt::join(all, ", "));
}

[[noreturn]] void fail(std::string message, std::string hint = {}) {
  throw UserError(ExitStatus::program, std::move(message), std::move(hint));
}

class Solver {
 public:
  Solver(const Plan& plan, const std::map<std::string, ArrayType>& inputs) : plan_(plan), inputs_(inputs) {}

  void give(const std::map<std::string, std::int64_t>& given) {
    for (const auto& [name, value] : given) {
      bool found = false;
      for (NatVar v : plan_.sizes) {
        if (v.name() != name) continue;
        found = true;
        set(v, value, "as given");
      }
      if (!found) {
        std::vector<std::string> names;
        for (NatVar v : plan_.sizes) names.push_back(v.name());
        fail(fmt::format("the program has no size {}", name),
             names.empty() ? "it has none" : fmt::format("its sizes are {}", fmt::join(names, ", ")));
      }
    }
  }

  // Everything about the inputs that does not depend on sizes.
  void checkInputs() const {
    for (const auto& [name, type] : inputs_) {
      bool known = false;
      for (const PlanBuffer& b : plan_.buffers) known = known || (b.role == PlanBuffer::Role::input && b.name == name);
      if (!known) fail(fmt::format("the program has no input {}", name), inputsOf(plan_));
    }
    for (const PlanBuffer& b : plan_.buffers) {
      if (b.role != PlanBuffer::Role::input) continue;
      const auto found = inputs_.find(b.name);
      if (found == inputs_.end()) fail(fmt::format("input {} : {} is missing", b.name, describe(b)), inputsOf(plan_));
      const ArrayType& type = found->second;
      if (!sameInMemory(type.scalar, b.scalar))
        mismatch(b, type, fmt::format("the elements are {}", info(type.scalar).name));
      if (type.shape.size() != b.shape.size())
        mismatch(b, type, fmt::format("{} dimensions instead of {}", type.shape.size(), b.shape.size()));
    }
  }

  void solve() {
    for (bool changed = true; changed;) {
      changed = false;
      forEachDimension([&](const PlanBuffer& b, const ArrayType& type, std::size_t d) {
        changed = solveDimension(b, type, d) || changed;
      });
    }
  }

  // After solving: what is determined must fit, and nothing may be left open.
  void checkDimensions() const {
    forEachDimension([&](const PlanBuffer& b, const ArrayType& type, std::size_t d) {
      const std::optional<std::int64_t> expected = b.shape[d].substitute(known_).constant();
      if (expected && *expected != type.shape[d])
        mismatch(b, type, fmt::format("dimension {} should be {}", d, *expected), b.shape[d]);
    });
    for (NatVar v : plan_.sizes)
      if (known_.find(v) == known_.end())
        fail(fmt::format("size {} does not follow from the inputs", v.name()),
             fmt::format("give its value; {}", inputsOf(plan_)));
    for (NatVar v : plan_.sizes) {
      const std::optional<Nat> upper = v.upper();
      const std::optional<std::int64_t> most = upper ? upper->substitute(known_).constant() : std::nullopt;
      if (most && value(v) > *most)
        fail(fmt::format("size {} is {}, but may be at most {}", v.name(), value(v), *most), origin_.at(v));
    }
  }

  Binding binding() const {
    Binding binding;
    for (const auto& [v, n] : known_) binding.sizes.emplace(v, *n.constant());
    for (const PlanBuffer& b : plan_.buffers) {
      std::vector<std::int64_t> shape;
      auto bytes = static_cast<std::int64_t>(info(b.scalar).bytes);
      for (const Nat& n : b.shape) shape.push_back(extent(b, n, binding));
      const ArrayType type{b.scalar, shape};
      for (std::int64_t n : shape) {
        if (n < (b.role == PlanBuffer::Role::input ? 1 : 0))
          fail(fmt::format("{} : {} would be {}", b.name, describe(b), describe(type)),
               n < 0 ? "the inputs are too small" : "arrays have at least one element");
        if (__builtin_mul_overflow(bytes, n, &bytes))
          fail(fmt::format("{} : {} does not fit 64 bits", b.name, describe(type)));
      }
      binding.shapes.push_back(std::move(shape));
      binding.bytes.push_back(bytes);
    }
    return binding;
  }

 private:
  template <class Visit>
  void forEachDimension(const Visit& visit) const {
    for (const PlanBuffer& b : plan_.buffers)
      if (b.role == PlanBuffer::Role::input)
        for (std::size_t d = 0; d < b.shape.size(); d++) visit(b, inputs_.at(b.name), d);
  }

  std::int64_t extent(const PlanBuffer& b, Nat n, const Binding& binding) const {
    try {
      return binding.evaluate(n);
    } catch (const UserError&) {
      fail(fmt::format("{} : {}: {} does not fit 64 bits", b.name, describe(b), n.str()));
    }
  }

  std::int64_t value(NatVar v) const { return *known_.at(v).constant(); }

  void set(NatVar v, std::int64_t value, std::string origin) {
    if (value < v.lower())
      fail(fmt::format("size {} is {}, but must be at least {}", v.name(), value, v.lower()), origin);
    known_.emplace(v, Nat(value));
    origin_.emplace(v, std::move(origin));
  }

  // Whether a size became known.
  bool solveDimension(const PlanBuffer& b, const ArrayType& type, std::size_t d) {
    const Nat expected = b.shape[d].substitute(known_);
    const std::vector<NatVar> unknown = expected.variables();
    if (unknown.size() != 1) return false;
    const std::optional<Nat::Linear> linear = expected.linearIn(unknown[0]);
    if (!linear) return false;
    const std::optional<std::int64_t> coefficient = linear->coefficient.constant();
    const std::optional<std::int64_t> difference = (Nat(type.shape[d]) - linear->rest).constant();
    if (!coefficient || *coefficient == 0 || !difference) return false;
    if (*difference % *coefficient != 0)
      mismatch(b, type,
               fmt::format("dimension {} is {}, and no integer {} makes {} that", d, type.shape[d], unknown[0].name(),
                           expected.str()),
               b.shape[d]);
    const std::int64_t solution = *difference / *coefficient;
    if (solution < unknown[0].lower())
      mismatch(b, type,
               fmt::format("dimension {} is {}, so {} would be {}, but must be at least {}", d, type.shape[d],
                           unknown[0].name(), solution, unknown[0].lower()),
               b.shape[d]);
    set(unknown[0], solution, fmt::format("from dimension {} of input {}", d, b.name));
    return true;
  }

  // `why` in the message; where the sizes of the dimension at fault came from as notes.
  [[noreturn]] void mismatch(const PlanBuffer& b, const ArrayType& type, const std::string& why,
                             const Nat& dimension = Nat(0)) const {
    Diagnostic d;
    d.message = fmt::format("input {}: expected {}, got {}: {}", b.name, describe(b), describe(type), why);
    for (NatVar v : dimension.variables()) {
      if (known_.find(v) == known_.end()) continue;
      Diagnostic note;
      note.severity = Severity::note;
      note.message = fmt::format("{} is {} {}", v.name(), value(v), origin_.at(v));
      d.notes.push_back(std::move(note));
    }
    throw UserError(ExitStatus::program, std::vector<Diagnostic>{std::move(d)});
  }

  const Plan& plan_;
  const std::map<std::string, ArrayType>& inputs_;
  std::map<NatVar, Nat> known_;  // constants, in the form that substitution takes
  std::map<NatVar, std::string> origin_;
};

}  // namespace

std::int64_t Binding::evaluate(Nat value) const {
  return value.evaluate([&](NatVar v) {
    const auto found = sizes.find(v);
    if (found == sizes.end()) throw InternalError(fmt::format("size {} is not bound", v.name()));
    return found->second;
  });
}

std::map<std::string, ArrayType> typesOf(const std::map<std::string, Tensor>& tensors) {
  std::map<std::string, ArrayType> types;
  for (const auto& [name, tensor] : tensors) types.emplace(name, ArrayType{tensor.scalar, tensor.shape});
  return types;
}

Binding bindSizes(const kernel::Plan& plan, const std::map<std::string, ArrayType>& inputs,
                  const std::map<std::string, std::int64_t>& given) {
  Solver solver(plan, inputs);
  solver.checkInputs();
  solver.give(given);
  solver.solve();
  solver.checkDimensions();
  return solver.binding();
}

}  // namespace lift::runtime
