#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>

#include "lift/diagnostic.hpp"
#include "lift/offline.hpp"

using namespace lift;

namespace {

KernelStatistics parsed(const char* target, const std::string& output, const std::string& assembly = {}) {
  return offlineTarget(target).parse(output, assembly);
}

KernelText textOf(const std::string& name, const std::string& source, std::int64_t items = 64) {
  return {{name, {items, 1, 1}, 0, false}, source};
}

const char* const scale = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void scale(__global const float* restrict x, __global float* restrict out) {
  const int i = get_global_id(0);
  const float4 v = *(const __global float4*)(x + 4 * i);
  *(__global float4*)(out + 4 * i) = 2.0f * v;
}
)";

}  // namespace

// Outputs are those of the compilers, shortened.

TEST_CASE("Panfrost: the variant compiled last counts, blending shaders do not", "[null]") {
  const std::string output = R"(
SHADER-DB: MESA_SHADER_FRAGMENT shader: 2 inst, 2 tuples, 2 clauses, 0.500000 cycles, 0.000000 arith, 0.500000 texture, 0.250000 vary, 0.000000 ldst, 9 quadwords, 1 threads, 0 loops, 0:0 spills:fills
device: Mali-G72 (Panfrost)
SHADER-DB: MESA_SHADER_KERNEL shader: 807 inst, 661 tuples, 87 clauses, 48.000000 cycles, 25.500000 arith, 0.000000 texture, 0.000000 vary, 48.000000 ldst, 561 quadwords, 1 threads, 1 loops, 0:0 spills:fills
SHADER-DB: MESA_SHADER_KERNEL shader: 795 inst, 655 tuples, 87 clauses, 48.000000 cycles, 25.291666 arith, 0.000000 texture, 0.000000 vary, 48.000000 ldst, 561 quadwords, 1 threads, 1 loops, 207:520 spills:fills
kernel: conv_2, largest group 256
)";
  const KernelStatistics s = parsed("mali-g72", output);
  CHECK(s.instructions == 795);
  CHECK(s.spills == 727);
  CHECK(s.occupancy == 1);
  CHECK(s.mostItems == 256);
  CHECK_FALSE(s.registers);
  REQUIRE(s.cycles.size() == 4);
  CHECK(s.cycles[0] == std::pair<std::string, double>("arith", 25.291666));
  CHECK(s.cycles[3] == std::pair<std::string, double>("ldst", 48.0));
  CHECK_FALSE(parsed("mali-g72", "nothing").instructions);
}

TEST_CASE("freedreno: registers are vectors of four, accesses of private memory are spills", "[null]") {
  const std::string output = R"(
MESA: info: (sy)stp.u32 p[r5.z], r1.x, 1
MESA: info: ldp.u32 r4.y, p[r1.w], 1
MESA: info: ; CL prog 1/1: 927 instr, 50 nops, 877 non-nops, 31 mov, 87 cov, 1800 dwords
MESA: info: ; CL prog 1/1: 0 last-baryf, 0 last-helper, 0 half, 24 full, 28 constlen
MESA: info: ; CL prog 1/1: 53 cat0, 118 cat1, 573 cat2, 135 cat3, 0 cat4, 0 cat5, 48 cat6, 0 cat7
kernel: conv_2, largest group 2048
)";
  const KernelStatistics s = parsed("adreno-630", output);
  CHECK(s.instructions == 927);
  CHECK(s.registers == 96);
  CHECK(s.loads == 48);
  CHECK(s.spills == 2);
  CHECK(s.mostItems == 2048);
}

TEST_CASE("AMD: remarks of LLVM, instructions of the assembly", "[null]") {
  const std::string output = R"(
k.cl:6:1: remark:     SGPRs: 18 [-Rpass-analysis=kernel-resource-usage]
k.cl:6:1: remark:     VGPRs: 60 [-Rpass-analysis=kernel-resource-usage]
k.cl:6:1: remark:     ScratchSize [bytes/lane]: 16 [-Rpass-analysis=kernel-resource-usage]
k.cl:6:1: remark:     Occupancy [waves/SIMD]: 4 [-Rpass-analysis=kernel-resource-usage]
k.cl:6:1: remark:     SGPRs Spill: 7 [-Rpass-analysis=kernel-resource-usage]
k.cl:6:1: remark:     VGPRs Spill: 3 [-Rpass-analysis=kernel-resource-usage]
k.cl:6:1: remark:     LDS Size [bytes/block]: 2048 [-Rpass-analysis=kernel-resource-usage]
)";
  const std::string assembly =
      "\t.text\nscale:\n; %bb.0:\n\ts_load_dwordx4 s[0:3], s[4:5], 0x0\n"
      "\tglobal_load_dwordx4 v[0:3], v4, s[0:1]\n\tv_add_f32_e32 v0, v0, v0\n\ts_endpgm\n"
      "\t.section .rodata\n\t.amdhsa_kernel scale\n";
  const KernelStatistics s = parsed("gfx1030", output, assembly);
  CHECK(s.registers == 60);
  CHECK(s.spills == 3);
  CHECK(s.scratchBytes == 16);
  CHECK(s.occupancy == 4);
  CHECK(s.localBytes == 2048);
  CHECK(s.instructions == 3);  // the last has no operand
  CHECK(s.loads == 2);
}

