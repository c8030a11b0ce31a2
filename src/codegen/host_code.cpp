// A plan as C99 for OpenCL 1.2.
//
// What does not depend on the plan is text with $NAME for its name; what does is written around it.
#include "lift/host_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lift/diagnostic.hpp"
#include "plan_code.hpp"

namespace lift {
namespace {

using detail::filled;
using detail::joined;
using kernel::Launch;
using kernel::Plan;
using kernel::PlanBuffer;

// ------------------------------------------------------------------------------------------------------------ text

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

// ------------------------------------------------------------------------------------------------------ fixed parts

// Whether the device has what a kernel needs; the log says what it lacks.
constexpr const char* checkDeviceText =
    R"(static cl_int check_device($NAME_plan* plan, const char* kernel, cl_ulong local_bytes, size_t items) {
  cl_ulong local_memory = 0;
  size_t most = 0;
  cl_int status =
      clGetDeviceInfo(plan->device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_memory, &local_memory, NULL);
  if (status == CL_SUCCESS)
    status = clGetDeviceInfo(plan->device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, NULL);
  if (status != CL_SUCCESS || (local_bytes <= local_memory && items <= most)) return status;
  plan->log = (char*)malloc(strlen(kernel) + 120);
  if (plan->log == NULL) return CL_OUT_OF_HOST_MEMORY;
  if (local_bytes > local_memory)
    sprintf(plan->log, "kernel %s needs %llu bytes of local memory, the device has %llu\n", kernel,
            (unsigned long long)local_bytes, (unsigned long long)local_memory);
  else
    sprintf(plan->log, "kernel %s has work-groups of %llu work-items, the device allows %llu\n", kernel,
            (unsigned long long)items, (unsigned long long)most);
  return local_bytes > local_memory ? CL_OUT_OF_RESOURCES : CL_INVALID_WORK_GROUP_SIZE;
}

)";

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

$CHECK_DEVICEstatic cl_int build($NAME_plan* plan, int k, const char* name, const char** pieces, size_t count,
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

// --------------------------------------------------------------------------------------------------------- the files

class Printer final : private detail::PlanCode {
 public:
  Printer(const Plan& plan, const std::string& prefix) : PlanCode(plan, prefix) {
    ensure(plan.sources.size() == plan.kernels.size(), "host code of a plan without sources");
  }

  HostCode run() {
    HostCode code;
    code.header = header();
    code.source = source();
    return code;
  }

 private:
  // ---------------------------------------------------------------------------------------------- lists of parameters

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
  // --------------------------------------------------------------------------------------------------------- host.h

  std::string header() const {
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
 * be NULL. When the kernels do not build, or the device has less local memory (CL_OUT_OF_RESOURCES) or smaller work-groups
 * (CL_INVALID_WORK_GROUP_SIZE) than they need, *plan is good for $NAME_build_log, and is to be destroyed all the same;
 * after any other error it is NULL. */
cl_int $NAME_create(cl_context context, cl_device_id device, const char* build_options, $NAME_plan** plan);

/* Why the kernels did not build, or do not fit the device; empty otherwise. Lives as long as the plan. */
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
         {"BUFFERS", aboutBuffers(scalarText)},
         {"ABOUT", aboutSizes("CL_INVALID_VALUE")},
         {"GUARD", guard("_HOST_H")},
         {"BYTES", bytes},
         {"RUN", runSignature()},
         {"PREPARATION", functions},
         {"NAME", name_}});
  }

  static std::string scalarText(Scalar s) {
    return s == Scalar::boolean ? "one byte each, 0 or 1" : fmt::format("cl_{}", info(s).opencl);
  }

  // --------------------------------------------------------------------------------------------------------- host.c

  std::string source() {
    // First what uses helpers, so that only those in use are printed.
    const std::string body = sizesFit() + bytes() + launchers() + counts();
    const std::string calls = preparation() + runFunction() + bytesFunctions();
    std::string s = fmt::format(
        "/* Generated by liftc: see host.h. */\n#include \"host.h\"\n\n#include <limits.h>\n#include <stdint.h>\n"
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\n");
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
    s += filled(createText, {{"CHECK_DEVICE", checksDevice() ? checkDeviceText : ""},
                             {"BUILD", builds()},
                             {"RELEASE", releases()},
                             {"NAME", name_}});
    s += helpers(true) + filled(runText, {{"NAME", name_}});
    if (!slots_.of.empty())
      s +=
          filled(reserveText, {{"STALE", plan_.preparation.empty() ? "" : "  plan->prepared = 0;\n"}, {"NAME", name_}});
    if (std::any_of(plan_.loops.begin(), plan_.loops.end(), [](const auto& l) { return !l.swaps.empty(); }))
      s += filled(exchangeText, {{"NAME", name_}});
    return s + body + calls;
  }

  // What a device must have for the kernel, where that does not depend on sizes: bytes of local memory, work-items of a
  // group.
  struct Needs {
    std::int64_t localBytes = 0, items = 1;
    bool any() const { return localBytes > 0 || items > 1; }
  };
  static Needs needs(const kernel::Kernel& k) {
    const Nat items = k.range.local[0] * k.range.local[1] * k.range.local[2];
    return {kernel::localBytes(k).constant().value_or(0), items.constant().value_or(1)};
  }
  bool checksDevice() const {
    return std::any_of(plan_.kernels.begin(), plan_.kernels.end(), [](const auto& k) { return needs(k).any(); });
  }

  std::string builds() const {
    std::string s;
    for (const kernel::Kernel& k : plan_.kernels)
      if (const Needs n = needs(k); n.any())
        s += fmt::format("  if (status == CL_SUCCESS) status = check_device(plan, \"{}\", {}, {});\n", k.name,
                         n.localBytes, n.items);
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

  std::string successful() const override { return "status == CL_SUCCESS"; }

  std::string launchText(const Launch& l, const std::string& indent) const override {
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
    s += PlanCode::prepared();
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
      std::string arguments;
      for (const std::size_t b : prepared_) arguments += bufferNames_[b] + ", ";
      s += fmt::format("  if (status == CL_SUCCESS && ({}))\n    status = prepare(plan, queue, {}{}&chain);\n", stale(),
                       sizes("", ", "), arguments);
    }
    return s + loopedLaunches() + "  return finish(plan, queue, &chain, status, done);\n}\n";
  }
};

}  // namespace

HostCode printHostCode(const kernel::Plan& plan, const std::string& prefix) { return Printer(plan, prefix).run(); }

}  // namespace lift
