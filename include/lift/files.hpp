// Files, whole.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace lift {

// The bytes of a file; nothing where it cannot be read, errno saying why (EISDIR of a folder).
std::optional<std::string> readFile(const std::filesystem::path& path);
std::string whyUnreadable();  // what errno says after that
// The bytes of a file. Throws UserError (program): "cannot read 'PATH': why".
std::string readInput(const std::filesystem::path& path);

// Writes through a temporary file beside the target and renames it, so that a reader never sees half a file and a
// failure leaves the old one, whose mode and links stay. What is not a regular file (a device, a pipe, a link to
// nothing) is written directly. Throws UserError (program): "cannot write 'PATH': why".
void writeFile(const std::filesystem::path& path, std::string_view contents);

}  // namespace lift
