// Kernels as OpenCL C 1.2: declarations and statements. Expressions are opencl_writer.cpp's business.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lift/kernel_walk.hpp"
#include "opencl_writer.hpp"

namespace lift::kernel {
namespace {

constexpr std::int64_t intMax = 2147483647;

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel), write_(kernel) {}

  std::string run() {
    survey();
    const std::string name = write_.names.take(kernel_.name);
    const std::string constants = tables();
    const std::string parameters = signature(name);
    indent_ = 1;
    for (BufferId b = 0; b < kernel_.buffers.size(); b++)
      if (kernel_.buffers[b].space == Space::local && localsUsed_.contains(b)) {
        write_.nameBuffer(b);
        line("__local " + array(b));
      }
    block(kernel_.body);
    return header() + constants + parameters + " {\n" + out_ + "}\n";
  }

 private:
  void line(const std::string& text) {
    out_.append(2 * indent_, ' ');
    out_ += text;
    out_ += '\n';
  }

  // What must be known before printing: variables assigned after their declaration, use of double, local arrays used.
  void survey() {
    assigned_.assign(kernel_.variables.size(), false);
    for (const Variable& v : kernel_.variables) fp64_ |= v.type.scalar == Scalar::f64;
    for (const Buffer& b : kernel_.buffers) fp64_ |= b.scalar == Scalar::f64;
    forEachStmt(kernel_.body, [&](const Stmt& s) {
      if (const auto* a = std::get_if<Assign>(&s.node)) assigned_[a->variable] = true;
      if (const auto* a = std::get_if<AssignLane>(&s.node)) assigned_[a->variable] = true;
      if (const auto* st = std::get_if<Store>(&s.node)) localsUsed_.insert(st->buffer);
      forEachRoot(s, [&](const ExprPtr& root) {
        forEachExpr(*root, [&](const Expr& e) {
          fp64_ |= e.type.scalar == Scalar::f64;
          if (const auto* l = std::get_if<Load>(&e.node)) localsUsed_.insert(l->buffer);
        });
      });
    });
  }

  std::string header() const {
    const auto triple = [](const std::array<Nat, 3>& n) {
      return fmt::format("({}, {}, {})", n[0].str(), n[1].str(), n[2].str());
    };
    std::string s = fmt::format("// {}: global {}, local {}\n", kernel_.name, triple(kernel_.range.global),
                                triple(kernel_.range.local));
    if (fp64_) s += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
    if (kernel_.faults)
      s += "static inline void record_fault(__global int* faults, int site, int value, int bound) {\n"
           "  if (atomic_cmpxchg(faults, -1, site) == -1) {\n"
           "    faults[1] = value;\n"
           "    faults[2] = bound;\n"
           "  }\n}\n";
    const auto helper = [&](bool used, std::string_view type, std::string_view suffix, bool division) {
      if (!used) return;
      s += division ? fmt::format(
                          "static inline {0} floor_div{1}({0} a, {0} b) {{\n"
                          "  const {0} q = a / b;\n"
                          "  return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;\n}}\n",
                          type, suffix)
                    : fmt::format(
                          "static inline {0} floor_mod{1}({0} a, {0} b) {{\n"
                          "  const {0} r = a % b;\n"
                          "  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n}}\n",
                          type, suffix);
    };
    helper(write_.usesFloorDiv, "int", "", true);
    helper(write_.usesFloorMod, "int", "", false);
    helper(write_.usesFloorDivLong, "long", "_long", true);
    helper(write_.usesFloorModLong, "long", "_long", false);
    return s;
  }

