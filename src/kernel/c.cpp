// Kernels as C11 functions, with the vector extensions of GCC and Clang.
//
// A function runs all work-items, so every parallel loop is a loop over its whole count; independent iterations of the
// outermost one are shared among threads by OpenMP. That is what the kernel means as long as no work-item keeps a value
// from one parallel loop to the next, and a barrier stands between loops of work-items rather than within one.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "c_dialect.hpp"
#include "lift/diagnostic.hpp"
#include "lift/kernel_passes.hpp"
#include "lift/kernel_walk.hpp"
#include "printer.hpp"

namespace lift::kernel {
namespace {

bool isParallel(const For& f) { return f.kind != LoopKind::sequential; }

// Whether a kernel is loops over its work-items.
class Serial {
 public:
  explicit Serial(const Kernel& kernel) : kernel_(kernel) {}

  std::string whyNot() {
    visit(kernel_.body);
    for (const auto& [buffer, loops] : groupsOf_)
      if (loops.size() > 1)
        refuse(fmt::format("its work-groups keep '{}' in local memory from one parallel loop to the next",
                           kernel_.buffers[buffer].name));
    return why_;
  }

 private:
  void refuse(const std::string& why) {
    if (why_.empty()) why_ = why;
  }

  void visit(const Block& block) {
    for (const Stmt& s : block) visit(s);
  }

  void visit(const Stmt& s) {
    forEachAccess(s, [&](BufferId b, Nat, int, bool) { use(b); });
    match(
        s.node, [&](const Declare& d) { variables_[d.variable] = loop_; },
        [&](const Allocate& a) { arrays_[a.buffer] = loop_; }, [&](const Assign& a) { assign(a.variable); },
        [&](const AssignLane& a) { assign(a.variable); },
        [&](const Store& st) {
          if (st.update) refuse("its work-items update elements that they share");
          if (kernel_.buffers[st.buffer].space == AddressSpace::priv && arrays_[st.buffer] != loop_)
            keeps(kernel_.buffers[st.buffer].name);
        },
        [&](const For& f) {
          const auto outer = std::tuple(loop_, group_, inItem_);
          if (isParallel(f)) {
            loop_ = ++loops_;
            if (f.kind == LoopKind::group && group_ == 0) group_ = loop_;
            if (f.kind != LoopKind::group) inItem_ = true;
          }
          visit(f.body);
          std::tie(loop_, group_, inItem_) = outer;
        },
        [&](const If& i) {
          visit(i.then);
          visit(i.otherwise);
        },
        [&](const Barrier& b) {
          if ((b.local || b.global) && inItem_)
            refuse("its work-items wait for each other (a barrier) in the middle of a parallel loop");
        },
        [&](const Combine&) { refuse("its work-items put values together in the middle of their work"); },
        [](const DeclareIndex&) {}, [](const Prefetch&) {}, [](const Comment&) {}, [](const Fault&) {});
  }

  void assign(VarId v) {
    if (variables_[v] != loop_) keeps(kernel_.variables[v].name);
  }
  void keeps(const std::string& what) {
    refuse(fmt::format("its work-items keep '{}' in registers from one parallel loop to the next", what));
  }
  void use(BufferId b) {
    if (kernel_.buffers[b].space == AddressSpace::local) groupsOf_[b].insert(group_);
  }

  const Kernel& kernel_;
  std::string why_;
  int loops_ = 0, loop_ = 0, group_ = 0;  // parallel loops seen; the one around; the outermost of groups around
  bool inItem_ = false;
  std::map<VarId, int> variables_;
  std::map<BufferId, int> arrays_;
  std::map<BufferId, std::set<int>> groupsOf_;
};

// Moves a loop of work-groups or work-items inside the loops of higher dimensions that it contains, which gives the
// order in which OpenCL devices run them. Families rely on that order: what all groups of a row read, weights for
// instance, is then read from far memory once for the row.
Stmt inOrderOfDimensions(For f) {
  if (isParallel(f) && !f.body.empty()) {
    auto* inner = as<For>(f.body.back());
    const auto moves = [&](const Stmt& s) {
      const auto* index = as<DeclareIndex>(s);
      return is<Declare>(s) || (index != nullptr && !inner->count.mentions(index->variable));
    };
    if (inner != nullptr && inner->kind == f.kind && inner->dim > f.dim && !inner->count.mentions(f.index) &&
        std::all_of(f.body.begin(), std::prev(f.body.end()), moves)) {
      For outer = std::move(*inner);
      f.body.pop_back();
      std::ranges::move(outer.body, std::back_inserter(f.body));
      outer.body = {inOrderOfDimensions(std::move(f))};
      return {std::move(outer)};
    }
  }
  return {std::move(f)};
}

// The same for all loops of a block, inner ones first.
Block inOrderOfDimensions(Block b) {
  for (Stmt& s : b) {
    forEachBlock(s, [](Block& inner) { inner = inOrderOfDimensions(std::move(inner)); });
    if (auto* f = as<For>(s)) s = inOrderOfDimensions(For(std::move(*f)));
  }
  return b;
}

class CPrinter final : public Printer {
 public:
  CPrinter(const Kernel& kernel, CDialect& dialect)
      : Printer(kernel, dialect), dialect_(dialect), isUneven_(isUneven(kernel)) {
    for (BufferId b = 0; b < kernel.buffers.size(); b++)
      if (kernel.buffers[b].space == AddressSpace::local && isUsed(b)) locals_.push_back(b);
  }

