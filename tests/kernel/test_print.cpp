#include <catch2/catch.hpp>

#include <functional>
#include <limits>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

// The value of `out[0] = …;` for an expression that may use in[0 … 15] and iv (i32, 16 elements).
struct Expression {
  Maker m;
  BufferId in = m.in("in", 16), iv = m.in("iv", 16, Scalar::i32), out = 0;
  std::string of(const ExprPtr& e) {
    out = addBuffer(m.k, {"out", e->type.scalar, 1, AddressSpace::global, 16, false});
    m.k.body = block(Store{out, 0, e});
    verify(m.k);
    std::string s = bodyText(m.k);
    s = s.substr(2, s.size() - 4);  // indentation, semicolon, newline
    const std::size_t equals = s.find(" = ");
    return equals == std::string::npos ? s : s.substr(equals + 3);
  }
  ExprPtr x(int i) { return load(in, i); }
  ExprPtr n(int i) { return load(iv, i, i32); }
};

std::string printed(const ExprPtr& e) { return Expression().of(e); }

std::string printedIndex(Nat n, const std::vector<NatVar>& sizes) {
  Maker m;
  m.k.sizes = sizes;
  const auto out = m.out("out", 16);
  m.k.body = block(Store{out, n, number(0)});
  const std::string s = bodyText(m.k);
  return s.substr(6, s.find(']') - 6);
}

// A name, `at`, of 2 * i + lowest, and what uses it.
std::string withName(const std::function<Block(Maker& m, BufferId in, BufferId out, Nat at, Nat i)>& body,
                     std::int64_t lowest = 0) {
  Maker m;
  const auto in = m.in("in", 4096), out = m.out("out", 4096);
  const NatVar at = NatVar::fresh("at", lowest, std::nullopt, NatVar::Role::index);
  m.k.body = block(glb("i", 64, [&](Nat i) {
    Block all = body(m, in, out, at, i);
    all.insert(all.begin(), Stmt{DeclareIndex{at, index(2 * i + lowest)}});
    return all;
  }));
  verify(m.k);
  return bodyText(m.k);
}

}  // namespace

TEST_CASE("print: a whole kernel with a symbolic size") {
  Maker m("scale");
  const NatVar n = m.size("n");
  const auto x = m.in("x", Nat(n)), y = m.out("y", Nat(n));
  m.range({Nat(1024), 1, 1}, {Nat(64), 1, 1});
  m.k.body = block(glb("i", Nat(n), [&](Nat i) { return Store{y, i, mul(number(2), load(x, i))}; }));
  CHECK(printOpenCL(m.k) == R"(// scale: global (1024, 1, 1), local (64, 1, 1)
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void scale(__global const float* restrict x, __global float* restrict y, const int n) {
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
    y[i] = 2.0f * x[i];
  }
}
)");
}

TEST_CASE("print: no work-group size is required when it is symbolic") {
  Maker m;
  const NatVar n = m.size("n");
  m.range({Nat(n), 1, 1}, {Nat(n), 1, 1});
  CHECK(printOpenCL(m.k).find("reqd_work_group_size") == std::string::npos);
}

TEST_CASE("print: loops by trip count") {
  Maker m;
  const auto out = m.out("out", 64);
  For once = lcl("l", 64, [&](Nat l) { return Store{out, l, number(1)}; });
  once.trip = Trip::exactlyOnce;
  For most = lcl("l", 10, [&](Nat l) { return Store{out, l, number(2)}; });
  most.trip = Trip::atMostOnce;
  m.k.body = block(once, most, wrg("g", 7, 1, [&](Nat g) { return Store{out, g, number(3)}; }));
  CHECK(bodyText(m.k) == R"(  {
    const int l = get_local_id(0);
    out[l] = 1.0f;
  }
  {
    const int l = get_local_id(0);
    if (l < 10) {
      out[l] = 2.0f;
    }
  }
  for (int g = get_group_id(1); g < 7; g += get_num_groups(1)) {
    out[g] = 3.0f;
  }
)");
}

TEST_CASE("print: unroll hints") {
  Maker m;
  const auto out = m.out("out", 64);
  const auto body = [&](Nat i) { return Store{out, i, number(0)}; };
  m.k.body = block(seq("i", 4, 0, body), seq("i", 4, 1, body), seq("i", 4, 2, body), seq("i", 4, -1, body));
  CHECK(bodyText(m.k) == R"(  for (int i = 0; i < 4; i++) {
    out[i] = 0.0f;
  }
  #pragma unroll 1
  for (int i = 0; i < 4; i++) {
    out[i] = 0.0f;
  }
  #pragma unroll 2
  for (int i = 0; i < 4; i++) {
    out[i] = 0.0f;
  }
  #pragma unroll
  for (int i = 0; i < 4; i++) {
    out[i] = 0.0f;
  }
)");
}

