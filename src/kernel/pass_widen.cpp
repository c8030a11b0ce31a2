// Loops that copy narrow vectors, each behind the one before, copy the widest instead: the pixels of an image's row,
// each of three channels, are one piece of memory.
#include <algorithm>
#include <optional>

#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

constexpr std::int64_t mostLanes = 16;
constexpr std::int64_t mostWrittenOut = 6;  // copies of so many lanes; of more a loop stays

class Widen {
 public:
  explicit Widen(Kernel& k) : k_(k) {}
  void run() { block(k_.body); }

 private:
  // So many elements from `source` at `from` on to `target` at `to` on.
  struct Copy {
    BufferId target, source;
    Nat to, from;
    Scalar scalar;
    std::int64_t elements;
  };

  std::optional<Copy> copyOf(const Stmt& s) const {
    const auto* f = as<For>(s);
    if (f == nullptr || f->kind != LoopKind::sequential || f->running || f->body.size() != 1) return std::nullopt;
    const auto* st = as<Store>(f->body[0]);
    const auto* l = st != nullptr && !st->update ? as<Load>(st->value) : nullptr;
    const auto count = f->count.constant();
    if (l == nullptr || !count || l->buffer == st->buffer) return std::nullopt;
    const ValueType type = st->value->type;
    if (type.width == 1 || type.width >= mostLanes || !holds(st->buffer, type) || !holds(l->buffer, type))
      return std::nullopt;
    const auto to = st->index.linearIn(f->index), from = l->index.linearIn(f->index);
    if (!to || !from || to->coefficient != Nat(type.width) || from->coefficient != Nat(type.width)) return std::nullopt;
    return Copy{st->buffer, l->buffer, to->rest, from->rest, type.scalar, *count * type.width};
  }

  // As they are in memory, any of whose elements a vector may start at.
  bool holds(BufferId buffer, ValueType type) const {
    const Buffer& b = k_.buffers[buffer];
    return b.width == 1 && !b.isImage && b.scalar == type.scalar && type.scalar != Scalar::boolean;
  }

  void block(Block& b) {
    Block to;
    for (Stmt& s : b) {
      if (const auto c = copyOf(s)) {
        copy(*c, to);
        continue;
      }
      forEachBlock(s, [&](Block& inner) { block(inner); });
      to.push_back(std::move(s));
    }
    b = std::move(to);
  }

  static void copy(const Copy& c, Block& to) {
    const auto piece = [&](Nat at, std::int64_t lanes) {
      const ValueType type{c.scalar, static_cast<int>(lanes)};
      return Stmt{Store{c.target, c.to + at, load(c.source, c.from + at, type)}};
    };
    const std::int64_t whole = c.elements / mostLanes;
    std::int64_t done = 0;
    if (whole > mostWrittenOut) {
      const NatVar i = NatVar::index("i", Nat(whole));
      to.push_back(
          {For{i, Nat(whole), LoopKind::sequential, 0, Trip::any, 0, {piece(Nat(mostLanes) * Nat(i), mostLanes)}}});
      done = whole * mostLanes;
    }
    while (done < c.elements) {
      const std::int64_t rest = c.elements - done;
      std::int64_t lanes = mostLanes;
      while (lanes > rest) lanes /= 2;
      if (rest == 3) lanes = 3;
      to.push_back(piece(Nat(done), lanes));
      done += lanes;
    }
  }

  Kernel& k_;
};

}  // namespace

Kernel widenPass(Kernel kernel, const PassOptions& options) {
  if (options.lineBytes > 0) Widen(kernel).run();
  return kernel;
}

}  // namespace lift::kernel
