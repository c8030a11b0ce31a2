// The table of primitives: one row each; checker, printer, interpreter, code generator and documentation read it.
//
// A primitive takes sizes first (kind `nat`), perhaps an index function (kind `index`), then data and functions, the
// array it works on last, so that partial applications pipe: `xs |> split(4) |> map(f)`. Functions of several
// arguments take a tuple.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lift/ops.hpp"

namespace lift {

enum class Prim : std::uint8_t {
  // functional: computation
  map,
  reduce,
  scan,
  scanExclusive,
  reduceByIndex,
  iterate,
  iterateWhile,
  ifThenElse,
  let,
  id,
  generate,
  vectorize,
  // functional: data layout
  zip,
  unzip,
  tuple,
  get,
  arrayOf,
  split,
  join,
  slide,
  slideStrict,
  pad,
  padClamp,
  padMirror,
  padWrap,
  transpose,
  reorder,
  concat,
  take,
  drop,
  at,
  asVector,
  asScalar,
  // values
  op,
  convert,
  splat,
  dot,
  // OpenCL
  mapGlb,
  mapWrg,
  mapLcl,
  mapSeq,
  mapSeqUnroll,
  reduceSeq,
  reduceSeqUnroll,
  scanSeq,
  scanExclusiveSeq,
  toGlobal,
  toLocal,
  toPrivate,
};
inline constexpr int primCount = static_cast<int>(Prim::toPrivate) + 1;

enum class Dialect : std::uint8_t { functional, opencl, scalar };

struct PrimInfo {
  Prim prim;
  std::string_view name;
  // Type scheme as text: "split(k: nat, in: [n]t): [n / k][k]t where k | n". Lower-case free names are type variables
  // where a type stands and sizes where a size stands. Rows marked variadic (zip, unzip, tuple, arrayOf, get,
  // vectorize, op, convert) show a typical instance; their typing is a function in the checker.
  std::string_view scheme;
  Dialect dialect;
  std::string_view meaning;
};
const PrimInfo& info(Prim prim);
std::optional<Prim> primNamed(std::string_view name);

// Whether the primitive only rearranges or names data, so that its result is where its arguments are; map, let and
// generate do as far as their functions do.
bool movesData(Prim prim);

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
