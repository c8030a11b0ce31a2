#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

// Runs the kernel with barriers placed, expects no fault, and returns the number of barrier statements.
std::int64_t barriers(const Kernel& naive, const std::vector<std::vector<float>>& memory,
                      const std::map<NatVar, std::int64_t>& sizes = {}) {
  const Kernel k = pass("barriers", pass("trips", naive));
  Memory bytes;
  for (const auto& v : memory) bytes.push_back(floats(v));
  const EmulatorReport report = emulate(k, bytes, sizes);
  INFO(printOpenCL(k));
  CAPTURE(report.findings);
  CHECK(report.ok());
  return structure(k).at("barrier");
}

// Faults of the kernel as it is.
std::vector<std::string> faults(const Kernel& k, const std::vector<std::vector<float>>& memory) {
  Memory bytes;
  for (const auto& v : memory) bytes.push_back(floats(v));
  return emulate(k, bytes).findings;
}

// tile[l] = in[l]; out[l] = tile[63 - l]
Kernel reversal() {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{tile, l, load(in, l, f32)});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, l, load(tile, Nat(63) - l, f32)});
                   }));
  return m.k;
}

}  // namespace

TEST_CASE("barriers: staging in local memory needs one barrier") {
  CHECK(!faults(reversal(), {ramp(64), ramp(64)}).empty());
  CHECK(barriers(reversal(), {ramp(64), ramp(64)}) == 1);
}

TEST_CASE("barriers: the barrier fences local memory only and stands between the loops") {
  const Kernel k = pass("barriers", pass("trips", reversal()));
  CHECK(bodyText(k) == R"(  __local float tile[64];
  {
    const int l = get_local_id(0);
    tile[l] = in[l];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int l = get_local_id(0);
  out[l] = tile[63 - l];
)");
}

TEST_CASE("barriers: a work-item that reads only what it wrote needs none") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{tile, l, load(in, l, f32)});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, l, load(tile, l, f32)});
                   }));
  CHECK(barriers(m.k, {ramp(64), ramp(64)}) == 0);
}

TEST_CASE("barriers: strided slices of one work-item need none") {
  Maker m;
  const auto in = m.in("in", 256), out = m.out("out", 256), tile = m.local("tile", 256);
  m.range({64, 1, 1}, {64, 1, 1});
  const auto phase = [&](BufferId to, BufferId from) {
    return lcl("l", 64, [&](Nat l) {
      return block(seq("j", 4, [&](Nat j) {
        return block(Store{to, Nat(4) * l + j, load(from, Nat(4) * l + j, f32)});
      }));
    });
  };
  m.k.body = block(phase(tile, in), phase(out, tile));
  CHECK(barriers(m.k, {ramp(256), ramp(256)}) == 0);
}

TEST_CASE("barriers: rows of symbolic length that their work-items read from the end need none") {
  const auto rows = [](bool own) {
    Maker m;
    const NatVar n = m.size("n");
    const auto in = m.in("in", Nat(4) * Nat(n)), out = m.out("out", Nat(4) * Nat(n)),
               rows = m.out("rows", Nat(4) * Nat(n));
    m.range({4, 1, 1}, {4, 1, 1});
    m.k.body = block(lcl("l", 4, [&](Nat l) {
      return block(seq("i", n,
                       [&](Nat i) {
                         return block(Store{rows, Nat(n) * l + i, load(in, Nat(n) * l + i, f32)});
                       }),
                   seq("i", n, [&](Nat i) {
                     const Nat row = own ? l : Nat(3) - l;
                     return block(Store{out, Nat(n) * l + i, load(rows, Nat(n) * row + n - i - Nat(1), f32)});
                   }));
    }));
    return optimise(m.k);
  };
  const auto count = [](const Kernel& k) { return structure(k).at("barrier"); };
  CHECK(count(rows(true)) == 0);
  CHECK(count(rows(false)) == 1);
}

