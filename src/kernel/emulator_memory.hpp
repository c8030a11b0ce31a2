// Memory that remembers who touched what, and the list of what was found.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lift/emulator.hpp"

namespace lift::kernel {

class EmulatorFindings {
 public:
  EmulatorFindings(std::size_t most, EmulatorReport& report) : most_(most), report_(report) {}

  std::function<std::string(std::size_t lane)> describe;

  // A few of each kind and subject are listed; the text is only made for those.
  template <class F>
  void add(const char* kind, const std::string& subject, F&& text) {
    int& n = seen_[std::string(kind) + '/' + subject];
    if (n >= 3 || report_.findings.size() >= most_) {
      report_.suppressed++;
      return;
    }
    n++;
    report_.findings.push_back(text());
  }

 private:
  std::size_t most_;
  EmulatorReport& report_;
  std::unordered_map<std::string, int> seen_;
};

// Intervals between barriers, numbered separately for the two memories that a barrier may fence.
class EmulatorClock {
 public:
  void startGroup() { barrier(true, true); }
  void barrier(bool local, bool global) {
    next_++;
    if (local) local_ = next_;
    if (global) global_ = next_;
  }
  std::uint64_t interval(AddressSpace s) const { return s == AddressSpace::global ? global_ : local_; }

 private:
  std::uint64_t next_ = 0, local_ = 0, global_ = 0;
};

struct EmulatedItem {
  std::size_t lane;    // in its group
  std::int64_t group;  // number of its group
};

class EmulatedMemory {
 public:
  // `outside` is where the contents live, or null for memory of our own; `copies` is the number of work-items for
  // private arrays.
  EmulatedMemory(const Buffer& b, std::int64_t count, std::size_t copies, std::vector<std::byte>* outside,
                 bool initialised);

  const Buffer& buffer;

  ScalarValue read(std::int64_t scalar, EmulatedItem by, const EmulatorClock& now, EmulatorFindings& findings);
  void write(std::int64_t scalar, const ScalarValue& v, EmulatedItem by, const EmulatorClock& now,
             EmulatorFindings& findings, bool allowUniform);
  // What `next` makes of the element, at once, as atomic operations do: others may do the same.
  void update(std::int64_t scalar, const std::function<ScalarValue(const ScalarValue&)>& next, EmulatedItem by,
              const EmulatorClock& now, EmulatorFindings& findings);
  // Without checks.
  ScalarValue peek(std::int64_t scalar) const { return get(static_cast<std::size_t>(scalar)); }
  void poke(std::int64_t scalar, const ScalarValue& v);
  void forget();
  void forgetLane(std::size_t lane);

 private:
  static constexpr std::int64_t nobody = -1, many = -2;
  // Who touched an element since the last barrier, and which groups ever did.
  struct Shadow {
    std::uint64_t interval = 0;
    std::int64_t writer = nobody, reader = nobody;
    std::int64_t writerGroup = nobody, readerGroup = nobody;
    bool updates = false, everUpdates = false;  // all that wrote it did so by `update`
  };

  bool inside(std::int64_t scalar, const char* what, EmulatedItem by, EmulatorFindings& findings);
  std::size_t at(std::int64_t scalar, std::size_t lane) const {
    return static_cast<std::size_t>(scalar) +
           (buffer.space == AddressSpace::priv ? lane * static_cast<std::size_t>(count_) : 0);
  }
  Shadow& shadow(std::size_t i, const EmulatorClock& now);
  ScalarValue get(std::size_t i) const;
  void uninitialised(std::int64_t scalar, EmulatedItem by, EmulatorFindings& findings) const;
  void race(const char* what, std::int64_t scalar, EmulatedItem by, const std::string& with,
            EmulatorFindings& findings) const;

  std::int64_t count_;  // scalars, per copy
  std::vector<std::byte> own_;
  std::vector<std::byte>* bytes_;
  std::vector<std::uint8_t> known_;
  std::vector<Shadow> shadows_;
};

}  // namespace lift::kernel
