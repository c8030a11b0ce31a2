// Writes expressions of the kernel AST as OpenCL C. Statements and whole kernels are print_opencl.cpp's business.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lift/kernel.hpp"
#include "opencl_names.hpp"

namespace lift::kernel {

// C's precedences; larger binds tighter.
enum Precedence : int {
  ternary = 1,
  orElse,
  andAlso,
  bitOr_,
  bitXor_,
  bitAnd_,
  equality,
  relational,
  shift,
  additive,
  multiplicative,
  unary,
  postfix,
  primary,
};

class OpenclWriter {
 public:
  explicit OpenclWriter(const Kernel& kernel)
      : kernel_(kernel), variables_(kernel.variables.size()), buffers_(kernel.buffers.size()) {}

  OpenclNames names;
  void name(NatVar v, bool isLong) {
    indices_[v] = names.take(v.name());
    if (isLong)
      longs_.insert(v);
    else
      longs_.erase(v);
  }
  void name(VarId v) { variables_[v] = names.take(kernel_.variables[v].name); }
  void nameBuffer(BufferId b) { buffers_[b] = names.take(kernel_.buffers[b].name); }
  const std::string& nameOf(NatVar v) const;
  const std::string& nameOf(VarId v) const { return variables_[v]; }
  const std::string& nameOfBuffer(BufferId b) const { return buffers_[b]; }

  // An integer; parenthesised when it binds more loosely than `least`.
  std::string nat(Nat n, int least = ternary);
  bool isWide(Nat n);  // whether it is computed in 64 bits

  std::string expr(const ExprPtr& e, int least = ternary);
  std::string store(const Store& s);

  // Type of a variable; vectors of booleans are masks (char vectors of 0 and -1).
  static std::string type(ValueType t);
  static std::string elementType(const Buffer& b);  // as declared; half arrays on the device are declared ushort

  bool usesFloorDiv = false, usesFloorMod = false, usesFloorDivLong = false, usesFloorModLong = false;

 private:
  std::string natIn(Nat n, int least, bool wide);
  std::string product(Nat n, int least, bool wide, bool negated);
  std::string comparison(const Comparison& c, int least);
  std::string operation(const Expr& e, const Operation& o, int least);
  std::string conversion(const Expr& e, const Convert& c, int least);
  std::string loadText(ValueType type, const Load& l);
  std::string literal(const ScalarValue& v, int least);
  std::string mask(const ExprPtr& e, std::size_t bytes);  // a boolean vector as integers of that size
  std::string halfPointer(const Buffer& b, BufferId id, bool isConst) const;
  std::string pointer(BufferId b, Nat index);

  const Kernel& kernel_;
  std::vector<std::string> variables_, buffers_;
  std::unordered_map<NatVar, std::string> indices_;
  std::unordered_set<NatVar> longs_;
  std::unordered_map<Nat, bool> wide_;
};

}  // namespace lift::kernel
