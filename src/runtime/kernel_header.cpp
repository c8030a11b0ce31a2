#include "lift/kernel_header.hpp"

#include <fmt/format.h>

#include <optional>
#include <regex>

#include "lift/diagnostic.hpp"
#include "lift/digest.hpp"

namespace lift::runtime {
namespace {

// The second line of a header; the first is a comment that begins with "liftc".
const std::regex& secondLine() {
  static const std::regex pattern(R"(// kernel (\w+), sha256 ([0-9a-f]{64}), by (.+))");
  return pattern;
}

constexpr std::string_view comment = "// ";

std::string_view takeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::optional<KernelHeader> headerFrom(std::string_view first, std::string_view second) {
  if (first.substr(0, 9) != "// liftc ") return std::nullopt;
  std::match_results<std::string_view::const_iterator> parts;
  if (!std::regex_match(second.begin(), second.end(), parts, secondLine())) return std::nullopt;
  return KernelHeader{std::string(first.substr(comment.size())), parts[1], parts[2], parts[3]};
}

}  // namespace

std::string KernelHeader::str() const {
  return fmt::format("// {}\n// kernel {}, sha256 {}, by {}\n", command, kernel, digest, generator);
}

std::string kernelDigest(std::string_view source) { return hex(sha256(source)); }

kernel::Plan withHeaders(kernel::Plan plan, const std::string& command, const std::string& generator) {
  ensure(plan.sources.size() == plan.kernels.size(), "headers for kernels that have not been printed");
  for (std::size_t k = 0; k < plan.kernels.size(); k++) {
    std::string& source = plan.sources[k];
    source = KernelHeader{command, plan.kernels[k].name, kernelDigest(source), generator}.str() + source;
  }
  return plan;
}

std::vector<HeadedKernel> readHeaders(std::string_view text) {
  std::vector<HeadedKernel> kernels;
  while (!text.empty()) {
    const std::string_view before = text, first = takeLine(text);
    std::string_view after = text;
    if (auto header = headerFrom(first, takeLine(after))) {
      kernels.push_back({std::move(*header), {}});
      text = after;
    } else if (!kernels.empty()) {
      kernels.back().source += before.substr(0, before.size() - text.size());
    }
  }
  return kernels;
}

}  // namespace lift::runtime
