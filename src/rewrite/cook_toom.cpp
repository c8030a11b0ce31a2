#include "lift/cook_toom.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>

#include "lift/diagnostic.hpp"
#include "lift/listed.hpp"

namespace lift::rewrite {

// --------------------------------------------------------------------------------------------------------- matrices

namespace {

// The coefficients of the product of x - a over the points, but for one of them; lowest first.
std::vector<Rational> polynomial(const std::vector<Rational>& points, std::size_t without) {
  std::vector<Rational> p = {1};
  for (std::size_t k = 0; k < points.size(); k++) {
    if (k == without) continue;
    p.push_back(0);
    for (std::size_t i = p.size() - 1; i > 0; i--) p[i] = p[i - 1] - points[k] * p[i];
    p[0] = -points[k] * p[0];
  }
  return p;
}

std::vector<Rational> powers(Rational a, int count) {
  std::vector<Rational> row = {1};
  while (static_cast<int>(row.size()) < count) row.push_back(row.back() * a);
  return row;
}

}  // namespace

CookToom cookToom(int m, int r, const std::vector<Rational>& points) {
  if (m < 1 || r < 1) throw UserError(ExitStatus::program, fmt::format("there is no algorithm F({}, {})", m, r));
  const auto n = static_cast<std::size_t>(m + r - 1);
  bool distinct = true;
  for (std::size_t i = 0; i < points.size(); i++)
    distinct = distinct && std::find(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(i), points[i]) ==
                               points.begin() + static_cast<std::ptrdiff_t>(i);
  if (points.size() != n - 1 || !distinct)
    throw UserError(ExitStatus::program, fmt::format("F({}, {}) takes {} different points, and infinity", m, r, n - 1));
  CookToom f{m, r, points, Matrix(static_cast<std::size_t>(m), std::vector<Rational>(n)), {}, {}};
  for (std::size_t i = 0; i + 1 < n; i++) {
    const std::vector<Rational> column = powers(points[i], m);
    for (std::size_t j = 0; j < column.size(); j++) f.at[j][i] = column[j];
    Rational divisor = 1;
    for (std::size_t k = 0; k < points.size(); k++)
      if (k != i) divisor = divisor * (points[i] - points[k]);
    std::vector<Rational> taps = powers(points[i], r);
    for (Rational& x : taps) x = x / divisor;
    f.g.push_back(taps);
    f.bt.push_back(polynomial(points, i));
    f.bt.back().resize(n);
  }
  f.at.back()[n - 1] = 1;
  f.g.emplace_back(static_cast<std::size_t>(r));
  f.g.back().back() = 1;
  f.bt.push_back(polynomial(points, points.size()));
  return f;
}

CookToom cookToom(int m, int r) { return cookToom(m, r, defaultPoints(m, r)); }

std::vector<std::vector<Rational>> goodPoints(int m, int r) {
  // Of six points 5/8 and 3/2 are better than 1 and 2; of more, pairs a and 1 / a.
  using Pairs = std::vector<Rational>;
  static const std::vector<Pairs> usual = {{1, 2, {1, 2}, {3, 2}, {2, 3}, 3, {1, 3}, 4, {1, 4}}};
  static const std::vector<Pairs> five = {{{5, 8}, {3, 2}}, {1, 2}, {{1, 2}, 2}, {{2, 3}, {3, 2}}};
  const int count = m + r - 2;
  std::vector<std::vector<Rational>> sets;
  for (const Pairs& pairs : count == 4 || count == 5 ? five : usual) {
    std::vector<Rational> points;
    if (count > 0) points.emplace_back(0);
    for (const Rational& a : pairs)
      for (const Rational& p : {a, -a})
        if (static_cast<int>(points.size()) < count) points.push_back(p);
    if (static_cast<int>(points.size()) < count)
      throw UserError(ExitStatus::program, fmt::format("no points are known for F({}, {})", m, r));
    sets.push_back(std::move(points));
  }
  return sets;
}

std::vector<Rational> defaultPoints(int m, int r) { return goodPoints(m, r).front(); }

// An output is the sum over the products p_i = (G g)_i (BT d)_i of AT_i p_i. Each p_i is off by some roundings relative
// to its own size; of random g and d of unit variance it has the variance |G_i|² |BT_i|². So the error of the output is
// about the root of the sum of AT_i² |G_i|² |BT_i|² where that of a direct sum of r products is √r.
double amplification(const CookToom& f) {
  const auto squares = [](const std::vector<Rational>& row) {
    double sum = 0;
    for (const Rational& x : row) sum += x.toDouble() * x.toDouble();
    return sum;
  };
  double worst = 1;
  for (const auto& output : f.at) {
    double variance = 0;
    for (std::size_t i = 0; i < output.size(); i++)
      variance += output[i].toDouble() * output[i].toDouble() * squares(f.g[i]) * squares(f.bt[i]);
    worst = std::max(worst, std::sqrt(variance / f.r));
  }
  return worst;
}

// -------------------------------------------------------------------------------------------------------------- text

namespace {

// What literals of a type hold exactly: odd factors of so many bits, and powers of two.
struct Literals {
  int bits, lowest, highest;  // exponents of powers of two
};
constexpr Literals ofFloat{24, -126, 127}, ofHalf{11, -14, 15};

// Factors of |x| that literals hold, with as many powers of two as these do.
std::vector<double> factorsOf(std::int64_t x, const Literals& literals, const Rational& of) {
  x = std::abs(x);
  const std::int64_t most = std::int64_t{1} << literals.bits;
  int twos = 0;
  for (; x % 2 == 0; x /= 2) twos++;
  std::vector<std::int64_t> odd;
  if (x < most) {
    odd = {x};
    x = 1;
  }
  for (std::int64_t d = 3; x > 1; d += 2) {
    if (d * d > x) d = x;
    if (d >= most)
      throw UserError(ExitStatus::program,
                      fmt::format("the coefficient {} is no quotient of products of numbers that {} bits hold",
                                  of.str(), literals.bits),
                      "choose points with smaller numerators and denominators");
    for (; x % d == 0; x /= d)
      if (odd.empty() || odd.back() * d >= most)
        odd.push_back(d);
      else
        odd.back() *= d;
  }
  std::vector<double> factors(odd.begin(), odd.end());
  for (std::size_t i = 0; twos > 0; i++) {
    if (i == factors.size()) factors.push_back(1);
    const int more = std::min(twos, literals.highest - std::ilogb(factors[i]));
    factors[i] = std::ldexp(factors[i], more);
    twos -= more;
  }
  return factors;
}

// A literal, or a quotient of products of such.
std::string number(const Rational& value, const Literals& literals) {
  const auto text = [](double x) {
    const std::string digits = fmt::format("{}", x);
    return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
  };
  const auto isPower = [](std::int64_t x) { return (x & (x - 1)) == 0; };
  if (value == Rational(0)) return text(0);
  std::vector<double> above = factorsOf(value.numerator(), literals, value);
  if (isPower(value.denominator()) && above.size() == 1 && std::ilogb(value.toDouble()) >= literals.lowest)
    return text(value.toDouble());
  if (value.numerator() < 0) above[0] = -above[0];
  std::string out = listed(above, text, " * ");
  for (const double x : factorsOf(value.denominator(), literals, value)) out += " / " + text(x);
  return fmt::format("({})", out);
}

// An entry of a matrix, in each of the algorithms to choose from.
using Coefficient = std::vector<Rational>;
using Matrices = std::vector<std::vector<Coefficient>>;

bool isAll(const Coefficient& c, Rational value) {
  return std::ranges::all_of(c, [&](const Rational& x) { return x == value; });
}

Coefficient operator-(Coefficient c) {
  for (Rational& x : c) x = -x;
  return c;
}

Matrices stacked(const std::vector<CookToom>& algorithms, Matrix CookToom::*matrix) {
  Matrices out;
  for (std::size_t i = 0; i < (algorithms[0].*matrix).size(); i++) {
    out.emplace_back();
    for (std::size_t j = 0; j < (algorithms[0].*matrix)[i].size(); j++) {
      out[i].emplace_back();
      for (const CookToom& f : algorithms) out[i][j].push_back((f.*matrix)[i][j]);
    }
  }
  return out;
}

// A number, or one of a list: at the place that the rule's tunable says, or the last where the list is shorter.
std::string number(const Coefficient& c, const Literals& literals) {
  if (isAll(c, c[0])) return number(c[0], literals);
  std::vector<std::string> all;
  for (const Rational& x : c) all.push_back(number(x, literals));
  return fmt::format("[{}][(min(points, {}) - 1 : nat)]", fmt::join(all, ", "), c.size());
}

struct Term {
  Coefficient factor;
  std::string of;
};

// "a - 2.0 * b", of one term or more; begun with one that is added, if there is one.
std::string sumOf(std::vector<Term> terms, const Literals& literals) {
  const auto isAdded = [](const Term& t) { return t.factor[0].numerator() > 0; };
  if (const auto first = std::ranges::find_if(terms, isAdded); first != terms.end())
    std::rotate(terms.begin(), first, first + 1);
  std::string out;
  for (const Term& t : terms) {
    const bool negative = t.factor[0].numerator() < 0;
    const Coefficient size = negative && !out.empty() ? -t.factor : t.factor;
    if (!out.empty()) out += negative ? " - " : " + ";
    if (isAll(size, 1) || isAll(size, -1))
      out += (isAll(size, 1) ? "" : "-") + t.of;
    else
      out += fmt::format("{} * {}", number(size, literals), t.of);
  }
  return out;
}

// Rows of sums with names for what they share.
class Sharing {
 public:
  Sharing(const Matrices& matrix, const Literals& literals) : literals_(literals), rows_(matrix.size()) {
    std::vector<std::size_t> open;
    for (std::size_t c = 0; c < matrix[0].size(); c++) open.push_back(c);
    while (!open.empty()) {
      const std::size_t c = open.front();
      open.erase(open.begin());
      const auto partner = std::ranges::find_if(open, [&](std::size_t other) { return areOpposite(matrix, c, other); });
      if (partner == open.end()) {
        column(matrix, c);
        continue;
      }
      pair(matrix, c, *partner);
      open.erase(partner);
    }
    for (std::size_t i = 0; i < rows_.size(); i++) share(i);
  }

