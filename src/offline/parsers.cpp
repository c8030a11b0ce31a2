#include "parsers.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

namespace lift::detail {
namespace {

using Found = std::optional<std::int64_t>;

// The number of the pattern's only group, in the last place where it matches: compilers print a kernel's variants one
// after the other, the one that is launched last.
Found lastNumber(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  Found found;
  for (std::sregex_iterator it(text.begin(), text.end(), expression), end; it != end; ++it)
    found = std::stoll((*it)[1].str());
  return found;
}

template <class Visit>
void forEachLine(const std::string& text, const Visit& visit) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) visit(line);
}

// Lines of the assembly that match, and those of them that read memory.
void count(KernelStatistics& s, const std::string& assembly, const char* instruction, const char* load) {
  if (assembly.empty()) return;
  const std::regex isInstruction(instruction), isLoad(load);
  s.instructions = s.loads = 0;
  forEachLine(assembly, [&](const std::string& line) {
    if (!std::regex_search(line, isInstruction)) return;
    ++*s.instructions;
    if (std::regex_search(line, isLoad)) ++*s.loads;
  });
}

std::vector<std::string> warningsOf(const std::string& output) {
  std::vector<std::string> warnings;
  forEachLine(output, [&](const std::string& line) {
    if (const auto at = line.find("warning: "); at != std::string::npos) warnings.push_back(line.substr(at));
  });
  return warnings;
}

}  // namespace

KernelStatistics parseClang(const std::string& output, const std::string&) {
  KernelStatistics s;
  s.warnings = warningsOf(output);
  return s;
}

KernelStatistics parseAmd(const std::string& output, const std::string& assembly) {
  KernelStatistics s;
  count(s, assembly, R"(^\s+[svdgbf][a-z]*_[a-z0-9_]+\s)", R"(^\s+(global|flat|buffer|scratch|s)_load|^\s+ds_read)");
  s.registers = lastNumber(output, R"(remark:\s+VGPRs: (\d+))");
  s.spills = lastNumber(output, R"(remark:\s+VGPRs Spill: (\d+))");
  s.scratchBytes = lastNumber(output, R"(remark:\s+ScratchSize \[bytes/lane\]: (\d+))");
  s.localBytes = lastNumber(output, R"(remark:\s+LDS Size \[bytes/block\]: (\d+))");
  s.occupancy = lastNumber(output, R"(remark:\s+Occupancy \[waves/SIMD\]: (\d+))");
  return s;
}

KernelStatistics parsePtxas(const std::string& output, const std::string& assembly) {
  KernelStatistics s;
  count(s, assembly, R"(^\s+(@!?%\w+\s+)?[a-z][a-z0-9_.:]*\s.*;)", R"(^\s+(@!?%\w+\s+)?ld\.(global|shared|local))");
  s.registers = lastNumber(output, R"(Used (\d+) registers)");
  s.scratchBytes = lastNumber(output, R"((\d+) bytes stack frame)");
  s.localBytes = lastNumber(output, R"((\d+) bytes smem)");
  if (s.registers && !s.localBytes) s.localBytes = 0;  // which it does not print
  if (const Found bytes = lastNumber(output, R"((\d+) bytes spill stores)")) s.spills = *bytes / 4;
  // Registers of a multiprocessor, in warps of 32, in units of 256.
  if (s.registers)
    s.occupancy = std::min<std::int64_t>(64, 65536 / ((std::max<std::int64_t>(*s.registers, 1) + 7) / 8 * 256));
  return s;
}

KernelStatistics parseIntel(const std::string& output, const std::string& assembly) {
  KernelStatistics s;
  count(s, assembly, R"(^(\([^)]*\))?\s+[a-z][a-z0-9.]*\s*(\([^)]*\)\s*)?\(\d+\|M\d+\))", R"(\bsends?c?\.?\w*\s*\()");
  s.loads.reset();  // its messages read and write
  s.spills = 0;     // it tells only of what it spills
  if (const Found spilled = lastNumber(output, R"(spilled around (\d+))")) s.spills = spilled;
  s.registers = lastNumber(output, R"(allocated (\d+) regs)");
  for (const std::string& w : warningsOf(output))
    if (w.find("spilled around") == std::string::npos) s.warnings.push_back(w);
  return s;
}

KernelStatistics parsePanfrost(const std::string& output, const std::string&) {
  KernelStatistics s;
  const std::regex wanted(R"(SHADER-DB: MESA_SHADER_(KERNEL|COMPUTE) shader: (.*))"), number(R"(([\d.]+) (\w+))");
  std::string line;
  for (std::sregex_iterator it(output.begin(), output.end(), wanted), end; it != end; ++it) line = (*it)[2];
  for (std::sregex_iterator it(line.begin(), line.end(), number), end; it != end; ++it) {
    const std::string value = (*it)[1], name = (*it)[2];
    if (name == "inst") s.instructions = std::stoll(value);
    if (name == "threads") s.occupancy = std::stoll(value);
    if (value.find('.') != std::string::npos && name != "cycles") s.cycles.emplace_back(name, std::stod(value));
  }
  if (const Found stores = lastNumber(line, R"((\d+):\d+ spills)"))
    s.spills = *stores + lastNumber(line, R"(\d+:(\d+) spills)").value_or(0);
  s.mostItems = lastNumber(output, R"(largest group (\d+))");
  return s;
}

KernelStatistics parseFreedreno(const std::string& output, const std::string&) {
  KernelStatistics s;
  s.instructions = lastNumber(output, R"(CL prog [^:]*: (\d+) instr)");
  if (const Found full = lastNumber(output, R"(CL prog [^:]*:.* (\d+) full)")) s.registers = *full * 4;  // of four
  // Category 6 is memory; of the other seven we say nothing.
  s.loads = lastNumber(output, R"((\d+) cat6)");
  s.spills = 0;
  const std::regex spill(R"(\b(stp|ldp)\.)");  // private memory, where spilled registers go, too
  forEachLine(output, [&](const std::string& line) { *s.spills += std::regex_search(line, spill) ? 1 : 0; });
  s.mostItems = lastNumber(output, R"(largest group (\d+))");
  return s;
}

}  // namespace lift::detail
