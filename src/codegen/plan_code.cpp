#include "plan_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "lift/diagnostic.hpp"
#include "lift/integers.hpp"
#include "lift/terms.hpp"

namespace lift::detail {

using kernel::Launch;
using kernel::Plan;
using kernel::PlanBuffer;

namespace {

// Keywords of C and C++, names of macros that are not in capitals, and all that host.c has in scope.
const std::set<std::string, std::less<>> reserved = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const",
    "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "restrict", "return",
    "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this",
    "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using",
    "virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
    // macros
    "errno", "i386", "linux", "unix", "stdin", "stdout", "stderr", "assert", "near", "far", "min", "max",
    // host.c and the interface
    "plan", "queue", "nwait", "wait", "done", "out_plan", "context", "device", "build_options", "chain", "status",
    "global", "local", "buffers", "sizes", "shape", "bytes", "launch", "begin", "finish", "reserve", "prepare",
    "check_buffer", "array_bytes", "reserve_image", "check_images", "floor_div", "floor_mod", "least", "greatest",
    "product", "plus", "sizes_fit", "build", "exchange", "keep_log", "release_kernels", "holds", "too_large", "size_t",
    "int64_t", "uint64_t", "malloc", "calloc", "free", "strlen", "memcpy", "main"};

std::string identifier(std::string_view wish) {
  std::string name;
  for (char c : wish) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || name[0] == '_' || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "x" + name;
  const auto starts = [&](std::string_view prefix) { return name.starts_with(prefix); };
  const bool capitals = name.size() > 2 && std::ranges::none_of(name, [](char c) {
                          return std::islower(static_cast<unsigned char>(c)) != 0;
                        });
  if (reserved.count(name) != 0 || capitals || name == "I" || name == "IN" || starts("cl_") || starts("launch_") ||
      starts("bytes_") || starts("source_"))
    name += '_';
  return name;
}

// Not a name of its own but the beginning of names.
std::string beginning(std::string_view wish) {
  std::string name;
  for (char c : wish) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  const bool taken = name == "cl" || name == "pthread" || name == "cnd" || name == "mtx";
  if (taken || name.empty() || name[0] == '_' || std::isdigit(static_cast<unsigned char>(name[0])) != 0)
    name = "lift_" + name;
  return name;
}

constexpr const char* arrayBytesText = R"(
/* Bytes of an array; negative for a negative dimension, and for more elements than kernels can index with an int. */
static int64_t array_bytes(const int64_t* shape, int rank, int64_t each) {
  int64_t count = 1;
  int d, empty = 0;
  for (d = 0; d < rank; d++) {
    if (shape[d] < 0) return -1;
    if (shape[d] == 0) empty = 1;
  }
  if (empty) return 0;
  for (d = 0; d < rank; d++) {
    if (shape[d] > INT_MAX / count) return -1;
    count *= shape[d];
  }
  return (int64_t)(size_t)(count * each) == count * each ? count * each : -1;
}
)";

}  // namespace

std::string ParameterNames::take(std::string_view wish) {
  const std::string base = identifier(wish);
  std::string name = base;
  for (int n = 2; !taken_.insert(name).second; n++) name = base + '_' + std::to_string(n);
  return name;
}

