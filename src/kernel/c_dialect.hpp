// C11 with the vector extensions of GCC and Clang. Types are named as in Lift, f32x8 being a vector; what C has no
// operator for, or leaves undefined where the language does not (overflow, shifts by too much, division by zero, floats
// beyond an integer's range), is a function in front of the kernels: i32_add, f32x8_max.
#pragma once

#include <set>

#include "dialect.hpp"

namespace lift::kernel {

class CDialect final : public Dialect {
 public:
  // What the text that was asked for so far needs in front of it: includes, types, functions.
  std::string prelude() const;
  // Adds what Fault statements call.
  void recordsFaults();

  bool isReserved(const std::string& name) const override;
  std::string type(ValueType t) override;
  std::string element(const Buffer& b) override;
  std::string indexType(bool wide) const override;
  std::string_view globalQualifier() const override { return {}; }
  Text index(std::int64_t value, bool wide) const override;
  std::string indexOperation(Nat::Kind kind, bool wide, const std::string& a, const std::string& b) override;
  Text literal(const ScalarValue& v) const override;
  Text splat(ValueType t, const std::string& scalar) override;
  Text vector(ValueType t, const std::vector<std::string>& lanes) override;
  std::string lane(const std::string& vector, int lane) const override;
  Text operation(Op op, ValueType t, const std::vector<Text>& args) override;
  std::string choice(ValueType t, const std::string& mask, const std::string& then,
                     const std::string& otherwise) override;
  Text conversion(ValueType from, ValueType to, const Text& value) override;
  std::string resizedMask(ValueType to, const std::string& mask) override;
  Text anyLane(ValueType of, const std::string& mask) override;
  std::string load(ValueType t, const Place& from) override;
  std::string store(ValueType t, const Place& to, const std::string& value) override;
  std::string stream(ValueType t, const Place& to, const std::string& value) override;
  std::string update(Op op, const Place& to, const std::string& value) override;
  std::string prefetch(const std::string& pointer) override;
  std::string storedMask(int width, const std::string& mask) override;

 private:
  // Each returns the name of a function, which it adds to the prelude.
  std::string function(const std::string& name, const std::string& result, const std::string& parameters,
                       const std::string& body);
  std::string operationOf(Op op, ValueType t);
  std::string scalarOperation(Op op, Scalar t);
  std::string integerOperation(Op op, Scalar t);
  std::string exponential(int width);
  std::string saturating(Scalar from, Scalar to);
  std::string halfToFloat();
  std::string floatToHalf();

  std::set<std::string> known_;
  std::string types_, functions_;
  std::set<std::string> vectorFunctions_;  // declarations
  bool usesHalf_ = false;
};

}  // namespace lift::kernel
