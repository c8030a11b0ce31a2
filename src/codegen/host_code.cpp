// A plan as C99 for OpenCL 1.2.
//
// What does not depend on the plan is text, in host_texts.hpp; what does is written around it.
#include "lift/host_code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "host_texts.hpp"
#include "lift/diagnostic.hpp"
#include "lift/vector_access.hpp"
#include "plan_code.hpp"

namespace lift {
namespace {

using namespace detail::host;
using detail::filled;
using detail::joined;
using kernel::Launch;
using kernel::Plan;
using kernel::PlanBuffer;

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

  // "cl_mem x, cl_mem y, " or its like.
  std::string listed(const Buffers& buffers, std::string_view type = "cl_mem ") const {
    std::string s;
    for (const std::size_t b : buffers) s += fmt::format("{}{}, ", type, bufferNames_[b]);
    return s;
  }
  // Of a function that enqueues work on the buffers.
  std::string signature(std::string_view function, const Buffers& buffers) const {
    return wrapped(
        fmt::format("cl_int {0}_{1}({0}_plan* plan, cl_command_queue queue, {2}{3}"
                    "cl_uint nwait, const cl_event* wait, cl_event* done)",
                    name_, function, sizes("int ", ", "), listed(buffers)));
  }
  std::string runSignature() const { return signature("run", buffersOfRun()); }
  std::string prepareSignature() const { return signature("prepare", buffersOfPreparation()); }

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
    for (const std::size_t b : buffersOfRun()) bytes += bytesSignature(b) + ";\n";
    return filled(
        headerText,
        {{"CL_HEADER", "#include <CL/cl.h>"},
         {"LAUNCHES", plan_.launches.size() == 1 ? "one launch" : fmt::format("{} launches", plan_.launches.size())},
         {"BUFFERS", aboutBuffers(scalarText)},
         {"ABOUT", aboutSizes("CL_INVALID_VALUE")},
         {"GUARD", name_ + "_HOST_H"},
         {"BYTES", bytes},
         {"RUN", runSignature()},
         {"WAITS", asks() ? waitsText : ""},
         {"FLUSHES", asks() ? "only the condition of a loop flushes and waits" : "nothing here flushes or waits"},
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
      s += fmt::format("static const char* source_{}[] = {{\n{}}};\n\n", k,
                       literals(kernel::vectorAccess({plan_.sources[k]}) + plan_.sources[k]));
    s += fmt::format("struct {}_plan {{\n  cl_context context;\n  cl_device_id device;\n  cl_kernel kernels[{}];\n",
                     name_, std::max<std::size_t>(plan_.kernels.size(), 1));
    s += keptMembers("cl_mem ");
    s += "  cl_event last; /* the end of the last call */\n  char* log;\n  int ready;\n};\n";
    s += filled(createText, {{"CHECK_DEVICE", checkTexts()},
                             {"STANDARD", usesSubgroups() ? "standard_of(device)" : "\"-cl-std=CL1.2 \""},
                             {"BUILD", builds()},
                             {"RELEASE", releases()},
                             {"NAME", name_}});
    s += helpers(true) +
         filled(runText, {{"NAME", name_},
                          {"FAILED", plan_.preparation.empty() ? "" : "    if (state < 0) plan->prepared = 0;\n"}}) +
         (asks() ? holdsText : "");
    s += temporaries(reserveTexts(), "const cl_mem");
    return s + body + calls;
  }

  // What a device must have for the kernel, where that does not depend on sizes: bytes of local memory, work-items of a
  // group.
  struct Needs {
    std::int64_t localBytes = 0;
    std::array<std::int64_t, 3> group{1, 1, 1};
    bool any() const { return localBytes > 0 || group != std::array<std::int64_t, 3>{1, 1, 1}; }
  };
  static Needs needs(const kernel::Kernel& k) {
    Needs needs{kernel::localBytes(k).constant().value_or(0)};
    for (std::size_t d = 0; d < 3; d++) needs.group[d] = k.range.local[d].constant().value_or(1);
    return needs;
  }
  // The extensions that a kernel's arithmetic needs.
  static std::vector<std::string_view> extensions(const kernel::Kernel& k) {
    std::vector<std::string_view> all;
    if (kernel::computesIn(k, Scalar::f64)) all.emplace_back("cl_khr_fp64");
    if (kernel::computesIn(k, Scalar::h16)) all.emplace_back("cl_khr_fp16");
    return all;
  }
  static bool takesImages(const kernel::Kernel& k) { return std::ranges::any_of(k.buffers, &kernel::Buffer::isImage); }
  bool isImage(const std::vector<std::size_t>& slot) const {
    return std::ranges::any_of(slot, [&](std::size_t b) { return plan_.buffers[b].isImage; });
  }
  std::string reserveTexts() const {
    const auto images = std::ranges::count_if(slots_.of, [&](const auto& slot) { return isImage(slot); });
    std::string s;
    if (images < std::ssize(slots_.of))
      s += filled(reserveText, {{"WHAT", "a temporary"},
                                {"ONE", "memory"},
                                {"FUNCTION", "reserve($NAME_plan* plan, int slot, int64_t bytes)"},
                                {"VARIABLES", ""},
                                {"EMPTY", "  if (bytes == 0) bytes = 1;\n"},
                                {"CREATE", createBufferText}});
    if (images > 0)
      s += filled(reserveText,
                  {{"WHAT", "an image"},
                   {"ONE", "one"},
                   {"FUNCTION", "reserve_image($NAME_plan* plan, int slot, int64_t bytes, cl_channel_type type)"},
                   {"VARIABLES", imageVariablesText},
                   {"EMPTY", ""},
                   {"CREATE", createImageText},
                   {"ROW", std::to_string(ImageLayout::rowElements)},
                   {"TEXELS", std::to_string(ImageLayout::rowTexels)}});
    return s;
  }
  // Whether kernels have another form where there are sub-groups.
  bool usesSubgroups() const {
    return std::ranges::any_of(
        plan_.sources, [](const std::string& source) { return source.find("LIFT_SUBGROUPS") != std::string::npos; });
  }
  std::string checkTexts() const {
    std::string s = usesSubgroups() ? standardText : "";
    if (std::ranges::any_of(plan_.kernels, takesImages)) s += checkImagesText;
    if (std::ranges::any_of(plan_.kernels, [](const auto& k) { return needs(k).any(); })) s += checkDeviceText;
    if (std::ranges::any_of(plan_.kernels, [](const auto& k) { return !extensions(k).empty(); }))
      s += checkExtensionText;
    return s;
  }

  std::string builds() const {
    std::string s;
    for (const kernel::Kernel& k : plan_.kernels) {
      if (const Needs n = needs(k); n.any())
        s += fmt::format("  if (status == CL_SUCCESS) status = check_device(plan, \"{}\", {}, {});\n", k.name,
                         n.localBytes, fmt::join(n.group, ", "));
      if (takesImages(k))
        s += fmt::format("  if (status == CL_SUCCESS) status = check_images(plan, \"{}\", {});\n", k.name,
                         ImageLayout::rowTexels);
      for (const std::string_view extension : extensions(k))
        s += fmt::format("  if (status == CL_SUCCESS) status = check_extension(plan, \"{}\", \"{}\");\n", k.name,
                         extension);
    }
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

  std::string conditionText(std::size_t b, const std::string& indent) const override {
    return fmt::format("{}if (!holds(queue, {}, &chain, &status)) break;\n", indent, buffer(b));
  }
  bool asks() const {
    return std::ranges::any_of(plan_.loops, [](const auto& l) { return l.condition.has_value(); });
  }

  std::string launches(const std::vector<Launch>& list) const {
    std::string s;
    for (const Launch& l : list) s += launchText(l, "  ");
    return s;
  }

  std::string checks(const Buffers& buffers) const {
    std::string s;
    if (!plan_.sizes.empty())
      s += fmt::format("  if (status == CL_SUCCESS && !sizes_fit({})) status = CL_INVALID_VALUE;\n", onlySizes(""));
    for (const std::size_t b : buffers)
      s += fmt::format("  if (status == CL_SUCCESS) status = check_buffer({}, bytes_{}({}));\n", bufferNames_[b], b,
                       onlySizes(""));
    for (std::size_t i = 0; i < slots_.of.size(); i++)
      for (const std::size_t b : slots_.of[i]) {
        const PlanBuffer& buffer = plan_.buffers[b];
        const std::string type = buffer.scalar == Scalar::f32 ? "CL_FLOAT" : "CL_HALF_FLOAT";
        s += fmt::format("  if (status == CL_SUCCESS) status = reserve{}(plan, {}, bytes_{}({}){});\n",
                         buffer.isImage ? "_image" : "", i, b, onlySizes(""), buffer.isImage ? ", " + type : "");
      }
    return s;
  }

  // A function that enqueues work on the buffers: what a call checks and begins with, and how it ends.
  std::string call(const std::string& signature, const Buffers& buffers, const std::string& work) const {
    return "\n" + signature +
           " {\n  struct chain chain;\n  cl_int status;\n"
           "  if (done != NULL) *done = NULL;\n"
           "  if (plan == NULL) return CL_INVALID_VALUE;\n"
           "  status = begin(plan, nwait, wait, &chain);\n" +
           checks(buffers) + work + "  return finish(plan, queue, &chain, status, done);\n}\n";
  }
  std::string prepareCall() const {
    return fmt::format("status = prepare(plan, queue, {}{}&chain);\n", sizes("", ", "),
                       listed(buffersOfPreparation(), ""));
  }

  std::string preparation() const {
    if (plan_.preparation.empty()) return "";
    const std::string s = wrapped(fmt::format("static cl_int prepare({}_plan* plan, cl_command_queue queue, {}{}",
                                              name_, sizes("int64_t ", ", "), listed(buffersOfPreparation())) +
                                  "struct chain* whole)");
    return "\n" + s + " {\n  struct chain chain = *whole;\n  cl_int status = CL_SUCCESS;\n  plan->prepared = 0;\n" +
           launches(plan_.preparation) + "  *whole = chain;\n  plan->prepared = status == CL_SUCCESS;\n" +
           PlanCode::prepared() + "  return status;\n}\n" +
           call(prepareSignature(), buffersOfPreparation(), "  if (status == CL_SUCCESS) " + prepareCall());
  }

  std::string runFunction() const {
    std::string prepared;
    if (!plan_.preparation.empty())
      prepared = fmt::format("  if (status == CL_SUCCESS && ({}))\n    {}", stale(), prepareCall());
    return call(runSignature(), buffersOfRun(), prepared + loopedLaunches());
  }
};

}  // namespace

HostCode printHostCode(const kernel::Plan& plan, const std::string& prefix) { return Printer(plan, prefix).run(); }

}  // namespace lift
