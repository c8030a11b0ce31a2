// Files and what is wrong with them, shared by the tensor formats.
#pragma once

#include <filesystem>
#include <string>

namespace lift::files {

// The contents of a file; UserError (program) that names it when it cannot be read.
std::string readFile(const std::filesystem::path& path);

// Throws UserError (program): "'name': what".
[[noreturn]] void damaged(const std::string& name, const std::string& what, std::string hint = {});

}  // namespace lift::files