  std::string text() const {
    std::string out;
    for (const auto& [name, value] : names_) out += fmt::format("let {} = {} in ", name, value);
    std::vector<std::string> results;
    for (const auto& row : rows_) results.push_back(sumOf(row, literals_));
    return fmt::format("{}[{}]", out, fmt::join(results, ", "));
  }

 private:
  static std::string input(std::size_t c) { return fmt::format("x[{}]", c); }

  // Whether the columns are equal or opposite in every row, and both in some: then sum and difference serve all rows.
  static bool areOpposite(const Matrices& m, std::size_t a, std::size_t b) {
    int equal = 0, opposite = 0;
    for (const auto& row : m) {
      if (isAll(row[a], 0) && isAll(row[b], 0)) continue;
      equal += row[a] == row[b];
      opposite += row[a] == -row[b];
      if (row[a] != row[b] && row[a] != -row[b]) return false;
    }
    return equal > 0 && opposite > 0 && equal + opposite > 2;
  }

  std::string name(const std::string& value) {
    names_.emplace_back(fmt::format("s{}", names_.size()), value);
    return names_.back().first;
  }

  void column(const Matrices& m, std::size_t c) {
    for (std::size_t r = 0; r < m.size(); r++)
      if (!isAll(m[r][c], 0)) rows_[r].push_back({m[r][c], input(c)});
  }

