// Kernels as OpenCL C 1.2.
#include "opencl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "lift/kernel_walk.hpp"
#include "lift/listed.hpp"
#include "printer.hpp"

namespace lift::kernel {
namespace {

constexpr std::int64_t intMin = std::numeric_limits<std::int32_t>::min();
constexpr int localAlignment = 16;  // bytes: the longest vector that GPUs load at once
constexpr std::int64_t longMin = std::numeric_limits<std::int64_t>::min();

// Keywords, types, macros, and the builtins that printed kernels may call or that a reader would mistake names for.
const std::unordered_set<std::string_view>& reserved() {
  static constexpr std::string_view text =
      "auto break case char const continue default do double else enum extern float for goto if inline int long "
      "register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
      "bool true false half quad complex imaginary uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t event_t "
      "sampler_t image1d_t image2d_t image3d_t kernel global local constant private generic read_only write_only "
      "read_write pipe uniform asm typeof inf nan NAN INFINITY HUGE_VAL MAXFLOAT INT_MIN INT_MAX LONG_MIN LONG_MAX "
      "CHAR_BIT NULL abs abs_diff acos acosh add_sat all any as_float as_int asin asinh atan atan2 atanh barrier "
      "bitselect cbrt ceil clamp clz copysign cos cosh cospi cross degrees distance dot erf erfc exp exp10 exp2 expm1 "
      "fabs fdim floor fma fmax fmin fmod fract frexp hadd hypot ilogb isequal isfinite isinf isless isnan isnormal "
      "ldexp length lgamma log log10 log1p log2 logb mad mad24 mad_hi mad_sat max maxmag min minmag mix modf mul24 "
      "mul_hi nextafter normalize popcount pow pown powr prefetch printf radians remainder remquo rhadd rint rootn "
      "rotate round rsqrt select shuffle shuffle2 sign signbit sin sincos sinh sinpi smoothstep sqrt step sub_sat tan "
      "read_imagef read_imageh write_imagef write_imageh tanh tanpi tgamma trunc upsample mem_fence read_mem_fence "
      "write_mem_fence work_group_barrier vec_step floor_div "
      "floor_mod floor_div_long floor_mod_long record_fault prefetch_line main M_PI M_E ";
  static const std::unordered_set<std::string_view> words = [] {
    std::unordered_set<std::string_view> split;
    for (std::size_t begin = 0, end; begin < text.size(); begin = end + 1) {
      end = text.find(' ', begin);
      split.insert(text.substr(begin, end - begin));
    }
    return split;
  }();
  return words;
}

// float4, int16, vload8, convert_int, get_global_id, atomic_add, …
bool looksReserved(const std::string& s) {
  if (reserved().contains(s)) return true;
  for (std::string_view prefix :
       {"get_",  "vload",  "vstore",    "convert_",   "as_",         "atomic_",    "atom_",    "native_",
        "half_", "async_", "group_",    "sub_group_", "work_group_", "CLK_",       "cl_",      "CL_",
        "FLT_",  "DBL_",   "truncate_", "absolute_",  "quotient_",   "remainder_", "popcount_"})
    if (s.starts_with(prefix)) return true;
  std::size_t end = s.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(s[end - 1]))) end--;
  for (std::string_view type :
       {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "half", "bool", "quad"})
    if (end < s.size() && std::string_view(s).substr(0, end) == type) return true;
  return false;
}

class OpenclDialect final : public Dialect {
 public:
  explicit OpenclDialect(const OpenclOptions& options) : options_(options) {}

  std::map<std::string, std::string> functions;  // that the kernel calls, by name
  std::map<std::string, ValueType> streamed;     // types that are stored past the caches
  bool prefetches = false;

  bool isReserved(const std::string& name) const override { return isReservedInOpencl(name); }

  std::string type(ValueType t) override {
    if (t.scalar == Scalar::boolean) return t.width == 1 ? "bool" : fmt::format("char{}", t.width);
    return wide(info(t.scalar).opencl, t.width);
  }
  std::string element(const Buffer& b) override {
    // Arrays of half need an extension; a pointer to half does not, and that is how they are accessed.
    return wide(b.scalar == Scalar::f16 && b.space != AddressSpace::global ? "ushort" : info(b.scalar).opencl, b.width);
  }
  std::string indexType(bool wide) const override { return wide ? "long" : "int"; }
  std::string_view globalQualifier() const override { return "__global "; }

