#include "lift/transposition.hpp"

#include <algorithm>
#include <unordered_map>

#include "computed.hpp"
#include "lift/arranged.hpp"
#include "lift/build.hpp"
#include "lift/diagnostic.hpp"
#include "lift/terms.hpp"

namespace lift::rewrite {
namespace {

using namespace affine;

// How many scalars of the access's array lie between what neighbouring values of each digit read.
std::map<Digit, std::int64_t> stridesOf(const Access& access) {
  std::vector<std::int64_t> lengths;
  for (Type t = access.source.type(); t.isArray(); t = t.element())
    lengths.push_back(t.length().constant().value_or(0));
  std::map<Digit, std::int64_t> strides;
  std::int64_t stride = 1;
  for (std::size_t i = access.place.size(); i-- > 0; stride *= lengths[i])
    for (const auto& [digit, coefficient] : access.place[i].terms) strides[digit] += coefficient * stride;
  return strides;
}

class Restating {
 public:
  explicit Restating(const Element& e) : e_(e), extents_(e) {
    for (const Digits& digits : e.result) append(order_, digits);
  }

  Transposition made() {
    const Expr variable = moved();
    const Access& access = e_.accesses.at(variable.id());
    group(access);
    Transposition t{Expr::nat(0), {}, variable.type()};
    t.batch = extents_.of(batch_);
    t.rows = extents_.of(rows_);
    t.columns = extents_.of(columns_);
    t.rowsFollow = strides_.at(rows_.back()) == t.columns;
    const auto at = [&](Digit d) { return std::ranges::find(order_, d) - order_.begin(); };
    t.columnsFollow = at(columns_.back()) + 1 == at(rows_.front());
    t.batchInside = !batch_.empty() && at(batch_.back()) > at(columns_.back());
    t.computes = e_.value != variable;
    const Expr matrices = arranged(access, {batch_, rows_, columns_});
    const Expr transposed = etaLong(eachMatrix(matrices, [](Expr m) { return build::call(Prim::transpose, {m}); }));
    Arranged result(computed(variable, transposed), extents_);
    for (const Digits& digits : {batch_, columns_, rows_})
      if (!digits.empty()) result.add(digits);
    result.arrange(e_.result);
    t.restated = etaLong(result.array());
    const auto place = pathOf(transposed, t.restated);
    ensure(place.has_value(), "the transposition is in what is made of it");
    t.moved = *place;
    return t;
  }

 private:
  // The first array whose elements lie side by side along another digit than the result's.
  Expr moved() {
    if (order_.empty()) throw Not{"it has one element"};
    for (const Expr v : e_.value.freeVariables()) {
      const Access* access = e_.accessOf(v);
      if (access == nullptr) throw Not{"an element is more than one of each array"};
      strides_ = stridesOf(*access);
      const auto side = std::ranges::find_if(order_, [&](Digit d) { return strides_.count(d) && strides_.at(d) == 1; });
      const auto last = strides_.find(order_.back());
      if (side == order_.end() || last == strides_.end() || last->second < 2) continue;
      if (std::ranges::all_of(strides_, [](const auto& s) { return s.second > 0; })) return v;
    }
    throw Not{"what lies side by side stays so"};
  }

