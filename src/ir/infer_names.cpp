// Inference: messages, names, sizes, types and patterns.
#include <fmt/format.h>
#include <algorithm>
#include <unordered_set>

#include "inference.hpp"
#include "syntax_walk.hpp"

namespace lift::detail {
namespace {

std::size_t editDistance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); i++) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); j++) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

// Names of other languages.
struct ForeignName {
  std::string_view name, hint;
};
constexpr ForeignName foreignNames[] = {
    {"len", "the length of xs: [n]t is n, also written length(xs)"},
    {"size", "the length of xs: [n]t is n, also written length(xs)"},
    {"shape", "the length of xs: [n]t is n, also written length(xs)"},
    {"True", "write true"},
    {"False", "write false"},
    {"TRUE", "write true"},
    {"FALSE", "write false"},
    {"None", "there is no empty value"},
    {"null", "there is no empty value"},
    {"for", "there are no loops: repetition is map, reduce, scan or iterate"},
    {"while", "there are no loops: repetition is map, reduce, scan or iterate"},
    {"return", "a body is an expression: its value is the result"},
    {"lambda", "functions are written fun x => e"},
    {"fold", "write reduce(init, f, xs)"},
    {"foldl", "write reduce(init, f, xs)"},
    {"foldLeft", "write reduce(init, f, xs)"},
    {"foldr", "write reduce(init, f, reverse(xs))"},
    {"accumulate", "write scan(init, f, xs)"},
    {"scanInclusive", "write scan(init, f, xs)"},
    {"inclusiveScan", "write scan(init, f, xs)"},
    {"exclusiveScan", "write scanExclusive(init, f, xs)"},
    {"prefixSum", "write cumsum(xs), or scan(init, f, xs)"},
    {"sort", "there is no sort: write a sorting network, iterate(steps, step, xs), or counts by reduceByIndex"},
    {"sorted", "there is no sort: write a sorting network, iterate(steps, step, xs), or counts by reduceByIndex"},
    {"scanl", "write scan(init, f, xs)"},
    {"filter", "lengths do not depend on data: select(c, x, otherwise) under a map keeps the places"},
    {"range", "write indices(n), or generate(n, fun i => …)"},
    {"arange", "write indices(n), or generate(n, fun i => …)"},
    {"iota", "write indices(n), or generate(n, fun i => …)"},
    {"zeros", "write fill(n, 0.0)"},
    {"ones", "write fill(n, 1.0)"},
    {"full", "write fill(n, value)"},
    {"replicate", "write fill(n, value)"},
    {"append", "write concat(xs, ys)"},
    {"concatenate", "write concat(xs, ys)"},
    {"reshape", "shapes are changed by split(k, xs) and join(xs)"},
    {"windows", "write slide(size, step, xs)"},
    {"chunks", "write split(size, xs)"},
    {"roll", "write rotate(k, xs)"},
    {"where", "write select(c, a, b), or if c then a else b"},
    {"power", "write pow(x, y)"},
    {"sqr", "write square(x)"},
    {"ln", "write log(x)"},
    {"fabs", "write abs(x)"},
    {"xor", "exclusive or is written a ^ b, of booleans a != b"},
    {"float", "conversions are written f32(x)"},
    {"double", "conversions are written f64(x)"},
    {"half", "conversions are written f16(x), or h16(x) to compute in half precision"},
    {"int", "conversions are written i32(x)"},
    {"mod", "the remainder is written %"},
    {"fst", "components are written p.0, p.1"},
    {"snd", "components are written p.0, p.1"},
    {"prod", "write product(xs)"},
    {"amax", "write maximum(xs)"},
    {"amin", "write minimum(xs)"},
    {"std", "write standardDeviation(xs)"},
    {"var", "write variance(xs)"},
};

}  // namespace

// ------------------------------------------------------------------------------------------------------------ scopes

Scope Scope::with(std::string name, Binding binding) const {
  Scope inner = *this;
  inner.locals_ = std::make_shared<const Local>(Local{std::move(name), std::move(binding), locals_});
  return inner;
}

