// The pass `stream`: results larger than the last cache are stored past it.
#include <catch2/catch.hpp>

#include "lift/kernel_walk.hpp"
#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

PassOptions cacheOf(std::int64_t bytes) {
  PassOptions options;
  options.lineBytes = 64;
  options.cacheBytes = bytes;
  return options;
}

// How many of its stores stream in a kernel that stores to these places, each with its width, in turns of a loop.
using Places = std::vector<std::pair<std::function<Nat(Nat)>, int>>;
int streamed(const Places& places, const PassOptions& options, bool reads = false, Nat count = 1 << 20) {
  Maker m;
  const auto in = m.in("in", 4096), out = m.out("out", count);
  m.k.body = block(seq("i", 100, [&](Nat i) {
    Block body;
    for (const auto& [place, width] : places)
      body.push_back({Store{out, place(i), load(reads ? out : in, 8 * i, vec(width))}});
    return body;
  }));
  int n = 0;
  const Kernel k = pass("stream", m.k, options);
  forEachStmt(k.body, [&](const Stmt& s) {
    const auto* st = as<Store>(s);
    n += st != nullptr && st->streams;
  });
  return n;
}

Places at(int step, const std::vector<int>& offsets, int width = 8) {
  Places places;
  for (const int o : offsets) places.emplace_back([=](Nat i) { return Nat(step) * i + Nat(o); }, width);
  return places;
}

}  // namespace

TEST_CASE("stream: large results, in whole lines") {
  const auto large = cacheOf(1 << 20);  // out has 4 MiB
  CHECK(streamed(at(16, {0, 8}), large) == 2);
  CHECK(streamed(at(16, {8, 0}), large) == 2);
  CHECK(streamed(at(64, {0, 8, 32, 40, 48}), large) == 4);  // the last is half a line
  CHECK(streamed(at(64, {8, 16, 24, 32}), large) == 2);     // the first and the last are
  CHECK(streamed(at(16, {0}, 16), large) == 1);
  CHECK(streamed(at(16, {0, 4, 8, 12}, 4), large) == 4);
  CHECK(streamed(at(8, {0, 8}), large) == 0);  // from the middle of a line in every second turn
  CHECK(streamed(at(16, {0, 2, 4, 6, 8, 10, 12, 14}, 2), large) == 0);
}

TEST_CASE("stream: not what caches hold, what is read, or where it is not asked for") {
  CHECK(streamed(at(16, {0, 8}), {}) == 0);
  CHECK(streamed(at(16, {0, 8}), cacheOf(4 << 20)) == 0);
  CHECK(streamed(at(16, {0, 8}), cacheOf((4 << 20) - 4)) == 2);
  CHECK(streamed(at(16, {0, 8}), cacheOf(1 << 20), true) == 0);
}

TEST_CASE("stream: such stores are no prefetches' business, and read well in OpenCL and C") {
  Maker m;
  const auto in = m.in("in", 4096), out = m.out("out", 1 << 20);
  const auto a = m.var("a", vec(8)), b = m.var("b", vec(8));
  m.k.body = block(seq("i", 100, [&](Nat i) {
    return block(Declare{a, splat(number(0), 8)}, Declare{b, splat(number(0), 8)},
                 seq("j", 9,
                     [&](Nat j) {
                       return block(Assign{a, add(ref(a, vec(8)), load(in, 8 * j, vec(8)))},
                                    Assign{b, add(ref(b, vec(8)), load(in, 8 * j + 8 * i, vec(8)))});
                     }),
                 Store{out, 64 * i, ref(a, vec(8))}, Store{out, 64 * i + 8, ref(a, vec(8))},
                 Store{out, 64 * i + 32, ref(b, vec(8))}, Store{out, 64 * i + 40, ref(b, vec(8))});
  }));
  const auto options = cacheOf(1 << 20);
  const Kernel k = pass("prefetch", pass("stream", m.k, options), options);
  const std::string text = printOpenCL(k);
  CHECK(text.find("prefetch") == std::string::npos);
  CHECK(text.find(R"(static inline void vstore_stream_float8(float8 x, __global float* p) {
#ifdef POCL_DEVICE_ADDRESS_BITS
  if ((size_t)p % sizeof(x) == 0) {
    __builtin_nontemporal_store(x, (__global float8*)p);
    return;
  }
#endif
  vstore8(x, 0, p);
}
)") != std::string::npos);
  CHECK(text.find("    vstore_stream_float8(b, out + 64 * i + 40);\n") != std::string::npos);
  const std::string c = printC({k}).text;
  CHECK(c.find("__builtin_ia32_movntps256((float*)p, (f32x8)x);") != std::string::npos);
  CHECK(c.find("    f32x8_stream(out + 64 * i + 40, b);\n") != std::string::npos);
  Memory expected{floats(ramp(4096, 0)), floats(std::vector<float>(1 << 20, 0))};
  Memory actual = expected;
  REQUIRE(emulate(m.k, expected).ok());
  REQUIRE(emulate(k, actual).ok());
  CHECK(actual == expected);
}