TEST_CASE("print: names are valid, unique and kept where possible") {
  Maker m("float");
  const auto a = m.out("x.0", 4), b = m.out("x_0", 4), c = m.out("3d", 4), d = m.out("get_thing", 4),
             e = m.out("kernel", 4), f = m.out("float4", 4), g = m.out("__x", 4), h = m.out("min", 4);
  m.k.body = block(Store{a, 0, number(0)});
  const std::string s = printOpenCL(m.k);
  for (const char* name : {"void float_(", "restrict x_0,", "restrict x_0_1,", "restrict v3d,", "restrict v_get_thing,",
                           "restrict kernel_,", "restrict float4_,", "restrict x,", "restrict min_)"}) {
    CAPTURE(s, name);
    CHECK(s.find(name) != std::string::npos);
  }
  (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
}

TEST_CASE("print: nested loops of one name get different ones, loops in a row keep it") {
  Maker m;
  const auto out = m.out("out", 64);
  m.k.body = block(seq("i", 4, [&](Nat i) {
    return block(seq("i", 4,
                     [&](Nat j) {
                       return Store{out, 4 * i + j, number(0)};
                     }),
                 seq("i", 4, [&](Nat j) {
                   return Store{out, i + j, number(0)};
                 }));
  }));
  CHECK(bodyText(m.k) == R"(  for (int i = 0; i < 4; i++) {
    for (int i_1 = 0; i_1 < 4; i_1++) {
      out[4 * i + i_1] = 0.0f;
    }
    for (int i_1 = 0; i_1 < 4; i_1++) {
      out[i + i_1] = 0.0f;
    }
  }
)");
}

TEST_CASE("print: float literals are exact") {
  CHECK(printed(number(1)) == "1.0f");
  CHECK(printed(number(0.1)) == "0.1f");
  CHECK(printed(number(-0.0)) == "-0.0f");
  CHECK(printed(number(1e20)) == "1e+20f");
  CHECK(printed(number(std::numeric_limits<float>::denorm_min())) == "1e-45f");
  CHECK(printed(number(16777217)) == "16777216.0f");
  CHECK(printed(number(std::numeric_limits<double>::infinity())) == "INFINITY");
  CHECK(printed(number(-std::numeric_limits<double>::infinity())) == "-INFINITY");
  CHECK(printed(number(std::numeric_limits<double>::quiet_NaN())) == "NAN");
  CHECK(printed(literal(ScalarValue::of(Scalar::f64, 0.1))) == "0.1");
}

TEST_CASE("print: integer literals") {
  const auto lit = [](Scalar s, std::int64_t x) { return printed(literal(ScalarValue::ofInteger(s, x))); };
  CHECK(lit(Scalar::i32, -7) == "-7");
  CHECK(lit(Scalar::i32, std::numeric_limits<std::int32_t>::min()) == "INT_MIN");
  CHECK(lit(Scalar::u32, 4000000000) == "4000000000u");
  CHECK(lit(Scalar::i64, 5) == "5L");
  CHECK(lit(Scalar::i64, std::numeric_limits<std::int64_t>::min()) == "LONG_MIN");
  CHECK(lit(Scalar::u64, -1) == "18446744073709551615ul");
  CHECK(lit(Scalar::i8, 3) == "(char)3");
  CHECK(lit(Scalar::boolean, 1) == "true");
}

TEST_CASE("print: parentheses only where they are needed") {
  Expression x;
  const auto op = [](Op o, ExprPtr a, ExprPtr b) { return operation(o, {a, b}); };
  const auto a = x.x(0), b = x.x(1), c = x.x(2);
  CHECK(printed(op(Op::add, op(Op::mul, number(1), number(2)), number(3))) == "1.0f * 2.0f + 3.0f");
  CHECK(Expression().of(op(Op::sub, a, op(Op::sub, b, c))) == "in[0] - (in[1] - in[2])");
  CHECK(Expression().of(op(Op::sub, op(Op::sub, a, b), c)) == "in[0] - in[1] - in[2]");
  CHECK(Expression().of(op(Op::mul, op(Op::add, a, b), c)) == "(in[0] + in[1]) * in[2]");
  CHECK(Expression().of(op(Op::div, a, op(Op::mul, b, c))) == "in[0] / (in[1] * in[2])");
  CHECK(Expression().of(operation(Op::neg, {operation(Op::neg, {a})})) == "-(-in[0])");
  CHECK(Expression().of(operation(Op::neg, {op(Op::add, a, b)})) == "-(in[0] + in[1])");
  CHECK(Expression().of(operation(Op::select, {op(Op::lt, a, b), a, op(Op::add, b, c)})) ==
        "in[0] < in[1] ? in[0] : in[1] + in[2]");
  CHECK(Expression().of(op(Op::add, operation(Op::select, {op(Op::lt, a, b), a, b}), c)) ==
        "(in[0] < in[1] ? in[0] : in[1]) + in[2]");
}