std::optional<Binding> Scope::find(const std::string& name) const {
  for (const Local* l = locals_.get(); l; l = l->parent.get())
    if (l->name == name) return l->binding;
  for (const Globals* g = globals_; g; g = g->around)
    if (const auto found = g->names.find(name); found != g->names.end())
      return std::visit([](const auto& what) -> Binding { return what; }, found->second);
  return std::nullopt;
}

void Scope::forEachName(const std::function<void(const std::string&)>& visit) const {
  for (const Local* l = locals_.get(); l; l = l->parent.get()) visit(l->name);
  for (const Globals* g = globals_; g; g = g->around) {
    std::vector<std::string> names;  // in an order that does not depend on hashing
    for (const auto& [name, what] : g->names) names.push_back(name);
    std::ranges::sort(names);
    for (const std::string& name : names) visit(name);
  }
}

namespace {

// The meaning of an operator, or of a name that nothing in any file hides.
std::optional<Binding> builtin(const std::string& name) {
  if (const auto prim = primNamed(name)) return *prim;
  if (const auto op = opNamed(name)) return *op;
  if (const auto scalar = scalarNamed(name)) return *scalar;
  return std::nullopt;
}

}  // namespace

std::optional<Binding> meaningOf(const Syn::Name& name, const Scope& scope) {
  return name.isOperator ? builtin(name.text) : scope.find(name.text);
}

Inference::Inference(const Module& module, const Module& prelude) {
  for (int i = 0; i < primCount; i++) {
    const auto prim = static_cast<Prim>(i);
    if (primNamed(info(prim).name)) builtins_.names.emplace(info(prim).name, prim);
  }
  for (int i = 0; i < opCount; i++) builtins_.names.emplace(info(static_cast<Op>(i)).name, static_cast<Op>(i));
  for (int i = 0; i < scalarCount; i++)
    builtins_.names.emplace(info(static_cast<Scalar>(i)).name, static_cast<Scalar>(i));
  builtins_.names.emplace(info(Prim::convert).name, Prim::convert);
  builtins_.names.emplace("lowest", ScalarValue::Extreme::lowest);
  builtins_.names.emplace("highest", ScalarValue::Extreme::highest);
  preludeNames_.around = &builtins_;
  for (const Definition& d : prelude.definitions) preludeNames_.names.emplace(d.name, Global{&d, &preludeNames_});
  define(names_, module);
  solver_.place = [this](Span origin) { return place(origin); };
  solver_.demand = [this](SizeCondition::Kind kind, Nat left, Nat right, const std::string& equation, Span origin) {
    conditions_.push_back({kind, left, right, origin, place(origin), equation, {}});
  };
}

// Own definitions hide imported ones, which hide those of the prelude.
void Inference::define(Globals& globals, const Module& module) {
  modules_.emplace_back(&module, &globals);
  globals.around = &preludeNames_;
  for (const Definition& d : module.definitions) globals.names.emplace(d.name, Global{&d, &globals});
  for (const Import& import : module.imports) {
    const auto [home, isNew] = imported_.try_emplace(import.module.get());
    if (isNew) define(home->second, *import.module);
    const std::string prefix = import.prefix.empty() ? "" : import.prefix + ".";
    for (const Definition& d : import.module->definitions)
      globals.names.emplace(prefix + d.name, Global{&d, &home->second});
  }
}

// -------------------------------------------------------------------------------------------------------- reporting

