// Sizes of programs that 64 bits do not hold.
#include "size_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "lift/diagnostic.hpp"
#include "lift/listed.hpp"
#include "lift/terms.hpp"

namespace lift {
namespace {

constexpr const char* advice = "sizes, and the numbers of elements of arrays, are less than 2^63: take smaller ones";

Type resultOf(Type t) {
  while (t.isFunction()) t = t.result();
  return t;
}

bool hasTooMany(Type t) {
  if (t.isTuple()) return std::ranges::any_of(t.components(), hasTooMany);
  std::int64_t count = 1;
  for (; t.isArray(); t = t.element())
    if (__builtin_mul_overflow(count, t.length().constant().value_or(1), &count)) return true;
  return t.isTuple() && hasTooMany(t);
}

// The span of the first primitive whose result is one of which this holds.
std::optional<std::pair<Type, Span>> findResult(Expr body, const std::unordered_map<Expr, Span>& spans,
                                                const std::function<bool(Type)>& holds) {
  std::optional<std::pair<Type, Span>> found;
  std::unordered_set<Type> seen;
  forEachTerm(body, [&](Expr e) {
    const auto span = found || !e.isPrimitive() ? spans.end() : spans.find(e);
    if (span == spans.end()) return;
    const Type t = resultOf(e.type());
    if (seen.insert(t).second && holds(t)) found = {t, span->second};
  });
  return found;
}

}  // namespace

void checkElements(const Program& program) {
  const auto refuse = [](const std::string& what, Span span) {
    throw UserError(ExitStatus::program, fmt::format("{} has more elements than 64 bits count", what), advice, span);
  };
  for (const Expr p : program.parameters)
    if (hasTooMany(p.type())) refuse(fmt::format("{}: {}", p.name(), p.type().str()), {});
  if (const auto found = findResult(program.body, program.spans, hasTooMany)) refuse(found->first.str(), found->second);
}

void failAtSizes(Expr body, const std::unordered_map<Expr, Span>& spans, const std::function<Nat(Nat)>& now,
                 const std::map<NatVar, Nat>& values, const UserError& e) {
  const Diagnostic& told = e.diagnostics().front();
  std::optional<Nat> which;
  const auto found = findResult(body, spans, [&](Type t) {
    t.forEachNat([&](Nat n) {
      if (!which) try {
          static_cast<void>(now(n));
        } catch (const UserError&) {
          which = n;
        }
    });
    return which.has_value();
  });
  if (!found || told.span) throw e;
  std::vector<std::string> at;
  for (const NatVar v : which->variables())
    if (const auto value = values.find(v); value != values.end())
      at.push_back(fmt::format("{} = {}", v.name(), value->second.str()));
  const std::string size =
      at.empty() ? "" : fmt::format(": {} of {} at {}", which->str(), found->first.str(), fmt::join(at, ", "));
  throw UserError(e.status(), told.message + size, told.hint, found->second);
}

}  // namespace lift
