// Convolutions in one to three dimensions and their transposes as 2D convolutions between other layouts, so that all of
// its families are theirs. Nothing is computed twice, and nothing is stored that is only rearranged.
//
// A transposed convolution of stride s gives, for every remainder r of an output's place divided by s, an ordinary
// convolution of stride 1 by every s-th tap from r on, in reverse: those are s kernels of ceil(K / s) taps, whose
// results are interleaved. With dilation the remainders' taps start at different places; then zeros are put between
// the inputs instead, and the stride is 1.
//
// A convolution in three dimensions is one in two of more channels: those of the planes that a window reads, for every
// plane of the output, as an image of its own.
#include <fmt/format.h>

#include <algorithm>

#include "layout_text.hpp"
#include "lift/conv_operator.hpp"
#include "lift/conv_program.hpp"
#include "lift/opset.hpp"

namespace lift {

namespace {

using opset::LayoutText;

// How an axis of the convolution becomes one of an ordinary convolution.
struct AxisPlan {
  ConvAxis inner;               // its padding may be negative: input that no window reads
  std::int64_t remainders = 1;  // of outputs; each has kernels of its own
  std::int64_t zeros = 0;       // between inputs
  std::int64_t offset = 0;      // of the first output among the interleaved results
  bool reversed = false;        // the taps
};

AxisPlan planOf(const ConvAxis& a, bool transposed) {
  AxisPlan plan;
  plan.inner = a;
  if (!transposed) return plan;
  plan.reversed = true;
  ConvAxis& inner = plan.inner;
  inner.stride = 1;
  if (a.stride > 1 && a.dilation > 0) {
    plan.zeros = a.stride - 1;
    inner.in = (a.in - 1) * a.stride + 1;
  } else {
    plan.remainders = a.stride;
    inner.kernel = (a.kernel + a.stride - 1) / a.stride;
  }
  const std::int64_t first = a.padStart / plan.remainders, last = (a.out - 1 + a.padStart) / plan.remainders;
  plan.offset = a.padStart % plan.remainders;
  inner.out = last - first + 1;
  inner.padStart = inner.extent() - 1 - first;
  inner.padEnd = inner.out - 1 + inner.extent() - inner.in - inner.padStart;
  return plan;
}

struct ConvPlan {
  explicit ConvPlan(const ConvNdSpec& s) : spec(s) {
    for (std::size_t axis = 0; axis < 3; axis++) {
      axes[axis] = planOf(s.axes[axis], s.transposed);
      remainders *= axes[axis].remainders;
    }
  }

  ConvNdSpec spec;
  std::array<AxisPlan, 3> axes;
  std::int64_t remainders = 1;

  ConvSpec planes() const;  // the 2D convolution
  Program input() const;
  Program weights() const;
  Program biases() const;
  Program output() const;

