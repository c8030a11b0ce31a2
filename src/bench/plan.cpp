// Plans as contestants: the compiled kernels, and whatever else has the shape of a plan.
#include "plan.hpp"

#include <algorithm>

#include "lift/diagnostic.hpp"

namespace lift::bench {
namespace {

using kernel::PlanBuffer;

class PlanContestant final : public Contestant {
 public:
  PlanContestant(std::unique_ptr<runtime::Executable> executable, const Inputs& inputs, FromOutput fromOutput,
                 std::string implementation)
      : executable_(std::move(executable)),
        memory_(executable_->prepare(inputs).memory),
        fromOutput_(std::move(fromOutput)),
        implementation_(std::move(implementation)) {}

  double run(int runs) override { return executable_->repeatTogether(runs); }
  std::map<std::string, Tensor> outputs() override {
    std::map<std::string, Tensor> results = executable_->outputs();
    for (auto& [name, result] : results) result = fromOutput_(result);
    return results;
  }
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

std::unique_ptr<Contestant> contestPlan(runtime::Device& device, const kernel::Plan& plan, const Inputs& inputs,
                                        const runtime::LoadOptions& options) {
  return contest(
      device.load(plan, {}, options), inputs, [](const Tensor& out) { return out; }, plan.name);
}

std::unique_ptr<Contestant> contestPlan(runtime::Device& device, const kernel::Plan& plan, const ConvTensors& tensors,
                                        const ConvLayouts& layouts, const runtime::LoadOptions& options) {
  const auto toNatural = [layouts](const Tensor& out) { return convertLayout(out, layouts.output, Layout::nhwc); };
  return contest(device.load(plan, {}, options), tensors.in(layouts), toNatural, plan.name);
}

kernel::Plan planOf(const std::string& source, std::vector<PlanBuffer> buffers,
                    const std::vector<WrittenKernel>& kernels) {
  kernel::Plan plan;
  for (const WrittenKernel& written : kernels) {
    kernel::Kernel k;
    k.name = written.name;
    k.range = written.range;
    kernel::Launch launch;
    launch.kernel = static_cast<int>(plan.kernels.size());
    for (const std::string& name : written.arguments) {
      const auto b = std::ranges::find_if(buffers, [&](const PlanBuffer& buffer) { return buffer.name == name; });
      ensure(b != buffers.end(), "an argument is no buffer of the plan");
      launch.arguments.push_back(static_cast<int>(b - buffers.begin()));
      kernel::addBuffer(
          k, {b->name, b->scalar, 1, kernel::AddressSpace::global, b->count(), b->role == PlanBuffer::Role::input});
    }
    plan.kernels.push_back(std::move(k));
    plan.sources.push_back(source);
    plan.launches.push_back(std::move(launch));
  }
  plan.name = kernels.back().name;
  plan.buffers = std::move(buffers);
  return plan;
}

}  // namespace lift::bench
