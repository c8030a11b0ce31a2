#include "lift/cook_toom.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "lift/diagnostic.hpp"

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

std::vector<Rational> defaultPoints(int m, int r) {
  // Of six points 5/8 and 3/2 are better than 1 and 2; of more, pairs a and 1 / a.
  static const std::vector<Rational> pairs = {1, 2, {1, 2}, {3, 2}, {2, 3}, 3, {1, 3}, 4, {1, 4}};
  static const std::vector<Rational> five = {{5, 8}, {3, 2}};
  const int count = m + r - 2;
  const auto& from = count == 4 || count == 5 ? five : pairs;
  std::vector<Rational> points;
  if (count > 0) points.emplace_back(0);
  for (const Rational& a : from)
    for (const Rational& p : {a, -a})
      if (static_cast<int>(points.size()) < count) points.push_back(p);
  if (static_cast<int>(points.size()) < count)
    throw UserError(ExitStatus::program, fmt::format("no points are known for F({}, {})", m, r));
  return points;
}

// With the products s = G g and t = BT d, each rounded with relative error u, the error of y = AT (s ⊙ t) is of the
// size u times the norms of the rows: for random g and d of unit variance the variance of a product is that of the row
// of G times that of the row of BT, and an output's error is the root of the sum over products of AT² · |G|² · |BT|²,
// where a direct sum of r products has r. In two dimensions the factors multiply.
double amplification(const CookToom& f, int dimensions) {
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
  return std::pow(worst, dimensions);
}

// -------------------------------------------------------------------------------------------------------------- text