TEST_CASE("print: bit operations bind as in C") {
  Expression x;
  const auto op = [](Op o, ExprPtr a, ExprPtr b) { return operation(o, {a, b}); };
  const auto a = x.n(0), b = x.n(1), c = x.n(2);
  CHECK(Expression().of(op(Op::bitAnd, a, op(Op::bitOr, b, c))) == "iv[0] & (iv[1] | iv[2])");
  CHECK(Expression().of(op(Op::bitOr, a, op(Op::bitAnd, b, c))) == "iv[0] | iv[1] & iv[2]");
  CHECK(Expression().of(op(Op::shl, op(Op::add, a, b), c)) == "(int)((uint)iv[0] + (uint)iv[1]) << iv[2]");
  CHECK(Expression().of(op(Op::eq, op(Op::bitAnd, a, b), c)) == "(iv[0] & iv[1]) == iv[2]");
}

TEST_CASE("print: builtins for floats and integers") {
  Expression x;
  CHECK(Expression().of(operation(Op::max, {x.x(0), x.x(1)})) == "fmax(in[0], in[1])");
  CHECK(Expression().of(operation(Op::max, {x.n(0), x.n(1)})) == "max(iv[0], iv[1])");
  CHECK(Expression().of(operation(Op::mod, {x.x(0), x.x(1)})) == "fmod(in[0], in[1])");
  // Of the least integer, OpenCL leaves these undefined.
  CHECK(Expression().of(operation(Op::mod, {x.n(0), x.n(1)})) == "remainder_int(iv[0], iv[1])");
  CHECK(Expression().of(operation(Op::div, {x.n(0), x.n(1)})) == "quotient_int(iv[0], iv[1])");
  CHECK(Expression().of(operation(Op::mod, {x.n(0), index(3)})) == "iv[0] % 3");
  CHECK(Expression().of(operation(Op::abs, {x.n(0)})) == "absolute_int(iv[0])");
  CHECK(Expression().of(operation(Op::fma, {x.x(0), x.x(1), x.x(2)})) == "fma(in[0], in[1], in[2])");
}

TEST_CASE("print: integers with a sign wrap, too") {
  Expression x;
  const auto a = x.n(0), b = x.n(1);
  CHECK(Expression().of(operation(Op::mul, {a, b})) == "(int)((uint)iv[0] * (uint)iv[1])");
  CHECK(Expression().of(operation(Op::neg, {a})) == "(int)-(uint)iv[0]");
  const ExprPtr v = load(x.iv, 0, {Scalar::i32, 4});
  CHECK(Expression().of(operation(Op::sub, {v, v})) ==
        "vstore4(as_int4(as_uint4(vload4(0, iv)) - as_uint4(vload4(0, iv))), 0, out)");
  const ExprPtr u = convertTo(a, Scalar::u32), s = convertTo(a, Scalar::u16);
  CHECK(Expression().of(operation(Op::add, {u, u})) == "(uint)iv[0] + (uint)iv[0]");
  // Computed in int, which the product may exceed.
  CHECK(Expression().of(operation(Op::mul, {s, s})) == "(ushort)((uint)(ushort)iv[0] * (uint)(ushort)iv[0])");
}

TEST_CASE("print: small integers wrap to their type") {
  Maker m;
  const auto a = m.in("a", 4, Scalar::i8), out = m.out("out", 4, Scalar::i8);
  const ValueType i8{Scalar::i8, 1};
  m.k.body =
      block(Store{out, 0, operation(Op::mul, {operation(Op::add, {load(a, 0, i8), load(a, 1, i8)}), load(a, 2, i8)})},
            Store{out, 1, operation(Op::shl, {load(a, 0, i8), load(a, 1, i8)})});
  verify(m.k);
  CHECK(bodyText(m.k) == "  out[0] = (char)((char)(a[0] + a[1]) * a[2]);\n  out[1] = (char)(a[0] << (a[1] & 7));\n");
}

TEST_CASE("print: a choice between small integers is one of them where functions are overloaded") {
  Maker m;
  const auto a = m.in("a", 4, Scalar::u8), out = m.out("out", 4, Scalar::u8);
  const ValueType u8{Scalar::u8, 1};
  const ExprPtr padded = choose(test({{Nat(0), Relation::less, Nat(m.size("n"))}}), load(a, 1, u8),
                                literal(ScalarValue::ofInteger(Scalar::u8, 0)));
  m.k.body = block(Store{out, 0, operation(Op::max, {load(a, 0, u8), padded})}, Store{out, 1, padded});
  verify(m.k);
  CHECK(bodyText(m.k) ==
        "  out[0] = max(a[0], (uchar)(n > 0 ? a[1] : (uchar)0));\n  out[1] = n > 0 ? a[1] : (uchar)0;\n");
}