TEST_CASE("barriers: another slicing of the same array needs one") {
  Maker m;
  const auto in = m.in("in", 256), out = m.out("out", 256), tile = m.local("tile", 256);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(seq("j", 4, [&](Nat j) {
                           return block(Store{tile, Nat(4) * l + j, load(in, Nat(4) * l + j, f32)});
                         }));
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(seq("j", 4, [&](Nat j) {
                       return block(Store{out, Nat(64) * j + l, load(tile, Nat(64) * j + l, f32)});
                     }));
                   }));
  CHECK(barriers(m.k, {ramp(256), ramp(256)}) == 1);
}

TEST_CASE("barriers: vector stores and scalar loads of the same work-item need none") {
  Maker m;
  const auto in = m.in("in", 256), out = m.out("out", 256), tile = m.local("tile", 256);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{tile, Nat(4) * l, load(in, Nat(4) * l, vec(4))});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(seq("j", 4, [&](Nat j) {
                       return block(Store{out, Nat(4) * l + j, load(tile, Nat(4) * l + j, f32)});
                     }));
                   }));
  CHECK(barriers(m.k, {ramp(256), ramp(256)}) == 0);
}

TEST_CASE("barriers: quotient and remainder of the local index still say which work-item it is") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64), tile = m.local("tile", 80);
  m.range({64, 1, 1}, {64, 1, 1});
  // Rows of 8, padded to 10.
  const auto at = [](Nat l) { return l / Nat(8) * Nat(10) + l % Nat(8); };
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{tile, at(l), load(in, l, f32)});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, l, load(tile, at(l), f32)});
                   }));
  CHECK(barriers(m.k, {ramp(64), ramp(64)}) == 0);
}

TEST_CASE("barriers: staging in a loop needs two, one of them for the next iteration") {
  Maker m;
  const auto in = m.in("in", 256), out = m.out("out", 256), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(seq("t", 4, [&](Nat t) {
    return block(lcl("l", 64,
                     [&](Nat l) {
                       return block(Store{tile, l, load(in, Nat(64) * t + l, f32)});
                     }),
                 lcl("l", 64, [&](Nat l) {
                   return block(Store{out, Nat(64) * t + l, load(tile, Nat(63) - l, f32)});
                 }));
  }));
  CHECK(barriers(m.k, {ramp(256), ramp(256)}) == 2);
}

TEST_CASE("barriers: a loop that only reads what was staged before it has its barrier outside") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 256), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{tile, l, load(in, l, f32)});
                       }),
                   seq("t", 4, [&](Nat t) {
                     return block(lcl("l", 64, [&](Nat l) {
                       return block(Store{out, Nat(64) * t + l, load(tile, (l + t) % Nat(64), f32)});
                     }));
                   }));
  const Kernel k = pass("barriers", pass("trips", m.k));
  CHECK(barriers(m.k, {ramp(64), ramp(256)}) == 1);
  const std::string text = bodyText(k);
  CHECK(text.find("barrier") < text.find("for (int t"));
}

TEST_CASE("barriers: one barrier serves two local arrays") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64), a = m.local("a", 64), b = m.local("b", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{a, l, load(in, l, f32)});
                       }),
                   lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{b, l, load(in, l, f32)});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, l, add(load(a, Nat(63) - l, f32), load(b, (l + Nat(1)) % Nat(64), f32))});
                   }));
  CHECK(barriers(m.k, {ramp(64), ramp(64)}) == 1);
}

TEST_CASE("barriers: double buffering saves the barrier for the next iteration") {
  Maker m;
  const auto in = m.in("in", 256), out = m.out("out", 256), tile = m.local("tile", 128);
  m.range({64, 1, 1}, {64, 1, 1});
  // Two halves, used in turns, written out by hand.
  const auto stage = [&](Nat t, Nat half) {
    return lcl("l", 64, [&](Nat l) { return block(Store{tile, half + l, load(in, Nat(64) * t + l, f32)}); });
  };
  const auto use = [&](Nat t, Nat half) {
    return lcl("l", 64, [&](Nat l) { return block(Store{out, Nat(64) * t + l, load(tile, half + Nat(63) - l, f32)}); });
  };
  m.k.body = block(seq("t", 2, [&](Nat t) {
    return block(stage(t * Nat(2), 0), use(t * Nat(2), 0), stage(t * Nat(2) + Nat(1), 64),
                 use(t * Nat(2) + Nat(1), 64));
  }));
  CHECK(barriers(m.k, {ramp(256), ramp(256)}) == 2);
}