  Text index(std::int64_t c, bool wide) const override {
    if (c == longMin) return {"LONG_MIN"};
    if (c == intMin && !wide) return {"INT_MIN"};
    return {fmt::format("{}{}", c, wide ? "L" : ""), c < 0 ? unary : primary};
  }
  std::string indexOperation(Nat::Kind kind, bool wide, const std::string& a, const std::string& b) override {
    if (kind == Nat::Kind::min || kind == Nat::Kind::max)
      return fmt::format("{}({}, {})", kind == Nat::Kind::min ? "min" : "max", a, b);
    const bool division = kind == Nat::Kind::floorDiv;
    const std::string t = indexType(wide);
    const std::string name = function(
        fmt::format("floor_{}{}", division ? "div" : "mod", wide ? "_long" : ""), t, fmt::format("{0} a, {0} b", t),
        fmt::format(fmt::runtime(division ? "  const {} q = a / b;\n"
                                            "  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;\n"
                                          : "  const {} r = a % b;\n"
                                            "  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n"),
                    t));
    return fmt::format("{}({}, {})", name, a, b);
  }

  Text literal(const ScalarValue& v) const override {
    if (v.type == Scalar::boolean) return {v.integer != 0 ? "true" : "false"};
    if (isFloat(v.type)) {
      if (!std::isfinite(v.real)) {
        const std::string s = std::isnan(v.real) ? "NAN" : v.real < 0 ? "-INFINITY" : "INFINITY";
        // NVIDIA's compiler does not take INFINITY, converted to double, for a constant.
        if (v.type == Scalar::f64)
          return {std::isnan(v.real) ? "(0.0 / 0.0)" : v.real < 0 ? "(-1.0 / 0.0)" : "(1.0 / 0.0)"};
        if (v.type != Scalar::f32) return {fmt::format("({}){}", info(v.type).opencl, s), unary};
        return {s, s[0] == '-' ? unary : primary};
      }
      return {shortestReal(v) + std::string(suffix(v.type)), std::signbit(v.real) ? unary : primary};
    }
    const std::int64_t i = v.integer;
    const int binds = i < 0 ? unary : primary;
    switch (v.type) {
      case Scalar::i32: return i == intMin ? Text{"INT_MIN"} : Text{fmt::format("{}", i), binds};
      case Scalar::u32: return {fmt::format("{}u", static_cast<std::uint32_t>(i))};
      case Scalar::i64: return i == longMin ? Text{"LONG_MIN"} : Text{fmt::format("{}L", i), binds};
      case Scalar::u64: return {fmt::format("{}ul", static_cast<std::uint64_t>(i))};
      default: return {fmt::format("({}){}", info(v.type).opencl, i), unary};
    }
  }
  Text splat(ValueType t, const std::string& scalar) override {
    return {fmt::format("({})({})", type(t), scalar), unary};
  }
  Text vector(ValueType t, const std::vector<std::string>& lanes) override {
    return {fmt::format("({})({})", type(t), fmt::join(lanes, ", ")), unary};
  }
  bool vectorsOfVectors() const override { return true; }
  std::string lane(const std::string& vector, int lane) const override { return fmt::format("{}.s{:x}", vector, lane); }

