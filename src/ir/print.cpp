#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lift/diagnostic.hpp"
#include "lift/expr.hpp"
#include "lift/terms.hpp"

namespace lift {
namespace {

constexpr std::size_t lineWidth = 100;
constexpr int atomPrecedence = 100;  // binds tighter than every operator
constexpr int openPrecedence = 0;    // fun and let reach as far as possible

std::string literalText(const ScalarValue& v) {
  const std::string suffix(info(v.type).name);
  switch (v.type) {
    case Scalar::boolean: return v.integer ? "true" : "false";
    case Scalar::f16:
    case Scalar::h16:
    case Scalar::f32:
    case Scalar::f64: {
      if (std::isnan(v.real)) return v.type == Scalar::f32 ? "nan" : suffix + "(nan)";
      if (std::isinf(v.real)) {
        const std::string text = v.real < 0 ? "-inf" : "inf";
        return v.type == Scalar::f32 ? text : suffix + "(" + text + ")";
      }
      std::string text =
          v.type == Scalar::f64 ? fmt::format("{}", v.real) : fmt::format("{}", static_cast<float>(v.real));
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
      return v.type == Scalar::f32 ? text : text + suffix;
    }
    case Scalar::i32: return std::to_string(v.integer);
    case Scalar::u64: return fmt::format("{}u64", static_cast<std::uint64_t>(v.integer));
    default: return std::to_string(v.integer) + suffix;
  }
}

class Printer {
 public:
  explicit Printer(Names names) : names_(names) {}

  void reserve(const std::string& name) { used_.insert(name); }

  // `hides`: it may have the name of a primitive or an operation.
  std::string declare(Expr variable, bool hides = false) {
    std::string name = names_ == Names::canonical ? fmt::format("x{}", ++count_) : variable.name();
    if (name.empty() || (reserved(name) && !(hides && isFunction(name)))) name = "x";
    if (used_.count(name)) {
      int i = 2;
      while (used_.count(fmt::format("{}_{}", name, i))) i++;
      name = fmt::format("{}_{}", name, i);
    }
    used_.insert(name);
    given_[variable] = name;
    return name;
  }

  // The term at an indentation; parenthesised when it binds less tightly than `precedence`.
  std::string text(Expr e, std::size_t indent, int precedence = openPrecedence) {
    switch (e.form()) {
      case Expr::Form::variable: {
        const auto found = given_.find(e);
        return found != given_.end() ? found->second : e.name();
      }
      case Expr::Form::literal: return signedText(literalText(e.value()), precedence);
      case Expr::Form::natLiteral: return natText(e.natValue(), precedence);
      case Expr::Form::lambda: return lambda(e, indent, precedence);
      case Expr::Form::primitive:
      case Expr::Form::apply: return application(e, indent, precedence);
    }
    throw InternalError("unknown form of term");
  }

  // Whether the text says the name of a primitive, operation or conversion, which a size of that name would hide.
  bool says(const std::string& name) const { return said_.count(name) > 0; }

  static bool reserved(const std::string& name) {
    static const std::set<std::string> words{"fun",    "let",   "in",   "def",  "tune",   "type",
                                             "import", "if",    "then", "else", "true",   "false",
                                             "nat",    "index", "inf",  "nan",  "literal"};
    return words.count(name) || primNamed(name) || opNamed(name) || scalarNamed(name) || indexFnNamed(name);
  }
  static bool isFunction(const std::string& name) { return (primNamed(name) || opNamed(name)) && !indexFnNamed(name); }

 private:
  // A size that stands as a value. As operations on values it would be another term, whose division rounds otherwise.
  static std::string natText(Nat n, int precedence) {
    if (n.variable()) return n.str();
    if (n.constant()) return signedText(n.str(), precedence);
    return "(" + n.str() + " : nat)";
  }

  static std::string signedText(const std::string& s, int precedence) {
    return s[0] == '-' && precedence > info(Op::neg).precedence ? "(" + s + ")" : s;
  }

  std::string say(std::string_view name) { return *said_.emplace(name).first; }

