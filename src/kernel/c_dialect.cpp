#include "c_dialect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "lift/diagnostic.hpp"
#include "lift/listed.hpp"
#include "opencl.hpp"

namespace lift::kernel {
namespace {

constexpr std::int64_t intMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t longMin = std::numeric_limits<std::int64_t>::min();

std::string cType(Scalar s) { return s == Scalar::boolean ? "bool" : std::string(info(s).c); }

// Suffix of C's functions and literals; h16 is computed in float and rounded.
std::string_view suffixOf(Scalar real) { return real == Scalar::f64 ? "" : "f"; }

std::string unsignedType(Scalar s) { return fmt::format("uint{}_t", info(s).bytes * 8); }

// f32, i8x4; vectors of booleans are masks of bytes.
std::string shortName(ValueType t) {
  const std::string scalar(info(t.scalar == Scalar::boolean ? Scalar::i8 : t.scalar).name);
  return t.width == 1 ? scalar : fmt::format("{}x{}", scalar, t.width);
}

bool isMask(ValueType t) { return t.scalar == Scalar::boolean && t.width > 1; }

// Functions of <math.h>, by the name for double; empty for what is none.
std::string mathFunction(Op op) {
  if (op == Op::mod || op == Op::abs) return std::string(info(op).opencl);
  return info(op).typing == OpTyping::floating && op != Op::rsqrt ? std::string(info(op).name) : "";
}

// Those of these functions that libmvec, a part of glibc, has for vectors, within 4 units in the last place.
constexpr std::array inLibmvec{Op::cbrt,  Op::exp,  Op::exp2, Op::log,  Op::log2, Op::log10,
                               Op::sin,   Op::cos,  Op::tan,  Op::asin, Op::acos, Op::atan,
                               Op::atan2, Op::sinh, Op::cosh, Op::tanh, Op::erf,  Op::pow};

// What GCC and Clang take as an operator, with the language's meaning.
bool isOperator(Op op, ValueType t) {
  const OpInfo& row = info(op);
  if (row.typing == OpTyping::comparison || row.typing == OpTyping::logical) return true;
  if (op == Op::bitNot) return t.width > 1 || !isSmallInteger(t.scalar);
  if (op == Op::bitAnd || op == Op::bitOr || op == Op::bitXor) return true;
  if (row.precedence == 0 || row.typing != OpTyping::numeric || op == Op::mod) return false;
  if (isFloat(t.scalar)) return true;
  // Unsigned integers wrap, unless they are computed in int.
  return op != Op::div && !info(t.scalar).isSigned && (t.width > 1 || info(t.scalar).bytes >= 4);
}

}  // namespace

bool CDialect::isReserved(const std::string& name) const {
  static const std::unordered_set<std::string> words{
      "_Bool",  "alignas",       "alignof",      "and",     "errno",   "i386",     "linux",    "unix",     "noreturn",
      "asm",    "int8_t",        "int16_t",      "int32_t", "int64_t", "uint8_t",  "uint16_t", "uint32_t", "uint64_t",
      "size_t", "malloc",        "calloc",       "realloc", "free",    "memcpy",   "stdin",    "stdout",   "stderr",
      "assert", "static_assert", "thread_local", "typeof",  "nullptr", "constexpr"};
  if (isReservedInOpencl(name) || words.contains(name)) return true;
  // Functions of <math.h> for float, and macros.
  if (name.ends_with('f') && isReservedInOpencl(name.substr(0, name.size() - 1))) return true;
  if (name.size() > 2 && name.back() != '_' &&
      std::ranges::none_of(name, [](unsigned char c) { return std::islower(c) != 0; }))
    return true;
  // Types and functions of the prelude: i32, f32x8, f32x8_max.
  for (int s = 0; s < scalarCount; s++) {
    const std::string_view scalar = info(static_cast<Scalar>(s)).name;
    if (!name.starts_with(scalar)) continue;
    const std::string_view rest = std::string_view(name).substr(scalar.size());
    if (rest.empty() || rest[0] == '_') return true;
    if (rest[0] == 'x' && rest.size() > 1 && std::isdigit(static_cast<unsigned char>(rest[1])) != 0) return true;
  }
  return false;
}

namespace {

// Turns off what GCC does beyond -O3 for some processors, and its carrying of values from one iteration to the next.
// Both take registers, which kernels have filled already: their inner loops would spill, or read again what registers
// held.
constexpr std::string_view forGcc = R"(
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("no-predictive-commoning")
#ifdef __x86_64__
#pragma GCC target ("tune=generic")
#endif
#endif
)";

// Makes compilers call libmvec's functions of vectors in loops over lanes and over work-items.
constexpr auto forLibmvec = R"(
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#if __GLIBC_PREREQ(2, 35)
{}#endif
#endif
)";

}  // namespace

