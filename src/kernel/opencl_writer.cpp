#include "opencl_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lift/kernel_walk.hpp"

namespace lift::kernel {
namespace {

constexpr std::int64_t intMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t intMin = std::numeric_limits<std::int32_t>::min();

std::string paren(std::string s, int binds, int least) { return binds < least ? '(' + s + ')' : s; }

bool beyondInt(Nat n) {
  const auto low = n.lower(), high = n.upper();
  return (low && *low < intMin) || (high && *high > intMax);
}

std::string intName(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return "char";
    case 2:
      return "short";
    case 4:
      return "int";
    default:
      return "long";
  }
}

bool isSmallInteger(Scalar s) { return isInteger(s) && info(s).bytes < 4; }

struct Infix {
  std::string_view text;
  int precedence;
};
std::optional<Infix> infixOf(Op op) {
  switch (op) {
    case Op::add:
      return Infix{"+", additive};
    case Op::sub:
      return Infix{"-", additive};
    case Op::mul:
      return Infix{"*", multiplicative};
    case Op::div:
      return Infix{"/", multiplicative};
    case Op::mod:
      return Infix{"%", multiplicative};  // integers only
    case Op::lt:
      return Infix{"<", relational};
    case Op::le:
      return Infix{"<=", relational};
    case Op::gt:
      return Infix{">", relational};
    case Op::ge:
      return Infix{">=", relational};
    case Op::eq:
      return Infix{"==", equality};
    case Op::ne:
      return Infix{"!=", equality};
    case Op::logicalAnd:
      return Infix{"&&", andAlso};
    case Op::logicalOr:
      return Infix{"||", orElse};
    case Op::bitAnd:
      return Infix{"&", bitAnd_};
    case Op::bitOr:
      return Infix{"|", bitOr_};
    case Op::bitXor:
      return Infix{"^", bitXor_};
    case Op::shl:
      return Infix{"<<", shift};
    case Op::shr:
      return Infix{">>", shift};
    default:
      return std::nullopt;
  }
}

std::string laneName(int lane) { return fmt::format("s{:x}", lane); }

}  // namespace

const std::string& OpenclWriter::nameOf(NatVar v) const {
  const auto found = indices_.find(v);
  if (found == indices_.end()) throw InternalError("integer variable " + v.name() + " has no name in the kernel");
  return found->second;
}

std::string OpenclWriter::type(ValueType t) {
  if (t.scalar == Scalar::boolean) return t.width == 1 ? "bool" : fmt::format("char{}", t.width);
  std::string s(info(t.scalar).opencl);
  return t.width == 1 ? s : s + std::to_string(t.width);
}

std::string OpenclWriter::elementType(const Buffer& b) {
  // Arrays of half need an extension; a pointer to half does not, and that is how they are accessed.
  std::string s(b.scalar == Scalar::f16 && b.space != Space::global ? "ushort" : info(b.scalar).opencl);
  return b.width == 1 ? s : s + std::to_string(b.width);
}

// ------------------------------------------------------------------------------------------------------- integers