  Text operation(Op op, ValueType t, const std::vector<Text>& args) override {
    const bool isVector = t.width > 1;
    // C computes small integers in int; the result must wrap to their own type.
    const bool wraps = !isVector && isSmallInteger(t.scalar);
    const auto finish = [&](Text s) {
      return wraps ? Text{fmt::format("({}){}", info(t.scalar).opencl, s.within(unary)), unary} : s;
    };
    const OpInfo& row = info(op);
    if (mayOverflow(op, t)) return wrapped(op, t, args);
    if (row.arity == 1 && row.precedence > 0) {
      const std::string operand = args[0].within(unary);
      // "--x" would be a decrement.
      return finish({std::string(row.opencl) + (operand.starts_with("-") ? '(' + operand + ')' : operand), unary});
    }
    const auto infix = infixOf(op);
    if (infix && (op != Op::mod || isInteger(t.scalar))) {
      const std::string right = wraps && (op == Op::shl || op == Op::shr)
                                    ? fmt::format("({} & {})", args[1].within(bitAnd_), info(t.scalar).bytes * 8 - 1)
                                    : args[1].within(infix->precedence + 1);
      return finish(
          {fmt::format("{} {} {}", args[0].within(infix->precedence), infix->text, right), infix->precedence});
    }
    // A choice between small integers is an int, for which overloaded functions have no candidate beside them.
    const std::string list = listed(args, [&](const Text& a) { return a.binds == ternary ? finish(a).text : a.text; });
    const bool integer = isInteger(t.scalar) && !row.openclInteger.empty();
    const std::string call = fmt::format("{}({})", integer ? row.openclInteger : row.opencl, list);
    if (op == Op::abs && integer && info(t.scalar).isSigned) {  // of compilers' abs, the least integer is undefined
      const std::string own = type(t);
      const std::string name = function("absolute_" + own, own, own + " x",
                                        fmt::format("  return max(x, {});\n", operation(Op::neg, t, {{"x"}}).text));
      return {fmt::format("{}({})", name, list), postfix};
    }
    return {op == Op::popcount && isVector ? fmt::format("{}({})", bitsCounted(t), list) : call, postfix};
  }
  // What -1 leaves of the least integer is undefined, too.
  Text division(Op op, ValueType t, const std::vector<Text>& args) override {
    if (t.width == 1 && isSmallInteger(t.scalar)) return operation(op, t, args);  // computed in int
    const std::string own = type(t), isMinusOne = fmt::format("b == ({})(-1)", own);
    const std::string divided = fmt::format("a {} ({} ? ({})(1) : b)", infixOf(op)->text, isMinusOne, own);
    const std::string name = function(
        fmt::format("{}_{}", op == Op::div ? "quotient" : "remainder", own), own, fmt::format("{0} a, {0} b", own),
        op == Op::mod
            ? fmt::format("  return {};\n", divided)
            : fmt::format("  return {} ? {} : {};\n", isMinusOne, operation(Op::neg, t, {{"a"}}).text, divided));
    return {fmt::format("{}({}, {})", name, args[0].text, args[1].text), postfix};
  }
  // Integers wrap, but those of OpenCL C that have a sign must not overflow: the unsigned ones of their size do the
  // sum. In vectors there are small ones; alone, they are computed in int, which the product of two of 16 bits may
  // exceed.
  static bool mayOverflow(Op op, ValueType t) {
    if (!isInteger(t.scalar) || (op != Op::add && op != Op::sub && op != Op::mul && op != Op::neg)) return false;
    if (t.width == 1 && isSmallInteger(t.scalar)) return op == Op::mul && info(t.scalar).bytes == 2;
    return info(t.scalar).isSigned;
  }
  Text wrapped(Op op, ValueType t, const std::vector<Text>& args) {
    const bool isSmall = t.width == 1 && isSmallInteger(t.scalar);
    const std::string own = type(t), computed = isSmall ? "uint" : info(t.scalar).isSigned ? "u" + own : own;
    const auto as = [&](const std::string& to, const Text& x) {
      return t.width > 1 ? Text{fmt::format("as_{}({})", to, x.text), postfix}
                         : Text{fmt::format("({}){}", to, x.within(unary)), unary};
    };
    const auto operand = [&](const Text& x) {
      const auto found = ofUnsigned_.find(x.text);  // a sum's summand need not have a sign in between
      return found == ofUnsigned_.end() || isSmall ? as(computed, x) : found->second;
    };
    Text value;
    if (op == Op::neg) {
      const std::string x = operand(args[0]).within(unary);
      value = {x.starts_with("-") ? "-(" + x + ")" : "-" + x, unary};  // "--x" would be a decrement
    } else {
      const auto infix = infixOf(op);
      value = {fmt::format("{} {} {}", operand(args[0]).within(infix->precedence), infix->text,
                           operand(args[1]).within(infix->precedence + 1)),
               infix->precedence};
    }
    const Text result = as(own, value);
    ofUnsigned_.insert_or_assign(result.text, value);
    return result;
  }
  std::string choice(ValueType, const std::string& mask, const std::string& then,
                     const std::string& otherwise) override {
    return fmt::format("select({}, {}, {})", otherwise, then, mask);
  }
  Text conversion(ValueType from, ValueType to, const Text& value) override {
    const bool saturates = isFloat(from.scalar) && !isFloat(to.scalar);
    // NaN gives 0, which drivers need not know: Intel's for processors does not of uint, Mesa's of int, long and ulong,
    // Oclgrind of char and short, NVIDIA's of a double as uchar or ushort.
    if (saturates && !info(to.scalar).isSigned &&
        (to.scalar == Scalar::u32 || to.scalar == Scalar::u64 || from.scalar == Scalar::f64))
      return {fmt::format("convert_{}_sat(fmax({}, 0.0{}))", type(to), value.text, suffix(from.scalar))};
    if (saturates && info(to.scalar).isSigned) {
      const bool isNarrow = to.scalar == Scalar::i8 || to.scalar == Scalar::i16;
      const std::string real = type({from.scalar == Scalar::f16 ? Scalar::f32 : from.scalar, from.width});
      const std::string whole = type({isNarrow ? Scalar::i32 : to.scalar, to.width});
      const std::string name =
          function(fmt::format("truncate_{}_{}", real, whole), whole, real + " x",
                   fmt::format(fmt::runtime(to.width > 1 ? "  return convert_{0}_sat(x) & convert_{0}(x == x);\n"
                                                         : "  return x == x ? convert_{0}_sat(x) : 0;\n"),
                               whole));
      const std::string truncated = fmt::format("{}({})", name, value.text);
      return {isNarrow ? fmt::format("convert_{}_sat({})", type(to), truncated) : truncated};
    }
    if (to.width > 1 || saturates)
      return {fmt::format("convert_{}{}({})", type(to), saturates ? "_sat" : "", value.text)};
    return {fmt::format("({}){}", type(to), value.within(unary)), unary};
  }
  std::string resizedMask(ValueType to, const std::string& mask) override {
    return fmt::format("convert_{}({})", type(to), mask);
  }