  std::string run(const std::string& name) {
    const std::string constants = tables("  static const");
    const std::string head = parameters(
        "static void " + name, [&](BufferId b) { return pointerTo(b) + " restrict " + write_.nameOfBuffer(b); });
    enter(1);
    if (!anyStmt<For>(kernel_.body, [](const For& f) { return f.kind == LoopKind::group; })) declareLocals();
    block(kernel_.body);
    return fmt::format("{} {{\n{}{}}}\n", head, constants, text());
  }

 private:
  // Enough independent iterations to occupy the cores of a processor.
  static constexpr std::int64_t plenty = 32;

  void declareLocals() {
    for (const BufferId b : locals_) {
      write_.nameBuffer(b);
      line(array(b));
    }
    locals_.clear();
  }

  // The loops of one iteration space, from `f` inwards, until there are plenty of iterations.
  static std::vector<const For*> nest(const For& f) {
    std::vector<const For*> loops{&f};
    std::int64_t iterations = f.count.constant().value_or(plenty);
    while (iterations < plenty) {
      const Block& body = loops.back()->body;
      if (body.size() != 1) break;
      const auto* inner = as<For>(body[0]);
      if (inner == nullptr || !isParallel(*inner)) break;
      if (std::ranges::any_of(loops, [&](const For* l) { return inner->count.mentions(l->index); })) break;
      if ((inner->kind == LoopKind::local) != (f.kind == LoopKind::local)) break;
      loops.push_back(inner);
      iterations *= std::max<std::int64_t>(inner->count.constant().value_or(plenty), 1);
    }
    return loops;
  }

  // Whether a loop's iterations depend on more than the sizes, so that some work-groups do more than others.
  static bool isUneven(const Kernel& kernel) {
    const auto isSize = [&](NatVar v) { return std::ranges::find(kernel.sizes, v) != kernel.sizes.end(); };
    return anyStmt<For>(kernel.body, [&](const For& f) {
      return f.kind == LoopKind::sequential && (f.running || !std::ranges::all_of(f.count.variables(), isSize));
    });
  }

  static bool allocates(const Block& body) {
    return anyStmt(body, [](const Stmt& s) { return is<Allocate>(s); });
  }

  void parallel(const For& f, bool) override {
    const bool shares = !inParallel_ && f.count.constant() != 1;
    std::vector<const For*> loops{&f};
    if (!inParallel_) loops = nest(f);
    if (shares || loops.size() > 1) {
      // Each thread takes the same share of the work in every launch, so that its caches still have that share's data.
      // Where work-groups differ in work they are handed out one by one instead.
      line(fmt::format("#pragma omp parallel for{}{}",
                       loops.size() > 1 ? fmt::format(" collapse({})", loops.size()) : "",
                       f.kind == LoopKind::group && isUneven_ ? " schedule(dynamic)" : ""));
    }
    // Work-items do not depend on each other, so several may be computed in the lanes of a vector; not with a private
    // array, which is one for all of them here.
    if (inParallel_ && f.kind != LoopKind::group && !allocates(f.body)) line("#pragma GCC ivdep");
    const bool wasParallel = inParallel_;
    inParallel_ = inParallel_ || shares || loops.size() > 1;
    open(loops, 0);
    inParallel_ = wasParallel;
  }

  void open(const std::vector<const For*>& loops, std::size_t at) {
    const For& f = *loops[at];
    const bool isLong = countsFar(f.count);
    const std::string bound = write_.nat(f.count, additive);
    write_.names.enter();
    write_.name(f.index, isLong);
    line(fmt::format("for ({0} {1} = 0; {1} < {2}; {1}++) {{", dialect_.indexType(isLong), write_.nameOf(f.index),
                     bound));
    scope([&] {
      if (at + 1 < loops.size()) return open(loops, at + 1);
      const std::vector<BufferId> locals = locals_;
      if (f.kind == LoopKind::group) declareLocals();
      block(f.body);
      locals_ = locals;
    });
    write_.names.leave();
    line("}");
  }

  void barrier(const Barrier& b) override {
    if (b.local || b.global) line("// here all work-items are done");
  }

  void combine(const Combine&) override { throw InternalError("a combination in plain C"); }

  void unrolling(const For& f) override {
    constexpr std::int64_t most = 64;
    if (f.unroll > 0) line(fmt::format("#pragma GCC unroll {}", f.unroll));
    if (f.unroll < 0)
      line(fmt::format("#pragma GCC unroll {}", std::clamp<std::int64_t>(f.count.constant().value_or(most), 1, most)));
  }

  CDialect& dialect_;
  std::vector<BufferId> locals_;  // not declared yet
  const bool isUneven_;
  bool inParallel_ = false;
};

}  // namespace

std::string whyNotC(const Kernel& kernel) { return Serial(kernel).whyNot(); }

CKernels printC(const std::vector<Kernel>& kernels) {
  CDialect dialect;
  CKernels out;
  std::string functions;
  for (const Kernel& k : kernels) {
    if (const std::string why = whyNotC(k); !why.empty())
      throw UserError(ExitStatus::program, fmt::format("the kernel '{}' is no plain C: {}", k.name, why),
                      "compile it for OpenCL, or without mapLcl");
    if (k.faults) dialect.recordsFaults();
    out.names.push_back(k.name + "_kernel");
    Kernel ordered = k;
    ordered.body = inOrderOfDimensions(std::move(ordered.body));
    functions += '\n' + CPrinter(ordered, dialect).run(out.names.back());
  }
  out.text = dialect.prelude() + functions;
  return out;
}

}  // namespace lift::kernel