TEST_CASE("print: conversions") {
  Expression x;
  CHECK(Expression().of(convertTo(x.x(0), Scalar::i32)) == "truncate_float_int(in[0])");
  CHECK(Expression().of(convertTo(x.x(0), Scalar::i8)) == "convert_char_sat(truncate_float_int(in[0]))");
  CHECK(Expression().of(convertTo(x.n(0), Scalar::f32)) == "(float)iv[0]");
  CHECK(Expression().of(convertTo(x.n(0), Scalar::u8)) == "(uchar)iv[0]");
  CHECK(Expression().of(convertTo(add(x.x(0), x.x(1)), Scalar::f64)) == "(double)(in[0] + in[1])");
  CHECK(Expression().of(convertTo(load(x.in, 0, vec(4)), Scalar::i32)) ==
        "vstore4(truncate_float4_int4(vload4(0, in)), 0, out)");
}

TEST_CASE("print: bits of vectors are counted in all lanes at once where the builtin takes lane by lane") {
  Maker m;
  const auto in = m.in("in", 4, Scalar::i16), out = m.out("out", 4, Scalar::i16);
  const auto count = [&](int width) { return operation(Op::popcount, {load(in, 0, {Scalar::i16, width})}); };
  m.k.body = block(Store{out, 0, count(4)}, Store{out, 0, count(1)});
  verify(m.k);
  CHECK(bodyText(m.k) == "  vstore4(popcount_short4(vload4(0, in)), 0, out);\n  out[0] = popcount(in[0]);\n");
  CHECK(printOpenCL(m.k).find("static inline short4 popcount_short4(short4 x) {\n"
                              "#ifdef POCL_DEVICE_ADDRESS_BITS\n"
                              "  ushort4 n = as_ushort4(x);\n"
                              "  n = n - ((n >> (ushort4)(1)) & (ushort4)(0x5555u));\n"
                              "  n = (n & (ushort4)(0x3333u)) + ((n >> (ushort4)(2)) & (ushort4)(0x3333u));\n"
                              "  n = (n + (n >> (ushort4)(4))) & (ushort4)(0x0f0fu);\n"
                              "  n = n + (n >> (ushort4)(8));\n"
                              "  return as_short4(n & (ushort4)(31));\n"
                              "#else\n"
                              "  return popcount(x);\n"
                              "#endif\n"
                              "}\n") != std::string::npos);
}

TEST_CASE("print: double precision asks for its extension, and only then") {
  Maker m;
  const auto out = m.out("out", 4, Scalar::f64);
  m.k.body = block(Store{out, 0, literal(ScalarValue::of(Scalar::f64, 1))});
  CHECK(printOpenCL(m.k).find("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n") != std::string::npos);
  Maker n;
  const auto o = n.out("out", 4);
  n.k.body = block(Store{o, 0, number(1)});
  CHECK(printOpenCL(n.k).find("#pragma") == std::string::npos);
}

TEST_CASE("print: vectors at places that are proved to be aligned, where that is asked for") {
  const auto printedAt = [](const std::function<Nat(Nat i, Nat n)>& place, int width, AddressSpace space) {
    Maker m;
    const NatVar n = m.size("n"), at = NatVar::fresh("at", 0, std::nullopt);
    const auto in = m.in("in", 4096), out = m.out("out", 4096);
    const auto local = addBuffer(m.k, {"tile", Scalar::f32, 1, AddressSpace::local, 4096, false});
    const BufferId from = space == AddressSpace::local ? local : in;
    m.k.body = block(glb("i", 64, [&](Nat i) {
      return block(DeclareIndex{at, index(place(i, Nat(n)))}, Store{out, Nat(at) + 8, load(from, Nat(at), vec(width))});
    }));
    return printOpenCL(m.k, {.alignedVectors = true});
  };
  const auto isAligned = [&](const std::function<Nat(Nat, Nat)>& place, int width = 4) {
    const std::string text = printedAt(place, width, AddressSpace::global);
    const bool loads = text.find("*(const __global float4*)(in + at)") != std::string::npos;
    const bool stores = text.find("*(__global float4*)(out + at + 8) = ") != std::string::npos;
    CHECK(loads == stores);
    CHECK(loads == (text.find("vload") == std::string::npos));
    return loads;
  };
  CHECK(isAligned([](Nat i, Nat) { return 4 * i; }));
  CHECK(isAligned([](Nat i, Nat n) { return 8 * i * n + 12 * (i % 3) + 4 * floorDiv(i, 5); }));
  CHECK(isAligned([](Nat i, Nat) { return floorDiv(32 * i, 8) + mod(12 * i, 20); }));
  CHECK(isAligned([](Nat i, Nat n) { return 2 * i * (2 * n); }));
  CHECK_FALSE(isAligned([](Nat i, Nat) { return i; }));
  CHECK_FALSE(isAligned([](Nat i, Nat) { return 4 * i + 2; }));
  CHECK_FALSE(isAligned([](Nat i, Nat n) { return 2 * i * n; }));
  CHECK_FALSE(isAligned([](Nat i, Nat) { return 4 * i + mod(i, 4); }));
  CHECK_FALSE(isAligned([](Nat i, Nat) { return floorDiv(4 * i, 3); }));
  CHECK_FALSE(isAligned([](Nat i, Nat) { return mod(4 * i, 6); }));
  const auto four = [](Nat i, Nat) { return 4 * i; };
  CHECK_FALSE(isAligned(four, 8));
  CHECK_FALSE(isAligned(four, 3));
  // A local array begins where vectors of 16 bytes are aligned.
  CHECK(printedAt(four, 4, AddressSpace::local).find("*(const __local float4*)(tile + at)") != std::string::npos);
  CHECK(printedAt(four, 4, AddressSpace::local).find("__attribute__((aligned(16)))") != std::string::npos);
  const auto eight = [](Nat i, Nat) { return 8 * i; };
  CHECK(printedAt(eight, 8, AddressSpace::local).find("vload8(0, tile + at)") != std::string::npos);
  Maker m;
  const auto in = m.in("in", 16), out = m.out("out", 16);
  m.k.body = block(Store{out, 0, load(in, 4, vec(4))});
  CHECK(bodyText(m.k) == "  vstore4(vload4(0, in + 4), 0, out);\n");
}