  bool hasImages() const override { return true; }
  std::string load(ValueType t, const Place& from) override {
    if (from.buffer.isImage) return fmt::format("read_image{}({}, {})", channels(t), from.array, texel(t, from, true));
    if (from.buffer.scalar == Scalar::f16) {
      const std::string base = halves(from, true);
      if (t.width == 1) return fmt::format("vload_half({}, {})", from.index, base);
      if (from.buffer.width > 1) return fmt::format("vload_half{}({}, {})", t.width, from.index, base);
      const std::string at = from.offset.empty() ? base : base + " + " + from.offset;
      if (isAligned(t, from)) return fmt::format("{}({})", halvesLoaded(t, from), at);
      return t.width >= wholeHalves ? fmt::format("{}({})", halvesLoadedAnywhere(t, from), at)
                                    : fmt::format("vload_half{}(0, {})", t.width, at);
    }
    if (t.width == from.buffer.width) return fmt::format("{}[{}]", from.array, from.index);
    if (isAligned(t, from)) return fmt::format("*(const {} {}*)({})", space(from), type(t), from.pointer());
    return fmt::format("vload{}(0, {})", t.width, from.pointer());
  }
  std::string store(ValueType t, const Place& to, const std::string& value) override {
    if (to.buffer.isImage)
      return fmt::format("write_image{}({}, {}, {});", channels(t), to.array, texel(t, to, false), value);
    if (to.buffer.scalar == Scalar::f16) {
      const std::string base = halves(to, false);
      if (t.width == 1) return fmt::format("vstore_half({}, {}, {});", value, to.index, base);
      if (to.buffer.width > 1) return fmt::format("vstore_half{}({}, {}, {});", t.width, value, to.index, base);
      const std::string at = to.offset.empty() ? base : base + " + " + to.offset;
      if (isAligned(t, to)) return fmt::format("{}({}, {});", halvesStored(t, to), value, at);
      return t.width >= wholeHalves ? fmt::format("{}({}, {});", halvesStoredAnywhere(t, to), value, at)
                                    : fmt::format("vstore_half{}({}, 0, {});", t.width, value, at);
    }
    if (t.width == to.buffer.width) return fmt::format("{}[{}] = {};", to.array, to.index, value);
    if (isAligned(t, to)) return fmt::format("*({} {}*)({}) = {};", space(to), type(t), to.pointer(), value);
    return fmt::format("vstore{}({}, 0, {});", t.width, value, to.pointer());
  }
  std::string localAttributes() const {
    return options_.alignedVectors ? fmt::format(" __attribute__((aligned({})))", localAlignment) : "";
  }
  std::string stream(ValueType t, const Place& to, const std::string& value) override {
    streamed.emplace(type(t), t);
    return fmt::format("vstore_stream_{}({}, {});", type(t), value, to.pointer());
  }
  std::string update(Op op, const Place& to, const std::string& value) override {
    std::string name(info(op).name);
    if (op == Op::mul || isFloat(to.buffer.scalar))
      return fmt::format("{}({}, {});", exchanging(op, to), to.pointer(), value);
    if (name.starts_with("bit")) name = op == Op::bitAnd ? "and" : op == Op::bitOr ? "or" : "xor";
    return fmt::format("atomic_{}({}, {});", name, to.pointer(), value);
  }
  std::string prefetch(const std::string& pointer) override {
    prefetches = true;
    return fmt::format("prefetch_line({});", pointer);
  }
  Text anyLane(ValueType, const std::string& mask) override { return {fmt::format("any({})", mask)}; }
  std::string storedMask(int width, const std::string& mask) override {
    return fmt::format("as_uchar{0}({1} & (char{0})(1))", width, mask);
  }

