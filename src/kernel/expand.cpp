#include "expand.hpp"

namespace lift::kernel {

ExprPtr Expander::expr(const ExprPtr& e) {
  if (const auto* v = as<VarRef>(e)) {
    const VarId renamed = variable(v->variable);
    return renamed == v->variable ? e : ref(renamed, e->type);
  }
  if (const auto* l = as<Load>(e)) {
    const BufferId b = buffer(l->buffer);
    const Nat at = nat(l->index);
    return b == l->buffer && at == l->index ? e : load(b, at, e->type);
  }
  if (is<Index>(e) || is<Test>(e)) return mapNats(e, [&](Nat n) { return nat(n); });
  return mapChildren(e, [&](const ExprPtr& c) { return expr(c); });
}

void Expander::append(const Block& from, Block& to) {
  for (const Stmt& s : from) append(s, to);
}

void Expander::append(const Stmt& s, Block& to) {
  std::visit([&](const auto& statement) { append(statement, to); }, s.node);
}

// The first copy keeps its names; every other one has variables, indices and arrays of its own.

void Expander::append(const Declare& d, Block& to) {
  std::optional<ExprPtr> value;
  if (d.value) value = expr(*d.value);
  VarId v = d.variable;
  seenVariables_.resize(kernel_.variables.size());  // copies of copies
  if (seenVariables_[v]) {
    const Variable copy = kernel_.variables[v];
    v = variables_[v] = addVariable(kernel_, copy.name, copy.type);
  }
  seenVariables_[d.variable] = true;
  to.push_back({Declare{v, value}});
}

void Expander::append(const DeclareIndex& d, Block& to) {
  const ExprPtr value = expr(d.value);
  const auto* i = as<Index>(value);
  if (i != nullptr && i->value.constant()) {
    nats_.insert_or_assign(d.variable, i->value);
    return;
  }
  NatVar v = d.variable;
  if (!seenNats_.emplace(v, true).second) {
    v = NatVar::fresh(v.name(), v.lower(), v.upper(), v.role());
    nats_.insert_or_assign(d.variable, Nat(v));
  } else {
    nats_.erase(v);
  }
  to.push_back({DeclareIndex{v, value}});
}

void Expander::append(const Allocate& a, Block& to) {
  BufferId b = a.buffer;
  seenBuffers_.resize(kernel_.buffers.size());
  if (seenBuffers_[b]) {
    kernel_.buffers.push_back(Buffer(kernel_.buffers[b]));
    b = buffers_[a.buffer] = static_cast<BufferId>(kernel_.buffers.size() - 1);
  }
  seenBuffers_[a.buffer] = true;
  to.push_back({Allocate{b}});
}

void Expander::append(const Assign& a, Block& to) { to.push_back({Assign{variable(a.variable), expr(a.value)}}); }
void Expander::append(const AssignLane& a, Block& to) {
  to.push_back({AssignLane{variable(a.variable), a.lane, expr(a.value)}});
}
void Expander::append(const Store& st, Block& to) {
  to.push_back({Store{buffer(st.buffer), nat(st.index), expr(st.value), st.streams, st.update}});
}
void Expander::append(const Prefetch& p, Block& to) { to.push_back({Prefetch{buffer(p.buffer), nat(p.index)}}); }
void Expander::append(const If& i, Block& to) {
  to.push_back({If{expr(i.condition), block(i.then), block(i.otherwise)}});
}
void Expander::append(const Fault& x, Block& to) { to.push_back({Fault{x.site, expr(x.value), nat(x.bound)}}); }
void Expander::append(const Barrier& b, Block& to) { to.push_back({b}); }
void Expander::append(const Combine& c, Block& to) {
  to.push_back({Combine{variable(c.variable), c.op, buffer(c.parts)}});
}
void Expander::append(const Comment& c, Block& to) { to.push_back({c}); }

void Expander::append(const For& f, Block& to) {
  For loop{f.index, nat(f.count), f.kind, f.dim, f.trip, f.unroll, {}, {}};
  if (f.running) loop.running = variable(*f.running);
  // What may end early is no sequence of copies.
  const std::int64_t iterations = f.running && loop.count != Nat(0) ? -1 : decide_(f, loop);
  const auto outer = nats_.find(f.index);  // loops of one index may follow, not contain, each other
  if (outer != nats_.end()) nats_.erase(outer);
  if (iterations < 0) {
    if (loop.count != f.count) {  // a new index knows the narrower range
      loop.index = NatVar::index(f.index.name(), loop.count);
      nats_.insert_or_assign(f.index, Nat(loop.index));
    }
    loop.body = block(f.body);
    to.push_back({std::move(loop)});
  } else {
    for (std::int64_t i = 0; i < iterations; i++) {
      nats_.insert_or_assign(f.index, Nat(i));
      append(f.body, to);
    }
  }
  nats_.erase(f.index);
}

std::int64_t nodesOf(const Block& block) {
  std::int64_t nodes = 0;
  forEachStmt(block, [&](const Stmt& s) {
    nodes++;
    forEachExpr(s, [&](const Expr&) { nodes++; });
  });
  return nodes;
}

}  // namespace lift::kernel