void Inference::report(Span span, std::string message, std::string hint, std::vector<Diagnostic> notes) {
  failures_++;
  Diagnostic d{Severity::error, span, std::move(message), std::move(hint), std::move(notes)};
  // What does not fit inside a definition of another file is an argument of the call that led there, as the user sees
  // it: the one whose parameter stands at the place, else the whole call.
  if (!expansions_.empty()) {
    const SourceFile* users = expansions_.front().call.file;
    std::string what;
    for (auto e = expansions_.rbegin(); e != expansions_.rend() && users && d.span.file != users; ++e) {
      const auto& parameters = e->definition->parameters;
      const auto p = std::ranges::find_if(parameters, [&](const auto& q) {
        return d.span && q.name == std::string_view(d.span.file->text).substr(d.span.begin, d.span.end - d.span.begin);
      });
      const bool blamed = p != parameters.end() && e->arguments[static_cast<std::size_t>(p - parameters.begin())];
      what = blamed ? fmt::format("argument '{}' of {}: ", p->name, e->definition->name)
                    : fmt::format("in {}: ", e->definition->name);
      d.span = blamed ? e->arguments[static_cast<std::size_t>(p - parameters.begin())] : e->call;
    }
    d.message = what + d.message;
    // What is wrong inside a definition of the user may be so only for this call of it.
    const auto within = std::find_if(expansions_.rbegin(), expansions_.rend(), [&](const Expansion& e) {
      const Span text = cover(e.definition->span, e.definition->body->span);
      return what.empty() && d.span && text.file == d.span.file && text.begin <= d.span.begin && d.span.end <= text.end;
    });
    if (within != expansions_.rend()) {
      Span call = within->call;
      for (auto e = within; e != expansions_.rend() && call.file != users; ++e) call = e->call;
      d.notes.push_back(
          {Severity::note, call, fmt::format("while expanding '{}' here", within->definition->name), {}, {}});
    }
  }
  // What one place is wrong with is said once.
  for (const Diagnostic& other : errors_)
    if (d.span && other.span.file == d.span.file && other.span.begin == d.span.begin && other.span.end == d.span.end)
      return;
  errors_.push_back(std::move(d));
}

Expr Inference::poison(std::optional<Type> expected) {
  const Type type = expected.value_or(solver_.poison());
  if (solver_.resolve(type).isVariable()) solver_.unify(type, solver_.poison(), {});
  return Expr::variable("?", type);
}

Span Inference::place(Span span) const {
  if (expansions_.empty()) return span;
  const SourceFile* users = expansions_.front().call.file;
  for (auto e = expansions_.rbegin(); e != expansions_.rend() && span.file != users; ++e) span = e->call;
  return span;
}

bool Inference::expect(Type actual, Type expected, Span span, const std::string& what) {
  if (solver_.unify(actual, expected, span)) return true;
  const Type a = solver_.zonk(actual), e = solver_.zonk(expected);
  std::string hint;
  if (a.isScalar() && e.isScalar() && a != e) hint = fmt::format("convert with {}(…)", e.str());
  if (a.isScalar() && e.isVector()) hint = fmt::format("splat({}, …) makes a vector", e.length().str());
  if (a.isVector() && e == Type::scalar(Scalar::boolean))
    hint = "anyLane(…) says whether a lane holds; select(c, a, b) chooses lane by lane";
  if (a.isFunction() && !e.isFunction()) hint = "an argument is missing";
  if (hint.empty()) hint = solver_.whyNot(a, e);
  report(span, fmt::format("{}expected {}, found {}", what.empty() ? "" : what + ": ", show(e), show(a)), hint);
  return false;
}

// -------------------------------------------------------------------------------------------------- names and types

Scope Inference::enter(const Global& global, const Scope& from, Span use) {
  const Definition* def = global.definition;
  if (const Definition* user = global.namedIn.value_or(from.within())) {
    auto& used = uses_[user];
    if (std::ranges::find(used, def) == used.end()) {
      used.push_back(def);
      // From the definition back to the one whose text uses it?
      std::unordered_set<const Definition*> seen{def};
      std::vector<const Definition*> open{def};
      while (!open.empty() && !seen.count(user)) {
        const Definition* d = open.back();
        open.pop_back();
        if (const auto next = uses_.find(d); next != uses_.end())
          for (const Definition* n : next->second)
            if (seen.insert(n).second) open.push_back(n);
      }
      if (seen.count(user)) {
        report(use, fmt::format("'{}' uses itself", def->name),
               "a definition cannot use itself; repetition is written with iterate, map or reduce");
        throw UserError(ExitStatus::program, errors_);
      }
    }
  }
  return Scope(global.home, def);
}