  static std::string parenthesise(std::string s, bool needed) { return needed ? "(" + s + ")" : s; }

  std::string lambda(Expr e, std::size_t indent, int precedence) {
    const std::string name = declare(e.parameter());
    std::string head = "fun " + name + " =>";
    std::string body = text(e.body(), indent + 2);
    const bool flat = body.find('\n') == std::string::npos && indent + head.size() + body.size() + 1 <= lineWidth;
    std::string s = flat ? head + " " + body : head + "\n" + std::string(indent + 2, ' ') + body;
    return parenthesise(std::move(s), precedence > openPrecedence);
  }

  std::string application(Expr e, std::size_t indent, int precedence) {
    Spine spine = spineOf(e);
    auto& args = spine.arguments;
    if (spine.isPrim(Prim::let) && args.size() == 2 && args[0].isLambda()) {
      const std::string value = text(args[1], indent + 4);
      const std::string name = declare(args[0].parameter());
      std::string s =
          fmt::format("let {} = {} in\n{}{}", name, value, std::string(indent, ' '), text(args[0].body(), indent));
      return parenthesise(std::move(s), precedence > openPrecedence);
    }
    if (spine.isPrim(Prim::tuple) && args.size() >= 2 && spine.head.type().isFunction() && !e.type().isFunction())
      return list("(", args, ")", indent);
    if (spine.isPrim(Prim::ifThenElse) && args.size() == 3)
      return parenthesise(
          list("if ", {args[0]}, " then ", indent) + text(args[1], indent + 2) + " else " + text(args[2], indent + 2),
          precedence > openPrecedence);
    if (spine.isPrim(Prim::arrayOf) && !e.type().isFunction()) return list("[", args, "]", indent);
    if (spine.isPrim(Prim::get) && args.size() == 1)
      return text(args[0], indent, atomPrecedence) + "." + spine.head.nats()[0].str();
    if (spine.isPrim(Prim::at) && args.size() == 2)
      return text(args[1], indent, atomPrecedence) + "[" + text(args[0], indent) + "]";
    if (spine.isPrim(Prim::op)) {
      const OpInfo& row = info(spine.head.op());
      if (!row.infix.empty() && args.size() == 2) {
        std::string s = fmt::format("{} {} {}", text(args[0], indent, row.precedence), row.infix,
                                    text(args[1], indent, row.precedence + 1));
        return parenthesise(std::move(s), precedence > row.precedence);
      }
      return list(say(row.name) + "(", args, ")", indent);
    }
    if (spine.isPrim(Prim::convert)) {
      const std::string name = say(info(spine.head.target()).name);
      return args.empty() ? name : list(name + "(", args, ")", indent);
    }
    if (!spine.head.isPrimitive()) return list(text(spine.head, indent, atomPrecedence) + "(", args, ")", indent);

    const std::string head = say(info(spine.head.prim()).name);
    std::vector<std::string> sizes;
    if (spine.head.prim() == Prim::reorder) {
      const IndexFnInfo& fn = info(spine.head.indexFn());
      std::string s(fn.name);
      for (std::size_t i = 0; i < spine.head.nats().size(); i++) s += (i ? ", " : "(") + spine.head.nats()[i].str();
      if (!spine.head.nats().empty()) s += ")";
      sizes.push_back(s);
    } else {
      for (const Nat n : spine.head.nats()) sizes.push_back(n.str());
    }
    if (args.empty() && sizes.empty()) return head;
    return list(head + "(", args, ")", indent, sizes);
  }

  // open a, b, c close — on one line where it fits, else one argument a line.
  std::string list(const std::string& open, const std::vector<Expr>& args, const std::string& close, std::size_t indent,
                   const std::vector<std::string>& first = {}) {
    std::vector<std::string> parts = first;
    for (const Expr a : args) parts.push_back(text(a, indent + 2));
    std::size_t width = indent + open.size() + close.size();
    bool flat = true;
    for (const std::string& p : parts) {
      width += p.size() + 2;
      flat = flat && p.find('\n') == std::string::npos;
    }
    flat = flat && width <= lineWidth;
    std::string s = open;
    for (std::size_t i = 0; i < parts.size(); i++) {
      if (i) s += ",";
      if (flat)
        s += i ? " " : "";
      else if (i >= first.size())
        s += "\n" + std::string(indent + 2, ' ');
      else if (i)
        s += " ";
      s += parts[i];
    }
    return s + close;
  }

