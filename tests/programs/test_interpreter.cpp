// Every program of the catalogue in the interpreter against its reference.

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "lift/diagnostic.hpp"
#include "lift/interpreter.hpp"
#include "programs/catalogue.hpp"

namespace lift::programs {

TEST_CASE("the interpreter computes what the references compute") {
  for (const CatalogueEntry& entry : catalogue()) {
    DYNAMIC_SECTION(entry.name()) {
      try {
        const Program program = load(entry);
        const Tensors inputs = inputsOf(entry, program);
        CHECK(judge(entry, interpret(program, inputs), entry.reference(inputs)) == "");
      } catch (const UserError& e) {
        FAIL(render(e.diagnostics()));
      }
    }
  }
}

TEST_CASE("every program stands in the catalogue") {
  std::set<std::string> known;
  for (const CatalogueEntry& entry : catalogue()) known.insert(entry.file);
  for (const auto& file : std::filesystem::directory_iterator(LIFT_SOURCE_DIR "/tests/programs"))
    if (file.path().extension() == ".lift") {
      INFO(file.path());
      CHECK(known.count(file.path().stem().string()) == 1);
    }
}

TEST_CASE("the judge of results sees wrong values, shapes and names") {
  const CatalogueEntry& entry = catalogue().front();
  const Program program = load(entry);
  const Tensors inputs = inputsOf(entry, program);
  const Tensors expected = entry.reference(inputs);
  CHECK(judge(entry, expected, expected) == "");
  Tensors wrong = expected;
  wrong.at("out").set(0, wrong.at("out").get(0) + 1);
  CHECK(judge(entry, wrong, expected) != "");
  wrong.at("out") = Tensor(Scalar::f32, {1});
  CHECK(judge(entry, wrong, expected) != "");
  CHECK(judge(entry, {}, expected) != "");
}

}  // namespace lift::programs
