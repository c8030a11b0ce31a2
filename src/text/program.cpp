// Programs from text and files.
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/text.hpp"

namespace lift {
namespace {

std::string textOf(const std::filesystem::path& path, Span span = {}) {
  auto text = readFile(path);
  if (!text) {
    const bool isMissing = errno == ENOENT;
    const std::string why = whyUnreadable();
    const char* hint = "";
    if (span) hint = "imports are relative to the file that they stand in";
    if (!span && isMissing && path.extension().empty())
      hint =
          "a program is a file (.lift); layers and operators have `liftc conv DESCRIPTOR`, `liftc op NAME DESCRIPTOR`";
    throw UserError(ExitStatus::program, fmt::format("cannot read '{}': {}", path.string(), why), hint, span);
  }
  return std::move(*text);
}

// Reads a file and what it imports, every file once.
class Loader {
 public:
  Module root(const SourceFile& file, const std::filesystem::path& path) {
    open_.push_back({std::filesystem::weakly_canonical(path), {}});
    return parse(file, path.parent_path());
  }

 private:
  Module parse(const SourceFile& file, const std::filesystem::path& folder) {
    return parseModule(file, [&](const std::string& path, Span span) {
      const std::filesystem::path imported = (folder / path).lexically_normal();
      const std::filesystem::path key = std::filesystem::weakly_canonical(imported);
      if (const auto found = modules_.find(key); found != modules_.end()) return found->second;
      for (std::size_t i = 0; i < open_.size(); i++)
        if (open_[i].key == key) failCycle(i, imported, span);
      if (open_.size() >= deepest) throw UserError(ExitStatus::program, "imports nest too deeply", {}, span);
      open_.push_back({key, span});
      auto module = std::make_shared<const Module>(
          parse(*addSource(imported.string(), textOf(imported, span)), imported.parent_path()));
      open_.pop_back();
      return modules_.emplace(key, std::move(module)).first->second;
    });
  }

  [[noreturn]] void failCycle(std::size_t first, const std::filesystem::path& path, Span span) const {
    Diagnostic error{Severity::error,
                     span,
                     fmt::format("'{}' imports itself", path.string()),
                     "what two files share belongs in a third one",
                     {}};
    for (std::size_t i = first + 1; i < open_.size(); i++)
      error.notes.push_back({Severity::note, open_[i].span, "by way of this import", {}, {}});
    throw UserError(ExitStatus::program, std::vector{error});
  }

  static constexpr std::size_t deepest = 100;
  struct Open {
    std::filesystem::path key;
    Span span;  // of the import that led there
  };
  std::vector<Open> open_;
  std::map<std::filesystem::path, std::shared_ptr<const Module>> modules_;
};

}  // namespace

Program parseProgram(const SourceFile& file, const std::string& entry) {
  return infer(parseModule(file), prelude(), entry);
}

Program readProgram(const std::filesystem::path& path, const std::string& entry) {
  const bool isInput = path == "-";
  const SourceFile& file = isInput ? *addSource("<stdin>", {std::istreambuf_iterator<char>(std::cin), {}})
                                   : *addSource(path.string(), textOf(path));
  return infer(Loader().root(file, isInput ? std::filesystem::path() : path), prelude(), entry);
}

}  // namespace lift
