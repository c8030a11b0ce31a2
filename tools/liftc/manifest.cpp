#include "manifest.hpp"

#include <filesystem>
#include <iostream>

#include "lift/host_code.hpp"
#include "lift/kernel_header.hpp"

namespace lift::liftc {
namespace {

using kernel::Plan;

Json size(Nat n) {
  if (const auto c = n.constant()) return *c;
  return n.str();
}

Json sizes3(const std::array<Nat, 3>& n) { return Json::array({size(n[0]), size(n[1]), size(n[2])}); }

std::string_view roleName(kernel::PlanBuffer::Role role) {
  switch (role) {
    case kernel::PlanBuffer::Role::input: return "input";
    case kernel::PlanBuffer::Role::output: return "output";
    case kernel::PlanBuffer::Role::temporary: return "temporary";
  }
  return "";
}

std::string commandOf(const Provenance& provenance) {
  std::vector<std::string> words{"liftc"};
  words.insert(words.end(), provenance.command.begin(), provenance.command.end());
  return commandLine(words);
}

std::string bufferName(const Plan& plan, int buffer) { return plan.buffers[static_cast<std::size_t>(buffer)].name; }

Json buffersOf(const Plan& plan) {
  Json buffers = Json::array();
  for (const auto& b : plan.buffers) {
    Json shape = Json::array();
    for (const Nat n : b.shape) shape.push_back(size(n));
    buffers.push_back({{"name", b.name},
                       {"role", roleName(b.role)},
                       {"type", info(b.scalar).name},
                       {"shape", shape},
                       {"bytes", size(b.count() * Nat(static_cast<std::int64_t>(info(b.scalar).bytes)))}});
    if (b.isImage) buffers.back()["image_row_texels"] = ImageLayout::rowTexels;
  }
  return buffers;
}

Json kernelsOf(const Plan& plan) {
  Json kernels = Json::array();
  for (std::size_t i = 0; i < plan.kernels.size(); i++) {
    const kernel::Kernel& k = plan.kernels[i];
    Json arguments = Json::array();
    for (const auto a : k.arguments) arguments.push_back(k.buffers[a].name);
    for (const NatVar v : k.sizes) arguments.push_back("int " + v.name());
    kernels.push_back({{"name", k.name},
                       {"file", k.name + ".cl"},
                       {"sha256", runtime::kernelDigest(plan.sources[i])},
                       {"arguments", arguments},
                       {"global", sizes3(k.range.global)},
                       {"local", sizes3(k.range.local)},
                       {"local_memory_bytes", size(kernel::localBytes(k))}});
  }
  return kernels;
}

// What all kernels together require of a device.
Json requirementsOf(const Plan& plan) {
  std::int64_t localBytes = 0, items = 1;
  bool f64 = false, h16 = false, images = false;
  for (const kernel::Kernel& k : plan.kernels) {
    const runtime::KernelNeeds needs = runtime::needsOf(k);
    localBytes = std::max(localBytes, needs.localBytes);
    items = std::max(items, needs.items());
    f64 = f64 || needs.f64;
    h16 = h16 || needs.h16;
    images = images || needs.images;
  }
  return {
      {"local_memory_bytes", localBytes}, {"work_group_size", items}, {"fp64", f64}, {"fp16", h16}, {"images", images}};
}

Json launchesOf(const Plan& plan, const std::vector<kernel::Launch>& list) {
  Json launches = Json::array();
  for (const auto& l : list) {
    Json arguments = Json::array();
    for (const int a : l.arguments) arguments.push_back(bufferName(plan, a));
    launches.push_back({{"kernel", plan.kernels[static_cast<std::size_t>(l.kernel)].name}, {"arguments", arguments}});
  }
  return launches;
}

}  // namespace

void Provenance::addChoice(const runtime::DeviceInfo& device, const std::string& origin) {
  details.update({{"compiled_for", device.name}, {"config_origin", origin}});
}

Json manifest(const Plan& plan, const Provenance& provenance) {
  Json j{{"schema", 1},
         {"name", plan.name},
         {"generator", generator},
         {"command", commandOf(provenance)},
         {"build_options", "-cl-std=CL1.2"}};
  j.update(provenance.details);
  j["sizes"] = Json::array();
  for (const NatVar v : plan.sizes) j["sizes"].push_back(v.name());
  j["buffers"] = buffersOf(plan);
  j["kernels"] = kernelsOf(plan);
  j["requires"] = requirementsOf(plan);
  if (plan.faults) {
    j["faults"] = {{"buffer", bufferName(plan, *plan.faults)}, {"sites", Json::array()}};
    for (const auto& s : plan.sites)
      j["faults"]["sites"].push_back({{"place", placeOf(s.span)}, {"message", s.message}});
  }
  j["preparation"] = launchesOf(plan, plan.preparation);
  j["launches"] = launchesOf(plan, plan.launches);
  for (const auto& l : plan.loops) {
    Json swaps = Json::array();
    for (const auto& [a, b] : l.swaps) swaps.push_back({bufferName(plan, a), bufferName(plan, b)});
    Json loop{{"first", l.first}, {"last", l.last}, {"count", size(l.count)}, {"swaps", swaps}};
    if (l.condition) loop["while"] = {{"at", l.condition->at}, {"buffer", bufferName(plan, l.condition->buffer)}};
    j["loops"].push_back(std::move(loop));
  }
  return j;
}

namespace {

// Where the plan is C: what calls NAME.c runs.
Json manifestOfC(const Plan& plan, const Provenance& provenance, const std::string& name) {
  Json j = manifest(plan, provenance);
  j["target"] = "c";
  j["build_options"] = "-O3 -march=native -fopenmp -lm";
  for (Json& k : j["kernels"]) {
    k["file"] = name + ".c";
    k.erase("sha256");  // of OpenCL C
  }
  return j;
}

// DIR/KERNEL.cl for each kernel, the manifest, and the host code.
void writeArtefacts(const std::filesystem::path& directory, const Plan& plan, const Provenance& provenance,
                    const std::string& prefix) {
  const kernel::Plan headed = runtime::withHeaders(plan, commandOf(provenance), generator);
  for (std::size_t k = 0; k < headed.kernels.size(); k++)
    writeFile(directory / (headed.kernels[k].name + ".cl"), headed.sources[k]);
  writeFile(directory / "manifest.json", dump(manifest(plan, provenance)) + "\n");
  const HostCode host = printHostCode(headed, prefix);
  writeFile(directory / "host.h", host.header);
  writeFile(directory / "host.c", host.source);
}

}  // namespace

cli::Option* addPrefix(cli::App& app, std::string& prefix) {
  return app.add_option(
      "--prefix", prefix,
      "What names in host.h and host.c, or in the C library, begin with (default: the program's name)");
}

void deliver(const Plan& plan, const Provenance& provenance, const std::string& directory, bool json,
             double compileMilliseconds, const std::string& prefix, const std::string& target) {
  const bool isC = target == "c";
  std::vector<std::string> files;
  std::string printed;
  Json j = manifest(plan, provenance);
  if (isC) {
    Provenance own = provenance;
    own.command.insert(own.command.end(), {"--target", "c"});
    const std::string origin = "/* " + commandOf(own) + " */\n";
    const CCode code = printCCode(plan, prefix);
    j = manifestOfC(plan, own, code.name);
    files = {code.name + ".c", code.name + ".h", "manifest.json"};
    printed = origin + code.source;
    if (!directory.empty()) {
      writeFile(std::filesystem::path(directory) / files[0], printed);
      writeFile(std::filesystem::path(directory) / files[1], origin + code.header);
      writeFile(std::filesystem::path(directory) / files[2], dump(j) + "\n");
    }
  } else {
    for (const auto& k : plan.kernels) files.push_back(k.name + ".cl");
    files.insert(files.end(), {"manifest.json", "host.h", "host.c"});
    for (const auto& source : runtime::withHeaders(plan, commandOf(provenance), generator).sources) printed += source;
    if (!directory.empty()) writeArtefacts(directory, plan, provenance, prefix);
  }
  if (json) {
    j["compile_ms"] = compileMilliseconds;
    printJson(j);
  } else if (directory.empty()) {
    std::cout << printed;
  } else {
    for (const std::string& file : files) std::cout << directory << "/" << file << "\n";
  }
}

}  // namespace lift::liftc
