// Questions that lowering asks about terms and about the statements it has made.
#pragma once

#include <map>
#include <vector>

#include "lift/expr.hpp"
#include "lift/kernel.hpp"
#include "lowering.hpp"

namespace lift::detail {

// How often the parts of a lambda's parameter are used in its body; uses under an inner lambda count twice.
class Uses {
 public:
  Uses(Expr parameter, Expr body);
  // How often the component at a path of tuple projections is used, including uses of what it is a part of and of its
  // own parts.
  int of(const std::vector<int>& path) const;

 private:
  void visit(Expr e, int weight);

  Expr parameter_;
  std::map<std::vector<int>, int> counts_;
};

// The buffers that a block stores to.
std::vector<kernel::BufferId> storedIn(const kernel::Block& block);
// Whether a block may store to the buffers while it reads them: every element is read only by the statements that lead
// to its own store.
bool mayStoreInPlace(const kernel::Block& block, const std::vector<kernel::BufferId>& buffers);

// Refuses a kernel in which work-items read elements of private arrays, or groups elements of temporaries, that others
// were to compute.
void checkSharing(const LoweredKernel& lowered);

// The symbolic sizes and tunables that statements mention, in order of creation.
std::vector<NatVar> sizesIn(const kernel::Block& block);

}  // namespace lift::detail
