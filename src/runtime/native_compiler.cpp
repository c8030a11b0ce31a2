#include "native_compiler.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <regex>
#include <sstream>

#include "lift/diagnostic.hpp"
#include "lift/process.hpp"

namespace lift::runtime {
namespace {

std::vector<std::string> wordsOf(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::vector<std::string> commandOfCompiler() {
  constexpr const char* hint = "install gcc or clang, or name a compiler by the variable CC";
  const char* named = std::getenv("CC");
  if (const auto words = wordsOf(named != nullptr ? named : ""); !words.empty()) {
    if (findProgram(words[0])) return words;
    throw UserError(ExitStatus::device, fmt::format("the C compiler '{}', which CC names, is not found", words[0]),
                    hint);
  }
  for (const char* name : {"cc", "gcc", "clang"})
    if (findProgram(name)) return {name};
  throw UserError(ExitStatus::device, "no C compiler is found, which the device native needs", hint);
}

}  // namespace

std::optional<std::string> NativeCompiler::macro(std::string_view name) const {
  const std::string definition = fmt::format("#define {} ", name);
  const auto at = macros.find(definition);
  if (at == std::string::npos) return std::nullopt;
  const auto begin = at + definition.size();
  std::string value = macros.substr(begin, macros.find('\n', begin) - begin);
  if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
  return value;
}

std::string NativeCompiler::version() const {
  static const std::regex number(R"(\d+(\.\d+)+)");
  const std::string text = macro("__VERSION__").value_or("");
  std::smatch found;
  return std::regex_search(text, found, number) ? found.str() : text;
}

NativeCompiler NativeCompiler::find() {
  NativeCompiler c{commandOfCompiler(), {}};
  std::vector<std::string> command = c.command;
  for (const char* word : {"-march=native", "-fopenmp", "-dM", "-E", "-x", "c", "/dev/null"})
    command.emplace_back(word);
  Finished f = runProgram(command);
  if (!f.ok() || f.output.find("#define __VERSION__ ") == std::string::npos)
    throw UserError(ExitStatus::device,
                    fmt::format("the C compiler '{}' does not say what it makes for this processor: {}",
                                fmt::join(c.command, " "), f.end),
                    f.output.substr(0, 1000));
  c.macros = std::move(f.output);
  return c;
}

NativeLibrary::NativeLibrary(const std::filesystem::path& file)
    : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
  if (handle_ == nullptr) throw UserError(ExitStatus::device, fmt::format("cannot load kernels: {}", dlerror()));
}

NativeLibrary::Function NativeLibrary::function(const std::string& name) const {
  void* found = dlsym(handle_, name.c_str());
  ensure(found != nullptr, "a library has the functions that were built");
  return reinterpret_cast<Function>(found);
}

}  // namespace lift::runtime
