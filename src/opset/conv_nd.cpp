// Convolutions in one to three dimensions and their transposes as 2D convolutions between other layouts, so that all of
// its families are theirs. Nothing is computed twice, and nothing is stored that is only rearranged.
//
// A transposed convolution of stride s gives, for every remainder r of an output's place divided by s, an ordinary
// convolution of stride 1 by every s-th tap from r on, in reverse, whose results are interleaved. The K mod s first
// ones have a tap more than the others: these and those are a convolution each, for every axis, all written into one
// result. With dilation the remainders' taps start at different places; then zeros are put between the inputs instead,
// and the stride is 1.
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
  std::int64_t step = 1;        // between the taps of one kernel
  std::int64_t remainder = 0;   // the first of those that it gives the outputs of
  std::int64_t remainders = 1;  // each has kernels of its own
  std::int64_t zeros = 0;       // between inputs
  std::int64_t offset = 0;      // of the first output among the interleaved results
  bool reversed = false;        // the taps
};

// `apart`: of a transposed axis one for every number of taps that remainders have, unless some have none.
std::vector<AxisPlan> plansOf(const ConvAxis& a, bool transposed, bool apart) {
  AxisPlan plan;
  plan.inner = a;
  if (!transposed) return {plan};
  plan.reversed = true;
  ConvAxis& inner = plan.inner;
  inner.stride = 1;
  if (a.stride > 1 && a.dilation > 0) {
    plan.zeros = a.stride - 1;
    inner.in = (a.in - 1) * a.stride + 1;
  } else {
    plan.step = a.stride;
  }
  const std::int64_t first = a.padStart / plan.step, last = (a.out - 1 + a.padStart) / plan.step;
  plan.offset = a.padStart % plan.step;
  inner.out = last - first + 1;
  const auto withTaps = [&](std::int64_t taps, std::int64_t remainder, std::int64_t remainders) {
    AxisPlan p = plan;
    p.remainder = remainder;
    p.remainders = remainders;
    p.inner.kernel = taps;
    p.inner.padStart = p.inner.extent() - 1 - first;
    p.inner.padEnd = p.inner.out - 1 + p.inner.extent() - p.inner.in - p.inner.padStart;
    return p;
  };
  const std::int64_t taps = a.kernel / plan.step, longer = a.kernel % plan.step;
  if (longer == 0) return {withTaps(taps, 0, plan.step)};
  if (taps == 0 || !apart) return {withTaps(taps + 1, 0, plan.step)};
  return {withTaps(taps + 1, 0, longer), withTaps(taps, longer, plan.step - longer)};
}

// One of the convolutions that it is made of.
struct ConvPlan {
  ConvNdSpec spec;
  std::array<AxisPlan, 3> axes;

  ConvSpec planes() const;  // the 2D convolution
  Program input() const;
  Program weights() const;
  Program biases() const;
  LayoutText output(std::string name) const;
  void readThrough(Program& program) const;  // its layouts
  std::int64_t remainders() const { return axes[0].remainders * axes[1].remainders * axes[2].remainders; }
};

int firstAxis(const ConvNdSpec& spec) { return 3 - spec.rank; }