TEST_CASE("print: vectors") {
  Expression x;
  const auto v = load(x.in, 4, vec(4));
  CHECK(Expression().of(v) == "vstore4(vload4(0, in + 4), 0, out)");
  CHECK(Expression().of(load(x.in, 1, vec(3))) == "vstore3(vload3(0, in + 1), 0, out)");
  CHECK(Expression().of(mul(splat(x.x(0), 4), v)) == "vstore4((float4)(in[0]) * vload4(0, in + 4), 0, out)");
  CHECK(Expression().of(lane(v, 3)) == "vload4(0, in + 4).s3");
  CHECK(Expression().of(lane(add(load(x.in, 0, vec(16)), load(x.in, 0, vec(16))), 15)) ==
        "(vload16(0, in) + vload16(0, in)).sf");
  CHECK(Expression().of(makeVector({x.x(0), number(1)})) == "vstore2((float2)(in[0], 1.0f), 0, out)");
  CHECK(Expression().of(literal(ScalarValue::of(Scalar::f32, 0), 8)) == "vstore8((float8)(0.0f), 0, out)");
}

TEST_CASE("print: comparisons of vectors are masks") {
  Expression x;
  const auto a = load(x.in, 0, vec(4)), b = load(x.in, 4, vec(4));
  const auto less = operation(Op::lt, {a, b});
  CHECK(Expression().of(choose(anyLane(less), number(1), number(2))) ==
        "any((vload4(0, in) < vload4(0, in + 4))) ? 1.0f : 2.0f");
  CHECK(Expression().of(operation(Op::select, {less, a, b})) ==
        "vstore4(select(vload4(0, in + 4), vload4(0, in), (vload4(0, in) < vload4(0, in + 4))), 0, out)");
  CHECK(Expression().of(operation(Op::select, {operation(Op::logicalNot, {less}), a, b})) ==
        "vstore4(select(vload4(0, in + 4), vload4(0, in), (~(vload4(0, in) < vload4(0, in + 4)))), 0, out)");
  CHECK(Expression().of(convertTo(less, Scalar::f32)) ==
        "vstore4(select((float4)(0), (float4)(1), (vload4(0, in) < vload4(0, in + 4))), 0, out)");
  CHECK(Expression().of(less) ==
        "vstore4(as_uchar4(convert_char4((vload4(0, in) < vload4(0, in + 4))) & (char4)(1)), 0, out)");
}

TEST_CASE("print: half is storage only") {
  Maker m;
  const auto in = m.in("in", 16, Scalar::f16), out = m.out("out", 16, Scalar::f16);
  const auto tile = m.local("tile", 16, Scalar::f16);
  m.k.body =
      block(Store{tile, 1, load(in, 2)}, Store{out, 0, load(tile, 0, vec(4))}, Store{out, 4, load(in, 8, vec(3))});
  verify(m.k);
  CHECK(bodyText(m.k) == R"(  __local ushort tile[16];
  vstore_half(vload_half(2, in), 1, (__local half*)tile);
  vstore_half4(vload_half4(0, (__local const half*)tile), 0, out);
  vstore_half3(vload_half3(0, in + 8), 0, out + 4);
)");
  CHECK(printOpenCL(m.k).find("__global const half* restrict in") != std::string::npos);
  // At aligned places as vectors, where the compiler has halves.
  const std::string text = printOpenCL(m.k, {.alignedVectors = true});
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  CHECK(has("store_half4_global(load_half4_local((__local const half*)tile), out);"));
  CHECK(has("#ifdef cl_khr_fp16\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#endif\n"));
  CHECK(has("  return convert_float4(*(const __local half4*)p);\n#else\n  return vload_half4(0, p);\n"));
  CHECK(has("  *(__global half4*)p = convert_half4(x);\n#else\n  vstore_half4(x, 0, p);\n"));
  CHECK(has("vstore_half3(vload_half3(0, in + 8), 0, out + 4);"));
}

