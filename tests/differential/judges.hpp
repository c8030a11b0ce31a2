// What judges a program: the interpreter says what it means; the program as mapped, its text printed and read back, and
// every device must say the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "differential/generator.hpp"
#include "harness/setting.hpp"
#include "lift/codegen.hpp"
#include "lift/device.hpp"

namespace lift::differential {

using Tensors = std::map<std::string, Tensor>;

// Sanitized builds are several times slower and judge only one program in so many.
#ifdef __SANITIZE_ADDRESS__
inline constexpr int thinning = 8;
#else
inline constexpr int thinning = 1;
#endif

using test::seedOr, test::setting;

// What symbolic sizes are where a program runs: as one parses it, and where a device runs it in another way.
inline constexpr std::int64_t symbolicSize = 3, otherSymbolicSize = 7;

// A program with random inputs, what it means, and its compiled form; symbolic sizes are compiled as such and
// interpreted as 3. Constructing one throws what the compiler throws.
struct Case {
  explicit Case(const std::string& text);

  std::string text;
  Program program;
  Program specialised;
  Tensors inputs;
  Tensors expected;
  kernel::Plan plan;
};

// How far floating-point results may be apart, in units of their size or of 1, whichever is greater.
struct Tolerance {
  double fused = 1e-5;  // operations of f32 that a compiler fuses round once instead of twice
  double sums = 0;      // additions of the longest sum: in another order, each may round otherwise
};
// The sums of the program, whose sizes are numbers.
double longestSum(const Program& program);

// What is wrong, or nothing. Integers are equal; of floating-point numbers, the tolerance is that of f32.
std::string compareResults(const Tensors& actual, const Tensors& expected, const Tolerance& tolerance = {});

// What the interpreter, the interpreter of the mapped program, printing and the device disagree about, or nothing; the
// device runs the program at its own work-group sizes and at others, at two values of symbolic sizes. A program without
// definitions must be that with them, expanded. `exercised` counts programs whose kernels contain barriers,
// conditionals, …: the integers of kernel::structure(), and "divided reduction" and "launch loop".
std::string disagreement(const Generated& program, runtime::Device& device,
                         std::map<std::string, int>* exercised = nullptr);
std::string disagreement(const std::string& text, runtime::Device& device);

// Many programs as one plan, for devices whose compiler takes long: one build for all of them.
class Batch {
 public:
  explicit Batch(std::vector<Case> cases);
  // One entry per case; what is wrong, or nothing.
  std::vector<std::string> run(runtime::Device& device, const runtime::LoadOptions& options, double fused) const;

 private:
  void append(const kernel::Plan& plan, const std::string& prefix);
  static std::string prefixOf(std::size_t i);

  std::vector<Case> cases_;
  kernel::Plan plan_;
};

// A disagreement as small as it gets within the attempts: the program, what is wrong with it, and commands that show
// it.
struct Reproducer {
  std::string program;
  std::string wrong;
  std::string str(const std::string& device) const;
};
// Of programs that generate() makes of choices. `judge` says what is wrong with a program, or nothing.
Reproducer shrinkProgram(const Choices::List& failing, int attempts,
                         const std::function<std::string(const Generated&)>& judge);

}  // namespace lift::differential