 private:
  // A function that updates an element by an operation that OpenCL has no atomic function for: it retries until no
  // other work-item changed the element in between.
  std::string exchanging(Op op, const Place& to) {
    const ValueType t{to.buffer.scalar, 1};
    const std::string memory(space(to)), real = type(t);
    const std::string next = operation(op, t, {Text{fmt::format("as_{}(old)", real)}, Text{"x"}}).text;
    std::string body = fmt::format(
        "  volatile {0} int* bits = (volatile {0} int*)p;\n"
        "  int old, now = *bits;\n"
        "  do {{\n"
        "    old = now;\n"
        "    const int next = as_int({1});\n"
        "    now = next == old ? old : atomic_cmpxchg(bits, old, next);\n"
        "  }} while (now != old);\n",
        memory, next);
    // NVIDIA has an instruction for this, unknown to OpenCL, which is much faster where many work-items add to one
    // element.
    if (op == Op::add && isFloat(t.scalar) && to.buffer.space == AddressSpace::global)
      body =
          "#ifdef __NV_CL_C_VERSION\n"
          "  __asm__ volatile(\"red.global.add.f32 [%0], %1;\" : : \"l\"(p), \"f\"(x) : \"memory\");\n"
          "#else\n" +
          body + "#endif\n";
    return function(fmt::format("update_{}_{}_{}", info(op).name, info(t.scalar).name, memory.substr(2)), "void",
                    fmt::format("volatile {} {}* p, {} x", memory, real, real), body);
  }

  // PoCL's popcount of a vector takes lane by lane: here all of them add up neighbouring bits, then pairs, and so on.
  std::string bitsCounted(ValueType t) {
    const int bits = static_cast<int>(info(t.scalar).bytes) * 8;
    const std::string own = type(t), computed = info(t.scalar).isSigned ? "u" + own : own;
    const auto repeated = [&](int byte) {
      std::string digits;
      for (int i = 0; i < bits; i += 8) digits += fmt::format("{:02x}", byte);
      return fmt::format("({})(0x{}u{})", computed, digits, bits == 64 ? "l" : "");
    };
    std::string body = fmt::format(
        "#ifdef POCL_DEVICE_ADDRESS_BITS\n"
        "  {0} n = as_{0}(x);\n"
        "  n = n - ((n >> ({0})(1)) & {1});\n"
        "  n = (n & {2}) + ((n >> ({0})(2)) & {2});\n"
        "  n = (n + (n >> ({0})(4))) & {3};\n",
        computed, repeated(0x55), repeated(0x33), repeated(0x0f));
    for (int step = 8; step < bits; step *= 2) body += fmt::format("  n = n + (n >> ({})({}));\n", computed, step);
    body += fmt::format("  return as_{}(n & ({})({}));\n#else\n  return popcount(x);\n#endif\n", own, computed,
                        2 * bits - 1);
    return function("popcount_" + own, own, own + " x", body);
  }

  std::string function(const std::string& name, const std::string& result, const std::string& parameters,
                       const std::string& body) {
    functions.emplace(name, fmt::format("static inline {} {}({}) {{\n{}}}\n", result, name, parameters, body));
    return name;
  }

  // Halves loaded and stored as vectors where the compiler has the type half: vload_half and vstore_half access them
  // one by one.
  std::string halvesLoaded(ValueType t, const Place& p) {
    return function(fmt::format("load_half{}_{}", t.width, space(p).substr(2)), wide("float", t.width),
                    fmt::format("const {} half* p", space(p)),
                    fmt::format("#ifdef cl_khr_fp16\n  return convert_{0}(*(const {1} half{2}*)p);\n#else\n"
                                "  return vload_half{2}(0, p);\n#endif\n",
                                wide("float", t.width), space(p), t.width));
  }
  std::string halvesStored(ValueType t, const Place& p) {
    return function(fmt::format("store_half{}_{}", t.width, space(p).substr(2)), "void",
                    fmt::format("{} x, {} half* p", wide("float", t.width), space(p)),
                    fmt::format("#ifdef cl_khr_fp16\n  *({0} half{1}*)p = convert_half{1}(x);\n#else\n"
                                "  vstore_half{1}(x, 0, p);\n#endif\n",
                                space(p), t.width));
  }

