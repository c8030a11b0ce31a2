// A plan as C99 for OpenCL 1.2.
//
// What does not depend on the plan is text with $NAME for its name; what does is written around it. Sizes are int64_t
// inside, so that expressions over them read as they do in the language; what could exceed 64 bits saturates and is
// then refused as too large.
#include "lift/host_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "lift/diagnostic.hpp"

namespace lift {
namespace {

using kernel::Launch;
using kernel::Plan;
using kernel::PlanBuffer;

// ----------------------------------------------------------------------------------------------------------- names

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
    "check_buffer", "array_bytes", "floor_div", "floor_mod", "least", "greatest", "product", "plus", "sizes_fit",
    "build", "exchange", "keep_log", "release_kernels", "too_large", "size_t", "int64_t", "uint64_t", "malloc",
    "calloc", "free", "strlen", "memcpy", "main"};

std::string identifier(std::string_view wish) {
  std::string name;
  for (char c : wish) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || name[0] == '_' || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "x" + name;
  const auto starts = [&](std::string_view prefix) { return name.rfind(prefix, 0) == 0; };
  const bool capitals = name.size() > 2 && std::none_of(name.begin(), name.end(), [](char c) {
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

class Names {
 public:
  std::string take(std::string_view wish) {
    const std::string base = identifier(wish);
    std::string name = base;
    for (int n = 2; !taken_.insert(name).second; n++) name = base + '_' + std::to_string(n);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

// ------------------------------------------------------------------------------------------------------------ text

// Replaces every $KEY.
std::string filled(std::string text, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [key, value] : values) {
    const std::string mark = "$" + key;
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  }
  return text;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ") {
  return fmt::format("{}", fmt::join(parts, separator));
}

// Text for a C comment.
std::string inComment(std::string text) {
  for (std::size_t at = text.find("*/"); at != std::string::npos; at = text.find("*/")) text.replace(at, 2, "* ");
  for (std::size_t at = text.find("/*"); at != std::string::npos; at = text.find("/*")) text.replace(at, 2, "/ ");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  return text;
}

std::string escaped(std::string_view text) {
  std::string s;
  for (char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n')
      s += "\\n";
    else if (c == '"' || c == '\\' || c == '?')  // ?: no trigraphs
      s += {'\\', c};
    else if (code < 32 || code > 126)
      s += fmt::format("\\{:03o}", code);
    else
      s += c;
  }
  return s;
}

// The elements of an array of strings: one literal per line of the source, and a new element before 4095 characters,
// which is what a compiler of C99 need take at most. OpenCL concatenates the elements.
std::string literals(std::string_view source) {
  constexpr std::size_t most = 4000;
  constexpr std::size_t widest = 1000;
  std::string s;
  std::size_t used = 0;
  while (!source.empty()) {
    const std::size_t end = source.find('\n');
    const std::size_t size = std::min(end == std::string_view::npos ? source.size() : end + 1, widest);
    if (used + size > most) {
      s += ",";
      used = 0;
    }
    s += (s.empty() ? "    \"" : "\n    \"") + escaped(source.substr(0, size)) + '"';
    used += size;
    source.remove_prefix(size);
  }
  return s.empty() ? "    \"\"" : s;
}

// ----------------------------------------------------------------------------------------------------------- sizes

// A Nat as C. `most` bounds the absolute value for all sizes that fit an int; what exceeds 2^60 is computed by the
// helpers `product` and `plus`, which saturate there.
class SizeWriter {
 public:
  explicit SizeWriter(const std::map<NatVar, std::string>& names) : names_(names) {}

  bool usesDivision = false, usesRemainder = false, usesLeast = false, usesGreatest = false, usesProduct = false,
       usesPlus = false;

  std::string operator()(Nat n) { return write(n).text; }

 private:
  static constexpr double limit = 1152921504606846976.0;  // 2^60
  enum class Form : std::uint8_t { sum, product, atom };
  struct Text {
    std::string text;
    double most;
    Form form = Form::atom;
    // As an operand of something that binds as `in` does.
    std::string within(Form in) const { return form < in ? "(" + text + ")" : text; }
  };

  Text call(const char* name, bool& used, Nat n, bool bySecond = false) {
    used = true;
    Text result = write(n.operands()[0]);
    for (std::size_t i = 1; i < n.operands().size(); i++) {
      const Text b = write(n.operands()[i]);
      result = {fmt::format("{}({}, {})", name, result.text, b.text),
                bySecond ? std::max(b.most, limit) : std::max(result.most, b.most)};
    }
    return result;
  }

  Text write(Nat n) {
    switch (n.kind()) {
      case Nat::Kind::constant: {
        const std::int64_t c = *n.constant();
        // The least value has no literal, and is too large for anything.
        const std::int64_t value = std::max<std::int64_t>(c, -9223372036854775807);
        const double size = std::abs(static_cast<double>(value));
        const std::string digits = size > 2147483647.0 ? fmt::format("INT64_C({})", value) : std::to_string(value);
        return {digits, size, value < 0 ? Form::sum : Form::atom};
      }
      case Nat::Kind::variable:
        return {names_.at(*n.variable()), 2147483648.0};
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
      case Nat::Kind::floorDiv:
        return call("floor_div", usesDivision, n, true);
      case Nat::Kind::mod:
        return call("floor_mod", usesRemainder, n, true);
      case Nat::Kind::min:
        return call("least", usesLeast, n);
      case Nat::Kind::max:
        return call("greatest", usesGreatest, n);
    }
    throw InternalError("host code: no such size");
  }

  Text sum(const Text& a, Nat addend) {
    // a - 3 * n rather than a + -3 * n
    const Text plain = write(addend), negated = write(-addend);
    const bool minus = plain.text[0] == '-' || plain.text.rfind("(-", 0) == 0;
    const Text& b = minus ? negated : plain;
    if (a.most + b.most <= 2 * limit)
      return {a.text + (minus ? " - " : " + ") + b.within(Form::product), a.most + b.most, Form::sum};
    usesPlus = true;
    return {fmt::format("plus({}, {})", a.text, plain.text), limit};
  }

  const std::map<NatVar, std::string>& names_;
};

// ------------------------------------------------------------------------------------------------------ temporaries

// Temporaries that are never needed at the same time share memory; a slot is as large as its largest buffer.
struct Slots {
  std::vector<int> slot;                     // by buffer, -1 for none
  std::vector<std::vector<std::size_t>> of;  // by slot: its buffers
};

Slots shareSlots(const Plan& plan) {
  struct Life {
    std::size_t first = 0, last = 0;
    bool used = false;
  };
  std::vector<Life> lives(plan.buffers.size());
  const std::size_t prepared = plan.preparation.size(), end = prepared + plan.launches.size();
  for (std::size_t at = 0; at < end; at++)
    for (const int b : (at < prepared ? plan.preparation[at] : plan.launches[at - prepared]).arguments) {
      Life& life = lives[static_cast<std::size_t>(b)];
      if (!life.used) life.first = at;
      life.used = true;
      // What preparation left must survive all launches, which run again and again.
      life.last = at >= prepared && life.first < prepared ? end : at;
    }
  // What a loop exchanges shares its memory with nothing; what it finds or leaves is needed for the whole of it.
  for (auto loop = plan.loops.rbegin(); loop != plan.loops.rend(); ++loop) {
    const std::size_t first = prepared + loop->first, last = prepared + loop->last - 1;
    for (Life& l : lives)
      if (l.used && l.first <= last && l.last >= first && (l.first < first || l.last > last)) {
        l.first = std::min(l.first, first);
        l.last = std::max(l.last, last);
      }
    for (const auto& [a, b] : loop->swaps)
      for (const int x : {a, b}) lives[static_cast<std::size_t>(x)] = {0, end, true};
  }
  Slots slots;
  slots.slot.assign(plan.buffers.size(), -1);
  for (std::size_t b = 0; b < plan.buffers.size(); b++) {
    if (plan.buffers[b].role != PlanBuffer::Role::temporary || !lives[b].used) continue;
    const auto apart = [&](std::size_t other) {
      return lives[other].last < lives[b].first || lives[b].last < lives[other].first;
    };
    std::size_t s = 0;
    while (s < slots.of.size() && !std::all_of(slots.of[s].begin(), slots.of[s].end(), apart)) s++;
    if (s == slots.of.size()) slots.of.emplace_back();
    slots.of[s].push_back(b);
    slots.slot[b] = static_cast<int>(s);
  }
  return slots;
}

// ------------------------------------------------------------------------------------------------------ fixed parts

constexpr const char* createText = R"(
static void keep_log($NAME_plan* plan, cl_program program, const char* kernel, const char* options) {
  static const char* const title[] = {"kernel ", ", options ", ":\n"};
  size_t size = 0, used = 0;
  size_t room = strlen(title[0]) + strlen(kernel) + strlen(title[1]) + strlen(options) + strlen(title[2]);
  if (clGetProgramBuildInfo(program, plan->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS) size = 0;
  plan->log = (char*)calloc(room + size + 1, 1);
  if (plan->log == NULL) return;
  {
    const char* parts[5];
    int i;
    parts[0] = title[0];
    parts[1] = kernel;
    parts[2] = title[1];
    parts[3] = options;
    parts[4] = title[2];
    for (i = 0; i < 5; i++) {
      memcpy(plan->log + used, parts[i], strlen(parts[i]));
      used += strlen(parts[i]);
    }
  }
  if (size > 0 &&
      clGetProgramBuildInfo(program, plan->device, CL_PROGRAM_BUILD_LOG, size, plan->log + used, NULL) != CL_SUCCESS)
    plan->log[used] = '\0';
}

static cl_int build($NAME_plan* plan, int k, const char* name, const char** pieces, size_t count,
                    const char* options) {
  cl_int status;
  cl_program program = clCreateProgramWithSource(plan->context, (cl_uint)count, pieces, NULL, &status);
  if (status != CL_SUCCESS) return status;
  status = clBuildProgram(program, 1, &plan->device, options, NULL, NULL);
  if (status == CL_SUCCESS)
    plan->kernels[k] = clCreateKernel(program, name, &status);
  else
    keep_log(plan, program, name, options);
  clReleaseProgram(program); /* a kernel keeps its program */
  return status;
}

cl_int $NAME_create(cl_context context, cl_device_id device, const char* build_options, $NAME_plan** out_plan) {
  static const char standard[] = "-cl-std=CL1.2 ";
  cl_int status;
  char* options;
  $NAME_plan* plan;
  if (out_plan == NULL) return CL_INVALID_VALUE;
  *out_plan = NULL;
  if (build_options == NULL) build_options = "";
  plan = ($NAME_plan*)calloc(1, sizeof *plan);
  options = (char*)malloc(sizeof standard + strlen(build_options));
  if (plan == NULL || options == NULL) {
    free(plan);
    free(options);
    return CL_OUT_OF_HOST_MEMORY;
  }
  memcpy(options, standard, sizeof standard - 1);
  memcpy(options + sizeof standard - 1, build_options, strlen(build_options) + 1);
  plan->device = device;
  status = clRetainContext(context);
  if (status == CL_SUCCESS) plan->context = context;
$BUILD  free(options);
  plan->ready = status == CL_SUCCESS;
  if (status != CL_SUCCESS && plan->log == NULL) {
    $NAME_destroy(plan);
    return status;
  }
  *out_plan = plan;
  return status;
}

const char* $NAME_build_log(const $NAME_plan* plan) {
  return plan != NULL && plan->log != NULL ? plan->log : "";
}

void $NAME_destroy($NAME_plan* plan) {
  if (plan == NULL) return;
$RELEASE  if (plan->last != NULL) clReleaseEvent(plan->last);
  if (plan->context != NULL) clReleaseContext(plan->context);
  free(plan->log);
  free(plan);
}
)";

constexpr const char* runText = R"(
/* The commands of one call, each after the one before; the first after `wait`. */
struct chain {
  cl_uint nwait;
  const cl_event* wait;
  cl_event* owned; /* `wait`, where it is not the caller's */
  cl_event last;
};

/* After the caller's events, and after the last call's commands: they may still use the temporaries. */
static cl_int begin($NAME_plan* plan, cl_uint nwait, const cl_event* wait, struct chain* chain) {
  cl_int state = CL_COMPLETE;
  cl_uint i;
  chain->nwait = nwait;
  chain->wait = wait;
  chain->owned = NULL;
  chain->last = NULL;
  if (!plan->ready) return CL_INVALID_PROGRAM_EXECUTABLE;
  if ((nwait == 0) != (wait == NULL)) return CL_INVALID_EVENT_WAIT_LIST;
  if (plan->last == NULL) return CL_SUCCESS;
  clGetEventInfo(plan->last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  if (state <= CL_COMPLETE) { /* or failed */
    clReleaseEvent(plan->last);
    plan->last = NULL;
    return CL_SUCCESS;
  }
  chain->owned = (cl_event*)malloc(((size_t)nwait + 1) * sizeof(cl_event));
  if (chain->owned == NULL) return CL_OUT_OF_HOST_MEMORY;
  for (i = 0; i < nwait; i++) chain->owned[i] = wait[i];
  chain->owned[nwait] = plan->last;
  chain->wait = chain->owned;
  chain->nwait = nwait + 1;
  return CL_SUCCESS;
}

static cl_int finish($NAME_plan* plan, cl_command_queue queue, struct chain* chain, cl_int status, cl_event* done) {
  if (status == CL_SUCCESS && done != NULL) {
    if (chain->last == NULL) { /* nothing to do: `done` follows `wait` */
      status = clEnqueueMarkerWithWaitList(queue, chain->nwait, chain->wait, done);
    } else {
      status = clRetainEvent(chain->last);
      if (status == CL_SUCCESS) *done = chain->last;
    }
  }
  if (chain->last != NULL) {
    if (plan->last != NULL) clReleaseEvent(plan->last);
    plan->last = chain->last;
  }
  free(chain->owned);
  return status;
}

static cl_int check_buffer(cl_mem buffer, int64_t bytes) {
  size_t size = 0;
  cl_int status;
  if (bytes < 0) return CL_INVALID_VALUE;
  if (bytes == 0) return CL_SUCCESS;
  if (buffer == NULL) return CL_INVALID_MEM_OBJECT;
  status = clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, NULL);
  return status == CL_SUCCESS && size < (size_t)bytes ? CL_INVALID_BUFFER_SIZE : status;
}

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint nbuffers, const cl_mem* buffers, cl_uint nsizes,
                     const cl_int* sizes, const int64_t* global, const int64_t* local, struct chain* chain) {
  size_t g[3], l[3];
  cl_uint i;
  cl_event event;
  cl_int status = CL_SUCCESS;
  int d;
  for (d = 0; d < 3; d++) {
    if (global[d] < 0 || global[d] >= too_large / 2 || (int64_t)(size_t)global[d] != global[d])
      return CL_INVALID_GLOBAL_WORK_SIZE;
    g[d] = (size_t)global[d];
  }
  if (g[0] == 0 || g[1] == 0 || g[2] == 0) return CL_SUCCESS;
  for (d = 0; d < 3; d++) {
    if (local[d] < 1 || local[d] > global[d] || global[d] % local[d] != 0) return CL_INVALID_WORK_GROUP_SIZE;
    l[d] = (size_t)local[d];
  }
  for (i = 0; i < nbuffers && status == CL_SUCCESS; i++) status = clSetKernelArg(kernel, i, sizeof(cl_mem), &buffers[i]);
  for (i = 0; i < nsizes && status == CL_SUCCESS; i++)
    status = clSetKernelArg(kernel, nbuffers + i, sizeof(cl_int), &sizes[i]);
  if (status != CL_SUCCESS) return status;
  status = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, g, l, chain->last != NULL ? 1 : chain->nwait,
                                  chain->last != NULL ? &chain->last : chain->wait, &event);
  if (status != CL_SUCCESS) return status;
  if (chain->last != NULL) clReleaseEvent(chain->last);
  chain->last = event;
  return CL_SUCCESS;
}
)";

constexpr const char* reserveText = R"(
/* Makes a temporary at least so large. Commands that still use the old memory keep it alive. */
static cl_int reserve($NAME_plan* plan, int slot, int64_t bytes) {
  cl_int status;
  cl_mem memory;
  if (bytes < 0) return CL_INVALID_VALUE;
  if (bytes == 0) bytes = 1;
  if (plan->temporaries[slot] != NULL && plan->temporary_bytes[slot] >= bytes) return CL_SUCCESS;
  if (plan->temporaries[slot] != NULL) clReleaseMemObject(plan->temporaries[slot]);
  plan->temporaries[slot] = NULL;
$STALE  memory = clCreateBuffer(plan->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &status);
  if (status != CL_SUCCESS) return status;
  plan->temporaries[slot] = memory;
  plan->temporary_bytes[slot] = bytes;
  return CL_SUCCESS;
}
)";

constexpr const char* exchangeText = R"(
static void exchange($NAME_plan* plan, int a, int b) {
  const cl_mem memory = plan->temporaries[a];
  const int64_t bytes = plan->temporary_bytes[a];
  plan->temporaries[a] = plan->temporaries[b];
  plan->temporary_bytes[a] = plan->temporary_bytes[b];
  plan->temporaries[b] = memory;
  plan->temporary_bytes[b] = bytes;
}
)";

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

