// What holds of a plan before anything is launched: its own form, and that it fits the device.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "lift/integers.hpp"

namespace lift::runtime {
namespace {

using kernel::Buffer;
using kernel::Kernel;
using kernel::Launch;
using kernel::Plan;
using kernel::PlanBuffer;

// Broken plans are the compiler's fault.
template <class... Args>
void require(bool holds, fmt::format_string<Args...> message, Args&&... args) {
  if (!holds) throw InternalError("plan: " + fmt::format(message, std::forward<Args>(args)...));
}

void requireSizesOf(const Plan& plan, const Nat& n, const std::string& where) {
  for (NatVar v : n.variables())
    require(std::ranges::find(plan.sizes, v) != plan.sizes.end(), "{} mentions {}, which is no size", where, v.name());
}

void verify(const Plan& plan, const Launch& launch, std::set<int>& written) {
  require(launch.kernel >= 0 && static_cast<std::size_t>(launch.kernel) < plan.kernels.size(),
          "launch of kernel {} of {}", launch.kernel, plan.kernels.size());
  const Kernel& k = plan.kernels[static_cast<std::size_t>(launch.kernel)];
  require(launch.arguments.size() == k.arguments.size(), "kernel {} takes {} buffers, its launch gives {}", k.name,
          k.arguments.size(), launch.arguments.size());
  for (std::size_t i = 0; i < launch.arguments.size(); i++) {
    const int b = launch.arguments[i];
    require(b >= 0 && static_cast<std::size_t>(b) < plan.buffers.size(), "kernel {}: buffer {} of {}", k.name, b,
            plan.buffers.size());
    const Buffer& parameter = k.buffers[k.arguments[i]];
    const PlanBuffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
    require(parameter.isImage == buffer.isImage, "kernel {}: {} and buffer {} are not both images", k.name,
            parameter.name, buffer.name);
    require(parameter.scalar == buffer.scalar, "kernel {}: {} has elements {}, buffer {} has {}", k.name,
            parameter.name, info(parameter.scalar).name, buffer.name, info(buffer.scalar).name);
    if (buffer.role == PlanBuffer::Role::input) continue;
    require(!parameter.readOnly || written.count(b) != 0, "kernel {} reads {} before it is written", k.name,
            buffer.name);
  }
  for (std::size_t i = 0; i < launch.arguments.size(); i++)
    if (!k.buffers[k.arguments[i]].readOnly) written.insert(launch.arguments[i]);
}

[[noreturn]] void tooMuch(const DeviceInfo& device, const std::string& message, std::string hint = {}) {
  throw UserError(ExitStatus::device, fmt::format("{}; device: {}", message, device.name), std::move(hint));
}

// Limits of profiles may be unknown.
bool isAbove(std::int64_t n, std::uint64_t limit) { return limit > 0 && static_cast<std::uint64_t>(n) > limit; }

}  // namespace

void verify(const Plan& plan) {
  require(plan.sources.empty() || plan.sources.size() == plan.kernels.size(), "{} sources for {} kernels",
          plan.sources.size(), plan.kernels.size());
  std::set<std::string> names[2];
  for (const PlanBuffer& b : plan.buffers) {
    for (const Nat& n : b.shape) requireSizesOf(plan, n, "the shape of " + b.name);
    if (b.role == PlanBuffer::Role::temporary) continue;
    require(names[b.role == PlanBuffer::Role::input ? 0 : 1].insert(b.name).second, "two buffers are called {}",
            b.name);
  }
  for (const Kernel& k : plan.kernels) {
    for (NatVar v : k.sizes) requireSizesOf(plan, v, "kernel " + k.name);
    for (std::size_t d = 0; d < 3; d++) {
      requireSizesOf(plan, k.range.global[d], "the range of " + k.name);
      requireSizesOf(plan, k.range.local[d], "the range of " + k.name);
    }
    for (kernel::BufferId b : k.arguments) require(b < k.buffers.size(), "kernel {}: argument out of range", k.name);
  }
  std::set<int> written;
  for (const Launch& launch : plan.preparation) verify(plan, launch, written);
  for (const Launch& launch : plan.launches) verify(plan, launch, written);
  for (const kernel::LaunchLoop& loop : plan.loops) {
    require(loop.first < loop.last && loop.last <= plan.launches.size(), "a loop of launches {} to {} of {}",
            loop.first, loop.last, plan.launches.size());
    requireSizesOf(plan, loop.count, "the count of a loop");
    if (const auto& c = loop.condition) {
      require(loop.first < c->at && c->at <= loop.last && c->buffer >= 0 &&
                  static_cast<std::size_t>(c->buffer) < plan.buffers.size(),
              "a loop of launches {} to {} with a condition at {} in buffer {}", loop.first, loop.last, c->at,
              c->buffer);
      const PlanBuffer& flag = plan.buffers[static_cast<std::size_t>(c->buffer)];
      require(flag.role == PlanBuffer::Role::temporary && flag.scalar == Scalar::boolean && flag.shape.empty(),
              "the condition of a loop is {}, which is no temporary of one bool", flag.name);
      require(
          std::any_of(plan.launches.begin() + static_cast<std::ptrdiff_t>(loop.first),
                      plan.launches.begin() + static_cast<std::ptrdiff_t>(c->at),
                      [&](const Launch& l) { return std::ranges::find(l.arguments, c->buffer) != l.arguments.end(); }),
          "no launch leaves the condition {} of a loop", flag.name);
    }
    for (const auto& [a, b] : loop.swaps) {
      require(a >= 0 && b >= 0 && static_cast<std::size_t>(std::max(a, b)) < plan.buffers.size(),
              "a loop exchanges buffers {} and {}", a, b);
      const PlanBuffer &x = plan.buffers[static_cast<std::size_t>(a)], &y = plan.buffers[static_cast<std::size_t>(b)];
      require(x.role == PlanBuffer::Role::temporary && y.role == x.role && x.scalar == y.scalar && x.shape == y.shape,
              "a loop exchanges {} and {}, which are no temporaries of one shape", x.name, y.name);
    }
  }
}

std::int64_t imageRows(const PlanBuffer& buffer, std::int64_t bytes) {
  const std::int64_t row = ImageLayout::rowElements * static_cast<std::int64_t>(info(buffer.scalar).bytes);
  return ceilDiv(bytes, row);
}

Geometry geometryOf(const Kernel& k, const Binding& binding) {
  Geometry g;
  for (std::size_t d = 0; d < 3; d++) {
    const std::int64_t global = binding.evaluate(k.range.global[d]);
    const std::int64_t local = binding.evaluate(k.range.local[d]);
    require(global >= 0 && local >= 1 && global % local == 0,
            "kernel {}: global size {} and local size {} in dimension {}", k.name, global, local, d);
    g.global[d] = static_cast<std::size_t>(global);
    g.local[d] = static_cast<std::size_t>(local);
  }
  return g;
}

KernelNeeds needsOf(const Kernel& k) {
  KernelNeeds needs{k.name,
                    {1, 1, 1},
                    kernel::localBytes(k).constant().value_or(0),
                    kernel::computesIn(k, Scalar::f64),
                    kernel::computesIn(k, Scalar::h16),
                    std::ranges::any_of(k.buffers, &Buffer::isImage)};
  for (std::size_t d = 0; d < 3; d++) needs.group[d] = k.range.local[d].constant().value_or(1);
  return needs;
}

void checkNeeds(const DeviceInfo& device, const KernelNeeds& k) {
  if (!device.fp64 && k.f64)
    tooMuch(device, fmt::format("kernel {} computes in f64, which the device cannot", k.kernel));
  if (!device.fp16 && k.h16)
    tooMuch(device, fmt::format("kernel {} computes in h16, which the device cannot (it does not report cl_khr_fp16); "
                                "f16 is stored as half and computed in f32, everywhere",
                                k.kernel));
  if (k.images && device.maxImageWidth < ImageLayout::rowTexels)
    tooMuch(device, fmt::format("kernel {} needs images in two dimensions with {} texels in a row, the device has {}",
                                k.kernel, ImageLayout::rowTexels, device.maxImageWidth));
  if (isAbove(k.localBytes, device.localMemory))
    tooMuch(device, fmt::format("kernel {} needs {} bytes of local memory, the device has {}", k.kernel, k.localBytes,
                                device.localMemory));
  if (isAbove(k.items(), device.maxWorkGroupSize))
    tooMuch(device, fmt::format("kernel {} has work-groups of {} work-items ({} x {} x {}), the device allows {}",
                                k.kernel, k.items(), k.group[0], k.group[1], k.group[2], device.maxWorkGroupSize));
  for (std::size_t d = 0; d < 3; d++)
    if (isAbove(k.group[d], device.maxWorkItemSizes[d]))
      tooMuch(device, fmt::format("kernel {} has work-groups of {} work-items in dimension {}, the device allows {}",
                                  k.kernel, k.group[d], d, device.maxWorkItemSizes[d]));
}

void checkLimits(const DeviceInfo& device, const Plan& plan, const Binding& binding, const DeviceMemory& memory) {
  const auto allocation = [&](const std::string& name, std::int64_t bytes) {
    if (static_cast<std::uint64_t>(bytes) > device.maxAllocation)
      tooMuch(device, fmt::format("{} needs {} bytes, the device allocates at most {} at once", name, bytes,
                                  device.maxAllocation));
  };
  for (std::size_t b = 0; b < plan.buffers.size(); b++)
    if (plan.buffers[b].role != PlanBuffer::Role::temporary || memory.temporaries.slot[b] >= 0)
      allocation(plan.buffers[b].name, binding.bytes[b]);
  for (std::size_t b = 0; b < plan.buffers.size(); b++)
    if (const std::int64_t rows = imageRows(plan.buffers[b], binding.bytes[b]);
        plan.buffers[b].isImage && static_cast<std::uint64_t>(rows) > device.maxImageHeight)
      tooMuch(device, fmt::format("{} needs an image of {} rows, the device has {}", plan.buffers[b].name, rows,
                                  device.maxImageHeight));
  // Each is below the largest allocation, so the sum fits 64 bits unless it is far beyond any memory.
  const MemoryUse& m = memory.use;
  if (static_cast<std::uint64_t>(m.total()) > device.globalMemory)
    tooMuch(device,
            fmt::format("the program needs {} bytes ({} for inputs, {} for outputs, {} for temporaries), the device "
                        "has {}",
                        m.total(), m.inputs, m.outputs, m.temporaries, device.globalMemory));

  const auto launches = [&](const std::vector<Launch>& all) {
    for (const Launch& launch : all) {
      const Kernel& k = plan.kernels[static_cast<std::size_t>(launch.kernel)];
      kernel::checkSizes(k, binding.sizes);
      for (std::size_t i = 0; i < launch.arguments.size(); i++) {
        const Buffer& parameter = k.buffers[k.arguments[i]];
        const auto b = static_cast<std::size_t>(launch.arguments[i]);
        const std::int64_t needed = binding.evaluate(parameter.count) * static_cast<std::int64_t>(parameter.width) *
                                    static_cast<std::int64_t>(info(parameter.scalar).bytes);
        require(needed <= binding.bytes[b], "kernel {}: {} needs {} bytes, buffer {} has {}", k.name, parameter.name,
                needed, plan.buffers[b].name, binding.bytes[b]);
      }
      KernelNeeds needs = needsOf(k);
      needs.localBytes = binding.evaluate(kernel::localBytes(k));
      const Geometry geometry = geometryOf(k, binding);
      std::copy(geometry.local.begin(), geometry.local.end(), needs.group.begin());
      checkNeeds(device, needs);
    }
  };
  launches(plan.preparation);
  launches(plan.launches);
}

}  // namespace lift::runtime
