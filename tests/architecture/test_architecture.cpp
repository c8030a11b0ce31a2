// The arrows between the modules, and a few habits, held by reading the sources.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

// The table: every folder of src/, the modules it stands on (and so, on all that those stand on), and its headers in
// include/lift. What is not here does not exist.
struct Module {
  Names needs;
  Names headers;
};
const std::map<std::string, Module> modules = {
    {"support",
     {{},
      {"source", "diagnostic", "scalar", "ops", "parallel", "rational", "integers", "characters", "stopwatch",
       "process", "files", "listed", "free_memory", "image_layout", "interning", "node", "compile_target"}}},
    {"nat", {{"support"}, {"nat", "nat_code"}}},
    {"tensor", {{"support"}, {"tensor"}}},
    {"kernel", {{"nat"}, {"kernel", "kernel_passes", "kernel_walk", "plan_memory", "vector_access", "emulator"}}},
    {"ir",
     {{"nat", "tensor"},
      {"type", "expr", "build", "terms", "canonical", "primitive", "syntax", "interpreter", "inputs", "exact"}}},
    {"text", {{"ir"}, {"text", "dsl"}}},
    {"rewrite",
     {{"text"},
      {"rewrite", "rewrite_check", "cook_toom", "strategies", "accumulation", "epilogue", "affine", "arranged",
       "transposition"}}},
    {"constraints", {{"ir"}, {"space"}}},
    {"reduce", {{"text", "constraints"}, {"reduce"}}},
    {"views", {{"ir"}, {"views"}}},
    {"mapping", {{"rewrite", "kernel"}, {"mapping"}}},
    {"codegen", {{"views", "mapping"}, {"codegen", "host_code"}}},
    {"runtime", {{"kernel", "tensor"}, {"device", "digest", "kernel_header", "vector_registers"}}},
    {"offline", {{"runtime"}, {"offline"}}},
    {"tune", {{"constraints", "codegen", "runtime"}, {"tune_db", "explorer", "experience", "tune", "tune_report"}}},
    {"explore", {{"rewrite", "codegen", "runtime"}, {"explore"}}},
    {"operators", {{"text", "rewrite", "tune"}, {"operator", "parts", "staged_blocks"}}},
    {"conv", {{"operators"}, {"conv", "conv_program", "conv_operator"}}},
    {"bounds", {{"conv"}, {"bounds"}}},
    {"predict", {{"bounds", "offline"}, {"predict"}}},
    {"opset", {{"conv"}, {"opset"}}},
    {"bench", {{"opset"}, {"bench"}}},
};
// The tools, what they are as a library, and the header lift.hpp may use every module.
constexpr const char* top = "tools";
const Names topHeaders = {"lift", "command_line"};
// Libraries that one module wraps for all others, by the folder of their headers.
const std::map<std::string, std::string> wrapped = {{"CL", "runtime"}};

// The module and all that it stands on.
Names reach(const std::string& module) {
  Names all;
  const std::function<void(const std::string&)> add = [&](const std::string& name) {
    if (!all.insert(name).second) return;
    for (const std::string& need : modules.at(name).needs) add(need);
  };
  if (module != top) {
    add(module);
  } else {
    for (const auto& [name, row] : modules) add(name);
  }
  return all;
}

// The module that a public header belongs to; empty for an unknown one.
std::string ownerOf(const std::string& header) {
  if (topHeaders.count(header)) return top;
  for (const auto& [name, row] : modules)
    if (row.headers.count(header)) return name;
  return {};
}

