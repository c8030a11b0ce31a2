#include "emulator_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lift::kernel {
namespace {

// Half is a storage type: what is loaded is computed in float.
ScalarValue decode(Scalar s, const std::byte* p) {
  ScalarValue value = loadScalar(s, p);
  if (s == Scalar::f16) value.type = Scalar::f32;
  return value;
}

}  // namespace

EmulatedMemory::EmulatedMemory(const Buffer& b, std::int64_t count, std::size_t copies, std::vector<std::byte>* outside,
                               bool initialised)
    : buffer(b), count_(std::max<std::int64_t>(count, 0) * b.width), bytes_(outside != nullptr ? outside : &own_) {
  const std::size_t n = static_cast<std::size_t>(count_) * copies;
  if (outside == nullptr) own_.resize(n * info(b.scalar).bytes);
  known_.assign(n, initialised ? 1 : 0);
  if (b.space != AddressSpace::priv && b.space != AddressSpace::constant && !b.readOnly) shadows_.resize(n);
  for (std::size_t i = 0; i < b.values.size(); i++)
    storeScalar(b.scalar, own_.data() + i * info(b.scalar).bytes, b.values[i]);
}

void EmulatedMemory::forget() {
  std::ranges::fill(known_, std::uint8_t{0});
  std::ranges::fill(shadows_, Shadow{});
}

void EmulatedMemory::forgetLane(std::size_t lane) {
  const auto first = known_.begin() + static_cast<std::ptrdiff_t>(at(0, lane));
  std::fill(first, first + count_, std::uint8_t{0});
}

bool EmulatedMemory::inside(std::int64_t scalar, const char* what, EmulatedItem by, EmulatorFindings& findings) {
  if (scalar >= 0 && scalar < count_) return true;
  findings.add("bounds", buffer.name, [&] {
    return fmt::format("out of bounds: {} of {}[{}], which has {} elements, by {}", what, buffer.name, scalar, count_,
                       findings.describe(by.lane));
  });
  return false;
}

EmulatedMemory::Shadow& EmulatedMemory::shadow(std::size_t i, const EmulatorClock& now) {
  Shadow& s = shadows_[i];
  if (s.interval != now.interval(buffer.space)) {
    s.interval = now.interval(buffer.space);
    s.writer = s.reader = nobody;
    s.updates = false;
  }
  return s;
}

ScalarValue EmulatedMemory::get(std::size_t i) const {
  return decode(buffer.scalar, bytes_->data() + i * info(buffer.scalar).bytes);
}

void EmulatedMemory::race(const char* what, std::int64_t scalar, EmulatedItem by, const std::string& with,
                          EmulatorFindings& findings) const {
  findings.add("race", buffer.name, [&] {
    return fmt::format("race: {} of {}[{}] by {}, with {}", what, buffer.name, scalar, findings.describe(by.lane),
                       with);
  });
}

void EmulatedMemory::uninitialised(std::int64_t scalar, EmulatedItem by, EmulatorFindings& findings) const {
  findings.add("uninitialised", buffer.name, [&] {
    return fmt::format("uninitialised read of {}[{}] by {}", buffer.name, scalar, findings.describe(by.lane));
  });
}

ScalarValue EmulatedMemory::read(std::int64_t scalar, EmulatedItem by, const EmulatorClock& now,
                                 EmulatorFindings& findings) {
  const Scalar type = buffer.scalar == Scalar::f16 ? Scalar::f32 : buffer.scalar;
  if (!inside(scalar, "read", by, findings)) return ScalarValue::ofInteger(type, 0);
  const std::size_t i = at(scalar, by.lane);
  if (!shadows_.empty()) {
    Shadow& s = shadow(i, now);
    const auto me = static_cast<std::int64_t>(by.lane);
    if (s.writer != nobody && s.writer != me)
      race("read", scalar, by, "its writer " + findings.describe(static_cast<std::size_t>(s.writer)), findings);
    s.reader = s.reader == nobody || s.reader == me ? me : many;
    if (buffer.space == AddressSpace::global) {
      if (s.writerGroup != nobody && s.writerGroup != by.group)
        race("read", scalar, by, fmt::format("a write in group number {}", s.writerGroup), findings);
      s.readerGroup = s.readerGroup == nobody || s.readerGroup == by.group ? by.group : many;
    }
  }
  if (known_[i] == 0) {
    uninitialised(scalar, by, findings);
    return ScalarValue::ofInteger(type, 0);
  }
  return get(i);
}

