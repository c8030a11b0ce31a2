#include "differential/choices.hpp"

#include <algorithm>

namespace lift::differential {
namespace {

bool smaller(const Choices::List& a, const Choices::List& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

class Shrinker {
 public:
  using Attempt = std::function<std::optional<Choices::List>(const Choices::List&)>;
  Shrinker(Choices::List failing, int attempts, const Attempt& attempt)
      : best_(std::move(failing)), left_(attempts), attempt_(attempt) {}

  Choices::List run() {
    Choices::List before;
    do {
      before = best_;
      for (const std::size_t length : {16, 8, 4, 3, 2, 1}) removeRuns(length);
      lowerNumbers();
    } while (left_ > 0 && best_ != before);
    return best_;
  }

 private:
  bool accept(const Choices::List& candidate) {
    if (left_ == 0 || !smaller(candidate, best_)) return false;
    left_--;
    const auto drawn = attempt_(candidate);
    if (!drawn || !smaller(*drawn, best_)) return false;
    best_ = *drawn;
    return true;
  }

  // From the end, where the last stages are.
  void removeRuns(std::size_t length) {
    for (std::size_t end = best_.size(); end >= length && end > 0; end--) {
      end = std::min(end, best_.size());
      if (end < length) return;
      Choices::List candidate = best_;
      const auto last = candidate.begin() + static_cast<std::ptrdiff_t>(end);
      candidate.erase(last - static_cast<std::ptrdiff_t>(length), last);
      accept(candidate);
    }
  }

  void lowerNumbers() {
    for (std::size_t i = 0; i < best_.size(); i++)
      while (i < best_.size() && best_[i] > 0) {
        const std::int64_t value = best_[i];
        if (!set(i, 0) && !set(i, value / 2) && !set(i, value - 1)) break;
      }
  }
  bool set(std::size_t i, std::int64_t value) {
    Choices::List candidate = best_;
    candidate[i] = value;
    return accept(candidate);
  }

  Choices::List best_;
  int left_;
  const Attempt& attempt_;
};

}  // namespace

Choices Choices::random(std::uint64_t seed) {
  Choices c;
  c.random_.emplace(seed);
  return c;
}

Choices Choices::replay(List list) {
  Choices c;
  c.given_ = std::move(list);
  return c;
}

std::int64_t Choices::pick(std::int64_t low, std::int64_t high) {
  const std::size_t at = drawn_.size();
  std::int64_t offset = 0;
  if (random_)
    offset = std::uniform_int_distribution<std::int64_t>(0, high - low)(*random_);
  else if (at < given_.size())
    offset = std::clamp<std::int64_t>(given_[at], 0, high - low);
  drawn_.push_back(offset);
  return low + offset;
}

Choices::List shrink(Choices::List failing, int attempts,
                     const std::function<std::optional<Choices::List>(const Choices::List&)>& attempt) {
  return Shrinker(std::move(failing), attempts, attempt).run();
}

}  // namespace lift::differential