bool OpenclWriter::isWide(Nat n) {
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

std::string OpenclWriter::nat(Nat n, int least) { return natIn(n, least, isWide(n)); }

std::string OpenclWriter::natIn(Nat n, int least, bool wide) {
  switch (n.kind()) {
    case Nat::Kind::constant: {
      const std::int64_t c = *n.constant();
      if (c == std::numeric_limits<std::int64_t>::min()) return "LONG_MIN";
      if (c == intMin && !wide) return "INT_MIN";
      return paren(fmt::format("{}{}", c, wide ? "L" : ""), c < 0 ? unary : primary, least);
    }
    case Nat::Kind::variable: {
      const NatVar v = *n.variable();
      if (wide && !longs_.contains(v)) return paren("(long)" + nameOf(v), unary, least);
      return nameOf(v);
    }
    case Nat::Kind::sum: {
      // Begin with a positive term where there is one: n - 4 * i rather than -4 * i + n.
      std::vector<Nat> terms = n.operands();
      const auto negative = [](Nat t) {
        if (t.constant()) return *t.constant() < 0;
        return t.kind() == Nat::Kind::product && t.operands()[0].constant().value_or(1) < 0;
      };
      const auto first = std::find_if(terms.begin(), terms.end(), [&](Nat t) { return !negative(t); });
      if (first != terms.end()) std::rotate(terms.begin(), first, first + 1);
      std::string s;
      for (const Nat& t : terms) {
        const bool minus = !s.empty() && negative(t);
        if (!s.empty()) s += minus ? " - " : " + ";
        // A 64-bit operand makes the whole sum one; a variable needs no cast then.
        s += product(t, additive + (minus ? 1 : 0), wide && (s.empty() || !t.variable()), minus);
      }
      return paren(s, additive, least);
    }
    case Nat::Kind::product:
      return product(n, least, wide, false);
    case Nat::Kind::floorDiv:
    case Nat::Kind::mod: {
      const bool division = n.kind() == Nat::Kind::floorDiv;
      const Nat a = n.operands()[0], b = n.operands()[1];
      if (a.lower().value_or(-1) >= 0 && b.lower().value_or(0) > 0) {
        return paren(natIn(a, multiplicative, wide) + (division ? " / " : " % ") + natIn(b, unary, wide),
                     multiplicative, least);
      }
      bool& used = division ? (wide ? usesFloorDivLong : usesFloorDiv) : (wide ? usesFloorModLong : usesFloorMod);
      used = true;
      return fmt::format("floor_{}{}({}, {})", division ? "div" : "mod", wide ? "_long" : "", natIn(a, ternary, wide),
                         natIn(b, ternary, wide));
    }
    case Nat::Kind::min:
    case Nat::Kind::max: {
      // Two operands at a time: the builtins are binary.
      const auto& all = n.operands();
      const std::string_view f = n.kind() == Nat::Kind::min ? "min" : "max";
      std::string s = natIn(all[0], ternary, wide);
      for (std::size_t i = 1; i < all.size(); i++) s = fmt::format("{}({}, {})", f, s, natIn(all[i], ternary, wide));
      return s;
    }
  }
  throw InternalError("unknown kind of integer expression");
}

// A term of a sum; with `negated`, its opposite (the coefficient or constant is negative).
std::string OpenclWriter::product(Nat n, int least, bool wide, bool negated) {
  if (n.constant()) return natIn(negated ? Nat(-*n.constant()) : n, least, wide);
  if (n.kind() != Nat::Kind::product) return natIn(n, least, wide);
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
      s += natIn(Nat(k), s.empty() ? multiplicative : unary, wide);
    } else {
      // The right operand of * is parenthesised when it is itself a quotient: 4 * (i / 3).
      s += s.empty() ? "" : " * ";
      s += natIn(factor, s.empty() && !sign ? multiplicative : unary, wide && (s.empty() || !factor.variable()));
    }
  }
  if (sign) s.insert(0, "-");
  return paren(s, multiplicative, least);
}

std::string OpenclWriter::comparison(const Comparison& c, int least) {
  Nat a = c.lhs, b = c.rhs;
  std::string_view op = "==";
  const bool flip = a.constant().has_value();  // i >= 0 reads better than 0 <= i
  if (flip) std::swap(a, b);
  switch (c.relation) {
    case Relation::less:
      op = flip ? ">" : "<";
      break;
    case Relation::lessEqual:
      op = flip ? ">=" : "<=";
      break;
    case Relation::equal:
      op = "==";
      break;
    case Relation::notEqual:
      op = "!=";
      break;
  }
  const int binds = op == "==" || op == "!=" ? equality : relational;
  return paren(nat(a, additive) + ' ' + std::string(op) + ' ' + nat(b, additive), binds, least);
}

// ---------------------------------------------------------------------------------------------------------- values

