// Shrinking, on a device with a seeded fault: the program that is left contains what the fault needs and nothing else.
#include <algorithm>
#include <catch2/catch.hpp>

#include "differential/generator.hpp"
#include "differential/judges.hpp"
#include "lift/kernel_walk.hpp"

namespace lift::differential {
namespace {

// The emulator, but every maximum is a minimum.
class MaximumIsMinimum final : public runtime::Device {
 public:
  const runtime::DeviceInfo& info() const override { return emulator_->info(); }

 protected:
  std::unique_ptr<runtime::Executable> loadChecked(const kernel::Plan& plan,
                                                   const std::map<std::string, std::int64_t>& sizes,
                                                   const runtime::LoadOptions& options) override {
    kernel::Plan wrong = plan;
    for (kernel::Kernel& k : wrong.kernels)
      kernel::forEachStmt(k.body, [](kernel::Stmt& s) { kernel::mapRoots(s, replace); });
    return emulator_->load(wrong, sizes, options);
  }

 private:
  static kernel::ExprPtr replace(const kernel::ExprPtr& e) {
    const kernel::ExprPtr inner = kernel::mapChildren(e, replace);
    const auto* o = as<kernel::Operation>(inner);
    return o && o->op == Op::max ? kernel::operation(Op::min, o->args) : inner;
  }
  std::unique_ptr<runtime::Device> emulator_ = runtime::makeEmulatorDevice();
};

Choices::List firstFailing(const std::function<std::string(const Generated&)>& judge) {
  for (std::uint64_t seed = 0; seed < 1000; seed++) {
    Choices choices = Choices::random(seed);
    const Generated g = generate(choices);
    if (g.text.size() > 400 && !judge(g).empty()) return choices.drawn();
  }
  return {};
}

}  // namespace

TEST_CASE("a list shrinks to the shortest and then the least that fails") {
  const auto atLeastTwoOver40 = [](const Choices::List& l) -> std::optional<Choices::List> {
    if (std::count_if(l.begin(), l.end(), [](std::int64_t n) { return n > 40; }) < 2) return std::nullopt;
    return l;
  };
  CHECK(shrink({7, 99, 3, 0, 50, 77, 1}, 1000, atLeastTwoOver40) == Choices::List{41, 41});
  CHECK(shrink({7, 99, 3, 0, 50, 77, 1}, 0, atLeastTwoOver40) == Choices::List{7, 99, 3, 0, 50, 77, 1});
}

TEST_CASE("a replay draws what was drawn, and any list replays") {
  Choices choices = Choices::random(3);
  const std::string text = generate(choices).text;
  Choices again = Choices::replay(choices.drawn());
  CHECK(generate(again).text == text);
  CHECK(again.drawn() == choices.drawn());
  Choices wild = Choices::replay({99, -5, 1'000'000'000'000, 3});
  CHECK_FALSE(generate(wild).text.empty());
}

TEST_CASE("a disagreement is shrunk to a program of one stage and printed with the commands that show it") {
  MaximumIsMinimum device;
  // Reductions by `maximum` are wrong too, and their programs are longer: the shortest with a `max` is looked for.
  const auto judge = [&](const Generated& g) {
    return g.text.find("max(") == std::string::npos ? std::string() : disagreement(g, device);
  };
  const Choices::List failing = firstFailing(judge);
  REQUIRE_FALSE(failing.empty());
  const Reproducer r = shrinkProgram(failing, 2000, judge);
  INFO(r.str("emulator"));
  CHECK(r.program.size() < 120);  // one stage
  CHECK(r.program.find("max(") != std::string::npos);
  CHECK(r.program.find("x: [1][n]f32") != std::string::npos);
  CHECK(r.wrong != "");
  CHECK(r.str("emulator").find("liftc run wrong.lift --fill random:5 --size n=3 --device 'emulator'") !=
        std::string::npos);
}

}  // namespace lift::differential
