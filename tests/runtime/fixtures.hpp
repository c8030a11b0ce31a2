// Plans written by hand, devices that do not exist, and variables of the environment.
#pragma once

#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "lift/process.hpp"
#include "refusals.hpp"

namespace lift::runtime::testing {

// A parameter of a kernel or a buffer of a plan.
kernel::Buffer parameter(const std::string& name, const Nat& count, bool readOnly);
kernel::PlanBuffer planBuffer(const std::string& name, std::vector<Nat> shape, kernel::PlanBuffer::Role role);

// A kernel of which the device sees only the source.
kernel::Kernel kernelOf(const std::string& name, std::vector<kernel::Buffer> parameters, std::vector<NatVar> sizes,
                        const Nat& global, const Nat& local);

kernel::Plan vectorAdd();        // sum[n] = x[n] + y[n]
kernel::Plan doubleThenAdd();    // out[n] = 2*x[n] + 1 by way of a temporary; both kernels define a helper `half_of`
kernel::Plan preparedScaling();  // out[n] = x[n] * (w[n] * w[n]), the square by preparation

Tensor tensorOf(const std::vector<double>& values);
std::vector<double> valuesOf(const Tensor& tensor);

// The diagnostics of the UserError that `body` throws, as users read them; the status must be the given one.
template <class F>
std::string messageOf(ExitStatus status, F&& body) {
  std::string message = test::refusalOf(body, status);
  REQUIRE(message != "");
  return message;
}

inline bool has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

// A variable of the environment for the length of a scope; nothing unsets it.
class Variable {
 public:
  Variable(std::string name, const std::optional<std::string>& value);
  ~Variable();
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const;
  std::string name_;
  std::optional<std::string> old_;
};

}  // namespace lift::runtime::testing
