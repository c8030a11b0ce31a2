#include "transform.hpp"

#include <algorithm>
#include <unordered_set>

#include "lift/build.hpp"
#include "lift/diagnostic.hpp"
#include "lift/terms.hpp"
#include "lowering.hpp"

namespace lift::detail {

using namespace build;

namespace {

// Of the arguments of a primitive, the function runs many times.
bool isLoop(const Spine& s) {
  if (!s.head.is(Expr::Form::primitive)) return false;
  return traits(s.head.prim()).loop != Traits::Loop::none;
}

// The greatest subterms of `body` that some loop in it computes again and again though nothing bound in `body` occurs
// in them.
class Invariants {
 public:
  explicit Invariants(const std::function<bool(Expr)>& pays) : pays_(pays) {}

  std::vector<Expr> of(Expr body) {
    visit(body, false, false);
    return std::move(found_);
  }

 private:
  // `guarded`: what runs perhaps not at all.
  void visit(Expr e, bool inLoop, bool guarded) {
    if (e.is(Expr::Form::lambda)) {
      bound_.insert(e.parameter());
      visit(e.body(), inLoop, guarded);
      bound_.erase(e.parameter());
      return;
    }
    if (!e.is(Expr::Form::apply)) return;
    if (inLoop && isFree(e) && pays_(e) && !(guarded && mayFailWithin(e))) {
      if (std::find(found_.begin(), found_.end(), e) == found_.end()) found_.push_back(e);
      return;
    }
    const Spine s = spineOf(e);
    for (std::size_t i = 0; i < s.arguments.size(); i++) {
      const Expr a = s.arguments[i];
      const bool runs = a.is(Expr::Form::lambda) && isLoop(s);
      visit(a, inLoop || runs, guarded || isOptional(s, i));
    }
  }

  bool isFree(Expr e) const {
    const auto& free = e.freeVariables();
    return std::none_of(free.begin(), free.end(), [&](Expr v) { return bound_.count(v) > 0; });
  }

  const std::function<bool(Expr)>& pays_;
  std::unordered_set<Expr> bound_;
  std::vector<Expr> found_;
};

// Lets moved out of arguments. A let that stands in several places is bound once; one whose name means something else
// where it would stand gets a new name.
class FlatNames {
 public:
  Expr of(Expr e) {
    if (e.is(Expr::Form::lambda)) return Expr::lambda(e.parameter(), of(e.body()));
    if (!e.is(Expr::Form::apply)) return e;
    Spine s = spineOf(e);
    const bool isLet = s.isPrim(Prim::let) && s.arguments.size() == 2;
    std::vector<Expr> bound;  // in order
    for (std::size_t i = isLet ? 1 : 0; i < s.arguments.size(); i++) {
      s.arguments[i] = of(s.arguments[i]);
      if (!isOptional(s, i)) s.arguments[i] = movedOut(s, i, bound);
    }
    Expr out = e;
    if (isLet) {
      const Expr name = s.arguments[0].parameter(), value = s.arguments[1];
      const auto known = values_.find(name);
      if (known != values_.end() && known->second == value) {
        out = of(s.arguments[0].body());
      } else {
        const auto hidden = known == values_.end() ? std::nullopt : std::optional<Expr>(known->second);
        values_.insert_or_assign(name, value);
        out = let(name, value, of(s.arguments[0].body()));
        values_.erase(name);
        if (hidden) values_.emplace(name, *hidden);
      }
    } else {
      out = applyAll(s.head, s.arguments);
    }
    for (auto name = bound.rbegin(); name != bound.rend(); ++name) {
      out = let(*name, values_.at(*name), out);
      values_.erase(*name);
    }
    return out;
  }

 private:
  // The i-th argument without the lets around it; they are added to `bound`.
  Expr movedOut(const Spine& s, std::size_t i, std::vector<Expr>& bound) {
    Names names = namesOf(s.arguments[i]);
    std::unordered_map<Expr, Expr> renamed;
    const auto rename = [&](Expr e) { return renamed.empty() ? e : etaLong(substitute(e, renamed)); };
    for (auto& [name, value] : names.bound) {
      const Expr now = rename(value);
      const bool meansElse = values_.count(name) > 0 || isFreeBeside(s, i, name);
      const Expr fresh = meansElse ? Expr::variable(name.name(), name.type()) : name;
      if (meansElse) renamed.insert_or_assign(name, fresh);
      values_.emplace(fresh, now);
      bound.push_back(fresh);
    }
    return rename(names.body);
  }
  static bool isFreeBeside(const Spine& s, std::size_t i, Expr name) {
    for (std::size_t j = 0; j < s.arguments.size(); j++)
      if (j != i && s.arguments[j].hasFree(name)) return true;
    return false;
  }