// What is wrong with the includes of a file of that module; `siblings` are the files it may include by bare name.
std::vector<std::string> wrongIncludes(const std::string& module, const std::string& text, const Names& siblings) {
  std::vector<std::string> wrong;
  const Names allowed = reach(module);
  const std::regex include(R"re((^|\n)\s*#\s*include\s*(["<])([^">]+)[">])re");
  for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
    const bool quotes = (*it)[2] == "\"";
    const fs::path path = (*it)[3].str();
    const std::string folder = path.begin()->string();
    if (folder == "lift") {
      const std::string owner = path.parent_path() == "lift" ? ownerOf(path.stem().string()) : std::string();
      if (owner.empty())
        wrong.push_back("includes the unknown header " + path.string());
      else if (module != owner && !allowed.count(owner))
        wrong.push_back("may not include " + path.string() + " of " + owner);
    } else if (quotes && !siblings.count(path.string())) {
      wrong.push_back("includes " + path.string() + ", which is not beside it");
    } else if (!quotes && wrapped.count(folder) && wrapped.at(folder) != module) {
      wrong.push_back("includes " + path.string() + ", which only " + wrapped.at(folder) + " may");
    }
  }
  return wrong;
}

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  INFO(path.string());
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

const fs::path root = LIFT_SOURCE_DIR;

std::vector<fs::path> entries(const fs::path& folder, bool folders) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() == folders) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

bool isCode(const fs::path& path) {
  const std::string name = path.filename().string();
  return std::regex_search(name, std::regex(R"(\.(cpp|hpp|h|def|in)$)"));
}

void checkFolder(const std::string& module, const fs::path& folder, Names siblings = {}) {
  for (const fs::path& file : entries(folder, false)) siblings.insert(file.filename().string());
  for (const fs::path& file : entries(folder, false)) {
    if (!isCode(file)) continue;
    INFO(file.lexically_relative(root).string());
    CHECK(wrongIncludes(module, slurp(file), siblings) == std::vector<std::string>());
  }
}

}  // namespace

TEST_CASE("folders of src include only what stands below them") {
  for (const fs::path& folder : entries(root / "src", true)) {
    const std::string name = folder.filename().string();
    INFO("src/" << name << " and the table");
    REQUIRE(modules.count(name) == 1);
    CHECK(entries(folder, true).empty());
    checkFolder(name, folder);
  }
  CHECK(entries(root / "src", true).size() == modules.size());
}

TEST_CASE("tools include only public headers, what is beside them, and cli.hpp in place of CLI11") {
  for (const fs::path& folder : entries(root / "tools", true)) {
    checkFolder(top, folder, {"cli/cli.hpp"});
    for (const fs::path& file : entries(folder, false)) {
      INFO(file.lexically_relative(root).string());
      CHECK((folder.filename() == "cli" || slurp(file).find("<CLI/") == std::string::npos));
    }
  }
}

TEST_CASE("public headers include only what stands below them") {
  Names present;
  for (const fs::path& header : entries(root / "include/lift", false)) {
    const std::string name = header.stem().string();
    INFO("include/lift/" << header.filename().string());
    REQUIRE(header.extension() == ".hpp");
    REQUIRE_FALSE(ownerOf(name).empty());
    CHECK(wrongIncludes(ownerOf(name), slurp(header), {}) == std::vector<std::string>());
    present.insert(name);
  }
  for (const auto& [module, row] : modules) {
    for (const std::string& header : row.headers) {
      INFO("the table names include/lift/" << header << ".hpp");
      CHECK(present.count(header) == 1);
    }
  }
}

TEST_CASE("the umbrella header includes every public header") {
  const std::string text = slurp(root / "include/lift/lift.hpp");
  for (const auto& [module, row] : modules) {
    for (const std::string& header : row.headers) {
      INFO(header);
      CHECK(text.find("#include \"lift/" + header + ".hpp\"") != std::string::npos);
    }
  }
}

