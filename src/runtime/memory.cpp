// Device memory of a plan: lifetimes of temporaries and the memory they share.
#include <algorithm>
#include <numeric>

#include "lift/device.hpp"
#include "lift/diagnostic.hpp"

namespace lift::runtime {
namespace {

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

std::vector<std::optional<Lifetime>> temporaryLifetimes(const kernel::Plan& plan) {
  std::vector<std::optional<Lifetime>> lifetimes(plan.buffers.size());
  const int prepared = static_cast<int>(plan.preparation.size());
  const int end = prepared + static_cast<int>(plan.launches.size()) - 1;
  const auto use = [&](const kernel::Launch& launch, int position) {
    for (int b : launch.arguments) {
      const auto buffer = static_cast<std::size_t>(b);
      if (plan.buffers[buffer].role != kernel::PlanBuffer::Role::temporary) continue;
      std::optional<Lifetime>& lifetime = lifetimes[buffer];
      if (!lifetime) lifetime = {position, position};
      // The launches run again and again, the preparation does not: what it left must survive all of them.
      lifetime->last = position >= prepared && lifetime->first < prepared ? end : position;
    }
  };
  int position = 0;
  for (const kernel::Launch& launch : plan.preparation) use(launch, position++);
  for (const kernel::Launch& launch : plan.launches) use(launch, position++);
  // Inner loops first: what one of them makes live longer may reach out of those around it.
  for (auto loop = plan.loops.rbegin(); loop != plan.loops.rend(); ++loop) {
    const Lifetime whole{prepared + static_cast<int>(loop->first), prepared + static_cast<int>(loop->last) - 1};
    const auto covers = [](Lifetime& l, const Lifetime& other) {
      l = {std::min(l.first, other.first), std::max(l.last, other.last)};
    };
    // What comes from before the loop, or is read after it, is there all the time.
    for (std::optional<Lifetime>& l : lifetimes)
      if (l && overlap(*l, whole) && (l->first < whole.first || l->last > whole.last)) covers(*l, whole);
    for (const auto& [a, b] : loop->swaps) {
      std::optional<Lifetime>&x = lifetimes[static_cast<std::size_t>(a)], &y = lifetimes[static_cast<std::size_t>(b)];
      if (!x || !y) continue;
      covers(*x, whole);
      covers(*x, *y);
      y = x;
    }
  }
  return lifetimes;
}

Slots shareMemory(const std::vector<std::optional<Lifetime>>& lifetimes, const std::vector<std::int64_t>& bytes) {
  ensure(lifetimes.size() == bytes.size(), "one lifetime and one size per buffer");
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The first buffer in a slot is its largest, so slots never grow.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });

  Slots slots;
  slots.slot.assign(lifetimes.size(), -1);
  std::vector<std::vector<Lifetime>> occupants;
  for (std::size_t b : order) {
    if (!lifetimes[b]) continue;
    // Later slots are smaller: searching from the back keeps the large ones free.
    std::size_t s = occupants.size();
    while (s > 0 && std::any_of(occupants[s - 1].begin(), occupants[s - 1].end(),
                                [&](const Lifetime& other) { return overlap(other, *lifetimes[b]); }))
      s--;
    if (s == 0) {
      occupants.emplace_back();
      slots.bytes.push_back(bytes[b]);
      s = occupants.size();
    }
    occupants[s - 1].push_back(*lifetimes[b]);
    slots.slot[b] = static_cast<int>(s - 1);
  }
  return slots;
}

Layout layoutOf(const kernel::Plan& plan, const Binding& binding) {
  Layout layout;
  const std::vector<std::optional<Lifetime>> lifetimes = temporaryLifetimes(plan);
  const int prepared = static_cast<int>(plan.preparation.size());
  layout.temporaries = shareMemory(lifetimes, binding.bytes);
  layout.memory.temporaries =
      std::accumulate(layout.temporaries.bytes.begin(), layout.temporaries.bytes.end(), std::int64_t{0});
  for (std::size_t b = 0; b < plan.buffers.size(); b++) switch (plan.buffers[b].role) {
      case kernel::PlanBuffer::Role::input:
        layout.memory.inputs += binding.bytes[b];
        break;
      case kernel::PlanBuffer::Role::output:
        layout.memory.outputs += binding.bytes[b];
        break;
      case kernel::PlanBuffer::Role::temporary:
        if (!lifetimes[b]) break;
        layout.memory.temporariesUnshared += binding.bytes[b];
        if (lifetimes[b]->first < prepared && lifetimes[b]->last >= prepared)
          layout.memory.prepared += binding.bytes[b];
        break;
    }
  return layout;
}

}  // namespace lift::runtime
