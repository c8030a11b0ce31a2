#include "lift/reduce.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "lift/diagnostic.hpp"
#include "lift/source.hpp"
#include "lift/text.hpp"

namespace lift {
namespace {

using Parts = std::vector<std::string>;
using TextFails = std::function<bool(const std::string&)>;

std::string joined(const Parts& parts) {
  std::string text;
  for (const std::string& p : parts) text += p;
  return text;
}

// Lines with their ends.
Parts linesOf(const std::string& text) {
  Parts lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size() - 1);
    lines.push_back(text.substr(at, end + 1 - at));
    at = end + 1;
  }
  return lines;
}

// Words, numbers and single other characters, each with the white space before it.
Parts wordsOf(const std::string& text) {
  const auto isWord = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  const auto isSpace = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  Parts words;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && isSpace(text[end])) end++;
    if (end < text.size() && !isWord(text[end]))
      end++;
    else
      while (end < text.size() && isWord(text[end])) end++;
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// The values to try in place of a number, the smallest first.
std::vector<std::int64_t> smaller(std::int64_t value) {
  std::vector<std::int64_t> values;
  for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, value / 4, value / 2, value - 1})
    if (v >= 0 && v < value && (values.empty() || values.back() < v)) values.push_back(v);
  return values;
}

// ------------------------------------------------------------------------------------------------------------ programs

std::optional<Program> parsed(const std::string& text) {
  try {
    return parseProgram(*addSource("reduced.lift", text));
  } catch (const UserError&) {
    return std::nullopt;
  }
}

// Terms within terms, and what is bound where they stand.
struct Place {
  Expr term;
  std::vector<Expr> scope;
};

// All terms within one, each once, those nearer to the root first.
std::vector<Place> placesIn(Expr root, const std::vector<Expr>& parameters) {
  std::vector<Place> all = {{root, parameters}};
  std::unordered_set<Expr> seen = {root};
  const auto add = [&](Expr term, std::vector<Expr> scope) {
    if (seen.insert(term).second) all.push_back({term, std::move(scope)});
  };
  for (std::size_t i = 0; i < all.size(); i++) {
    const Place at = all[i];
    if (at.term.isLambda()) {
      std::vector<Expr> scope = at.scope;
      scope.push_back(at.term.parameter());
      add(at.term.body(), std::move(scope));
    } else if (at.term.isApply()) {
      add(at.term.function(), at.scope);
      add(at.term.argument(), at.scope);
    }
  }
  return all;
}

Expr replaced(Expr e, Expr from, Expr to, std::unordered_map<Expr, Expr>& done) {
  if (e == from) return to;
  if (!e.isLambda() && !e.isApply()) return e;
  if (const auto found = done.find(e); found != done.end()) return found->second;
  const Expr result = e.isLambda()
                          ? Expr::lambda(e.parameter(), replaced(e.body(), from, to, done))
                          : Expr::apply(replaced(e.function(), from, to, done), replaced(e.argument(), from, to, done));
  done.emplace(e, result);
  return result;
}

bool isIn(const std::vector<Expr>& scope, Expr term) {
  return std::ranges::all_of(term.freeVariables(),
                             [&](Expr variable) { return std::ranges::find(scope, variable) != scope.end(); });
}

// The terms within one, itself not, that mean something where it stands.
std::vector<Expr> partsOf(const Place& place) {
  std::vector<Expr> parts;
  for (const Place& p : placesIn(place.term, {}))
    if (p.term != place.term && isIn(place.scope, p.term)) parts.push_back(p.term);
  return parts;
}

std::vector<Expr> simplerTerms(const Place& place) {
  std::vector<Expr> terms;
  const Type type = place.term.type();
  if (place.term.isVariable()) return terms;
  if (type.isScalar() && !place.term.isLiteral()) terms.push_back(Expr::literal(ScalarValue::of(type.scalar(), 0)));
  for (const Expr variable : place.scope)
    if (variable.type() == type) terms.push_back(variable);
  for (const Expr part : partsOf(place))
    if (part.type() == type) terms.push_back(part);
  return terms;
}

class ProgramReduction {
 public:
  ProgramReduction(std::string text, const TextFails& fails) : text_(std::move(text)), fails_(fails) {}

  std::string run() {
    while (takePart() || dropParameter() || simplify() || shrinkNumber()) continue;
    return text_;
  }

 private:
  // The program that the text is now.
  Program program() const { return *parsed(text_); }

  bool accept(const std::string& text) {
    if (!tried_.insert(text).second || !parsed(text) || !fails_(text)) return false;
    text_ = text;
    return true;
  }

  // Of a changed program; only shorter text is progress.
  bool acceptShorter(const Program& program) {
    std::string text;
    try {
      text = print(program);
    } catch (const InternalError&) {
      return false;  // what was left out is needed for its types
    }
    return text.size() < text_.size() && accept(text);
  }