TEST_CASE("barriers: a group loop that reuses local memory needs one for its next round") {
  Maker m;
  const auto in = m.in("in", 256), out = m.out("out", 256), tile = m.local("tile", 64);
  m.range({128, 1, 1}, {64, 1, 1});  // two groups, four tiles
  m.k.body = block(wrg("g", 4, [&](Nat g) {
    return block(lcl("l", 64,
                     [&](Nat l) {
                       return block(Store{tile, l, load(in, Nat(64) * g + l, f32)});
                     }),
                 lcl("l", 64, [&](Nat l) {
                   return block(Store{out, Nat(64) * g + l, load(tile, Nat(63) - l, f32)});
                 }));
  }));
  CHECK(barriers(m.k, {ramp(256), ramp(256)}) == 2);
}

TEST_CASE("barriers: a group loop inside a sequential loop") {
  Maker m;
  const auto in = m.in("in", 256), out = m.out("out", 256), tile = m.local("tile", 64);
  m.range({128, 1, 1}, {64, 1, 1});  // two groups, two tiles per round
  m.k.body = block(seq("t", 2, [&](Nat t) {
    return block(wrg("g", 2, [&](Nat g) {
      const Nat tileAt = Nat(128) * t + Nat(64) * g;
      return block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{tile, l, load(in, tileAt + l, f32)});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, tileAt + l, load(tile, Nat(63) - l, f32)});
                   }));
    }));
  }));
  CHECK(barriers(m.k, {ramp(256), ramp(256)}) == 2);
}

TEST_CASE("barriers: a group loop that runs once needs no barrier for a next round") {
  Maker m;
  const auto in = m.in("in", 256), out = m.out("out", 256), tile = m.local("tile", 64);
  m.range({256, 1, 1}, {64, 1, 1});
  m.k.body = block(wrg("g", 4, [&](Nat g) {
    return block(lcl("l", 64,
                     [&](Nat l) {
                       return block(Store{tile, l, load(in, Nat(64) * g + l, f32)});
                     }),
                 lcl("l", 64, [&](Nat l) {
                   return block(Store{out, Nat(64) * g + l, load(tile, Nat(63) - l, f32)});
                 }));
  }));
  CHECK(barriers(m.k, {ramp(256), ramp(256)}) == 1);
}

TEST_CASE("barriers: one work-item per group needs none") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64), tile = m.local("tile", 64);
  m.range({4, 1, 1}, {1, 1, 1});
  m.k.body = block(wrg("g", 4, [&](Nat g) {
    return block(lcl("l", 16,
                     [&](Nat l) {
                       return block(Store{tile, l, load(in, Nat(16) * g + l, f32)});
                     }),
                 lcl("l", 16, [&](Nat l) {
                   return block(Store{out, Nat(16) * g + l, load(tile, Nat(15) - l, f32)});
                 }));
  }));
  CHECK(barriers(m.k, {ramp(64), ramp(64)}) == 0);
}

TEST_CASE("barriers: global memory inside one kernel gets a global fence") {
  Maker m;
  const auto in = m.in("in", 64), temp = m.out("temp", 64), out = m.out("out", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{temp, l, load(in, l, f32)});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, l, load(temp, Nat(63) - l, f32)});
                   }));
  CHECK(barriers(m.k, {ramp(64), ramp(64), ramp(64)}) == 1);
  CHECK(bodyText(pass("barriers", pass("trips", m.k))).find("barrier(CLK_GLOBAL_MEM_FENCE);") != std::string::npos);
}

TEST_CASE("barriers: a barrier that both memories need is one with both fences") {
  Maker m;
  const auto in = m.in("in", 64), temp = m.out("temp", 64), out = m.out("out", 128), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{temp, l, load(in, l, f32)}, Store{tile, l, load(in, l, f32)});
                       }),
                   lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{out, l, load(tile, Nat(63) - l, f32)});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, Nat(64) + l, load(temp, Nat(63) - l, f32)});
                   }));
  CHECK(barriers(m.k, {ramp(64), ramp(64), ramp(128)}) == 1);
  CHECK(bodyText(pass("barriers", pass("trips", m.k))).find("CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE") !=
        std::string::npos);
}