TEST_CASE("the build links the modules by the same arrows") {
  const std::string text = slurp(root / "CMakeLists.txt");
  const std::regex call(R"((?:^|\n)lift_module\((\w+)(?:\s+DEPENDS((?:\s+[a-z_]+)+))?)");
  std::map<std::string, Names> built;
  for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
    Names& all = built[(*it)[1]];
    std::istringstream needs((*it)[2]);
    for (std::string need; needs >> need;) {
      INFO((*it)[1] << " before " << need);
      REQUIRE(built.count(need) == 1);
      all.insert(need);
      all.insert(built[need].begin(), built[need].end());
    }
  }
  CHECK(built.size() == modules.size());
  for (const auto& [name, needs] : built) {
    INFO(name);
    REQUIRE(modules.count(name) == 1);
    Names expected = reach(name);
    expected.erase(name);
    CHECK(needs == expected);
  }
}

TEST_CASE("the README tells the arrows and quotes files as they are") {
  const std::string text = slurp(root / "README.md");
  std::map<std::string, Names> told;
  const std::regex row(R"(\n\| \[src/(\w+)\]\(src/\w+\) \|[^|\n]*\|([^|\n]*)\|)");
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) {
    Names& needs = told[(*it)[1]];
    std::istringstream words(std::regex_replace((*it)[2].str(), std::regex(","), " "));
    for (std::string need; words >> need;) needs.insert(need);
  }
  CHECK(told.size() == modules.size());
  for (const auto& [name, needs] : told) {
    INFO(name);
    REQUIRE(modules.count(name) == 1);
    CHECK(needs == modules.at(name).needs);
  }

  const std::regex quote("\n<!-- (\\S+) -->\n```\\w*\n([^`]*)```");
  int quotes = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), quote), end; it != end; ++it, ++quotes) {
    INFO((*it)[1]);
    CHECK(slurp(root / (*it)[1].str()).find((*it)[2]) != std::string::npos);
  }
  CHECK(quotes == 1);
}

TEST_CASE("wrong includes are found") {
  const auto wrong = [](const std::string& module, const std::string& text) {
    return wrongIncludes(module, text, {"own.hpp"}).size();
  };
  CHECK(wrong("codegen", "#include <vector>\n#include \"lift/expr.hpp\"\n#include \"own.hpp\"\n") == 0);
  CHECK(wrong("runtime", "#include \"lift/kernel.hpp\"\n#include \"lift/nat.hpp\"\n#include <CL/cl.h>\n") == 0);
  CHECK(wrong("tools", "#include \"lift/lift.hpp\"\n#include \"lift/device.hpp\"\n") == 0);
  for (const char* header : {"expr", "text", "views", "codegen", "conv", "lift"})
    CHECK(wrong("runtime", "#include \"lift/" + std::string(header) + ".hpp\"\n") == 1);
  CHECK(wrong("kernel", "  #  include <lift/expr.hpp>") == 1);
  CHECK(wrong("text", "#include \"lift/views.hpp\"\n") == 1);
  CHECK(wrong("ir", "#include \"lift/new.hpp\"\n#include \"lift/detail/nat.hpp\"\n") == 2);
  CHECK(wrong("ir", "#include \"../nat/node.hpp\"\n#include \"nat/node.hpp\"\n#include \"node.hpp\"\n") == 3);
  CHECK(wrong("conv", "#include <CL/opencl.hpp>\n") == 1);
}

TEST_CASE("docs/architecture.md has a paragraph on every module") {
  const std::string text = slurp(root / "docs/architecture.md");
  for (const auto& [name, row] : modules) {
    INFO(name);
    CHECK(text.find("** (`" + name + "`). ") != std::string::npos);
  }
}

TEST_CASE("every module explains itself on a screen") {
  for (const fs::path& folder : entries(root / "src", true)) {
    const fs::path readme = folder / "README.md";
    INFO(readme.lexically_relative(root).string());
    CHECK(fs::exists(readme));
    if (!fs::exists(readme)) continue;
    const std::string text = slurp(readme);
    CHECK(std::count(text.begin(), text.end(), '\n') <= 60);
    CHECK(std::regex_search(text, std::regex("(^|\n)```[^`]*\n```")));
  }
}

