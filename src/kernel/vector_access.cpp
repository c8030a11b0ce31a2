#include "lift/vector_access.hpp"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

#include "lift/characters.hpp"

namespace lift::kernel {
namespace {

// Names, keywords and numbers.
std::set<std::string, std::less<>> wordsOf(const std::vector<std::string>& sources) {
  const auto isPart = [](char c) { return isLetter(c) || isDigit(c) || c == '_'; };
  std::set<std::string, std::less<>> words;
  for (const std::string_view source : sources)
    for (std::size_t begin = 0; begin < source.size();) {
      std::size_t end = begin;
      while (end < source.size() && isPart(source[end])) end++;
      const std::string_view word = source.substr(begin, end - begin);
      if (!word.empty() && !words.contains(word)) words.emplace(word);
      begin = end + 1;
    }
  return words;
}

constexpr int widths[] = {2, 4, 8, 16};
// With the extensions that have them; all compilers have the others.
constexpr std::pair<const char*, const char*> scalars[] = {
    {"char", ""},           {"uchar", ""}, {"short", ""}, {"ushort", ""}, {"int", ""},
    {"uint", ""},           {"long", ""},  {"ulong", ""}, {"float", ""},  {"double", "cl_khr_fp64"},
    {"half", "cl_khr_fp16"}};

constexpr const char* definitions = R"(#ifdef POCL_DEVICE_ADDRESS_BITS
#define LIFT_LOAD(type, n, space)                                         \
  static inline __attribute__((overloadable, always_inline)) type##n      \
  lift_vload##n(size_t at, const space type* p) {                         \
    typedef type##n whole __attribute__((aligned(sizeof(type))));         \
    return ((const space whole*)p)[at];                                   \
  }
#define LIFT_STORE(type, n, space)                                        \
  static inline __attribute__((overloadable, always_inline)) void         \
  lift_vstore##n(type##n x, size_t at, space type* p) {                   \
    typedef type##n whole __attribute__((aligned(sizeof(type))));         \
    ((space whole*)p)[at] = x;                                            \
  }
#define LIFT_ACCESS(type, n)                                              \
  LIFT_LOAD(type, n, __constant)                                          \
  LIFT_LOAD(type, n, __global) LIFT_STORE(type, n, __global)              \
  LIFT_LOAD(type, n, __local) LIFT_STORE(type, n, __local)                \
  LIFT_LOAD(type, n, __private) LIFT_STORE(type, n, __private)
)";

}  // namespace

std::string vectorAccess(const std::vector<std::string>& sources) {
  const auto words = wordsOf(sources);
  const auto mentions = [&](std::string_view word, int n) { return words.contains(fmt::format("{}{}", word, n)); };
  std::string functions, names;
  for (const int n : widths) {
    if (!mentions("vload", n) && !mentions("vstore", n)) continue;
    for (const auto& [scalar, extension] : scalars) {
      if (!words.contains(scalar)) continue;
      const std::string access = fmt::format("LIFT_ACCESS({}, {})\n", scalar, n);
      functions += *extension == '\0' ? access
                                      : fmt::format("#ifdef {0}\n#pragma OPENCL EXTENSION {0} : enable\n{1}#endif\n",
                                                    extension, access);
    }
    names += fmt::format("#define vload{0} lift_vload{0}\n#define vstore{0} lift_vstore{0}\n", n);
  }
  return names.empty() ? "" : definitions + functions + names + "#endif\n";
}

}  // namespace lift::kernel
