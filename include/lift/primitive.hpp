// The table of primitives: one row each; checker, printer, interpreter, code generator and documentation read it.
//
// A primitive takes sizes first (kind `nat`), perhaps an index function (kind `index`), then data and functions, the
// array it works on last, so that partial applications pipe: `xs |> split(4) |> map(f)`. Functions of several
// arguments take a tuple.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lift/ops.hpp"

namespace lift {

// The most lanes whose products dot adds one after the other. Of more lanes it adds the second half of them to the
// first, lane by lane, until so few are left.
constexpr std::size_t dotFromLeft = 4;

// clang-format off
enum class Prim : std::uint8_t {
  // functional: computation
  map, reduce, scan, scanExclusive, reduceByIndex, iterate, iterateWhile, ifThenElse, let, id, generate, vectorize,
  // functional: data layout
  zip, unzip, tuple, get, arrayOf, split, join, slide, slideStrict, pad, padClamp, padMirror, padWrap, transpose,
  reorder, concat, take, drop, at, asVector, asScalar,
  // values
  op, convert, splat, dot, anyLane,
  // OpenCL
  mapGlb, mapWrg, mapLcl, reduceLcl, reduceByIndexLcl, reduceByIndexGlb, mapSeq, mapSeqUnroll, reduceSeq,
  reduceSeqUnroll, scanSeq, scanExclusiveSeq, toGlobal, toImage, toLocal, toPrivate,
};
// clang-format on
inline constexpr int primCount = static_cast<int>(Prim::toPrivate) + 1;

enum class Dialect : std::uint8_t { functional, opencl, scalar };

// What more than one part of the compiler must know of a primitive. Nothing has a default: a row of the table that
// leaves a trait out does not compile. tests/codegen/test_traits.cpp holds them to what interpreter and compiler do.
struct Traits {
  // moved: it only rearranges or names data, so that its value is where its arguments are; map, let and generate do as
  // far as their functions do.
  enum class Data : std::uint8_t { moved, computed } data;
  // How its value gets to a place in memory: it is stored there; its arguments are written to parts of the place; its
  // argument is written through the layout that undoes it; what parallel loops compute is written as far as there are
  // places, other values are stored.
  enum class Writing : std::uint8_t { stored, inParts, inverted, cropped } writing;
  // What runs its functions: generate and iterate as often as the first size says, others for each element of the last
  // argument.
  enum class Loop : std::uint8_t { none, map, generate, reduce, scan, reduceByIndex, iterate } loop;
  // Who runs the loop: not said yet, one work-item, the work-items of a group, work-groups, all work-items.
  enum class Level : std::uint8_t { open, sequential, local, group, global } level;
  // Where its value is kept that is read and not written to a place: nowhere (each element is computed where it is
  // read, or is in registers), or in memory of its own.
  enum class Memory : std::uint8_t { none, priv, local, global } memory;
  // Scalar operations of an evaluation, those of its functions apart; `operation`: those of its Op.
  enum class Work : std::uint8_t { none, one, operation } work;
  // Which arguments an evaluation may leave out: none, all but the first, functions.
  enum class Lazy : std::uint8_t { none, branches, functions } lazy;
};

struct PrimInfo {
  Prim prim;
  std::string_view name;
  // Type scheme as text: "split(k: nat, in: [n]t): [n / k][k]t where k | n". Lower-case free names are type variables
  // where a type stands and sizes where a size stands. Rows marked variadic (zip, unzip, tuple, arrayOf, get,
  // vectorize, op, convert) show a typical instance; their typing is a function in the checker.
  std::string_view scheme;
  Dialect dialect;
  std::string_view meaning;
  Traits traits;
};
const PrimInfo& info(Prim prim);
inline const Traits& traits(Prim prim) { return info(prim).traits; }
std::optional<Prim> primNamed(std::string_view name);

inline bool movesData(Prim prim) { return traits(prim).data == Traits::Data::moved; }
// Layouts through which a result can be written: each has a layout that undoes it on the destination.
inline bool isInvertibleLayout(Prim prim) { return traits(prim).writing == Traits::Writing::inverted; }
// What is written by writing its arguments: these layouts, and what puts arrays together.
inline bool isWrittenThrough(Prim prim) {
  return traits(prim).writing == Traits::Writing::inParts || isInvertibleLayout(prim);
}
// Layouts that drop a part: through them what parallel loops compute is written (isCroppedResult).
inline bool isCrop(Prim prim) { return traits(prim).writing == Traits::Writing::cropped; }
// mapGlb, mapWrg, reduceByIndexGlb: outside of every other it is a kernel of its own.
inline bool isKernelMap(Prim prim) {
  return traits(prim).level == Traits::Level::global || traits(prim).level == Traits::Level::group;
}

// reduceLcl, reduceByIndexLcl: the work-items of a group do it together.
inline bool isByGroup(Prim prim) {
  return traits(prim).level == Traits::Level::local && traits(prim).loop != Traits::Loop::map;
}

// toGlobal, toImage: outside of every map, their values are complete in memory before a kernel reads them.
inline bool endsKernel(Prim prim) {
  return traits(prim).memory == Traits::Memory::global && traits(prim).loop == Traits::Loop::none;
}

// What an evaluation can find wrong with its data: the texts, for the interpreter and for devices.
namespace fault {
inline constexpr std::string_view index = "index {} is out of range of {} elements";
inline constexpr std::string_view division = "an integer is divided by zero";
}  // namespace fault

// Index functions of `reorder`: reorder(f, in)[i] = in[f(i)]. Each row is a permutation of 0 … n-1 with its inverse.
enum class IndexFn : std::uint8_t { reverse, stride, unstride, shift, transpose };
inline constexpr int indexFnCount = static_cast<int>(IndexFn::transpose) + 1;

struct IndexFnInfo {
  IndexFn fn;
  std::string_view name;
  int arity;                 // number of size arguments
  std::string_view formula;  // documentation: "i -> i / (n / s) + s * (i % (n / s))"
  std::string_view meaning;
};
const IndexFnInfo& info(IndexFn fn);
std::optional<IndexFn> indexFnNamed(std::string_view name);

}  // namespace lift
