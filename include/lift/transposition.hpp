// Data that is moved into another order, elements that lay side by side far apart and others side by side: a
// transposition of matrices, whatever layouts say it, and what is computed of each element.
//
//   channelsFirst(image)                          // transpose([224 * 224][3]) for each image
//   map(map(fun x => f32(x) / 255.0), …)          // of it, element by element
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lift/rewrite.hpp"

namespace lift::rewrite {

struct Transposition {
  // The term as layouts of what is computed element by element of `map(fun m => transpose(m), ms)` and of other arrays
  // in its order; without the map where there is one matrix.
  Expr restated;
  Path moved;  // where that is
  Type element;
  std::int64_t batch = 1, rows = 1, columns = 1;  // ms: [batch][rows][columns]; a row lies in order in memory
  bool rowsFollow = false;                        // ms: a row begins where the one before ends
  bool columnsFollow = false;                     // the same of the result, of rows of one element of each row of ms
  bool batchInside = false;                       // in the result matrices lie between their own rows
  bool computes = false;                          // of each element that is moved more than that
};

// Of a term that is computed element by element, of known sizes. Nothing where elements that lie side by side in memory
// stay so, or no layout says how the others move: `why` says so.
std::optional<Transposition> transpositionOf(Expr term, std::string* why = nullptr);

}  // namespace lift::rewrite
