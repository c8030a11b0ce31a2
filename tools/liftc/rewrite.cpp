// Subcommands of rewriting: rules, rewrite.
#include "lift/rewrite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "budget.hpp"
#include "common.hpp"
#include "lift/diagnostic.hpp"
#include "lift/explore.hpp"
#include "lift/files.hpp"
#include "lift/rewrite_check.hpp"
#include "lift/source.hpp"
#include "lift/space.hpp"
#include "lift/terms.hpp"
#include "lift/text.hpp"

namespace lift::liftc {
namespace {

using namespace rewrite;

// What a rule needs of sizes and functions, in words.
std::vector<std::string> needsOf(const Rule& rule) {
  std::vector<std::string> needs;
  for (const auto& c : rule.typed().required)
    if (holds(c) != Truth::proved) needs.push_back(c.str());
  if (rule.when() != When::always) needs.emplace_back(meaning(rule.when()));
  return needs;
}

std::string signatureOf(const Rule& rule) {
  if (rule.tunables().empty()) return rule.name();
  return fmt::format("{}({})", rule.name(), fmt::join(rule.tunables(), ", "));
}

Json toJson(const RuleTable& table, const Rule& rule) {
  return {{"table", table.name},         {"name", rule.name()},    {"rule", rule.text()},
          {"tunables", rule.tunables()}, {"needs", needsOf(rule)}, {"origin", rule.origin()}};
}

void show(const Rule& rule) {
  std::cout << fmt::format("  {}\n      {}\n", signatureOf(rule), rule.text());
  const auto needs = needsOf(rule);
  if (!needs.empty()) std::cout << fmt::format("      needs {}\n", fmt::join(needs, ", "));
  std::cout << fmt::format("      from {}\n", rule.origin());
}

// The instance as two programs, for `liftc eval`.
std::string reproducer(const Rule& rule, const Disagreement& d) {
  std::string out = fmt::format("rule '{}' is wrong: {}\n  {}\n", rule.name(), d.what, rule.text());
  out += fmt::format("-- before; inputs are those of --fill random:{}\n{}", d.fill, lift::print(d.before));
  if (d.after) out += fmt::format("-- after\n{}", lift::print(*d.after));
  return out;
}

Json checked(const Rule& rule, const CheckOptions& options, ExitStatus& worst) {
  const CheckResult r = checkRule(rule, options);
  if (r.disagreement) {
    worst = ExitStatus::wrong;
    std::cerr << "error: " << reproducer(rule, *r.disagreement);
  } else if (r.samples < options.samples) {
    if (worst == ExitStatus::ok) worst = ExitStatus::program;
    std::cerr << fmt::format("error: only {} instances of rule '{}' were found\n", r.samples, rule.name());
  }
  return {
      {"name", rule.name()}, {"samples", r.samples}, {"draws", r.draws}, {"exact", r.exact}, {"ok", !r.disagreement}};
}

// One of the rules that the user gave, else of the tables.
const Rule& ruleNamed(const std::string& name, const std::vector<Rule>& given) {
  const auto own = std::ranges::find_if(given, [&](const Rule& r) { return r.name() == name; });
  return own == given.end() ? rewrite::ruleNamed(name) : *own;
}

// "mapSplit(k = 4)", perhaps " at 0110".
Step parseStep(const std::string& text, const Program& program, bool& placed) {
  placed = text.find(" at ") != std::string::npos;
  return Derivation::parse(placed ? text : text + " at .", program).steps.at(0);
}

void printTable(const explore::Exploration& e, std::size_t top) {
  std::cout << fmt::format("{} programs derived, {} run: {} slow, {} failed, {} wrong; ended: {}\n", e.derived, e.run,
                           e.slow, e.failed, e.wrong, e.ended);
  const auto row = [&](double milliseconds, const std::string& moves) {
    std::cout << fmt::format("{:10.3f} ms {:8.1f} x  {}\n", milliseconds, e.defaultMilliseconds / milliseconds, moves);
  };
  row(e.defaultMilliseconds, "default lowering");
  for (std::size_t i = 0; i < std::min(top, e.ranking.size()); i++)
    row(e.ranking[i].milliseconds, fmt::format("{}", fmt::join(e.ranking[i].derived.moves, "; ")));
}

Json toJson(const explore::Exploration& e, std::size_t top) {
  Json ranking = Json::array();
  for (std::size_t i = 0; i < std::min(top, e.ranking.size()); i++) {
    const explore::Candidate& c = e.ranking[i];
    ranking.push_back({{"ms", c.milliseconds},
                       {"factor", e.defaultMilliseconds / c.milliseconds},
                       {"moves", c.derived.moves},
                       {"derivation", c.derived.derivation().str()}});
  }
  return {{"derived", e.derived},
          {"candidates", e.run},
          {"slow", e.slow},
          {"failed", e.failed},
          {"wrong", e.wrong},
          {"ended", e.ended},
          {"default_ms", e.defaultMilliseconds},
          {"ranking", ranking}};
}

struct RewriteOptions {
  ProgramOptions program;
  DataOptions data;
  DeviceOptions device;
  bool exploring = false, json = false;
  int depth = 4, top = 5, candidates = 200;
  std::string best, timeLimit;
  std::vector<std::string> rules, steps, values;
  std::string derivation, place;
  bool everywhere = false, map = false, check = false, trace = false, derive = false;
  CheckOptions checking;