std::string OpenclWriter::literal(const ScalarValue& v, int least) {
  if (v.type == Scalar::boolean) return v.integer != 0 ? "true" : "false";
  if (isFloat(v.type)) {
    const bool isDouble = v.type == Scalar::f64;
    if (std::isnan(v.real)) return isDouble ? paren("(double)NAN", unary, least) : "NAN";
    if (std::isinf(v.real)) {
      std::string s = v.real < 0 ? "-INFINITY" : "INFINITY";
      if (isDouble) s.insert(0, "(double)");
      return paren(s, isDouble || v.real < 0 ? unary : primary, least);
    }
    // The shortest text that reads back as the same value.
    std::string s = isDouble ? fmt::format("{}", v.real) : fmt::format("{}", static_cast<float>(v.real));
    if (s.find_first_of(".e") == std::string::npos) s += ".0";
    if (!isDouble) s += 'f';
    return paren(s, std::signbit(v.real) ? unary : primary, least);
  }
  const std::int64_t i = v.integer;
  const int binds = i < 0 ? unary : primary;
  switch (v.type) {
    case Scalar::i32:
      return i == intMin ? "INT_MIN" : paren(fmt::format("{}", i), binds, least);
    case Scalar::u32:
      return fmt::format("{}u", static_cast<std::uint32_t>(i));
    case Scalar::i64:
      return i == std::numeric_limits<std::int64_t>::min() ? "LONG_MIN" : paren(fmt::format("{}L", i), binds, least);
    case Scalar::u64:
      return fmt::format("{}ul", static_cast<std::uint64_t>(i));
    default:
      return paren(fmt::format("({}){}", info(v.type).opencl, i), unary, least);
  }
}

std::string OpenclWriter::pointer(BufferId b, Nat index) {
  return index == Nat(0) ? nameOfBuffer(b) : nameOfBuffer(b) + " + " + nat(index, additive);
}

std::string OpenclWriter::halfPointer(const Buffer& b, BufferId id, bool isConst) const {
  if (b.space == Space::global) return nameOfBuffer(id);
  return fmt::format("({}{}half*){}", b.space == Space::local ? "__local " : "", isConst ? "const " : "",
                     nameOfBuffer(id));
}

std::string OpenclWriter::loadText(ValueType t, const Load& l) {
  const Buffer& b = kernel_.buffers[l.buffer];
  if (b.scalar == Scalar::f16) {
    const std::string base = halfPointer(b, l.buffer, true);
    if (t.width == 1) return fmt::format("vload_half({}, {})", nat(l.index), base);
    if (b.width > 1) return fmt::format("vload_half{}({}, {})", t.width, nat(l.index), base);
    const std::string at = l.index == Nat(0) ? base : base + " + " + nat(l.index, additive);
    return fmt::format("vload_half{}(0, {})", t.width, at);
  }
  if (t.width == b.width) return fmt::format("{}[{}]", nameOfBuffer(l.buffer), nat(l.index));
  return fmt::format("vload{}(0, {})", t.width, pointer(l.buffer, l.index));
}

std::string OpenclWriter::store(const Store& s) {
  const Buffer& b = kernel_.buffers[s.buffer];
  const ValueType t = s.value->type;
  std::string value;
  if (t.scalar == Scalar::boolean && t.width > 1)
    value = fmt::format("as_uchar{0}({1} & (char{0})(1))", t.width, mask(s.value, 1));
  else
    value = expr(s.value);
  if (b.scalar == Scalar::f16) {
    const std::string base = halfPointer(b, s.buffer, false);
    if (t.width == 1) return fmt::format("vstore_half({}, {}, {});", value, nat(s.index), base);
    if (b.width > 1) return fmt::format("vstore_half{}({}, {}, {});", t.width, value, nat(s.index), base);
    const std::string at = s.index == Nat(0) ? base : base + " + " + nat(s.index, additive);
    return fmt::format("vstore_half{}({}, 0, {});", t.width, value, at);
  }
  if (t.width == b.width) return fmt::format("{}[{}] = {};", nameOfBuffer(s.buffer), nat(s.index), value);
  return fmt::format("vstore{}({}, 0, {});", t.width, value, pointer(s.buffer, s.index));
}

