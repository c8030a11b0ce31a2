// run_case FILE.test ROOT BIN DIR: runs one command-line test (see harness/case.hpp). With UPDATE=1 in the environment
// the file's expectations are rewritten to what the commands print now.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "harness/case.hpp"

int main(int argc, char** argv) try {
  if (argc != 5) throw lift::test::CaseError("usage: run_case FILE.test ROOT BIN DIR");
  const std::filesystem::path file = argv[1];
  std::ifstream in(file, std::ios::binary);
  if (!in) throw lift::test::CaseError("cannot read " + file.string());
  const std::string text{std::istreambuf_iterator<char>(in), {}};

  lift::test::Case testCase = lift::test::parseCase(file.stem().string(), text);
  if (lift::test::isLacking(testCase, argv[3])) {
    std::puts("skipped: the OpenCL device is no processor");
    return 77;
  }
  const char* update = std::getenv("UPDATE");
  const bool rewrite = update && std::string(update) == "1";
  const std::string report = lift::test::runCase(testCase, argv[2], argv[3], argv[4], rewrite);
  if (rewrite && lift::test::printCase(testCase) != text) {
    std::ofstream(file, std::ios::binary) << lift::test::printCase(testCase);
    std::printf("rewrote %s\n", file.c_str());
  }
  std::fputs(report.c_str(), stdout);
  return report.empty() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