// --------------------------------------------------------------------------------------------------------- the files

class Printer {
 public:
  Printer(const Plan& plan, const std::string& prefix)
      : plan_(plan),
        name_(beginning(prefix.empty() ? plan.name : prefix)),
        size_(sizeNames_),
        slots_(shareSlots(plan)) {
    ensure(plan.sources.size() == plan.kernels.size(), "host code of a plan without sources");
    if (!prefix.empty() && name_ != prefix)
      throw UserError(ExitStatus::usage, fmt::format("names in C cannot begin with '{}'", prefix),
                      fmt::format("'{}' would do", name_));
    Names names;
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

  HostCode run() {
    HostCode code;
    code.header = header();
    code.source = source();
    return code;
  }

 private:
  // ---------------------------------------------------------------------------------------------- lists of parameters

  // "int n, int m, " or its like; `after` is what follows each.
  std::string sizes(std::string_view type, std::string_view after) const {
    std::string s;
    for (const NatVar v : plan_.sizes) s += fmt::format("{}{}{}", type, sizeNames_.at(v), after);
    return s;
  }
  std::string onlySizes(std::string_view type) const {
    std::vector<std::string> parts;
    for (const NatVar v : plan_.sizes) parts.push_back(std::string(type) + sizeNames_.at(v));
    return parts.empty() && !type.empty() ? "void" : joined(parts);
  }
  std::string ignored(const std::vector<Nat>& used) const {
    std::string s;
    for (const NatVar v : plan_.sizes)
      if (std::none_of(used.begin(), used.end(), [&](Nat n) { return n.mentions(v); }))
        s += fmt::format("  (void){};\n", sizeNames_.at(v));
    return s;
  }
  std::string runSignature() const {
    std::string s = fmt::format("cl_int {}_run({}_plan* plan, cl_command_queue queue, ", name_, name_);
    s += sizes("int ", ", ");
    for (const std::size_t b : inputs_) s += fmt::format("cl_mem {}, ", bufferNames_[b]);
    for (const std::size_t b : outputs_) s += fmt::format("cl_mem {}, ", bufferNames_[b]);
    return wrapped(s + "cl_uint nwait, const cl_event* wait, cl_event* done)");
  }
  std::string prepareSignature() const {
    std::string s = fmt::format("cl_int {}_prepare({}_plan* plan, cl_command_queue queue, ", name_, name_);
    s += sizes("int ", ", ");
    for (const std::size_t b : prepared_) s += fmt::format("cl_mem {}, ", bufferNames_[b]);
    return wrapped(s + "cl_uint nwait, const cl_event* wait, cl_event* done)");
  }
  std::string bytesSignature(std::size_t b) const {
    return fmt::format("size_t {}_bytes_of_{}({})", name_, bufferNames_[b], onlySizes("int "));
  }
  // Parameters that do not fit a line continue below the first.
  static std::string wrapped(const std::string& signature) {
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

  // --------------------------------------------------------------------------------------------------------- host.h

  std::string header() const {
    std::string guard;
    for (char c : name_) guard += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    guard += "_HOST_H";
    std::string buffers;
    for (const auto* list : {&inputs_, &outputs_})
      for (const std::size_t b : *list) {
        std::string shape;
        for (const Nat n : plan_.buffers[b].shape) shape += "[" + n.str() + "]";
        const std::string given = plan_.buffers[b].name == bufferNames_[b] ? "" : " (" + plan_.buffers[b].name + ")";
        buffers += inComment(fmt::format(" *   {:<7} {}{}: {}{}, {}", list == &inputs_ ? "input" : "output",
                                         bufferNames_[b], given, shape, info(plan_.buffers[b].scalar).name,
                                         scalarText(plan_.buffers[b].scalar))) +
                   "\n";
      }
    std::string about;
    for (const NatVar v : plan_.sizes) {
      about += fmt::format(" *   {} >= {}", sizeNames_.at(v), std::max<std::int64_t>(v.lower(), -2147483648));
      if (const auto upper = v.upper()) about += inComment(fmt::format(", {} <= {}", sizeNames_.at(v), upper->str()));
      if (v.name() != sizeNames_.at(v)) about += inComment(fmt::format(" ({})", v.name()));
      about += "\n";
    }
    if (!about.empty())
      about = " *\n * Sizes, in the order of the parameters:\n" + about +
              " * Dimensions must not be negative, and no array may have 2^31 elements or more: CL_INVALID_VALUE. What "
              "the\n"
              " * program asks of its sizes besides (that one divides another) is the caller's to keep; `liftc check` "
              "lists it.\n";
    std::string functions;
    if (!plan_.preparation.empty())
      functions += filled(R"(
/* Enqueues the work that needs to be done once for a set of weights. $NAME_run does it by itself the first time and
 * when sizes change; call this when the content of these buffers has changed. Parameters as for $NAME_run. */
$PREPARE;
)",
                          {{"NAME", name_}, {"PREPARE", prepareSignature()}});
    std::string bytes;
    for (const auto* list : {&inputs_, &outputs_})
      for (const std::size_t b : *list) bytes += bytesSignature(b) + ";\n";
    return filled(
        R"(/* $NAME: $LAUNCHES on OpenCL 1.2. Generated by liftc; needs host.c and an OpenCL library.
 *
 * Buffers, in the order of the parameters; dense, the last dimension contiguous:
$BUFFERS$ABOUT *
 * Every function returns CL_SUCCESS or OpenCL's error. A plan is used by one thread at a time; different threads take
 * a plan each. Calls with one plan may follow each other without waiting, also on different queues of its context (then
 * flush the first queue: nothing here flushes or waits). They run one after the other.
 */
#ifndef $GUARD
#define $GUARD

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
$CL_HEADER
#endif
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct $NAME_plan $NAME_plan;

/* Builds the kernels for a device of the context, which is retained. `build_options` are added to -cl-std=CL1.2 and may
 * be NULL. When the kernels do not build, *plan is good for $NAME_build_log, and is to be destroyed all the same; after
 * any other error it is NULL. */
cl_int $NAME_create(cl_context context, cl_device_id device, const char* build_options, $NAME_plan** plan);

/* Why the kernels did not build; empty if they did. Lives as long as the plan. */
const char* $NAME_build_log(const $NAME_plan* plan);

/* Bytes that a buffer needs; 0 for sizes that cannot be. */
$BYTES
/* Enqueues the work, which begins when the `nwait` events have happened; `done`, if not NULL, becomes an event of its
 * end that the caller releases (NULL after an error). The queue is in order or not. Inputs are not written and may be
 * larger than needed; outputs must not overlap anything else. Temporaries belong to the plan and grow as sizes do. */
$RUN;
$PREPARATION
/* Releases everything; what is enqueued still completes. NULL is allowed. */
void $NAME_destroy($NAME_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
)",
        {{"CL_HEADER", "#include <CL/cl.h>"},
         {"LAUNCHES", plan_.launches.size() == 1 ? "one launch" : fmt::format("{} launches", plan_.launches.size())},
         {"BUFFERS", buffers},
         {"ABOUT", about},
         {"GUARD", guard},
         {"BYTES", bytes},
         {"RUN", runSignature()},
         {"PREPARATION", functions},
         {"NAME", name_}});
  }

  static std::string_view scalarText(Scalar s) {
    switch (s) {
      case Scalar::boolean:
        return "one byte each, 0 or 1";
      case Scalar::i8:
        return "cl_char";
      case Scalar::u8:
        return "cl_uchar";
      case Scalar::i16:
        return "cl_short";
      case Scalar::u16:
        return "cl_ushort";
      case Scalar::i32:
        return "cl_int";
      case Scalar::u32:
        return "cl_uint";
      case Scalar::i64:
        return "cl_long";
      case Scalar::u64:
        return "cl_ulong";
      case Scalar::f16:
        return "cl_half";
      case Scalar::f32:
        return "cl_float";
      case Scalar::f64:
        return "cl_double";
    }
    return "";
  }

  // --------------------------------------------------------------------------------------------------------- host.c

  std::string source() {
    // First what uses helpers, so that only those in use are printed.
    const std::string body = sizesFit() + bytes() + launchers() + counts();
    const std::string calls = preparation() + runFunction() + bytesFunctions();
    std::string s = fmt::format(
        "/* Generated by liftc: see host.h. */\n#include \"host.h\"\n\n#include <limits.h>\n#include <stdint.h>\n"
        "#include <stdlib.h>\n#include <string.h>\n\n");
    for (std::size_t k = 0; k < plan_.kernels.size(); k++)
      s += fmt::format("static const char* source_{}[] = {{\n{}}};\n\n", k, literals(plan_.sources[k]));
    s += fmt::format("struct {}_plan {{\n  cl_context context;\n  cl_device_id device;\n  cl_kernel kernels[{}];\n",
                     name_, std::max<std::size_t>(plan_.kernels.size(), 1));
    if (!slots_.of.empty())
      s += fmt::format("  cl_mem temporaries[{0}];\n  int64_t temporary_bytes[{0}];\n", slots_.of.size());
    if (!plan_.preparation.empty()) {
      s += "  int prepared; /* for these sizes */\n";
      if (!plan_.sizes.empty()) s += fmt::format("  int64_t prepared_for[{}];\n", plan_.sizes.size());
    }
    s += "  cl_event last; /* the end of the last call */\n  char* log;\n  int ready;\n};\n";
    s += filled(createText, {{"BUILD", builds()}, {"RELEASE", releases()}, {"NAME", name_}});
    s += "\n/* Sizes from here on are beyond all bounds. */\nstatic const int64_t too_large = (int64_t)1 << 60;\n";
    s += helpers() + filled(runText, {{"NAME", name_}});
    if (!slots_.of.empty())
      s +=
          filled(reserveText, {{"STALE", plan_.preparation.empty() ? "" : "  plan->prepared = 0;\n"}, {"NAME", name_}});
    if (std::any_of(plan_.loops.begin(), plan_.loops.end(), [](const auto& l) { return !l.swaps.empty(); }))
      s += filled(exchangeText, {{"NAME", name_}});
    return s + body + calls;
  }

  std::string builds() const {
    std::string s;
    for (std::size_t k = 0; k < plan_.kernels.size(); k++)
      s += fmt::format(
          "  if (status == CL_SUCCESS)\n"
          "    status = build(plan, {0}, \"{1}\", source_{0}, sizeof source_{0} / sizeof source_{0}[0], options);\n",
          k, plan_.kernels[k].name);
    return s;
  }

  std::string releases() const {
    std::string s;
    const auto loop = [&](std::size_t n, const char* what, const char* release) {
      for (std::size_t i = 0; i < n; i++)
        s += fmt::format("  if (plan->{0}[{1}] != NULL) {2}(plan->{0}[{1}]);\n", what, i, release);
    };
    loop(plan_.kernels.size(), "kernels", "clReleaseKernel");
    loop(slots_.of.size(), "temporaries", "clReleaseMemObject");
    return s;
  }

  std::string helpers() const {
    std::string s;
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

  std::string sizesFit() {
    if (plan_.sizes.empty()) return "";
    std::vector<std::string> tests;
    for (const NatVar v : plan_.sizes) {
      const std::string& n = sizeNames_.at(v);
      // An int has bounds of its own.
      if (v.lower() > -2147483648) tests.push_back(fmt::format("{} >= {}", n, size_(Nat(v.lower()))));
      if (const auto upper = v.upper()) {
        const auto known = upper->variables();
        if (std::all_of(known.begin(), known.end(), [&](NatVar u) { return sizeNames_.count(u) != 0; }))
          tests.push_back(fmt::format("{} <= {}", n, size_(*upper)));
      }
    }
    std::string unused;
    for (const NatVar v : plan_.sizes)
      if (v.lower() <= -2147483648 && !v.upper()) unused += fmt::format("  (void){};\n", sizeNames_.at(v));
    return fmt::format("\nstatic int sizes_fit({}) {{\n{}  return {};\n}}\n", onlySizes("int64_t "), unused,
                       tests.empty() ? "1" : joined(tests, " && "));
  }

  // A function per loop of launches.
  std::string counts() {
    std::string s;
    for (std::size_t i = 0; i < plan_.loops.size(); i++)
      s += fmt::format("\nstatic int64_t launch_count_{}({}) {{\n{}  return {};\n}}\n", i, onlySizes("int64_t "),
                       ignored({plan_.loops[i].count}), size_(plan_.loops[i].count));
    return s;
  }

  // A function per buffer that is checked or allocated.
  std::string bytes() {
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

  std::string launchers() {
    std::set<int> used;
    for (const auto* list : {&plan_.preparation, &plan_.launches})
      for (const Launch& l : *list) used.insert(l.kernel);
    std::string s;
    for (const int index : used) {
      const kernel::Kernel& k = plan_.kernels[static_cast<std::size_t>(index)];
      std::vector<Nat> all(k.range.global.begin(), k.range.global.end());
      all.insert(all.end(), k.range.local.begin(), k.range.local.end());
      std::vector<std::string> sizes;
      for (const NatVar v : k.sizes) {
        all.push_back(v);
        sizes.push_back("(cl_int)" + sizeNames_.at(v));
      }
      const auto triple = [&](const std::array<Nat, 3>& n) {
        return size_(n[0]) + ", " + size_(n[1]) + ", " + size_(n[2]);
      };
      s += fmt::format(
          "\nstatic cl_int launch_{}({}_plan* plan, cl_command_queue queue, {}const cl_mem* buffers,\n"
          "                       struct chain* chain) {{\n"
          "  const int64_t global[3] = {{{}}};\n  const int64_t local[3] = {{{}}};\n",
          index, name_, this->sizes("int64_t ", ", "), triple(k.range.global), triple(k.range.local));
      if (!sizes.empty()) s += fmt::format("  const cl_int sizes[] = {{{}}};\n", joined(sizes));
      s += ignored(all);
      s += fmt::format("  return launch(queue, plan->kernels[{}], {}, buffers, {}, {}, global, local, chain);\n}}\n",
                       index, k.arguments.size(), sizes.size(), sizes.empty() ? "NULL" : "sizes");
    }
    return s;
  }

  std::string buffer(std::size_t b) const {
    return slots_.slot[b] >= 0 ? fmt::format("plan->temporaries[{}]", slots_.slot[b]) : bufferNames_[b];
  }

  std::string launchText(const Launch& l, const std::string& indent) const {
    std::vector<std::string> arguments;
    for (const int a : l.arguments) arguments.push_back(buffer(static_cast<std::size_t>(a)));
    return fmt::format("{0}if (status == CL_SUCCESS)\n{0}  status = launch_{1}(plan, queue, {2}{3}, &chain);\n", indent,
                       l.kernel, sizes("", ", "),
                       arguments.empty() ? "NULL" : "(const cl_mem[]){" + joined(arguments) + "}");
  }

  std::string launches(const std::vector<Launch>& list) const {
    std::string s;
    for (const Launch& l : list) s += launchText(l, "  ");
    return s;
  }

  // The launches of a call, in their loops; every loop is printed when it is entered and left.
  std::string loopedLaunches() const {
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
            "{0}for (int64_t launch_step_{1} = launch_count_{1}({2}); launch_step_{1} > 0 && status == CL_SUCCESS; "
            "launch_step_{1}--) {{\n",
            indent, next, onlySizes(""));
        indent += "  ";
        open.push_back(next);
      }
      if (at < plan_.launches.size()) s += launchText(plan_.launches[at], indent);
    }
    return s;
  }