std::string CDialect::prelude() const {
  std::string s =
      "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n";
  if (usesHalf_) s += "#ifdef __F16C__\n#include <immintrin.h>\n#endif\n";
  s += forGcc;
  s += "\n#pragma GCC diagnostic ignored \"-Wunknown-pragmas\"  // OpenMP's, where it is not asked for\n"
       "#pragma GCC diagnostic ignored \"-Wparentheses\"\n#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n";
  if (!vectorFunctions_.empty()) s += fmt::format(forLibmvec, fmt::join(vectorFunctions_, ""));
  if (!types_.empty()) s += "#pragma GCC diagnostic ignored \"-Wpsabi\"\n\n" + types_;
  if (!functions_.empty()) s += "\n#define LIFT_INLINE static inline __attribute__((always_inline, unused))\n";
  return s + functions_;
}

void CDialect::recordsFaults() {
  function("record_fault", "void", "int32_t* faults, int site, int value, int bound",
           "  int32_t none = -1;\n"
           "  if (__atomic_compare_exchange_n(faults, &none, site, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {\n"
           "    faults[1] = value;\n    faults[2] = bound;\n  }\n");
}

// ----------------------------------------------------------------------------------------------------------- types

std::string CDialect::type(ValueType t) {
  if (t.width == 1) return cType(t.scalar);
  std::string name = shortName(t);
  if (!known_.insert(name).second) return name;
  const Scalar scalar = isMask(t) ? Scalar::i8 : t.scalar;
  const std::size_t lanes = t.width == 3 ? 4 : static_cast<std::size_t>(t.width);
  types_ +=
      fmt::format("typedef {} {} __attribute__((vector_size({})));\n", cType(scalar), name, lanes * info(scalar).bytes);
  return name;
}

std::string CDialect::element(const Buffer& b) {
  const Scalar stored = b.scalar == Scalar::f16 ? Scalar::u16 : b.scalar == Scalar::boolean ? Scalar::u8 : b.scalar;
  return type({stored, b.width});
}

std::string CDialect::indexType(bool wide) const { return wide ? "int64_t" : "int"; }

// ------------------------------------------------------------------------------------------------------- integers

Text CDialect::index(std::int64_t c, bool wide) const {
  if (c == longMin) return {"INT64_MIN"};
  if (c == intMin && !wide) return {"INT32_MIN"};
  if (wide) return {fmt::format("INT64_C({})", c)};
  return {std::to_string(c), c < 0 ? unary : primary};
}

std::string CDialect::indexOperation(Nat::Kind kind, bool wide, const std::string& a, const std::string& b) {
  if (kind == Nat::Kind::min || kind == Nat::Kind::max)
    return fmt::format("{}({}, {})",
                       operationOf(kind == Nat::Kind::min ? Op::min : Op::max, {wide ? Scalar::i64 : Scalar::i32, 1}),
                       a, b);
  const bool division = kind == Nat::Kind::floorDiv;
  const std::string t = wide ? "int64_t" : "int32_t";
  const std::string name = function(fmt::format("{}_floor_{}", wide ? "i64" : "i32", division ? "div" : "mod"), t,
                                    fmt::format("{0} a, {0} b", t),
                                    division ? fmt::format("  const {} q = a / b;\n"
                                                           "  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;\n",
                                                           t)
                                             : fmt::format("  const {} r = a % b;\n"
                                                           "  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n",
                                                           t));
  return fmt::format("{}({}, {})", name, a, b);
}

