#define CATCH_CONFIG_EXTERNAL_INTERFACES  // for the listener below
#include "fixtures.hpp"

#include <unistd.h>

namespace lift::runtime::testing {

using kernel::Plan;
using Role = kernel::PlanBuffer::Role;

kernel::Buffer parameter(const std::string& name, const Nat& count, bool readOnly) {
  kernel::Buffer b;
  b.name = name;
  b.count = count;
  b.readOnly = readOnly;
  return b;
}

kernel::PlanBuffer planBuffer(const std::string& name, std::vector<Nat> shape, Role role) {
  kernel::PlanBuffer b;
  b.name = name;
  b.shape = std::move(shape);
  b.role = role;
  return b;
}

kernel::Kernel kernelOf(const std::string& name, std::vector<kernel::Buffer> parameters, std::vector<NatVar> sizes,
                        const Nat& global, const Nat& local) {
  kernel::Kernel k;
  k.name = name;
  for (kernel::Buffer& b : parameters) kernel::addBuffer(k, std::move(b));
  k.sizes = std::move(sizes);
  k.range.global[0] = global;
  k.range.local[0] = local;
  return k;
}

Plan vectorAdd() {
  const NatVar n = NatVar::size("n");
  Plan p;
  p.name = "vectorAdd";
  p.sizes = {n};
  p.buffers = {planBuffer("x", {n}, Role::input), planBuffer("y", {n}, Role::input),
               planBuffer("sum", {n}, Role::output)};
  p.kernels = {kernelOf("add", {parameter("x", n, true), parameter("y", n, true), parameter("sum", n, false)}, {n},
                        ceilDiv(n, 16) * 16, 16)};
  p.sources = {R"(__kernel void add(__global const float* x, __global const float* y, __global float* sum, int n) {
  const int i = get_global_id(0);
  if (i < n) sum[i] = x[i] + y[i];
}
)"};
  p.launches = {{0, {0, 1, 2}}};
  return p;
}

Plan doubleThenAdd() {
  const NatVar n = NatVar::size("n");
  Plan p;
  p.name = "doubleThenAdd";
  p.sizes = {n};
  p.buffers = {planBuffer("x", {n}, Role::input), planBuffer("t", {n}, Role::temporary),
               planBuffer("out", {n}, Role::output)};
  p.kernels = {kernelOf("twice", {parameter("x", n, true), parameter("t", n, false)}, {}, n, 1),
               kernelOf("plus", {parameter("t", n, true), parameter("out", n, false)}, {}, n, 1)};
  p.sources = {R"(static inline float half_of(float v) { return v / 2; }
__kernel void twice(__global const float* x, __global float* t) {
  const int i = get_global_id(0);
  t[i] = half_of(4 * x[i]);
}
)",
               R"(static inline int half_of(int v) { return v / 2; }
__kernel void plus(__global const float* t, __global float* out) {
  const int i = get_global_id(0);
  out[i] = t[i] + half_of(3);
}
)"};
  p.launches = {{0, {0, 1}}, {1, {1, 2}}};
  return p;
}

Plan preparedScaling() {
  const NatVar n = NatVar::size("n");
  Plan p;
  p.name = "preparedScaling";
  p.sizes = {n};
  p.buffers = {planBuffer("x", {n}, Role::input), planBuffer("w", {n}, Role::input),
               planBuffer("squared", {n}, Role::temporary), planBuffer("out", {n}, Role::output)};
  const std::vector<kernel::Buffer> parameters = {parameter("a", n, true), parameter("b", n, true),
                                                  parameter("c", n, false)};
  p.kernels = {kernelOf("multiply", parameters, {}, n, 1)};
  p.sources = {R"(__kernel void multiply(__global const float* a, __global const float* b, __global float* c) {
  const int i = get_global_id(0);
  c[i] = a[i] * b[i];
}
)"};
  p.preparation = {{0, {1, 1, 2}}};
  p.launches = {{0, {0, 2, 3}}};
  return p;
}

Tensor tensorOf(const std::vector<double>& values) {
  Tensor t(Scalar::f32, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); i++) t.set(static_cast<std::int64_t>(i), values[i]);
  return t;
}

std::vector<double> valuesOf(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.size(); i++) values.push_back(tensor.get(i));
  return values;
}

Variable::Variable(std::string name, const std::optional<std::string>& value) : name_(std::move(name)) {
  if (const char* old = std::getenv(name_.c_str())) old_ = old;
  set(value);
}

Variable::~Variable() { set(old_); }

void Variable::set(const std::optional<std::string>& value) const {
  if (value)
    setenv(name_.c_str(), value->c_str(), 1);
  else
    unsetenv(name_.c_str());
}

namespace {

// Caches of the drivers and of liftc: private to this process, so that no test sees another's binaries.
class PrivateCaches : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testRunStarting(const Catch::TestRunInfo&) override {
    setenv("POCL_CACHE_DIR", (folder_.path() / "pocl").c_str(), 1);
    setenv("XDG_CACHE_HOME", (folder_.path() / "cache").c_str(), 1);
    for (const char* name : {"LIFTC_CACHE", "LIFTC_PLATFORM", "LIFTC_DEVICE"}) unsetenv(name);
  }

 private:
  TemporaryFolder folder_;
};
CATCH_REGISTER_LISTENER(PrivateCaches)

}  // namespace

}  // namespace lift::runtime::testing
