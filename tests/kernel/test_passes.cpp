// The list of passes, and all of them together.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

// A direct 3x3 convolution, blocked for registers: the naive form that lowering produces.
Kernel convolution(int channels, int size, int kernels, int pixels, int vectors, int unroll) {
  Maker m("conv");
  const int padded = size + 2, h = size, blocks = channels / 16;
  const auto in = m.in("in", channels * padded * padded), w = m.in("w", kernels * channels * 9),
             bias = m.in("bias", kernels), out = m.out("out", kernels * h * h);
  const auto acc = m.priv("acc", pixels * vectors, 16), weights = m.priv("weights", vectors, 16);
  m.range({h / pixels, h, kernels / (16 * vectors)}, {1, 1, 1});
  const Nat kb = counter("kb", kernels / (16 * vectors)), y = counter("y", h), xt = counter("xt", h / pixels),
            cb = counter("cb", blocks), t = counter("t", 9), c = counter("c", 16), p = counter("p", pixels),
            v = counter("v", vectors);
  const Nat x0 = xt * pixels, sum = p * vectors + v, weight = (((kb * blocks + cb) * 9 + t) * 16 + c) * 16,
            pixel = ((cb * padded + y + t / 3) * padded + x0 + p + t % 3) * 16 + c;
  const ExprPtr product =
      operation(Op::fma, {splat(load(in, pixel), 16), load(weights, v, vec(16)), load(acc, sum, vec(16))});
  For channel = seq(c, Allocate{weights}, seq(v, Store{weights, v, load(w, weight * vectors + v * 16, vec(16))}),
                    seq(p, seq(v, Store{acc, sum, product})));
  channel.unroll = unroll;
  For tap = seq(t, channel);
  tap.unroll = 1;
  const Block tile =
      block(Allocate{acc}, seq(p, seq(v, Store{acc, sum, load(bias, (kb * vectors + v) * 16, vec(16))})), seq(cb, tap),
            seq(p, seq(v, Store{out, (((kb * vectors + v) * h + y) * h + x0 + p) * 16, load(acc, sum, vec(16))})));
  const For row = over(LoopKind::group, 1, y, block(over(LoopKind::group, 0, xt, tile)));
  m.k.body = block(over(LoopKind::group, 2, kb, block(row)));
  return m.k;
}

}  // namespace

TEST_CASE("passes: listed once, found by name") {
  CHECK(passes().size() == 25);
  for (const Pass& p : passes()) {
    CHECK(passNamed(p.name) == &p);
    CHECK(!p.description.empty());
  }
  CHECK(passNamed("nonsense") == nullptr);
  CHECK(pipeline().size() >= passes().size());
}

TEST_CASE("passes: after every pass one can look, and passes can be left out") {
  std::vector<std::string> seen;
  PassOptions options;
  options.skip = {"hoist", "barriers"};
  options.after = [&](const Pass& p, const Kernel& k) {
    verify(k);
    seen.emplace_back(p.name);
  };
  optimise(convolution(16, 4, 16, 2, 1, 1), options);
  CHECK(seen == std::vector<std::string>{
                    "trips",  "own",   "unroll",    "trips",    "simplify", "nest",   "split",    "scalars", "declare",
                    "copies", "dead",  "fuse",      "unswitch", "simplify", "dead",   "absent",   "version", "lanes",
                    "widen",  "order", "transpose", "join",     "narrow",   "stream", "prefetch", "ahead"});
}

TEST_CASE("optimise: the blocked convolution becomes what one would write by hand") {
  const Kernel k = optimise(convolution(32, 8, 64, 2, 2, 4));
  CHECK(bodyText(k) == R"(  const int kb = get_group_id(2);
  const int y = get_group_id(1);
  const int xt = get_group_id(0);
  float16 acc_0 = vload16(0, bias + 32 * kb);
  float16 acc_1 = vload16(0, bias + 32 * kb + 16);
  float16 acc_2 = vload16(0, bias + 32 * kb);
  float16 acc_3 = vload16(0, bias + 32 * kb + 16);
  __global const float* in_at = in + 32 * xt + 160 * y;
  for (int cb = 0; cb < 2; cb++) {
    __global const float* w_at = w + 4608 * cb + 9216 * kb;
    __global const float* in_at_1 = in_at + 1600 * cb;
    #pragma unroll 1
    for (int t = 0; t < 9; t++) {
      __global const float* w_at_1 = w_at + 512 * t;
      __global const float* in_at_2 = in_at_1 + 160 * (t / 3) + 16 * (t % 3);
      #pragma unroll 4
      for (int c = 0; c < 16; c++) {
        __global const float* w_at_2 = w_at_1 + 32 * c;
        const float16 weights_0 = vload16(0, w_at_2);
        const float16 weights_1 = vload16(0, w_at_2 + 16);
        acc_0 = fma((float16)(in_at_2[c]), weights_0, acc_0);
        acc_1 = fma((float16)(in_at_2[c]), weights_1, acc_1);
        acc_2 = fma((float16)(in_at_2[c + 16]), weights_0, acc_2);
        acc_3 = fma((float16)(in_at_2[c + 16]), weights_1, acc_3);
      }
    }
  }
  __global float* out_at = out + 2048 * kb + 32 * xt + 128 * y;
  vstore16(acc_0, 0, out_at);
  vstore16(acc_1, 0, out_at + 1024);
  vstore16(acc_2, 0, out_at + 16);
  vstore16(acc_3, 0, out_at + 1040);
)");
}

TEST_CASE("optimise: the blocked convolution computes the same as before") {
  const Kernel naive = convolution(16, 4, 32, 2, 2, 1);
  Memory before;
  for (const BufferId b : naive.arguments) {
    std::vector<float> v(static_cast<std::size_t>(*naive.buffers[b].count.constant()));
    for (std::size_t i = 0; i < v.size(); i++) v[i] = static_cast<float>(i * 7 % 13) - 6;
    before.push_back(floats(v));
  }
  Memory after = before;
  CHECK(emulate(naive, before).ok());
  CHECK(emulate(optimise(naive), after).ok());
  CHECK(before == after);
}

TEST_CASE("optimise: thousands of operations take time in proportion") {
  const auto milliseconds = [](const Kernel& k) {
    PassOptions options;
    options.verifyEach = false;
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
      const auto start = std::chrono::steady_clock::now();
      const std::string text = printOpenCL(optimise(k, options));
      best =
          std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
  };
  const double small = milliseconds(convolution(16, 8, 64, 4, 4, -1)),
               large = milliseconds(convolution(16, 32, 256, 32, 16, -1));
  CAPTURE(small, large);  // 320 and 8,704 operations: 27 times as many
  CHECK(large < 27 * 8 * small + 50);
}

TEST_CASE("optimise: long chains of single uses do not nest without end") {
  Maker m;
  const auto in = m.in("in", 8000), out = m.out("out", 1);
  Block b;
  VarId last = m.var("s");
  b.push_back({Declare{last, load(in, 0)}});
  for (int i = 1; i < 8000; i++) {
    const VarId next = m.var("s");
    b.push_back({Declare{next, add(ref(last, f32), load(in, i))}});
    last = next;
  }
  b.push_back({Store{out, 0, ref(last, f32)}});
  m.k.body = std::move(b);
  const Kernel k = optimise(m.k);
  Memory memory{floats(std::vector<float>(8000, 1)), floats(ramp(1))};
  CHECK(emulate(k, memory).ok());
  CHECK(floats(memory[1])[0] == 8000);
  CHECK(structure(k).at("statement") < 1000);
}