// ---------------------------------------------------------------------------------------------------------- values

Text CDialect::literal(const ScalarValue& v) const {
  if (v.type == Scalar::boolean) return {v.integer != 0 ? "true" : "false"};
  if (isFloat(v.type)) {
    const std::string cast = v.type == Scalar::f32 || v.type == Scalar::f64 ? "" : fmt::format("({})", cType(v.type));
    if (!std::isfinite(v.real)) {
      const std::string s = std::isnan(v.real) ? "NAN" : v.real < 0 ? "-INFINITY" : "INFINITY";
      if (v.type == Scalar::f64) return {"(double)" + s, unary};
      return {cast + s, !cast.empty() || s[0] == '-' ? unary : primary};
    }
    return {fmt::format("{}{}{}", cast, shortestReal(v), suffixOf(v.type)),
            !cast.empty() || std::signbit(v.real) ? unary : primary};
  }
  const std::int64_t i = v.integer;
  switch (v.type) {
    case Scalar::i32: return i == intMin ? Text{"INT32_MIN"} : Text{fmt::format("{}", i), i < 0 ? unary : primary};
    case Scalar::u32: return {fmt::format("{}u", static_cast<std::uint32_t>(i))};
    case Scalar::i64: return i == longMin ? Text{"INT64_MIN"} : Text{fmt::format("INT64_C({})", i)};
    case Scalar::u64: return {fmt::format("UINT64_C({})", static_cast<std::uint64_t>(i))};
    default: return {fmt::format("({}){}", cType(v.type), i), unary};
  }
}

std::string CDialect::function(const std::string& name, const std::string& result, const std::string& parameters,
                               const std::string& body) {
  if (known_.insert(name).second)
    functions_ += fmt::format("\nLIFT_INLINE {} {}({}) {{\n{}}}\n", result, name, parameters, body);
  return name;
}

Text CDialect::splat(ValueType t, const std::string& scalar) {
  const std::string v = type(t);
  std::vector<std::string> lanes(static_cast<std::size_t>(t.width), "x");
  return {fmt::format("{}({})",
                      function(shortName(t) + "_splat", v, cType(isMask(t) ? Scalar::i8 : t.scalar) + " x",
                               fmt::format("  return ({}){{{}}};\n", v, fmt::join(lanes, ", "))),
                      scalar)};
}

Text CDialect::vector(ValueType t, const std::vector<std::string>& lanes) {
  return {fmt::format("({}){{{}}}", type(t), fmt::join(lanes, ", ")), postfix};
}

std::string CDialect::lane(const std::string& vector, int lane) const { return fmt::format("{}[{}]", vector, lane); }

