#include "printer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lift/integers.hpp"
#include "lift/kernel_walk.hpp"

namespace lift::kernel {
Printer::Printer(const Kernel& kernel, Dialect& dialect) : kernel_(kernel), write_(kernel, dialect), dialect_(dialect) {
  survey();
}

void Printer::line(const std::string& text) {
  out_.append(2 * indent_, ' ');
  out_ += text;
  out_ += '\n';
}

void Printer::scope(const std::function<void()>& body) {
  write_.names.enter();
  indent_++;
  body();
  indent_--;
  write_.names.leave();
}

void Printer::block(const Block& b) {
  for (std::size_t i = 0; i < b.size(); i++) statement(b[i], i + 1 == b.size());
}

// What must be known before printing: variables assigned after their declaration, arrays and indices used.
void Printer::survey() {
  assigned_.assign(kernel_.variables.size(), false);
  forEachStmt(kernel_.body, [&](const Stmt& s) {
    if (const auto* a = as<Assign>(s)) assigned_[a->variable] = true;
    if (const auto* a = as<AssignLane>(s)) assigned_[a->variable] = true;
    if (const auto* c = as<Combine>(s)) {
      assigned_[c->variable] = true;
      used_.insert(c->parts);
    }
    forEachAccess(s, [&](BufferId b, Nat, int, bool) { used_.insert(b); });
    forEachNat(s, [&](Nat n) {
      for (const NatVar v : n.variables()) indices_.insert(v);
    });
  });
}

std::string Printer::tables(const std::string& qualifier) {
  std::string s;
  for (BufferId b = 0; b < kernel_.buffers.size(); b++) {
    const Buffer& buffer = kernel_.buffers[b];
    if (buffer.space != AddressSpace::constant || !isUsed(b)) continue;
    write_.nameBuffer(b);
    s += fmt::format("{} {} {}[{}] = {{", qualifier, dialect_.element(buffer), write_.nameOfBuffer(b),
                     buffer.values.size());
    std::size_t column = 0;
    for (const ScalarValue& v : buffer.values) {
      const std::string value = v.type == Scalar::boolean ? fmt::to_string(v.integer) : write_.expr(literal(v));
      s += column == 0 || column + value.size() > 100 ? "\n    " : " ";
      column = s.size() - s.rfind('\n');
      s += value + ',';
    }
    s += "\n};\n";
  }
  return s;
}

std::string Printer::parameters(const std::string& head, const std::function<std::string(BufferId)>& declared) {
  std::string s = head + '(';
  const std::size_t indent = head.size() + 1;
  std::size_t column = indent;
  bool first = true;
  const auto parameter = [&](const std::string& text) {
    if (!first) {
      s += ',';
      const bool wraps = column + text.size() > 98;
      s += wraps ? '\n' + std::string(indent, ' ') : " ";
      column = wraps ? indent : column + 2;
    }
    first = false;
    s += text;
    column += text.size();
  };
  for (BufferId b : kernel_.arguments) {
    write_.nameBuffer(b);
    parameter(declared(b));
  }
  for (NatVar v : kernel_.sizes) {
    write_.name(v, false);
    parameter("const int " + write_.nameOf(v));
  }
  return s + ')';
}

std::string Printer::pointerTo(BufferId b) const {
  const Buffer& buffer = kernel_.buffers[b];
  return fmt::format("{}{}{}*", dialect_.globalQualifier(), buffer.readOnly ? "const " : "", dialect_.element(buffer));
}

std::string Printer::array(BufferId b, std::string_view attributes) const {
  const Buffer& buffer = kernel_.buffers[b];
  const auto n = buffer.count.constant();
  if (!n)
    throw UserError(ExitStatus::program, fmt::format("{} array {} has no constant size: {}",
                                                     buffer.space == AddressSpace::local ? "local" : "private",
                                                     buffer.name, buffer.count.str()));
  return fmt::format("{} {}[{}]{};", dialect_.element(buffer), write_.nameOfBuffer(b), std::max<std::int64_t>(*n, 1),
                     attributes);
}

void Printer::statement(const Stmt& s, bool last) {
  match(
      s.node, [&](const Declare& d) { declare(d); },
      [&](const Assign& a) { line(write_.nameOf(a.variable) + " = " + write_.expr(a.value) + ';'); },
      [&](const AssignLane& a) { assignLane(a); }, [&](const DeclareIndex& d) { declareIndex(d); },
      [&](const Store& st) { line(write_.store(st)); }, [&](const Prefetch& p) { line(write_.prefetch(p)); },
      [&](const Allocate& a) {
        write_.nameBuffer(a.buffer);
        line(array(a.buffer));
      },
      [&](const For& f) {
        if (f.kind == LoopKind::sequential)
          sequential(f);
        else
          parallel(f, last);
      },
      [&](const If& i) { branch(i); }, [&](const Barrier& b) { barrier(b); }, [&](const Combine& c) { combine(c); },
      [&](const Comment& c) {
        std::string text = c.text;
        std::replace(text.begin(), text.end(), '\n', ' ');
        while (!text.empty() && text.back() == '\\') text.pop_back();  // would continue the comment on the next line
        line("// " + text);
      },
      [&](const Fault& x) {
        line(fmt::format("record_fault({}, {}, {}, {});", write_.nameOfBuffer(*kernel_.faults), x.site,
                         write_.expr(x.value), write_.nat(x.bound)));
      });
}

void Printer::declare(const Declare& d) {
  const std::string type = dialect_.type(kernel_.variables[d.variable].type);
  if (!d.value) {
    write_.name(d.variable);
    line(type + ' ' + write_.nameOf(d.variable) + ';');
    return;
  }
  const std::string value = write_.expr(*d.value);
  write_.name(d.variable);
  line(fmt::format("{}{} {} = {};", assigned_[d.variable] ? "" : "const ", type, write_.nameOf(d.variable), value));
}

// Named after its value is written: the value cannot mention it.
void Printer::declareIndex(const DeclareIndex& d) {
  const auto* i = as<Index>(d.value);
  if (const auto array = write_.pointsInto(d.variable)) {
    const std::string value = write_.pointer(*array, i->value);
    write_.name(d.variable, false);
    write_.define(d.variable, i->value);
    return line(fmt::format("{} {} = {};", pointerTo(*array), write_.nameOf(d.variable), value));
  }
  const bool isLong = i != nullptr && write_.isWide(i->value);
  const std::string value = isLong ? write_.nat(i->value) : write_.expr(d.value);
  write_.name(d.variable, isLong);
  if (i != nullptr) write_.define(d.variable, i->value);
  line(fmt::format("const {} {} = {};", dialect_.indexType(isLong), write_.nameOf(d.variable), value));
}

void Printer::assignLane(const AssignLane& a) {
  std::string value = write_.expr(a.value);
  const ValueType type = kernel_.variables[a.variable].type;
  if (type.width == 1) {
    line(write_.nameOf(a.variable) + " = " + value + ';');
    return;
  }
  if (type.scalar == Scalar::boolean) value = write_.expr(a.value, orElse) + " ? -1 : 0";
  line(fmt::format("{} = {};", dialect_.lane(write_.nameOf(a.variable), a.lane), value));
}

void Printer::branch(const If& i) {
  if (i.then.empty()) {
    line("if (!(" + write_.expr(i.condition) + ")) {");
    scope([&] { block(i.otherwise); });
    return line("}");
  }
  line("if (" + write_.expr(i.condition) + ") {");
  scope([&] { block(i.then); });
  if (!i.otherwise.empty()) {
    line("} else {");
    scope([&] { block(i.otherwise); });
  }
  line("}");
}

bool Printer::countsFar(Nat count) { return count.upper().value_or(0) > largestInt; }

void Printer::sequential(const For& f) {
  unrolling(f);
  const bool isLong = countsFar(f.count);
  const std::string bound = write_.nat(f.count, additive);
  write_.names.enter();
  write_.name(f.index, isLong);
  const std::string& i = write_.nameOf(f.index);
  const std::string running = f.running ? " && " + write_.nameOf(*f.running) : "";
  line(fmt::format("for ({0} {1} = 0; {1} < {2}{3}; {1}++) {{", dialect_.indexType(isLong), i, bound, running));
  scope([&] { block(f.body); });
  write_.names.leave();
  line("}");
}

}  // namespace lift::kernel
