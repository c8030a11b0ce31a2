// Plans as C, built by the system's compiler into one library and called in this process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lift/kernel.hpp"
#include "lift/process.hpp"
#include "lift/tensor.hpp"

namespace lift::c_target {

class Library {
 public:
  // The plan's number. Throws UserError where it is no plain C.
  std::size_t add(const kernel::Plan& plan);
  // Builds all that was added; what the compiler complains of, or nothing.
  std::string build(const std::string& flags = "-O2 -march=native -fopenmp");
  std::map<std::string, Tensor> run(std::size_t plan, const std::map<std::string, Tensor>& inputs,
                                    const std::map<std::string, std::int64_t>& sizes = {});

 private:
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }

  TemporaryFolder folder_;  // the library stays loaded: threads of OpenMP live on in it
  std::vector<kernel::Plan> plans_;
  std::string calls_;
  void* handle_ = nullptr;
};

}  // namespace lift::c_target