  // A part of the result as the result.
  bool takePart() {
    const Program whole = program();
    for (const Expr part : partsOf({whole.body, whole.parameters})) {
      if (part.type().isFunction()) continue;
      Program candidate = whole;
      candidate.body = part;
      if (acceptShorter(candidate)) return true;
    }
    return false;
  }

  bool dropParameter() {
    const Program whole = program();
    for (std::size_t i = whole.parameters.size(); i-- > 0;) {
      if (whole.body.hasFree(whole.parameters[i])) continue;
      Program candidate = whole;
      candidate.parameters.erase(candidate.parameters.begin() + static_cast<std::ptrdiff_t>(i));
      if (acceptShorter(candidate)) return true;
    }
    for (std::size_t i = whole.tunables.size(); i-- > 0;) {
      Program candidate = whole;
      candidate.tunables.erase(candidate.tunables.begin() + static_cast<std::ptrdiff_t>(i));
      if (acceptShorter(candidate)) return true;
    }
    return false;
  }

  bool simplify() {
    const Program whole = program();
    for (const Place& place : placesIn(whole.body, whole.parameters))
      for (const Expr term : simplerTerms(place)) {
        Program candidate = whole;
        std::unordered_map<Expr, Expr> done;
        candidate.body = replaced(whole.body, place.term, term, done);
        if (acceptShorter(candidate)) return true;
      }
    return false;
  }

  // A number wherever it occurs, since sizes occur in several types; else one occurrence of it.
  bool shrinkNumber() {
    const Parts words = wordsOf(text_);
    std::map<std::string, std::vector<std::size_t>> numbers;
    for (std::size_t i = 0; i < words.size(); i++) {
      const auto digits = words[i].find_first_not_of(" \n\t");
      if (digits == std::string::npos) continue;
      const std::string word = words[i].substr(digits);
      if (word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos) numbers[word].push_back(i);
    }
    for (const auto& [word, places] : numbers) {
      std::vector<std::vector<std::size_t>> choices = {places};
      if (places.size() > 1)
        for (const std::size_t place : places) choices.push_back({place});
      for (const std::int64_t value : smaller(std::stoll(word)))
        for (const auto& chosen : choices) {
          Parts changed = words;
          for (const std::size_t place : chosen)
            changed[place] = words[place].substr(0, words[place].size() - word.size()) + std::to_string(value);
          if (accept(joined(changed))) return true;
        }
    }
    return false;
  }

  std::string text_;
  const TextFails& fails_;
  std::set<std::string> tried_;
};

}  // namespace

Parts reducedList(Parts parts, const std::function<bool(const Parts&)>& fails) {
  std::set<Parts> tried;
  const auto failsAnew = [&](const Parts& candidate) { return tried.insert(candidate).second && fails(candidate); };
  if (failsAnew({})) return {};
  for (std::size_t chunks = 2; parts.size() > 1;) {
    const std::size_t length = (parts.size() + chunks - 1) / chunks;
    bool smaller = false;
    for (std::size_t begin = 0; begin < parts.size() && !smaller; begin += length) {
      const auto first = parts.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = parts.begin() + static_cast<std::ptrdiff_t>(std::min(begin + length, parts.size()));
      const Parts only(first, last);
      Parts without(parts.begin(), first);
      without.insert(without.end(), last, parts.end());
      if (chunks > 2 || parts.size() == 2) smaller = failsAnew(without);
      if (smaller) {
        parts = without;
        chunks = std::max<std::size_t>(2, chunks - 1);
      } else if (failsAnew(only)) {
        parts = only;
        chunks = 2;
        smaller = true;
      }
    }
    if (smaller) continue;
    if (chunks >= parts.size()) break;
    chunks = std::min(parts.size(), 2 * chunks);
  }
  return parts;
}

std::string reducedText(const std::string& text, const TextFails& fails) {
  const auto failsJoined = [&](const Parts& parts) { return fails(joined(parts)); };
  const std::string fewerLines = joined(reducedList(linesOf(text), failsJoined));
  return joined(reducedList(wordsOf(fewerLines), failsJoined));
}

std::string reducedProgram(const std::string& text, const TextFails& fails) {
  const auto program = parsed(text);
  const std::string printed = program ? print(*program) : "";
  if (!program || !parsed(printed) || !fails(printed)) return reducedText(text, fails);
  return ProgramReduction(printed, fails).run();
}

Config reducedConfig(Config config, const std::function<bool(const Config&)>& fails) {
  std::set<Config> tried = {config};
  const auto accept = [&](const Config& candidate) {
    if (!tried.insert(candidate).second || !fails(candidate)) return false;
    config = candidate;
    return true;
  };
  const auto step = [&] {
    for (const auto& [name, value] : config) {
      Config without = config;
      without.erase(name);
      if (accept(without)) return true;
    }
    for (const auto& [name, value] : config)
      for (const std::int64_t v : smaller(value)) {
        Config candidate = config;
        candidate[name] = v;
        if (accept(candidate)) return true;
      }
    return false;
  };
  while (step()) continue;
  return config;
}

}  // namespace lift
