// The targets of `liftc offline`.
#include <fmt/format.h>

#include "lift/diagnostic.hpp"
#include "lift/listed.hpp"
#include "parsers.hpp"

namespace lift {
namespace {

const OfflineNeed clang{"clang",
                        {"clang-15", "clang-16", "clang-17", "clang-18", "clang-19"},
                        "apt-get install clang-15 libclang-common-15-dev"};
const std::vector<std::string> openCl{"-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header"};

std::vector<std::string> clangCommand(const std::vector<std::string>& options) {
  std::vector<std::string> words{"{clang}"};
  words.insert(words.end(), openCl.begin(), openCl.end());
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

// Khronos' translator takes LLVM's code as it is before optimising: later it has instructions that SPIR-V 1.0 lacks.
OfflineTarget spirv() {
  return {"spirv",
          "valid SPIR-V 1.0 for any OpenCL 1.2 device; the compiler's warnings",
          "portable",
          {clang,
           {"llvm-spirv",
            {"llvm-spirv-15", "llvm-spirv-16", "llvm-spirv-17", "llvm-spirv-18", "llvm-spirv-19"},
            "apt-get install llvm-spirv-15"},
           {"spirv-val", {"spirv-val"}, "apt-get install spirv-tools"}},
          {clangCommand({"-target", "spir64-unknown-unknown", "-Wall", "-Wextra", "-Wpedantic", "-O0", "-Xclang",
                         "-disable-O0-optnone", "-emit-llvm", "-c", "{source}", "-o", "kernel.bc"}),
           {"{llvm-spirv}", "--spirv-max-version=1.0", "kernel.bc", "-o", "kernel.spv"},
           {"{spirv-val}", "--target-env", "opencl1.2", "kernel.spv"}},
          detail::parseClang};
}

OfflineTarget amd(const std::string& name, const std::string& meaning) {
  return {name,
          meaning,
          "amd-" + name,
          {clang,
           {"bitcode",
            {"/usr/lib/x86_64-linux-gnu/amdgcn/bitcode", "/opt/rocm/amdgcn/bitcode"},
            "apt-get install rocm-device-libs"}},
          {clangCommand({"-target", "amdgcn-amd-amdhsa", "-mcpu=" + name, "--rocm-device-lib-path={bitcode}", "-O3",
                         "-Rpass-analysis=kernel-resource-usage", "-S", "{source}", "-o", "kernel.s"})},
          detail::parseAmd,
          "waves of a SIMD"};
}

// PTX by LLVM, with libclc's functions, and NVIDIA's assembler.
OfflineTarget nvidia(const std::string& name, const std::string& meaning) {
  return {name,
          meaning,
          "nvidia",
          {clang,
           {"libclc", {"/usr/lib/clc/nvptx64--nvidiacl.bc"}, "apt-get install libclc-15"},
           {"ptxas",
            {"ptxas", "/usr/local/cuda/bin/ptxas", "/opt/liftc-ptxas/nvidia/cuda_nvcc/bin/ptxas"},
            "pip install --target /opt/liftc-ptxas nvidia-cuda-nvcc-cu12"}},
          {clangCommand({"-target", "nvptx64-unknown-nvidiacl", "-nogpulib", "-Xclang", "-mlink-builtin-bitcode",
                         "-Xclang", "{libclc}", "-Xclang", "-target-cpu", "-Xclang", name, "-O3", "-S", "{source}",
                         "-o", "kernel.ptx"}),
           {"{ptxas}", "-v", "-arch=" + name, "kernel.ptx", "-o", "kernel.cubin"}},
          detail::parsePtxas,
          "warps of a multiprocessor"};
}

OfflineTarget intel() {
  return {"dg2",
          "Intel Xe HPG, by Intel's compiler",
          "intel-gpu",
          {{"ocloc", {"ocloc", "liftc-ocloc"}, "scripts/offline.sh, or apt-get install intel-opencl-icd"},
           {"iga",
            {"/usr/lib/x86_64-linux-gnu/libiga64.so.1", "/opt/liftc-ocloc/usr/lib/x86_64-linux-gnu/libiga64.so.1"},
            "scripts/offline.sh, or apt-get install libigc1"}},
          {{"{ocloc}", "compile", "-file", "{source}", "-device", "dg2", "-options", "-cl-std=CL1.2 -DLIFT_SUBGROUPS",
            "-out_dir", ".", "-output", "kernel.bin", "-output_no_suffix"},
           {"ln", "-sf", "{iga}", "libiga64.so"},  // by this name it is looked for
           {"env", "LD_LIBRARY_PATH=.", "{ocloc}", "disasm", "-file", "kernel.bin", "-device", "dg2", "-dump", "dump"}},
          detail::parseIntel};
}

OfflineTarget mesa(const std::string& name, const std::string& meaning, const std::string& profile,
                   decltype(OfflineTarget::parse) parse, const std::string& occupancy) {
  return {name,
          meaning,
          profile,
          {{"liftc-mesa", {"liftc-mesa"}, "scripts/mesa_offline.sh, which takes about 4 minutes"}},
          {{"{liftc-mesa}", name, "{source}", "-cl-std=CL1.2"}},
          std::move(parse),
          occupancy};
}

}  // namespace

const std::vector<OfflineTarget>& offlineTargets() {
  static const std::vector<OfflineTarget> targets{
      mesa("mali-g72", "Mali-G72 (Bifrost), by Mesa's Panfrost", "mali-g72", detail::parsePanfrost,
           "of 2 sets of threads"),
      mesa("mali-g57", "Mali-G57 (Valhall), by Mesa's Panfrost", "mali-g57", detail::parsePanfrost,
           "of 2 sets of threads"),
      mesa("adreno-630", "Adreno 630, by Mesa's freedreno", "adreno-630", detail::parseFreedreno, ""),
      amd("gfx900", "AMD Vega, by LLVM"),
      amd("gfx1030", "AMD RDNA 2, by LLVM"),
      nvidia("sm_80", "NVIDIA Ampere, by LLVM and NVIDIA's assembler"),
      intel(),
      spirv(),
  };
  return targets;
}

const OfflineTarget& offlineTarget(std::string_view name) {
  for (const OfflineTarget& t : offlineTargets())
    if (t.name == name) return t;
  throw UserError(ExitStatus::usage, fmt::format("there is no target '{}'", name),
                  "targets are " + listed(offlineTargets(), &OfflineTarget::name));
}

}  // namespace lift