TEST_CASE("the files that an extension touches are those that docs/extending.md lists") {
  const std::string text = slurp(root / "docs/extending.md");
  const std::regex section("\n<!-- example: (.+) -->\n((?:[^#]|\n)*?)(?=\n## |$)"),
      listed("`((?:src|include|tools)/[^` ]+)`");
  int sections = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), section), end; it != end; ++it, ++sections) {
    const std::string example = (*it)[1], body = (*it)[2];
    INFO(example);
    // Of the section, the list; what follows may speak of other files.
    const std::string list = body.substr(0, body.find("\n\n"));
    Names wanted, found;
    for (std::sregex_iterator f(list.begin(), list.end(), listed), none; f != none; ++f) wanted.insert((*f)[1]);
    for (const char* folder : {"src", "include", "tools"})
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        const std::string name = entry.path().lexically_relative(root).string();
        if (!entry.is_regular_file() || !isCode(entry.path()) || fs::path(name).extension() == ".in") continue;
        const std::string code = slurp(entry.path());
        const bool declares = name == "include/lift/primitive.hpp" && example.rfind("Prim::", 0) == 0 &&
                              code.find(" " + example.substr(6) + ",") != std::string::npos;
        if (declares || code.find(example) != std::string::npos) found.insert(name);
      }
    CHECK(!wanted.empty());
    CHECK(wanted == found);
  }
  CHECK(sections == 7);
}

namespace {

// Text without fenced blocks of code.
std::string prose(const fs::path& document) {
  std::istringstream lines(slurp(document));
  std::string text;
  bool inBlock = false;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("```", 0) == 0)
      inBlock = !inBlock;
    else if (!inBlock)
      text += line + "\n";
  return text;
}

// What links call the headings of a document, as hosts of Markdown do: lower case, blanks as hyphens, no punctuation.
Names headingsOf(const fs::path& document) {
  const std::string text = prose(document);
  const std::regex heading(R"((^|\n)#+ ([^\n]*))");
  Names all;
  for (std::sregex_iterator it(text.begin(), text.end(), heading), end; it != end; ++it) {
    std::string name;
    for (const char c : (*it)[2].str())
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || static_cast<unsigned char>(c) >= 0x80)
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      else if (c == ' ')
        name += '-';
    all.insert(name);
  }
  return all;
}

}  // namespace

TEST_CASE("links of documents lead to files and headings that are there") {
  std::vector<fs::path> documents = {root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md"};
  for (const fs::path& file : entries(root / "docs", false)) documents.push_back(file);
  for (const fs::path& folder : entries(root / "src", true)) documents.push_back(folder / "README.md");
  const std::regex link(R"(\]\(([^)#\s]*)(#([^)\s]*))?\))");
  int links = 0;
  for (const fs::path& document : documents) {
    if (document.extension() != ".md") continue;
    const std::string text = prose(document);
    for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
      const std::string path = (*it)[1], heading = (*it)[3];
      if (path.rfind("http", 0) == 0) continue;
      INFO(document.lexically_relative(root).string() << ": " << (*it)[0]);
      const fs::path target = path.empty() ? document : document.parent_path() / path;
      CHECK(fs::exists(target));
      if (!heading.empty() && fs::exists(target)) CHECK(headingsOf(target).count(heading) == 1);
      links++;
    }
  }
  CHECK(links > 100);
}

TEST_CASE("every test file asserts something") {
  const std::regex testCase(R"(\b(TEMPLATE_)?TEST_CASE\w*\()"), assertion(R"(\b(REQUIRE|CHECK)(_[A-Z_]+)?\()");
  int files = 0;
  for (const fs::path& folder : entries(root / "tests", true)) {
    for (const fs::path& file : entries(folder, false)) {
      if (file.extension() != ".cpp") continue;
      const std::string text = slurp(file);
      if (!std::regex_search(text, testCase)) continue;
      INFO(file.lexically_relative(root).string());
      CHECK(std::regex_search(text, assertion));
      ++files;
    }
  }
  CHECK(files > 0);
}
