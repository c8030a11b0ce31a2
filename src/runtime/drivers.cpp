// Drivers that the loader was told of and could not use.
#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lift/device.hpp"
#include "lift/source.hpp"

namespace lift::runtime {
namespace {

namespace fs = std::filesystem;

// Where Khronos' loader and ocl-icd look: a folder of .icd files, or one of these, in OCL_ICD_VENDORS.
std::vector<fs::path> vendorFiles() {
  const char* given = std::getenv("OCL_ICD_VENDORS");
  const fs::path place = given != nullptr && *given != '\0' ? given : "/etc/OpenCL/vendors";
  std::error_code ignored;
  if (place.extension() == ".icd") return {place};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(place, ignored))
    if (entry.path().extension() == ".icd") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string firstLine(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.pop_back();
  return line;
}

}  // namespace

std::vector<UnusableDriver> unusableDrivers() {
  std::vector<UnusableDriver> unusable;
  for (const fs::path& file : vendorFiles()) {
    const std::string library = firstLine(file);
    const auto isControl = [](unsigned char c) { return std::iscntrl(c) != 0; };
    if (library.empty() || !isUtf8(library) || std::ranges::any_of(library, isControl)) {
      unusable.push_back({file.string(), "", "the file names no library, or cannot be read"});
      continue;
    }
    // The loader has it open if it could, so this loads nothing twice.
    if (void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
      dlclose(handle);
      continue;
    }
    const char* error = dlerror();
    unusable.push_back({file.string(), library, error != nullptr ? error : "it cannot be loaded"});
  }
  return unusable;
}

}  // namespace lift::runtime