std::string Inference::suggestion(const std::string& name, const Scope& scope) const {
  if (name.size() > 60) return "`liftc primitives` lists the primitives";
  for (const ForeignName& row : foreignNames)
    if (row.name == name) return std::string(row.hint);
  std::string best;
  // Not more than half of the letters differ.
  std::size_t distance = std::clamp<std::size_t>(name.size() / 2, 1, std::max<std::size_t>(2, name.size() / 3)) + 1;
  const auto consider = [&](std::string_view candidate) {
    const std::size_t d = editDistance(name, std::string(candidate));
    if (d < distance) {
      distance = d;
      best = candidate;
    }
  };
  scope.forEachName([&](const std::string& n) { consider(n); });
  return best.empty() ? "`liftc primitives` lists the primitives" : fmt::format("did you mean '{}'?", best);
}

Nat Inference::sizeOf(const SynPtr& syntax, const Scope& scope) {
  const auto ofLeaf = [&](const Syn& leaf) -> Nat {
    if (const auto* name = as<Syn::Name>(leaf)) {
      const auto b = meaningOf(*name, scope);
      if (b) {
        if (const Nat* n = std::get_if<Nat>(&*b)) return *n;
        if (const Thunk* t = std::get_if<Thunk>(&*b)) return sizeOf(t->syntax, t->scope);
        if (const Global* g = std::get_if<Global>(&*b); g && g->definition->parameters.empty()) {
          if (const auto known = sizes_.find(g->definition); known != sizes_.end()) return known->second;
          if (nesting_ >= deepest) failTooDeep(leaf.span);
          ++nesting_;
          const Nat n = sizeOf(g->definition->body, enter(*g, scope, leaf.span));
          --nesting_;
          return sizes_.emplace(g->definition, n).first->second;
        }
      }
      if (b && std::holds_alternative<Expr>(*b)) {
        if (!isPoison(std::get<Expr>(*b).type()))
          report(leaf.span, fmt::format("'{}' is a value; a size is needed here", name->text),
                 std::get<Expr>(*b).type().isArray()
                     ? "sizes stand in front of arrays: slide(size, step, xs)"
                     : "sizes are integers, names in array types, and parameters of type nat");
      } else {
        report(leaf.span, fmt::format("unknown size '{}'", name->text),
               "sizes are named in the types of a definition's parameters, or declared as `k: nat`; a function's "
               "parameters need no types");
      }
      return solver_.poisonNat();
    }
    report(leaf.span, "this is not a size", "sizes are built from integers, names, + - * / %, min and max");
    return solver_.poisonNat();
  };
  try {
    return detail::natOfSyntax(*syntax, ofLeaf);
  } catch (const UserError& e) {  // of arithmetic, which knows no places
    if (e.diagnostics().front().span) throw;
    report(syntax->span, e.diagnostics().front().message, e.diagnostics().front().hint);
    return solver_.poisonNat();
  }
}

void Inference::freeSizes(const SynType& type, const Scope& scope,
                          std::vector<std::pair<std::string, Span>>& out) const {
  const auto add = [&](const Syn& size) {
    const auto& name = std::get<Syn::Name>(size.node);
    const auto b = meaningOf(name, scope);
    const bool isBuiltin = b && (std::get_if<Prim>(&*b) || std::get_if<Op>(&*b) || std::get_if<Scalar>(&*b));
    if ((!b || isBuiltin) && std::ranges::none_of(out, [&](const auto& o) { return o.first == name.text; }))
      out.emplace_back(name.text, size.span);
  };
  forEachName(type, add, [](const std::string&) {});
}