// Integers of one size, as C sees them without undefined behaviour.
std::string CDialect::integerOperation(Op op, Scalar t) {
  const std::string c = cType(t), u = unsignedType(t);
  const bool isSigned = info(t).isSigned;
  const std::size_t bits = info(t).bytes * 8;
  // C would compute small integers in int, where the product of two may overflow.
  const std::string wrapping = info(t).bytes < 4 ? "uint32_t" : u;
  const std::string name = fmt::format("{}_{}", info(t).name, info(op).name);
  const std::string two = fmt::format("{0} a, {0} b", c), one = c + " a";
  const auto defined = [&](const std::string& parameters, const std::string& value) {
    return function(name, c, parameters, "  return " + value + ";\n");
  };
  const auto infix = [&](char o) { return defined(two, fmt::format("({0})(({1})a {2} ({1})b)", c, wrapping, o)); };
  switch (op) {
    case Op::add: return infix('+');
    case Op::sub: return infix('-');
    case Op::mul: return infix('*');
    case Op::neg: return defined(one, fmt::format("({})(0 - ({})a)", c, wrapping));
    case Op::div:
    case Op::mod: {
      const char o = op == Op::div ? '/' : '%';
      const std::string plain = fmt::format("({})(a {} b)", c, o);
      if (!isSigned) return defined(two, "b == 0 ? 0 : " + plain);
      const std::string minusOne = op == Op::div ? fmt::format("({})(0 - ({})a)", c, wrapping) : "0";
      return defined(two, fmt::format("b == 0 ? 0 : b == -1 ? {} : {}", minusOne, plain));
    }
    case Op::min: return defined(two, "a < b ? a : b");
    case Op::max: return defined(two, "a < b ? b : a");
    case Op::abs: return defined(one, isSigned ? fmt::format("a < 0 ? ({})(0 - ({})a) : a", c, wrapping) : "a");
    case Op::bitNot: return defined(one, fmt::format("({})~a", c));
    case Op::shl: return defined(two, fmt::format("({})(({})a << (b & {}))", c, wrapping, bits - 1));
    case Op::shr: return defined(two, fmt::format("({})(a >> (b & {}))", c, bits - 1));
    case Op::rotateBits:
      return defined(two, fmt::format("({0})(({1})a << (b & {2}) | ({1})a >> (-({1})b & {2}))", c, u, bits - 1));
    case Op::popcount: return defined(one, fmt::format("({})__builtin_popcountll(({})a)", c, u));
    case Op::clz:
      return defined(one, fmt::format("a == 0 ? {0} : ({1})(__builtin_clzll(({2})a) - {3})", bits, c, u, 64 - bits));
    case Op::mulHigh: {
      const std::string wide = info(t).bytes < 8 ? (isSigned ? "int64_t" : "uint64_t")
                               : isSigned        ? "__int128"
                                                 : "unsigned __int128";
      return defined(two, fmt::format("({})((({})a * b) >> {})", c, wide, bits));
    }
    default: throw InternalError("C: no such operation on integers");
  }
}

// exp of f32 without branches, within 1.01 units in the last place (measured on every 37th number). libmvec branches to
// the scalar function for very small arguments, of which masked rows of softmax consist. Computes 2^n e^r with the
// polynomial of Cephes' expf; 2^n is made of two factors, so that results may be denormal or infinite.
std::string CDialect::exponential(int width) {
  const ValueType t{Scalar::f32, width};
  const std::string v = type(t), i = type({Scalar::i32, width});
  const auto either = [&](const std::string& test, const std::string& then, const std::string& otherwise) {
    return width > 1 ? choice(t, test, splat(t, then).text, otherwise)
                     : fmt::format("{} ? {} : ({})", test, then, otherwise);
  };
  const std::string clamped = either("a < -104.0f", "-104.0f", either("a > 89.0f", "89.0f", "a"));
  const std::string powers = width > 1
                                 ? fmt::format(R"(  const {0} whole = ({0})shifted - 0x4b400000, half = whole >> 1;
  const {1} first = ({1})((half + 127) << 23), second = ({1})((whole - half + 127) << 23);
)",
                                               i, v)
                                 : R"(  int32_t whole;
  memcpy(&whole, &shifted, sizeof whole);
  whole -= 0x4b400000;
  const int32_t half = whole >> 1;
  const uint32_t bits = (uint32_t)(half + 127) << 23, more = (uint32_t)(whole - half + 127) << 23;
  float first, second;
  memcpy(&first, &bits, sizeof first);
  memcpy(&second, &more, sizeof second);
)";
  return function(shortName(t) + "_exp", v, v + " a",
                  fmt::format(R"(  const {0} x = {1};
  const {0} shifted = x * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
  const {0} r = x - n * 0.693359375f + n * 2.12194440e-4f;
  const {0} q = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
  const {0} p = (q * r + 1.6666665459e-1f) * r + 5.0000001201e-1f;
{2}  return (1.0f + (r + r * r * p)) * first * second;
)",
                              v, clamped, powers));
}