std::string filled(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [key, value] : values) {
    const std::string mark = "$" + key;
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  }
  return text;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string inComment(std::string text) {
  for (std::size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/")) text.replace(at, 2, "* ");
  for (std::size_t at = text.find("/*"); at != std::string::npos; at = text.find("/*")) text.replace(at, 2, "/ ");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  return text;
}

SizeWriter::Text SizeWriter::call(const char* name, bool& used, Nat n, bool bySecond) {
  used = true;
  Text result = write(n.operands()[0]);
  for (std::size_t i = 1; i < n.operands().size(); i++) {
    const Text b = write(n.operands()[i]);
    result = {fmt::format("{}({}, {})", name, result.text, b.text),
              bySecond ? std::max(b.most, limit) : std::max(result.most, b.most)};
  }
  return result;
}

SizeWriter::Text SizeWriter::write(Nat n) {
  switch (n.kind()) {
    case Nat::Kind::constant: {
      const std::int64_t c = *n.constant();
      // The least value has no literal, and is too large for anything.
      const std::int64_t value = std::max<std::int64_t>(c, -9223372036854775807);
      const double size = std::abs(static_cast<double>(value));
      const std::string digits = size > largestInt ? fmt::format("INT64_C({})", value) : std::to_string(value);
      return {digits, size, value < 0 ? Form::sum : Form::atom};
    }
    case Nat::Kind::variable: return {names_.at(*n.variable()), 2147483648.0};
    case Nat::Kind::sum: {
      Text result = write(n.operands()[0]);
      for (std::size_t i = 1; i < n.operands().size(); i++) result = sum(result, n.operands()[i]);
      return result;
    }
    case Nat::Kind::product: {
      Text result = write(n.operands()[0]);
      for (std::size_t i = 1; i < n.operands().size(); i++) {
        const Text b = write(n.operands()[i]);
        if (result.most * b.most < limit) {
          result = {result.within(Form::product) + " * " + b.within(Form::atom), result.most * b.most, Form::product};
        } else {
          usesProduct = true;
          result = {fmt::format("product({}, {})", result.text, b.text), limit};
        }
      }
      return result;
    }
    case Nat::Kind::floorDiv: return call("floor_div", usesDivision, n, true);
    case Nat::Kind::mod: return call("floor_mod", usesRemainder, n, true);
    case Nat::Kind::min: return call("least", usesLeast, n);
    case Nat::Kind::max: return call("greatest", usesGreatest, n);
  }
  throw InternalError("host code: no such size");
}

SizeWriter::Text SizeWriter::sum(const Text& a, Nat addend) {
  // a - 3 * n rather than a + -3 * n
  const Text plain = write(addend), negated = write(-addend);
  const bool minus = plain.text[0] == '-' || plain.text.starts_with("(-");
  const Text& b = minus ? negated : plain;
  if (a.most + b.most <= 2 * limit)
    return {a.text + (minus ? " - " : " + ") + b.within(Form::product), a.most + b.most, Form::sum};
  usesPlus = true;
  return {fmt::format("plus({}, {})", a.text, plain.text), limit};
}

namespace {

// Sizes that are not known are guessed, which decides how well memory is shared, not whether it is right.
kernel::Slots slotsOf(const Plan& plan) {
  std::vector<std::int64_t> bytes;
  for (const PlanBuffer& b : plan.buffers)
    bytes.push_back(static_cast<std::int64_t>(std::min(estimate(b.count()), 1e15)) * info(b.scalar).bytes);
  return kernel::shareTemporaries(plan, bytes);
}

}  // namespace

PlanCode::PlanCode(const Plan& plan, const std::string& prefix, const std::vector<std::string>& taken)
    : plan_(plan), name_(beginning(prefix.empty() ? plan.name : prefix)), size_(sizeNames_), slots_(slotsOf(plan)) {
  if (!prefix.empty() && name_ != prefix)
    throw UserError(ExitStatus::usage, fmt::format("names in C cannot begin with '{}'", prefix),
                    fmt::format("'{}' would do", name_));
  ParameterNames names;
  for (const std::string& name : taken) names.reserve(name);
  for (const NatVar v : plan.sizes) sizeNames_[v] = names.take(v.name());
  for (const PlanBuffer& b : plan.buffers)
    bufferNames_.push_back(b.role == PlanBuffer::Role::temporary ? b.name : names.take(b.name));
  for (std::size_t b = 0; b < plan.buffers.size(); b++) {
    if (plan.buffers[b].role == PlanBuffer::Role::input) inputs_.push_back(b);
    if (plan.buffers[b].role == PlanBuffer::Role::output) outputs_.push_back(b);
  }
  for (const Launch& l : plan.preparation)
    for (const int a : l.arguments) {
      const auto b = static_cast<std::size_t>(a);
      ensure(plan.buffers[b].role != PlanBuffer::Role::output, "preparation writes a result");
      if (plan.buffers[b].role == PlanBuffer::Role::input) prepared_.insert(b);
    }
}

PlanCode::Buffers PlanCode::buffersOfRun() const {
  Buffers all = inputs_;
  all.insert(all.end(), outputs_.begin(), outputs_.end());
  return all;
}

PlanCode::Buffers PlanCode::buffersOfPreparation() const { return {prepared_.begin(), prepared_.end()}; }

std::string PlanCode::sizes(std::string_view type, std::string_view after) const {
  std::string s;
  for (const NatVar v : plan_.sizes) s += fmt::format("{}{}{}", type, sizeNames_.at(v), after);
  return s;
}
std::string PlanCode::onlySizes(std::string_view type) const {
  std::vector<std::string> parts;
  for (const NatVar v : plan_.sizes) parts.push_back(std::string(type) + sizeNames_.at(v));
  return parts.empty() && !type.empty() ? "void" : joined(parts);
}
std::string PlanCode::ignored(const std::vector<Nat>& used) const {
  std::string s;
  for (const NatVar v : plan_.sizes)
    if (std::ranges::none_of(used, [&](Nat n) { return n.mentions(v); }))
      s += fmt::format("  (void){};\n", sizeNames_.at(v));
  return s;
}
std::string PlanCode::bytesSignature(std::size_t b) const {
  return fmt::format("size_t {}_bytes_of_{}({})", name_, bufferNames_[b], onlySizes("int "));
}
std::string PlanCode::wrapped(const std::string& signature) {
  const std::size_t indent = signature.find('(') + 1;
  std::string s;
  std::size_t column = 0;
  for (std::size_t at = 0; at < signature.size();) {
    const std::size_t comma = signature.find(", ", at);
    const std::string part = signature.substr(at, comma == std::string::npos ? comma : comma + 2 - at);
    if (column + part.size() > 117 && column > indent) {
      while (s.back() == ' ') s.pop_back();
      s += '\n' + std::string(indent, ' ');
      column = indent;
    }
    s += part;
    column += part.size();
    at += part.size();
  }
  return s;
}

std::string PlanCode::aboutBuffers(const std::function<std::string(Scalar)>& spelled) const {
  std::string buffers;
  for (const auto* list : {&inputs_, &outputs_})
    for (const std::size_t b : *list) {
      std::string shape;
      for (const Nat n : plan_.buffers[b].shape) shape += "[" + n.str() + "]";
      const std::string given = plan_.buffers[b].name == bufferNames_[b] ? "" : " (" + plan_.buffers[b].name + ")";
      buffers +=
          inComment(fmt::format(" *   {:<7} {}{}: {}{}, {}", list == &inputs_ ? "input" : "output", bufferNames_[b],
                                given, shape, info(plan_.buffers[b].scalar).name, spelled(plan_.buffers[b].scalar))) +
          "\n";
    }
  return buffers;
}

std::string PlanCode::aboutSizes(std::string_view failure) const {
  std::string about;
  for (const NatVar v : plan_.sizes) {
    about += fmt::format(" *   {} >= {}", sizeNames_.at(v), std::max<std::int64_t>(v.lower(), -2147483648));
    if (const auto upper = v.upper()) about += inComment(fmt::format(", {} <= {}", sizeNames_.at(v), upper->str()));
    if (v.name() != sizeNames_.at(v)) about += inComment(fmt::format(" ({})", v.name()));
    about += "\n";
  }
  if (!about.empty())
    about = " *\n * Sizes, in the order of the parameters:\n" + about +
            fmt::format(
                " * Dimensions must not be negative, and no array may have 2^31 elements or more: {}. What the\n"
                " * program asks of its sizes besides (that one divides another) is the caller's to keep; "
                "`liftc check` lists it.\n",
                failure);
  return about;
}

std::string PlanCode::helpers(bool bounds) const {
  std::string s;
  if (bounds || size_.usesDivision || size_.usesRemainder || size_.usesProduct || size_.usesPlus)
    s += "\n/* Sizes from here on are beyond all bounds. */\nstatic const int64_t too_large = (int64_t)1 << 60;\n";
  if (size_.usesDivision)
    s += R"(
static int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return too_large;
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
)";
  if (size_.usesRemainder)
    s += R"(
static int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0) return too_large;
  return a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
}
)";
  if (size_.usesLeast) s += "\nstatic int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }\n";
  if (size_.usesGreatest) s += "\nstatic int64_t greatest(int64_t a, int64_t b) { return a < b ? b : a; }\n";
  if (size_.usesProduct)
    s += R"(
