// The reference interpreter: what every primitive means. Slow, eager, obviously right; the judge of everything else.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lift/expr.hpp"
#include "lift/tensor.hpp"

namespace lift {

// A value of the language. Arrays, vectors and tuples are all sequences; the type tells them apart. Copies share.
struct Value {
  using Sequence = std::vector<Value>;
  using Function = std::function<Value(const Value&)>;
  std::variant<ScalarValue, std::shared_ptr<const Sequence>, std::shared_ptr<const Function>> data;

  static Value of(ScalarValue scalar) { return {scalar}; }
  static Value of(Sequence sequence) { return {std::make_shared<const Sequence>(std::move(sequence))}; }
  static Value of(Function function) { return {std::make_shared<const Function>(std::move(function))}; }

  // Throw InternalError when the value is of another kind.
  const ScalarValue& scalar() const;
  const Sequence& sequence() const;
  const Function& function() const;
};

// Tensors of a value's leaves and back, named `name` plus the leaf's path: {"x": t} for arrays and scalars, {"x.0": …,
// "x.1": …} for tuples of arrays. Values of type f16 narrow to half on the way out. All sizes of the type are
// constants. fromTensors throws UserError (status program) naming the tensor that is missing or of another scalar type
// or shape; it ignores tensors that are no leaf of the type.
std::map<std::string, Tensor> toTensors(const Value& value, Type type, const std::string& name = {});
Value fromTensors(const std::map<std::string, Tensor>& leaves, Type type, const std::string& name = {});

// What the interpreter computes scalars with. The default is the arithmetic of ops.hpp, which rounds.
class Arithmetic {
 public:
  virtual ~Arithmetic() = default;
  virtual ScalarValue literal(const ScalarValue& value) const { return value; }  // also of inputs
  virtual ScalarValue apply(Op op, std::span<const ScalarValue> operands) const { return lift::apply(op, operands); }
  virtual ScalarValue convert(const ScalarValue& value, Scalar to) const { return lift::convert(value, to); }
};
const Arithmetic& roundedArithmetic();

// The value of a closed term (no free variables, all sizes constants).
Value evaluate(Expr term);
// The value of a program, as interpret() takes it, in another arithmetic.
Value evaluate(const Program& program, const std::map<std::string, Tensor>& inputs, const Arithmetic& arithmetic);

// Runs a program whose sizes are all constants (see specialise). Inputs are named as the parameters, with leaf paths
// appended ("bodies.0"); further inputs are ignored. The result has the leaf paths appended to "out". Throws UserError
// (status program) for an input that is missing or of another type, and for a condition on sizes that does not hold;
// for an index out of range or an integer division by zero also where in the program it stands.
std::map<std::string, Tensor> interpret(const Program& program, const std::map<std::string, Tensor>& inputs);

}  // namespace lift