std::string CDialect::scalarOperation(Op op, Scalar t) {
  if (isInteger(t)) return integerOperation(op, t);
  const std::string c = cType(t), f(suffixOf(t));
  const std::string name = fmt::format("{}_{}", info(t).name, info(op).name);
  const std::string two = fmt::format("{0} a, {0} b", c);
  switch (op) {
    case Op::min:  // a number rather than NaN
      return function(name, c, two, "  return a < b || b != b ? a : b;\n");
    case Op::max: return function(name, c, two, "  return a > b || b != b ? a : b;\n");
    case Op::rsqrt: return function(name, c, c + " a", fmt::format("  return 1 / sqrt{}(a);\n", f));
    default: {
      const std::string known = mathFunction(op) + f;
      if (known == f) throw InternalError("C: no such operation on floats");
      if (op == Op::exp && t == Scalar::f32) return exponential(1);
      if (std::ranges::find(inLibmvec, op) != inLibmvec.end()) {
        const std::string_view real = t == Scalar::f64 ? "double" : "float";
        const std::vector<std::string_view> operands(static_cast<std::size_t>(info(op).arity), real);
        vectorFunctions_.insert(fmt::format("__attribute__((const, simd(\"notinbranch\"))) {} {}({});\n", real, known,
                                            fmt::join(operands, ", ")));
      }
      if (t != Scalar::h16) return known;
      std::string parameters, arguments;
      for (int i = 0; i < info(op).arity; i++) {
        const char letter = static_cast<char>('a' + i);
        parameters += fmt::format("{}{} {}", i > 0 ? ", " : "", c, letter);
        arguments += fmt::format("{}{}", i > 0 ? ", " : "", letter);
      }
      return function(name, c, parameters, fmt::format("  return ({}){}({});\n", c, known, arguments));
    }
  }
}

// The function of an operation that is no operator.
std::string CDialect::operationOf(Op op, ValueType t) {
  if (t.width == 1) return scalarOperation(op, t.scalar);
  const std::string v = type(t), name = fmt::format("{}_{}", shortName(t), info(op).name);
  std::string parameters, lanes;
  const char* const names[] = {"a", "b", "c"};
  for (int i = 0; i < info(op).arity; i++) {
    parameters += fmt::format("{}{} {}", i > 0 ? ", " : "", v, names[i]);
    lanes += fmt::format("{}{}[i]", i > 0 ? ", " : "", names[i]);
  }
  const std::size_t bits = info(t.scalar).bytes * 8;
  if (isInteger(t.scalar) && (op == Op::add || op == Op::sub || op == Op::mul || op == Op::neg || op == Op::shl)) {
    Scalar whole = t.scalar;
    for (int s = 0; s < scalarCount; s++)
      if (const ScalarInfo& i = info(static_cast<Scalar>(s)); isInteger(i.scalar) && !i.isSigned && i.bytes * 8 == bits)
        whole = i.scalar;
    const std::string u = type({whole, t.width});
    std::string value;
    if (op == Op::neg)
      value = fmt::format("-({})a", u);
    else if (op == Op::shl)
      value = fmt::format("({0})a << (({0})b & {1})", u, splat({whole, t.width}, std::to_string(bits - 1)).text);
    else
      value = fmt::format("({0})a {1} ({0})b", u, infixOf(op)->text);
    return function(name, v, parameters, fmt::format("  return ({})({});\n", v, value));
  }
  if (op == Op::shr)
    return function(name, v, parameters,
                    fmt::format("  return a >> (b & {});\n", splat(t, std::to_string(bits - 1)).text));
  if (op == Op::min || op == Op::max) {
    const std::string order = op == Op::min ? "<" : ">";
    const std::string better =
        isFloat(t.scalar) ? fmt::format("(a {} b) | (b != b)", order) : fmt::format("a {} b", order);
    return function(name, v, parameters, fmt::format("  return {};\n", choice(t, better, "a", "b")));
  }
  if (op == Op::exp && t.scalar == Scalar::f32) return exponential(t.width);
  const std::string each = scalarOperation(op, t.scalar);
  return function(name, v, parameters,
                  fmt::format("  {0} r = {{0}};\n  for (int i = 0; i < {1}; i++) r[i] = {2}({3});\n  return r;\n", v,
                              t.width, each, lanes));
}