std::string OpenclWriter::expr(const ExprPtr& e, int least) {
  if (e->type.scalar == Scalar::boolean && e->type.width > 1) return mask(e, 1);
  const std::string vector = type(e->type);
  return match(
      e->node,
      [&](const Literal& l) {
        if (e->type.width == 1) return literal(l.value, least);
        return paren(fmt::format("({})({})", vector, literal(l.value, ternary)), unary, least);
      },
      [&](const Index& i) {
        if (isWide(i.value)) return paren("(int)" + nat(i.value, unary), unary, least);
        return nat(i.value, least);
      },
      [&](const VarRef& v) { return nameOf(v.variable); },
      [&](const Load& l) {
        if (e->type.scalar == Scalar::boolean) return paren(loadText(e->type, l) + " != 0", equality, least);
        return loadText(e->type, l);
      },
      [&](const Operation& o) { return operation(*e, o, least); },
      [&](const Convert& c) { return conversion(*e, c, least); },
      [&](const Splat& s) { return paren(fmt::format("({})({})", vector, expr(s.value)), unary, least); },
      [&](const Lane& l) {
        if (l.vector->type.scalar == Scalar::boolean)
          return paren(mask(l.vector, 1) + '.' + laneName(l.lane) + " != 0", equality, least);
        return expr(l.vector, postfix) + '.' + laneName(l.lane);
      },
      [&](const MakeVector& m) {
        std::string s;
        for (const ExprPtr& l : m.lanes) s += (s.empty() ? "" : ", ") + expr(l);
        return paren(fmt::format("({})({})", vector, s), unary, least);
      },
      [&](const Test& t) {
        if (t.all.empty()) return std::string("true");
        std::string s;
        for (const Comparison& c : t.all) s += (s.empty() ? "" : " && ") + comparison(c, andAlso);
        return t.all.size() == 1 ? comparison(t.all[0], least) : paren(s, andAlso, least);
      },
      [&](const Choose& c) {
        return paren(fmt::format("{} ? {} : {}", expr(c.condition, orElse), expr(c.then), expr(c.otherwise)), ternary,
                     least);
      });
}

std::string OpenclWriter::operation(const Expr& e, const Operation& o, int least) {
  const Scalar t = e.type.scalar;
  const bool isVector = e.type.width > 1;
  if (o.op == Op::select) {
    if (isVector)
      return fmt::format("select({}, {}, {})", expr(o.args[2]), expr(o.args[1]), mask(o.args[0], info(t).bytes));
    return paren(fmt::format("{} ? {} : {}", expr(o.args[0], orElse), expr(o.args[1]), expr(o.args[2])), ternary,
                 least);
  }
  // C computes small integers in int; the result must wrap to their own type.
  const bool wraps = !isVector && isSmallInteger(t);
  const std::string cast = wraps ? fmt::format("({})", info(t).opencl) : "";
  const auto finish = [&](std::string s, int binds) {
    if (!wraps) return paren(std::move(s), binds, least);
    return paren(cast + paren(std::move(s), binds, unary), unary, least);
  };
  const OpInfo& row = info(o.op);
  if (row.arity == 1 && row.precedence > 0) {
    const std::string operand = expr(o.args[0], unary);
    // "--x" would be a decrement.
    return finish(std::string(row.opencl) + (operand.starts_with("-") ? '(' + operand + ')' : operand), unary);
  }
  const auto infix = infixOf(o.op);
  if (infix && (o.op != Op::mod || isInteger(t))) {
    std::string right;
    if (wraps && (o.op == Op::shl || o.op == Op::shr))
      right = fmt::format("({} & {})", expr(o.args[1], bitAnd_), info(t).bytes * 8 - 1);
    else
      right = expr(o.args[1], infix->precedence + 1);
    return finish(fmt::format("{} {} {}", expr(o.args[0], infix->precedence), infix->text, right), infix->precedence);
  }
  std::string args;
  for (const ExprPtr& a : o.args) args += (args.empty() ? "" : ", ") + expr(a);
  const bool integer = isInteger(t) && !row.openclInteger.empty();
  std::string call = fmt::format("{}({})", integer ? row.openclInteger : row.opencl, args);
  if (o.op == Op::abs && integer && info(t).isSigned) {  // abs returns the unsigned type
    if (isVector) return fmt::format("as_{}({})", type(e.type), call);
    return paren(fmt::format("({}){}", info(t).opencl, call), unary, least);
  }
  return paren(call, postfix, least);
}