namespace {

// A number that f32 holds exactly, or the quotient of two.
std::string number(const Rational& value) {
  constexpr std::int64_t exact = std::int64_t{1} << 24;
  const auto odd = [](std::int64_t x) {
    while (x != 0 && x % 2 == 0) x /= 2;
    return std::abs(x);
  };
  if (odd(value.numerator()) >= exact || odd(value.denominator()) >= exact)
    throw UserError(ExitStatus::program,
                    fmt::format("the coefficient {} is no quotient of numbers that f32 holds", value.str()),
                    "choose points with smaller numerators and denominators");
  const auto text = [](double x) {
    const std::string digits = fmt::format("{}", x);
    return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
  };
  if (odd(value.denominator()) == 1) return text(value.toDouble());
  return fmt::format("({} / {})", text(static_cast<double>(value.numerator())),
                     text(static_cast<double>(value.denominator())));
}

struct Term {
  Rational factor;
  std::string of;
};

// "a - 2.0 * b", of one term or more.
std::string sumOf(const std::vector<Term>& terms) {
  std::string out;
  for (const Term& t : terms) {
    const bool negative = t.factor.numerator() < 0;
    const Rational size = negative && !out.empty() ? -t.factor : t.factor;
    if (!out.empty()) out += negative ? " - " : " + ";
    if (size == Rational(1) || size == Rational(-1))
      out += (size == Rational(1) ? "" : "-") + t.of;
    else
      out += fmt::format("{} * {}", number(size), t.of);
  }
  return out;
}

// Rows of sums with names for what they share.
class Sharing {
 public:
  explicit Sharing(const Matrix& matrix) : rows_(matrix.size()) {
    std::vector<std::size_t> open;
    for (std::size_t c = 0; c < matrix[0].size(); c++) open.push_back(c);
    while (!open.empty()) {
      const std::size_t c = open.front();
      open.erase(open.begin());
      const auto partner =
          std::find_if(open.begin(), open.end(), [&](std::size_t other) { return areOpposite(matrix, c, other); });
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
    for (const auto& row : rows_) results.push_back(sumOf(row));
    return fmt::format("{}[{}]", out, fmt::join(results, ", "));
  }

 private:
  static std::string input(std::size_t c) { return fmt::format("x[{}]", c); }

  // Whether the columns are equal or opposite in every row, and both in some: then sum and difference serve all rows.
  static bool areOpposite(const Matrix& m, std::size_t a, std::size_t b) {
    int equal = 0, opposite = 0;
    for (const auto& row : m) {
      if (row[a] == Rational(0) && row[b] == Rational(0)) continue;
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

  void column(const Matrix& m, std::size_t c) {
    for (std::size_t r = 0; r < m.size(); r++)
      if (m[r][c] != Rational(0)) rows_[r].push_back({m[r][c], input(c)});
  }

  void pair(const Matrix& m, std::size_t a, std::size_t b) {
    const std::string sum = name(fmt::format("{} + {}", input(a), input(b)));
    const std::string difference = name(fmt::format("{} - {}", input(a), input(b)));
    for (std::size_t r = 0; r < m.size(); r++)
      if (m[r][a] != Rational(0)) rows_[r].push_back({m[r][a], m[r][a] == m[r][b] ? sum : difference});
  }

  // Row i and a later one that is e + o and e - o, or the opposite, where row i is e + o: names for e and o.
  void share(std::size_t i) {
    for (std::size_t j = i + 1; j < rows_.size(); j++) {
      if (rows_[i].size() != rows_[j].size() || rows_[i].size() < 3) continue;
      for (const Rational sign : {Rational(1), Rational(-1)}) {
        std::vector<Term> even, odd;
        for (std::size_t k = 0; k < rows_[i].size(); k++) {
          const Term &a = rows_[i][k], &b = rows_[j][k];
          if (a.of != b.of) break;
          if (a.factor == b.factor * sign) even.push_back(a);
          if (a.factor == -b.factor * sign) odd.push_back(a);
        }
        if (even.empty() || odd.empty() || even.size() + odd.size() != rows_[i].size()) continue;
        const std::string e = name(sumOf(even)), o = name(sumOf(odd));
        rows_[i] = {{1, e}, {1, o}};
        rows_[j] = {{sign, e}, {-sign, o}};
        return;
      }
    }
  }

  std::vector<std::vector<Term>> rows_;
  std::vector<std::pair<std::string, std::string>> names_;
};

// The map of both dimensions of an array, by columns, then by rows. What is between them has a name.
std::string linearMap2D(const Matrix& matrix) {
  const std::string f = linearMap(matrix);
  return fmt::format("fun xs => let ys = map({0}, transpose(xs)) in map({0}, transpose(ys))", f);
}

std::string ruleText(const CookToom& f, int dimensions) {
  const int n = f.m + f.r - 1;
  if (dimensions == 1)
    return fmt::format(
        "map(fun w => reduce(0.0, fun (acc, (x, y)) => acc + x * y, zip(w, (g: [{r}]f32))), "
        "slide({r}, 1, (d: [{n}]f32))) => "
        "let(fun p => let({at}, p), map(fun (u, v) => u * v, zip(let({g}, g), let({bt}, d))))",
        fmt::arg("r", f.r), fmt::arg("n", n), fmt::arg("at", linearMap(f.at)), fmt::arg("g", linearMap(f.g)),
        fmt::arg("bt", linearMap(f.bt)));
  return fmt::format(
      "map(fun rows => map(fun w => reduce(0.0, fun (acc, (x, y)) => acc + x * y, "
      "zip(join(transpose(w)), join((g: [{r}][{r}]f32)))), slide({r}, 1, transpose(rows))), "
      "slide({r}, 1, (d: [{n}][{n}]f32))) => "
      "let({at}, map(fun (us, vs) => map(fun (u, v) => u * v, zip(us, vs)), zip(let({g}, g), let({bt}, d))))",
      fmt::arg("r", f.r), fmt::arg("n", n), fmt::arg("at", linearMap2D(f.at)), fmt::arg("g", linearMap2D(f.g)),
      fmt::arg("bt", linearMap2D(f.bt)));
}

constexpr std::string_view prefix1D = "cookToom<", prefix2D = "cookToom2D<";

[[noreturn]] void malformed(std::string_view name) {
  throw UserError(ExitStatus::usage, fmt::format("'{}' is no rule", name),
                  "write cookToom<4,3: 0 5/8 -5/8 3/2 -3/2>, or cookToom2D");
}

}  // namespace

std::string linearMap(const Matrix& matrix) { return "fun x => " + Sharing(matrix).text(); }

// ------------------------------------------------------------------------------------------------------------- rules

const Rule& cookToomRule(int dimensions, int m, int r, const std::vector<Rational>& points) {
  static auto& made = *new std::map<std::string, std::unique_ptr<const Rule>, std::less<>>;
  std::vector<std::string> texts;
  for (const Rational& p : points) texts.push_back(p.str());
  const std::string name =
      fmt::format("{}{},{}: {}>", dimensions == 1 ? prefix1D : prefix2D, m, r, fmt::join(texts, " "));
  std::unique_ptr<const Rule>& rule = made[name];
  if (!rule) {
    const std::string text = ruleText(cookToom(m, r, points), dimensions);
    rule = std::make_unique<Rule>(RuleRow{name, text, "Cook-Toom at these points and infinity", When::rounds});
  }
  return *rule;
}

bool isCookToomName(std::string_view name) {
  return name.substr(0, prefix1D.size()) == prefix1D || name.substr(0, prefix2D.size()) == prefix2D;
}

const Rule& cookToomNamed(std::string_view name) {
  const int dimensions = name.substr(0, prefix1D.size()) == prefix1D ? 1 : 2;
  std::string_view rest = name.substr((dimensions == 1 ? prefix1D : prefix2D).size());
  if (rest.empty() || rest.back() != '>') malformed(name);
  rest.remove_suffix(1);
  const std::size_t comma = rest.find(','), colon = rest.find(':');
  if (comma == std::string_view::npos || colon == std::string_view::npos || comma > colon) malformed(name);
  const auto m = Rational::parse(rest.substr(0, comma)), r = Rational::parse(rest.substr(comma + 1, colon - comma - 1));
  constexpr std::int64_t most = 16;
  for (const auto& size : {m, r})
    if (!size || size->denominator() != 1 || size->numerator() < 1 || size->numerator() > most) malformed(name);
  std::vector<Rational> points;
  for (rest = rest.substr(colon + 1); !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    if (end > 0) {
      const auto p = Rational::parse(rest.substr(0, end));
      if (!p) malformed(name);
      points.push_back(*p);
    }
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return cookToomRule(dimensions, static_cast<int>(m->numerator()), static_cast<int>(r->numerator()), points);
}

}  // namespace lift::rewrite