void EmulatedMemory::poke(std::int64_t scalar, const ScalarValue& v) {
  const auto i = static_cast<std::size_t>(scalar);
  storeScalar(buffer.scalar, bytes_->data() + i * info(buffer.scalar).bytes, v);
  if (!known_.empty()) known_[i] = 1;
}

void EmulatedMemory::update(std::int64_t scalar, const std::function<ScalarValue(const ScalarValue&)>& next,
                            EmulatedItem by, const EmulatorClock& now, EmulatorFindings& findings) {
  if (!inside(scalar, "update", by, findings)) return;
  Shadow& s = shadow(at(scalar, by.lane), now);
  const auto me = static_cast<std::int64_t>(by.lane);
  if (s.reader != nobody && s.reader != me) race("update", scalar, by, "a reader", findings);
  if (!s.updates && s.writer != nobody && s.writer != me)
    race("update", scalar, by, "the writer " + findings.describe(static_cast<std::size_t>(s.writer)), findings);
  if (buffer.space == AddressSpace::global) {
    if (!s.everUpdates && s.writerGroup != nobody && s.writerGroup != by.group)
      race("update", scalar, by, fmt::format("a write in group number {}", s.writerGroup), findings);
    if (s.readerGroup != nobody && s.readerGroup != by.group)
      race("update", scalar, by, "a read in another group", findings);
    s.everUpdates = s.everUpdates || s.writerGroup == nobody;
    s.writerGroup = s.writerGroup == nobody || s.writerGroup == by.group ? by.group : many;
  }
  s.updates = s.updates || s.writer == nobody;
  s.writer = me;
  if (known_[at(scalar, by.lane)] == 0) uninitialised(scalar, by, findings);
  poke(scalar, next(peek(scalar)));
}

void EmulatedMemory::write(std::int64_t scalar, const ScalarValue& v, EmulatedItem by, const EmulatorClock& now,
                           EmulatorFindings& findings, bool allowUniform) {
  if (!inside(scalar, "write", by, findings)) return;
  const std::size_t i = at(scalar, by.lane);
  std::byte* p = bytes_->data() + i * info(buffer.scalar).bytes;
  if (!shadows_.empty()) {
    Shadow& s = shadow(i, now);
    const auto me = static_cast<std::int64_t>(by.lane);
    const bool others = s.writer != nobody && s.writer != me;
    const bool otherGroup = s.writerGroup != nobody && s.writerGroup != by.group;
    bool same = false;
    if (allowUniform && (others || otherGroup)) {
      std::byte next[8];
      storeScalar(buffer.scalar, next, v);
      same = std::memcmp(next, p, info(buffer.scalar).bytes) == 0;
    }
    if (others && !same)
      race("write", scalar, by, "the writer " + findings.describe(static_cast<std::size_t>(s.writer)), findings);
    if (s.reader != nobody && s.reader != me)
      race("write", scalar, by,
           s.reader == many ? std::string("several readers")
                            : "the reader " + findings.describe(static_cast<std::size_t>(s.reader)),
           findings);
    s.writer = me;
    if (buffer.space == AddressSpace::global) {
      if (otherGroup && !same)
        race("write", scalar, by, fmt::format("a write in group number {}", s.writerGroup), findings);
      if (s.readerGroup == many || (s.readerGroup != nobody && s.readerGroup != by.group))
        race("write", scalar, by, "a read in another group", findings);
      s.writerGroup = by.group;
    }
  }
  known_[i] = 1;
  storeScalar(buffer.scalar, p, v);
}

}  // namespace lift::kernel