Text CDialect::operation(Op op, ValueType t, const std::vector<Text>& args) {
  if (isOperator(op, t)) {
    if (args.size() == 1) {
      const std::string operand = args[0].within(unary);
      // "--x" would be a decrement.
      return {std::string(info(op).opencl) + (operand.starts_with("-") ? '(' + operand + ')' : operand), unary};
    }
    const Infix infix = infixOf(op).value();
    const Text result{
        fmt::format("{} {} {}", args[0].within(infix.precedence), infix.text, args[1].within(infix.precedence + 1)),
        infix.precedence};
    // GCC computes whole expressions of _Float16 in float.
    const bool rounds = t.width == 1 && t.scalar == Scalar::h16 && info(op).typing == OpTyping::numeric;
    return rounds ? Text{fmt::format("({}){}", cType(t.scalar), result.within(unary)), unary} : result;
  }
  return {fmt::format("{}({})", operationOf(op, t), listed(args, &Text::text))};
}

std::string CDialect::choice(ValueType t, const std::string& mask, const std::string& then,
                             const std::string& otherwise) {
  const std::string v = type(t), m = type({integerOf(info(t.scalar).bytes), t.width});
  return fmt::format("{}({}, {}, {})",
                     function(shortName(t) + "_select", v, fmt::format("{0} m, {1} a, {1} b", m, v),
                              fmt::format("  return ({0})((({1})a & m) | (({1})b & ~m));\n", v, m)),
                     mask, then, otherwise);
}

// Truncates, with the ends of the integer's range for what is beyond, and 0 for NaN.
std::string CDialect::saturating(Scalar from, Scalar to) {
  const std::string f = cType(from), i = cType(to);
  const bool isSigned = info(to).isSigned;
  const int bits = static_cast<int>(info(to).bytes) * 8;
  const std::string_view suffix = suffixOf(from);
  const std::string prefix = fmt::format("{}INT{}", isSigned ? "" : "U", bits);
  const std::string low = isSigned ? fmt::format("-0x1p{}{}", bits - 1, suffix) : "0";
  return function(fmt::format("{}_from_{}", info(to).name, info(from).name), i, f + " x",
                  fmt::format("  if (!(x > {0})) return x != x ? 0 : {1};\n  if (x >= 0x1p{2}{3}) return {4}_MAX;\n"
                              "  return ({5})x;\n",
                              low, isSigned ? prefix + "_MIN" : "0", isSigned ? bits - 1 : bits, suffix, prefix, i));
}

Text CDialect::conversion(ValueType from, ValueType to, const Text& value) {
  const bool saturates = isFloat(from.scalar) && !isFloat(to.scalar);
  if (to.width == 1) {
    if (saturates) return {fmt::format("{}({})", saturating(from.scalar, to.scalar), value.text)};
    return {fmt::format("({}){}", type(to), value.within(unary)), unary};
  }
  if (!saturates) return {fmt::format("__builtin_convertvector({}, {})", value.text, type(to))};
  const std::string f = type(from), i = type(to);
  std::vector<std::string> lanes;  // a loop over them is more than GCC 12 takes where the sizes of elements differ
  for (int l = 0; l < to.width; l++)
    lanes.push_back(fmt::format("{}({})", saturating(from.scalar, to.scalar), lane("x", l)));
  const std::string name =
      function(fmt::format("{}_from_{}", i, f), i, f + " x", fmt::format("  return {};\n", vector(to, lanes).text));
  return {fmt::format("{}({})", name, value.text)};
}

