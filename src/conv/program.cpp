#include "lift/conv_program.hpp"

#include <fmt/format.h>

#include <array>

#include "lift/text.hpp"

namespace lift {
namespace {

// The part that is Listing 3: one image, one group.
std::string layerDefinition(const ConvSpec& s) {
  std::string padded = "inputData";
  if (s.padTop || s.padLeft || s.padBottom || s.padRight)
    padded = fmt::format("pad2D({}, {}, {}, {}, value = 0.0, inputData)", s.padLeft, s.padRight, s.padTop, s.padBottom);
  std::string windows = fmt::format("slide2D({}, {}, {}, {}, paddedInput)", s.extentH(), s.extentW(), s.sh, s.sw);
  if (s.dilatesRows() || s.dilatesColumns()) {
    const std::string row = s.dilatesColumns() ? fmt::format("join(slide(1, {}, row))", s.dw + 1) : "row";
    const std::string rows = s.dilatesRows() ? fmt::format("join(slide(1, {}, window))", s.dh + 1) : "window";
    windows = fmt::format("map2D(fun window => map(fun row => {}, {}), {})", row, rows, windows);
  }
  return fmt::format(R"(def convLayer(kernelsWeights, kernelsBiases, inputData) =
  let paddedInput = {} in
  let slidingWindows = {} in
  map2D(fun slidingWindow =>
      map(fun (singleKernelWeights, singleKernelBias) =>
          reduce(init = singleKernelBias, f = fun (acc, (x, w)) => acc + x * w,
            zip(join(join(slidingWindow)), join(join(singleKernelWeights)))),
        zip(kernelsWeights, kernelsBiases)),
    slidingWindows)
)",
                     padded, windows);
}

// Groups: channels are the outer dimension of input, weights and output in turn.
std::string imageDefinition(const ConvSpec& s) {
  if (s.groups == 1) return "def convImage(weights, biases, image) = convLayer(weights, biases, image)\n";
  return fmt::format(R"(
def convImage(weights, biases, image) =
  let imageGroups = transpose(map(transpose, map2D(split({}), image))) in
  zip(imageGroups, split({}, weights), split({}, biases))
  |> map(fun (imageGroup, weightGroup, biasGroup) => convLayer(weightGroup, biasGroup, imageGroup))
  |> transpose
  |> map(transpose)
  |> map2D(join)
)",
                     s.icPerGroup(), s.ocPerGroup(), s.ocPerGroup());
}

// The permutation of a tensor of natural layout to the other one, or back.
Program permutation(const std::string& name, Type natural, Layout other, bool toNatural) {
  std::array<std::string, 4> n;  // the natural dimensions
  for (std::string& size : n) {
    size = natural.length().str();
    natural = natural.element();
  }
  const std::string_view t = info(scalarOf(natural)).name;
  if (const std::int64_t block = blockOf(other); block > 1) {
    const std::string text = toNatural ? fmt::format(
                                             "def natural({0}: [{1}][{4} / {5}][{2}][{3}][{5}]{6}) = "
                                             "map(fun x => map2D(join, map(transpose, transpose(x))), {0})",
                                             name, n[0], n[1], n[2], n[3], block, t)
                                       : fmt::format(
                                             "def other({0}: [{1}][{2}][{3}][{4}]{6}) = "
                                             "map(fun x => transpose(map(transpose, map2D(split({5}), x))), {0})",
                                             name, n[0], n[1], n[2], n[3], block, t);
    return parseProgram(*addSource("<layout>", text));
  }
  const std::string text =
      toNatural
          ? fmt::format("def natural({0}: [{1}][{4}][{2}][{3}]{5}) = map(fun x => map(transpose, transpose(x)), {0})",
                        name, n[0], n[1], n[2], n[3], t)
          : fmt::format("def other({0}: [{1}][{2}][{3}][{4}]{5}) = map(fun x => transpose(map(transpose, x)), {0})",
                        name, n[0], n[1], n[2], n[3], t);
  return parseProgram(*addSource("<layout>", text));
}

std::string programText(const ConvSpec& s, Scalar elements) {
  return fmt::format(R"(-- {0}
{1}{2}
def conv(weights: [{4}][{5}][{6}][{7}]{3}, biases: [{4}]{3}, input: [{8}][{9}][{10}][{11}]{3}): [{8}][{12}][{13}][{4}]{3} =
  map(fun image => convImage(weights, biases, image), input)
)",
                     s.str(), layerDefinition(s), imageDefinition(s), info(elements).name, s.oc, s.kh, s.kw,
                     s.icPerGroup(), s.batch, s.ih, s.iw, s.ic, s.oh, s.ow);
}

}  // namespace

Program convProgram(const ConvSpec& spec, Scalar elements) {
  return parseProgram(*addSource("<conv " + spec.str() + ">", programText(spec, elements)), "conv");
}

Program withLayouts(Program program, const ConvLayouts& layouts) {
  for (Expr& parameter : program.parameters) {
    const bool isInput = parameter.name() == "input", isWeights = parameter.name() == "weights";
    if (!(isInput && layouts.input != Layout::nhwc) && !(isWeights && layouts.weights != Layout::ohwi)) continue;
    const Program from =
        permutation(parameter.name(), parameter.type(), isInput ? layouts.input : layouts.weights, true);
    program.body = substitute(program.body, parameter, from.body);
    parameter = from.parameters[0];
  }
  if (layouts.output != Layout::nhwc) {
    const Program to = permutation("out", program.body.type(), layouts.output, false);
    program.body = substitute(to.body, to.parameters[0], program.body);
  }
  return program;
}

}  // namespace lift