  std::unordered_map<Expr, Expr> values_;  // of the names that are bound around the term
};

}  // namespace

std::string_view equationOf(std::string_view rule) {
  // What the comments of transform.hpp say in full.
  static constexpr std::pair<std::string_view, std::string_view> rules[] = {
      {"nameMoves", "let y = v in e => e[y := v] where v only moves data"},
      {"nameTuple", "let p = (v, w) in e => let x = v in let y = w in e[p := (x, y)]"},
      {"generateAsMap", "generate(n, f) => map(f, generate(n, id))"},
      {"reduceByKey",
       "map(fun b => reduce(z, fun (acc, x) => if b == k(x) then f(acc, x) else acc, xs), "
       "generate(n, id)) => reduceByIndex(fill(n, z), f, map(fun x => (k(x), x), xs))"},
      {"reduceElements",
       "reduce(zs, fun (acc, x) => map(f, zip(acc, ys(x))), xs) => "
       "map(fun (z, column) => reduce(z, f, column), zip(zs, transpose(map(ys, xs))))"},
      {"reduceRows",
       "map(fun column => reduce(z, f, column), transpose(map(ys, xs))) => "
       "reduce(fill(n, z), fun (acc, x) => map(f, zip(acc, ys(x))), xs)"},
      {"letOutOfLoop", "map(fun x => e[v], xs) => let t = v in map(fun x => e[t], xs) where v does not depend on x"},
      {"letOutOfArgument", "f(let x = v in e) => let x = v in f(e)"},
      {"letInline", "let x = v in e => e[x := v] where e reads each element of v once"},
      {"mapFission", "map(fun x => e[v], xs) => map(fun (x, t) => e[t], zip(xs, map(fun x => v, xs)))"},
      {"reduceInChunks",
       "reduce(z, f, xs) => reduce(z, combine, map(fun chunk => reduce(start, f, chunk), split(c, xs)))"},
      {"reduceInLanes",
       "reduce(z, f, xs) => reduce(z, combine, reduce(fill(w, start), fun (acc, x) => map(f, zip(acc, x)), "
       "split(w, xs)))"},
      {"reduceByIndexInChunks",
       "reduceByIndex(zs, f, xs) => map(fun (z, column) => reduce(z, combine, column), zip(zs, "
       "transpose(map(fun chunk => reduceByIndex(starts, f, chunk), split(c, xs)))))"},
      {"scanInChunks",
       "scan(z, f, xs) => join(map(fun (offset, chunk) => scan(offset, f, chunk), "
       "zip(offsets, split(c, xs))))"},
      {"reduceJoin", "reduce(z, f, join(xs)) => reduce(z, fun (acc, row) => reduce(acc, f, row), xs)"},
      {"toGlobalMemory", "e => toGlobal(e)"},
      {"mapToGlobal", "map(f, xs) => mapGlb(d, f, xs)"},
      {"mapToLoop", "map(f, xs) => mapSeq(f, xs)"},
      {"reduceToLoop", "reduce(z, f, xs) => reduceSeq(z, f, xs)"},
      {"scanToLoop", "scan(z, f, xs) => scanSeq(z, f, xs)"},
      {"copy", "e => map(id, e)"},
  };
  for (const auto& [name, equation] : rules)
    if (name == rule) return equation;
  throw InternalError("no rule of the default mapping");
}

Expr namesOfValuesOnly(Expr e) {
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::let) && s.arguments.size() == 2) {
    const Expr name = s.arguments[0].parameter(), body = s.arguments[0].body(), value = s.arguments[1];
    if (onlyMovesData(value)) return namesOfValuesOnly(substitute(body, name, value));
    if (const Spine parts = spineOf(value); parts.isPrim(Prim::tuple)) {
      std::vector<Expr> names;
      for (std::size_t i = 0; i < parts.arguments.size(); i++)
        names.push_back(Expr::variable(name.name() + std::to_string(i), parts.arguments[i].type()));
      Expr inner = etaLong(substitute(body, name, tuple(names)));
      for (std::size_t i = names.size(); i-- > 0;) inner = let(names[i], parts.arguments[i], inner);
      return namesOfValuesOnly(inner);
    }
  }
  return withParts(e, namesOfValuesOnly);
}

Expr generatesAsMaps(Expr e) {
  e = withParts(e, generatesAsMaps);
  const Spine s = spineOf(e);
  if (s.isPrim(Prim::generate) && s.arguments.size() == 1 && s.arguments[0].body() != s.arguments[0].parameter()) {
    const Expr in = indices(s.head.nats()[0]);
    const Spine body = spineOf(s.arguments[0].body());
    return body.isPrim(Prim::id) && body.arguments[0] == s.arguments[0].parameter() ? in : map(s.arguments[0], in);
  }
  return e;
}