  std::string tables() {
    std::string s;
    for (BufferId b = 0; b < kernel_.buffers.size(); b++) {
      const Buffer& buffer = kernel_.buffers[b];
      if (buffer.space != Space::constant || !localsUsed_.contains(b)) continue;
      write_.nameBuffer(b);
      s += fmt::format("__constant {} {}[{}] = {{", OpenclWriter::elementType(buffer), write_.nameOfBuffer(b),
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

  std::string signature(const std::string& name) {
    std::string s = "__kernel";
    const auto& l = kernel_.range.local;
    if (l[0].constant() && l[1].constant() && l[2].constant())
      s += fmt::format(" __attribute__((reqd_work_group_size({}, {}, {})))", *l[0].constant(), *l[1].constant(),
                       *l[2].constant());
    s += "\nvoid " + name + '(';
    const std::size_t indent = name.size() + 6;
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
      const Buffer& buffer = kernel_.buffers[b];
      parameter(fmt::format("__global {}{}* restrict {}", buffer.readOnly ? "const " : "",
                            OpenclWriter::elementType(buffer), write_.nameOfBuffer(b)));
    }
    for (NatVar v : kernel_.sizes) {
      write_.name(v, false);
      parameter("const int " + write_.nameOf(v));
    }
    return s + ')';
  }

  std::string array(BufferId b) const {
    const Buffer& buffer = kernel_.buffers[b];
    const auto n = buffer.count.constant();
    if (!n)
      throw UserError(ExitStatus::program,
                      fmt::format("{} array {} has no constant size: {}",
                                  buffer.space == Space::local ? "local" : "private", buffer.name, buffer.count.str()));
    return fmt::format("{} {}[{}];", OpenclWriter::elementType(buffer), write_.nameOfBuffer(b),
                       std::max<std::int64_t>(*n, 1));
  }

  void block(const Block& b) {
    for (std::size_t i = 0; i < b.size(); i++) statement(b[i], i + 1 == b.size());
  }

  // Opens a C scope; its names are free again afterwards.
  template <class F>
  void scope(F&& body) {
    write_.names.enter();
    indent_++;
    body();
    indent_--;
    write_.names.leave();
  }

  // `last`: nothing follows in the enclosing block, so that declarations need no braces of their own.
  void statement(const Stmt& s, bool last) {
    match(
        s.node, [&](const Declare& d) { declare(d); },
        [&](const Assign& a) { line(write_.nameOf(a.variable) + " = " + write_.expr(a.value) + ';'); },
        [&](const AssignLane& a) { assignLane(a); },
        [&](const DeclareIndex& d) {
          // Named after its value is written: the value cannot mention it.
          const auto* i = std::get_if<Index>(&d.value->node);
          const bool isLong = i != nullptr && write_.isWide(i->value);
          const std::string value = isLong ? write_.nat(i->value) : write_.expr(d.value);
          write_.name(d.variable, isLong);
          line(fmt::format("const {} {} = {};", isLong ? "long" : "int", write_.nameOf(d.variable), value));
        },
        [&](const Store& st) { line(write_.store(st)); },
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
        [&](const If& i) { branch(i); },
        [&](const Barrier& b) {
          if (!b.local && !b.global) return;
          line(fmt::format("barrier({}{}{});", b.local ? "CLK_LOCAL_MEM_FENCE" : "", b.local && b.global ? " | " : "",
                           b.global ? "CLK_GLOBAL_MEM_FENCE" : ""));
        },
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

  void declare(const Declare& d) {
    const std::string type = OpenclWriter::type(kernel_.variables[d.variable].type);
    if (!d.value) {
      write_.name(d.variable);
      line(type + ' ' + write_.nameOf(d.variable) + ';');
      return;
    }
    const std::string value = write_.expr(*d.value);
    write_.name(d.variable);
    line(fmt::format("{}{} {} = {};", assigned_[d.variable] ? "" : "const ", type, write_.nameOf(d.variable), value));
  }

  void assignLane(const AssignLane& a) {
    std::string value = write_.expr(a.value);
    const ValueType type = kernel_.variables[a.variable].type;
    if (type.width == 1) {
      line(write_.nameOf(a.variable) + " = " + value + ';');
      return;
    }
    if (type.scalar == Scalar::boolean) value = write_.expr(a.value, orElse) + " ? -1 : 0";
    line(fmt::format("{}.s{:x} = {};", write_.nameOf(a.variable), a.lane, value));
  }

  void branch(const If& i) {
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

  static bool countsFar(Nat count) { return count.upper().value_or(0) > intMax; }

  void sequential(const For& f) {
    if (f.unroll == 1)
      line("#pragma unroll 1");
    else if (f.unroll > 1)
      line(fmt::format("#pragma unroll {}", f.unroll));
    else if (f.unroll < 0)
      line("#pragma unroll");
    const bool isLong = countsFar(f.count);
    const std::string bound = write_.nat(f.count, additive);
    write_.names.enter();
    write_.name(f.index, isLong);
    const std::string& i = write_.nameOf(f.index);
    const std::string running = f.running ? " && " + write_.nameOf(*f.running) : "";
    line(fmt::format("for ({0} {1} = 0; {1} < {2}{3}; {1}++) {{", isLong ? "long" : "int", i, bound, running));
    scope([&] { block(f.body); });
    write_.names.leave();
    line("}");
  }

  void parallel(const For& f, bool last) {
    static constexpr std::string_view ids[] = {"", "get_group_id", "get_local_id", "get_global_id"};
    static constexpr std::string_view sizes[] = {"", "get_num_groups", "get_local_size", "get_global_size"};
    const auto kind = static_cast<std::size_t>(f.kind);
    const bool isLong = countsFar(f.count);
    const std::string type = isLong ? "long" : "int";
    const std::string id = fmt::format("{}({})", ids[kind], f.dim);
    const std::string bound = write_.nat(f.count, additive);
    if (f.trip == Trip::any) {
      write_.names.enter();
      write_.name(f.index, isLong);
      line(fmt::format("for ({0} {1} = {2}; {1} < {3}; {1} += {4}({5})) {{", type, write_.nameOf(f.index), id, bound,
                       sizes[kind], f.dim));
      scope([&] { block(f.body); });
      write_.names.leave();
      line("}");
      return;
    }
    const auto inside = [&] {
      write_.name(f.index, isLong);
      const std::string i = write_.nameOf(f.index);
      line(fmt::format("const {} {} = {};", type, i, id));
      if (f.trip == Trip::exactlyOnce) {
        block(f.body);
      } else {
        line(fmt::format("if ({} < {}) {{", i, bound));
        scope([&] { block(f.body); });
        line("}");
      }
    };
    if (last) {
      inside();
    } else {
      line("{");
      scope(inside);
      line("}");
    }
  }

  const Kernel& kernel_;
  OpenclWriter write_;
  std::string out_;
  std::size_t indent_ = 0;
  std::vector<bool> assigned_;
  std::set<BufferId> localsUsed_;
  bool fp64_ = false;
};

}  // namespace

std::string printOpenCL(const Kernel& kernel) { return Printer(kernel).run(); }

}  // namespace lift::kernel
