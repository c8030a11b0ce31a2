#include "lift/plan_memory.hpp"

#include <algorithm>
#include <numeric>

#include "lift/diagnostic.hpp"

namespace lift::kernel {
namespace {

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

// Slots whose memory loops exchange, directly or by way of others, hold what any of them holds.
void holdExchanged(Slots& slots, const std::vector<std::pair<int, int>>& exchanged) {
  const auto slotOf = [&](int buffer) { return slots.slot[static_cast<std::size_t>(buffer)]; };
  std::vector<int> group(slots.of.size());
  std::iota(group.begin(), group.end(), 0);
  for (const auto& [a, b] : exchanged) {
    if (slotOf(a) < 0 || slotOf(b) < 0) continue;
    const int from = group[static_cast<std::size_t>(slotOf(a))], to = group[static_cast<std::size_t>(slotOf(b))];
    std::replace(group.begin(), group.end(), from, to);
  }
  for (std::size_t b = 0; b < slots.slot.size(); b++)
    for (std::size_t s = 0; s < slots.of.size(); s++)
      if (slots.slot[b] >= 0 && group[static_cast<std::size_t>(slots.slot[b])] == group[s]) slots.of[s].push_back(b);
}

}  // namespace

std::vector<std::optional<Lifetime>> temporaryLifetimes(const Plan& plan) {
  std::vector<std::optional<Lifetime>> lifetimes(plan.buffers.size());
  const int prepared = static_cast<int>(plan.preparation.size());
  const int end = prepared + static_cast<int>(plan.launches.size()) - 1;
  const auto use = [&](const Launch& launch, int position) {
    for (int b : launch.arguments) {
      const auto buffer = static_cast<std::size_t>(b);
      if (plan.buffers[buffer].role != PlanBuffer::Role::temporary) continue;
      std::optional<Lifetime>& lifetime = lifetimes[buffer];
      if (!lifetime) lifetime = {position, position};
      // The launches run again and again, the preparation does not: what it left must survive all of them.
      lifetime->last = position >= prepared && lifetime->first < prepared ? end : position;
    }
  };
  int position = 0;
  for (const Launch& launch : plan.preparation) use(launch, position++);
  for (const Launch& launch : plan.launches) use(launch, position++);
  // Inner loops first: what one of them makes live longer may reach out of those around it.
  for (auto loop = plan.loops.rbegin(); loop != plan.loops.rend(); ++loop) {
    const Lifetime whole{prepared + static_cast<int>(loop->first), prepared + static_cast<int>(loop->last) - 1};
    const auto covers = [](Lifetime& l, const Lifetime& other) {
      l = {std::min(l.first, other.first), std::max(l.last, other.last)};
    };
    // What comes from before the loop, or is read after it, is there all the time.
    for (std::optional<Lifetime>& l : lifetimes)
      if (l && overlap(*l, whole) && (l->first < whole.first || l->last > whole.last)) covers(*l, whole);
    // The host reads what no launch does.
    if (loop->condition) covers(*lifetimes[static_cast<std::size_t>(loop->condition->buffer)], whole);
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

Slots shareMemory(const std::vector<std::optional<Lifetime>>& lifetimes, const std::vector<std::int64_t>& bytes,
                  const std::vector<std::pair<int, int>>& exchanged) {
  ensure(lifetimes.size() == bytes.size(), "one lifetime and one size per buffer");
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // The first buffer in a slot is its largest, so slots never grow.
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });

  Slots slots;
  slots.slot.assign(lifetimes.size(), -1);
  std::vector<std::vector<Lifetime>> occupants;
  for (std::size_t b : order) {
    if (!lifetimes[b]) continue;
    // Later slots are smaller: searching from the back keeps the large ones free.
    std::size_t s = occupants.size();
    while (s > 0 &&
           std::ranges::any_of(occupants[s - 1], [&](const Lifetime& other) { return overlap(other, *lifetimes[b]); }))
      s--;
    if (s == 0) {
      occupants.emplace_back();
      s = occupants.size();
    }
    occupants[s - 1].push_back(*lifetimes[b]);
    slots.slot[b] = static_cast<int>(s - 1);
  }
  slots.of.resize(occupants.size());
  holdExchanged(slots, exchanged);
  for (const auto& buffers : slots.of) {
    std::int64_t most = 0;
    for (const std::size_t b : buffers) most = std::max(most, bytes[b]);
    slots.bytes.push_back(most);
  }
  return slots;
}

Slots shareTemporaries(const Plan& plan, const std::vector<std::int64_t>& bytes) {
  std::vector<std::pair<int, int>> exchanged;
  for (const LaunchLoop& loop : plan.loops) exchanged.insert(exchanged.end(), loop.swaps.begin(), loop.swaps.end());
  auto lifetimes = temporaryLifetimes(plan);
  // An image is memory for nothing else: as if it lived all the time.
  const int end = static_cast<int>(plan.preparation.size() + plan.launches.size());
  for (std::size_t b = 0; b < lifetimes.size(); b++)
    if (plan.buffers[b].isImage && lifetimes[b]) lifetimes[b] = {-1, end};
  return shareMemory(lifetimes, bytes, exchanged);
}

std::int64_t workspaceOf(const Plan& plan) {
  std::vector<std::int64_t> bytes;
  for (const PlanBuffer& b : plan.buffers)
    bytes.push_back(b.count().constant().value_or(0) * static_cast<std::int64_t>(info(b.scalar).bytes));
  const auto slots = shareTemporaries(plan, bytes).bytes;
  return std::accumulate(slots.begin(), slots.end(), std::int64_t{0});
}

}  // namespace lift::kernel
