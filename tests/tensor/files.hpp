// What the file tests share.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <iterator>
#include <string>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/process.hpp"
#include "lift/tensor.hpp"
#include "refusals.hpp"

// A file written by numpy.
inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(LIFT_SOURCE_DIR) / "tests/tensor/data" / name;
}

// A folder for one test case, removed at its end.
struct Folder : lift::TemporaryFolder {
  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(path()), std::filesystem::directory_iterator());
  }
};

// The text of the UserError that f throws; its status must be the one given.
template <class F>
std::string messageOf(F f, lift::ExitStatus status = lift::ExitStatus::program) {
  std::string message = lift::test::refusalOf(f, status);
  REQUIRE(message != "");
  return message;
}

// Every truncation and every change of a single byte (to every value, or to every `step`th for larger files) is either
// read or refused with a UserError that names the file.
template <class Parse>
void checkDamage(const std::string& contents, Parse parse, int step = 1) {
  int refused = 0;
  const auto attempt = [&](const std::string& damaged) {
    try {
      parse(damaged, "damaged");
    } catch (const lift::UserError& error) {
      ++refused;
      if (std::string(error.what()).find("damaged") == std::string::npos) FAIL("unnamed: " << error.what());
    }
  };
  for (std::size_t size = 0; size < contents.size(); ++size) attempt(contents.substr(0, size));
  CHECK(refused > 0);
  std::string changed = contents;
  for (std::size_t at = 0; at < contents.size(); ++at) {
    for (int value = 0; value < 256; value += step) {
      changed[at] = static_cast<char>(value);
      attempt(changed);
    }
    changed[at] = contents[at];
  }
}

inline bool same(const lift::Tensor& a, const lift::Tensor& b) {
  return a.scalar == b.scalar && a.shape == b.shape && a.bytes == b.bytes;
}
