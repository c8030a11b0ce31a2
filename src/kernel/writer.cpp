#include "writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "lift/kernel_walk.hpp"
#include "lift/listed.hpp"

namespace lift::kernel {
namespace {

bool mayBeMinusOne(const ExprPtr& e) {
  return match(
      e->node, [](const Literal& l) { return l.value.integer == -1; },
      [](const Index& i) { return lessEqual(Nat(0), i.value) != Truth::proved; },
      [](const Splat& s) { return mayBeMinusOne(s.value); }, [](const auto&) { return true; });
}

bool beyondInt(Nat n) {
  const auto low = n.lower(), high = n.upper();
  return (low && *low < std::numeric_limits<std::int32_t>::min()) ||
         (high && *high > std::numeric_limits<std::int32_t>::max());
}

}  // namespace

const std::string& Writer::nameOf(NatVar v) const {
  const auto found = indices_.find(v);
  if (found == indices_.end()) throw InternalError("integer variable " + v.name() + " has no name in the kernel");
  return found->second;
}

// ------------------------------------------------------------------------------------------------------- integers

bool Writer::isWide(Nat n) {
  const auto found = wide_.find(n);
  if (found != wide_.end()) return found->second;
  bool wide = beyondInt(n);
  if (const auto v = n.variable())
    wide = wide || longs_.contains(*v);
  else
    for (const Nat& o : n.operands()) wide = isWide(o) || wide;
  if (!n.variable()) wide_[n] = wide;
  return wide;
}

Text Writer::nat(Nat n, bool wide) {
  switch (n.kind()) {
    case Nat::Kind::constant: return dialect_.index(*n.constant(), wide);
    case Nat::Kind::variable: {
      const NatVar v = *n.variable();
      if (wide && !longs_.contains(v)) return {fmt::format("({}){}", dialect_.indexType(true), nameOf(v)), unary};
      return {nameOf(v)};
    }
    case Nat::Kind::sum: {
      // Begin with a positive term where there is one: n - 4 * i rather than -4 * i + n.
      std::vector<Nat> terms = n.operands();
      const auto negative = [](Nat t) {
        if (t.constant()) return *t.constant() < 0;
        return t.kind() == Nat::Kind::product && t.operands()[0].constant().value_or(1) < 0;
      };
      const auto first = std::ranges::find_if(terms, [&](Nat t) { return !negative(t); });
      if (first != terms.end()) std::rotate(terms.begin(), first, first + 1);
      std::string s;
      for (const Nat& t : terms) {
        const bool minus = !s.empty() && negative(t);
        if (!s.empty()) s += minus ? " - " : " + ";
        // A 64-bit operand makes the whole sum one; a variable needs no cast then.
        s += product(t, wide && (s.empty() || !t.variable()), minus).within(additive + (minus ? 1 : 0));
      }
      return {s, additive};
    }
    case Nat::Kind::product: return product(n, wide, false);
    case Nat::Kind::floorDiv:
    case Nat::Kind::mod: {
      const bool division = n.kind() == Nat::Kind::floorDiv;
      const Nat a = n.operands()[0], b = n.operands()[1];
      if (a.lower().value_or(-1) >= 0 && b.lower().value_or(0) > 0)
        return {nat(a, wide).within(multiplicative) + (division ? " / " : " % ") + nat(b, wide).within(unary),
                multiplicative};
      const std::string dividend = nat(a, wide).text, divisor = nat(b, wide).text;
      return {dialect_.indexOperation(n.kind(), wide, dividend, divisor)};
    }
    case Nat::Kind::min:
    case Nat::Kind::max: {
      // Two operands at a time: the builtins are binary.
      const auto& all = n.operands();
      std::string s = nat(all[0], wide).text;
      for (std::size_t i = 1; i < all.size(); i++)
        s = dialect_.indexOperation(n.kind(), wide, s, nat(all[i], wide).text);
      return {s};
    }
  }
  throw InternalError("unknown kind of integer expression");
}

// A term of a sum; with `negated`, its opposite (the coefficient or constant is negative).
Text Writer::product(Nat n, bool wide, bool negated) {
  if (n.constant()) return nat(negated ? Nat(-*n.constant()) : n, wide);
  if (n.kind() != Nat::Kind::product) return nat(n, wide);
  std::string s;
  bool sign = false;
  for (const Nat& factor : n.operands()) {
    if (const auto c = factor.constant()) {
      const std::int64_t k = negated ? -*c : *c;
      if (k == 1) continue;
      if (k == -1) {
        sign = true;
        continue;
      }
      s += s.empty() ? "" : " * ";
      s += nat(Nat(k), wide).within(s.empty() ? multiplicative : unary);
    } else {
      // The right operand of * is parenthesised when it is itself a quotient: 4 * (i / 3).
      s += s.empty() ? "" : " * ";
      s += nat(factor, wide && (s.empty() || !factor.variable())).within(s.empty() && !sign ? multiplicative : unary);
    }
  }
  if (sign) s.insert(0, "-");
  return {s, multiplicative};
}

Text Writer::comparison(const Comparison& c) {
  Nat a = c.lhs, b = c.rhs;
  std::string_view op = "==";
  const bool flip = a.constant().has_value();  // i >= 0 reads better than 0 <= i
  if (flip) std::swap(a, b);
  switch (c.relation) {
    case Relation::less: op = flip ? ">" : "<"; break;
    case Relation::lessEqual: op = flip ? ">=" : "<="; break;
    case Relation::equal: op = "=="; break;
    case Relation::notEqual: op = "!="; break;
  }
  const int binds = op == "==" || op == "!=" ? equality : relational;
  return {nat(a, additive) + ' ' + std::string(op) + ' ' + nat(b, additive), binds};
}

// ---------------------------------------------------------------------------------------------------------- values

std::optional<BufferId> Writer::pointsInto(NatVar v) const {
  const auto found = pointers_.find(v);
  return found == pointers_.end() ? std::nullopt : std::optional(found->second);
}

Place Writer::place(BufferId b, Nat index) {
  const std::int64_t multiple = multipleOf(index);
  if (kernel_.buffers[b].isImage && dialect_.hasImages()) index = floorDiv(index, ImageLayout::texelElements);
  const auto base = baseOf(index, pointers_);
  if (base) index = index - Nat(*base);
  return {kernel_.buffers[b], base ? nameOf(*base) : nameOfBuffer(b), nat(index),
          index == Nat(0) ? "" : nat(index, additive), multiple};
}

std::int64_t Writer::multipleOf(Nat n) const {
  constexpr std::int64_t most = 16;
  const auto ofConstant = [](std::int64_t c) { return std::gcd(c, most); };
  const std::vector<Nat>& parts = n.operands();
  switch (n.kind()) {
    case Nat::Kind::constant: return ofConstant(*n.constant());
    case Nat::Kind::variable: {
      const auto known = multiples_.find(*n.variable());
      return known == multiples_.end() ? 1 : known->second;
    }
    case Nat::Kind::product: {
      std::int64_t product = 1;
      for (const Nat p : parts) product = std::min(most, product * multipleOf(p));
      return product;
    }
    case Nat::Kind::floorDiv: {
      const auto divisor = parts[1].constant();
      const std::int64_t dividend = multipleOf(parts[0]);
      return divisor && *divisor > 0 && dividend % *divisor == 0 ? dividend / *divisor : 1;
    }
    case Nat::Kind::sum:
    case Nat::Kind::mod:
    case Nat::Kind::min:
    case Nat::Kind::max: {
      std::int64_t common = most;
      for (const Nat p : parts) common = std::gcd(common, multipleOf(p));
      return common;
    }
  }
  return 1;
}

std::string Writer::store(const Store& s) {
  const ValueType t = s.value->type;
  const bool isMask = t.scalar == Scalar::boolean && t.width > 1;
  const std::string value = isMask ? dialect_.storedMask(t.width, mask(s.value, 1)) : expr(s.value);
  const Place to = place(s.buffer, s.index);
  if (s.update) return dialect_.update(*s.update, to, value);
  return s.streams ? dialect_.stream(t, to, value) : dialect_.store(t, to, value);
}

std::string Writer::prefetch(const Prefetch& p) { return dialect_.prefetch(pointer(p.buffer, p.index)); }

Text Writer::text(const ExprPtr& e) {
  if (e->type.scalar == Scalar::boolean && e->type.width > 1) return {mask(e, 1)};
  return match(
      e->node,
      [&](const Literal& l) {
        if (e->type.width == 1) return dialect_.literal(l.value);
        return dialect_.splat(e->type, dialect_.literal(l.value).text);
      },
      [&](const Index& i) {
        if (isWide(i.value)) return Text{fmt::format("({}){}", dialect_.indexType(false), nat(i.value, unary)), unary};
        return nat(i.value, false);
      },
      [&](const VarRef& v) { return Text{nameOf(v.variable)}; },
      [&](const Load& l) {
        const std::string value = dialect_.load(e->type, place(l.buffer, l.index));
        return e->type.scalar == Scalar::boolean ? Text{value + " != 0", equality} : Text{value};
      },
      [&](const Operation& o) { return operation(*e, o); }, [&](const Convert& c) { return conversion(*e, c); },
      [&](const Splat& s) { return dialect_.splat(e->type, expr(s.value)); },
      [&](const Lane& l) {
        if (l.vector->type.scalar == Scalar::boolean)
          return Text{dialect_.lane(mask(l.vector, 1), l.lane) + " != 0", equality};
        return Text{dialect_.lane(expr(l.vector, postfix), l.lane)};
      },
      [&](const AnyLane& any) {
        const std::size_t bytes = maskBytes(any.vector);
        return dialect_.anyLane({integerOf(bytes), any.vector->type.width}, mask(any.vector, bytes));
      },
      [&](const MakeVector& m) {
        std::vector<std::string> parts;
        for (std::size_t i = 0, n = 1; i < m.lanes.size(); i += n) {
          n = dialect_.vectorsOfVectors() ? neighboursFrom(m.lanes, i) : 1;
          const auto* first = as<Load>(m.lanes[i]);
          const ValueType part{e->type.scalar, static_cast<int>(n)};
          parts.push_back(n > 1 ? dialect_.load(part, place(first->buffer, first->index)) : expr(m.lanes[i]));
        }
        return parts.size() == 1 ? Text{parts[0]} : dialect_.vector(e->type, parts);
      },
      [&](const Test& t) {
        if (t.all.empty()) return Text{"true"};
        if (t.all.size() == 1) return comparison(t.all[0]);
        const auto operand = [&](const Comparison& c) { return comparison(c).within(andAlso); };
        return Text{listed(t.all, operand, " && "), andAlso};
      },
      [&](const Choose& c) {
        return Text{fmt::format("{} ? {} : {}", expr(c.condition, orElse), expr(c.then), expr(c.otherwise)), ternary};
      });
}

// How many lanes from `first` on are neighbours in memory, that one load takes: 8, 4, 2, or 1 by itself.
std::size_t Writer::neighboursFrom(const std::vector<ExprPtr>& lanes, std::size_t first) const {
  const auto* start = as<Load>(lanes[first]);
  if (start == nullptr) return 1;
  const Buffer& from = kernel_.buffers[start->buffer];
  if (from.width != 1 || from.isImage || from.scalar == Scalar::boolean || from.space == AddressSpace::priv) return 1;
  const auto isNext = [&](const ExprPtr& lane, std::size_t n) {
    const auto* next = as<Load>(lane);
    return next != nullptr && next->buffer == start->buffer &&
           next->index == start->index + Nat(static_cast<std::int64_t>(n));
  };
  std::size_t n = 1;
  while (first + n < lanes.size() && isNext(lanes[first + n], n)) n++;
  return std::bit_floor(n);
}

Text Writer::operation(const Expr& e, const Operation& o) {
  if (o.op == Op::select) {
    if (e.type.width > 1)
      return {dialect_.choice(e.type, mask(o.args[0], info(e.type.scalar).bytes), expr(o.args[1]), expr(o.args[2]))};
    return {fmt::format("{} ? {} : {}", expr(o.args[0], orElse), expr(o.args[1]), expr(o.args[2])), ternary};
  }
  std::vector<Text> args;
  for (const ExprPtr& a : o.args) args.push_back(text(a));
  const bool divides = (o.op == Op::div || o.op == Op::mod) && isInteger(e.type.scalar) && info(e.type.scalar).isSigned;
  return divides && mayBeMinusOne(o.args[1]) ? dialect_.division(o.op, e.type, args)
                                             : dialect_.operation(o.op, e.type, args);
}

Text Writer::conversion(const Expr& e, const Convert& c) {
  const ValueType from = c.value->type, to = e.type;
  if (to.width > 1 && from.scalar == Scalar::boolean) {
    const auto all = [&](std::int64_t i) { return dialect_.splat(to, std::to_string(i)).text; };
    return {dialect_.choice(to, mask(c.value, info(to.scalar).bytes), all(1), all(0))};
  }
  if (to.scalar == Scalar::boolean) return {expr(c.value, equality) + " != 0", equality};
  return dialect_.conversion(from, to, text(c.value));
}

// Of the integers that the mask has as it is computed.
std::size_t Writer::maskBytes(const ExprPtr& e) {
  const auto* o = as<Operation>(e);
  if (o == nullptr) return 1;
  const bool ofMasks = o->args.back()->type.scalar == Scalar::boolean;
  return ofMasks ? maskBytes(o->args.back()) : info(o->args.back()->type.scalar).bytes;
}

// Boolean vectors are masks: 0 or -1 in integers of the size that the context (choice, &, |) wants.
std::string Writer::mask(const ExprPtr& e, std::size_t bytes) {
  const int width = e->type.width;
  const ValueType target{integerOf(bytes), width};
  const auto resized = [&](const std::string& s, std::size_t natural) {
    return natural == bytes ? s : dialect_.resizedMask(target, s);
  };
  const auto truth = [&](const ExprPtr& scalar) { return expr(scalar, orElse) + " ? -1 : 0"; };
  const auto nonZero = [&](const std::string& value, ValueType t) {
    return resized(fmt::format("({} != {})", value, dialect_.splat(t, "0").text), info(t.scalar).bytes);
  };
  return match(
      e->node, [&](const Literal& l) { return dialect_.splat(target, l.value.truth() ? "-1" : "0").within(primary); },
      [&](const VarRef& v) { return resized(nameOf(v.variable), 1); },
      [&](const Load& l) {
        const ValueType bytesOf{Scalar::u8, width};
        return nonZero(dialect_.load(bytesOf, place(l.buffer, l.index)), bytesOf);
      },
      [&](const Operation& o) {
        switch (o.op) {
          case Op::logicalAnd: return fmt::format("({} & {})", mask(o.args[0], bytes), mask(o.args[1], bytes));
          case Op::logicalOr: return fmt::format("({} | {})", mask(o.args[0], bytes), mask(o.args[1], bytes));
          case Op::logicalNot: return fmt::format("(~{})", mask(o.args[0], bytes));
          case Op::select:
            return dialect_.choice(target, mask(o.args[0], bytes), mask(o.args[1], bytes), mask(o.args[2], bytes));
          default: break;
        }
        const Scalar operand = o.args[0]->type.scalar;
        if (operand == Scalar::boolean)  // eq, ne
          return fmt::format("({}{} ^ {})", o.op == Op::eq ? "~" : "", mask(o.args[0], bytes), mask(o.args[1], bytes));
        const Infix infix = infixOf(o.op).value();
        return resized(fmt::format("({} {} {})", expr(o.args[0], shift), infix.text, expr(o.args[1], shift)),
                       info(operand).bytes);
      },
      [&](const Convert& c) { return nonZero(expr(c.value, shift), c.value->type); },
      [&](const Splat& s) { return dialect_.splat(target, truth(s.value)).within(primary); },
      [&](const MakeVector& m) {
        std::vector<std::string> lanes;
        for (const ExprPtr& l : m.lanes) lanes.push_back(truth(l));
        return dialect_.vector(target, lanes).within(primary);
      },
      [&](const Choose& c) {
        return fmt::format("({} ? {} : {})", expr(c.condition, orElse), mask(c.then, bytes), mask(c.otherwise, bytes));
      },
      [](const auto&) -> std::string { throw InternalError("a vector of booleans that is none"); });
}

}  // namespace lift::kernel
