// Short ways to write kernels in tests.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/emulator.hpp"
#include "lift/kernel.hpp"
#include "lift/kernel_passes.hpp"

namespace lift::kernel::make {

inline const ValueType f32{Scalar::f32, 1};
inline const ValueType i32{Scalar::i32, 1};
inline ValueType vec(int width) { return {Scalar::f32, width}; }

inline ExprPtr number(double x) { return literal(ScalarValue::of(Scalar::f32, x)); }
inline ExprPtr integer(std::int64_t x) { return literal(ScalarValue::ofInteger(Scalar::i32, x)); }

struct Maker {
  Kernel k;
  explicit Maker(std::string name = "k") { k.name = std::move(name); }

  BufferId in(std::string name, Nat n, Scalar s = Scalar::f32) {
    return addBuffer(k, {std::move(name), s, 1, AddressSpace::global, n, true});
  }
  BufferId out(std::string name, Nat n, Scalar s = Scalar::f32) {
    return addBuffer(k, {std::move(name), s, 1, AddressSpace::global, n, false});
  }
  BufferId local(std::string name, Nat n, Scalar s = Scalar::f32) {
    return addBuffer(k, {std::move(name), s, 1, AddressSpace::local, n, false});
  }
  BufferId priv(std::string name, Nat n, int width = 1, Scalar s = Scalar::f32) {
    return addBuffer(k, {std::move(name), s, width, AddressSpace::priv, n, false});
  }
  VarId var(std::string name, ValueType t = f32) { return addVariable(k, std::move(name), t); }
  NatVar size(std::string name) {
    k.sizes.push_back(NatVar::size(std::move(name)));
    return k.sizes.back();
  }
  Maker& range(std::array<Nat, 3> global, std::array<Nat, 3> local) {
    k.range = {global, local};
    return *this;
  }
};

template <class... S>
Block block(S... statements) {
  Block b;
  (b.push_back(Stmt{std::move(statements)}), ...);
  return b;
}

// A loop over all values of an index that is there already.
inline For over(LoopKind kind, int dim, Nat index, Block body) {
  const NatVar i = *index.variable();
  return For{i, *i.upper() + 1, kind, dim, Trip::any, 0, std::move(body)};
}

struct LoopMaker {
  LoopKind kind;

  // The body, a block or one statement, is made from the index. `number`: the loop's dimension; of a sequential loop
  // how far it is unrolled.
  template <class F>
  For operator()(const char* name, Nat count, int number, F&& body) const {
    const bool isSequential = kind == LoopKind::sequential;
    const NatVar i = NatVar::index(name, count);
    For loop{i, count, kind, isSequential ? 0 : number, Trip::any, isSequential ? number : 0, {}};
    if constexpr (std::is_same_v<decltype(body(Nat(i))), Block>)
      loop.body = body(Nat(i));
    else
      loop.body = block(body(Nat(i)));
    return loop;
  }
  template <class F>
  For operator()(const char* name, Nat count, F&& body) const {
    return (*this)(name, count, 0, body);
  }
  template <class... S>
  For operator()(Nat index, S... body) const {
    return over(kind, 0, index, block(std::move(body)...));
  }
};
inline constexpr LoopMaker seq{LoopKind::sequential}, lcl{LoopKind::local}, wrg{LoopKind::group}, glb{LoopKind::global};

inline Nat counter(const char* name, Nat count) { return NatVar::index(name, count); }

inline ExprPtr load(BufferId buffer, Nat at) { return load(buffer, at, f32); }
inline ExprPtr add(ExprPtr a, ExprPtr b) { return operation(Op::add, {a, b}); }
inline ExprPtr mul(ExprPtr a, ExprPtr b) { return operation(Op::mul, {a, b}); }

inline Kernel pass(const char* name, const Kernel& k, const PassOptions& options = {}) {
  verify(k);
  Kernel result = passNamed(name)->run(k, options);
  verify(result);
  return result;
}

// The printed body, without the header and the signature.
inline std::string bodyText(const Kernel& k) {
  const std::string s = printOpenCL(k);
  const std::size_t begin = s.find(") {\n", s.find("\nvoid ")) + 4;
  return s.substr(begin, s.rfind('}') - begin);
}

using Memory = std::vector<std::vector<std::byte>>;

inline std::vector<std::byte> floats(const std::vector<float>& v) {
  std::vector<std::byte> bytes(v.size() * 4);
  if (!v.empty()) std::memcpy(bytes.data(), v.data(), bytes.size());
  return bytes;
}
inline std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> v(bytes.size() / 4);
  if (!v.empty()) std::memcpy(v.data(), bytes.data(), bytes.size());
  return v;
}
inline std::vector<float> ramp(std::size_t n, float from = 0) {
  std::vector<float> v(n);
  for (std::size_t i = 0; i < n; i++) v[i] = from + static_cast<float>(i);
  return v;
}

}  // namespace lift::kernel::make