TEST_CASE("barriers: independent output stores need none") {
  Maker m;
  const NatVar n = m.size("n");
  const auto in = m.in("in", Nat(n)), out = m.out("out", Nat(2) * Nat(n));
  m.range({256, 1, 1}, {64, 1, 1});
  m.k.body = block(glb("i", Nat(n),
                       [&](Nat i) {
                         return block(Store{out, i, load(in, i, f32)});
                       }),
                   glb("i", Nat(n), [&](Nat i) {
                     return block(Store{out, Nat(n) + i, load(in, i, f32)});
                   }));
  CHECK(barriers(m.k, {ramp(100), ramp(200)}, {{n, 100}}) == 0);
}

TEST_CASE("barriers: write after read") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{tile, l, load(in, l, f32)});
                       }),
                   lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{out, l, load(tile, Nat(63) - l, f32)});
                       }),
                   lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{tile, l, number(0)});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, l, add(load(out, l, f32), load(tile, l, f32))});
                   }));
  CHECK(barriers(m.k, {ramp(64), ramp(64)}) == 2);
}

TEST_CASE("barriers: write after write") {
  Maker m;
  const auto out = m.out("out", 64), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{tile, l, number(1)});
                       }),
                   lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{tile, Nat(63) - l, number(2)});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, l, load(tile, Nat(63) - l, f32)});
                   }));
  CHECK(barriers(m.k, {ramp(64)}) == 1);
}

TEST_CASE("barriers: two dimensions, rows shared along one of them") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64), tile = m.local("tile", 64);
  m.range({8, 8, 1}, {8, 8, 1});
  const auto both = [&](auto body) {
    return lcl(
        "y", 8,
        [&](Nat y) {
          return block(lcl(
              "x", 8, [&](Nat x) { return body(y, x); }, 0));
        },
        1);
  };
  m.k.body = block(both([&](Nat y, Nat x) {
                     return block(Store{tile, Nat(8) * y + x, load(in, Nat(8) * y + x, f32)});
                   }),
                   both([&](Nat y, Nat x) {
                     return block(Store{out, Nat(8) * y + x, load(tile, Nat(8) * x + y, f32)});
                   }));
  CHECK(barriers(m.k, {ramp(64), ramp(64)}) == 1);
  m.k.body = block(both([&](Nat y, Nat x) {
                     return block(Store{tile, Nat(8) * y + x, load(in, Nat(8) * y + x, f32)});
                   }),
                   both([&](Nat y, Nat x) {
                     return block(Store{out, Nat(8) * y + x, load(tile, Nat(8) * y + x, f32)});
                   }));
  CHECK(barriers(m.k, {ramp(64), ramp(64)}) == 0);
}

TEST_CASE("barriers: inside a parallel loop over rows, work-items of the other dimension share a row") {
  Maker m;
  const auto in = m.in("in", 128), out = m.out("out", 128), row = m.local("row", 32);
  m.range({8, 4, 1}, {8, 4, 1});  // 16 rows of 8, 4 at a time, one line of local memory for each of these
  m.k.body = block(lcl(
      "y", 16,
      [&](Nat y) {
        const Nat line = Nat(8) * (y % Nat(4));
        return block(lcl("x", 8,
                         [&](Nat x) {
                           return block(Store{row, line + x, load(in, Nat(8) * y + x, f32)});
                         }),
                     lcl("x", 8, [&](Nat x) {
                       return block(Store{out, Nat(8) * y + x, load(row, line + Nat(7) - x, f32)});
                     }));
      },
      1));
  CHECK(barriers(m.k, {ramp(128), ramp(128)}) == 2);
}

TEST_CASE("barriers: uneven work in front of a barrier") {
  Maker m;
  const auto in = m.in("in", 66), out = m.out("out", 64), tile = m.local("tile", 66);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 66,
                       [&](Nat l) {
                         return block(Store{tile, l, load(in, l, f32)});
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, l, add(load(tile, l, f32), load(tile, l + Nat(2), f32))});
                   }));
  CHECK(barriers(m.k, {ramp(66), ramp(64)}) == 1);
}

