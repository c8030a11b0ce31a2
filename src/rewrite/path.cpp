// Places in terms.
#include <algorithm>
#include <functional>

#include "lift/rewrite.hpp"
#include "lift/terms.hpp"

namespace lift::rewrite {

std::string ruleAt(std::string rule, const Path& place) {
  rule += '<';
  for (const std::uint8_t child : place) rule += static_cast<char>('0' + child);
  return rule + '>';
}

std::optional<Path> pathOf(Expr part, Expr term) {
  std::optional<Path> optional;  // where a condition decides
  const std::function<std::optional<Path>(Expr, bool, const Path&)> find =
      [&](Expr e, bool guarded, const Path& path) -> std::optional<Path> {
    if (e == part) {
      if (!guarded) return path;
      if (!optional) optional = path;
      return std::nullopt;
    }
    if (e.isLambda()) return find(e.body(), guarded, path + Path{0});
    const Spine s = spineOf(e);
    for (std::size_t i = 0; i < s.arguments.size(); i++)
      if (const auto found = find(s.arguments[i], guarded || isOptional(s, i), path + argumentPath(s, i))) return found;
    return std::nullopt;
  };
  const auto found = find(term, false, {});
  return found ? found : optional;
}

Expr partAt(Expr term, const Path& path) {
  for (const std::uint8_t child : path)
    term = term.isLambda() ? term.body() : child == 0 ? term.function() : term.argument();
  return term;
}

Path operator+(Path path, const Path& below) {
  path.insert(path.end(), below.begin(), below.end());
  return path;
}

Path argumentPath(const Spine& s, std::size_t i) {
  Path path(s.arguments.size() - 1 - i, 0);
  path.push_back(1);
  return path;
}

bool isAbove(const Path& path, const Path& below) {
  return path.size() <= below.size() && std::equal(path.begin(), path.end(), below.begin());
}

}  // namespace lift::rewrite