static int64_t product(int64_t a, int64_t b) {
  const int64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;
  if (x != 0 && y > too_large / x) return (a < 0) == (b < 0) ? too_large : -too_large;
  return a * b;
}
)";
  if (size_.usesPlus)
    s += R"(
static int64_t plus(int64_t a, int64_t b) {
  if (a >= too_large || b >= too_large) return too_large;
  if (a <= -too_large || b <= -too_large) return -too_large;
  return a + b > too_large ? too_large : a + b;
}
)";
  if (usesArrays_) s += arrayBytesText;
  return s;
}

std::string PlanCode::keptMembers(std::string_view memory) const {
  std::string s;
  if (!slots_.of.empty())
    s += fmt::format("  {0}temporaries[{1}];\n  int64_t temporary_bytes[{1}];\n", memory, slots_.of.size());
  if (plan_.preparation.empty()) return s;
  s += "  int prepared; /* for these sizes */\n";
  if (!plan_.sizes.empty()) s += fmt::format("  int64_t prepared_for[{}];\n", plan_.sizes.size());
  return s;
}

namespace {

constexpr const char* exchangeText = R"(
static void exchange($NAME_plan* plan, int a, int b) {
  $MEMORY memory = plan->temporaries[a];
  const int64_t bytes = plan->temporary_bytes[a];
  plan->temporaries[a] = plan->temporaries[b];
  plan->temporary_bytes[a] = plan->temporary_bytes[b];
  plan->temporaries[b] = memory;
  plan->temporary_bytes[b] = bytes;
}
)";

}  // namespace

