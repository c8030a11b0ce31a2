// Identifiers of the printed kernel: valid, unique among what is visible, close to the names in the kernel.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lift::kernel {

class OpenclNames {
 public:
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
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> counter_;  // last suffix used with a base
  std::vector<Change> log_;
  std::vector<std::size_t> marks_;
};

}  // namespace lift::kernel
