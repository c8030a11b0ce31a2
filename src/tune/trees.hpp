// Gradient-boosted regression trees: XGBoost's, where liftc was built with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lift::tune {

class Trees {
 public:
  using Row = std::vector<float>;  // NaN: there is no such value
  struct Options {
    int rounds = 40, depth = 4;
    double rate = 0.2;  // of learning
    std::uint64_t seed = 1;
  };

  static bool available();
  // Least squares; all rows are equally long. Nothing where trees are not available. The same rows, targets and seed
  // give the same trees.
  static std::optional<Trees> trained(const std::vector<Row>& rows, const std::vector<float>& targets,
                                      const Options& options);
  std::vector<float> operator()(const std::vector<Row>& rows) const;

  std::string bytes() const;
  static std::optional<Trees> fromBytes(const std::string& bytes);  // nothing for what is none

 private:
  std::shared_ptr<void> booster_;
};

}  // namespace lift::tune
