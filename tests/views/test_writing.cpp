// Every constructor as a destination: what is written through the layout that undoes another is that layout's result.
#include "views/naive.hpp"

namespace lift {
namespace {

using namespace naive;

// Writing `data` through `undone`, a view on memory of the shape, must leave `expected` there.
void checkWrites(const ViewPtr& undone, const Data& data, const Data& places, const Data& expected, World world = {}) {
  Memory memory;
  memory.write(undone, data, std::move(world));
  CHECK(memory.read(places) == expected);
}

}  // namespace

TEST_CASE("writing the result of join goes through split") {
  for (int n = 1; n <= 4; n++)
    for (int m = 1; m <= 4; m++) {
      const Data x = counting({n, m}, 7);
      checkWrites(splitView(memory({n * m}), m), x, counting({n * m}), join(x));
    }
}

TEST_CASE("writing the result of split goes through join") {
  for (int n = 1; n <= 4; n++)
    for (int m = 1; m <= 4; m++) {
      const Data x = counting({n * m}, 7);
      checkWrites(joinView(memory({n, m})), x, counting({n, m}), split(m, x));
    }
}

TEST_CASE("writing the result of transpose goes through transpose") {
  for (int n = 1; n <= 4; n++)
    for (int m = 1; m <= 4; m++) {
      const Data x = counting({n, m, 2}, 7);
      checkWrites(transposeView(memory({m, n, 2})), x, counting({m, n, 2}), transpose(x));
    }
}

TEST_CASE("writing the result of reorder goes through the inverse function") {
  for (int n = 1; n <= 12; n++) {
    const Data x = counting({n}, 7);
    const auto check = [&](IndexFn fn, const std::vector<int>& sizes) {
      CAPTURE(n, info(fn).name, sizes);
      const std::vector<Nat> nats(sizes.begin(), sizes.end());
      checkWrites(reorderView(memory({n}), fn, nats, true), x, counting({n}), reorder(fn, sizes, x));
    };
    check(IndexFn::reverse, {});
    for (int k = 0; k <= n; k++) check(IndexFn::shift, {k});
    for (int s = 1; s <= n; s++)
      if (n % s == 0) {
        check(IndexFn::stride, {s});
        check(IndexFn::unstride, {s});
        check(IndexFn::transpose, {s, n / s});
      }
  }
}

TEST_CASE("writing the result of asVector goes to lanes, that of asScalar to vectors put together") {
  for (const int width : {2, 3, 4})
    for (int n = 1; n <= 3; n++) {
      const Type vectors = arrayType({n}, Type::vector(width, f32));
      const Data scalars = counting({n * width}, 7);
      for (const int unit : {1, width})
        checkWrites(asScalarView(memoryView(vectors, {{0, unit}})), scalars, counting({n * width}), scalars);
      checkWrites(asVectorView(memory({n * width}), width), split(width, scalars), counting({n * width}), scalars);
    }
}

TEST_CASE("writing the result of zip goes through unzip, that of unzip through zip") {
  for (int n = 1; n <= 4; n++) {
    const Type pairs = arrayType({n}, Type::tuple({f32, f32}));
    const Data a = counting({n}, 7), b = counting({n}, 8);
    const Data places = zip({counting({n}, 0), counting({n}, 1)});
    checkWrites(unzipView(memoryView(pairs, {{0}, {1}})), listOf({a, b}), places, zip({a, b}));
    checkWrites(zipView({memory({n}, 0), memory({n}, 1)}), zip({a, b}), unzip(places), listOf({a, b}));
  }
}

TEST_CASE("writing the result of concat goes to the two parts of the destination") {
  for (int n = 1; n <= 4; n++)
    for (int m = 1; m <= 4; m++) {
      const ViewPtr out = memory({n + m});
      const Data a = counting({n}, 7), b = counting({m}, 8);
      Memory first, second;
      first.write(takeView(out, n), a, {});
      second.write(dropView(out, n), b, {});
      CHECK(first.read(counting({n})) == a);
      CHECK(second.read(drop(n, counting({n + m}))) == b);
      CHECK(first.size() + second.size() == static_cast<std::size_t>(n + m));
    }
}

TEST_CASE("writing to symbolic sizes") {
  for (int n = 1; n <= 4; n++)
    for (int m = 1; m <= 4; m++) {
      World world;
      const Nat symbolN = world.size(n, "n"), symbolM = world.size(m, "m");
      const Data rows = counting({n, m}, 7), flat = counting({n * m}, 7);
      checkWrites(splitView(memory({symbolN * symbolM}), symbolM), rows, counting({n * m}), join(rows), world);
      checkWrites(joinView(memory({symbolN, symbolM})), flat, counting({n, m}), split(m, flat), world);
      checkWrites(transposeView(memory({symbolM, symbolN})), rows, counting({m, n}), transpose(rows), world);
      checkWrites(reorderView(memory({symbolN * symbolM}), IndexFn::stride, {symbolM}, true), flat, counting({n * m}),
                  reorder(IndexFn::stride, {m}, flat), world);
      checkWrites(reorderView(memory({symbolN}), IndexFn::shift, {symbolM}, true), counting({n}, 7), counting({n}),
                  reorder(IndexFn::shift, {m}, counting({n}, 7)), world);
    }
}

TEST_CASE("writing through a chain undoes the outermost layout first") {
  // join(transpose(split(2, x)))
  const Data x = counting({6}, 7);
  const ViewPtr out = memory({6});
  checkWrites(joinView(transposeView(splitView(out, 3))), x, counting({6}), join(transpose(split(2, x))));
  // map(reorder(reverse), split(3, x)), flat in memory
  const auto reversed = [](const Data& row) { return reorder(IndexFn::reverse, {}, row); };
  const ViewPtr rows =
      mapView(splitView(out, 3), [](const ViewPtr& r) { return reorderView(r, IndexFn::reverse, {}, true); });
  checkWrites(joinView(rows), x, counting({6}), join(map(reversed, split(3, x))));
}

}  // namespace lift