  void pair(const Matrices& m, std::size_t a, std::size_t b) {
    const std::string sum = name(fmt::format("{} + {}", input(a), input(b)));
    const std::string difference = name(fmt::format("{} - {}", input(a), input(b)));
    for (std::size_t r = 0; r < m.size(); r++)
      if (!isAll(m[r][a], 0)) rows_[r].push_back({m[r][a], m[r][a] == m[r][b] ? sum : difference});
  }

  // Row i and a later one that is e + o and e - o, or the opposite, where row i is e + o: names for e and o.
  void share(std::size_t i) {
    for (std::size_t j = i + 1; j < rows_.size(); j++) {
      if (rows_[i].size() != rows_[j].size() || rows_[i].size() < 3) continue;
      for (const int sign : {1, -1}) {
        std::vector<Term> even, odd;
        for (std::size_t k = 0; k < rows_[i].size(); k++) {
          const Term &a = rows_[i][k], &b = rows_[j][k];
          if (a.of != b.of) break;
          if (a.factor == (sign > 0 ? b.factor : -b.factor)) even.push_back(a);
          if (a.factor == (sign > 0 ? -b.factor : b.factor)) odd.push_back(a);
        }
        if (even.empty() || odd.empty() || even.size() + odd.size() != rows_[i].size()) continue;
        const Coefficient one(even[0].factor.size(), 1);
        const std::string e = name(sumOf(even, literals_)), o = name(sumOf(odd, literals_));
        rows_[i] = {{one, e}, {one, o}};
        rows_[j] = {{sign > 0 ? one : -one, e}, {sign > 0 ? -one : one, o}};
        return;
      }
    }
  }

