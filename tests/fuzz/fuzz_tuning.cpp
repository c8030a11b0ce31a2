// Exported tuning databases: what is imported is exported as a file that imports the same.
#include <sstream>

#include "fuzz/target.hpp"
#include "lift/tune_db.hpp"

namespace {

std::string reexported(std::string_view text) {
  auto db = lift::tune::Database::inMemory();
  std::istringstream in{std::string(text)};
  lift::tune::importLines(db, in, "fuzz.jsonl");
  std::ostringstream out;
  lift::tune::exportLines(db, out);
  return out.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lift::fuzz::onText(data, size, [](std::string_view text) {
    const std::string once = reexported(text);
    lift::ensure(reexported(once) == once, "what is exported imports as something else");
  });
}
