// Convolutions recognised in terms: each element of the result is read as an expression of elements of arrays.
#include "recognise.hpp"

#include <array>

#include "layers.hpp"
#include "lift/terms.hpp"

namespace lift::detail {
namespace {

using layers::Not;

constexpr const char* ruleName = "asConvolution";

// The sum that every element is computed of, by the variable that stands for it in the element's value.
struct SumOfElement {
  Expr variable;
  const affine::Sum& sum;
};

SumOfElement sumOf(const affine::Element& element) {
  for (const auto& [id, sum] : element.sums)
    for (const Expr v : element.value.freeVariables())
      if (v.id() == id) return {v, sum};
  throw Not{"it is no sum"};
}

// What is multiplied, of elements of the type.
std::array<const affine::Access*, 2> operandsOf(const affine::Sum& sum, const affine::Element& element, Scalar type) {
  const Spine product = spineOf(sum.term);
  if (!product.isPrim(Prim::op) || product.head.op() != Op::mul) throw Not{"it is no sum of products"};
  std::array<const affine::Access*, 2> operands{};
  for (const std::size_t i : {0U, 1U}) {
    operands[i] = element.accessOf(product.arguments[i]);
    if (operands[i] == nullptr) throw Not{"its operands are computed where they are multiplied"};
    if (scalarOf(baseOf(operands[i]->source.type())) != type) throw Not{"its operands are of other types"};
  }
  return operands;
}

Recognised recognised(Expr term) {
  const Type type = baseOf(term.type());
  if (!term.type().isArray() || !type.isScalar() || !(scalarOf(type) == Scalar::f32 || isHalf(scalarOf(type))))
    throw Not{"it is not of f32, f16 or h16"};
  if (!anyPrimitive(term, [](Expr p) { return p.prim() == Prim::reduce; })) throw Not{"it reduces nothing"};
  std::string why;
  const auto element = affine::elementOf(term, &why);
  if (!element) throw Not{why};
  const auto [variable, sum] = sumOf(*element);
  const auto [a, b] = operandsOf(sum, *element, scalarOf(type));
  const layers::Extents extents(*element);
  const auto attempt = [&, &v = variable, &s = sum](const affine::Access& input, const affine::Access& weights) {
    return layers::restated(*element, layers::readLayer(*element, s, extents, input, weights), extents, v);
  };
  try {  // either may be the input
    return attempt(*a, *b);
  } catch (const Not& first) {
    try {
      return attempt(*b, *a);
    } catch (const Not&) {
      throw first;
    }
  }
}

}  // namespace

std::optional<Recognised> recogniseConv(Expr term, std::string* why) {
  try {
    return recognised(term);
  } catch (const Not& no) {
    if (why != nullptr) *why = no.why;
    return std::nullopt;
  }
}

rewrite::Rule convRule() {
  const rewrite::RuleRow row{
      ruleName,
      "map(fun window => map(fun k => reduce(0.0, fun (a, (w, x)) => a + w * x, zip(k, window)), ks), "
      "slide(3, 1, pad(1, 1, 0.0, (xs: [n]f32)))) => "
      "let input = layout(xs) in let weights = layout(ks) in let biases = fill(o, 0.0) in "
      "layout(conv(weights, biases, input))",
      "lift-conv listing 3", rewrite::When::rounds};
  return {row, {}, [](Expr e, const rewrite::Arguments&) -> std::optional<Expr> {
            const auto found = recogniseConv(e);
            return found ? std::optional(found->restated) : std::nullopt;
          }};
}

std::optional<OperatorMatch> matchConv(Expr term) {
  const auto found = recogniseConv(term);
  if (!found) return std::nullopt;
  std::string descriptor = found->spec.str();
  if (const std::string order = found->layouts.str(); !order.empty()) descriptor += " with " + order;
  return OperatorMatch{descriptor, found->sources, ruleName, found->layer};
}

}  // namespace lift::detail
