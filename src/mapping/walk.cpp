#include "walk.hpp"

#include <fmt/format.h>

namespace lift::detail {

using rewrite::Path;

std::optional<Expr> Walk::attemptAt(const std::string& rule, const Path& part, Expr e,
                                    const rewrite::Arguments& arguments) {
  return attempt(part.empty() ? rule : rewrite::ruleAt(rule, part), e, arguments);
}

Expr Walk::applyTo(const std::string& rule, const Path& part, Expr e) {
  return must(attemptAt(rule, part, e), rule, e);
}

Expr Walk::must(std::optional<Expr> applied, std::string_view rule, Expr e) {
  if (!applied) throw InternalError(fmt::format("the mapping's rule {} does not apply to {}", rule, print(e)));
  return *applied;
}

std::pair<Expr, Path> Walk::around(Expr e, std::size_t levels) const {
  Path path;
  for (std::size_t i = 0; i < levels; i++) {
    const auto& [parent, which] = above_[above_.size() - 1 - i];
    e = withChild(parent, which, e);
    path.insert(path.begin(), which);
  }
  return {e, path};
}

Expr Walk::withChild(Expr e, std::uint8_t which, Expr now) {
  if (e.isLambda()) return Expr::lambda(e.parameter(), now);
  return which == 0 ? Expr::apply(now, e.argument()) : Expr::apply(e.function(), now);
}

}  // namespace lift::detail