 private:
  int firstAxis() const { return 3 - spec.rank; }
};

ConvSpec ConvPlan::planes() const {
  const auto& [d, h, w] = axes;
  ConvSpec s;
  s.groups = spec.groups;
  s.batch = spec.batch * d.inner.out;
  s.ic = spec.ic * d.inner.kernel;
  s.oc = spec.oc * remainders;
  s.padTop = std::max<std::int64_t>(0, h.inner.padStart);
  s.padBottom = std::max<std::int64_t>(0, h.inner.padEnd);
  s.padLeft = std::max<std::int64_t>(0, w.inner.padStart);
  s.padRight = std::max<std::int64_t>(0, w.inner.padEnd);
  const auto cropped = [](const ConvAxis& a) {
    return a.in + std::min<std::int64_t>(0, a.padStart) + std::min<std::int64_t>(0, a.padEnd);
  };
  s.ih = spec.transposed ? cropped(h.inner) : h.inner.in;
  s.iw = spec.transposed ? cropped(w.inner) : w.inner.in;
  s.oh = h.inner.out;
  s.ow = w.inner.out;
  s.kh = h.inner.kernel;
  s.kw = w.inner.kernel;
  s.sh = h.inner.stride;
  s.sw = w.inner.stride;
  s.dh = h.inner.dilation;
  s.dw = w.inner.dilation;
  return s;
}

// [batch][in…][ic] as [batch * planes][rows][columns][(group, tap, channel)]
Program ConvPlan::input() const {
  LayoutText x("input", spec.inputShape());
  for (int axis = 0; axis < firstAxis(); axis++) x.split(1, x.shape()[1]);
  for (int axis = 0; axis < 3; axis++) {
    const AxisPlan& plan = axes[static_cast<std::size_t>(axis)];
    if (plan.zeros > 0) x.spread(1 + axis, plan.zeros);
    // Rows and columns are padded by the 2D convolution; those that no window reads would only be in its way.
    const auto crop = [&](std::int64_t pad) { return axis > 0 ? std::min<std::int64_t>(0, pad) : pad; };
    if (axis == 0 || spec.transposed) x.pad(1 + axis, crop(plan.inner.padStart), crop(plan.inner.padEnd));
  }
  const ConvAxis& d = axes[0].inner;
  x.windows(1, d.kernel, d.step(), d.stride);
  x.join(0);
  x.split(4, spec.icPerGroup());
  x.move(1, 4);  // the taps
  x.join(4);
  x.join(3);
  return x.program();
}

// [oc][kernel…][ic/g] as [(group, remainders, oc/g)][rows][columns][(tap, channel)]
Program ConvPlan::weights() const {
  LayoutText w("weights", spec.weightShape());
  for (int axis = 0; axis < firstAxis(); axis++) w.split(1, w.shape()[1]);
  w.split(0, spec.ocPerGroup());  // groups, kernels
  for (int axis = 0; axis < 3; axis++) {
    const AxisPlan& plan = axes[static_cast<std::size_t>(axis)];
    const int at = 2 + 2 * axis;  // after groups, kernels, and two dimensions for each axis
    w.pad(at, 0, plan.inner.kernel * plan.remainders - w.shape()[static_cast<std::size_t>(at)]);
    w.split(at, plan.remainders);  // taps, remainders
    if (plan.reversed) w.reverse(at);
  }
  for (int axis = 0; axis < 3; axis++) w.move(3 + 2 * axis, 1 + axis);  // remainders before kernels
  for (int i = 0; i < 4; i++) w.join(0);
  w.move(1, 3);  // planes
  w.join(3);
  return w.program();
}

Program ConvPlan::biases() const {
  LayoutText b("biases", {spec.oc});
  b.split(0, spec.ocPerGroup());
  b.repeat(1, remainders);
  b.join(0);
  return b.program();
}

// [batch * planes][rows][columns][(group, remainders, oc/g)] as [batch][out…][oc]
Program ConvPlan::output() const {
  const ConvSpec s = planes();
  LayoutText y("out", {s.batch, s.oh, s.ow, s.oc});
  y.split(0, axes[0].inner.out);  // batch, planes, rows, columns, channels
  y.split(4, spec.ocPerGroup());
  for (int axis = 2; axis >= 0; axis--) y.split(4, axes[static_cast<std::size_t>(axis)].remainders);
  // batch, planes, rows, columns, groups, remainders of planes, rows and columns, channels
  for (int axis = 0; axis < 3; axis++) y.move(5 + axis, 2 + 2 * axis);
  y.join(7);
  for (int axis = 2; axis >= 0; axis--) y.join(1 + 2 * axis);
  for (int axis = 0; axis < 3; axis++)
    y.resultPart(1 + axis, axes[static_cast<std::size_t>(axis)].offset, spec.axes[static_cast<std::size_t>(axis)].out);
  for (int axis = 0; axis < firstAxis(); axis++) y.join(1);
  return y.program();
}

std::map<std::string, Tensor> inputsOf(const ConvNdSpec& spec, std::uint64_t seed) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, shape] : {std::pair<const char*, std::vector<std::int64_t>>{"input", spec.inputShape()},
                                    {"weights", spec.weightShape()},
                                    {"biases", {spec.oc}}}) {
    Tensor t(Scalar::f32, shape);
    fillRandom(t, seed, name);
    tensors.emplace(name, std::move(t));
  }
  return tensors;
}

}  // namespace

Workload convNdWorkload(const ConvNdSpec& spec) {
  const ConvPlan plan(spec);
  Workload w = convWorkload(plan.planes());
  w.op = spec.transposed ? "deconv" : "conv3d";
  w.descriptor = spec.str();
  w.label = spec.name;
  w.operations = spec.operations();
  const std::vector<Program> layouts = {plan.input(), plan.weights(), plan.biases()};
  w.outer = [layouts, output = plan.output()](const Program& program) {
    Program outer = program;
    for (const Program& layout : layouts) opset::readThrough(outer, layout);
    opset::writeThrough(outer, output);
    return outer;
  };
  w.inputs = [spec](std::uint64_t seed) { return inputsOf(spec, seed); };
  w.reference = [spec](const std::map<std::string, Tensor>& in) -> std::map<std::string, Tensor> {
    return {{"out", convNdReference(spec, in.at("input"), in.at("weights"), in.at("biases"))}};
  };
  w.judge = "plain loops";
  const auto elements = [](const std::vector<std::int64_t>& shape) {
    std::int64_t n = 1;
    for (const std::int64_t size : shape) n *= size;
    return n;
  };
  w.tensorBytes =
      4 * (elements(spec.inputShape()) + elements(spec.weightShape()) + spec.oc + elements(spec.outputShape()));
  return w;
}

}  // namespace lift