Type Inference::typeOf(const SynTypePtr& type, const Scope& scope, TypeNames& names) {
  if (const auto* t = as<SynType::ScalarName>(type)) return Type::scalar(t->scalar);
  if (const auto* t = as<SynType::Array>(type)) {
    const Nat length = sizeOf(t->length, scope);
    if (const auto c = length.constant(); c && *c < 1)
      report(t->length->span, fmt::format("an array cannot have length {}", *c), "lengths are at least 1");
    return Type::array(length, typeOf(t->element, scope, names));
  }
  if (const auto* t = as<SynType::Vector>(type)) {
    const Nat width = sizeOf(t->width, scope);
    if (const auto c = width.constant(); c && *c != 2 && *c != 3 && *c != 4 && *c != 8 && *c != 16)
      report(t->width->span, fmt::format("{} is not a vector width", *c), "OpenCL has vectors of 2, 3, 4, 8 and 16");
    const Type element = typeOf(t->element, scope, names);
    solver_.require(element, TypeClass::scalar, type->span);
    return Type::vector(width, element);
  }
  if (const auto* t = as<SynType::Tuple>(type)) {
    std::vector<Type> parts;
    for (const auto& c : t->components) parts.push_back(typeOf(c, scope, names));
    return Type::tuple(std::move(parts));
  }
  if (const auto* t = as<SynType::Function>(type)) {
    const Type parameter = typeOf(t->parameter, scope, names);
    return Type::function(parameter, typeOf(t->result, scope, names));
  }
  if (const auto* t = as<SynType::Name>(type)) {
    if (const auto found = names.types.find(t->text); found != names.types.end()) return found->second;
    report(type->span, fmt::format("unknown type '{}'", t->text),
           "scalar types are bool, i8 … u64, f16, h16, f32 and f64; vectors are written f32x4");
    return names.types.emplace(t->text, solver_.poison()).first->second;
  }
  report(type->span, "'nat' can only be the type of a definition's parameter, or of a size that stands as a value");
  return solver_.poison();
}

namespace {

// The pattern of a flat tuple as the type nests: ((a, b), c) for a, b, c; empty where it has not as many names.
std::string nested(const std::function<Type(Type)>& resolve, Type type, std::vector<std::string>& names) {
  type = resolve(type);
  if (!type.isTuple()) {
    if (names.empty()) return {};
    const std::string name = names.front();
    names.erase(names.begin());
    return name;
  }
  std::string text;
  for (const Type c : type.components()) {
    const std::string part = nested(resolve, c, names);
    if (part.empty()) return {};
    text += (text.empty() ? "" : ", ") + part;
  }
  return "(" + text + ")";
}

}  // namespace

std::string Inference::nestedLike(Type type, const SynPattern& pattern) const {
  if (!type.isTuple())
    return pattern.components.size() == 2 && type.isScalar()
               ? "zip(xs, ys) has pairs of elements, enumerate(xs) of an index and an element"
               : "";
  std::vector<std::string> names;
  for (const SynPattern& c : pattern.components) names.push_back(c.components.empty() ? c.name : "");
  const std::string text = nested([&](Type t) { return solver_.resolve(t); }, type, names);
  return text.empty() || !names.empty() ? "" : "write " + text;
}

Scope Inference::bindPattern(const SynPattern& pattern, Expr value, Scope scope) {
  if (pattern.type) {
    TypeNames names = typeVariables_;
    expect(value.type(), typeOf(pattern.type, scope, names), pattern.span);
  }
  if (pattern.components.empty()) {
    if (pattern.name == "_") return scope;
    return scope.with(pattern.name, value);
  }
  Type type = solver_.resolve(value.type());
  if (type.isVariable() && !isPoison(type)) {
    std::vector<Type> parts;
    for (std::size_t i = 0; i < pattern.components.size(); i++) parts.push_back(solver_.freshType());
    solver_.unify(type, Type::tuple(parts), pattern.span);
    type = solver_.resolve(type);
  }
  if (!type.isTuple() || type.components().size() != pattern.components.size()) {
    if (!isPoison(type))
      report(pattern.span,
             fmt::format("this pattern has {} components, the value is {}", pattern.components.size(), show(type)),
             nestedLike(type, pattern));
    for (const SynPattern& c : pattern.components) scope = bindPattern(c, poison({}), std::move(scope));
    return scope;
  }
  for (std::size_t i = 0; i < pattern.components.size(); i++)
    scope = bindPattern(pattern.components[i], componentOf(value, type, i), std::move(scope));
  return scope;
}

}  // namespace lift::detail
