// What the file tests share.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <iterator>
#include <string>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/tensor.hpp"

// A file written by numpy.
inline std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(LIFT_SOURCE_DIR) / "tests/tensor/data" / name;
}

// A folder for one test case, removed at its end.
struct Folder {
  std::filesystem::path path;
  Folder() {
    static int counter = 0;
    path = std::filesystem::temp_directory_path() /
           ("lift-tensor-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
    std::filesystem::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  std::size_t files() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path)) ++count;
    return count;
  }
};

// The text of the UserError that f throws; its status must be the one given.
template <class F>
std::string messageOf(F f, lift::ExitStatus status = lift::ExitStatus::program) {
  try {
    f();
  } catch (const lift::UserError& error) {
    CHECK(error.status() == status);
    return error.what();
  }
  FAIL("no UserError");
  return {};
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
