// Programs from text and files.
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <system_error>

#include "lift/diagnostic.hpp"
#include "lift/text.hpp"

namespace lift {
namespace {

std::string readAll(std::istream& stream, const std::string& name) {
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (stream.bad()) throw UserError(ExitStatus::program, fmt::format("cannot read '{}'", name));
  return text;
}

}  // namespace

Program parseProgram(const SourceFile& file, const std::string& entry) {
  return infer(parseModule(file), prelude(), entry);
}

Program readProgram(const std::filesystem::path& path, const std::string& entry) {
  if (path == "-") return parseProgram(*addSource("<stdin>", readAll(std::cin, "<stdin>")), entry);
  std::ifstream stream(path, std::ios::binary);
  const int error = errno;
  if (!stream || std::filesystem::is_directory(path))
    throw UserError(ExitStatus::program,
                    fmt::format("cannot read '{}': {}", path.string(),
                                stream ? "it is a directory" : std::generic_category().message(error)));
  return parseProgram(*addSource(path.string(), readAll(stream, path.string())), entry);
}

}  // namespace lift
