#include "lift/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace lift {

void parallelFor(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  std::atomic<std::int64_t> next{0};
  const auto work = [&] {
    for (std::int64_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::jthread> helpers;
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  for (std::int64_t i = 1; i < std::min(cores, count); ++i) helpers.emplace_back(work);
  work();
}

}  // namespace lift
