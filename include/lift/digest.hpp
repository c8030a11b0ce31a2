// SHA-256, for keys of caches and identities of records.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace lift::runtime {

using Digest = std::array<unsigned char, 32>;
Digest sha256(std::string_view bytes);
std::string hex(const Digest& digest);  // 64 characters

}  // namespace lift::runtime
