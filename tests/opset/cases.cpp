#include "cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>

namespace lift::opsets {

namespace {

std::string drawnConvolution(bool transposed, std::mt19937_64& random) {
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1));
  };
  const auto rank = static_cast<std::size_t>(draw(1, 3));
  const std::int64_t groups = draw(0, 2) == 0 ? draw(2, 3) : 1;
  std::string text = fmt::format("g{}mb{}ic{}oc{}", groups, draw(1, 2), groups * draw(1, 4), groups * draw(1, 5));
  const std::string letters = "dhw";
  for (std::size_t i = 3 - rank; i < 3; i++) {
    const std::int64_t kernel = draw(1, 4), stride = draw(1, 3), dilation = draw(0, 3) == 0 ? draw(1, 2) : 0;
    const std::int64_t extent = (kernel - 1) * (dilation + 1) + 1, pad = draw(0, extent - 1);
    // Wide enough for a window, or for an output that the padding leaves something of.
    const std::int64_t in =
        transposed ? std::max(draw(1, 6), (2 * pad - extent) / stride + 2) : std::max(draw(1, 8), extent - 2 * pad);
    text += fmt::format("i{0}{1}k{0}{2}s{0}{3}d{0}{4}p{0}{5}", letters[i], in, kernel, stride, dilation, pad);
    const std::int64_t full = (in - 1) * stride + extent - 2 * pad;
    if (transposed && stride > 1 && draw(0, 1) == 0)
      text += fmt::format("o{}{}", letters[i], full + draw(0, stride - 1));
  }
  return text;
}

std::int64_t numberOf(const std::map<std::string, std::int64_t>& fields, const std::string& key) {
  const auto found = fields.find(key);
  return found == fields.end() ? 1 : found->second;
}

std::string madeSmall(const std::string& op, const std::string& descriptor) {
  static const std::regex field("([a-z]+)([0-9]+)");
  static const std::map<std::string, std::int64_t> most = {{"m", 21}, {"n", 19}, {"i", 9}, {"j", 10},
                                                           {"l", 11}, {"h", 9},  {"w", 9}, {"ih", 7},
                                                           {"id", 3}, {"p", 3},  {"q", 2}, {"c", 19}};
  std::map<std::string, std::int64_t> fields;
  const std::string numbers = descriptor.substr(0, descriptor.find("n\""));
  for (std::sregex_iterator it(numbers.begin(), numbers.end(), field), end; it != end; ++it)
    fields[(*it)[1]] = std::stoll((*it)[2]);
  const std::int64_t groups = numberOf(fields, "g");
  for (auto& [key, value] : fields) {
    if (key == "ic" || key == "oc")
      value = std::min<std::int64_t>(groups, 3) * std::min<std::int64_t>(value / groups, 4);
    if (key == "g") value = std::min<std::int64_t>(value, 3);
    if (key == "iw") value = std::min<std::int64_t>(value, 13);
    if (key == "k" && op != "shift") value = std::min<std::int64_t>(value, 23);
    if (const auto limit = most.find(key); limit != most.end()) value = std::min(value, limit->second);
  }
  std::string text;
  for (const auto& [key, value] : fields) text += key + std::to_string(value);
  return text;
}

}  // namespace

Case drawn(const std::string& op, std::mt19937_64& random) {
  const auto draw = [&](int to) { return 1 + static_cast<int>(random() % static_cast<std::uint64_t>(to)); };
  if (op == "gemv") return {op, fmt::format("m{}k{}", draw(70), draw(70))};
  if (op == "gemm") return {op, fmt::format("b{}m{}n{}k{}", draw(3), draw(40), draw(40), draw(20))};
  if (op == "bilinear") return {op, fmt::format("i{}j{}k{}l{}", draw(12), draw(9), draw(9), draw(9))};
  if (op == "bcm") return {op, fmt::format("n{}p{}q{}b{}", draw(12), draw(4), draw(4), draw(9))};
  if (op == "shift") {
    const int k = draw(4), d = draw(2) - 1, p = draw(3) - 1, least = (k - 1) * (d + 1) + 1 - 2 * p;
    return {op, fmt::format("mb{}c{}h{}w{}k{}s{}p{}d{}", draw(2), draw(20), std::max(draw(9), least),
                            std::max(draw(9), least), k, draw(3), p, d)};
  }
  return {op, drawnConvolution(op == "deconv", random)};
}

const std::vector<std::pair<std::string, int>>& lists() {
  static const std::vector<std::pair<std::string, int>> all = {
      {"GMV", 6}, {"GMM", 7}, {"BIL", 5},  {"C1D", 7}, {"T1D", 7},  {"C2D", 15}, {"T2D", 15},
      {"C3D", 8}, {"T3D", 8}, {"GRP", 14}, {"DEP", 7}, {"DIL", 11}, {"BCM", 5},  {"SHO", 4}};
  return all;
}

std::vector<Case> listed(const std::string& list, bool small) {
  std::ifstream in(std::filesystem::path(LIFT_SOURCE_DIR) / "shapes/flextensor" / (list + ".txt"));
  REQUIRE(in);
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto blank = line.find(' ');
    Case c = blank == std::string::npos ? Case{"conv", line} : Case{line.substr(0, blank), line.substr(blank + 1)};
    if (small) c.descriptor = madeSmall(c.op, c.descriptor);
    cases.push_back(std::move(c));
  }
  return cases;
}

Judged judge(const Workload& workload, const std::string& family, runtime::Device& device) {
  const Variant v = derive(workload, family);
  const auto inputs = workload.makeInputs(3);
  const auto executable = device.load(compileVariant(v, v.defaults));
  return {largestError(executable->run(inputs).outputs, workload.expected(inputs)), v.toleranceAt(v.defaults)};
}

}  // namespace lift::opsets
