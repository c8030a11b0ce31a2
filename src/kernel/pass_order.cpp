// Stores of scalars that follow each other, but not in the order of memory, are put in that order, and those at
// neighbouring places become vectors. So a tile of pixels by channels that is stored with its channels far apart (nchw)
// writes each cache line at once, where else the lines of its channels displace each other between two pixels.
#include <algorithm>

#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

class Order {
 public:
  // Vectors of at most so many lanes.
  Order(Kernel& k, std::size_t mostLanes) : k_(k), mostLanes_(mostLanes) {}
  void run() { block(k_.body); }

 private:
  struct Place {
    Store store;
    std::int64_t offset = 0;  // from the first store of the run
  };

  bool readsWhatIsWritten(const Expr& value) const {
    return anyExpr<Load>(value, [&](const Load& l) { return !k_.buffers[l.buffer].readOnly; });
  }

  // Whether the statement only names a value, which may be named before the stores in front of it.
  bool isName(const Stmt& s) const {
    const auto* d = as<Declare>(s);
    return d != nullptr && d->value && !readsWhatIsWritten(**d->value);
  }

  // The store, as one of the run that begins with `first`.
  std::optional<Place> placeOf(const Stmt& s, const Store& first) const {
    const auto* store = as<Store>(s);
    if (store == nullptr || store->update || store->buffer != first.buffer || store->value->type.width != 1)
      return std::nullopt;
    if (readsWhatIsWritten(*store->value)) return std::nullopt;
    const auto offset = (store->index - first.index).constant();
    return offset ? std::optional(Place{*store, *offset}) : std::nullopt;
  }

  void block(Block& b) {
    Block to;
    for (std::size_t i = 0; i < b.size();) {
      const auto* first = as<Store>(b[i]);
      std::vector<Place> places;
      Block names;
      std::size_t end = i;
      for (; first != nullptr && end < b.size(); end++)
        if (const auto place = placeOf(b[end], *first))
          places.push_back(*place);
        else if (isName(b[end]))
          names.push_back(b[end]);
        else
          break;
      const auto before = [](const Place& x, const Place& y) { return x.offset < y.offset; };
      if (first == nullptr || std::ranges::is_sorted(places, before) || !mayBeOrdered(*first)) {
        for (end = std::max(end, i + 1); i < end; i++) {
          forEachBlock(b[i], [&](Block& inner) { block(inner); });
          to.push_back(std::move(b[i]));
        }
        continue;
      }
      std::ranges::stable_sort(places, before);  // of stores to one place the last one stays the last
      for (Stmt& s : names) to.push_back(std::move(s));
      store(places, to);
      i = end;
    }
    b = std::move(to);
  }

  bool mayBeOrdered(const Store& s) const {
    const Buffer& b = k_.buffers[s.buffer];
    return !s.update && b.space == AddressSpace::global && !b.isImage && b.width == 1 &&
           b.scalar == s.value->type.scalar && b.scalar != Scalar::boolean;
  }

  void store(const std::vector<Place>& places, Block& to) const {
    for (std::size_t i = 0; i < places.size();) {
      std::size_t neighbours = 1;
      while (neighbours < mostLanes_ && i + neighbours < places.size() &&
             places[i + neighbours].offset == places[i].offset + static_cast<std::int64_t>(neighbours))
        neighbours++;
      std::size_t lanes = 1;
      while (2 * lanes <= neighbours) lanes *= 2;
      Store all = places[i].store;
      if (lanes > 1) {
        std::vector<ExprPtr> values;
        for (std::size_t l = 0; l < lanes; l++) values.push_back(places[i + l].store.value);
        all.value = makeVector(std::move(values));
      }
      to.push_back({std::move(all)});
      i += lanes;
    }
  }

  Kernel& k_;
  const std::size_t mostLanes_;
};

}  // namespace

Kernel orderPass(Kernel kernel, const PassOptions& options) {
  Order(kernel, options.joinVectors ? 1 : 16).run();  // where vectors have to be aligned, the pass `join` makes them
  return kernel;
}

}  // namespace lift::kernel
