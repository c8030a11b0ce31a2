// Programs that are one matrix product, for libraries that compute it, too.
#include "lift/parts.hpp"
#include "lift/terms.hpp"
#include "parts.hpp"

namespace lift {

namespace {

// A parameter, or its transpose.
struct Operand {
  std::string name;
  bool transposed = false;
};

std::optional<Operand> operandOf(Expr e) {
  const Spine s = spineOf(e);
  const bool transposed = s.isPrim(Prim::transpose);
  const Expr array = transposed ? s.arguments[0] : e;
  if (!array.isVariable()) return std::nullopt;
  return Operand{array.name(), transposed};
}

bool isSumOf(Expr f, bool (*element)(Expr x, Expr p)) {
  const Spine sum = spineOf(f.body());
  if (!sum.isPrim(Prim::op) || sum.head.op() != Op::add) return false;
  for (const int acc : {0, 1}) {
    const Spine a = spineOf(sum.arguments[static_cast<std::size_t>(acc)]);
    const bool accumulates = a.isPrim(Prim::get) && a.head.nats()[0] == Nat(0) && a.arguments[0] == f.parameter();
    if (accumulates && element(sum.arguments[static_cast<std::size_t>(1 - acc)], f.parameter())) return true;
  }
  return false;
}

// x.1.0 * x.1.1
bool isProductOfElement(Expr x, Expr parameter) {
  const Spine s = spineOf(x);
  if (!s.isPrim(Prim::op) || s.head.op() != Op::mul) return false;
  const auto isComponent = [&](Expr e, std::int64_t i) {
    const Spine of = spineOf(e);
    if (!of.isPrim(Prim::get) || of.head.nats()[0] != Nat(i)) return false;
    const Spine element = spineOf(of.arguments[0]);
    return element.isPrim(Prim::get) && element.head.nats()[0] == Nat(1) && element.arguments[0] == parameter;
  };
  return (isComponent(s.arguments[0], 0) && isComponent(s.arguments[1], 1)) ||
         (isComponent(s.arguments[0], 1) && isComponent(s.arguments[1], 0));
}

bool isZero(Expr e) { return e.isLiteral() && e.value().asDouble() == 0; }

}  // namespace

std::optional<MatrixProduct> matrixProductOf(const Program& program) {
  const Expr term = detail::parts::tidied(program);
  const detail::parts::Nest nest = detail::parts::nestOf(term);
  const std::size_t loops = nest.loops.size();
  const Spine reduction = spineOf(nest.body);
  if (loops < 1 || loops > 2 || !spineOf(term).isPrim(Prim::map) || !reduction.isPrim(Prim::reduce))
    return std::nullopt;
  for (std::size_t i = 0; i + 1 < loops; i++)  // no layout between the maps
    if (spineOf(spineOf(term).arguments[0].body()).arguments.back() != nest.loops[i + 1].input) return std::nullopt;
  const Spine operands = spineOf(reduction.arguments[2]);
  if (!isZero(reduction.arguments[0]) || !isSumOf(reduction.arguments[1], isProductOfElement) ||
      !operands.isPrim(Prim::zip) || operands.arguments.size() != 2)
    return std::nullopt;
  const Expr row = nest.loops[0].variable;
  const bool rowFirst = operands.arguments[0] == row;
  if (!rowFirst && operands.arguments[1] != row) return std::nullopt;
  const Expr other = operands.arguments[rowFirst ? 1 : 0];
  if (loops == 2 && other != nest.loops[1].variable) return std::nullopt;
  const auto left = operandOf(nest.loops[0].input), right = operandOf(loops == 2 ? nest.loops[1].input : other);
  if (!left || !right || scalarOf(nest.body.type()) != Scalar::f32) return std::nullopt;
  const auto rows = nest.loops[0].length().constant(), depth = row.type().length().constant();
  const auto columns = loops == 2 ? nest.loops[1].length().constant() : 1;
  if (!rows || !depth || !columns) return std::nullopt;
  // The columns are the rows of the right operand's transpose.
  return MatrixProduct{left->name, right->name, left->transposed, loops == 2 && !right->transposed, *rows,
                       *columns,   *depth};
}

}  // namespace lift
