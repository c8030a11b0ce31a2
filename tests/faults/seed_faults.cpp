// seed_faults SOURCES FILE OUT: writes a copy of SOURCES/FILE in which the table's faults can be switched on. A fault
// whose place is not found is left out: the test of the faults says so.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <sstream>

#include "faults/table.hpp"

namespace {

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void replace(std::string& text, std::string_view from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: seed_faults SOURCES FILE OUT\n";
    return 2;
  }
  std::string text = read(std::string(argv[1]) + "/" + argv[2]);
  for (const lift::faults::Fault& f : lift::faults::table()) {
    if (f.file != argv[2] || lift::faults::occurrences(text, f.from) != 1) continue;
    std::string to(f.to);
    while (lift::faults::occurrences(to, "FAULT") > 0)
      replace(to, "FAULT", fmt::format("lift::faults::active(\"{}\")", f.name));
    replace(text, f.from, to);
  }
  std::ofstream(argv[3], std::ios::binary)
      << "#include \"faults/active.hpp\"\n#include <optional>\n#include <utility>\n"
      << text;
  return 0;
}