  const Literals& literals_;
  std::vector<std::vector<Term>> rows_;
  std::vector<std::pair<std::string, std::string>> names_;
};

std::string linearMap(const Matrices& matrix, const Literals& literals) {
  return "fun x => " + Sharing(matrix, literals).text();
}

// The map of an array's columns by one matrix, then of its rows by another. What is between them has a name.
std::string nestedMap(const Matrices& columns, const Matrices& rows, const Literals& literals) {
  return fmt::format("fun xs => let ys = map({}, transpose(xs)) in map({}, transpose(ys))",
                     linearMap(columns, literals), linearMap(rows, literals));
}

constexpr std::string_view products = "reduce(0.0, fun (acc, (x, y)) => acc + x * y, ";

using Algorithms = std::vector<CookToom>;  // to choose from, of one dimension

std::string ruleText(const Algorithms& f, const Literals& literals) {
  const auto map = [&](Matrix CookToom::*matrix) { return linearMap(stacked(f, matrix), literals); };
  return fmt::format(
      "map(fun w => {products}zip(w, (g: [{r}]float))), slide({r}, 1, (d: [{n}]float))) => "
      "let({at}, map(fun (u, v) => u * v, zip(let({g}, g), let({bt}, d))))",
      fmt::arg("products", products), fmt::arg("r", f[0].r), fmt::arg("n", f[0].m + f[0].r - 1),
      fmt::arg("at", map(&CookToom::at)), fmt::arg("g", map(&CookToom::g)), fmt::arg("bt", map(&CookToom::bt)));
}

std::string ruleText(const Algorithms& f, const Algorithms& h, const Literals& literals) {
  const auto map = [&](Matrix CookToom::*matrix) {
    return nestedMap(stacked(f, matrix), stacked(h, matrix), literals);
  };
  return fmt::format(
      "map(fun rows => map(fun w => {products}zip(join(transpose(w)), join((g: [{r}][{s}]float)))), "
      "slide({s}, 1, transpose(rows))), slide({r}, 1, (d: [{n}][{m}]float))) => "
      "let({at}, map(fun (us, vs) => map(fun (u, v) => u * v, zip(us, vs)), zip(let({g}, g), let({bt}, d))))",
      fmt::arg("products", products), fmt::arg("r", f[0].r), fmt::arg("s", h[0].r), fmt::arg("n", f[0].m + f[0].r - 1),
      fmt::arg("m", h[0].m + h[0].r - 1), fmt::arg("at", map(&CookToom::at)), fmt::arg("g", map(&CookToom::g)),
      fmt::arg("bt", map(&CookToom::bt)));
}

constexpr std::string_view prefix = "cookToom<";

[[noreturn]] void malformed(std::string_view name, const std::string& why = {}) {
  throw UserError(ExitStatus::usage, fmt::format("'{}' is no rule{}{}", name, why.empty() ? "" : ": ", why),
                  "write cookToom<4,3: 0 5/8 -5/8 3/2 -3/2>, or two algorithms with a semicolon between them");
}

std::vector<std::string_view> parts(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// "4,3: 0 1 -1 2 -2 | 0 1/2 -1/2 2 -2"
Algorithms algorithmsOf(std::string_view text, std::string_view name) {
  const std::size_t comma = text.find(','), colon = text.find(':');
  if (comma == std::string_view::npos || colon == std::string_view::npos || comma > colon) malformed(name);
  const auto size = [&](std::string_view digits) {
    while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
    const auto value = Rational::parse(digits);
    constexpr std::int64_t most = 16;
    if (!value || value->denominator() != 1 || value->numerator() < 1 || value->numerator() > most)
      malformed(name,
                fmt::format("the outputs and taps, of which '{}' is one, are integers from 1 to {}", digits, most));
    return static_cast<int>(value->numerator());
  };
  const int m = size(text.substr(0, comma)), r = size(text.substr(comma + 1, colon - comma - 1));
  Algorithms out;
  for (const std::string_view set : parts(text.substr(colon + 1), '|')) {
    std::vector<Rational> points;
    for (const std::string_view part : parts(set, ' ')) {
      const auto point = Rational::parse(part);
      if (!point)
        malformed(name, fmt::format("the point '{}' is no integer of 64 bits and no quotient of two, as -5/8", part));
      points.push_back(*point);
    }
    out.push_back(cookToom(m, r, points));
  }
  if (out.empty()) out.push_back(cookToom(m, r, {}));
  return out;
}

}  // namespace

std::string linearMap(const Matrix& matrix) {
  return linearMap(stacked({CookToom{0, 0, {}, matrix, {}, {}}}, &CookToom::at), ofFloat);
}

// ------------------------------------------------------------------------------------------------------------- rules

const Rule& cookToomRule(const std::vector<Algorithms>& dimensions) {
  ensure(dimensions.size() == 1 || dimensions.size() == 2, "filters have one dimension or two");
  static std::mutex mutex;
  static auto& made = *new std::map<std::string, std::unique_ptr<const Rule>>;
  std::vector<std::string> algorithms;
  for (const Algorithms& all : dimensions) {
    std::string text;
    for (const CookToom& f : all) {
      text += text.empty() ? fmt::format("{},{}:", f.m, f.r) : " |";
      for (const Rational& p : f.points) text += " " + p.str();
    }
    algorithms.push_back(text);
  }
  const std::string name = fmt::format("{}{}>", prefix, fmt::join(algorithms, "; "));
  const std::lock_guard lock(mutex);
  std::unique_ptr<const Rule>& rule = made[name];
  if (!rule) {
    const auto text = [&](const Literals& literals) {
      return dimensions.size() == 1 ? ruleText(dimensions[0], literals)
                                    : ruleText(dimensions[0], dimensions[1], literals);
    };
    const std::string usual = text(ofFloat), halves = text(ofHalf);
    rule = std::make_unique<Rule>(RuleRow{.name = name,
                                          .text = usual,
                                          .origin = "Cook-Toom at these points and infinity",
                                          .when = When::rounds,
                                          .halves = halves});
  }
  return *rule;
}

const Rule& cookToomRule(const std::vector<CookToom>& dimensions) {
  std::vector<Algorithms> single;
  for (const CookToom& f : dimensions) single.push_back({f});
  return cookToomRule(single);
}

bool isCookToomName(std::string_view name) { return name.substr(0, prefix.size()) == prefix; }

std::vector<Algorithms> cookToomDimensions(std::string_view name) {
  if (!isCookToomName(name) || name.back() != '>') malformed(name);
  std::vector<Algorithms> dimensions;
  for (const std::string_view part : parts(name.substr(prefix.size(), name.size() - prefix.size() - 1), ';'))
    dimensions.push_back(algorithmsOf(part, name));
  if (dimensions.empty() || dimensions.size() > 2) malformed(name);
  return dimensions;
}

const Rule& cookToomNamed(std::string_view name) { return cookToomRule(cookToomDimensions(name)); }

}  // namespace lift::rewrite
