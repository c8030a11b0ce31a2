#include <catch2/catch.hpp>

#include "make.hpp"

using namespace lift;
using namespace lift::kernel;
using namespace lift::kernel::make;

namespace {

Memory ramps(const Kernel& k, const std::map<NatVar, std::int64_t>& sizes) {
  Memory memory;
  for (const BufferId b : k.arguments)
    memory.push_back(floats(
        ramp(static_cast<std::size_t>(k.buffers[b].count.evaluate([&](NatVar size) { return sizes.at(size); })))));
  return memory;
}

Kernel withBarriers(const Kernel& naive) { return pass("barriers", pass("trips", naive)); }

// Runs the kernel with barriers placed, expects no fault, and returns the number of barrier statements.
std::int64_t barriers(const Kernel& naive, const std::map<NatVar, std::int64_t>& sizes = {}) {
  const Kernel k = withBarriers(naive);
  Memory memory = ramps(k, sizes);
  const EmulatorReport report = emulate(k, memory, sizes);
  INFO(printOpenCL(k));
  CAPTURE(report.findings);
  CHECK(report.ok());
  return structure(k).at("barrier");
}

// Work-items l of a group, which stage what they read from `in` in the local array `tile` and write `out`.
struct Staging : Maker {
  const Nat l = counter("l", 64);
  BufferId in, out, tile;

  explicit Staging(Nat count = 64, Nat tileCount = 64, Nat items = 64)
      : in(Maker::in("in", count)), out(Maker::out("out", count)), tile(local("tile", tileCount)) {
    range({items, 1, 1}, {64, 1, 1});
  }

  template <class... S>
  std::int64_t barriers(S... body) {
    k.body = block(std::move(body)...);
    return ::barriers(k);
  }

  // Each work-item: to[at] = from[place].
  For copy(BufferId to, Nat at, BufferId from, Nat place) const { return lcl(l, Store{to, at, load(from, place)}); }
};

// Rows of 8 that work-items (x, y) of a group of 8 by 4 stage in local memory.
struct Rows : Maker {
  const Nat x = counter("x", 8), y;
  BufferId in, out, row;

  explicit Rows(int rows)
      : y(counter("y", rows)), in(Maker::in("in", 8 * rows)), out(Maker::out("out", 8 * rows)), row(local("row", 32)) {
    range({8, 4, 1}, {8, 4, 1});
  }

  // For each row: row[line + x] = in[y][x], then what follows.
  template <class... S>
  Kernel staged(Nat line, S... body) {
    k.body = block(
        over(LoopKind::local, 1, y, block(lcl(x, Store{row, line + x, load(in, 8 * y + x)}), std::move(body)...)));
    return k;
  }
};

// tile[l] = in[l]; out[l] = tile[63 - l]
Kernel reversal() {
  Staging m;
  m.k.body = block(m.copy(m.tile, m.l, m.in, m.l), m.copy(m.out, m.l, m.tile, 63 - m.l));
  return m.k;
}

}  // namespace

TEST_CASE("barriers: staging in local memory needs one barrier") {
  Memory memory = ramps(reversal(), {});
  CHECK(!emulate(reversal(), memory).findings.empty());
  CHECK(barriers(reversal()) == 1);
}

