// Programs being rewritten: steps recorded, undone, printed, replayed.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "lift/diagnostic.hpp"
#include "lift/rewrite.hpp"

namespace lift::rewrite {
namespace {
constexpr const char* comment = "--";
}

std::string Rewriting::Miss::str() const {
  if (!rule) return reason;
  return fmt::format("rule '{}' does not apply at {}: {}", rule->name(), print(term).substr(0, 80), reason);
}

Rewriting::Rewriting(const Program& program, int budget) : program_(program), budget_(budget), facts_(program.facts()) {
  program_.body = etaLong(program_.body);
}

void Rewriting::apply(const Strategy& strategy) {
  if (tryApply(strategy)) return;
  const std::string hint = misses_.empty() ? "no rule of the strategy fits" : misses_.back().str();
  throw UserError(ExitStatus::program, fmt::format("the strategy does not apply to '{}'", program_.name), hint);
}

bool Rewriting::tryApply(const Strategy& strategy) {
  misses_.clear();
  const Mark start = mark();
  const auto result = rewrite::at(focus_, strategy)(program_.body, *this);
  if (!result) {
    undo(start);
    return false;
  }
  program_.body = *result;
  misses_.clear();
  return true;
}

Program Rewriting::program() const { return program_; }

void Rewriting::focus(Path path, std::string prefix) {
  focus_ = std::move(path);
  prefix_ = std::move(prefix);
}

Nat Rewriting::tunable(const std::string& name, std::int64_t low, Nat high) {
  const NatVar v = NatVar::fresh(prefix_ + name, low, high, NatVar::Role::tunable);
  program_.tunables.push_back(v);
  return v;
}

void Rewriting::assume(SizeCondition condition) {
  const auto same = [&](const SizeCondition& c) {
    return c.kind == condition.kind && c.left == condition.left && c.right == condition.right;
  };
  if (std::ranges::any_of(program_.conditions, same)) return;
  if (condition.kind == SizeCondition::Kind::divides) facts_.push_back({condition.left, condition.right});
  program_.conditions.push_back(std::move(condition));
}

std::optional<Expr> Rewriting::applyHere(const Rule& rule, const Arguments& arguments, Expr term) {
  Applied applied = applyRule(rule, term, arguments, facts_);
  if (!applied.term) {
    if (!applied.reason.empty()) misses_.push_back({&rule, term, std::move(applied.reason)});
    return std::nullopt;
  }
  if (--budget_ < 0)
    throw UserError(ExitStatus::program, fmt::format("rewriting '{}' does not come to an end", program_.name),
                    fmt::format("the last rule was '{}'", rule.name()));
  derivation_.steps.push_back({rule.name(), arguments, path_});
  if (!names_.empty()) forwardNames(rule, arguments, term, *applied.term);
  derivation_.rules.emplace(rule.name(), rule.text());
  for (SizeCondition& c : applied.conditions) {
    c.origin = fmt::format("{} in rule '{}'", c.origin, rule.name());
    assume(std::move(c));
  }
  return applied.term;
}

void Rewriting::undo(const Mark& mark) {
  derivation_.steps.resize(mark.steps);
  names_ = mark.names;
  if (program_.conditions.size() == mark.conditions) return;
  program_.conditions.resize(mark.conditions);
  facts_ = program_.facts();
}

// ------------------------------------------------------------------------------------------------------- derivations

namespace {

std::string pathText(const Path& path) {
  if (path.empty()) return ".";
  std::string out;
  for (const std::uint8_t child : path) out += static_cast<char>('0' + child);
  return out;
}

[[noreturn]] void malformed(const std::string& line) {
  throw UserError(ExitStatus::program, fmt::format("'{}' is not a step of a derivation", line),
                  "steps are written rule(size = value) at 0110");
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

Nat sizeOf(const std::string& text, const Program& program) {
  return parseSize(*addSource("<argument of a step>", text), [&](const std::string& name) -> std::optional<Nat> {
    for (const auto* all : {&program.tunables, &program.sizes})
      for (const NatVar v : *all)
        if (v.name() == name) return v;
    return std::nullopt;
  });
}

// "k = 4, n = min(a, b)", cut at the commas outside of parentheses.
Arguments argumentsOf(const std::string& text, const Program& program, const std::string& line) {
  Arguments arguments;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); i++) {
    const char c = i < text.size() ? text[i] : ',';
    depth += (c == '(') - (c == ')');
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string part = text.substr(begin, i - begin);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) malformed(line);
    arguments.emplace(trimmed(part.substr(0, equals)), sizeOf(part.substr(equals + 1), program));
    begin = i + 1;
  }
  return arguments;
}

}  // namespace

std::string Step::str() const {
  std::string out = rule;
  if (!arguments.empty()) {
    std::vector<std::string> parts;
    for (const auto& [name, value] : arguments) parts.push_back(fmt::format("{} = {}", name, value.str()));
    out += fmt::format("({})", fmt::join(parts, ", "));
  }
  return fmt::format("{} at {}", out, pathText(path));
}

std::string Derivation::str() const {
  std::string out;
  for (const Step& s : steps) out += s.str() + "\n";
  return out;
}

std::string Derivation::record() const {
  std::string out = str();
  const auto isUsed = [&](const std::string& rule) {
    return std::ranges::any_of(steps, [&](const Step& s) { return s.rule == rule; });
  };
  for (const auto& [name, text] : rules)
    if (isUsed(name)) out += fmt::format("{} {}: {}\n", comment, name, text);  // others were undone
  return out;
}

Derivation Derivation::parse(const std::string& text, const Program& program) {
  Derivation out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with(comment)) continue;
    Step step;
    const std::size_t at = line.rfind(" at ");
    if (at == std::string::npos) malformed(line);
    const std::string path = line.substr(at + 4);
    if (path != ".")
      for (const char c : path) {
        if (c != '0' && c != '1') malformed(line);
        step.path.push_back(static_cast<std::uint8_t>(c - '0'));
      }
    step.rule = line.substr(0, at);
    if (const std::size_t open = step.rule.find('('); open != std::string::npos) {
      if (step.rule.back() != ')') malformed(line);
      step.arguments = argumentsOf(step.rule.substr(open + 1, step.rule.size() - open - 2), program, line);
      step.rule.resize(open);
    }
    out.steps.push_back(std::move(step));
  }
  return out;
}

Program replay(const Program& start, const Derivation& derivation,
               const std::function<void(const Step&, const Program&)>& after) {
  if (derivation.steps.empty()) return start;
  Rewriting rewriting(start);
  for (std::size_t i = 0; i < derivation.steps.size(); i++) {
    const Step& step = derivation.steps[i];
    if (!rewriting.tryApply(at(step.path, use(step.rule, step.arguments))))
      throw UserError(ExitStatus::program,
                      fmt::format("step {} of the derivation, {}, does not apply", i + 1, step.str()));
    if (after) after(step, rewriting.program());
  }
  return rewriting.program();
}

}  // namespace lift::rewrite