  // PoCL's vload_half and vstore_half access so many halves or more as if the address were aligned to all of them.
  static constexpr int wholeHalves = 8;
  std::string halvesLoadedAnywhere(ValueType t, const Place& p) {
    return function(fmt::format("load_half{}_anywhere_{}", t.width, nameOfSpace(p)), wide("float", t.width),
                    fmt::format("const {}half* p", qualifier(p)),
                    fmt::format("#ifdef POCL_DEVICE_ADDRESS_BITS\n"
                                "  typedef ushort{0} whole __attribute__((aligned(sizeof(ushort))));\n"
                                "  const ushort{0} bits = *(const {1}whole*)p;\n"
                                "  return vload_half{0}(0, (const half*)&bits);\n#else\n"
                                "  return vload_half{0}(0, p);\n#endif\n",
                                t.width, qualifier(p)));
  }
  std::string halvesStoredAnywhere(ValueType t, const Place& p) {
    return function(fmt::format("store_half{}_anywhere_{}", t.width, nameOfSpace(p)), "void",
                    fmt::format("{} x, {}half* p", wide("float", t.width), qualifier(p)),
                    fmt::format("#ifdef POCL_DEVICE_ADDRESS_BITS\n"
                                "  typedef ushort{0} whole __attribute__((aligned(sizeof(ushort))));\n"
                                "  ushort{0} bits;\n  vstore_half{0}(x, 0, (half*)&bits);\n"
                                "  *({1}whole*)p = bits;\n#else\n"
                                "  vstore_half{0}(x, 0, p);\n#endif\n",
                                t.width, qualifier(p)));
  }

  std::unordered_map<std::string, Text> ofUnsigned_;  // integers with a sign that are made of what has none

  static std::string_view channels(ValueType t) { return t.scalar == Scalar::h16 ? "h" : "f"; }
  // Its column and row.
  static std::string texel(ValueType t, const Place& p, bool isRead) {
    const bool isFloat = t.scalar == Scalar::f32 || t.scalar == Scalar::h16;
    if (!isFloat || t.width != ImageLayout::texelElements || p.multiple % ImageLayout::texelElements != 0 ||
        p.buffer.readOnly != isRead)
      throw UserError(ExitStatus::program,
                      fmt::format("the image {} is {} otherwise than in whole vectors of {} floats", p.array,
                                  isRead ? "read" : "written", ImageLayout::texelElements),
                      "toImage(e) wants vectors that kernels store and load as such: asVector(4, …)");
    const std::string index = p.offset.empty() ? "0" : p.offset;
    return fmt::format("(int2)(({0}) & {1}, ({0}) >> {2})", index, ImageLayout::rowTexels - 1,
                       std::countr_zero(std::uint64_t{ImageLayout::rowTexels}));
  }
  // Buffers begin at multiples of 128 bytes at least (CL_DEVICE_MEM_BASE_ADDR_ALIGN), local arrays of localAlignment.
  bool isAligned(ValueType t, const Place& p) const {
    const bool begins =
        p.buffer.space == AddressSpace::global ||
        (p.buffer.space == AddressSpace::local && t.width * static_cast<int>(info(t.scalar).bytes) <= localAlignment);
    return options_.alignedVectors && begins && p.buffer.width == 1 && t.width != 3 && p.multiple % t.width == 0 &&
           t.scalar != Scalar::boolean;
  }
  static std::string_view space(const Place& p) {
    return p.buffer.space == AddressSpace::global ? "__global" : "__local";
  }
  static std::string_view suffix(Scalar real) {
    return real == Scalar::f64 ? "" : real == Scalar::h16 ? "h" : "f";  // f16 is computed in f32
  }
  static std::string wide(std::string_view scalar, int width) {
    return width == 1 ? std::string(scalar) : std::string(scalar) + std::to_string(width);
  }
  static std::string halves(const Place& p, bool isConst) {
    if (p.buffer.space == AddressSpace::global) return p.array;
    return fmt::format("({}{}half*){}", qualifier(p), isConst ? "const " : "", p.array);
  }
  static bool isPrivate(const Place& p) {
    return p.buffer.space != AddressSpace::global && p.buffer.space != AddressSpace::local;
  }
  static std::string qualifier(const Place& p) { return isPrivate(p) ? "" : fmt::format("{} ", space(p)); }
  static std::string_view nameOfSpace(const Place& p) { return isPrivate(p) ? "private" : space(p).substr(2); }

  OpenclOptions options_;
};

class OpenclPrinter final : public Printer {
 public:
  OpenclPrinter(const Kernel& kernel, const OpenclOptions& options) : Printer(kernel, dialect_), dialect_(options) {}

