// Identifiers of the printed kernel: valid, unique among what is visible, close to the names in the kernel.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace lift::kernel {

class Names {
 public:
  // `isReserved` says which identifiers mean something else in the language.
  explicit Names(std::function<bool(const std::string&)> isReserved) : isReserved_(std::move(isReserved)) {}
  // A name that is free here, taken until the enclosing scope is left.
  std::string take(std::string_view wish);
  void enter() { marks_.push_back(log_.size()); }
  void leave();

 private:
  struct Change {
    std::string name;  // taken; empty when only the counter of `base` changed
    std::string base;
    int counter;  // before
  };
  std::function<bool(const std::string&)> isReserved_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> counter_;  // last suffix used with a base
  std::vector<Change> log_;
  std::vector<std::size_t> marks_;
};

// The identifier nearest to `wish`.
std::string identifierFor(std::string_view wish, const std::function<bool(const std::string&)>& isReserved);

}  // namespace lift::kernel