TEST_CASE("print: many halves are loaded and stored wherever they stand, which PoCL takes to be aligned") {
  Maker m;
  const auto in = m.in("in", 32, Scalar::f16), out = m.out("out", 32, Scalar::f16);
  m.k.body = block(Store{out, 3, load(in, 1, vec(8))});
  CHECK(bodyText(m.k) == "  store_half8_anywhere_global(load_half8_anywhere_global(in + 1), out + 3);\n");
  const std::string text = printOpenCL(m.k);
  CHECK(text.find("  const ushort8 bits = *(const __global whole*)p;\n") != std::string::npos);
  CHECK(text.find("#else\n  return vload_half8(0, p);\n") != std::string::npos);
  CHECK(text.find("#else\n  vstore_half8(x, 0, p);\n") != std::string::npos);
  for (const auto& [tile, space] :
       {std::pair(m.local("tile", 32, Scalar::f16), "local"), {m.priv("own", 32, 1, Scalar::f16), "private"}}) {
    m.k.body = block(Store{tile, 1, load(in, 0)}, Store{out, 0, load(tile, 1, vec(16))});
    const std::string other = printOpenCL(m.k), name = fmt::format("load_half16_anywhere_{}", space);
    const std::string qualified = std::string(space) == "local" ? "__local " : "";
    INFO(other);
    CHECK(other.find(fmt::format("float16 {}(const {}half* p)", name, qualified)) != std::string::npos);
    CHECK(other.find(fmt::format("{}(({}const half*)", name, qualified)) != std::string::npos);
  }
}

TEST_CASE("print: h16 is computed in half, and asks for its extension") {
  Maker m;
  const auto in = m.in("in", 16, Scalar::h16), out = m.out("out", 16, Scalar::h16);
  const auto tile = m.local("tile", 16, Scalar::h16);
  const ValueType one{Scalar::h16, 1}, four{Scalar::h16, 4};
  const auto half = [](double x) { return literal(ScalarValue::of(Scalar::h16, x)); };
  m.k.body = block(Store{tile, 1, add(load(in, 2, one), half(0.1))},
                   Store{out, 0, add(load(tile, 0, four), load(in, 8, four))}, Store{out, 4, half(-INFINITY)},
                   Store{out, 5, convertTo(convertTo(load(in, 5, one), Scalar::u32), Scalar::h16)},
                   Store{out, 6, operation(Op::max, {load(in, 0, one), half(65504)})});
  verify(m.k);
  CHECK(bodyText(m.k) == R"(  __local half tile[16];
  tile[1] = in[2] + 0.099975586h;
  vstore4(vload4(0, tile) + vload4(0, in + 8), 0, out);
  out[4] = (half)-INFINITY;
  out[5] = (half)convert_uint_sat(fmax(in[5], 0.0h));
  out[6] = fmax(in[0], 65504.0h);
)");
  CHECK(printOpenCL(m.k).find("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n") != std::string::npos);
  Maker stored;
  const auto from = stored.in("in", 16, Scalar::f16), to = stored.out("out", 16, Scalar::f16);
  stored.k.body = block(Store{to, 0, load(from, 2)});
  CHECK(printOpenCL(stored.k).find("#pragma") == std::string::npos);
  // Of values that no variable or array holds.
  Maker between;
  const auto x = between.in("in", 16), y = between.out("out", 16);
  between.k.body = block(Store{y, 0, convertTo(convertTo(load(x, 0), Scalar::h16), Scalar::f32)});
  CHECK(computesIn(between.k, Scalar::h16));
  CHECK_FALSE(computesIn(between.k, Scalar::f64));
}

TEST_CASE("print: ids that nothing reads are not declared") {
  Maker m;
  const auto out = m.out("out", 64);
  For whole = lcl("l", 64, [&](Nat l) { return Store{out, l, number(1)}; });
  whole.trip = Trip::exactlyOnce;
  For first = lcl("l", 1, [&](Nat) { return Store{out, 0, number(2)}; });
  first.trip = Trip::atMostOnce;
  m.k.body = block(whole, first);
  const std::string text = bodyText(m.k);
  CHECK(text.find("const int l = get_local_id(0);\n    out[l] = 1.0f;") != std::string::npos);
  CHECK(text.find("if (get_local_id(0) < 1) {\n    out[0] = 2.0f;") != std::string::npos);
}

