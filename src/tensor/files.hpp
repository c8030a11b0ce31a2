// Whole files in and out, shared by the tensor formats.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace lift::files {

// The contents of a file; UserError (program) that names it when it cannot be read.
std::string readFile(const std::filesystem::path& path);

// Writes through a temporary file beside the target and renames it, so that a reader never sees half a file and a
// failure leaves the old one. What is not a regular file (a device, a pipe) is written directly.
void writeFile(const std::filesystem::path& path, std::string_view contents);

// Throws UserError (program): "'name': what".
[[noreturn]] void damaged(const std::string& name, const std::string& what, std::string hint = {});

}  // namespace lift::files
