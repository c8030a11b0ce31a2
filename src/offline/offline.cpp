#include "lift/offline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/process.hpp"

namespace lift {
namespace {

namespace fs = std::filesystem;

constexpr double mostSeconds = 60;  // of a compiler, for a kernel

std::optional<std::string> find(const OfflineNeed& need) {
  for (const std::string& candidate : need.candidates) {
    if (const auto program = findProgram(candidate)) return program->string();
    std::error_code error;
    if (candidate.front() == '/' && fs::exists(candidate, error)) return candidate;
  }
  return std::nullopt;
}

std::vector<std::string> filledIn(const std::vector<std::string>& command,
                                  const std::map<std::string, std::string>& values) {
  std::vector<std::string> words = command;
  for (std::string& word : words)
    for (const auto& [name, value] : values) {
      const std::string place = "{" + name + "}";
      if (const auto at = word.find(place); at != std::string::npos) word.replace(at, place.size(), value);
    }
  return words;
}

std::string assemblyIn(const fs::path& folder) {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".s" || extension == ".asm" || extension == ".ptx") text += readFile(entry.path()).value_or("");
  }
  return text;
}

// Of long outputs the end, where compilers say what is wrong.
std::string lastLines(const std::string& text, int most) {
  auto at = text.size();
  for (int lines = 0; at > 0 && lines <= most; at--) lines += text[at - 1] == '\n' ? 1 : 0;
  return at == 0 ? text : "…\n" + text.substr(std::min(text.size(), at + 2));
}

// What is beyond the device in what the compiler says; empty where nothing is.
std::string excess(const KernelStatistics& s, const KernelText& k, const runtime::DeviceInfo& device) {
  if (s.mostItems && *s.mostItems < k.needs.items())
    return fmt::format("it allows groups of {} work-items, the kernel has {}", *s.mostItems, k.needs.items());
  if (s.localBytes && device.localMemory > 0 && static_cast<std::uint64_t>(*s.localBytes) > device.localMemory)
    return fmt::format("it takes {} bytes of local memory, the device has {}", *s.localBytes, device.localMemory);
  return {};
}

}  // namespace

std::vector<KernelText> kernelsOf(const kernel::Plan& plan) {
  std::vector<KernelText> kernels;
  for (std::size_t k = 0; k < plan.kernels.size(); k++)
    kernels.push_back({runtime::needsOf(plan.kernels[k]), plan.sources.at(k)});
  return kernels;
}

OfflineTools findTools(const OfflineTarget& target) {
  OfflineTools tools;
  for (const OfflineNeed& need : target.needs) {
    if (const auto found = find(need))
      tools.found.emplace(need.name, *found);
    else
      tools.missing.push_back(need);
  }
  return tools;
}

KernelReport buildOffline(const OfflineTarget& target, const OfflineTools& tools, const KernelText& kernel,
                          const runtime::DeviceInfo& device) {
  KernelReport report;
  report.kernel = kernel.needs.kernel;
  const TemporaryFolder work;
  const fs::path source = work.path() / "kernel.cl";
  std::ofstream(source, std::ios::binary) << kernel.source;
  std::map<std::string, std::string> values = tools.found;
  values["source"] = source.string();
  std::string output;
  for (const auto& command : target.commands) {
    const std::vector<std::string> words = filledIn(command, values);
    const Finished f = runProgram(words, work.path(), mostSeconds, Limit::processor);  // on a busy machine, too
    output += f.output;
    if (f.ok()) continue;
    report.error = fmt::format("{}: {}\n{}", fs::path(words[0]).filename().string(), f.end, lastLines(f.output, 20));
    return report;
  }
  report.built = true;
  report.statistics = target.parse(output, assemblyIn(work.path()));
  report.error = excess(report.statistics, kernel, device);
  if (report.error.empty()) {
    try {
      runtime::checkNeeds(device, kernel.needs);
    } catch (const UserError& e) {
      report.error = e.diagnostics().at(0).message;
    }
  }
  report.fits = report.error.empty();
  return report;
}

}  // namespace lift
