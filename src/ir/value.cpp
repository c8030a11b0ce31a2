// Values and the tensors of their leaves.
//
// A leaf of a type is one scalar component of its tuples with all array lengths (and the vector width) around it. A
// scalar's place in its leaf is the row-major number of the indices on the way to it, so both directions walk the type
// with that number: an element i of an array of n at place p is at place p * n + i of every leaf below.

#include <fmt/format.h>

#include "lift/diagnostic.hpp"
#include "lift/interpreter.hpp"

namespace lift {
namespace {

std::int64_t constantOf(Nat n) {
  const auto value = n.constant();
  if (!value) throw InternalError("a value's type has the symbolic size " + n.str());
  return *value;
}

std::vector<std::int64_t> shapeOf(const Leaf& leaf) {
  std::vector<std::int64_t> shape;
  for (const Nat n : leaf.shape) shape.push_back(constantOf(n));
  return shape;
}

std::size_t leafCount(Type type) {
  while (type.isArray()) type = type.element();
  if (!type.isTuple()) return 1;
  std::size_t count = 0;
  for (const Type t : type.components()) count += leafCount(t);
  return count;
}

bool isWide(Scalar s) { return s == Scalar::i64 || s == Scalar::u64; }  // beyond what a double holds

// `scalar`: the tensor's, or one that is the same in memory.
ScalarValue load(const Tensor& tensor, Scalar scalar, std::int64_t place) {
  if (isFloat(scalar)) return ScalarValue::of(scalar, tensor.get(place));
  if (isWide(tensor.scalar)) return ScalarValue::ofInteger(tensor.scalar, tensor.data<std::int64_t>()[place]);
  return ScalarValue::ofInteger(tensor.scalar, static_cast<std::int64_t>(tensor.get(place)));
}

void store(Tensor& tensor, std::int64_t place, const ScalarValue& value) {
  ensure(value.type == tensor.scalar, "a value has another scalar type than its type says");
  if (isWide(tensor.scalar))
    tensor.data<std::int64_t>()[place] = value.integer;
  else
    tensor.set(place, value.asDouble());
}

Value read(const std::vector<const Tensor*>& leaves, Type type, std::size_t leaf, std::int64_t place) {
  if (type.isScalar()) return Value::of(load(*leaves[leaf], scalarOf(type), place));
  Value::Sequence out;
  if (type.isTuple()) {
    for (const Type t : type.components()) {
      out.push_back(read(leaves, t, leaf, place));
      leaf += leafCount(t);
    }
  } else {
    const std::int64_t n = constantOf(type.length());
    out.reserve(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; i++) out.push_back(read(leaves, type.element(), leaf, place * n + i));
  }
  return Value::of(std::move(out));
}

void write(std::vector<Tensor>& leaves, const Value& value, Type type, std::size_t leaf, std::int64_t place) {
  if (type.isScalar()) return store(leaves[leaf], place, value.scalar());
  const Value::Sequence& parts = value.sequence();
  if (type.isTuple()) {
    ensure(parts.size() == type.components().size(), "a tuple has another number of components than its type says");
    for (std::size_t i = 0; i < parts.size(); i++) {
      write(leaves, parts[i], type.components()[i], leaf, place);
      leaf += leafCount(type.components()[i]);
    }
  } else {
    const std::int64_t n = constantOf(type.length());
    ensure(static_cast<std::int64_t>(parts.size()) == n, "an array has another length than its type says");
    for (std::int64_t i = 0; i < n; i++)
      write(leaves, parts[static_cast<std::size_t>(i)], type.element(), leaf, place * n + i);
  }
}

}  // namespace

const ScalarValue& Value::scalar() const {
  const auto* s = std::get_if<ScalarValue>(&data);
  ensure(s != nullptr, "the value is not a scalar");
  return *s;
}

const Value::Sequence& Value::sequence() const {
  const auto* s = std::get_if<std::shared_ptr<const Sequence>>(&data);
  ensure(s != nullptr, "the value is not a sequence");
  return **s;
}

const Value::Function& Value::function() const {
  const auto* f = std::get_if<std::shared_ptr<const Function>>(&data);
  ensure(f != nullptr, "the value is not a function");
  return **f;
}

std::map<std::string, Tensor> toTensors(const Value& value, Type type, const std::string& name) {
  const std::vector<Leaf> leaves = leavesOf(type);
  std::vector<Tensor> tensors;
  for (const Leaf& leaf : leaves) tensors.emplace_back(leaf.scalar, shapeOf(leaf));
  write(tensors, value, type, 0, 0);
  std::map<std::string, Tensor> out;
  for (std::size_t i = 0; i < leaves.size(); i++) out.emplace(name + leaves[i].path, std::move(tensors[i]));
  return out;
}

Value fromTensors(const std::map<std::string, Tensor>& leaves, Type type, const std::string& name) {
  std::vector<const Tensor*> tensors;
  for (const Leaf& leaf : leavesOf(type)) {
    const auto found = leaves.find(name + leaf.path);
    if (found == leaves.end()) throw UserError(ExitStatus::program, fmt::format("no tensor for {}", name + leaf.path));
    const Tensor& given = found->second;
    const std::vector<std::int64_t> shape = shapeOf(leaf);
    if (!sameInMemory(given.scalar, leaf.scalar) || given.shape != shape)
      throw UserError(ExitStatus::program, fmt::format("the tensor for {} is {}, expected {}", name + leaf.path,
                                                       given.describe(), Tensor(leaf.scalar, shape).describe()));
    tensors.push_back(&given);
  }
  return read(tensors, type, 0, 0);
}

}  // namespace lift
