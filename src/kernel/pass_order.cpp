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

  // Statements [from, end): stores, by place, and names of values.
  struct Run {
    std::vector<Place> places;
    Block names;
    std::size_t end = 0;

    bool isOrdered() const { return std::ranges::is_sorted(places, {}, &Place::offset); }
    // Of stores to one place the last one stays the last.
    void order() { std::ranges::stable_sort(places, {}, &Place::offset); }
    // When ordered: whether there is no gap.
    bool isWhole() const { return places.back().offset - places.front().offset + 1 == std::ssize(places); }
  };

  static bool reads(const Expr& value, BufferId buffer) {
    return anyExpr<Load>(value, [&](const Load& l) { return l.buffer == buffer; });
  }

  bool readsWhatIsWritten(const Expr& value) const {
    return anyExpr<Load>(value, [&](const Load& l) { return !k_.buffers[l.buffer].readOnly; });
  }

  // Whether the statement only names a value, which may be named before stores to the buffer in front of it; of what
  // only memory that nothing writes gives, or of all.
  bool isName(const Stmt& s, BufferId stored, bool ofAll) const {
    const auto* d = as<Declare>(s);
    return d != nullptr && d->value && !(ofAll ? reads(**d->value, stored) : readsWhatIsWritten(**d->value));
  }

  Run runFrom(const Block& b, std::size_t from, const Store& first, bool ofAll) const {
    Run run;
    for (run.end = from; run.end < b.size(); run.end++)
      if (const auto place = placeOf(b[run.end], first))
        run.places.push_back(*place);
      else if (isName(b[run.end], first.buffer, ofAll))
        run.names.push_back(b[run.end]);
      else
        break;
    return run;
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
      std::optional<Run> run;
      if (first != nullptr && mayBeOrdered(*first) && placeOf(b[i], *first)) {
        // Parts of lines that lie one behind the other stay in the cache; values that wait for later ones take
        // registers.
        run = runFrom(b, i, *first, /*ofAll=*/true);
        if (auto ordered = *run; ordered.order(), ordered.isWhole()) run = runFrom(b, i, *first, /*ofAll=*/false);
      }
      if (!run || run->isOrdered()) {
        for (const std::size_t end = run ? run->end : i + 1; i < end; i++) {
          forEachBlock(b[i], [&](Block& inner) { block(inner); });
          to.push_back(std::move(b[i]));
        }
        continue;
      }
      run->order();
      for (Stmt& s : run->names) to.push_back(std::move(s));
      store(run->places, to);
      i = run->end;
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