TEST_CASE("print: booleans are stored as uchar") {
  Maker m;
  const auto in = m.in("in", 4, Scalar::boolean), out = m.out("out", 4, Scalar::boolean);
  const ValueType boolean{Scalar::boolean, 1};
  const VarId b = m.var("b", boolean);
  m.k.body = block(Declare{b, operation(Op::logicalAnd, {load(in, 0, boolean), load(in, 1, boolean)})},
                   Store{out, 0, ref(b, boolean)});
  CHECK(bodyText(m.k) == "  const bool b = in[0] != 0 && in[1] != 0;\n  out[0] = b;\n");
  CHECK(printOpenCL(m.k).find("__global uchar* restrict out") != std::string::npos);
}

TEST_CASE("print: variables, lanes, conditionals and private arrays") {
  Maker m;
  const auto in = m.in("in", 4), out = m.out("out", 4), p = m.priv("p", 2, 4);
  const VarId v = m.var("v", vec(4)), s = m.var("s");
  m.k.body = block(Allocate{p}, Declare{v, {}}, Assign{v, load(in, 0, vec(4))}, AssignLane{v, 2, number(1)},
                   Declare{s, lane(ref(v, vec(4)), 2)}, Store{p, 1, ref(v, vec(4))},
                   If{operation(Op::lt, {ref(s, f32), number(0)}), block(Store{out, 0, load(p, 1, vec(4))}),
                      block(Store{out, 0, ref(s, f32)})});
  verify(m.k);
  CHECK(bodyText(m.k) == R"(  float4 p[2];
  float4 v;
  v = vload4(0, in);
  v.s2 = 1.0f;
  const float s = v.s2;
  p[1] = v;
  if (s < 0.0f) {
    vstore4(p[1], 0, out);
  } else {
    out[0] = s;
  }
)");
}

TEST_CASE("print: tests and guarded reads") {
  Maker m;
  const NatVar n = m.size("n");
  const auto in = m.in("in", Nat(n)), out = m.out("out", Nat(n));
  const Nat i = counter("i", Nat(n));
  m.k.body = block(seq(i, Store{out, i,
                                choose(test({{0, Relation::lessEqual, i - 1}, {i - 1, Relation::less, Nat(n)}}),
                                       load(in, i - 1), number(0))}));
  CHECK(bodyText(m.k) == R"(  for (int i = 0; i < n; i++) {
    out[i] = i - 1 >= 0 && i - 1 < n ? in[i - 1] : 0.0f;
  }
)");
}

TEST_CASE("print: index arithmetic") {
  const NatVar n = NatVar::size("n"), i = NatVar::fresh("i", 0, Nat(99)), j = NatVar::fresh("j", -5, Nat(5));
  const std::vector<NatVar> all{n, i, j};
  CHECK(printedIndex(Nat(n) * Nat(i) + 3, all) == "i * n + 3");
  CHECK(printedIndex(Nat(n) - Nat(i), all) == "n - i");
  CHECK(printedIndex(Nat(i) / 4, all) == "i / 4");
  CHECK(printedIndex(4 * (Nat(i) / 4), all) == "4 * (i / 4)");
  CHECK(printedIndex(Nat(i) % Nat(n), all) == "i % n");
  CHECK(printedIndex((Nat(i) - Nat(n)) / 4, all) == "floor_div(i - n, 4)");
  CHECK(printedIndex(Nat(j) / 4, all) == "(j + 8) / 4 - 2");
  CHECK(printedIndex((Nat(i) - Nat(n)) % 7, all) == "floor_mod(i - n, 7)");
  CHECK(printedIndex(Nat(n) + min(Nat(n), Nat(i)), all) == "n + min(i, n)");
}

TEST_CASE("print: helpers for floor division come with the kernel that needs them") {
  Maker m;
  const NatVar n = m.size("n");
  const auto out = m.out("out", 16);
  m.k.body = block(Store{out, max((7 - Nat(n)) / 4, 0), number(0)});
  const std::string s = printOpenCL(m.k);
  CHECK(s.find("static inline int floor_div(int a, int b) {") != std::string::npos);
  CHECK(s.find("floor_mod") == std::string::npos);
}

TEST_CASE("print: 64-bit arithmetic where 32 bits may not do") {
  Maker m;
  const std::int64_t big = 1ll << 33;
  const auto out = m.out("out", Nat(big));
  m.k.body =
      block(seq("i", Nat(1 << 20),
                [&](Nat i) {
                  return seq("j", Nat(1 << 13), [&](Nat j) { return Store{out, Nat(1 << 13) * i + j, number(0)}; });
                }),
            seq("h", Nat(big), [&](Nat k) {
              return Store{out, k, number(1)};
            }));
  CHECK(bodyText(m.k) == R"(  for (int i = 0; i < 1048576; i++) {
    for (int j = 0; j < 8192; j++) {
      out[8192L * i + j] = 0.0f;
    }
  }
  for (long h = 0; h < 8589934592L; h++) {
    out[h] = 1.0f;
  }
)");
}