  std::string checks(const std::vector<std::size_t>& buffers) const {
    std::string s;
    if (!plan_.sizes.empty())
      s += fmt::format("  if (status == CL_SUCCESS && !sizes_fit({})) status = CL_INVALID_VALUE;\n", onlySizes(""));
    for (const std::size_t b : buffers)
      s += fmt::format("  if (status == CL_SUCCESS) status = check_buffer({}, bytes_{}({}));\n", bufferNames_[b], b,
                       onlySizes(""));
    for (std::size_t i = 0; i < slots_.of.size(); i++)
      for (const std::size_t b : slots_.of[i])
        s +=
            fmt::format("  if (status == CL_SUCCESS) status = reserve(plan, {}, bytes_{}({}));\n", i, b, onlySizes(""));
    return s;
  }

  // The part of a call before its own work.
  std::string opening() const {
    return "  struct chain chain;\n  cl_int status;\n"
           "  if (done != NULL) *done = NULL;\n"
           "  if (plan == NULL) return CL_INVALID_VALUE;\n"
           "  status = begin(plan, nwait, wait, &chain);\n";
  }

  std::string preparation() const {
    if (plan_.preparation.empty()) return "";
    const std::vector<std::size_t> inputs(prepared_.begin(), prepared_.end());
    std::string parameters, arguments;
    for (const std::size_t b : inputs) {
      parameters += fmt::format("cl_mem {}, ", bufferNames_[b]);
      arguments += bufferNames_[b] + ", ";
    }
    std::string s = wrapped(fmt::format("static cl_int prepare({}_plan* plan, cl_command_queue queue, {}{}", name_,
                                        sizes("int64_t ", ", "), parameters) +
                            "struct chain* whole)");
    s = "\n" + s + " {\n  struct chain chain = *whole;\n  cl_int status = CL_SUCCESS;\n  plan->prepared = 0;\n" +
        launches(plan_.preparation) + "  *whole = chain;\n";
    s += "  plan->prepared = status == CL_SUCCESS;\n";
    for (std::size_t i = 0; i < plan_.sizes.size(); i++)
      s += fmt::format("  plan->prepared_for[{}] = {};\n", i, sizeNames_.at(plan_.sizes[i]));
    s += "  return status;\n}\n";
    return s + "\n" + prepareSignature() + " {\n" + opening() + checks(inputs) +
           fmt::format("  if (status == CL_SUCCESS) status = prepare(plan, queue, {}{}&chain);\n", sizes("", ", "),
                       arguments) +
           "  return finish(plan, queue, &chain, status, done);\n}\n";
  }