ConvSpec ConvPlan::planes() const {
  const auto& [d, h, w] = axes;
  ConvSpec s;
  s.groups = spec.groups;
  s.batch = spec.batch * d.inner.out;
  s.ic = spec.ic * d.inner.kernel;
  s.oc = spec.oc * remainders();
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
  for (int axis = 0; axis < firstAxis(spec); axis++) x.split(1, x.shape()[1]);
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
  for (int axis = 0; axis < firstAxis(spec); axis++) w.split(1, w.shape()[1]);
  w.split(0, spec.ocPerGroup());  // groups, kernels
  for (int axis = 0; axis < 3; axis++) {
    const AxisPlan& plan = axes[static_cast<std::size_t>(axis)];
    const int at = 2 + 2 * axis;  // after groups, kernels, and two dimensions for each axis
    w.pad(at, 0, plan.inner.kernel * plan.step - w.shape()[static_cast<std::size_t>(at)]);
    w.split(at, plan.step);  // taps, remainders
    w.part(at + 1, plan.remainder, plan.remainders);
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
  b.repeat(1, remainders());
  b.join(0);
  return b.program();
}

// [batch * planes][rows][columns][(group, remainders, oc/g)] as [remainders of columns, rows and planes][batch][planes]
// [rows][columns][oc]
LayoutText ConvPlan::output(std::string name) const {
  const ConvSpec s = planes();
  LayoutText y(std::move(name), {s.batch, s.oh, s.ow, s.oc});
  y.split(0, axes[0].inner.out);  // batch, planes, rows, columns, channels
  y.split(4, spec.ocPerGroup());
  for (int axis = 2; axis >= 0; axis--) y.split(4, axes[static_cast<std::size_t>(axis)].remainders);
  // batch, planes, rows, columns, groups, remainders of planes, rows and columns, channels
  for (int axis = 0; axis < 3; axis++) y.move(5 + axis, 0);
  y.join(7);
  return y;
}

void ConvPlan::readThrough(Program& program) const {
  for (const Program& layout : {input(), weights(), biases()}) opset::readThrough(program, layout);
}

// The convolutions, and their results as [batch][out…][oc]: of every axis those of all remainders are put together.
struct Whole {
  Whole(const ConvNdSpec& s, bool apart) : spec(s), out(results(0, apart)) {
    for (int axis = 0; axis < firstAxis(spec); axis++) out.join(1);
  }

  ConvNdSpec spec;
  std::vector<ConvPlan> plans;
  LayoutText out;  // of out0, out1, …

 private:
  // [remainders of the axes before it, the last one first][batch][planes][rows][columns][oc]
  LayoutText results(std::size_t axis, bool apart) {
    if (axis == 3) {
      plans.push_back({spec, chosen_});
      return plans.back().output(fmt::format("out{}", plans.size() - 1));
    }
    std::optional<LayoutText> all;
    for (const AxisPlan& plan : plansOf(spec.axes[axis], spec.transposed, apart)) {
      chosen_[axis] = plan;
      all ? all->append(results(axis + 1, apart)) : void(all = results(axis + 1, apart));
    }
    const int at = 2 * static_cast<int>(axis) + 1;  // the axis, when its remainders stand behind it
    all->move(0, at + 1);
    all->join(at);
    all->resultPart(at, chosen_[axis].offset, spec.axes[axis].out);
    return *all;
  }

  std::array<AxisPlan, 3> chosen_;
};

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

// Whether remainders with unlike numbers of taps should be apart. Together their kernels share the inputs, which few
// kernels need, and Winograd's algorithms save more than the zeros cost. Parts are recognised in two dimensions, where
// the operator is registered.
bool paysApart(const ConvNdSpec& spec, const Workload& together) {
  constexpr std::int64_t fewest = 32;
  const bool isRecognised =
      spec.rank < 3 && std::ranges::any_of(operators(), [&](const Operator& op) { return op.name == together.op; });
  return spec.transposed && isRecognised && spec.ocPerGroup() >= fewest &&
         !together.families.front().name.starts_with("winograd");
}

}  // namespace

Workload convNdWorkload(const ConvNdSpec& spec) {
  Whole whole(spec, false);
  Workload w = convWorkload(whole.plans[0].planes());
  if (paysApart(spec, w)) whole = Whole(spec, true);
  const std::vector<ConvPlan>& plans = whole.plans;
  const Program output = whole.out.program();
  if (plans.size() == 1) {
    w.outer = [plan = plans[0], output](const Program& program) {
      Program outer = program;
      plan.readThrough(outer);
      opset::writeThrough(outer, output);
      return outer;
    };
  } else {  // parts of a program, each of the families of its own convolution
    Program program = output;
    program.name = "deconv";
    for (std::size_t i = 0; i < plans.size(); i++) {
      Program one = convProgram(plans[i].planes());
      plans[i].readThrough(one);
      if (i == 0) program.parameters = one.parameters;
      for (std::size_t p = 0; p < one.parameters.size(); p++)
        one.body = substitute(one.body, one.parameters[p], program.parameters[p]);
      program.body = substitute(program.body, output.parameters[i], one.body);
    }
    const Workload ofOne = std::move(w);
    w = programWorkload(program, ofOne.tolerance);  // of the longest sums
    w.constants = ofOne.constants;
    w.finiteMath = ofOne.finiteMath;
    w.judgedRows = {};
  }
  w.op = spec.transposed ? "deconv" : "conv3d";
  w.descriptor = spec.str();
  w.label = spec.name;
  w.operations = spec.operations();
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