Text CDialect::anyLane(ValueType of, const std::string& mask) {
  const std::string body =
      fmt::format("  {} any = 0;\n  for (int i = 0; i < {}; i++) any |= mask[i];\n  return any != 0;\n",
                  cType(of.scalar), of.width);
  return {fmt::format("{}({})", function(shortName(of) + "_any", "int", type(of) + " mask", body), mask)};
}

std::string CDialect::resizedMask(ValueType to, const std::string& mask) {
  return fmt::format("__builtin_convertvector({}, {})", mask, type(to));
}

// ---------------------------------------------------------------------------------------------------------- memory

std::string CDialect::halfToFloat() {
  usesHalf_ = true;
  return function("f32_from_f16", "float", "uint16_t h",
                  R"(#ifdef __F16C__
  return _cvtsh_ss(h);
#else
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, fraction = h & 0x3ffu;
  uint32_t bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
  float x;
  if (exponent == 0) {
    x = (float)fraction * 0x1p-24f;
    memcpy(&bits, &x, sizeof bits);
    bits |= sign;
  }
  memcpy(&x, &bits, sizeof x);
  return x;
#endif
)");
}

std::string CDialect::floatToHalf() {
  usesHalf_ = true;
  return function("f16_from_f32", "uint16_t", "float x",
                  R"(#ifdef __F16C__
  return _cvtss_sh(x, 0);
#else
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000u, fraction = bits & 0x7fffffu;
  const int exponent = (int)(bits >> 23 & 255) - 112;  // the result's, were it normal
  if (exponent == 143 && fraction != 0) return (uint16_t)(sign | 0x7c00u | (fraction >> 13 ? fraction >> 13 : 0x200u));
  if (exponent >= 31) return (uint16_t)(sign | 0x7c00u);
  if (exponent < -10) return (uint16_t)sign;
  // To nearest, and to even in the middle; a carry goes to the exponent.
  const uint32_t significand = fraction | 0x800000u;
  const int shift = 13 + (exponent <= 0 ? 1 - exponent : 0);
  const uint32_t rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  uint32_t result = significand >> shift;
  if (rest > half || (rest == half && (result & 1) != 0)) result++;
  if (exponent > 0) result += (uint32_t)(exponent - 1) << 10;
  return (uint16_t)(sign | result);
#endif
)");
}

std::string CDialect::load(ValueType t, const Place& from) {
  const bool isHalf = from.buffer.scalar == Scalar::f16;
  const std::string element = fmt::format("{}[{}]", from.array, from.index);
  if (t.width == 1) return isHalf ? fmt::format("{}({})", halfToFloat(), element) : element;
  if (t.width == from.buffer.width && !isHalf) return element;
  const std::string at = t.width == from.buffer.width ? '&' + element : from.pointer();
  const std::string v = type(t);
  if (isHalf)
    return fmt::format("{}({})",
                       function(shortName(t) + "_load_f16", v, "const void* p",
                                fmt::format("  uint16_t h[{0}];\n  {1} r = {{0}};\n  memcpy(h, p, sizeof h);\n"
                                            "  for (int i = 0; i < {0}; i++) r[i] = {2}(h[i]);\n  return r;\n",
                                            t.width, v, halfToFloat())),
                       at);
  const std::string scalar = cType(t.scalar);
  const std::string body = t.width == 3 ? fmt::format("  return ({}){{p[0], p[1], p[2]}};\n", v)
                                        : fmt::format(
                                              "  typedef {0} {0}_at __attribute__((aligned({1}), may_alias));\n"
                                              "  return *(const {0}_at*)p;\n",
                                              v, info(t.scalar).bytes);
  return fmt::format("{}({})", function(v + "_load", v, fmt::format("const {}* p", scalar), body), at);
}