TEST_CASE("NVIDIA: ptxas -v, instructions of the PTX", "[null]") {
  const std::string output = R"(
ptxas info    : Compiling entry function 'conv' for 'sm_80'
ptxas info    : Function properties for conv
    4864 bytes stack frame, 5240 bytes spill stores, 6120 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 6144 bytes smem, 376 bytes cmem[0]
)";
  const std::string ptx =
      ".visible .entry conv(\n\t.param .u64 .ptr .global .align 4 conv_param_0\n)\n{\n"
      "\t.reg .pred \t%p<3>;\n\tld.param.u64 \t%rd1, [conv_param_0];\n"
      "\tld.global.nc.v4.f32 \t{%f1, %f2, %f3, %f4}, [%rd1];\n\t@%p1 bra \t$L__BB0_2;\n\tret;\n}\n";
  const KernelStatistics s = parsed("sm_80", output, ptx);
  CHECK(s.registers == 255);
  CHECK(s.spills == 1310);
  CHECK(s.scratchBytes == 4864);
  CHECK(s.localBytes == 6144);
  CHECK(s.occupancy == 8);  // warps: 65536 registers by 255, in eights, of 32 threads
  CHECK(s.instructions == 3);
  CHECK(s.loads == 1);
}

TEST_CASE("Intel: what it spills, and other warnings", "[null]") {
  const std::string assembly =
      "L0:\n(W)     mov (8|M0)               r127.0<1>:ud  0x0:ud\n"
      "        add (16|M0)              r10.0<1>:f    r11.0<8;8,1>:f    r12.0<8;8,1>:f\n"
      "        send.dc1 (16|M0)         r14      r16  null:0  0x0  0x04205E00\n";
  const KernelStatistics s = parsed("dg2",
                                    "warning: unused\nwarning: kernel k2  compiled SIMD8 allocated 128 regs and "
                                    "spilled around 87\nBuild succeeded.\n",
                                    assembly);
  CHECK(s.spills == 87);
  CHECK(s.registers == 128);
  CHECK(s.instructions == 3);
  CHECK(s.warnings == std::vector<std::string>{"warning: unused"});
  CHECK(parsed("dg2", "Build succeeded.\n").spills == 0);
}

TEST_CASE("SPIR-V: the warnings of clang", "[null]") {
  CHECK(
      parsed("spirv", "k.cl:3:7: warning: unused variable 'a' [-Wunused-variable]\n1 warning generated.\n").warnings ==
      std::vector<std::string>{"warning: unused variable 'a' [-Wunused-variable]"});
}

TEST_CASE("targets: names are known, profiles are there, needs are named in commands", "[null]") {
  CHECK_THROWS_AS(offlineTarget("mali-g1"), UserError);
  for (const OfflineTarget& t : offlineTargets()) {
    INFO(t.name);
    CHECK(offlineTarget(t.name).name == t.name);
    CHECK(runtime::readProfile(t.profile).type == "gpu");
    for (const OfflineNeed& need : t.needs) {
      CHECK_FALSE(need.install.empty());
      const auto names = [&](const std::string& word) { return word.find("{" + need.name + "}") != std::string::npos; };
      CHECK(std::any_of(t.commands.begin(), t.commands.end(),
                        [&](const auto& command) { return std::any_of(command.begin(), command.end(), names); }));
    }
  }
}

// A target that needs nothing but a shell.
TEST_CASE("building: commands in order, failures, and limits of the device and of the compiler", "[null]") {
  OfflineTarget t{"shell", "", "portable", {{"sh", {"no-such-shell", "sh"}, ""}, {"x", {"no-such-program"}, "get x"}},
                  {},      {}};
  OfflineTools tools = findTools(t);
  REQUIRE(tools.missing.size() == 1);
  CHECK(tools.missing[0].install == "get x");
  CHECK(tools.found.at("sh").back() == 'h');
  t.commands = {{"{sh}", "-c", "cp {source} first; echo one"}, {"{sh}", "-c", "cp first sub.s; echo two >&2"}};
  t.parse = [](const std::string& output, const std::string& assembly) {
    KernelStatistics s;
    s.warnings = {output, assembly};
    s.mostItems = 64;
    return s;
  };
  const runtime::DeviceInfo device = runtime::readProfile("portable");
  const KernelReport good = buildOffline(t, tools, textOf("k", "text"), device);
  CHECK((good.built && good.fits));
  CHECK(good.statistics.warnings == std::vector<std::string>{"one\ntwo\n", "text"});

  const KernelReport large = buildOffline(t, tools, textOf("k", "text", 128), device);
  CHECK((large.built && !large.fits));
  CHECK(large.error == "it allows groups of 64 work-items, the kernel has 128");
  t.parse = [](const std::string&, const std::string&) { return KernelStatistics(); };
  CHECK(buildOffline(t, tools, textOf("k", "text", 128), device).error.find("the device allows 64") !=
        std::string::npos);
  t.commands.push_back({"{sh}", "-c", "echo bad; exit 3"});
  const KernelReport failed = buildOffline(t, tools, textOf("k", "text"), device);
  CHECK_FALSE(failed.built);
  CHECK(failed.error == "sh: exit status 3\nbad\n");
}

TEST_CASE("compilers that are found build a kernel, and refuse what is no kernel", "[null]") {
  for (const OfflineTarget& t : offlineTargets()) {
    const OfflineTools tools = findTools(t);
    if (!tools.missing.empty()) {
      std::cout << t.name << ": not found: " << tools.missing[0].name << ", so not tested\n";
      continue;
    }
    INFO(t.name);
    const runtime::DeviceInfo device = runtime::readProfile(t.profile);
    const KernelReport r = buildOffline(t, tools, textOf("scale", scale), device);
    INFO(r.error);
    CHECK(r.fits);
    CHECK(r.statistics.warnings.empty());
    if (t.name != "spirv") {
      REQUIRE(r.statistics.instructions);
      CHECK(*r.statistics.instructions > 3);
      CHECK(r.statistics.spills == 0);
    }
    CHECK_FALSE(buildOffline(t, tools, textOf("scale", "__kernel void scale() { x }"), device).built);
  }
}
