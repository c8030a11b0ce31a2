// Writes expressions of the kernel AST in a dialect of C. Statements and whole kernels are printer.cpp's business.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dialect.hpp"
#include "lift/kernel.hpp"
#include "names.hpp"
#include "pointers.hpp"

namespace lift::kernel {

class Writer {
 public:
  Writer(const Kernel& kernel, Dialect& dialect)
      : names([&dialect](const std::string& name) { return dialect.isReserved(name); }),
        kernel_(kernel),
        dialect_(dialect),
        variables_(kernel.variables.size()),
        buffers_(kernel.buffers.size()),
        pointers_(pointersOf(kernel)) {}

  Names names;
  void name(NatVar v, bool isLong) {
    indices_[v] = names.take(v.name());
    if (isLong)
      longs_.insert(v);
    else
      longs_.erase(v);
  }
  // The variable has this value from here on.
  void define(NatVar v, Nat value) { multiples_[v] = multipleOf(value); }
  void name(VarId v) { variables_[v] = names.take(kernel_.variables[v].name); }
  void nameBuffer(BufferId b) { buffers_[b] = names.take(kernel_.buffers[b].name); }
  const std::string& nameOf(NatVar v) const;
  const std::string& nameOf(VarId v) const { return variables_[v]; }
  const std::string& nameOfBuffer(BufferId b) const { return buffers_[b]; }

  // An integer; parenthesised when it binds more loosely than `least`.
  std::string nat(Nat n, int least = ternary) { return nat(n, isWide(n)).within(least); }
  bool isWide(Nat n);  // whether it is computed in 64 bits

  std::string expr(const ExprPtr& e, int least = ternary) { return text(e).within(least); }
  std::string store(const Store& s);
  std::string prefetch(const Prefetch& p);

  // The array that a name points into; none where it is an integer.
  std::optional<BufferId> pointsInto(NatVar v) const;
  std::string pointer(BufferId b, Nat index) { return place(b, index).pointer(); }

 private:
  Text nat(Nat n, bool wide);
  Text product(Nat n, bool wide, bool negated);
  Text comparison(const Comparison& c);
  Text text(const ExprPtr& e);
  std::size_t neighboursFrom(const std::vector<ExprPtr>& lanes, std::size_t first) const;
  Text operation(const Expr& e, const Operation& o);
  Text conversion(const Expr& e, const Convert& c);
  std::string mask(const ExprPtr& e, std::size_t bytes);  // a boolean vector as integers of that size
  static std::size_t maskBytes(const ExprPtr& e);
  Place place(BufferId b, Nat index);
  // The greatest power of two, at most 16, that is known to divide it.
  std::int64_t multipleOf(Nat n) const;

  const Kernel& kernel_;
  Dialect& dialect_;
  std::vector<std::string> variables_, buffers_;
  Pointers pointers_;
  std::unordered_map<NatVar, std::string> indices_;
  std::unordered_set<NatVar> longs_;
  std::unordered_map<Nat, bool> wide_;
  std::unordered_map<NatVar, std::int64_t> multiples_;
};

}  // namespace lift::kernel
