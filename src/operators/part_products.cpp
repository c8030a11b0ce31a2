// How often the products of a part read each element of its inputs, by counting through layouts. The values of an
// operand for all elements of the loops around it are a layout of the inputs; of a layout it is enough to know how many
// of its values come from no input (padding), and how many come from one element at most.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "lift/terms.hpp"
#include "parts.hpp"

namespace lift {
namespace {

// How often each source's elements are among an array's scalars, and how many scalars come from no source.
struct Leaf {
  std::map<int, double> uses;
  double constant = 0;

  Leaf times(double n) const {
    Leaf all;
    all.add(*this, n);
    return all;
  }
  void add(const Leaf& other, double times) {
    for (const auto& [source, n] : other.uses) uses[source] += n * times;
    constant += other.constant * times;
  }
};
using Value = detail::parts::ByComponent<Leaf>;

struct Unknown {
  std::string why;
};

double constantOf(Nat n) {
  if (const auto c = n.constant()) return static_cast<double>(*c);
  throw Unknown{fmt::format("the size {} is not known", n.str())};
}

double scalars(Type t) {
  double sum = 1;
  if (t.isTuple()) {
    sum = 0;
    for (const Type c : t.components()) sum += scalars(c);
  } else if (t.isArray() || t.isVector()) {
    sum = constantOf(t.length()) * scalars(t.element());
  }
  return sum;
}

class Reader {
 public:
  explicit Reader(const Program& program) {
    for (const Expr p : program.parameters) bound_[p] = fresh(p.type());
  }

  // The values of `operand` for all elements of the loops it depends on, from the i-th on.
  Value over(const detail::parts::Nest& nest, const std::vector<bool>& dependsOn, Expr operand, std::size_t i = 0) {
    while (i < nest.loops.size() && !dependsOn[i]) i++;
    if (i == nest.loops.size()) return read(operand);
    const auto& loop = nest.loops[i];
    return mapped(loop.variable, loop.input, [&] { return over(nest, dependsOn, operand, i + 1); });
  }

 private:
  Value fresh(Type t) {
    Value v;
    if (t.isTuple())
      for (const Type c : t.components()) v.components.push_back(fresh(c));
    else
      v.leaf.uses[sources_++] = 1;
    return v;
  }

  template <class F>
  Value mapped(Expr variable, Expr input, F&& body) {
    Value in = read(input), element = in;
    std::map<int, Leaf> from;  // an element's sources stand for these
    element.forEachLeaf([&](Leaf& leaf) {
      const Leaf all = std::exchange(leaf, Leaf{{{sources_, 1}}, 0});
      from.emplace(sources_++, all);
    });
    bound_[variable] = element;
    Value out = body();
    const double times = constantOf(input.type().length());
    out.forEachLeaf([&](Leaf& leaf) {
      Leaf sum;
      sum.constant = leaf.constant * times;
      for (const auto& [source, n] : leaf.uses) {
        const auto found = from.find(source);
        found == from.end() ? sum.add({{{source, 1}}, 0}, n * times) : sum.add(found->second, n);
      }
      leaf = sum;
    });
    return out;
  }

  Value read(Expr e) {
    if (const auto found = bound_.find(e); found != bound_.end()) return found->second;
    Value v;
    if (e.isLiteral() || e.isNatLiteral()) {
      v.leaf.constant = 1;
      return v;
    }
    const Spine s = spineOf(e);
    if (!s.head.isPrimitive()) throw Unknown{"an operand is computed by a function"};
    return ofPrimitive(e, s);
  }

  Value ofPrimitive(Expr e, const Spine& s) {
    const auto& args = s.arguments;
    const Prim prim = s.head.prim();
    if (prim == Prim::map) return mapped(args[0].parameter(), args[1], [&] { return read(args[0].body()); });
    if (prim == Prim::let) {
      bound_[args[0].parameter()] = read(args[1]);
      return read(args[0].body());
    }
    if (prim == Prim::zip || prim == Prim::tuple) {
      Value v;
      for (const Expr a : args) v.components.push_back(read(a));
      return v;
    }
    if (prim == Prim::get) return read(args[0]).components.at(static_cast<std::size_t>(*s.head.nats()[0].constant()));
    if (prim == Prim::generate && e.freeVariables().empty()) {
      Value v;
      v.leaf.constant = scalars(e.type());
      return v;
    }
    if (prim == Prim::slide || prim == Prim::slideStrict) {
      const double times = std::ceil(constantOf(s.head.nats()[0]) / constantOf(s.head.nats()[1]));
      Value v = read(args[0]);
      v.forEachLeaf([&](Leaf& leaf) { leaf = leaf.times(times); });
      return v;
    }
    if (prim == Prim::pad) {
      Value v = read(args[1]);
      if (!v.components.empty()) throw Unknown{"tuples are padded"};
      v.leaf.constant += std::max(0.0, scalars(e.type()) - scalars(args[1].type()));
      return v;
    }
    const bool keeps = isInvertibleLayout(prim) || prim == Prim::unzip || prim == Prim::take || prim == Prim::drop ||
                       prim == Prim::toGlobal || prim == Prim::toLocal || prim == Prim::toPrivate;
    if (!keeps) throw Unknown{fmt::format("an operand is made by {}", info(prim).name)};
    return read(args.back());
  }

  std::map<Expr, Value, decltype([](Expr a, Expr b) { return a.node() < b.node(); })> bound_;
  int sources_ = 0;
};

PartProducts::Operand operandOf(Value v) {
  if (!v.components.empty()) throw Unknown{"an operand is of tuples"};
  PartProducts::Operand o{v.leaf.constant, 0};
  for (const auto& [source, uses] : v.leaf.uses) o.uses = std::max(o.uses, uses);
  return o;
}

}  // namespace

std::optional<PartProducts> productsOf(const Part& part, std::string* why) {
  const bool isCore = part.same && part.same->op == part.workload.op;
  const Program& program = isCore ? part.same->program : part.workload.program;
  const detail::parts::Recognised form = detail::parts::recognise(detail::parts::tidied(program));
  try {
    if (form.operands.empty()) throw Unknown{form.whyNoProduct};
    if (!form.reduces) throw Unknown{"its elements are more than one sum"};
    PartProducts p;
    p.depth = constantOf(*form.reduced);
    for (std::size_t i = 0; i < form.nest.loops.size(); i++) {
      const bool a = form.dependsOn[0][i], b = form.dependsOn[1][i];
      const double length = constantOf(form.nest.loops[i].length());
      if (!a && !b && length > 1) throw Unknown{"some results are the same products"};
      (a && b ? p.depth : a ? p.rows : p.columns) *= length;
    }
    Reader reader(program);
    p.first = operandOf(reader.over(form.nest, form.dependsOn[0], form.operands[0]));
    p.second = operandOf(reader.over(form.nest, form.dependsOn[1], form.operands[1]));
    return p;
  } catch (const Unknown& unknown) {
    if (why != nullptr) *why = unknown.why;
    return std::nullopt;
  }
}

}  // namespace lift