TEST_CASE("barriers: the barrier fences local memory only and stands between the loops") {
  CHECK(bodyText(withBarriers(reversal())) == R"(  __local float tile[64];
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
  Staging m;
  CHECK(m.barriers(m.copy(m.tile, m.l, m.in, m.l), m.copy(m.out, m.l, m.tile, m.l)) == 0);
}

TEST_CASE("barriers: strided slices of one work-item need none") {
  Staging m(256, 256);
  const Nat j = counter("j", 4), at = 4 * m.l + j;
  CHECK(m.barriers(lcl(m.l, seq(j, Store{m.tile, at, load(m.in, at)})),
                   lcl(m.l, seq(j, Store{m.out, at, load(m.tile, at)}))) == 0);
}

TEST_CASE("barriers: rows of symbolic length that their work-items read from the end need none") {
  const auto count = [](bool own) {
    Maker m;
    const Nat n = m.size("n"), l = counter("l", 4), i = counter("i", n);
    const auto in = m.in("in", 4 * n), out = m.out("out", 4 * n), rows = m.out("rows", 4 * n);
    m.range({4, 1, 1}, {4, 1, 1});
    const Nat row = own ? l : 3 - l;
    m.k.body = block(lcl(l, seq(i, Store{rows, n * l + i, load(in, n * l + i)}),
                         seq(i, Store{out, n * l + i, load(rows, n * row + n - i - 1)})));
    return structure(optimise(m.k)).at("barrier");
  };
  CHECK(count(true) == 0);
  CHECK(count(false) == 1);
}

TEST_CASE("barriers: rows whose symbolic length is a sum tell their work-items too") {
  const auto count = [](std::int64_t beyond) {
    Maker m;
    const Nat n = m.size("n"), length = 2 * n + 1, l = counter("l", 4), i = counter("i", length);
    const auto in = m.in("in", 4 * length), out = m.out("out", 4 * length), rows = m.out("rows", 5 * length);
    m.range({4, 1, 1}, {4, 1, 1});
    m.k.body = block(lcl(l, seq(i, Store{rows, length * l + i, load(in, length * l + i)}),
                         seq(i, Store{out, length * l + i, load(rows, length * l + i + beyond)})));
    return structure(optimise(m.k)).at("barrier");
  };
  CHECK(count(0) == 0);
  CHECK(count(1) == 1);  // the last element read is the next row's first
}

TEST_CASE("barriers: another slicing of the same array needs one") {
  Staging m(256, 256);
  const Nat j = counter("j", 4), own = 4 * m.l + j, other = 64 * j + m.l;
  CHECK(m.barriers(lcl(m.l, seq(j, Store{m.tile, own, load(m.in, own)})),
                   lcl(m.l, seq(j, Store{m.out, other, load(m.tile, other)}))) == 1);
}

TEST_CASE("barriers: vector stores and scalar loads of the same work-item need none") {
  Staging m(256, 256);
  const Nat j = counter("j", 4), at = 4 * m.l + j;
  CHECK(m.barriers(lcl(m.l, Store{m.tile, 4 * m.l, load(m.in, 4 * m.l, vec(4))}),
                   lcl(m.l, seq(j, Store{m.out, at, load(m.tile, at)}))) == 0);
}

TEST_CASE("barriers: quotient and remainder of the local index still say which work-item it is") {
  Staging m(64, 80);
  const Nat padded = m.l / 8 * 10 + m.l % 8;  // rows of 8, padded to 10
  CHECK(m.barriers(m.copy(m.tile, padded, m.in, m.l), m.copy(m.out, m.l, m.tile, padded)) == 0);
}

TEST_CASE("barriers: staging in a loop needs two, one of them for the next iteration") {
  Staging m(256);
  const Nat t = counter("t", 4), at = 64 * t + m.l;
  CHECK(m.barriers(seq(t, m.copy(m.tile, m.l, m.in, at), m.copy(m.out, at, m.tile, 63 - m.l))) == 2);
}

TEST_CASE("barriers: a loop that only reads what was staged before it has its barrier outside") {
  Staging m(256);
  const Nat t = counter("t", 4);
  CHECK(m.barriers(m.copy(m.tile, m.l, m.in, m.l), seq(t, m.copy(m.out, 64 * t + m.l, m.tile, (m.l + t) % 64))) == 1);
  const std::string text = bodyText(withBarriers(m.k));
  CHECK(text.find("barrier") < text.find("for (int t"));
}

TEST_CASE("barriers: one barrier serves two local arrays") {
  Staging m;
  const auto other = m.local("other", 64);
  CHECK(m.barriers(m.copy(m.tile, m.l, m.in, m.l), m.copy(other, m.l, m.in, m.l),
                   lcl(m.l, Store{m.out, m.l, add(load(m.tile, 63 - m.l), load(other, (m.l + 1) % 64))})) == 1);
}

TEST_CASE("barriers: double buffering saves the barrier for the next iteration") {
  Staging m(256, 128);
  const Nat t = counter("t", 2);
  // Two halves, used in turns, written out by hand.
  const auto stage = [&](Nat step, Nat half) { return m.copy(m.tile, half + m.l, m.in, 64 * step + m.l); };
  const auto use = [&](Nat step, Nat half) { return m.copy(m.out, 64 * step + m.l, m.tile, half + 63 - m.l); };
  CHECK(m.barriers(seq(t, stage(t * 2, 0), use(t * 2, 0), stage(t * 2 + 1, 64), use(t * 2 + 1, 64))) == 2);
}

TEST_CASE("barriers: a group loop that reuses local memory needs one for its next round") {
  Staging two(256, 64, 128), four(256, 64, 256);  // groups, for four tiles
  for (Staging* m : {&two, &four}) {
    const Nat g = counter("g", 4), at = 64 * g + m->l;
    CHECK(m->barriers(wrg(g, m->copy(m->tile, m->l, m->in, at), m->copy(m->out, at, m->tile, 63 - m->l))) ==
          (m == &two ? 2 : 1));
  }
}

TEST_CASE("barriers: a group loop inside a sequential loop") {
  Staging m(256, 64, 128);  // two groups, two tiles per round
  const Nat t = counter("t", 2), g = counter("g", 2), at = 128 * t + 64 * g + m.l;
  CHECK(m.barriers(seq(t, wrg(g, m.copy(m.tile, m.l, m.in, at), m.copy(m.out, at, m.tile, 63 - m.l)))) == 2);
}

TEST_CASE("barriers: one work-item per group needs none") {
  Staging m;
  m.range({4, 1, 1}, {1, 1, 1});
  const Nat g = counter("g", 4), l = counter("l", 16);
  CHECK(m.barriers(wrg(g, lcl(l, Store{m.tile, l, load(m.in, 16 * g + l)}),
                       lcl(l, Store{m.out, 16 * g + l, load(m.tile, 15 - l)}))) == 0);
}

TEST_CASE("barriers: global memory inside one kernel gets a global fence") {
  Staging m;
  const auto temp = m.Maker::out("temp", 64);
  CHECK(m.barriers(m.copy(temp, m.l, m.in, m.l), m.copy(m.out, m.l, temp, 63 - m.l)) == 1);
  CHECK(bodyText(withBarriers(m.k)).find("barrier(CLK_GLOBAL_MEM_FENCE);") != std::string::npos);
}

TEST_CASE("barriers: a barrier that both memories need is one with both fences") {
  Staging m(128);
  const auto temp = m.Maker::out("temp", 64);
  CHECK(m.barriers(lcl(m.l, Store{temp, m.l, load(m.in, m.l)}, Store{m.tile, m.l, load(m.in, m.l)}),
                   m.copy(m.out, m.l, m.tile, 63 - m.l), m.copy(m.out, 64 + m.l, temp, 63 - m.l)) == 1);
  CHECK(bodyText(withBarriers(m.k)).find("CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE") != std::string::npos);
}

TEST_CASE("barriers: independent output stores need none") {
  Maker m;
  const NatVar n = m.size("n");
  const auto in = m.in("in", Nat(n)), out = m.out("out", 2 * Nat(n));
  m.range({256, 1, 1}, {64, 1, 1});
  const Nat i = counter("i", n);
  m.k.body = block(over(LoopKind::global, 0, i, block(Store{out, i, load(in, i)})),
                   over(LoopKind::global, 0, i, block(Store{out, n + i, load(in, i)})));
  CHECK(barriers(m.k, {{n, 100}}) == 0);
}

TEST_CASE("barriers: write after read") {
  Staging m;
  CHECK(m.barriers(m.copy(m.tile, m.l, m.in, m.l), m.copy(m.out, m.l, m.tile, 63 - m.l),
                   lcl(m.l, Store{m.tile, m.l, number(0)}),
                   lcl(m.l, Store{m.out, m.l, add(load(m.out, m.l), load(m.tile, m.l))})) == 2);
}

TEST_CASE("barriers: write after write") {
  Staging m;
  CHECK(m.barriers(lcl(m.l, Store{m.tile, m.l, number(1)}), lcl(m.l, Store{m.tile, 63 - m.l, number(2)}),
                   m.copy(m.out, m.l, m.tile, 63 - m.l)) == 1);
}

TEST_CASE("barriers: two dimensions, rows shared along one of them") {
  Staging m;
  m.range({8, 8, 1}, {8, 8, 1});
  const Nat x = counter("x", 8), y = counter("y", 8), own = 8 * y + x;
  const auto copy = [&](BufferId to, BufferId from, Nat place) {
    return over(LoopKind::local, 1, y, block(lcl(x, Store{to, own, load(from, place)})));
  };
  CHECK(m.barriers(copy(m.tile, m.in, own), copy(m.out, m.tile, 8 * x + y)) == 1);
  CHECK(m.barriers(copy(m.tile, m.in, own), copy(m.out, m.tile, own)) == 0);
}

TEST_CASE("barriers: inside a parallel loop over rows, work-items of the other dimension share a row") {
  Rows m(16);  // 4 at a time, one line of local memory for each of these
  const Nat line = 8 * (m.y % 4);
  CHECK(barriers(m.staged(line, lcl(m.x, Store{m.out, 8 * m.y + m.x, load(m.row, line + 7 - m.x)}))) == 2);
}

TEST_CASE("barriers: uneven work in front of a barrier") {
  Staging m(66, 66);
  const Nat all = counter("l", 66);
  CHECK(m.barriers(lcl(all, Store{m.tile, all, load(m.in, all)}),
                   lcl(m.l, Store{m.out, m.l, add(load(m.tile, m.l), load(m.tile, m.l + 2))})) == 1);
}

TEST_CASE("barriers: a barrier inside a parallel loop that runs unequally often") {
  Rows m(10);  // on 4 work-items: three rounds, the last one half idle
  const Nat line = 8 * (m.y % 4);
  const Kernel k = m.staged(line, lcl(m.x, Store{m.out, 8 * m.y + m.x, load(m.row, line + 7 - m.x)}));
  CHECK(barriers(k) == 2);
  Memory memory = ramps(k, {});
  emulate(withBarriers(k), memory);
  for (int i = 0; i < 80; i++) CHECK(floats(memory[1])[static_cast<std::size_t>(i)] == float(i / 8 * 8 + 7 - i % 8));
}

TEST_CASE("barriers: fewer rows than work-items") {
  Rows m(3);
  const VarId v = m.var("v");
  CHECK(barriers(m.staged(8 * m.y, Declare{v, load(m.row, 8 * m.y)},
                          lcl(m.x, Store{m.out, 8 * m.y + m.x, add(ref(v, f32), load(m.row, 8 * m.y + 7 - m.x))}))) ==
        1);
}

TEST_CASE("barriers: a loop inside an uneven parallel loop") {
  Rows m(3);
  const Nat t = counter("t", 2), line = 8 * m.y, at = line + m.x;
  m.k.body = block(over(LoopKind::local, 1, m.y,
                        block(seq(t, lcl(m.x, Store{m.row, at, load(m.in, at)}),
                                  lcl(m.x, Store{m.out, at, load(m.row, line + (m.x + t) % 8)})))));
  CHECK(barriers(m.k) == 2);
}

TEST_CASE("barriers: conditionals that all work-items decide alike may contain them") {
  Staging m(64, 64, 128);
  const Nat g = counter("g", 2);
  const Block staged = block(m.copy(m.tile, m.l, m.in, m.l), m.copy(m.out, m.l, m.tile, 63 - m.l));
  CHECK(m.barriers(wrg(g, If{test({{g, Relation::less, 1}}), staged, {}})) == 1);
}

TEST_CASE("barriers: conditionals that work-items decide differently are split around them") {
  Staging m;
  const Block staged = block(Store{m.tile, m.l, load(m.in, m.l)}, Store{m.out, m.l, load(m.tile, 31 - m.l)});
  CHECK(m.barriers(lcl(m.l, If{test({{m.l, Relation::less, 32}}), staged, block(Store{m.out, m.l, number(0)})})) == 1);
}

TEST_CASE("barriers: a loop whose trip count differs between work-items cannot contain one") {
  Staging m;
  const Nat j = counter("j", m.l + 1);
  m.k.body = block(lcl(m.l, seq(j, Store{m.tile, m.l, number(1)}, Store{m.out, m.l, load(m.tile, 63 - m.l)},
                                Store{m.tile, j, number(2)})));
  CHECK_THROWS_AS(withBarriers(m.k), UserError);
}

TEST_CASE("barriers: those already there count") {
  Kernel k = reversal();
  k.body.insert(k.body.begin() + 1, Stmt{Barrier{true, false}});
  CHECK(barriers(k) == 1);
  k = reversal();
  k.body.insert(k.body.begin() + 1, Stmt{Barrier{false, true}});
  CHECK(structure(withBarriers(k)).at("barrier") == 2);
}

TEST_CASE("barriers: a loop that may run no time does not hide what was before it") {
  Staging m;
  const NatVar n = NatVar::fresh("n", 0, std::nullopt);
  m.k.sizes.push_back(n);
  const auto other = m.local("other", 64);
  m.k.body = block(m.copy(m.tile, m.l, m.in, m.l),
                   seq(counter("t", n), lcl(m.l, Store{other, m.l, number(1)}), m.copy(m.out, m.l, other, 63 - m.l)),
                   m.copy(m.out, m.l, m.tile, 63 - m.l));
  CHECK(barriers(m.k, {{n, 0}}) == 3);
  CHECK(barriers(m.k, {{n, 3}}) == 3);
}

TEST_CASE("barriers: a tree reduction in local memory") {
  Staging m;
  m.k.body = block(m.copy(m.tile, m.l, m.in, m.l));
  for (int half = 32; half > 0; half /= 2) {
    const Nat l = counter("l", half);
    m.k.body.push_back({lcl(l, Store{m.tile, l, add(load(m.tile, l), load(m.tile, l + half))})});
  }
  m.k.body.push_back({lcl("l", 1, [&](Nat l) { return Store{m.out, l, load(m.tile, l)}; })});
  CHECK(barriers(m.k) == 6);
}

TEST_CASE("barriers: thousands of accesses stay cheap and correct") {
  Staging m(4096, 4096);
  const auto phase = [&](BufferId to, BufferId from, bool swap) {
    Block b;
    for (int j = 0; j < 64; j++) b.push_back({Store{to, 64 * m.l + j, load(from, swap ? 64 * j + m.l : 64 * m.l + j)}});
    return over(LoopKind::local, 0, m.l, b);
  };
  CHECK(m.barriers(phase(m.tile, m.in, false), phase(m.out, m.tile, true)) == 1);
  CHECK(m.barriers(phase(m.tile, m.in, false), phase(m.out, m.tile, false)) == 0);
}
