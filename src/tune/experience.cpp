#include "lift/experience.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cost_model.hpp"
#include "lift/digest.hpp"
#include "trees.hpp"

namespace lift::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr Trees::Options options = {.rounds = 120, .depth = 6, .rate = 0.1, .seed = 1};
constexpr int format = 1;  // of files; a change of features or options is another digest

class Learned : public Experience {
 public:
  Learned(Columns columns, Trees trees) : columns_(std::move(columns)), trees_(std::move(trees)) {}

  std::vector<double> expected(const std::vector<const Draft*>& drafts) const override {
    std::vector<Trees::Row> rows;
    for (const Draft* d : drafts) rows.push_back(columns_.row(*d));
    const std::vector<float> values = trees_(rows);
    return {values.begin(), values.end()};
  }

  const Columns& columns() const { return columns_; }
  const Trees& trees() const { return trees_; }

 private:
  Columns columns_;
  Trees trees_;
};

double logTime(const Lesson& lesson) { return std::log2(std::max(lesson.milliseconds, 1e-9)); }

std::shared_ptr<const Learned> learned(const std::vector<Lesson>& lessons) {
  if (!Trees::available() || lessons.size() < Experience::fewestLessons) return nullptr;
  struct Mean {
    double sum = 0, count = 0;
  };
  std::map<std::string, Mean> means;
  Columns columns;
  for (const Lesson& lesson : lessons) {
    Mean& mean = means[lesson.problem];
    mean.sum += logTime(lesson);
    mean.count++;
    columns.add(lesson.draft);
  }
  std::vector<Trees::Row> rows;
  std::vector<float> targets;
  for (const Lesson& lesson : lessons) {
    const Mean& mean = means[lesson.problem];
    rows.push_back(columns.row(lesson.draft));
    targets.push_back(static_cast<float>(logTime(lesson) - mean.sum / mean.count));
  }
  return std::make_shared<Learned>(std::move(columns), *Trees::trained(rows, targets, options));
}

// What the model is trained on and how.
std::string digestOf(const std::vector<Lesson>& lessons) {
  std::ostringstream text;
  text << fmt::format("{} {} {} {}\n{}\n", format, options.rounds, options.depth, options.rate,
                      fmt::join(kernel::featureNames(), " "));
  for (const Lesson& l : lessons) {
    text << fmt::format("{}\t{}\t{}\t{}", l.problem, l.draft.point.family, lift::str(l.draft.point.config),
                        l.milliseconds);
    for (const float f : l.draft.forecast.features) text << '\t' << f;
    text << '\n';
  }
  return runtime::hex(runtime::sha256(text.str()));
}

using Tunables = std::map<std::string, std::size_t>;

std::string checksum(const Tunables& tunables, const std::string& bytes) {
  return runtime::hex(runtime::sha256(Json(tunables).dump() + bytes));
}

// The first line of a file says what follows it: the trees, as XGBoost writes them.
void write(const std::filesystem::path& file, const std::string& lessons, const Learned& learned) {
  const std::string bytes = learned.trees().bytes();
  const Json head = {{"kind", "liftc-experience"},
                     {"format", format},
                     {"lessons", lessons},
                     {"tunables", learned.columns().tunables()},
                     {"digest", checksum(learned.columns().tunables(), bytes)}};
  std::error_code ignored;
  const std::filesystem::path whole = file.string() + fmt::format(".{}", lessons.substr(0, 8));
  {
    std::ofstream out(whole, std::ios::binary);
    out << head.dump() << "\n" << bytes;
    if (!out.flush()) {
      out.close();
      std::filesystem::remove(whole, ignored);
      return;
    }
  }
  std::filesystem::rename(whole, file, ignored);  // at once: nobody reads half a file
}

// Null for a file that is missing, damaged or of other lessons. The digest keeps damaged bytes from XGBoost, whose
// reader trusts them.
std::shared_ptr<const Learned> read(const std::filesystem::path& file, const std::string& lessons) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  if (!std::getline(in, line)) return nullptr;
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  const Json head = Json::parse(line, nullptr, false);
  try {
    auto tunables = head.at("tunables").get<Tunables>();
    if (head.at("lessons") != lessons || head.at("digest") != checksum(tunables, bytes)) return nullptr;
    Columns columns;
    columns.setTunables(std::move(tunables));
    auto trees = Trees::fromBytes(bytes);
    return trees ? std::make_shared<Learned>(std::move(columns), std::move(*trees)) : nullptr;
  } catch (const nlohmann::json::exception&) {
    return nullptr;
  }
}

}  // namespace

std::vector<Lesson> lessonsOf(const Database& database, const std::string& device, const std::string& exceptProblem) {
  const std::map<std::string, kernel::Forecast> forecasts = database.forecasts();
  std::vector<Lesson> lessons;
  if (forecasts.empty()) return lessons;
  for (const Measurement& m : database.select({.device = device, .phase = Phase::sweep})) {
    const auto forecast = forecasts.find(m.key.kernels);
    if (m.key.problem == exceptProblem || m.times.empty() || m.status == Status::wrong || forecast == forecasts.end())
      continue;
    lessons.push_back({m.key.problem, {{m.key.family, m.key.config}, forecast->second}, m.median()});
  }
  return lessons;
}

bool hasTrees() { return Trees::available(); }

std::shared_ptr<const Experience> Experience::of(const std::vector<Lesson>& lessons) { return learned(lessons); }

std::shared_ptr<const Experience> Experience::kept(const std::vector<Lesson>& lessons,
                                                   const std::filesystem::path& file) {
  if (!Trees::available() || lessons.size() < fewestLessons) return nullptr;
  const std::string digest = digestOf(lessons);
  if (auto found = read(file, digest)) return found;
  auto trained = learned(lessons);
  write(file, digest, *trained);
  return trained;
}

}  // namespace lift::tune
