#include "opencl_names.hpp"

#include <cctype>

#include "lift/kernel.hpp"

namespace lift::kernel {
namespace {

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
      "tanh tanpi tgamma trunc upsample mem_fence read_mem_fence write_mem_fence work_group_barrier vec_step floor_div "
      "floor_mod floor_div_long floor_mod_long record_fault main M_PI M_E ";
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
  for (std::string_view prefix : {"get_", "vload", "vstore", "convert_", "as_", "atomic_", "atom_", "native_", "half_",
                                  "async_", "CLK_", "cl_", "CL_", "FLT_", "DBL_"})
    if (s.starts_with(prefix)) return true;
  std::size_t end = s.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(s[end - 1]))) end--;
  for (std::string_view type :
       {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double", "half", "bool", "quad"})
    if (end < s.size() && std::string_view(s).substr(0, end) == type) return true;
  return false;
}

std::string sanitised(std::string_view wish) {
  std::string s;
  for (char c : wish) s += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  // A leading underscore is the implementation's, a leading digit no identifier.
  s.erase(0, s.find_first_not_of('_') == std::string::npos ? s.size() : s.find_first_not_of('_'));
  if (s.empty()) return "v";
  if (std::isdigit(static_cast<unsigned char>(s[0])) != 0) s.insert(0, "v");
  if (!looksReserved(s)) return s;
  return looksReserved(s + '_') ? "v_" + s : s + '_';
}

}  // namespace

std::string openclIdentifier(std::string_view wish) { return sanitised(wish); }

std::string OpenclNames::take(std::string_view wish) {
  std::string base = sanitised(wish);
  std::string name = base;
  const auto known = counter_.find(base);
  int n = known == counter_.end() ? 0 : known->second;
  const int before = n;
  while (!taken_.insert(name).second) name = base + '_' + std::to_string(++n);
  counter_[base] = n;
  log_.push_back({name, std::move(base), before});
  return name;
}

void OpenclNames::leave() {
  const std::size_t mark = marks_.back();
  marks_.pop_back();
  while (log_.size() > mark) {
    const Change& c = log_.back();
    taken_.erase(c.name);
    counter_[c.base] = c.counter;
    log_.pop_back();
  }
}

}  // namespace lift::kernel
