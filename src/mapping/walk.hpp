// Private to mapping: functions from terms to terms that know where they are, so that every change is a step of a
// derivation.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/rewrite.hpp"
#include "lift/terms.hpp"

namespace lift::detail {

using rewrite::argumentPath;
using rewrite::partAt;
using rewrite::operator+;

// All functions take the term at the rewriting's current place, and put what they return in its place.
class Walk {
 protected:
  explicit Walk(rewrite::Rewriting& rewriting) : rewriting_(rewriting) {}

  // The term with f(part) for what is below it.
  template <class F>
  Expr child(Expr e, std::uint8_t which, F&& f) {
    const bool isLambda = e.isLambda();
    const Expr old = isLambda ? e.body() : which == 0 ? e.function() : e.argument();
    above_.emplace_back(e, which);
    const Expr now = *rewriting_.at(which, [&] { return std::optional<Expr>(f(old)); });
    above_.pop_back();
    return withChild(e, which, now);
  }
  template <class F>
  Expr body(Expr lambda, F&& f) {
    return child(lambda, 0, std::forward<F>(f));
  }
  template <class F>
  Expr argument(Expr e, std::size_t i, F&& f) {
    return at(e, argumentPath(spineOf(e), i), f);
  }
  template <class F>
  Expr at(Expr e, const rewrite::Path& path, F&& f) {
    return at(e, path, 0, f);
  }
  // The body of a function that the term is given.
  template <class F>
  Expr functionBody(Expr e, std::size_t i, F&& f) {
    return argument(e, i, [&](Expr g) { return body(g, f); });
  }
  // Every argument, or the body of a lambda.
  template <class F>
  Expr parts(Expr e, F&& f) {
    if (e.isLambda()) return body(e, f);
    if (!e.isApply()) return e;
    const std::size_t count = spineOf(e).arguments.size();
    for (std::size_t i = 0; i < count; i++) e = argument(e, i, f);
    return e;
  }

  std::optional<Expr> attempt(std::string_view rule, Expr e, const rewrite::Arguments& arguments = {}) {
    return rewriting_.applyHere(rewrite::ruleNamed(rule), arguments, e);
  }
  // The rule, which must apply.
  Expr apply(std::string_view rule, Expr e, const rewrite::Arguments& arguments = {}) {
    return must(attempt(rule, e, arguments), rule, e);
  }
  // The rule of a part of the term.
  std::optional<Expr> attemptAt(const std::string& rule, const rewrite::Path& part, Expr e,
                                const rewrite::Arguments& arguments = {});
  Expr applyTo(const std::string& rule, const rewrite::Path& part, Expr e);

  // What so many levels above the term contains it: the term now, and the path from it.
  std::pair<Expr, rewrite::Path> around(Expr e, std::size_t levels) const;
  std::size_t depth() const { return above_.size(); }

  rewrite::Rewriting& rewriting_;

 private:
  template <class F>
  Expr at(Expr e, const rewrite::Path& path, std::size_t from, F&& f) {
    if (from == path.size()) return f(e);
    return child(e, path[from], [&](Expr part) { return at(part, path, from + 1, f); });
  }
  static Expr must(std::optional<Expr> applied, std::string_view rule, Expr e);
  static Expr withChild(Expr e, std::uint8_t which, Expr now);

  std::vector<std::pair<Expr, std::uint8_t>> above_;  // the terms around, as they are now, and which child is next
};

}  // namespace lift::detail
