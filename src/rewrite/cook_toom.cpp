#include "lift/cook_toom.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>

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

CookToom cookToom(int m, int r) { return cookToom(m, r, defaultPoints(m, r)); }

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

// "a - 2.0 * b", of one term or more; begun with one that is added, if there is one.
std::string sumOf(std::vector<Term> terms) {
  const auto isAdded = [](const Term& t) { return t.factor.numerator() > 0; };
  if (const auto first = std::find_if(terms.begin(), terms.end(), isAdded); first != terms.end())
    std::rotate(terms.begin(), first, first + 1);
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

// The map of an array's columns by one matrix, then of its rows by another. What is between them has a name.
std::string nestedMap(const Matrix& columns, const Matrix& rows) {
  return fmt::format("fun xs => let ys = map({}, transpose(xs)) in map({}, transpose(ys))", linearMap(columns),
                     linearMap(rows));
}

constexpr std::string_view products = "reduce(0.0, fun (acc, (x, y)) => acc + x * y, ";

std::string ruleText(const CookToom& f) {
  return fmt::format(
      "map(fun w => {products}zip(w, (g: [{r}]f32))), slide({r}, 1, (d: [{n}]f32))) => "
      "let({at}, map(fun (u, v) => u * v, zip(let({g}, g), let({bt}, d))))",
      fmt::arg("products", products), fmt::arg("r", f.r), fmt::arg("n", f.m + f.r - 1), fmt::arg("at", linearMap(f.at)),
      fmt::arg("g", linearMap(f.g)), fmt::arg("bt", linearMap(f.bt)));
}

std::string ruleText(const CookToom& f, const CookToom& h) {
  return fmt::format(
      "map(fun rows => map(fun w => {products}zip(join(transpose(w)), join((g: [{r}][{s}]f32)))), "
      "slide({s}, 1, transpose(rows))), slide({r}, 1, (d: [{n}][{m}]f32))) => "
      "let({at}, map(fun (us, vs) => map(fun (u, v) => u * v, zip(us, vs)), zip(let({g}, g), let({bt}, d))))",
      fmt::arg("products", products), fmt::arg("r", f.r), fmt::arg("s", h.r), fmt::arg("n", f.m + f.r - 1),
      fmt::arg("m", h.m + h.r - 1), fmt::arg("at", nestedMap(f.at, h.at)), fmt::arg("g", nestedMap(f.g, h.g)),
      fmt::arg("bt", nestedMap(f.bt, h.bt)));
}

constexpr std::string_view prefix = "cookToom<";

[[noreturn]] void malformed(std::string_view name) {
  throw UserError(ExitStatus::usage, fmt::format("'{}' is no rule", name),
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

// "4,3: 0 1 -1 2 -2"
CookToom algorithmOf(std::string_view text, std::string_view name) {
  const std::size_t comma = text.find(','), colon = text.find(':');
  if (comma == std::string_view::npos || colon == std::string_view::npos || comma > colon) malformed(name);
  const auto size = [&](std::string_view digits) {
    while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
    const auto value = Rational::parse(digits);
    constexpr std::int64_t most = 16;
    if (!value || value->denominator() != 1 || value->numerator() < 1 || value->numerator() > most) malformed(name);
    return static_cast<int>(value->numerator());
  };
  std::vector<Rational> points;
  for (const std::string_view part : parts(text.substr(colon + 1), ' ')) {
    const auto point = Rational::parse(part);
    if (!point) malformed(name);
    points.push_back(*point);
  }
  return cookToom(size(text.substr(0, comma)), size(text.substr(comma + 1, colon - comma - 1)), points);
}

}  // namespace

std::string linearMap(const Matrix& matrix) { return "fun x => " + Sharing(matrix).text(); }

// ------------------------------------------------------------------------------------------------------------- rules

const Rule& cookToomRule(const std::vector<CookToom>& dimensions) {
  ensure(dimensions.size() == 1 || dimensions.size() == 2, "filters have one dimension or two");
  static std::mutex mutex;
  static auto& made = *new std::map<std::string, std::unique_ptr<const Rule>>;
  std::vector<std::string> algorithms;
  for (const CookToom& f : dimensions) {
    std::string text = fmt::format("{},{}:", f.m, f.r);
    for (const Rational& p : f.points) text += " " + p.str();
    algorithms.push_back(text);
  }
  const std::string name = fmt::format("{}{}>", prefix, fmt::join(algorithms, "; "));
  const std::lock_guard lock(mutex);
  std::unique_ptr<const Rule>& rule = made[name];
  if (!rule) {
    const std::string text = dimensions.size() == 1 ? ruleText(dimensions[0]) : ruleText(dimensions[0], dimensions[1]);
    rule = std::make_unique<Rule>(RuleRow{name, text, "Cook-Toom at these points and infinity", When::rounds});
  }
  return *rule;
}

bool isCookToomName(std::string_view name) { return name.substr(0, prefix.size()) == prefix; }

std::vector<CookToom> cookToomDimensions(std::string_view name) {
  if (!isCookToomName(name) || name.back() != '>') malformed(name);
  std::vector<CookToom> dimensions;
  for (const std::string_view part : parts(name.substr(prefix.size(), name.size() - prefix.size() - 1), ';'))
    dimensions.push_back(algorithmOf(part, name));
  if (dimensions.empty() || dimensions.size() > 2) malformed(name);
  return dimensions;
}

const Rule& cookToomNamed(std::string_view name) { return cookToomRule(cookToomDimensions(name)); }

}  // namespace lift::rewrite