  // Rows are what lies side by side in the result, columns what lies so in the array; each of several digits where
  // these follow each other in both.
  void group(const Access& access) {
    const auto follows = [&](Digit outer, Digit inner) {
      const auto stride = strides_.find(outer);
      return stride != strides_.end() && stride->second == strides_.at(inner) * extents_.of(inner);
    };
    const auto run = [&](std::ptrdiff_t last) {
      std::ptrdiff_t first = last;
      while (first > 0 && follows(order_[static_cast<std::size_t>(first - 1)], order_[static_cast<std::size_t>(first)]))
        first--;
      return Digits(order_.begin() + first, order_.begin() + last + 1);
    };
    const auto side = std::ranges::find_if(order_, [&](Digit d) { return strides_.count(d) && strides_.at(d) == 1; });
    columns_ = run(side - order_.begin());
    rows_ = run(std::ssize(order_) - 1);
    for (const Digit d : order_) {
      if (has(columns_, d) || has(rows_, d)) continue;
      if (strides_.count(d) == 0) throw Not{"its elements are read again"};
      batch_.push_back(d);
    }
    for (const affine::Guard& g : access.guards) {  // where there are zeros the array ends
      bool isDimension = false;
      Type type = access.source.type();
      for (const Form& place : access.place) {
        isDimension = isDimension || (place == g.index && type.length() == Nat(g.length));
        type = type.element();
      }
      if (!isDimension) throw Not{"it pads what is no dimension"};
    }
  }

  Expr arranged(const Access& access, const std::vector<Digits>& wanted) const {
    Arranged a(access.source, extents_);
    for (const Form& form : access.place) a.add(form);
    Digits all;
    for (const Digits& digits : wanted) append(all, digits);
    a.repeat(all);
    std::vector<Digits> dimensions = wanted;
    std::erase_if(dimensions, [](const Digits& digits) { return digits.empty(); });
    a.arrange(dimensions);
    return a.array();
  }

  Expr eachMatrix(Expr array, const std::function<Expr(Expr)>& f) const {
    return batch_.empty() ? f(array) : build::map("m", array, f);
  }

  // The element's value for each element of the array that is moved.
  Expr computed(Expr variable, Expr transposed) const {
    if (e_.value == variable) return transposed;
    std::vector<Expr> variables{variable}, arrays{transposed};
    Expr value = e_.value;
    for (const Expr v : e_.value.freeVariables()) {
      if (v == variable) continue;
      const Access& access = e_.accesses.at(v.id());
      if (!access.guards.empty()) throw Not{"what it is computed with is padded"};
      if (access.place.empty()) {
        value = substitute(value, v, access.source);
        continue;
      }
      variables.push_back(v);
      arrays.push_back(arranged(access, {batch_, columns_, rows_}));
    }
    return elementwise(value, variables, arrays);
  }

  static Expr elementwise(Expr value, const std::vector<Expr>& variables, const std::vector<Expr>& arrays) {
    return build::map("x", build::zip(arrays), [&](Expr x) {
      const std::vector<Expr> elements = arrays.size() == 1 ? std::vector{x} : build::components(x);
      if (elements[0].type().isArray()) return elementwise(value, variables, elements);
      std::unordered_map<Expr, Expr> now;
      for (std::size_t i = 0; i < variables.size(); i++) now.emplace(variables[i], elements[i]);
      return substitute(value, now);
    });
  }

  const Element& e_;
  Extents extents_;
  Digits order_;  // of the result, the fastest last
  std::map<Digit, std::int64_t> strides_;
  Digits batch_, rows_, columns_;
};

}  // namespace

std::optional<Transposition> transpositionOf(Expr term, std::string* why) {
  try {
    if (!term.type().isArray() || anyPrimitive(term, takesSteps)) throw Not{"it is not computed element by element"};
    std::string unknown;
    const auto element = affine::elementOf(term, &unknown);
    if (!element) throw Not{unknown};
    return Restating(*element).made();
  } catch (const Not& no) {
    if (why != nullptr) *why = no.why;
    return std::nullopt;
  }
}

namespace detail {

Rule transpositionRule() {
  return computedRule({"asTransposition",
                       "map(fun xs => map(f, xs), transpose((xss: [n][m]t))) => "
                       "layout(map(fun ms => map(fun xs => map(f, xs), ms), map(fun m => transpose(m), layout(xss))))",
                       "a transposition of matrices, whatever layouts say it"},
                      [](Expr e) -> std::optional<Expr> {
                        const auto found = transpositionOf(e);
                        return found ? std::optional(found->restated) : std::nullopt;
                      });
}

}  // namespace detail
}  // namespace lift::rewrite