  int run() const;

 private:
  int runExplore() const;
  void checkGiven(const std::vector<Rule>& given) const;
  Strategy placed(const Strategy& s) const;
  std::set<std::string> replayFile(Rewriting& rewriting, const std::vector<Rule>& given) const;
  void print(const Rewriting& rewriting, const std::vector<Rule>& given) const;
};

// Applies the strategy at each place of the term, from the leaves up, but not within its results: so it always ends.
// A rule that copies what it is applied to makes a term that grows exponentially.
Strategy eachPlace(Strategy s) {
  return [s = std::move(s)](Expr e, Rewriting& r) -> std::optional<Expr> {
    constexpr std::size_t most = 200'000;
    std::unordered_map<Expr, std::size_t> sizes;
    bool any = false;
    const std::function<std::optional<Expr>(Expr)> walk = [&](Expr term) {
      term = *all([&](Expr child, Rewriting&) { return walk(child); })(term, r);
      const auto changed = s(term, r);
      any = any || changed;
      if (changed && treeSize(*changed, most, sizes) > most)
        throw UserError(ExitStatus::program,
                        fmt::format("--everywhere: the program would have more than {} parts", most),
                        "the rule copies what it is applied to: apply it at one place, --at");
      return changed ? changed : std::optional(term);
    };
    const auto result = walk(e);
    return any ? result : std::nullopt;
  };
}

Strategy RewriteOptions::placed(const Strategy& s) const {
  if (everywhere) return eachPlace(s);
  if (place.empty()) return topDown(s);
  return at(Derivation::parse("rule at " + place, {}).steps.at(0).path, s);
}

// s, which applies that rule alone: where no term has its form, the message says what that is.
Strategy ofRule(const Rule& rule, Strategy s) {
  return [text = rule.text(), name = rule.name(), s = std::move(s)](Expr e, Rewriting& r) {
    int depth = 0;
    std::size_t end = 0;  // of the left side: arrows within are those of functions in parentheses
    for (; end < text.size() && (depth > 0 || text.compare(end, 4, " => ") != 0); end++)
      depth += (text[end] == '(' || text[end] == '[') - (text[end] == ')' || text[end] == ']');
    r.miss(fmt::format("rule '{}' applies to terms of the form {}", name, text.substr(0, end)));
    return s(e, r);
  };
}

void RewriteOptions::checkGiven(const std::vector<Rule>& given) const {
  for (const Rule& rule : given) {
    const CheckResult r = checkRule(rule, checking);
    if (r.disagreement) throw UserError(ExitStatus::wrong, reproducer(rule, *r.disagreement));
    if (r.samples < checking.samples)
      throw UserError(ExitStatus::program,
                      fmt::format("only {} instances of the rule '{}' were found", r.samples, rule.text()));
    std::cerr << fmt::format("{}: {} instances, all equal\n", rule.text(), r.samples);
  }
}

// The names of the rules that the derivation uses.
std::set<std::string> RewriteOptions::replayFile(Rewriting& rewriting, const std::vector<Rule>& given) const {
  std::set<std::string> used;
  for (const Step& s : Derivation::parse(readInput(derivation), rewriting.program()).steps) {
    const Rule& rule = ruleNamed(s.rule, given);
    rewriting.apply(ofRule(rule, at(s.path, use(rule, s.arguments))));
    used.insert(s.rule);
  }
  return used;
}

void RewriteOptions::print(const Rewriting& rewriting, const std::vector<Rule>& given) const {
  if (derive) {
    std::cout << rewriting.derivation().str();
    return;
  }
  if (trace)
    for (const Step& s : rewriting.derivation().steps)
      std::cout << fmt::format("-- {}\n-- {}\n", s.str(), ruleNamed(s.rule, given).text());
  const std::string text = lift::print(rewriting.program());
  try {
    static_cast<void>(parseProgram(*addSource("<rewritten>", text)));
  } catch (const UserError& e) {  // of lengths that are equal under conditions, for which the language has no words
    throw UserError(ExitStatus::program,
                    "the rewritten program would not read back: " + e.diagnostics().front().message,
                    "give its sizes values, --size NAME=VALUE, or print the derivation, --derive");
  }
  std::cout << text;
}

int RewriteOptions::runExplore() const {
  DataOptions filled = data;
  if (filled.fill.empty()) filled.fill = "random:1";
  const Program read = program.read();
  const Inputs inputs = makeInputs(read, program.values(), filled);
  const auto opened = device.open();
  explore::Options options;
  options.depth = depth;
  options.candidates = candidates;
  if (!timeLimit.empty()) options.seconds = secondsOf(timeLimit, "--time-limit");
  options.compile.maxGroupSize = static_cast<std::int64_t>(opened->info().maxWorkGroupSize);
  options.compile.target = parseDeviceLimits(opened->info().toJson()).target;
  if (!data.quiet) options.progress = [](const std::string& text) { std::cerr << text << std::endl; };
  const InterruptGuard guard;
  options.stop = InterruptGuard::isInterrupted;
  const auto result = explore::explore(atSizes(read, inputs.sizes), *opened, inputs.tensors, options);
  if (json) {
    Json report{{"program", read.name}, {"device", opened->info().name}};
    report.update(toJson(result, static_cast<std::size_t>(top)));
    printJson(report);
  } else {
    printTable(result, static_cast<std::size_t>(top));
  }
  if (!best.empty() && !result.ranking.empty()) writeFile(best, result.ranking[0].derived.derivation().str());
  return InterruptGuard::isInterrupted() ? interruptedStatus : 0;
}

int RewriteOptions::run() const {
  if (exploring) return runExplore();
  std::vector<Rule> given;
  given.reserve(rules.size());  // strategies refer to them
  for (const std::string& text : rules)
    given.emplace_back(rules.size() == 1 ? "given" : fmt::format("given{}", given.size() + 1), text);
  if (check) checkGiven(given);
  Rewriting rewriting(program.readAtValues());
  std::set<std::string> replayed;
  if (!derivation.empty()) replayed = replayFile(rewriting, given);
  Arguments arguments;
  for (const auto& [name, value] : parseValues(values, "-k")) {
    if (std::ranges::none_of(given, [&](const Rule& r) { return std::ranges::count(r.tunables(), name) > 0; }))
      throw UserError(ExitStatus::usage, fmt::format("-k: no --rule leaves a size '{}' to choose", name));
    arguments.emplace(name, Nat(value));
  }
  for (const Rule& rule : given) {
    if (replayed.count(rule.name())) continue;
    Arguments own;
    for (const std::string& tunable : rule.tunables())
      if (const auto found = arguments.find(tunable); found != arguments.end()) own.insert(*found);
    rewriting.apply(ofRule(rule, placed(use(rule, own))));
  }
  for (const std::string& text : steps) {
    bool hasPlace = false;
    const Step step = parseStep(text, rewriting.program(), hasPlace);
    const Rule& rule = ruleNamed(step.rule, given);
    const Strategy used = use(rule, step.arguments);
    rewriting.apply(ofRule(rule, hasPlace ? at(step.path, used) : placed(used)));
  }
  if (map) rewriting.apply(defaultMapping(rewriting.program()));
  print(rewriting, given);
  return 0;
}

}  // namespace

void addRules(cli::App& app, int& status) {
  struct Options {
    std::string table;
    bool json = false, check = false;
    CheckOptions checking;
  };
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand("rules", "List the rewrite rules, or check them on random instances");
  sub->add_option("--table", o->table, "Only this table");
  sub->add_flag("--json", o->json, "Print as JSON");
  sub->add_flag("--check", o->check, "Apply every rule to random instances; exit status 4 when one changes a value");
  sub->add_option("--samples", o->checking.samples, "Instances of each rule, exit status 1 when fewer are found")
      ->positive()
      ->capture_default_str();
  sub->add_option("--seed", o->checking.seed, "Of the instances")->capture_default_str();
  onCall(*sub, status, [o] {
    Json all = Json::array();
    ExitStatus worst = ExitStatus::ok;
    for (const RuleTable& table : ruleTables()) {
      if (!o->table.empty() && o->table != table.name) continue;
      if (!o->json && !o->check) std::cout << fmt::format("{}: {}\n", table.name, table.meaning);
      for (const Rule& rule : table.rules) {
        const Json row = o->check ? checked(rule, o->checking, worst) : toJson(table, rule);
        all.push_back(row);
        if (o->json) continue;
        if (o->check)
          std::cout << fmt::format("{:<28}{:>6} of {:>6} draws{}\n", rule.name(), row["samples"], row["draws"],
                                   row["ok"].get<bool>() ? "" : "  WRONG")
                    << std::flush;
        else
          show(rule);
      }
    }
    if (all.empty())
      throw UserError(ExitStatus::usage, fmt::format("there is no table '{}'", o->table), "`liftc rules` lists them");
    if (o->json) printJson(all);
    return static_cast<int>(worst);
  });
}

void addRewrite(cli::App& app, int& status) {
  auto o = std::make_shared<RewriteOptions>();
  cli::App* sub = app.add_subcommand("rewrite", "Rewrite a program by rules; the text that is printed parses back");
  o->program.add(*sub);
  sub->add_option("--rule", o->rules, "A rule of your own, 'left => right': applied unless --derivation uses it")
      ->type_name("RULE");
  sub->add_option("-k", o->values, "Value of a size that only the right side of --rule has")->type_name("NAME=VALUE");
  sub->add_flag("--check", o->check, "Check --rule on random instances first; exit status 4 when it is wrong");
  sub->add_option("--samples", o->checking.samples, "Instances for --check")->positive();
  sub->add_option("--seed", o->checking.seed, "Seed for --check");
  sub->add_option("--apply", o->steps, "A step, 'mapSplit(k = 4)', perhaps with its place, 'mapSplit(k = 4) at 10'")
      ->type_name("STEP");
  auto* place =
      sub->add_option("--at", o->place, "Apply only there: 0 is a function or body, 1 an argument, . the root");
  sub->add_flag("--everywhere", o->everywhere, "Apply wherever it fits, not only at the first place")->excludes(place);
  sub->add_option("--derivation", o->derivation, "Replay the steps in this file first")->type_name("FILE");
  sub->add_flag("--map", o->map, "Then the default mapping of what does not say where it runs");
  sub->add_flag("--trace", o->trace, "Print every step and its rule, as comments before the program");
  sub->add_flag("--derive", o->derive, "Print the derivation instead of the program");
  auto* exploring = sub->add_flag("--explore", o->exploring, "Derive programs without a script, run them, rank them");
  for (const char* scripted : {"--rule", "--apply", "--derivation", "--map"})
    exploring->excludes(sub->get_option(scripted));
  sub->add_option("--depth", o->depth, "With --explore: moves of a derivation, before lowering")
      ->range(0, 12)
      ->needs(exploring)
      ->capture_default_str();
  sub->add_option("--top", o->top, "With --explore: how many of the ranking are printed")
      ->positive()
      ->needs(exploring)
      ->capture_default_str();
  sub->add_option("--candidates", o->candidates, "With --explore: programs that are run at most")
      ->positive()
      ->needs(exploring)
      ->capture_default_str();
  sub->add_option("--time-limit", o->timeLimit, "With --explore: ends with the best so far, after 90s, 10m, 2h")
      ->needs(exploring)
      ->type_name("TIME");
  sub->add_option("--best", o->best, "With --explore: write the fastest program's derivation to this file")
      ->needs(exploring)
      ->type_name("FILE");
  sub->add_option("-i,--input", o->data.inputs, "With --explore: input tensor NAME=FILE, or an .npz of several")
      ->needs(exploring)
      ->type_name("NAME=FILE");
  sub->add_option("--fill", o->data.fill, "With --explore: contents of other inputs (random:1)")->needs(exploring);
  sub->add_flag("-q,--quiet", o->data.quiet, "With --explore: no progress")->needs(exploring);
  sub->add_flag("--json", o->json, "With --explore: the ranking with derivations as JSON")->needs(exploring);
  o->device.add(*sub);
  onCall(*sub, status, [o] { return o->run(); });
}

}  // namespace lift::liftc