TEST_CASE("barriers: a barrier inside a parallel loop that runs unequally often") {
  Maker m;
  const auto in = m.in("in", 80), out = m.out("out", 80), row = m.local("row", 32);
  m.range({8, 4, 1}, {8, 4, 1});  // 10 rows on 4 work-items: three rounds, the last one half idle
  m.k.body = block(lcl(
      "y", 10,
      [&](Nat y) {
        const Nat line = Nat(8) * (y % Nat(4));
        return block(lcl("x", 8,
                         [&](Nat x) {
                           return block(Store{row, line + x, load(in, Nat(8) * y + x, f32)});
                         }),
                     lcl("x", 8, [&](Nat x) {
                       return block(Store{out, Nat(8) * y + x, load(row, line + Nat(7) - x, f32)});
                     }));
      },
      1));
  const Kernel k = pass("barriers", pass("trips", m.k));
  Memory memory{floats(ramp(80)), floats(ramp(80))};
  const auto report = emulate(k, memory);
  INFO(printOpenCL(k));
  CAPTURE(report.findings);
  CHECK(report.ok());
  for (int i = 0; i < 80; i++) CHECK(floats(memory[1])[static_cast<std::size_t>(i)] == float(i / 8 * 8 + 7 - i % 8));
}

TEST_CASE("barriers: fewer rows than work-items") {
  Maker m;
  const auto in = m.in("in", 24), out = m.out("out", 24), row = m.local("row", 32);
  m.range({8, 4, 1}, {8, 4, 1});
  m.k.body = block(lcl(
      "y", 3,
      [&](Nat y) {
        const VarId v = m.var("v");
        return block(
            lcl("x", 8,
                [&](Nat x) {
                  return block(Store{row, Nat(8) * y + x, load(in, Nat(8) * y + x, f32)});
                }),
            Declare{v, load(row, Nat(8) * y, f32)}, lcl("x", 8, [&](Nat x) {
              return block(Store{out, Nat(8) * y + x, add(ref(v, f32), load(row, Nat(8) * y + Nat(7) - x, f32))});
            }));
      },
      1));
  CHECK(barriers(m.k, {ramp(24), ramp(24)}) == 1);
}

TEST_CASE("barriers: a loop inside an uneven parallel loop") {
  Maker m;
  const auto in = m.in("in", 24), out = m.out("out", 24), row = m.local("row", 32);
  m.range({8, 4, 1}, {8, 4, 1});
  m.k.body = block(lcl(
      "y", 3,
      [&](Nat y) {
        return block(seq("t", 2, [&](Nat t) {
          return block(lcl("x", 8,
                           [&](Nat x) {
                             return block(Store{row, Nat(8) * y + x, load(in, Nat(8) * y + x, f32)});
                           }),
                       lcl("x", 8, [&](Nat x) {
                         return block(Store{out, Nat(8) * y + x, load(row, Nat(8) * y + (x + t) % Nat(8), f32)});
                       }));
        }));
      },
      1));
  CHECK(barriers(m.k, {ramp(24), ramp(24)}) == 2);
}

TEST_CASE("barriers: conditionals that all work-items decide alike may contain them") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64), tile = m.local("tile", 64);
  m.range({128, 1, 1}, {64, 1, 1});
  m.k.body = block(wrg("g", 2, [&](Nat g) {
    return block(If{test({{g, Relation::less, 1}}),
                    block(lcl("l", 64,
                              [&](Nat l) {
                                return block(Store{tile, l, load(in, l, f32)});
                              }),
                          lcl("l", 64,
                              [&](Nat l) {
                                return block(Store{out, l, load(tile, Nat(63) - l, f32)});
                              })),
                    {}});
  }));
  CHECK(barriers(m.k, {ramp(64), ramp(64)}) == 1);
}

TEST_CASE("barriers: conditionals that work-items decide differently are split around them") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 64), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64, [&](Nat l) {
    return block(If{test({{l, Relation::less, 32}}),
                    block(Store{tile, l, load(in, l, f32)}, Store{out, l, load(tile, Nat(31) - l, f32)}),
                    block(Store{out, l, number(0)})});
  }));
  CHECK(barriers(m.k, {ramp(64), ramp(64)}) == 1);
}

