// Indices that are out of range for all values of what they depend on.
#include <fmt/format.h>

#include <set>
#include <unordered_map>

#include "lift/diagnostic.hpp"
#include "lift/terms.hpp"

namespace lift {
namespace {

class Indices {
 public:
  std::vector<Diagnostic> errors;

  // `always`: an evaluation of the program evaluates the term.
  void visit(Expr e, bool always) {
    if (!seen_.emplace(e.node(), always).second) return;
    if (e.isLambda()) return visit(e.body(), always);
    if (!e.isApply()) return;
    const Spine s = spineOf(e);
    const auto& a = s.arguments;
    if (s.head.isPrimitive()) bindIndices(s);
    for (std::size_t i = 0; i < a.size(); i++) visit(a[i], always && !isOptional(s, i));
    if (!s.head.isPrimitive()) visit(s.head, always);
    if (always && s.isPrim(Prim::at) && a.size() == 2) check(s.head, natOf(a[0]), a[1].type().length());
  }

 private:
  // Parameters that stand for indices: of generate's function, of functions over generated indices, of let.
  void bindIndices(const Spine& s) {
    const auto& a = s.arguments;
    const std::size_t f = s.head.prim() == Prim::generate || a.size() < 2 ? 0 : a.size() - 2;
    if (a.empty() || !a[f].isLambda()) return;
    const Expr parameter = a[f].parameter();
    if (s.isPrim(Prim::generate)) {
      known_.emplace(parameter, Nat(NatVar::index("i", s.head.nats()[0])));
    } else if (s.isPrim(Prim::let) && a.size() == 2) {
      if (const auto n = natOf(a[1])) known_.emplace(parameter, *n);
    } else if (const Spine in = spineOf(a.back()); in.isCall(Prim::generate) && in.arguments[0].isLambda()) {
      bindIndices(in);
      if (const auto n = natOf(in.arguments[0].body()); n && parameter.type() == in.arguments[0].body().type())
        known_.emplace(parameter, *n);
    }
  }

  std::optional<Nat> natOf(Expr e) {
    if (const auto found = known_.find(e); found != known_.end()) return found->second;
    if (!e.isApply()) return computed(e);
    if (const auto done = computed_.find(e); done != computed_.end()) return done->second;
    return computed_.emplace(e, computed(e)).first->second;
  }

  std::optional<Nat> computed(Expr e) {
    if (e.isNatLiteral()) return fitsInt(e.natValue()) ? std::optional(e.natValue()) : std::nullopt;
    if (e.isLiteral() && e.type() == Type::scalar(Scalar::i32)) return Nat(e.value().integer);
    if (!e.isApply() || e.type() != Type::scalar(Scalar::i32)) return std::nullopt;
    const Spine s = spineOf(e);
    if (s.isCall(Prim::convert)) return natOf(s.arguments[0]);
    if (!s.isPrim(Prim::op)) return std::nullopt;
    std::vector<Nat> operands;
    for (const Expr a : s.arguments) {
      const auto n = natOf(a);
      if (!n) return std::nullopt;
      operands.push_back(*n);
    }
    return onNats(s.head.op(), operands);
  }

  void check(Expr at, std::optional<Nat> index, Nat length) {
    if (!index || (less(*index, Nat(0)) != Truth::proved && lessEqual(length, *index) != Truth::proved)) return;
    errors.push_back({Severity::error,
                      at.place(),
                      fmt::format(fmt::runtime(fault::index), index->str(), length.str()),
                      "elements are counted from 0",
                      {}});
  }

  std::unordered_map<Expr, Nat> known_;
  std::unordered_map<Expr, std::optional<Nat>> computed_;
  std::set<std::pair<const detail::ExprNode*, bool>> seen_;
};

}  // namespace

void checkIndices(const Program& program) {
  Indices indices;
  indices.visit(program.body, true);
  throwErrors(std::move(indices.errors));
}

}  // namespace lift