TEST_CASE("print: barriers, comments and named integers") {
  Maker m;
  const NatVar n = m.size("n");
  const auto in = m.in("in", 16, Scalar::i32), out = m.out("out", 16);
  const NatVar at = NatVar::fresh("at", 0, Nat(15), NatVar::Role::index);
  m.k.body = block(Comment{"find the place\nof it"}, DeclareIndex{at, load(in, 0, i32)}, Store{out, Nat(at), number(1)},
                   Barrier{true, false}, Barrier{true, true});
  verify(m.k);
  CHECK(bodyText(m.k) == R"(  // find the place of it
  const int at = in[0];
  out[at] = 1.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
)");
  (void)n;
}

TEST_CASE("print: names that indices of one array add are pointers into it") {
  const auto loads = [](Maker&, BufferId in, BufferId out, Nat at, Nat i) {
    return block(Store{out, i, load(in, i + at + 1)}, Store{out, 0, load(in, at, vec(4))});
  };
  const std::string text = withName(loads, 4);
  CHECK(text.find("__global const float* at = in + 2 * i + 4;") != std::string::npos);
  CHECK(text.find("out[i] = at[i + 1];") != std::string::npos);
  CHECK(text.find("vload4(0, at)") != std::string::npos);
  CHECK(withName([](Maker&, BufferId, BufferId out, Nat at, Nat) {
          return block(Store{out, at + 2, number(1)});
        }).find("__global float* at = out + 2 * i;") != std::string::npos);
  // A name that a pointer adds is one, too.
  CHECK(withName([](Maker&, BufferId in, BufferId out, Nat at, Nat i) {
          const NatVar next = NatVar::fresh("next", 0, std::nullopt, NatVar::Role::index);
          return block(DeclareIndex{next, index(at + 3 * i)}, Store{out, i, load(in, Nat(next) + 1)},
                       Store{out, 0, load(in, at)});
        }).find("__global const float* next = at + 3 * i;") != std::string::npos);
}

TEST_CASE("print: other names are integers") {
  const auto isInteger = [](const std::string& text) { return text.find("const int at = ") != std::string::npos; };
  const auto one = [](Maker&, BufferId in, BufferId out, Nat at, Nat i) { return block(Store{out, i, load(in, at)}); };
  CHECK_FALSE(isInteger(withName(one)));
  CHECK(isInteger(withName(one, -1)));                                             // a pointer before the array
  CHECK(isInteger(withName([](Maker&, BufferId in, BufferId out, Nat at, Nat i) {  // and one beyond it
    return block(Store{out, i, load(in, at - i)});
  })));
  CHECK(isInteger(withName([](Maker&, BufferId in, BufferId out, Nat at, Nat) {  // into two arrays
    return block(Store{out, at, load(in, at)});
  })));
  CHECK(isInteger(withName([](Maker&, BufferId in, BufferId out, Nat at, Nat i) {  // twice as far
    return block(Store{out, i, load(in, 2 * at)});
  })));
  CHECK(isInteger(withName([](Maker&, BufferId in, BufferId out, Nat at, Nat i) {  // its value is read
    return block(Store{out, i, choose(test({{at, Relation::less, Nat(7)}}), load(in, at), number(0))});
  })));
  CHECK(isInteger(withName([](Maker& m, BufferId, BufferId out, Nat at, Nat i) {  // into a local array
    return block(Store{out, i, load(m.local("tile", 4096), at)});
  })));
  CHECK(isInteger(withName([](Maker&, BufferId in, BufferId out, Nat at, Nat i) {  // another name's value
    const NatVar next = NatVar::fresh("next", 0, std::nullopt, NatVar::Role::index);
    return block(DeclareIndex{next, index(at + 3 * i)}, Store{out, Nat(next), load(in, next)});
  })));
}

TEST_CASE("print: arrays of symbolic size cannot be declared") {
  Maker m;
  const NatVar n = m.size("n");
  const auto out = m.out("out", 4), tile = m.local("tile", Nat(n));
  m.k.body = block(Store{tile, 0, number(0)}, Store{out, 0, load(tile, 0)});
  CHECK_THROWS_AS(printOpenCL(m.k), UserError);
}

TEST_CASE("print: the same kernel prints the same") {
  const auto make = [] {
    Maker m;
    const NatVar n = m.size("n");
    const auto in = m.in("in", Nat(n)), out = m.out("out", Nat(n));
    m.k.body = block(seq("i", Nat(n), [&](Nat i) { return Store{out, i, load(in, Nat(n) - i - 1)}; }));
    return printOpenCL(optimise(m.k));
  };
  CHECK(make() == make());
}