std::string PlanCode::temporaries(const std::string& reserve, const std::string& memory) const {
  std::string s;
  if (!slots_.of.empty())
    s += filled(reserve, {{"STALE", plan_.preparation.empty() ? "" : "  plan->prepared = 0;\n"}, {"NAME", name_}});
  if (std::ranges::any_of(plan_.loops, [](const auto& l) { return !l.swaps.empty(); }))
    s += filled(exchangeText, {{"NAME", name_}, {"MEMORY", memory}});
  return s;
}

std::string PlanCode::sizesFit() {
  if (plan_.sizes.empty()) return "";
  std::vector<std::string> tests;
  for (const NatVar v : plan_.sizes) {
    const std::string& n = sizeNames_.at(v);
    // An int has bounds of its own.
    if (v.lower() > -2147483648) tests.push_back(fmt::format("{} >= {}", n, size_(Nat(v.lower()))));
    if (const auto upper = v.upper()) {
      const auto known = upper->variables();
      if (std::ranges::all_of(known, [&](NatVar u) { return sizeNames_.count(u) != 0; }))
        tests.push_back(fmt::format("{} <= {}", n, size_(*upper)));
    }
  }
  for (const kernel::Kernel& k : plan_.kernels)
    for (const Nat bound : kernel::boundsOfIndices(k)) {
      const std::string test = fmt::format("{} <= INT_MAX", size_(bound));
      if (!std::ranges::count(tests, test)) tests.push_back(test);
    }
  std::string unused;
  for (const NatVar v : plan_.sizes)
    if (v.lower() <= -2147483648 && !v.upper()) unused += fmt::format("  (void){};\n", sizeNames_.at(v));
  return fmt::format("\nstatic int sizes_fit({}) {{\n{}  return {};\n}}\n", onlySizes("int64_t "), unused,
                     tests.empty() ? "1" : joined(tests, " && "));
}