  std::string run() {
    const std::string name = write_.names.take(kernel_.name);
    const std::string constants = tables("__constant");
    const std::string parameters = signature(name);
    enter(1);
    for (BufferId b = 0; b < kernel_.buffers.size(); b++)
      if (kernel_.buffers[b].space == AddressSpace::local && isUsed(b)) {
        write_.nameBuffer(b);
        line("__local " + array(b, dialect_.localAttributes()));
      }
    block(kernel_.body);
    return header() + constants + parameters + " {\n" + text() + "}\n";
  }

 private:
  std::string header() {
    const auto triple = [](const std::array<Nat, 3>& n) {
      return fmt::format("({}, {}, {})", n[0].str(), n[1].str(), n[2].str());
    };
    std::string s = fmt::format("// {}: global {}, local {}\n", kernel_.name, triple(kernel_.range.global),
                                triple(kernel_.range.local));
    for (const auto& [scalar, extension] : {std::pair(Scalar::f64, "cl_khr_fp64"), {Scalar::h16, "cl_khr_fp16"}})
      if (computesIn(kernel_, scalar)) s += fmt::format("#pragma OPENCL EXTENSION {} : enable\n", extension);
    if (std::ranges::any_of(dialect_.functions,
                            [](const auto& f) { return f.second.find("cl_khr_fp16") != f.second.npos; }))
      s += "#ifdef cl_khr_fp16\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#endif\n";
    if (!combinations_.empty()) {
      s += "#ifdef LIFT_SUBGROUPS\n";
      for (const std::string_view extension : {"cl_khr_subgroups", "cl_intel_subgroups"})
        s += fmt::format("#ifdef {0}\n#pragma OPENCL EXTENSION {0} : enable\n#endif\n", extension);
      s += "#endif\n";
    }
    for (const auto& [op, scalar] : combinations_) s += combination(op, scalar);
    if (kernel_.faults)
      s += "static inline void record_fault(__global int* faults, int site, int value, int bound) {\n"
           "  if (atomic_cmpxchg(faults, -1, site) == -1) {\n"
           "    faults[1] = value;\n"
           "    faults[2] = bound;\n"
           "  }\n}\n";
    // PoCL's kernels use what Clang has, which takes no pointers with address spaces; elsewhere they are plain OpenCL
    // C.
    if (dialect_.prefetches)
      s += "#ifdef POCL_DEVICE_ADDRESS_BITS  // whose prefetch does nothing\n"
           "#define prefetch_line(p) __builtin_prefetch((const void*)(size_t)(p), 1)\n"
           "#else\n"
           "#define prefetch_line(p) prefetch(p, 1)\n"
           "#endif\n";
    for (const auto& [vector, t] : dialect_.streamed)  // aligned addresses only
      s += fmt::format(
          "static inline void vstore_stream_{0}({0} x, __global {1}* p) {{\n"
          "#ifdef POCL_DEVICE_ADDRESS_BITS\n"
          "  if ((size_t)p % sizeof(x) == 0) {{\n"
          "    __builtin_nontemporal_store(x, (__global {0}*)p);\n"
          "    return;\n"
          "  }}\n"
          "#endif\n"
          "  vstore{2}(x, 0, p);\n}}\n",
          vector, info(t.scalar).opencl, t.width);
    for (const auto& [name, text] : dialect_.functions) s += text;
    return s;
  }

  std::string signature(const std::string& name) {
    std::string attributes = "__kernel";
    const auto& l = kernel_.range.local;
    if (l[0].constant() && l[1].constant() && l[2].constant())
      attributes += fmt::format(" __attribute__((reqd_work_group_size({}, {}, {})))", *l[0].constant(),
                                *l[1].constant(), *l[2].constant());
    return attributes + '\n' + parameters("void " + name, [&](BufferId b) {
             const Buffer& buffer = kernel_.buffers[b];
             if (buffer.isImage)
               return fmt::format("{} image2d_t {}", buffer.readOnly ? "__read_only" : "__write_only",
                                  write_.nameOfBuffer(b));
             return pointerTo(b) + " restrict " + write_.nameOfBuffer(b);
           });
  }