TEST_CASE("barriers: a loop whose trip count differs between work-items cannot contain one") {
  Maker m;
  const auto out = m.out("out", 64), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64, [&](Nat l) {
    return block(seq("j", l + Nat(1), [&](Nat j) {
      return block(Store{tile, l, number(1)}, Store{out, l, load(tile, Nat(63) - l, f32)}, Store{tile, j, number(2)});
    }));
  }));
  CHECK_THROWS_AS(pass("barriers", pass("trips", m.k)), UserError);
}

TEST_CASE("barriers: those already there count") {
  Kernel k = reversal();
  k.body.insert(k.body.begin() + 1, Stmt{Barrier{true, false}});
  CHECK(barriers(k, {ramp(64), ramp(64)}) == 1);
  k = reversal();
  k.body.insert(k.body.begin() + 1, Stmt{Barrier{false, true}});
  CHECK(structure(pass("barriers", pass("trips", k))).at("barrier") == 2);
}

TEST_CASE("barriers: a loop that may run no time does not hide what was before it") {
  Maker m;
  const NatVar n = NatVar::fresh("n", 0, std::nullopt);
  m.k.sizes.push_back(n);
  const auto in = m.in("in", 64), out = m.out("out", 64), a = m.local("a", 64), b = m.local("b", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  m.k.body = block(lcl("l", 64,
                       [&](Nat l) {
                         return block(Store{a, l, load(in, l, f32)});
                       }),
                   seq("t", Nat(n),
                       [&](Nat) {
                         return block(lcl("l", 64,
                                          [&](Nat l) {
                                            return block(Store{b, l, number(1)});
                                          }),
                                      lcl("l", 64, [&](Nat l) {
                                        return block(Store{out, l, load(b, Nat(63) - l, f32)});
                                      }));
                       }),
                   lcl("l", 64, [&](Nat l) {
                     return block(Store{out, l, load(a, Nat(63) - l, f32)});
                   }));
  CHECK(barriers(m.k, {ramp(64), ramp(64)}, {{n, 0}}) == 3);
  CHECK(barriers(m.k, {ramp(64), ramp(64)}, {{n, 3}}) == 3);
}

TEST_CASE("barriers: a tree reduction in local memory") {
  Maker m;
  const auto in = m.in("in", 64), out = m.out("out", 1), tile = m.local("tile", 64);
  m.range({64, 1, 1}, {64, 1, 1});
  Block body = block(lcl("l", 64, [&](Nat l) { return block(Store{tile, l, load(in, l, f32)}); }));
  for (int half = 32; half > 0; half /= 2)
    body.push_back({lcl("l", half, [&](Nat l) {
      return block(Store{tile, l, add(load(tile, l, f32), load(tile, l + Nat(half), f32))});
    })});
  body.push_back({lcl("l", 1, [&](Nat l) { return block(Store{out, l, load(tile, l, f32)}); })});
  m.k.body = std::move(body);
  CHECK(barriers(m.k, {ramp(64), ramp(1)}) == 6);
}

TEST_CASE("barriers: thousands of accesses stay cheap and correct") {
  Maker m;
  const auto in = m.in("in", 4096), out = m.out("out", 4096), tile = m.local("tile", 4096);
  m.range({64, 1, 1}, {64, 1, 1});
  const auto phase = [&](BufferId to, BufferId from, bool swap) {
    return lcl("l", 64, [&](Nat l) {
      Block b;
      for (int j = 0; j < 64; j++)
        b.push_back({Store{to, Nat(64) * l + Nat(j), load(from, swap ? Nat(64 * j) + l : Nat(64) * l + Nat(j), f32)}});
      return b;
    });
  };
  m.k.body = block(phase(tile, in, false), phase(out, tile, true));
  CHECK(barriers(m.k, {ramp(4096), ramp(4096)}) == 1);
  m.k.body = block(phase(tile, in, false), phase(out, tile, false));
  CHECK(barriers(m.k, {ramp(4096), ramp(4096)}) == 0);
}