Expr loopInvariants(Expr e, const std::function<bool(Expr)>& pays) {
  const Spine s = spineOf(e);
  const bool inwards = isLoop(s) || s.isPrim(Prim::let);
  return withParts(e, [&](Expr a) {
    if (!inwards || !a.is(Expr::Form::lambda)) return loopInvariants(a, pays);
    Expr body = a.body();
    const std::vector<Expr> values = Invariants(pays).of(body);
    std::unordered_map<Expr, Expr> names;
    for (const Expr v : values) names.emplace(v, Expr::variable("t", v.type()));
    body = loopInvariants(replaceTerms(body, names), pays);
    for (const Expr v : values) body = let(names.at(v), loopInvariants(v, pays), body);
    return Expr::lambda(a.parameter(), body);
  });
}

PartialReduction partialReduction(const Accumulation& accumulation, Expr init, Expr f, Expr in, Nat chunk) {
  const Nat length = in.type().length(), chunked = length / chunk * chunk;
  const bool divides = chunked == length || lift::divides(chunk, length) == Truth::proved;
  // A function that makes the elements is applied in the chunks: split(c, map(g, ys)) = map(map(g), split(c, ys)).
  Expr from = in;
  std::vector<Expr> functions;
  for (Spine s = spineOf(from); s.isPrim(Prim::map); s = spineOf(from)) {
    functions.push_back(s.arguments[0]);
    from = s.arguments[1];
  }
  const Expr part = Expr::variable("chunk", Type::array(chunk, from.type().element()));
  Expr elements = part;
  for (auto g = functions.rbegin(); g != functions.rend(); ++g) elements = map(withFreshBinders(*g), elements);
  const Expr each = Expr::lambda(part, reduce(accumulation.start, withFreshBinders(f), elements));
  const Expr partials = map(each, split(chunk, divides ? from : take(chunked, from)));
  return {partials, [=](Expr kept) {
            const Expr done = reduceSeq(init, withFreshBinders(accumulation.combine), kept);
            return divides ? done : reduceSeq(done, f, drop(chunked, in));
          }};
}

PartialScan partialScan(const Accumulation& accumulation, const Spine& scan, Nat chunk) {
  const Expr init = scan.arguments[0], f = scan.arguments[1], in = scan.arguments[2];
  const Nat length = in.type().length(), chunked = length / chunk * chunk;
  const bool divides = chunked == length || lift::divides(chunk, length) == Truth::proved;
  const Expr chunks = split(chunk, divides ? in : take(chunked, in));
  const auto scanned = [prim = scan.head.prim(), f](Expr start, Expr xs) {
    return call(prim, {start, withFreshBinders(f), xs});
  };
  const Expr part = Expr::variable("chunk", chunks.type().element());
  const Expr totals = map(Expr::lambda(part, reduce(accumulation.start, withFreshBinders(f), part)), chunks);
  const auto offsets = [=](Expr kept) {
    return call(Prim::scanExclusiveSeq, {init, withFreshBinders(accumulation.combine), kept});
  };
  const auto whole = [=](Expr keptTotals, Expr keptOffsets) {
    const Expr all = zip({keptOffsets, chunks}), p = Expr::variable("p", all.type().element());
    const Expr rows = map(Expr::lambda(p, scanned(get(p, 0), get(p, 1))), all);
    const Expr first = call(Prim::join, {rows});
    if (divides) return first;
    const Expr before = reduceSeq(init, withFreshBinders(accumulation.combine), keptTotals);
    const Expr rest = scanned(before, drop(chunked, in));
    return call(Prim::concat, {first, rest});
  };
  return {totals, offsets, whole};
}

Expr underLayouts(Expr e) {
  Spine s = spineOf(e);
  while (s.head.is(Expr::Form::primitive) && s.arguments.size() == 1 && isInvertibleLayout(s.head.prim())) {
    e = s.arguments[0];
    s = spineOf(e);
  }
  return e;
}

Expr flatNames(Expr e) { return FlatNames().of(e); }

Names namesOf(Expr e) {
  Names names{{}, e};
  for (Spine s = spineOf(e); s.isPrim(Prim::let) && s.arguments.size() == 2; s = spineOf(names.body)) {
    names.bound.emplace_back(s.arguments[0].parameter(), s.arguments[1]);
    names.body = s.arguments[0].body();
  }
  return names;
}

Fission fission(Expr nest, int levels, Expr value) {
  const Spine s = spineOf(nest);
  const Expr x = s.arguments[0].parameter(), body = s.arguments[0].body(), in = s.arguments[1];
  const Expr inner = underLayouts(body);
  const auto below = levels > 1 ? std::optional<Fission>(fission(inner, levels - 1, value)) : std::nullopt;
  const Expr values = map(withFreshBinders(Expr::lambda(x, below ? below->values : value)), in);
  return {values, [=](Expr kept) {
            const Expr p = Expr::variable("p", Type::tuple({x.type(), kept.type().element()}));
            const Expr now = below ? replaceTerms(body, {{inner, below->rest(get(p, 1))}})
                                   : replaceTerms(body, {{value, get(p, 1)}});
            return map(Expr::lambda(p, etaLong(substitute(now, x, get(p, 0)))), zip({in, kept}));
          }};
}

}  // namespace lift::detail
