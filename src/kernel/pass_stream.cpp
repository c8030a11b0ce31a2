// Results that are larger than the processor's last cache are stored past it, where statements that follow each other
// fill whole lines: memory then is written to, and not read before.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "dependence.hpp"
#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

class Streaming {
 public:
  Streaming(Kernel& k, const PassOptions& options) : k_(k), options_(options) {}

  void run() {
    for (BufferId b = 0; b < k_.buffers.size(); b++)
      if (isLarge(k_.buffers[b])) large_.insert(b);
    forEachStmt(k_.body, [&](const Stmt& s) {
      forEachAccess(s, [&](BufferId b, Nat, int, bool isStore) {
        if (!isStore) large_.erase(b);
      });
    });
    if (!large_.empty()) block(k_.body);
  }

 private:
  bool isLarge(const Buffer& b) const {
    const auto count = b.count.constant();
    return b.space == AddressSpace::global && !b.isImage && count && *count > options_.cacheBytes / bytesOf(b);
  }
  static std::int64_t bytesOf(const Buffer& b) { return static_cast<std::int64_t>(info(b.scalar).bytes); }

  void block(Block& b) {
    ByBase<std::map<std::int64_t, Store*>> places;  // by their constants
    const auto collect = [&](Stmt& s) {
      auto* st = as<Store>(s);
      if (st == nullptr || !large_.contains(st->buffer) || !isVector(*st)) return;
      const auto [base, offset] = splitConstant(st->index);
      places[{st->buffer, base}].emplace(offset, st);
    };
    for (Stmt& s : b) {
      collect(s);
      if (auto* branch = as<If>(s)) std::ranges::for_each(branch->then, collect);
      forEachBlock(s, [&](Block& inner) { block(inner); });
    }
    for (const auto& [place, stores] : places) {
      const std::int64_t perLine = options_.lineBytes / bytesOf(k_.buffers[place.first]);
      std::vector<Store*> row;  // one behind the other, from the beginning of a line
      std::int64_t end = 0;
      for (const auto& [offset, st] : stores) {
        if (offset != end) row.clear();
        if (row.empty() && mod(st->index, Nat(perLine)) != Nat(0)) continue;
        row.push_back(st);
        end = offset + st->value->type.width;
        if (mod(st->index + Nat(st->value->type.width), Nat(perLine)) == Nat(0)) {
          for (Store* s : row) s->streams = true;
          row.clear();
        }
      }
    }
  }

  // Of a width that processors have instructions for, as it is in memory.
  bool isVector(const Store& st) const {
    const ValueType t = st.value->type;
    const Buffer& b = k_.buffers[st.buffer];
    const std::int64_t bytes = t.width * bytesOf(b);
    return t.scalar == b.scalar && t.scalar != Scalar::boolean && t.width > 1 &&
           (bytes == 16 || bytes == 32 || bytes == 64);
  }

  Kernel& k_;
  const PassOptions& options_;
  std::set<BufferId> large_;  // and never read by the kernel
};

}  // namespace

Kernel streamPass(Kernel kernel, const PassOptions& options) {
  if (options.lineBytes > 0 && options.cacheBytes > 0) Streaming(kernel, options).run();
  return kernel;
}

}  // namespace lift::kernel
