// Texts of programs: parsing, inference, diagnostics; a program that passes prints as one that reads back the same.
#include "fuzz/target.hpp"
#include "lift/text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return lift::fuzz::onText(data, size, [](std::string_view text) {
    const lift::Program program = lift::parseProgram(*lift::addSource("fuzz.lift", std::string(text)));
    verify(program);
    const std::string printed = print(program, lift::Names::canonical);
    const lift::Program again = lift::parseProgram(*lift::addSource("printed.lift", printed));
    lift::ensure(print(again, lift::Names::canonical) == printed, "what is printed reads back as something else");
  });
}
