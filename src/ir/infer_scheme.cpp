// Inference: primitives by their schemes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>

#include "inference.hpp"
#include "lift/build.hpp"

namespace lift::detail {

// One value in every place of an array of arrays, where such an array is wanted: pad(1, 1, 0.0, rows).
Expr Inference::spread(Expr value, Type wanted) {
  wanted = solver_.resolve(wanted);
  if (!wanted.isArray() || solver_.resolve(value.type()).isArray()) return value;
  const Expr inner = spread(value, wanted.element());
  const Type index = Type::scalar(Scalar::i32);
  return build::call(Prim::generate, {wanted.length()}, {Expr::lambda(Expr::variable("_", index), inner)});
}

// "f is given 2 of 4 arguments: a, b, c, d", where the argument is a call of a definition that lacks some.
std::string Inference::whatLacks(const Argument& argument) const {
  SynPtr s = argument.syntax;
  Scope scope = argument.scope;
  std::size_t given = 0;
  for (int steps = 0; steps < maxAliases; steps++) {
    if (const auto* call = as<Syn::Call>(s)) {
      given += call->arguments.size();
      s = call->function;
      continue;
    }
    const auto* name = as<Syn::Name>(s);
    const auto meaning = name ? meaningOf(*name, scope) : std::nullopt;
    if (!meaning) return {};
    if (const Thunk* t = std::get_if<Thunk>(&*meaning)) {
      s = t->syntax;
      scope = t->scope;
      continue;
    }
    std::vector<std::string> parameters;
    if (const Global* g = std::get_if<Global>(&*meaning))
      for (const auto& p : g->definition->parameters) parameters.push_back(p.name);
    else if (const Prim* p = std::get_if<Prim>(&*meaning); p && *p != Prim::tuple && !isVariadic(*p))
      for (const auto& parameter : schemeOf(*p).parameters) parameters.push_back(parameter.name);
    if (given == 0 || given >= parameters.size()) return {};
    return fmt::format("{} is given {} of {} arguments: {}", name->text, given, parameters.size(),
                       fmt::join(parameters, ", "));
  }
  return {};
}

bool Inference::inOrder(const PrimInfo& row, const SynScheme& scheme, const std::vector<const Argument*>& slots) {
  const auto wantsFunction = [&](std::size_t i) { return is<SynType::Function>(scheme.parameters[i].type); };
  std::vector<const Argument*> functions, others;
  std::size_t wanted = 0, wrong = slots.size();
  for (std::size_t i = 0; i < slots.size(); i++) {
    wanted += wantsFunction(i);
    if (!slots[i]) continue;
    if (!slots[i]->name.empty()) return true;
    const bool given = isFunction(*slots[i]);
    (given ? functions : others).push_back(slots[i]);
    if (given && !wantsFunction(i) && wrong == slots.size()) wrong = i;
  }
  if (wanted == 0 || wrong == slots.size() || row.prim == Prim::let) return true;
  std::string hint = fmt::format("its type is {}", row.scheme);
  if (functions.size() == wanted && others.size() <= slots.size() - wanted) {
    // As it may have been meant; what is missing, the first values, has its parameter's name.
    std::size_t missing = slots.size() - wanted - others.size(), f = 0, o = 0;
    hint = fmt::format("write {}(", row.name);
    for (std::size_t i = 0; i < slots.size(); i++) {
      const std::string& name = scheme.parameters[i].name;
      if (i > 0) hint += ", ";
      if (!wantsFunction(i) && missing > 0) {
        missing--;
        hint += name;
      } else {
        hint += written((wantsFunction(i) ? functions[f++] : others[o++])->syntax->span, name);
      }
    }
    hint += ")";
  }
  if (const std::string lacks = whatLacks(*slots[wrong]); !lacks.empty()) hint = lacks;
  report(slots[wrong]->syntax->span,
         fmt::format("argument '{}' of {} is a value, found a function", scheme.parameters[wrong].name, row.name),
         hint);
  return false;
}

namespace {

std::string typeIs(const PrimInfo& row) { return fmt::format("its type is {}", row.scheme); }

}  // namespace

// Its arguments by what they are for. `dim` and `width` are names of sizes that mean the same wherever they stand.
struct Inference::SchemeCall {
  const PrimInfo& row;
  Span span;
  std::map<std::string, Nat> sizes;  // by the names of the scheme
  std::vector<Nat> nats;             // those and the sizes of the index function, in order
  std::uint8_t detail = 0;
  std::vector<const Argument*> data;  // null: missing
  std::vector<std::string> names;     // of the data
  std::vector<std::optional<Expr>> values;
};

Expr Inference::byScheme(Prim prim, const std::vector<const Argument*>& slots, std::optional<Type> expected,
                         Span span) {
  SchemeCall call{info(prim), span, {}, {}, 0, {}, {}, {}};
  if (!takeSizes(call, slots) || !areLegal(call)) return poison(expected);
  Instance instance(prim, solver_, call.sizes, span);
  if (!expectResult(call, instance, expected) || !takeData(call, instance) || !addConditions(call, instance))
    return poison(expected);
  Expr e = Expr::primitive(prim, call.nats, instance.functionType(), call.detail, place(span));
  spans_.emplace(e, place(span));
  for (const auto& v : call.values)
    if (v) e = Expr::apply(e, *v);
  return finish(e, expected, span);
}

bool Inference::takeSizes(SchemeCall& call, const std::vector<const Argument*>& slots) {
  const SynScheme& scheme = schemeOf(call.row.prim);
  for (std::size_t i = 0; i < slots.size(); i++) {
    const auto& p = scheme.parameters[i];
    const bool isNat = is<SynType::Nat>(p.type);
    if (!isNat && !is<SynType::Index>(p.type)) {
      call.data.push_back(slots[i]);
      call.names.push_back(p.name);
    } else if (!slots[i]) {
      report(call.span, fmt::format("{} needs its {} '{}'", call.row.name, isNat ? "size" : "index function", p.name),
             typeIs(call.row));
      return false;
    } else if (isNat) {
      call.nats.push_back(sizeOf(slots[i]->syntax, slots[i]->scope));
      call.sizes.emplace(p.name, call.nats.back());
    } else if (!takeIndexFunction(call, *slots[i])) {
      return false;
    }
  }
  return true;
}

bool Inference::takeIndexFunction(SchemeCall& call, const Argument& argument) {
  SynPtr fn = argument.syntax;
  std::vector<SynPtr> arguments;
  if (const auto* applied = as<Syn::Call>(fn)) {
    for (const auto& a : applied->arguments) arguments.push_back(a.value);
    fn = applied->function;
  }
  const auto* name = as<Syn::Name>(fn);
  const auto indexFn = name ? indexFnNamed(name->text) : std::nullopt;
  if (!indexFn) {
    report(argument.syntax->span, "this is not an index function",
           "reorder takes reverse, stride(s), unstride(s), shift(k) or transpose(r, c)");
    return false;
  }
  if (static_cast<int>(arguments.size()) != info(*indexFn).arity) {
    report(argument.syntax->span,
           fmt::format("{} takes {} sizes, found {}", info(*indexFn).name, info(*indexFn).arity, arguments.size()));
    return false;
  }
  call.detail = static_cast<std::uint8_t>(*indexFn);
  for (const SynPtr& a : arguments) call.nats.push_back(sizeOf(a, argument.scope));
  return true;
}

// Sizes that no conditions of schemes tell, and those of which a constant is better complained of here.
bool Inference::areLegal(const SchemeCall& call) {
  const auto positive = [&](std::size_t i, std::string_view what) {
    if (!call.nats[i].upper() || *call.nats[i].upper() >= 1) return true;
    report(call.span, fmt::format("{}: {} must be at least 1, found {}", call.row.name, what, call.nats[i].str()));
    return false;
  };
  const Prim prim = call.row.prim;
  if (prim == Prim::split && !positive(0, "the chunk size")) return false;
  if ((prim == Prim::slide || prim == Prim::slideStrict) && !(positive(0, "the window") && positive(1, "the step")))
    return false;
  if (const auto width = call.sizes.find("width"); width != call.sizes.end())
    if (const auto w = width->second.constant(); w && *w != 2 && *w != 3 && *w != 4 && *w != 8 && *w != 16) {
      report(call.span, fmt::format("{} is not a vector width", *w), "OpenCL has vectors of 2, 3, 4, 8 and 16");
      return false;
    }
  if (const auto dim = call.sizes.find("dim"); dim != call.sizes.end())
    if (const auto d = dim->second.constant(); !d || *d < 0 || *d > 2) {
      report(call.span, fmt::format("{}: the dimension must be 0, 1 or 2, found {}", call.row.name, dim->second.str()));
      return false;
    }
  return true;
}

bool Inference::expectResult(const SchemeCall& call, const Instance& instance, std::optional<Type> expected) {
  const auto missing = static_cast<std::size_t>(std::ranges::count(call.data, nullptr));
  const std::size_t given = call.data.size() - missing;
  for (std::size_t i = 0; i < given; i++)
    if (!call.data[i]) {
      report(call.span, fmt::format("{}: argument '{}' is missing", call.row.name, call.names[i]), typeIs(call.row));
      return false;
    }
  if (!expected) return true;
  if (missing > 0) {
    const auto first = instance.parameters.begin() + static_cast<std::ptrdiff_t>(given);
    const Type partial = Type::function({first, instance.parameters.end()}, instance.result);
    return expect(partial, *expected, call.span, std::string(call.row.name));
  }
  // A mismatch is reported with the arguments known; lengths follow from these.
  Type result = solver_.resolve(instance.result), wanted = solver_.resolve(*expected);
  while (result.isArray() && wanted.isArray())
    result = solver_.resolve(result.element()), wanted = solver_.resolve(wanted.element());
  if (call.row.prim != Prim::splat) solver_.unify(result, wanted, call.span);
  return true;
}

// Data first, functions when their parameter types are known.
bool Inference::takeData(SchemeCall& call, const Instance& instance) {
  const auto& data = call.data;
  call.values.resize(data.size());
  if (call.row.prim == Prim::pad && data[0] && data[1]) {
    call.values[1] = infer(data[1]->syntax, data[1]->scope, instance.parameters[1]);
    call.values[0] = spread(infer(data[0]->syntax, data[0]->scope), instance.parameters[0]);
    if (!expect(call.values[0]->type(), instance.parameters[0], data[0]->syntax->span, "the padding")) return false;
  }
  for (const bool functions : {false, true})
    for (std::size_t i = 0; i < data.size(); i++) {
      const Type parameter = instance.parameters[i];
      if (!data[i] || call.values[i] || solver_.resolve(parameter).isFunction() != functions) continue;
      const Argument& a = *data[i];
      if (functions) {
        call.values[i] = infer(a.syntax, a.scope, parameter);
        // An error below it, which is reported, may have left something that is no function.
        const Type found = solver_.resolve(call.values[i]->type());
        if (!found.isFunction() && !found.isVariable()) return false;
        continue;
      }
      call.values[i] = infer(a.syntax, a.scope);
      if (solver_.unify(call.values[i]->type(), parameter, a.syntax->span)) continue;
      const Type found = solver_.zonk(call.values[i]->type()), wanted = solver_.zonk(parameter);
      if (call.row.prim == Prim::at && i == 1 && !found.isArray()) {
        report(a.syntax->span, fmt::format("{} is no array, and has no elements", found.str()),
               found.isTuple() ? "components are written p.0, p.1" : laneHint(found));
        return false;
      }
      report(
          a.syntax->span,
          fmt::format("argument '{}' of {}: expected {}, found {}", call.names[i], call.row.name, wanted.str(),
                      found.str()),
          found.isScalar() && wanted.isScalar() ? fmt::format("convert with {}(…)", wanted.str()) : typeIs(call.row));
      return false;
    }
  return true;
}

bool Inference::addConditions(const SchemeCall& call, const Instance& instance) {
  const auto add = [&](const Instance::Condition& c) {
    conditions_.push_back(
        {c.kind, c.left, c.right, call.span, place(call.span), std::string(call.row.name), instance.parameters.back()});
  };
  for (const auto& c : instance.conditions) {
    add(c);
    // Of an array with less than one element nothing can be made.
    if (c.kind == SizeCondition::Kind::lessEqual && solver_.zonk(c.right).constant() &&
        reportRefuted(conditions_.back()))
      return false;
  }
  if (call.row.prim != Prim::reorder) return true;
  const Type array = solver_.resolve(instance.parameters.back());
  const Nat n = array.isArray() ? array.length() : Nat(1);
  for (const auto& c : indexConditions(static_cast<IndexFn>(call.detail), call.nats, n)) add(c);
  return true;
}

}  // namespace lift::detail
