// Lowering: checks of indices and divisors while kernels run, and the places in the program that they name.
#include <algorithm>

#include "lowerer.hpp"

namespace lift::detail {

int Lowering::siteOf(Expr primitive, std::string_view message) {
  const Span place = primitive.place();
  const auto same = [&](const kernel::Site& s) {
    return s.span.file == place.file && s.span.begin == place.begin && s.span.end == place.end && s.message == message;
  };
  auto found = std::find_if(sites_->begin(), sites_->end(), same);
  if (found == sites_->end()) found = sites_->insert(found, {place, std::string(message)});
  return static_cast<int>(found - sites_->begin()) + 1;
}

void Lowering::recordUnless(const ExprPtr& holds, int site, const ExprPtr& value, Nat bound) {
  if (!kernel_.faults) {
    kernel_.faults = newBuffer("faults", Scalar::i32, 1, AddressSpace::global, Nat(3), false);
    kernel_.arguments.push_back(*kernel_.faults);
    KernelArgument argument;
    argument.faults = true;
    arguments_.push_back(argument);
  }
  Block fault;
  fault.push_back({kernel::Fault{site, value, bound}});
  emit(kernel::If{holds, {}, std::move(fault)});
}

ExprPtr Lowering::isIndex(const ExprPtr& index, Nat length) {
  if (const auto n = natOf(index))
    return kernel::test({{Nat(-1), kernel::Relation::less, *n}, {*n, kernel::Relation::less, length}});
  return kernel::operation(Op::logicalAnd, {kernel::operation(Op::ge, {index, kernel::index(Nat(0))}),
                                            kernel::operation(Op::lt, {index, kernel::index(length)})});
}

// The index where it is in range, else 0.
ExprPtr Lowering::checkedIndex(Expr primitive, const ExprPtr& index, Nat length) {
  const ExprPtr i = isAtom(index) ? index : declare("index", index), zero = kernel::index(Nat(0));
  const ExprPtr holds = isIndex(i, length);
  recordUnless(holds, siteOf(primitive, fault::index), i, length);
  return kernel::choose(holds, i, zero);
}

// The divisor where it is not 0, else 1.
ExprPtr Lowering::checkedDivisor(Expr primitive, const ExprPtr& divisor) {
  if (const auto* l = as<kernel::Literal>(divisor); l != nullptr && l->value.integer != 0) return divisor;
  const ExprPtr d = isAtom(divisor) ? divisor : declare("divisor", divisor);
  const auto constant = [&](int x) {
    return kernel::literal(ScalarValue::ofInteger(d->type.scalar, x), d->type.width);
  };
  const ExprPtr holds = kernel::operation(Op::ne, {d, constant(0)});
  const int site = siteOf(primitive, fault::division);
  for (int l = 0; l < d->type.width; l++)
    recordUnless(d->type.width == 1 ? holds : kernel::lane(holds, l), site, kernel::index(Nat(0)), Nat(0));
  return d->type.width == 1 ? kernel::choose(holds, d, constant(1))
                            : kernel::operation(Op::select, {holds, d, constant(1)});
}

}  // namespace lift::detail