std::string CDialect::store(ValueType t, const Place& to, const std::string& value) {
  const bool isHalf = to.buffer.scalar == Scalar::f16;
  const std::string element = fmt::format("{}[{}]", to.array, to.index);
  if (t.width == 1 && isHalf) return fmt::format("{} = {}({});", element, floatToHalf(), value);
  if (t.width == to.buffer.width && !isHalf) return fmt::format("{} = {};", element, value);
  const std::string at = t.width == to.buffer.width ? '&' + element : to.pointer();
  const ValueType stored = t.scalar == Scalar::boolean ? ValueType{Scalar::u8, t.width} : t;
  const std::string v = type(stored);
  if (isHalf)
    return fmt::format("{}({}, {});",
                       function(shortName(t) + "_store_f16", "void", fmt::format("void* p, {} x", v),
                                fmt::format("  uint16_t h[{0}];\n  for (int i = 0; i < {0}; i++) h[i] = {1}(x[i]);\n"
                                            "  memcpy(p, h, sizeof h);\n",
                                            t.width, floatToHalf())),
                       at, value);
  const std::string scalar = cType(stored.scalar);
  const std::string body = t.width == 3 ? "  p[0] = x[0];\n  p[1] = x[1];\n  p[2] = x[2];\n"
                                        : fmt::format(
                                              "  typedef {0} {0}_at __attribute__((aligned({1}), may_alias));\n"
                                              "  *({0}_at*)p = x;\n",
                                              v, info(stored.scalar).bytes);
  return fmt::format("{}({}, {});", function(v + "_store", "void", fmt::format("{}* p, {} x", scalar, v), body), at,
                     value);
}

std::string CDialect::stream(ValueType t, const Place& to, const std::string& value) {
  const std::size_t bytes = static_cast<std::size_t>(t.width) * info(t.scalar).bytes;
  const auto [feature, instruction, floats] = bytes == 16   ? std::tuple("SSE", "movntps", 4)
                                              : bytes == 32 ? std::tuple("AVX", "movntps256", 8)
                                                            : std::tuple("AVX512F", "movntps512", 16);
  const std::string v = type(t), scalar = cType(t.scalar), asFloats = type({Scalar::f32, floats});
  const std::string name = function(v + "_stream", "void", fmt::format("{}* p, {} x", scalar, v),
                                    fmt::format("#if defined(__clang__)\n"
                                                "  if ((uintptr_t)p % {0} == 0) {{\n"
                                                "    __builtin_nontemporal_store(x, ({1}*)p);\n"
                                                "    return;\n"
                                                "  }}\n"
                                                "#elif defined(__{2}__)\n"
                                                "  if ((uintptr_t)p % {0} == 0) {{\n"
                                                "    __builtin_ia32_{3}((float*)p, ({4})x);\n"
                                                "    return;\n"
                                                "  }}\n"
                                                "#endif\n"
                                                "  typedef {1} {1}_at __attribute__((aligned({5}), may_alias));\n"
                                                "  *({1}_at*)p = x;\n",
                                                bytes, v, feature, instruction, asFloats, info(t.scalar).bytes));
  return fmt::format("{}({}, {});", name, to.pointer(), value);
}

std::string CDialect::update(Op, const Place&, const std::string&) {
  throw InternalError("work-items of C update nothing that they share");
}
std::string CDialect::prefetch(const std::string& pointer) { return "__builtin_prefetch(" + pointer + ", 1);"; }

std::string CDialect::storedMask(int width, const std::string& mask) {
  const ValueType bytes{Scalar::u8, width};
  return fmt::format("({})({} & {})", type(bytes), mask, splat({Scalar::i8, width}, "1").text);
}

}  // namespace lift::kernel