  void parallel(const For& f, bool last) override {
    static constexpr std::string_view ids[] = {"", "get_group_id", "get_local_id", "get_global_id"};
    static constexpr std::string_view sizes[] = {"", "get_num_groups", "get_local_size", "get_global_size"};
    const auto kind = static_cast<std::size_t>(f.kind);
    const bool isLong = countsFar(f.count);
    const std::string type = isLong ? "long" : "int";
    const std::string id = fmt::format("{}({})", ids[kind], f.dim);
    const std::string bound = write_.nat(f.count, additive);
    if (f.trip == Trip::any) {
      write_.names.enter();
      write_.name(f.index, isLong);
      line(fmt::format("for ({0} {1} = {2}; {1} < {3}; {1} += {4}({5})) {{", type, write_.nameOf(f.index), id, bound,
                       sizes[kind], f.dim));
      scope([&] { block(f.body); });
      write_.names.leave();
      line("}");
      return;
    }
    const auto inside = [&] {
      std::string i = id;
      if (isRead(f.index)) {
        write_.name(f.index, isLong);
        i = write_.nameOf(f.index);
        line(fmt::format("const {} {} = {};", type, i, id));
      }
      if (f.trip == Trip::exactlyOnce) {
        block(f.body);
      } else {
        line(fmt::format("if ({} < {}) {{", i, bound));
        scope([&] { block(f.body); });
        line("}");
      }
    };
    if (last) {
      inside();
    } else {
      line("{");
      scope(inside);
      line("}");
    }
  }

  void barrier(const Barrier& b) override {
    if (!b.local && !b.global) return;
    line(fmt::format("barrier({}{}{});", b.local ? "CLK_LOCAL_MEM_FENCE" : "", b.local && b.global ? " | " : "",
                     b.global ? "CLK_GLOBAL_MEM_FENCE" : ""));
  }

  void combine(const Combine& c) override {
    const Variable& v = kernel_.variables[c.variable];
    combinations_.emplace(c.op, v.type.scalar);
    line(fmt::format("{0} = group_reduce_{1}_{2}({0}, {3});", write_.nameOf(c.variable), info(c.op).name,
                     info(v.type.scalar).name, write_.nameOfBuffer(c.parts)));
  }

  // A function of all work-items of a group. With sub-groups, which who builds the kernel asks for on devices that
  // report them, these reduce in registers, and one work-item of each leaves what it has to all; else work-items add up
  // in halves. It has to be inlined: local memory that calls alone mention is a variable of the process with PoCL 3.1,
  // which the groups on all of its threads share.
  std::string combination(Op op, Scalar scalar) {
    const ValueType t{scalar, 1};
    const auto of = [&](const char* a, const char* b) { return dialect_.operation(op, t, {Text{a}, Text{b}}).text; };
    const bool hasBuiltin =
        (op == Op::add || op == Op::min || op == Op::max) && (info(scalar).bytes >= 4 || scalar == Scalar::h16);
    return fmt::format(
        "__attribute__((always_inline)) static inline {0} group_reduce_{1}_{2}({0} x, __local {6}* parts) {{\n{3}"
        "  const uint l = get_local_id(0);\n"
        "  barrier(CLK_LOCAL_MEM_FENCE);\n"
        "  parts[l] = x;\n"
        "  barrier(CLK_LOCAL_MEM_FENCE);\n"
        "  for (uint n = get_local_size(0), first; n > 1; n = first) {{\n"
        "    first = (n + 1) / 2;\n"
        "    if (l + first < n) parts[l] = {4};\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "  }}\n"
        "  return parts[0];\n{5}}}\n",
        dialect_.type(t), info(op).name, info(scalar).name,
        hasBuiltin ? fmt::format("#ifdef LIFT_SUBGROUPS\n"
                                 "  x = sub_group_reduce_{0}(x);\n"
                                 "  if (get_num_sub_groups() == 1) return x;\n"
                                 "  barrier(CLK_LOCAL_MEM_FENCE);\n"
                                 "  if (get_sub_group_local_id() == 0) parts[get_sub_group_id()] = x;\n"
                                 "  barrier(CLK_LOCAL_MEM_FENCE);\n"
                                 "  x = parts[0];\n"
                                 "  for (uint i = 1; i < get_num_sub_groups(); i++) x = {1};\n"
                                 "  return x;\n"
                                 "#else\n",
                                 info(op).name, of("x", "parts[i]"))
                   : "",
        of("parts[l]", "parts[l + first]"), hasBuiltin ? "#endif\n" : "", info(scalar).opencl);
  }

  void unrolling(const For& f) override {
    if (f.unroll == 1)
      line("#pragma unroll 1");
    else if (f.unroll > 1)
      line(fmt::format("#pragma unroll {}", f.unroll));
    else if (f.unroll < 0)
      line("#pragma unroll");
  }

  OpenclDialect dialect_;
  std::set<std::pair<Op, Scalar>> combinations_;
};

}  // namespace

bool isReservedInOpencl(const std::string& name) { return looksReserved(name); }

std::string openclIdentifier(std::string_view wish) { return identifierFor(wish, isReservedInOpencl); }

std::string printOpenCL(const Kernel& kernel, const OpenclOptions& options) {
  return OpenclPrinter(kernel, options).run();
}

}  // namespace lift::kernel
