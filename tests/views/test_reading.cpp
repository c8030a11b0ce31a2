// Every constructor as a source, at every point of small shapes, against the naive algebra.
#include "views/naive.hpp"

namespace lift {

using namespace naive;

TEST_CASE("memory is row-major") {
  for (int n = 1; n <= 3; n++)
    for (int m = 1; m <= 4; m++) {
      checkReads(memory({n, m}), counting({n, m}));
      checkReads(memory({m, n, 2}, 3), counting({m, n, 2}, 3));
    }
}

TEST_CASE("offsets of memory are polynomials of the sizes") {
  const NatVar n = NatVar::size("n"), m = NatVar::size("m");
  const NatVar i = NatVar::index("i", n), j = NatVar::index("j", m);
  const ViewPtr v = memory({Nat(7), Nat(n), Nat(m)}, 5)->at(2)->at(Nat(i))->at(Nat(j));
  const auto* place = dynamic_cast<const MemoryView*>(v.get());
  REQUIRE(place);
  CHECK(place->buffer == 5);
  CHECK(place->unit == 1);
  CHECK(place->offset == Nat(2) * Nat(n) * Nat(m) + Nat(i) * Nat(m) + Nat(j));
  CHECK(place->type() == f32);
}

TEST_CASE("memory of vectors counts scalars, or vectors where they are the buffer's elements") {
  const Type v4 = Type::vector(4, f32);
  const auto scalars = memoryView(arrayType({3, 2}, v4), {{1, 1}});
  const auto vectors = memoryView(arrayType({3, 2}, v4), {{1, 4}});
  checkReads(scalars, counting({3, 2, 4}, 1));
  checkReads(vectors, counting({3, 2, 4}, 1));
  CHECK(dynamic_cast<const MemoryView&>(*scalars->at(1)->at(1)).offset == Nat(12));
  CHECK(dynamic_cast<const MemoryView&>(*vectors->at(1)->at(1)).offset == Nat(3));
}

TEST_CASE("memory of tuples is one buffer for each leaf") {
  const Type i32 = Type::scalar(Scalar::i32);
  checkReads(memoryView(Type::tuple({f32, i32}), {{0}, {1}}), listOf({counting({}, 0), counting({}, 1)}));
  // [3](f32, ([2]f32, i32))
  const Type nested = Type::tuple({f32, Type::tuple({arrayType({2}), i32})});
  Row expected;
  for (int i = 0; i < 3; i++)
    expected.push_back(listOf({counting({3}, 4).parts[static_cast<std::size_t>(i)],
                               listOf({counting({3, 2}, 5).parts[static_cast<std::size_t>(i)],
                                       counting({3}, 6).parts[static_cast<std::size_t>(i)]})}));
  checkReads(memoryView(arrayType({3}, nested), {{4}, {5}, {6}}), listOf(expected));
  // [2][3](f32, i32): below the tuple nothing, above it two dimensions
  checkReads(memoryView(arrayType({2, 3}, Type::tuple({f32, i32})), {{0}, {1}}),
             listOf({zip({counting({2, 3}, 0).parts[0], counting({2, 3}, 1).parts[0]}),
                     zip({counting({2, 3}, 0).parts[1], counting({2, 3}, 1).parts[1]})}));
}

TEST_CASE("reading split") {
  for (int rows = 1; rows <= 4; rows++)
    for (int size = 1; size <= 4; size++) {
      const ViewPtr v = splitView(memory({rows * size}), size);
      CHECK(v->type() == arrayType({rows, size}));
      checkReads(v, split(size, counting({rows * size})));
    }
}

TEST_CASE("reading join") {
  for (int n = 1; n <= 4; n++)
    for (int m = 1; m <= 4; m++) {
      const ViewPtr v = joinView(memory({n, m, 2}));
      CHECK(v->type() == arrayType({n * m, 2}));
      checkReads(v, join(counting({n, m, 2})));
    }
}

TEST_CASE("reading slide, with every size and step, and what the last window leaves") {
  for (int n = 1; n <= 7; n++)
    for (int size = 1; size <= n; size++)
      for (int step = 1; step <= 4; step++) {
        const ViewPtr v = slideView(memory({n}), size, step);
        CHECK(v->type().length() == Nat(sizeOf(slide(size, step, counting({n})))));
        checkReads(v, slide(size, step, counting({n})));
      }
}

TEST_CASE("reading transpose") {
  for (int n = 1; n <= 3; n++)
    for (int m = 1; m <= 4; m++) {
      const ViewPtr v = transposeView(memory({n, m, 2}));
      CHECK(v->type() == arrayType({m, n, 2}));
      checkReads(v, transpose(counting({n, m, 2})));
    }
}

TEST_CASE("reading reorder, every index function and its inverse") {
  for (int n = 1; n <= 12; n++) {
    const Data xs = counting({n});
    const auto check = [&](IndexFn fn, const std::vector<int>& sizes) {
      const std::vector<Nat> nats(sizes.begin(), sizes.end());
      CAPTURE(n, info(fn).name, sizes);
      checkReads(reorderView(memory({n}), fn, nats), reorder(fn, sizes, xs));
      checkReads(reorderView(memory({n}), fn, nats, true), reorderInverse(fn, sizes, xs));
    };
    check(IndexFn::reverse, {});
    for (int k = -n; k <= 2 * n; k++) check(IndexFn::shift, {k});
    for (int s = 1; s <= n; s++)
      if (n % s == 0) {
        check(IndexFn::stride, {s});
        check(IndexFn::unstride, {s});
        check(IndexFn::transpose, {s, n / s});
      }
  }
}

TEST_CASE("index functions and their inverses undo each other") {
  for (const int n : {6, 12}) {
    const auto check = [n = n](IndexFn fn, const std::vector<Nat>& sizes) {
      std::set<std::int64_t> reached;
      for (int i = 0; i < n; i++) {
        const Nat there = applyIndexFn(fn, sizes, n, i);
        reached.insert(there.constant().value());
        CHECK(applyIndexFn(fn, sizes, n, there, true) == Nat(i));
        CHECK(applyIndexFn(fn, sizes, n, applyIndexFn(fn, sizes, n, i, true)) == Nat(i));
      }
      CHECK(reached.size() == static_cast<std::size_t>(n));
    };
    check(IndexFn::reverse, {});
    check(IndexFn::stride, {3});
    check(IndexFn::unstride, {2});
    check(IndexFn::shift, {5});
    check(IndexFn::transpose, {2, n / 2});
  }
}

TEST_CASE("reading take and drop") {
  for (int n = 2; n <= 5; n++)
    for (int k = 1; k < n; k++) {
      checkReads(takeView(memory({n, 2}), k), take(k, counting({n, 2})));
      checkReads(dropView(memory({n, 2}), k), drop(k, counting({n, 2})));
      CHECK(dropView(memory({n, 2}), k)->type() == arrayType({n - k, 2}));
    }
}

TEST_CASE("reading concat") {
  for (int n = 1; n <= 4; n++)
    for (int m = 1; m <= 4; m++)
      checkReads(concatView(memory({n, 2}, 0), memory({m, 2}, 1)), concat(counting({n, 2}, 0), counting({m, 2}, 1)));
}

TEST_CASE("concat decides where it can and guards where it cannot") {
  const ViewPtr both = concatView(memory({3}, 0), memory({4}, 1));
  CHECK(dynamic_cast<const MemoryView*>(both->at(2).get())->buffer == 0);
  CHECK(dynamic_cast<const MemoryView*>(both->at(3).get())->buffer == 1);
  const NatVar low = NatVar::index("i", 3), any = NatVar::index("j", 7);
  CHECK(dynamic_cast<const MemoryView*>(both->at(Nat(low)).get())->buffer == 0);
  CHECK(dynamic_cast<const MemoryView*>(both->at(Nat(low) + Nat(3)).get())->buffer == 1);
  const ViewPtr unsure = both->at(Nat(any));
  const auto* guarded = dynamic_cast<const GuardedView*>(unsure.get());
  REQUIRE(guarded);
  REQUIRE(guarded->guard.bounds.size() == 1);
  CHECK(guarded->guard.bounds[0].smaller == Nat(any));
  CHECK(guarded->guard.bounds[0].larger == Nat(3));
}

TEST_CASE("reading pad with a constant, also of rows, also cropping") {
  for (int n = 1; n <= 4; n++)
    for (int left = 1 - n; left <= 3; left++)
      for (int right = 1 - n; right <= 3; right++) {
        if (left + n + right < 1) continue;
        CAPTURE(n, left, right);
        checkReads(padView(memory({n}), left, right, constantView(f32)),
                   pad(Edge::constant, left, right, element(padding), counting({n})));
        const Data row = listOf({element(padding), element(padding)});
        checkReads(padView(memory({n, 2}), left, right, constantView(arrayType({2}))),
                   pad(Edge::constant, left, right, row, counting({n, 2})));
      }
}

TEST_CASE("pad leaves out the bounds that are proved") {
  const auto bounds = [](int left, int right, Nat i) -> std::size_t {
    const ViewPtr v = padView(memory({5}), left, right, constantView(f32))->at(i);
    const auto* guarded = dynamic_cast<const GuardedView*>(v.get());
    return guarded ? guarded->guard.bounds.size() : 0;
  };
  CHECK(bounds(1, 1, Nat(NatVar::index("i", 7))) == 2);
  CHECK(bounds(0, 2, Nat(NatVar::index("i", 7))) == 1);
  CHECK(bounds(2, 0, Nat(NatVar::index("i", 7))) == 1);
  CHECK(bounds(1, 1, Nat(NatVar::index("i", 5)) + Nat(1)) == 0);
  CHECK(bounds(-1, -1, Nat(NatVar::index("i", 3))) == 0);
  CHECK(bounds(1, 1, Nat(3)) == 0);
}

TEST_CASE("reading padClamp, padMirror and padWrap, also beyond the length, also cropping") {
  for (int n = 1; n <= 4; n++)
    for (int left = 1 - n; left <= 2 * n + 2; left++)
      for (int right = 1 - n; right <= 2 * n + 2; right++) {
        if (left + n + right < 1) continue;
        CAPTURE(n, left, right);
        const Data xs = counting({n});
        checkReads(padIndexView(memory({n}), Prim::padClamp, left, right), pad(Edge::clamp, left, right, {}, xs));
        checkReads(padIndexView(memory({n}), Prim::padMirror, left, right), pad(Edge::mirror, left, right, {}, xs));
        checkReads(padIndexView(memory({n}), Prim::padWrap, left, right), pad(Edge::wrap, left, right, {}, xs));
      }
}

TEST_CASE("reading padMirror of symbolic amounts, which may exceed the length") {
  for (int n = 1; n <= 3; n++)
    for (int left = 1; left <= 7; left++) {
      World world;
      const ViewPtr v = padIndexView(memory({world.size(n)}), Prim::padMirror, world.size(left), 1);
      checkReads(v, pad(Edge::mirror, left, 1, {}, counting({n})), world);
    }
}

TEST_CASE("reading zip and unzip") {
  for (int n = 1; n <= 4; n++) {
    const std::vector<ViewPtr> views{memory({n}, 0), memory({n, 2}, 1), memory({n}, 2)};
    const std::vector<Data> data{counting({n}, 0), counting({n, 2}, 1), counting({n}, 2)};
    checkReads(zipView(views), zip(data));
    checkReads(unzipView(zipView(views)), unzip(zip(data)));
    CHECK(zipView(views)->type().element() == Type::tuple({f32, arrayType({2}), f32}));
  }
}

TEST_CASE("reading asVector: lanes of scalars") {
  for (const int width : {2, 3, 4, 8})
    for (int n = 1; n <= 3; n++) {
      const ViewPtr v = asVectorView(memory({n * width}), width);
      CHECK(v->type() == arrayType({n}, Type::vector(width, f32)));
      checkReads(v, split(width, counting({n * width})));
      const ViewPtr first = v->at(0);
      const auto* lanes = dynamic_cast<const VectorView*>(first.get());
      REQUIRE(lanes);
      CHECK(lanes->base == Nat(0));
    }
}

TEST_CASE("reading asScalar: lanes of vectors, of both kinds of memory and of vectors put together") {
  for (const int width : {2, 3, 4})
    for (int n = 1; n <= 3; n++) {
      const Type vectors = arrayType({n}, Type::vector(width, f32));
      checkReads(asScalarView(memoryView(vectors, {{0, 1}})), counting({n * width}));
      checkReads(asScalarView(memoryView(vectors, {{0, width}})), counting({n * width}));
      checkReads(asScalarView(asVectorView(memory({n * width}), width)), counting({n * width}));
      const ViewPtr leaf = asScalarView(memoryView(vectors, {{0, width}}))->at(width * n - 1);
      const auto* lane = dynamic_cast<const LaneView*>(leaf.get());
      REQUIRE(lane);
      CHECK(lane->lane == Nat(width - 1));
    }
}

TEST_CASE("vectors of padded, reversed and strided scalars") {
  const Data xs = counting({8});
  checkReads(asVectorView(reorderView(memory({8}), IndexFn::reverse, {}), 4),
             split(4, reorder(IndexFn::reverse, {}, xs)));
  checkReads(asVectorView(reorderView(memory({8}), IndexFn::stride, {2}), 4),
             split(4, reorder(IndexFn::stride, {2}, xs)));
  checkReads(asVectorView(padView(memory({8}), 1, 3, constantView(f32)), 4),
             split(4, pad(Edge::constant, 1, 3, element(padding), xs)));
  checkReads(asScalarView(padView(asVectorView(memory({8}), 4), 1, 1, constantView(Type::vector(4, f32)))),
             pad(Edge::constant, 4, 4, element(padding), xs));
}

TEST_CASE("guards carry indices and components inwards") {
  const ViewPtr pairs = zipView({memory({3, 2}, 0), memory({3}, 1)});
  const ViewPtr padded = padView(pairs, 1, 1, constantView(pairs->type().element()));
  const Data outside = listOf({listOf({element(padding), element(padding)}), element(padding)});
  checkReads(padded, pad(Edge::constant, 1, 1, outside, zip({counting({3, 2}, 0), counting({3}, 1)})));
}

TEST_CASE("windows in two dimensions, as the prelude makes them") {
  const ViewPtr image = memory({4, 5});
  const auto rows = mapView(image, [](const ViewPtr& r) { return slideView(r, 3, 2); });
  const auto windows = mapView(slideView(rows, 2, 1), [](const ViewPtr& r) { return transposeView(r); });
  Row expected;
  for (int i = 0; i < 3; i++) {
    Row line;
    for (int j = 0; j < 2; j++) {
      Row window;
      for (int r = 0; r < 2; r++)
        window.push_back(
            listOf({element((i + r) * 5 + 2 * j), element((i + r) * 5 + 2 * j + 1), element((i + r) * 5 + 2 * j + 2)}));
      line.push_back(listOf(window));
    }
    expected.push_back(listOf(line));
  }
  checkReads(windows, listOf(expected));
}

TEST_CASE("symbolic sizes: offsets and guards hold for every value") {
  for (int n = 1; n <= 4; n++)
    for (int m = 1; m <= 4; m++) {
      World world;
      const Nat symbolN = world.size(n, "n"), symbolM = world.size(m, "m");
      const Data xs = counting({n, m}), flat = counting({n * m});
      checkReads(joinView(memory({symbolN, symbolM})), join(xs), world);
      checkReads(transposeView(memory({symbolN, symbolM})), transpose(xs), world);
      checkReads(joinView(transposeView(memory({symbolN, symbolM}))), join(transpose(xs)), world);
      checkReads(splitView(memory({symbolN * symbolM}), symbolM), split(m, flat), world);
      checkReads(reorderView(memory({symbolN * symbolM}), IndexFn::stride, {symbolN}),
                 reorder(IndexFn::stride, {n}, flat), world);
      checkReads(reorderView(memory({symbolN * symbolM}), IndexFn::transpose, {symbolN, symbolM}),
                 reorder(IndexFn::transpose, {n, m}, flat), world);
      checkReads(reorderView(memory({symbolN}), IndexFn::shift, {symbolM}), reorder(IndexFn::shift, {m}, counting({n})),
                 world);
      checkReads(concatView(memory({symbolN}), memory({symbolM}, 1)), concat(counting({n}), counting({m}, 1)), world);
      checkReads(padView(memory({symbolN}), symbolM, 1, constantView(f32)),
                 pad(Edge::constant, m, 1, element(padding), counting({n})), world);
      checkReads(padIndexView(memory({symbolN}), Prim::padWrap, symbolM, 2), pad(Edge::wrap, m, 2, {}, counting({n})),
                 world);
      checkReads(padIndexView(memory({symbolN}), Prim::padClamp, symbolM, 2), pad(Edge::clamp, m, 2, {}, counting({n})),
                 world);
      checkReads(dropView(memory({symbolN + symbolM}), symbolM), drop(m, counting({n + m})), world);
      if (m <= n) checkReads(slideView(memory({symbolN}), symbolM, 2), slide(m, 2, counting({n})), world);
    }
}

TEST_CASE("layouts that undo each other leave plain offsets") {
  const NatVar n = NatVar::size("n"), m = NatVar::size("m");
  const NatVar i = NatVar::index("i", n), j = NatVar::index("j", m);
  const auto offset = [](const ViewPtr& v) { return dynamic_cast<const MemoryView&>(*v).offset; };
  const ViewPtr xs = memory({Nat(n), Nat(m)});
  const Nat plain = Nat(i) * Nat(m) + Nat(j);
  CHECK(offset(splitView(joinView(xs), m)->at(Nat(i))->at(Nat(j))) == plain);
  CHECK(offset(transposeView(transposeView(xs))->at(Nat(i))->at(Nat(j))) == plain);
  CHECK(offset(reorderView(reorderView(xs, IndexFn::reverse, {}), IndexFn::reverse, {})->at(Nat(i))->at(Nat(j))) ==
        plain);
  // Neither division nor remainder in what convolutions read: the rows of a window, joined.
  const ViewPtr window = joinView(slideView(joinView(xs), Nat(3) * Nat(m), m));
  CHECK(offset(splitView(window, Nat(3) * Nat(m))->at(Nat(2))->at(Nat(j))) == Nat(2) * Nat(m) + Nat(j));
}

TEST_CASE("a view refuses what its type has not") {
  CHECK_THROWS_AS(memory({3})->component(0), InternalError);
  CHECK_THROWS_AS(tupleView({memory({3})})->at(0), InternalError);
  CHECK_THROWS_AS(joinView(memory({3})->at(0)), InternalError);
  CHECK_THROWS_AS(padIndexView(memory({3}), Prim::pad, 1, 1)->at(0), InternalError);
}

}  // namespace lift
