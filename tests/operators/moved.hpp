// Random programs that move data into another order, judged by loops over indices.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "lift/inputs.hpp"
#include "lift/parts.hpp"
#include "lift/text.hpp"

namespace lift::moved {

using Shape = std::vector<std::int64_t>;

// transpose, below so many maps, of what stands before.
inline std::string swapped(int depth) {
  std::string f = "transpose";
  for (int i = 0; i < depth; i++) f = fmt::format("map({})", i == 0 ? f : fmt::format("fun d{} => {}(d{})", i, f, i));
  return " |> " + f;
}

struct Move {
  std::string text;
  Shape shape;             // of the input
  std::vector<int> order;  // dimension i of the result is that one of the input
  double scale = 1, shift = 0;
  std::string type = "f32";
  bool plus = false;  // another array of the result's shape is added
};

class Drawing {
 public:
  explicit Drawing(std::uint64_t seed) : random_(seed) {}

  Move move() {
    Move m;
    static const std::vector<std::vector<std::int64_t>> lengths = {
        {2, 3, 4, 5, 7, 8, 16, 17, 33, 48, 70}, {1, 2, 3, 4, 5, 16, 19, 32}, {1, 2, 3, 4, 7, 16}};
    const int rank = number(2, 4);
    for (int i = 0; i < rank; i++) m.shape.push_back(one(lengths[static_cast<std::size_t>(rank - 2)]));
    m.order.resize(m.shape.size());
    std::iota(m.order.begin(), m.order.end(), 0);
    std::string steps;
    for (int i = number(1, 5); i > 0; i--) {
      const int depth = number(0, rank - 2);
      steps += swapped(depth);
      std::swap(m.order[static_cast<std::size_t>(depth)], m.order[static_cast<std::size_t>(depth) + 1]);
    }
    m.type = one(std::vector<std::string>{"f32", "f32", "f32", "u8", "i8", "f64", "i32", "f16"});
    const bool computes = number(0, 1) == 0;
    std::string result, element = "x";
    for (const int d : m.order) result += fmt::format("[{}]", m.shape[static_cast<std::size_t>(d)]);
    if (computes) {
      m.scale = 0.5;
      m.shift = 3;
      element = m.type == "f32" ? "0.5 * x + 3.0" : "0.5 * f32(x) + 3.0";
      m.plus = number(0, 2) == 0;
    }
    const std::string maps = fmt::format("map{}", rank == 2 ? "2D" : rank == 3 ? "3D" : "4D");
    std::string body = "a" + steps;
    if (m.plus) {
      std::string zipped = fmt::format("zip{}D({}, b)", rank, body);
      body = rank == 4 ? nested(body, element) : zipped + fmt::format(" |> {}(fun (x, y) => {} + y)", maps, element);
    } else if (computes) {
      body = rank == 4 ? body + " |> map(map3D(fun x => " + element + "))"
                       : body + fmt::format(" |> {}(fun x => {})", maps, element);
    }
    std::string from;
    for (const std::int64_t n : m.shape) from += fmt::format("[{}]", n);
    m.text = fmt::format("def main(a: {}{}{}) =\n  {}\n", from, m.type, m.plus ? fmt::format(", b: {}f32", result) : "",
                         body);
    return m;
  }

 private:
  static std::string nested(const std::string& body, const std::string& element) {
    return fmt::format("zip({}, b) |> map(fun (p, q) => zip3D(p, q) |> map3D(fun (x, y) => {} + y))", body, element);
  }
  int number(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  template <class T>
  T one(const std::vector<T>& of) {
    return of[static_cast<std::size_t>(number(0, static_cast<int>(of.size()) - 1))];
  }
  std::mt19937_64 random_;
};

// The first element of the result that differs; nothing where none does.
inline std::optional<std::string> wrongIn(const Move& m, const Tensor& a, const Tensor* b, const Tensor& out) {
  Shape strides(m.shape.size(), 1), shape, at;
  for (std::size_t i = m.shape.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * m.shape[i + 1];
  for (const int d : m.order) shape.push_back(m.shape[static_cast<std::size_t>(d)]);
  at.assign(shape.size(), 0);
  if (out.shape != shape) return "the shape";
  for (std::int64_t i = 0; i < out.size(); i++) {
    std::int64_t from = 0;
    for (std::size_t d = 0; d < at.size(); d++) from += at[d] * strides[static_cast<std::size_t>(m.order[d])];
    const double expected = m.scale * a.get(from) + m.shift + (b != nullptr ? b->get(i) : 0);
    if (std::abs(out.get(i) - expected) > 1e-5) return fmt::format("element {}: {}, not {}", i, out.get(i), expected);
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  return std::nullopt;
}

// How many of the programs were moved in tiles, at the default configuration or a random one.
inline int checkOn(runtime::Device& device, std::uint64_t seed, int count, bool randomly) {
  Drawing drawing(seed);
  std::mt19937_64 random(seed);
  int moved = 0;
  for (int i = 0; i < count; i++) {
    const Move m = drawing.move();
    INFO("seed " << seed << ", program " << i << " of " << count << " on " << device.info().name << ":\n" << m.text);
    const Program program = parseProgram(*addSource(fmt::format("moved{}.lift", i), m.text));
    const PartedProgram parted = partsOf(program);
    REQUIRE(parted.parts.size() == 1);
    const Part& part = parted.parts[0];
    if (part.pattern != Pattern::transposition) continue;
    moved++;
    PartChoice choice = defaultChoice(part);
    INFO(choice.reason);
    CHECK(choice.family == "tiles");
    if (randomly && choice.family == "tiles") {
      const Variant v = derive(part.workload, "tiles");
      if (const auto point = Sampler(spaceOf(v, {}), random()).next()) choice.config = *point;
    }
    INFO(str(choice.config));
    Workload w = programWorkload(program, 0);
    w.families = {partsFamily(parted, {choice})};
    const Variant v = derive(w, partsFamilyName);
    verify(v.program);
    const auto inputs = randomInputs(program, seed + static_cast<std::uint64_t>(i));
    const auto run = device.load(compileVariant(v, v.defaults))->run(inputs);
    const auto b = inputs.find("b");
    const auto wrong =
        wrongIn(m, inputs.at("a"), b == inputs.end() ? nullptr : &b->second, run.outputs.begin()->second);
    CHECK(wrong.value_or("") == "");
  }
  return moved;
}

}  // namespace lift::moved
