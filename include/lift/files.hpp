// Files, whole.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace lift {

// The bytes of a file; nothing where it cannot be read, errno saying why (EISDIR of a folder).
std::optional<std::string> readFile(const std::filesystem::path& path);

}  // namespace lift
