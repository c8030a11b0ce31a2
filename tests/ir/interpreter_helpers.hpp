// Small programs in the interpreter, on small tensors.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/interpreter.hpp"
#include "lift/text.hpp"
#include "refusals.hpp"

namespace lift {

using Values = std::vector<double>;
using Tensors = std::map<std::string, Tensor>;
using Shape = std::vector<std::int64_t>;

inline Tensor tensor(Scalar scalar, Shape shape, const Values& values) {
  Tensor out(scalar, std::move(shape));
  REQUIRE(out.size() == static_cast<std::int64_t>(values.size()));
  for (std::int64_t i = 0; i < out.size(); i++) out.set(i, values[static_cast<std::size_t>(i)]);
  return out;
}
inline Tensor f32(const Values& values) {
  return tensor(Scalar::f32, {static_cast<std::int64_t>(values.size())}, values);
}
inline Tensor i32(const Values& values) {
  return tensor(Scalar::i32, {static_cast<std::int64_t>(values.size())}, values);
}
// 0, 1, 2, … in that shape.
inline Tensor counting(Shape shape, Scalar scalar = Scalar::f32) {
  Tensor out(scalar, std::move(shape));
  for (std::int64_t i = 0; i < out.size(); i++) out.set(i, static_cast<double>(i));
  return out;
}

inline Values valuesOf(const Tensor& tensor) {
  Values out;
  for (std::int64_t i = 0; i < tensor.size(); i++) out.push_back(tensor.get(i));
  return out;
}

// All results of the program "def main…" whose sizes follow from the shapes of the inputs, which are named as they
// are: every length is a name or a constant.
inline Tensors runAll(const std::string& text, const Tensors& inputs = {}) {
  const Program program = parseProgram(*addSource("test.lift", text));
  std::map<NatVar, Nat> sizes;
  for (const Expr p : program.parameters)
    for (const Leaf& leaf : leavesOf(p.type())) {
      const auto given = inputs.find(p.name() + leaf.path);
      if (given == inputs.end()) continue;
      for (std::size_t k = 0; k < leaf.shape.size(); k++)
        if (const auto v = leaf.shape[k].variable()) sizes.emplace(*v, Nat(given->second.shape.at(k)));
    }
  return interpret(specialise(program, sizes), inputs);
}

// Its one result.
inline Tensor run(const std::string& text, const Tensors& inputs = {}) { return runAll(text, inputs).at("out"); }
inline Values values(const std::string& text, const Tensors& inputs = {}) { return valuesOf(run(text, inputs)); }

// The message with which it refuses the program, or the term.
template <class Run>
std::string refusalOf(const Run& run) {
  const auto errors = test::diagnosticsOf(run);
  return errors.empty() ? "accepted" : errors[0].message;
}
inline std::string refusal(const std::string& text, const Tensors& inputs = {}) {
  return refusalOf([&] { runAll(text, inputs); });
}

// The application of a primitive, built without the checks of inference.
inline Expr call(Prim prim, std::vector<Nat> nats, const std::vector<Expr>& arguments, Type result,
                 std::uint8_t detail = 0) {
  Type type = result;
  for (auto a = arguments.rbegin(); a != arguments.rend(); ++a) type = Type::function(a->type(), type);
  return applyAll(Expr::primitive(prim, std::move(nats), type, detail), arguments);
}

// The array 0, 1, … n-1 of i32 as a term.
inline Expr iota(std::int64_t n) {
  const Type i32 = Type::scalar(Scalar::i32);
  const Expr i = Expr::variable("i", i32);
  return call(Prim::generate, {n}, {Expr::lambda(i, i)}, Type::array(n, i32));
}

inline std::string refusal(Expr term) {
  return refusalOf([&] { evaluate(term); });
}

}  // namespace lift