  Names names_;
  int count_ = 0;
  std::set<std::string> used_, said_;
  std::unordered_map<Expr, std::string> given_;
};

}  // namespace

std::string print(Expr e, Names names) { return Printer(names).text(e, 0); }

namespace {

// The program with a size or tunable called otherwise.
Program renamed(const Program& program, NatVar variable, const std::string& name) {
  std::map<NatVar, Nat> replacements;
  std::set<NatVar> all(program.tunables.begin(), program.tunables.end());  // bounds mention those made before
  all.insert(program.sizes.begin(), program.sizes.end());
  for (const NatVar v : all) {
    const auto upper = v.upper() ? std::optional(v.upper()->substitute(replacements)) : std::nullopt;
    if (v == variable || upper != v.upper())
      replacements.emplace(v, NatVar::fresh(v == variable ? name : v.name(), v.lower(), upper, v.role()));
  }
  const auto replaced = [&](std::vector<NatVar> list) {
    for (NatVar& v : list)
      if (const auto found = replacements.find(v); found != replacements.end()) v = *found->second.variable();
    return list;
  };
  Program out = specialise(program, replacements);
  out.tunables = replaced(program.tunables);
  out.sizes = replaced(program.sizes);
  return out;
}

bool isTunable(const Program& program, const std::string& name) {
  return std::ranges::any_of(program.tunables, [&](NatVar t) { return t.name() == name; });
}

// `hiding`: names of parameters that hide what the text says.
std::string printed(const Program& program, Names names, std::set<std::string> hiding) {
  Printer printer(names);
  std::string head;
  for (const NatVar t : program.tunables) {
    printer.reserve(t.name());
    head += fmt::format("tune {} in {}..{}\n", t.name(), t.lower(), t.upper().value_or(t.lower()).str());
  }
  // Sizes that no parameter's type mentions are parameters of kind nat.
  std::vector<std::string> parameters;
  for (const NatVar s : program.sizes) {
    printer.reserve(s.name());
    bool mentioned = false;
    for (const Expr p : program.parameters) p.type().forEachNat([&](Nat n) { mentioned = mentioned || n.mentions(s); });
    const std::string high = s.upper() ? s.upper()->str() : "";
    const bool hasRange = s.lower() != 1 || s.upper();
    if (hasRange) parameters.push_back(fmt::format("{}: nat in {}..{}", s.name(), s.lower(), high));
    if (!hasRange && !mentioned) parameters.push_back(s.name() + ": nat");
  }
  for (const Expr p : program.parameters)
    parameters.push_back(printer.declare(p, !hiding.contains(p.name())) + ": " + p.type().str());
  const std::string body = printer.text(program.body, 2);
  // No name of the program may hide what the text says.
  for (const auto* list : {&program.tunables, &program.sizes})
    for (const NatVar v : *list)
      if (printer.says(v.name())) return printed(renamed(program, v, v.name() + "'"), names, hiding);
  for (const Expr p : program.parameters)
    if (printer.says(p.name()) && hiding.insert(p.name()).second) return printed(program, names, hiding);
  head += "def " + program.name + (printer.says(program.name) || isTunable(program, program.name) ? "'" : "");
  for (std::size_t i = 0; i < parameters.size(); i++) head += (i ? ", " : "(") + parameters[i];
  // A constant has no parentheses.
  return fmt::format("{}{}: {} =\n  {}\n", head, parameters.empty() ? "" : ")", program.body.type().str(), body);
}

}  // namespace

std::string print(const Program& program, Names names) { return printed(program, names, {}); }

}  // namespace lift
