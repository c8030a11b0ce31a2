// The verifier: every node of a finished program against the table's schemes, without the help of inference's records.
#include <fmt/format.h>

#include <algorithm>

#include "lift/diagnostic.hpp"
#include "lift/expr.hpp"
#include "scheme.hpp"
#include "solver.hpp"

namespace lift {
namespace {

using detail::Instance;
using detail::Solver;

bool vectorsHoldScalars(Type t) {
  if (t.isVector()) return t.element().isScalar();
  return std::ranges::all_of(t.parts(), vectorsHoldScalars);
}

class Verifier {
 public:
  explicit Verifier(const Program& program) {
    for (const Expr p : program.parameters) bound_.insert(p);
    visit(program.body);
  }

 private:
  [[noreturn]] static void fail(Expr e, const std::string& what) {
    throw InternalError(fmt::format("ill-formed program: {} in {} : {}", what, print(e), e.type().str()));
  }

  void visit(Expr e) {
    if (!seen_.insert(e).second) {  // in another scope, perhaps
      for (const Expr v : e.freeVariables())
        if (!bound_.count(v)) fail(v, "an unbound variable");
      return;
    }
    if (e.type().hasMetas()) fail(e, "a type that inference left open");
    if (!vectorsHoldScalars(e.type())) fail(e, "a vector of what is no scalar");
    switch (e.form()) {
      case Expr::Form::variable:
        if (!bound_.count(e)) fail(e, "an unbound variable");
        return;
      case Expr::Form::lambda: {
        const bool fresh = bound_.insert(e.parameter()).second;
        visit(e.body());
        if (fresh) bound_.erase(e.parameter());
        return;
      }
      case Expr::Form::apply: {
        visit(e.function());
        visit(e.argument());
        const Type f = e.function().type();
        Solver solver;
        if (!solver.unify(f.parameter(), e.argument().type(), {})) fail(e, "an argument of the wrong type");
        if (f.result() != e.type()) fail(e, "a result of the wrong type");
        return;
      }
      case Expr::Form::primitive: return primitive(e);
      case Expr::Form::literal:
        if (e.type() != Type::scalar(e.value().type)) fail(e, "a literal of the wrong type");
        return;
      case Expr::Form::natLiteral:
        if (e.type() != Type::scalar(Scalar::i32)) fail(e, "a size of the wrong type");
        return;
    }
  }

  // The type's parameters, and its result.
  static std::pair<std::vector<Type>, Type> uncurried(Type type) {
    std::vector<Type> parameters;
    for (; type.isFunction(); type = type.result()) parameters.push_back(type.parameter());
    return {parameters, type};
  }

  void primitive(Expr e) {
    const auto [parameters, result] = uncurried(e.type());
    const auto require = [&, e = e](bool holds, const char* what) {
      if (!holds) fail(e, what);
    };
    switch (e.prim()) {
      case Prim::tuple: require(parameters.size() >= 2 && result == Type::tuple(parameters), "a tuple"); return;
      case Prim::arrayOf:
        require(!parameters.empty() && result.isArray() &&
                    result.length() == Nat(static_cast<std::int64_t>(parameters.size())),
                "an array literal");
        for (const Type& p : parameters) require(p == result.element(), "an array literal");
        return;
      case Prim::zip: {
        require(parameters.size() >= 2 && result.isArray() && result.element().isTuple(), "zip");
        for (std::size_t i = 0; i < parameters.size(); i++)
          require(parameters[i].isArray() && parameters[i].element() == result.element().components().at(i), "zip");
        return;
      }
      case Prim::unzip: {
        require(parameters.size() == 1 && parameters[0].isArray() && result.isTuple(), "unzip");
        const Type element = parameters[0].element();
        require(element.isTuple() && element.components().size() == result.components().size(), "unzip");
        for (std::size_t i = 0; i < result.components().size(); i++)
          require(result.components()[i] == Type::array(parameters[0].length(), element.components()[i]), "unzip");
        return;
      }
      case Prim::get: {
        const auto i = e.nats().at(0).constant();
        require(i && parameters.size() == 1 && parameters[0].isTuple(), "get");
        require(*i >= 0 && *i < static_cast<std::int64_t>(parameters[0].components().size()) &&
                    parameters[0].components()[static_cast<std::size_t>(*i)] == result,
                "get");
        return;
      }
      case Prim::op: {
        require(static_cast<int>(parameters.size()) == info(e.op()).arity, "an operation's operand count");
        return;
      }
      case Prim::convert: require(parameters.size() == 1 && scalarOf(result) == e.target(), "a conversion"); return;
      case Prim::vectorize: {
        require(e.type().parameter().isFunction(), "vectorize");
        return;
      }
      default: break;
    }
    Solver solver;
    const Instance instance(e.prim(), solver, detail::sizeArguments(e.prim(), e.nats()), {});
    require(solver.unify(instance.functionType(), e.type(), {}), "a primitive against its scheme");
    for (const auto& open : solver.settle({}))
      require(equal(open.left, open.right) != Truth::refuted, "a primitive's sizes against its scheme");
    for (const SizeCondition& c : conditionsOf(e)) require(holds(c) != Truth::refuted, "a primitive's side condition");
  }

  std::unordered_set<Expr> bound_, seen_;
};

}  // namespace

void verify(const Program& program) { Verifier{program}; }

}  // namespace lift
