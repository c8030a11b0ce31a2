// Copies of statements with integers substituted and everything they declare renamed.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "lift/kernel_walk.hpp"

namespace lift::kernel {

// Rebuilds a kernel's body, replacing some loops by copies of their bodies.
class Expander {
 public:
  // The iterations to write out instead of this loop (its count already substituted), or -1 to keep it. A loop that is
  // kept may be changed.
  using Decide = std::function<std::int64_t(const For& original, For& loop)>;

  // By default all loops are kept: copies.
  explicit Expander(
      Kernel& kernel, Decide decide = [](const For&, For&) { return -1; })
      : kernel_(kernel),
        decide_(std::move(decide)),
        seenVariables_(kernel.variables.size()),
        seenBuffers_(kernel.buffers.size()) {}

  Block run(const Block& body) { return block(body); }
  // A copy with a value for an index.
  Block run(const Block& body, NatVar index, Nat value) {
    nats_.insert_or_assign(index, value);
    Block result = run(body);
    nats_.erase(index);
    return result;
  }

 private:
  void append(const Block& from, Block& to);
  void append(const Stmt& s, Block& to);
  void append(const Declare& d, Block& to);
  void append(const DeclareIndex& d, Block& to);
  void append(const Allocate& a, Block& to);
  void append(const Assign& a, Block& to);
  void append(const AssignLane& a, Block& to);
  void append(const Store& st, Block& to);
  void append(const Prefetch& p, Block& to);
  void append(const For& f, Block& to);
  void append(const If& i, Block& to);
  void append(const Fault& x, Block& to);
  static void append(const Barrier& b, Block& to);
  void append(const Combine& c, Block& to);
  static void append(const Comment& c, Block& to);
  Block block(const Block& from) {
    Block result;
    append(from, result);
    return result;
  }
  Nat nat(Nat n) const { return nats_.empty() || n.constant() ? n : n.substitute(nats_); }
  ExprPtr expr(const ExprPtr& e);
  VarId variable(VarId v) const {
    const auto found = variables_.find(v);
    return found == variables_.end() ? v : found->second;
  }
  BufferId buffer(BufferId b) const {
    const auto found = buffers_.find(b);
    return found == buffers_.end() ? b : found->second;
  }

  Kernel& kernel_;
  Decide decide_;
  std::map<NatVar, Nat> nats_;
  std::unordered_map<VarId, VarId> variables_;
  std::unordered_map<BufferId, BufferId> buffers_;
  std::vector<bool> seenVariables_, seenBuffers_;
  std::unordered_map<NatVar, bool> seenNats_;
};

// Statements and expressions of a block: what copies of it cost.
std::int64_t nodesOf(const Block& block);

}  // namespace lift::kernel
