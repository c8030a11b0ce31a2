// Texts of programs: parsing, inference, diagnostics; a program that passes prints as one that reads back the same.
#include "fuzz/target.hpp"
#include "lift/text.hpp"

namespace {

using lift::Names;

void readBack(const lift::Program& program, Names names) {
  const std::string printed = print(program, names);
  try {
    const lift::Program again = lift::parseProgram(*lift::addSource("printed.lift", printed));
    verify(again);
    lift::ensure(print(again, names) == printed, "what is printed reads back as something else");
    lift::ensure(print(again, Names::canonical) == print(program, Names::canonical), "names change the program");
  } catch (const lift::UserError& e) {
    throw lift::InternalError("what is printed is refused: " + lift::render(e.diagnostics()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lift::fuzz::onText(data, size, [](std::string_view text) {
    const lift::Program program = lift::parseProgram(*lift::addSource("fuzz.lift", std::string(text)));
    verify(program);
    readBack(program, Names::canonical);
    readBack(program, Names::given);
  });
}
