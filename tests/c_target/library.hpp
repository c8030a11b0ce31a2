// Plans as C, built by the system's compiler into one library and called in this process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lift/kernel.hpp"
#include "lift/tensor.hpp"

namespace lift::c_target {

class Library {
 public:
  Library();
  Library(const Library&) = delete;
  ~Library();

  // The plan's number. Throws UserError where it is no plain C.
  std::size_t add(const kernel::Plan& plan);
  // Builds all that was added; what the compiler complains of, or nothing.
  std::string build(const std::string& flags = "-O2 -march=native -fopenmp");
  std::map<std::string, Tensor> run(std::size_t plan, const std::map<std::string, Tensor>& inputs,
                                    const std::map<std::string, std::int64_t>& sizes = {});

 private:
  std::string folder_;
  std::vector<kernel::Plan> plans_;
  std::string calls_;
  void* handle_ = nullptr;
};

}  // namespace lift::c_target
