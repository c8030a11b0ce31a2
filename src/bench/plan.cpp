// Plans as contestants: the compiled kernels, and whatever else has the shape of a plan.
#include "plan.hpp"

namespace lift::bench {
namespace {

class PlanContestant final : public Contestant {
 public:
  PlanContestant(std::unique_ptr<runtime::Executable> executable, const Inputs& inputs, FromOutput fromOutput,
                 std::string implementation)
      : executable_(std::move(executable)),
        memory_(executable_->prepare(inputs).memory),
        fromOutput_(std::move(fromOutput)),
        implementation_(std::move(implementation)) {}

  double run() override { return executable_->repeat().wallMilliseconds; }
  Tensor output() override { return fromOutput_(executable_->outputs().at("out")); }
  std::string implementation() const override { return implementation_; }
  Memory memory() const override {
    return {memory_.inputs + memory_.outputs, memory_.temporaries - memory_.prepared, memory_.prepared};
  }

 private:
  std::unique_ptr<runtime::Executable> executable_;
  runtime::MemoryUse memory_;
  FromOutput fromOutput_;
  std::string implementation_;
};

}  // namespace

std::unique_ptr<Contestant> contest(std::unique_ptr<runtime::Executable> executable, const Inputs& inputs,
                                    FromOutput fromOutput, std::string implementation) {
  return std::make_unique<PlanContestant>(std::move(executable), inputs, std::move(fromOutput),
                                          std::move(implementation));
}

std::unique_ptr<Contestant> contestPlan(runtime::Device& device, const kernel::Plan& plan, const ConvTensors& tensors,
                                        const runtime::LoadOptions& options) {
  const Inputs inputs = {{"input", tensors.input}, {"weights", tensors.weights}, {"biases", tensors.bias}};
  return contest(
      device.load(plan, {}, options), inputs, [](const Tensor& out) { return out; }, plan.name);
}

kernel::Plan planOf(const std::string& name, std::string source, std::vector<kernel::PlanBuffer> buffers,
                    const kernel::NDRange& range) {
  kernel::Kernel k;
  k.name = name;
  k.range = range;
  kernel::Plan plan;
  kernel::Launch launch;
  for (const kernel::PlanBuffer& b : buffers) {
    launch.arguments.push_back(static_cast<int>(launch.arguments.size()));
    const bool readOnly = b.role == kernel::PlanBuffer::Role::input;
    kernel::addBuffer(k, {b.name, b.scalar, 1, kernel::Space::global, b.count(), readOnly});
  }
  plan.name = name;
  plan.buffers = std::move(buffers);
  plan.kernels = {std::move(k)};
  plan.sources = {std::move(source)};
  plan.launches = {std::move(launch)};
  return plan;
}

}  // namespace lift::bench
