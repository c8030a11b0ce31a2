#include "trees.hpp"

#include "lift/diagnostic.hpp"

#ifdef LIFT_HAVE_XGBOOST
#include <xgboost/c_api.h>

#include <limits>
#endif

namespace lift::tune {

#ifdef LIFT_HAVE_XGBOOST
namespace {

void check(int code) { ensure(code == 0, code == 0 ? "" : XGBGetLastError()); }

std::shared_ptr<void> matrixOf(const std::vector<Trees::Row>& rows) {
  std::vector<float> flat;
  for (const Trees::Row& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  DMatrixHandle matrix = nullptr;
  check(XGDMatrixCreateFromMat(flat.data(), rows.size(), rows.front().size(), std::numeric_limits<float>::quiet_NaN(),
                               &matrix));
  return {matrix, [](void* m) { XGDMatrixFree(m); }};
}

std::shared_ptr<void> booster(const DMatrixHandle* matrices, bst_ulong count) {
  BoosterHandle handle = nullptr;
  check(XGBoosterCreate(matrices, count, &handle));
  std::shared_ptr<void> owner(handle, [](void* b) { XGBoosterFree(b); });
  // One thread: the models are small, other cores build kernels, and sums in a fixed order give the same each time.
  check(XGBoosterSetParam(handle, "nthread", "1"));
  check(XGBoosterSetParam(handle, "verbosity", "0"));
  return owner;
}

}  // namespace

bool Trees::available() { return true; }

std::optional<Trees> Trees::trained(const std::vector<Row>& rows, const std::vector<float>& targets,
                                    const Options& options) {
  ensure(!rows.empty() && rows.size() == targets.size(), "rows and targets go together");
  const auto matrix = matrixOf(rows);
  check(XGDMatrixSetFloatInfo(matrix.get(), "label", targets.data(), targets.size()));
  const DMatrixHandle handle = matrix.get();
  Trees trees;
  trees.booster_ = booster(&handle, 1);
  const std::vector<std::pair<const char*, std::string>> parameters = {
      {"objective", "reg:squarederror"},
      {"tree_method", "exact"},
      {"base_score", "0"},
      {"max_depth", std::to_string(options.depth)},
      {"eta", std::to_string(options.rate)},
      {"subsample", "0.8"},
      {"colsample_bynode", "0.7"},
      {"seed", std::to_string(options.seed & 0x7fffffffU)}};
  for (const auto& [name, value] : parameters) check(XGBoosterSetParam(trees.booster_.get(), name, value.c_str()));
  for (int round = 0; round < options.rounds; round++)
    check(XGBoosterUpdateOneIter(trees.booster_.get(), round, matrix.get()));
  return trees;
}

std::vector<float> Trees::operator()(const std::vector<Row>& rows) const {
  if (rows.empty()) return {};
  const auto matrix = matrixOf(rows);
  bst_ulong length = 0;
  const float* values = nullptr;
  check(XGBoosterPredict(booster_.get(), matrix.get(), 0, 0, 0, &length, &values));
  return {values, values + length};
}

std::string Trees::bytes() const {
  bst_ulong length = 0;
  const char* data = nullptr;
  check(XGBoosterSaveModelToBuffer(booster_.get(), R"({"format": "ubj"})", &length, &data));
  return {data, length};
}

std::optional<Trees> Trees::fromBytes(const std::string& bytes) {
  Trees trees;
  trees.booster_ = booster(nullptr, 0);
  if (XGBoosterLoadModelFromBuffer(trees.booster_.get(), bytes.data(), bytes.size()) != 0) return std::nullopt;
  return trees;
}

#else

bool Trees::available() { return false; }
std::optional<Trees> Trees::trained(const std::vector<Row>&, const std::vector<float>&, const Options&) {
  return std::nullopt;
}
std::vector<float> Trees::operator()(const std::vector<Row>&) const { throw InternalError("there are no trees"); }
std::string Trees::bytes() const { throw InternalError("there are no trees"); }
std::optional<Trees> Trees::fromBytes(const std::string&) { return std::nullopt; }

#endif

}  // namespace lift::tune