std::string PlanCode::counts() {
  std::string s;
  for (std::size_t i = 0; i < plan_.loops.size(); i++)
    s += fmt::format("\nstatic int64_t launch_count_{}({}) {{\n{}  return {};\n}}\n", i, onlySizes("int64_t "),
                     ignored({plan_.loops[i].count}), size_(plan_.loops[i].count));
  return s;
}

std::string PlanCode::bytes() {
  std::string s;
  for (std::size_t b = 0; b < plan_.buffers.size(); b++) {
    const PlanBuffer& buffer = plan_.buffers[b];
    if (buffer.role == PlanBuffer::Role::temporary && slots_.slot[b] < 0) continue;
    const auto each = static_cast<std::int64_t>(info(buffer.scalar).bytes);
    const auto constant = buffer.count().constant();
    std::string text;
    if (constant) {
      text = fmt::format("  return {};\n", size_(Nat(*constant) * Nat(each)));
    } else {
      usesArrays_ = true;
      std::vector<std::string> shape;
      for (const Nat n : buffer.shape) shape.push_back(size_(n));
      text = fmt::format("  const int64_t shape[] = {{{}}};\n  return array_bytes(shape, {}, {});\n", joined(shape),
                         shape.size(), each);
    }
    s += fmt::format("\n/* {} */\nstatic int64_t bytes_{}({}) {{\n{}{}}}\n", inComment(bufferNames_[b]), b,
                     onlySizes("int64_t "), ignored(constant ? std::vector<Nat>{} : buffer.shape), text);
  }
  return s;
}

// Every loop is printed when it is entered, asks its condition, and is left.
std::string PlanCode::loopedLaunches() const {
  std::string s, indent = "  ";
  std::vector<std::size_t> open;  // loops around the launch
  const auto& loops = plan_.loops;
  std::size_t next = 0;
  for (std::size_t at = 0; at <= plan_.launches.size(); at++) {
    while (!open.empty() && loops[open.back()].last == at) {
      for (const auto& [a, b] : loops[open.back()].swaps)
        s += fmt::format("{}exchange(plan, {}, {});\n", indent, slots_.slot[static_cast<std::size_t>(a)],
                         slots_.slot[static_cast<std::size_t>(b)]);
      indent.resize(indent.size() - 2);
      s += indent + "}\n";
      open.pop_back();
    }
    for (; next < loops.size() && loops[next].first == at; next++) {
      s += fmt::format(
          "{0}for (int64_t launch_step_{1} = launch_count_{1}({2}); launch_step_{1} > 0 && {3}; "
          "launch_step_{1}--) {{\n",
          indent, next, onlySizes(""), successful());
      indent += "  ";
      open.push_back(next);
    }
    for (const std::size_t loop : open)
      if (const auto& c = loops[loop].condition; c && c->at == at)
        s += conditionText(static_cast<std::size_t>(c->buffer), indent);
    if (at < plan_.launches.size()) s += launchText(plan_.launches[at], indent);
  }
  return s;
}

std::string PlanCode::bytesFunctions() const {
  std::string s;
  for (const auto* list : {&inputs_, &outputs_})
    for (const std::size_t b : *list) {
      s += "\n" + bytesSignature(b) + " {\n";
      s += fmt::format("  const int64_t bytes = bytes_{}({});\n", b, onlySizes(""));
      s += plan_.sizes.empty()
               ? "  return (size_t)bytes;\n}\n"
               : fmt::format("  return bytes > 0 && sizes_fit({}) ? (size_t)bytes : 0;\n}}\n", onlySizes(""));
    }
  return s;
}

std::string PlanCode::prepared() const {
  std::string s;
  for (std::size_t i = 0; i < plan_.sizes.size(); i++)
    s += fmt::format("  plan->prepared_for[{}] = {};\n", i, sizeNames_.at(plan_.sizes[i]));
  return s;
}

std::string PlanCode::stale() const {
  std::string s = "!plan->prepared";
  for (std::size_t i = 0; i < plan_.sizes.size(); i++)
    s += fmt::format(" || plan->prepared_for[{}] != {}", i, sizeNames_.at(plan_.sizes[i]));
  return s;
}

}  // namespace lift::detail