std::string OpenclWriter::conversion(const Expr& e, const Convert& c, int least) {
  const Scalar from = c.value->type.scalar, to = e.type.scalar;
  const std::string target = type(e.type);
  if (e.type.width > 1) {
    if (from == Scalar::boolean)
      return fmt::format("select(({0})(0), ({0})(1), {1})", target, mask(c.value, info(to).bytes));
    return fmt::format("convert_{}{}({})", target, isFloat(from) && !isFloat(to) ? "_sat" : "", expr(c.value));
  }
  if (to == Scalar::boolean) return paren(expr(c.value, equality) + " != 0", equality, least);
  if (isFloat(from) && !isFloat(to)) return fmt::format("convert_{}_sat({})", target, expr(c.value));
  return paren(fmt::format("({}){}", target, expr(c.value, unary)), unary, least);
}

// Boolean vectors are masks: 0 or -1 in integers of the size that the context (select, &, |) wants.
std::string OpenclWriter::mask(const ExprPtr& e, std::size_t bytes) {
  const int width = e->type.width;
  const std::string target = intName(bytes) + std::to_string(width);
  const auto resized = [&](const std::string& s, std::size_t natural) {
    return natural == bytes ? s : fmt::format("convert_{}({})", target, s);
  };
  const auto truth = [&](const ExprPtr& scalar) { return expr(scalar, orElse) + " ? -1 : 0"; };
  return match(
      e->node, [&](const Literal& l) { return fmt::format("(({})({}))", target, l.value.truth() ? -1 : 0); },
      [&](const VarRef& v) { return resized(nameOf(v.variable), 1); },
      [&](const Load& l) { return resized(fmt::format("({} != (uchar{})(0))", loadText(e->type, l), width), 1); },
      [&](const Operation& o) {
        switch (o.op) {
          case Op::logicalAnd:
            return fmt::format("({} & {})", mask(o.args[0], bytes), mask(o.args[1], bytes));
          case Op::logicalOr:
            return fmt::format("({} | {})", mask(o.args[0], bytes), mask(o.args[1], bytes));
          case Op::logicalNot:
            return fmt::format("(~{})", mask(o.args[0], bytes));
          case Op::select:
            return fmt::format("select({}, {}, {})", mask(o.args[2], bytes), mask(o.args[1], bytes),
                               mask(o.args[0], bytes));
          default:
            break;
        }
        const Scalar operand = o.args[0]->type.scalar;
        if (operand == Scalar::boolean)  // eq, ne
          return fmt::format("({}{} ^ {})", o.op == Op::eq ? "~" : "", mask(o.args[0], bytes), mask(o.args[1], bytes));
        const Infix infix = infixOf(o.op).value();
        return resized(fmt::format("({} {} {})", expr(o.args[0], shift), infix.text, expr(o.args[1], shift)),
                       info(operand).bytes);
      },
      [&](const Convert& c) {
        return resized(fmt::format("({} != ({})(0))", expr(c.value, shift), type(c.value->type)),
                       info(c.value->type.scalar).bytes);
      },
      [&](const Splat& s) { return fmt::format("(({})({}))", target, truth(s.value)); },
      [&](const MakeVector& m) {
        std::string s;
        for (const ExprPtr& l : m.lanes) s += (s.empty() ? "" : ", ") + truth(l);
        return fmt::format("(({})({}))", target, s);
      },
      [&](const Choose& c) {
        return fmt::format("({} ? {} : {})", expr(c.condition, orElse), mask(c.then, bytes), mask(c.otherwise, bytes));
      },
      [](const auto&) -> std::string { throw InternalError("a vector of booleans that is none"); });
}

}  // namespace lift::kernel
