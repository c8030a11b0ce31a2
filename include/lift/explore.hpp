// Exploration without a script: programs that moves of rules derive from one program, timed on a device.
//
//   const Program program = readProgram("matrix_product.lift") at constant sizes;
//   const explore::Exploration e = explore::explore(program, *device, inputs, {.depth = 4, .candidates = 200});
//   e.ranking[0].milliseconds, e.ranking[0].derived.derivation()
//
// A move is a strategy of a few rules with its sizes from a small set: a tile, an interchange of a map with the
// reduction below it, lanes. Moves come in phases, tiles before interchanges before lanes, so that few derivations are
// tried in more than one order; programs that are equal but for names count once. Kernels are compared by what they
// load, store and compute: after each move the programs that promise most go on, and in the end they are lowered in
// several ways and run, their results held to those of the default lowering.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "lift/codegen.hpp"
#include "lift/device.hpp"
#include "lift/rewrite.hpp"

namespace lift::explore {

struct Move {
  std::string name;  // "tile 4 16"
  int phase;
  bool lanes;  // vectorises
  rewrite::Strategy strategy;
};
const std::vector<Move>& moves();

// A program on its way down, with how it came to be.
struct Derived {
  rewrite::Rewriting rewriting;
  std::vector<std::string> moves;
  int phase = 0;        // of the last move
  bool lanes = false;   // vectorised by one of them
  double estimate = 0;  // instructions of all work-items of its kernels; smaller is better

  Program program() const { return rewriting.program(); }
  const rewrite::Derivation& derivation() const { return rewriting.derivation(); }
};

struct Options {
  int depth = 4;         // moves, before lowering
  int width = 12;        // programs of one depth and phase that go on to the next, with lanes and without
  int programs = 1000;   // that are derived at most
  int candidates = 200;  // that are run at most
  // Of the whole: what is known by then is the result. Deriving takes a quarter of it at most.
  double seconds = std::numeric_limits<double>::infinity();
  std::function<bool()> stop = [] { return false; };  // asked before each program: ends the exploration
  int repetitions = 5;
  double tolerance = 1e-4;  // of results, relative to the largest
  CompileOptions compile = {};
  std::function<void(const std::string&)> progress = {};  // one line each
};

// The program in functional form and what moves make of it, each once.
std::vector<Derived> enumerate(const Program& program, const Options& options = {});

// The program with all its work placed: outer maps on work-items, the rest in loops, several ways.
std::vector<Derived> lowerings(const Derived& derived);

struct Candidate {
  Derived derived;
  kernel::Plan plan;
  double milliseconds = 0;  // median
};

struct Exploration {
  int derived = 0;                      // programs
  int run = 0;                          // candidates, of which
  int slow = 0, failed = 0, wrong = 0;  // have no time: far slower than the best, refused by the device, wrong results
  double defaultMilliseconds = 0;       // the default lowering of the program in functional form
  std::string ended;                    // why: "candidates", "time", "stopped", "all programs"
  std::vector<Candidate> ranking;       // those that ran and were right, the fastest first
};

// `program` has constant sizes. Throws UserError (device) where the default lowering does not run.
Exploration explore(const Program& program, runtime::Device& device, const std::map<std::string, Tensor>& inputs,
                    const Options& options = {});

}  // namespace lift::explore
