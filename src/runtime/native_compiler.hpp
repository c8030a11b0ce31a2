// The system's C compiler: what it makes for this processor, and libraries that it builds.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lift::runtime {

struct NativeCompiler {
  std::vector<std::string> command;
  // All that it predefines for this processor: its version, and the instructions that it may use.
  std::string macros;

  std::optional<std::string> macro(std::string_view name) const;  // its value, without quotes
  bool isClang() const { return macro("__clang__").has_value(); }
  std::string version() const;  // "12.2.0"

  // The words of CC, else the first of cc, gcc and clang that is found. Throws UserError (device) where there is none,
  // or what there is cannot be asked.
  static NativeCompiler find();
};

// C as a library that stays loaded to the end of the process: threads of OpenMP's runtime, which it may have brought,
// live as long. All functions take the same parameters.
class NativeLibrary {
 public:
  using Function = void (*)(void* const* buffers, const int* sizes);

  explicit NativeLibrary(const std::filesystem::path& file);  // throws UserError (device)
  Function function(const std::string& name) const;

 private:
  void* handle_;
};

}  // namespace lift::runtime