  std::string runFunction() const {
    std::vector<std::size_t> all = inputs_;
    all.insert(all.end(), outputs_.begin(), outputs_.end());
    std::string s = "\n" + runSignature() + " {\n" + opening() + checks(all);
    if (!plan_.preparation.empty()) {
      std::string stale = "!plan->prepared", arguments;
      for (std::size_t i = 0; i < plan_.sizes.size(); i++)
        stale += fmt::format(" || plan->prepared_for[{}] != {}", i, sizeNames_.at(plan_.sizes[i]));
      for (const std::size_t b : prepared_) arguments += bufferNames_[b] + ", ";
      s += fmt::format("  if (status == CL_SUCCESS && ({}))\n    status = prepare(plan, queue, {}{}&chain);\n", stale,
                       sizes("", ", "), arguments);
    }
    return s + loopedLaunches() + "  return finish(plan, queue, &chain, status, done);\n}\n";
  }

  std::string bytesFunctions() const {
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

  const Plan& plan_;
  std::string name_;
  std::map<NatVar, std::string> sizeNames_;
  std::vector<std::string> bufferNames_;
  SizeWriter size_;
  Slots slots_;
  std::vector<std::size_t> inputs_, outputs_;
  std::set<std::size_t> prepared_;  // inputs of the preparation
  bool usesArrays_ = false;
};

}  // namespace

HostCode printHostCode(const kernel::Plan& plan, const std::string& prefix) { return Printer(plan, prefix).run(); }

}  // namespace lift
