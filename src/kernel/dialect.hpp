// How a language of C's family spells what kernels compute: its types, literals, operations and accesses to memory. The
// walk over expressions is writer.cpp's business, statements are printer.cpp's; what a target says differently is a
// Dialect (and a Printer) of its own: opencl.cpp, c.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lift/kernel.hpp"

namespace lift::kernel {

// C's precedences; larger binds tighter.
// clang-format off
enum Precedence : int {
  ternary = 1, orElse, andAlso, bitOr_, bitXor_, bitAnd_, equality, relational, shift, additive, multiplicative, unary,
  postfix, primary
};
// clang-format on

// An expression as text.
struct Text {
  std::string text;
  int binds = primary;
  // As an operand of something that binds as `least` does.
  std::string within(int least) const;
};

// An element of an array.
struct Place {
  const Buffer& buffer;
  std::string array;          // its name
  std::string index;          // in units of the buffer's elements, of images in texels
  std::string offset;         // the same as an operand of +; empty for 0
  std::int64_t multiple = 1;  // divides the index in elements; a power of two, at most 16
  std::string pointer() const { return offset.empty() ? array : array + " + " + offset; }
};

class Dialect {
 public:
  virtual ~Dialect() = default;

  // Whether a name means something else than a variable of the kernel.
  virtual bool isReserved(const std::string& name) const = 0;

  // Type of a variable; vectors of booleans are masks: integers of one byte, 0 or -1.
  virtual std::string type(ValueType t) = 0;
  virtual std::string element(const Buffer& b) = 0;  // as declared
  virtual std::string indexType(bool wide) const = 0;
  virtual std::string_view globalQualifier() const = 0;  // of pointers into arguments; with a blank behind it

  // Integers of indices.
  virtual Text index(std::int64_t value, bool wide) const = 0;
  // floorDiv, mod, min or max.
  virtual std::string indexOperation(Nat::Kind kind, bool wide, const std::string& a, const std::string& b) = 0;

  // Values. Operations on scalars take booleans as conditions; on vectors `logical` operations, comparisons and
  // operations on booleans are the writer's.
  virtual Text literal(const ScalarValue& v) const = 0;
  virtual Text splat(ValueType t, const std::string& scalar) = 0;
  virtual Text vector(ValueType t, const std::vector<std::string>& lanes) = 0;
  virtual bool vectorsOfVectors() const { return false; }  // whether such a lane may be a vector, of several lanes
  virtual std::string lane(const std::string& vector, int lane) const = 0;
  virtual Text operation(Op op, ValueType t, const std::vector<Text>& args) = 0;
  // div or mod of integers with a sign by what may be -1.
  virtual Text division(Op op, ValueType t, const std::vector<Text>& args) { return operation(op, t, args); }
  // `mask` has integers of the size of t's elements.
  virtual std::string choice(ValueType t, const std::string& mask, const std::string& then,
                             const std::string& otherwise) = 0;
  virtual Text conversion(ValueType from, ValueType to, const Text& value) = 0;  // not of vectors of booleans
  virtual std::string resizedMask(ValueType to, const std::string& mask) = 0;
  virtual Text anyLane(ValueType of, const std::string& mask) = 0;  // whether a lane of the mask holds, a condition

  // Memory. A boolean is a byte, 0 or 1; half is loaded as float, and stored from float. A language that has no images
  // keeps them as arrays.
  virtual bool hasImages() const { return false; }
  virtual std::string load(ValueType t, const Place& from) = 0;
  virtual std::string store(ValueType t, const Place& to, const std::string& value) = 0;
  // Past the caches: a vector, as it is in memory, at any address.
  virtual std::string stream(ValueType t, const Place& to, const std::string& value) = 0;
  virtual std::string update(Op op, const Place& to, const std::string& value) = 0;  // Store::update
  virtual std::string prefetch(const std::string& pointer) = 0;            // of a line that is going to be stored to
  virtual std::string storedMask(int width, const std::string& mask) = 0;  // as bytes
};

// C's operators of two operands.
struct Infix {
  std::string_view text;
  int precedence;
};
std::optional<Infix> infixOf(Op op);

bool isSmallInteger(Scalar s);            // narrower than C's int
Scalar integerOf(std::size_t bytes);      // signed
std::string shortestReal(ScalarValue v);  // a finite number that reads back as the same value, with a point or exponent

}  // namespace lift::kernel
