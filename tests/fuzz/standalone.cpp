// Runs a fuzz target without libFuzzer: FUZZER MUTATIONS SEED CORPUS… replays every file of the corpus folders, then
// random mutations of them. Bounded, reproducible, with any compiler; the long runs are libFuzzer's (run.sh).
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <vector>

#include "fuzz/target.hpp"

namespace {

std::vector<std::string> corpusIn(int argc, char** argv) {
  std::vector<std::filesystem::path> paths;
  for (int i = 3; i < argc; i++)
    for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
      if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    corpus.push_back(text.str());
  }
  return corpus;
}

class Mutator {
 public:
  Mutator(const std::vector<std::string>& corpus, std::uint64_t seed) : corpus_(corpus), random_(seed) {}

  std::string next() {
    std::string s = any();
    for (std::size_t n = pick(8) + 1; n > 0; n--) mutate(s);
    return s;
  }

 private:
  std::size_t pick(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }
  const std::string& any() { return corpus_[pick(corpus_.size())]; }

  void mutate(std::string& s) {
    static constexpr char interesting[] = {0, 1, -1, 127, -128, '0', '9', '(', '[', '\n', '"'};
    const std::size_t at = pick(s.size() + 1), length = std::min(pick(16) + 1, s.size() - at);
    switch (pick(6)) {
      case 0:
        if (at < s.size()) s[at] = static_cast<char>(s[at] ^ (1 << pick(8)));
        return;
      case 1:
        if (at < s.size()) s[at] = interesting[pick(sizeof interesting)];
        return;
      case 2: s.erase(at, length); return;
      case 3: s.insert(at, s.substr(at, length)); return;
      case 4: s.insert(s.begin() + static_cast<std::ptrdiff_t>(at), interesting[pick(sizeof interesting)]); return;
      default: {  // the end of another one
        const std::string& other = any();
        s = s.substr(0, at) + other.substr(pick(other.size() + 1));
      }
    }
  }

  const std::vector<std::string>& corpus_;
  std::mt19937_64 random_;
};

void run(const std::string& input, const std::string& what) {
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  } catch (const std::exception& e) {
    std::ofstream("finding", std::ios::binary) << input;
    std::cerr << what << ": " << e.what() << "\nthe input is in the file `finding`\n";
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: " << argv[0] << " MUTATIONS SEED CORPUS...\n";
    return 2;
  }
  const std::vector<std::string> corpus = corpusIn(argc, argv);
  if (corpus.empty()) {
    std::cerr << "the corpus is empty\n";
    return 1;
  }
  for (const std::string& input : corpus) run(input, "corpus");
  const long count = std::atol(argv[1]);
  const auto seed = static_cast<std::uint64_t>(std::atoll(argv[2]));
  Mutator mutator(corpus, seed);
  for (long i = 0; i < count; i++) run(mutator.next(), "mutation " + std::to_string(i) + " of seed " + argv[2]);
  std::cout << corpus.size() << " files of the corpus, " << count << " mutations of seed " << seed << "\n";
  return 0;
}
