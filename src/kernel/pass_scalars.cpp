// Scalar replacement: private arrays whose every index is constant become one variable per element.
#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "lift/kernel_walk.hpp"
#include "pass_list.hpp"

namespace lift::kernel {
namespace {

struct Array {
  bool allocated = false;
  std::string obstacle;  // why it stays in memory; empty when it does not
  int width = 0;         // of the variables: the array's, or that of its accesses when they are all alike and aligned
  std::map<std::int64_t, VarId> element;  // by index / width (in scalars, unless the array has vector elements)
};

class Scalars {
 public:
  Scalars(Kernel& k, const PassOptions& options) : k_(k), options_(options), arrays_(k.buffers.size()) {}

  void run() {
    forEachStmt(k_.body, [&](const Stmt& s) {
      if (const auto* a = as<Allocate>(s)) arrays_[a->buffer].allocated = true;
      forEachAccess(s, [&](BufferId b, Nat index, int width, bool) { access(b, index, width); });
    });
    for (BufferId b = 0; b < arrays_.size(); b++) decide(b);
    k_.body = block(k_.body);
  }

 private:
  struct Access {
    Nat index;
    int width;
  };

  void access(BufferId b, Nat index, int width) {
    if (k_.buffers[b].space == AddressSpace::priv && arrays_[b].obstacle.empty()) {
      if (!index.constant())
        arrays_[b].obstacle = "index " + index.str() + " is not constant";
      else
        accesses_[b].push_back({index, width});
    }
  }

  void decide(BufferId b) {
    Array& array = arrays_[b];
    if (!array.allocated) return;
    const Buffer& buffer = k_.buffers[b];
    const auto n = buffer.count.constant();
    if (array.obstacle.empty()) {
      if (!n)
        array.obstacle = "its size is not constant";
      else if (*n > options_.scalarLimit)
        array.obstacle = fmt::format("{} elements exceed the limit of {}", *n, options_.scalarLimit);
      else if (buffer.scalar == Scalar::f16)
        array.obstacle = "half is a storage type";
    }
    if (array.obstacle.empty()) {
      array.width = buffer.width;
      const auto& list = accesses_[b];
      if (buffer.width == 1 && !list.empty()) {
        const int w = list[0].width;
        bool aligned = w > 1 && *n % w == 0;
        for (const Access& a : list) aligned = aligned && a.width == w && *a.index.constant() % w == 0;
        if (aligned) array.width = w;
      }
      for (const Access& a : list) {
        const std::int64_t at = *a.index.constant();
        const std::int64_t length = buffer.width > 1 ? 1 : a.width;
        if (at < 0 || at + length > *n) array.obstacle = fmt::format("index {} is out of bounds", at);
      }
    }
    if (!array.obstacle.empty()) {
      note(options_, "scalars", buffer.name + " stays in memory: " + array.obstacle);
      return;
    }
    const std::int64_t unit = buffer.width > 1 ? 1 : array.width;
    for (const Access& a : accesses_[b])
      for (std::int64_t i = 0; i < (buffer.width > 1 ? 1 : a.width); i += unit)
        array.element.emplace((*a.index.constant() + i) / unit, 0);
    const Scalar scalar = buffer.scalar;
    const std::string name = buffer.name;
    const bool single = *n == unit;
    for (auto& [i, v] : array.element)
      v = addVariable(k_, single ? name : fmt::format("{}_{}", name, i), {scalar, array.width});
  }

  const Array* replaced(BufferId b) const {
    return arrays_[b].allocated && arrays_[b].obstacle.empty() ? &arrays_[b] : nullptr;
  }
  bool split(BufferId b, int accessWidth) const { return k_.buffers[b].width == 1 && arrays_[b].width != accessWidth; }

  ExprPtr expr(const ExprPtr& e) {
    const auto* l = as<Load>(e);
    if (l == nullptr) return mapChildren(e, [&](const ExprPtr& c) { return expr(c); });
    const Array* array = replaced(l->buffer);
    if (array == nullptr) return e;
    const std::int64_t at = *l->index.constant();
    const ValueType type{e->type.scalar, array->width};
    if (!split(l->buffer, e->type.width))
      return ref(array->element.at(k_.buffers[l->buffer].width > 1 ? at : at / array->width), type);
    std::vector<ExprPtr> lanes;
    for (int i = 0; i < e->type.width; i++) lanes.push_back(ref(array->element.at(at + i), type));
    return makeVector(std::move(lanes));
  }

  Block block(const Block& from) {
    Block to;
    for (const Stmt& s : from) {
      if (const auto* a = as<Allocate>(s)) {
        if (const Array* array = replaced(a->buffer)) {
          for (const auto& [i, v] : array->element) to.push_back({Declare{v, {}}});
          continue;
        }
      }
      if (const auto* st = as<Store>(s)) {
        if (const Array* array = replaced(st->buffer)) {
          assign(*array, *st, to);
          continue;
        }
      }
      to.push_back(s);
      mapRoots(to.back(), [&](const ExprPtr& e) { return expr(e); });
      forEachBlock(to.back(), [&](Block& inner) { inner = block(inner); });
    }
    return to;
  }

  void assign(const Array& array, const Store& st, Block& to) {
    const ExprPtr value = expr(st.value);
    const std::int64_t at = *st.index.constant();
    if (!split(st.buffer, value->type.width)) {
      const bool vectors = k_.buffers[st.buffer].width > 1;
      to.push_back({Assign{array.element.at(vectors ? at : at / array.width), value}});
      return;
    }
    // The value may read what is assigned: evaluate it first.
    const VarId whole = addVariable(k_, k_.buffers[st.buffer].name + "_v", value->type);
    to.push_back({Declare{whole, value}});
    for (int i = 0; i < value->type.width; i++)
      to.push_back({Assign{array.element.at(at + i), lane(ref(whole, value->type), i)}});
  }

  Kernel& k_;
  const PassOptions& options_;
  std::vector<Array> arrays_;
  std::unordered_map<BufferId, std::vector<Access>> accesses_;
};

}  // namespace

Kernel scalarsPass(Kernel kernel, const PassOptions& options) {
  Scalars(kernel, options).run();
  return kernel;
}

}  // namespace lift::kernel
