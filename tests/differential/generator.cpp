#include "differential/generator.hpp"

#include <fmt/format.h>

#include "differential/arrays.hpp"
#include "differential/tiles.hpp"

namespace lift::differential {
namespace {

class Generator {
 public:
  explicit Generator(Choices& choices) : d_(choices) {}

  Generated run() {
    switch (d_.pick(0, 8)) {
      case 5:
      case 6: return d_.finish(rows());
      case 7: return d_.finish(chain(true));
      case 8: return d_.finish(tiledProgram(d_, isSymbolic() ? "n" : std::to_string(d_.pick(1, 5))));
      default: return d_.finish(chain(false));
    }
  }

 private:
  // Stages of any kind; the first may be a loop.
  std::string chain(bool loops) {
    Shape shape = randomShape(loops ? 2 : 3);
    const std::string input = typeOf(shape);
    const bool below = isSymbolic();
    const std::string start = below ? d_.fresh() : "x";
    Arrays arrays(d_);
    std::string body = loops ? arrays.loop(start, shape) : arrays.stage(start, shape);
    // One choice for each further stage, so that a stage and its choice are neighbours and vanish together.
    for (int s = 1; s < 6 && d_.pick(0, 5) > 0; s++) body = arrays.stage(body, shape);
    body = results(body, shape.size(), std::to_string(sizeOf(shape)));
    if (!below) return fmt::format("def main(x: {0}, y: {0}) =\n  {1}\n", input, body);
    return fmt::format("def main(x: [n]{0}, y: [n]{0}) =\n  map(fun {1} => {2}, x)\n", input, start, body);
  }

  // Rows of any length, the only one or each of a few.
  std::string rows() {
    std::string length = "n";
    if (!isSymbolic()) length = std::to_string(d_.pick(0, 2) < 2 ? d_.pick(1, 12) : d_.pick(64, 100));
    const std::int64_t lines = d_.pick(0, 3);
    const std::string start = lines > 0 ? d_.fresh() : d_.coin() ? "zipWith(fun (a, b) => a + b * 0.5, x, y)" : "x";
    Rows stages(d_);
    std::string body = stages.stage(start, length);
    for (int s = 1; s < 4 && d_.pick(0, 3) > 0; s++) body = stages.stage(body, length);
    body = results(body, 1, length);
    if (lines == 0) return fmt::format("def main(x: [{0}]f32, y: [{0}]f32) =\n  {1}\n", length, body);
    return fmt::format("def main(x: [{0}][{1}]f32, y: [{0}][{1}]f32) =\n  map(fun {2} => {3}, x)\n", lines, length,
                       start, body);
  }

  // Several results, or one.
  std::string results(const std::string& e, std::size_t rank, const std::string& size) {
    const std::int64_t kind = d_.pick(0, 7);
    if (kind < 4) return e;
    const std::string r = d_.fresh();
    std::string all = r;
    for (std::size_t i = 1; i < rank; i++) all = fmt::format("join({})", all);
    const std::string head = fmt::format("let {} = {} in ", r, parenthesised(e));
    if (kind < 6) {
      d_.count("array and scalar");
      const std::string summary = Rows(d_).summary(all, size);
      return head + (kind == 4 ? fmt::format("({}, {})", r, summary) : fmt::format("({}, {})", summary, r));
    }
    d_.count("several arrays");
    if (kind == 6) return head + fmt::format("({0}, reorder(reverse, {0}))", r);
    return head +
           fmt::format("(map(fun a => {}, {}), {}, [0.5, {}])", d_.scalar("a"), all, r, Rows(d_).summary(all, size));
  }

  // Whether a size is n, an argument of the kernels.
  bool isSymbolic() {
    if (d_.pick(0, 3) < 3) return false;
    d_.count("symbolic size");
    d_.hasSize = true;
    return true;
  }

  Shape randomShape(std::int64_t most) {
    Shape shape;
    const std::int64_t rank = d_.pick(1, most);
    for (std::int64_t i = 0; i < rank; i++) shape.push_back(d_.pick(1, 9));
    return shape;
  }

  Drawing d_;
};

}  // namespace

Generated generate(Choices& choices) { return Generator(choices).run(); }

}  // namespace lift::differential
