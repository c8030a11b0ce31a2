// Several kernels' sources as one program.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "cl_program.hpp"

namespace lift::runtime {
namespace {

std::vector<std::string> captures(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it)
    found.push_back((*it)[1].str());
  return found;
}

// Functions and tables beside the kernels.
std::vector<std::string> helpersOf(const std::string& source) {
  static const std::regex function(R"(\bstatic\s+(?:inline\s+)?[A-Za-z_]\w*\s+([A-Za-z_]\w*)\s*\()");
  static const std::regex table(R"(\b__constant\s+[A-Za-z_]\w*\s+([A-Za-z_]\w*)\s*\[)");
  std::vector<std::string> helpers = captures(source, function);
  for (std::string& name : captures(source, table)) helpers.push_back(std::move(name));
  return helpers;
}

std::vector<std::string> functionsOf(const std::string& source) {
  static const std::regex pattern(R"(\bvoid\s+([A-Za-z_]\w*)\s*\()");
  return captures(source, pattern);
}

}  // namespace

std::string kernelNameIn(const std::string& source, const std::string& wanted) {
  const std::vector<std::string> functions = functionsOf(source);
  if (functions.empty() || std::ranges::find(functions, wanted) != functions.end()) return wanted;
  return functions.front();
}

std::vector<ProgramGroup> groupSources(const std::vector<SourceUnit>& units) {
  std::vector<ProgramGroup> groups;
  std::vector<std::map<std::string, std::string>> names;  // by group: kernel name to its source
  for (std::size_t u = 0; u < units.size(); u++) {
    std::size_t g = 0;
    for (; g < groups.size(); g++) {
      const auto found = names[g].find(units[u].name);
      if (found == names[g].end() || found->second == units[u].source) break;
    }
    if (g == groups.size()) {
      groups.emplace_back();
      names.emplace_back();
    }
    std::vector<std::string>& sources = groups[g].sources;
    if (std::ranges::find(sources, units[u].source) == sources.end()) sources.push_back(units[u].source);
    names[g].emplace(units[u].name, units[u].source);
    groups[g].units.push_back(u);
  }
  return groups;
}

std::string concatenate(const std::vector<std::string>& sources) {
  std::string out;
  std::set<std::string> defined, taken;  // names that are taken somewhere
  for (const std::string& source : sources)
    for (std::string& helper : helpersOf(source)) taken.insert(std::move(helper));
  for (std::size_t i = 0; i < sources.size(); i++) {
    std::string undo;
    for (const std::string& helper : helpersOf(sources[i])) {
      if (defined.insert(helper).second) continue;
      std::string own = fmt::format("{}_{}", helper, i);
      while (!taken.insert(own).second) own += '_';
      out += fmt::format("#define {} {}\n", helper, own);
      undo += fmt::format("#undef {}\n", helper);
    }
    out += sources[i];
    if (!out.empty() && out.back() != '\n') out += '\n';
    out += undo;
  }
  return out;
}

}  // namespace lift::runtime
