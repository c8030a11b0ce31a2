// Workloads of the operators of opset.hpp: drawn at random, and the cases of shapes/flextensor made small.
#pragma once

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "lift/conv_operator.hpp"
#include "lift/device.hpp"
#include "lift/opset.hpp"

namespace lift::opsets {

struct Case {
  std::string op, descriptor;

  Workload workload() const {
    if (op == "conv") return convWorkload(parseConv(descriptor));
    for (const Operator& o : tensorOperators())
      if (o.name == op) return o.parse(descriptor);
    throw InternalError("no operator " + op);
  }
};

// A legal descriptor of the operator, of small odd sizes.
Case drawn(const std::string& op, std::mt19937_64& random);

// The cases of one of the lists, as they are or made small: channels at most 4 in each of at most 3 groups, images 9
// rows and columns and 4 planes, lines of one dimension and sides of matrices 21; kernels, strides, paddings and
// dilations as they are.
std::vector<Case> listed(const std::string& list, bool small);
const std::vector<std::pair<std::string, int>>& lists();  // and how many cases each has

// The error of a family on a device beside the tolerance.
struct Judged {
  double error, tolerance;
  bool ok() const { return error <= tolerance; }
};
Judged judge(const Workload& workload, const std::string& family, runtime::Device& device);

}  // namespace lift::opsets
