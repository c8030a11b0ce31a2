// The traits of primitives (primitive.hpp) against what interpreter, inference and compiler do with them: one sample
// for each primitive, and every trait that can be seen from outside is looked for in it.
#include <algorithm>
#include <cmath>
#include <set>

#include "helpers.hpp"
#include "lift/kernel_walk.hpp"
#include "lift/space.hpp"
#include "lift/syntax.hpp"
#include "lift/terms.hpp"

namespace lift::codegen_tests {
namespace {

constexpr std::int64_t bytes = 32;  // of an array of eight floats

struct Sample {
  Prim prim;
  std::string value;         // an array of floats, computed from the array {} of eight floats; ys is another such array
  std::string written = {};  // the primitive alone, where the value reads its result; {} is a mapGlb
  std::string skipped = {};  // a value that does not evaluate {}, of primitives that may leave arguments out
};

const std::vector<Sample> samples = {
    {Prim::map, "map(fun v => v, {})"},
    {Prim::reduce, "[reduce(0.0, fun (a, v) => a + v, {})]"},
    {Prim::scan, "scan(0.0, fun (a, v) => a + v, {})"},
    {Prim::scanExclusive, "scanExclusive(0.0, fun (a, v) => a + v, {})"},
    {Prim::reduceByIndex, "reduceByIndex(ys, fun (a, v) => a + v, map(fun v => (1, v), {}))"},
    {Prim::iterate, "iterate(20, fun zs => mapSeq(fun v => v * 0.5, zs), {})", "", "iterate(0, fun zs => {}, ys)"},
    {Prim::iterateWhile, "iterateWhile(20, fun zs => true, fun zs => mapSeq(fun v => v * 0.5, zs), {})", "",
     "iterateWhile(20, fun zs => false, fun zs => {}, ys)"},
    {Prim::ifThenElse, "if ys[0] < 2.0 then {} else ys", "", "if ys[0] < -9.0 then {} else ys"},
    {Prim::let, "let(fun zs => concat(zs, zs), map(fun v => v + 0.0, {}))"},
    {Prim::id, "id({})"},
    {Prim::generate, "generate(8, fun i => {}[i])"},
    {Prim::vectorize, "asScalar(map(vectorize(4, fun v => v + 1.0), asVector(4, {})))"},
    {Prim::zip, "map(fun p => p.0, zip({}, ys))", "zip({}, ys)"},
    {Prim::unzip, "unzip(map(fun v => (v, v), {})).0", "unzip(mapGlb(0, fun v => (v, v), ys))"},
    {Prim::tuple, "map(fun p => p.0, map(fun v => (v, v), {}))", "({}, ys)"},
    {Prim::get, "unzip(zip({}, ys)).0"},
    {Prim::arrayOf, "[{}[0], {}[1]]", "[{}, ys]"},
    {Prim::split, "join(split(4, {}))"},
    {Prim::join, "join(split(4, {}))"},
    {Prim::slide, "join(slide(3, 1, {}))"},
    {Prim::slideStrict, "join(slideStrict(4, 2, {}))"},
    {Prim::pad, "pad(1, 1, ys[0], {})"},
    {Prim::padClamp, "padClamp(1, 1, {})"},
    {Prim::padMirror, "padMirror(1, 1, {})"},
    {Prim::padWrap, "padWrap(1, 1, {})"},
    {Prim::transpose, "join(transpose(split(4, {})))"},
    {Prim::reorder, "reorder(reverse, {})"},
    {Prim::concat, "concat({}, ys)"},
    {Prim::take, "take(4, {})"},
    {Prim::drop, "drop(4, {})"},
    {Prim::at, "[{}[1]]"},
    {Prim::asVector, "asScalar(asVector(4, {}))"},
    {Prim::asScalar, "asScalar(asVector(4, {}))"},
    {Prim::op, "map(fun v => v + 1.0, {})"},
    {Prim::convert, "map(fun v => f32(i32(v)), {})"},
    {Prim::splat, "asScalar(map(fun v => splat(4, v), {}))"},
    {Prim::dot, "map(fun v => dot(v, v), asVector(4, {}))"},
    {Prim::anyLane, "map(fun v => if anyLane(vectorize(4, fun x => x < 0.5, v)) then 1.0 else 0.0, asVector(4, {}))"},
    {Prim::mapGlb, "mapGlb(0, fun v => v, {})"},
    {Prim::mapWrg, "mapWrg(0, fun v => v, {})"},
    {Prim::mapLcl, "mapLcl(0, fun v => v, {})"},
    {Prim::reduceLcl, "[reduceLcl(0.0, fun (a, v) => a + v[0] + v[1], split(2, {}))]"},
    {Prim::reduceByIndexLcl, "map(f32, reduceByIndexLcl(fill(8, 0), add, map(fun v => (i32(v), i32(v)), {})))"},
    {Prim::reduceByIndexGlb, "map(f32, reduceByIndexGlb(fill(8, 0), add, map(fun v => (i32(v), i32(v)), {})))"},
    {Prim::mapSeq, "mapSeq(fun v => v, {})"},
    {Prim::mapSeqUnroll, "mapSeqUnroll(2, fun v => v, {})"},
    {Prim::reduceSeq, "[reduceSeq(0.0, fun (a, v) => a + v, {})]"},
    {Prim::reduceSeqUnroll, "[reduceSeqUnroll(2, 0.0, fun (a, v) => a + v, {})]"},
    {Prim::scanSeq, "scanSeq(0.0, fun (a, v) => a + v, {})"},
    {Prim::scanExclusiveSeq, "scanExclusiveSeq(0.0, fun (a, v) => a + v, {})"},
    {Prim::toGlobal, "toGlobal({})"},
    {Prim::toImage, "toImage({})"},
    {Prim::toLocal, "toLocal({})"},
    {Prim::toPrivate, "toPrivate({})"},
};

std::string on(std::string value, const std::string& argument) {
  for (auto at = value.find("{}"); at != std::string::npos; at = value.find("{}", at + argument.size()))
    value.replace(at, 2, argument);
  return value;
}

bool mentions(Expr e, Prim prim) {
  return anyPrimitive(e, [&](Expr p) { return p.prim() == prim; });
}

Program ofRow(const std::string& value) { return parse("def main(ys: [8]f32) = " + value); }

// The sample's value, each of its elements read by a loop that stands where the sample may.
Program reading(const Sample& s) {
  const std::string read = fmt::format("fun v => v + 1.0, {}", on(s.value, "ys"));
  if (isKernelMap(s.prim)) return ofRow(fmt::format("mapGlb(0, {})", read));
  return parse(fmt::format("def main(xs: [2][8]f32) = mapWrg(0, fun ys => mapSeq({}), xs)", read));
}

Tensors numbered() {
  Tensor ys(Scalar::f32, {8});
  for (std::int64_t i = 0; i < 8; i++) ys.set(i, 1.5 + static_cast<double>(i));
  return {{"ys", ys}};
}

bool fails(const Program& program) {
  return test::refusalOf([&] { interpret(program, numbered()); }) != "";
}

// Whether the plan keeps such an array in the space: in its kernels, or as a temporary.
bool isKept(const kernel::Plan& plan, Traits::Memory memory) {
  if (memory == Traits::Memory::global) return temporariesOf(plan) > 0;
  const kernel::AddressSpace space =
      memory == Traits::Memory::priv ? kernel::AddressSpace::priv : kernel::AddressSpace::local;
  for (const kernel::Kernel& k : plan.kernels)
    for (const kernel::Buffer& b : k.buffers)
      if (b.space == space && b.count.constant().value() * b.width * 4 >= bytes) return true;
  return false;
}

// Whether the constraints say that the program needs at least these bytes.
bool isCounted(const Program& program, Traits::Memory memory) {
  DeviceLimits limits;
  if (memory == Traits::Memory::priv) limits.privateBytes = bytes - 1;
  if (memory == Traits::Memory::local) limits.localBytes = bytes - 1;
  if (memory == Traits::Memory::global) {
    std::vector<Leaf> given = leavesOf(program.result());
    for (const Leaf& l : leavesOf(program.parameters[0].type())) given.push_back(l);
    limits.globalBytes = 0;
    for (const Leaf& l : given) {
      std::int64_t count = 1;
      for (const Nat n : l.shape) count *= n.constant().value();
      limits.globalBytes += count * 4;
    }
  }
  const auto constraints = constraintsOf(program, limits);
  return std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& c) {
    return c.kind == Constraint::Kind::hardware && holds(c.condition) == Truth::refuted;
  });
}

}  // namespace

TEST_CASE("traits: every primitive has a sample that has it") {
  std::set<Prim> seen;
  for (const Sample& s : samples) {
    INFO(info(s.prim).name);
    CHECK(seen.insert(s.prim).second);
    CHECK(mentions(ofRow(on(s.written.empty() ? s.value : s.written, "ys")).body, s.prim));
  }
  CHECK(static_cast<int>(seen.size()) == primCount);
}

TEST_CASE("traits: what moves data gives values of its arguments only") {
  int moving = 0;
  const Tensors inputs = numbered();
  for (const Sample& s : samples) {
    if (!movesData(s.prim)) continue;
    INFO(info(s.prim).name);
    const Tensors results = interpret(ofRow(on(s.value, "ys")), inputs);
    const Tensor& result = results.begin()->second;
    for (std::int64_t i = 0; i < result.size(); i++) {
      const double x = result.get(i);
      CHECK((x >= 1.5 && x < 9 && x - 0.5 == std::floor(x)));
      moving++;
    }
  }
  CHECK(moving > 100);
}

TEST_CASE("traits: what neither moves data nor computes in a loop has work, and what may fail is no movement") {
  for (const Sample& s : samples) {
    INFO(info(s.prim).name);
    const Traits& t = traits(s.prim);
    const bool isValue =
        t.loop == Traits::Loop::none && t.memory == Traits::Memory::none && t.lazy == Traits::Lazy::none;
    const bool ofLanes = s.prim == Prim::splat || s.prim == Prim::vectorize;  // a copy in each lane; its function's
    if (isValue) CHECK(movesData(s.prim) == (t.work == Traits::Work::none && !ofLanes));
    const Program program = ofRow(on(s.value, "ys"));
    if (movesData(s.prim))
      CHECK_FALSE(anyPrimitive(program.body, [&](Expr p) { return p.prim() == s.prim && mayFail(p); }));
    CHECK((t.work == Traits::Work::operation) == (s.prim == Prim::op));
  }
  CHECK(traits(Prim::at).work == Traits::Work::one);
}

TEST_CASE("traits: layouts that are written through need no memory for what they are applied to, others do") {
  int through = 0, stored = 0;
  for (const Sample& s : samples) {
    const Traits& t = traits(s.prim);
    if (t.data != Traits::Data::moved || t.loop != Traits::Loop::none) continue;
    INFO(info(s.prim).name);
    const Program program = ofRow(on(s.written.empty() ? s.value : s.written, "mapGlb(0, fun v => v + 1.0, ys)"));
    CHECK(wrong(program) == "");
    int stages = 0;
    CompileOptions options;
    options.dump = [&](std::string_view stage, const std::string& made) {
      if (stage == "outline") stages = occurrences(made, "-- ");
    };
    compile(program, options);
    CHECK((stages == 1) == (t.writing != Traits::Writing::stored));
    (t.writing == Traits::Writing::stored ? stored : through)++;
  }
  CHECK(through >= 12);
  CHECK(stored >= 9);
}

TEST_CASE("traits: what is read is kept where its trait says, and resources count it") {
  CompileOptions plain;
  for (const kernel::Pass& pass : kernel::passes()) plain.passes.skip.emplace_back(pass.name);
  for (const Sample& s : samples) {
    if (s.prim == Prim::toImage) continue;  // not inside of a map, as the samples are here
    INFO(info(s.prim).name);
    const Program program = reading(s);
    CHECK(wrong(program) == "");
    const kernel::Plan plan = compile(program, plain);
    for (const auto memory : {Traits::Memory::priv, Traits::Memory::local, Traits::Memory::global}) {
      INFO("memory " << static_cast<int>(memory));
      CHECK(isKept(plan, memory) == (traits(s.prim).memory == memory));
      CHECK(isCounted(program, memory) == (traits(s.prim).memory == memory));
    }
  }
}

TEST_CASE("traits: loops are of primitives that take functions, and parallel maps of those that take a dimension") {
  for (const Sample& s : samples) {
    INFO(info(s.prim).name);
    const SynScheme scheme = parseScheme(*addSource("scheme", std::string(info(s.prim).scheme)));
    const auto takes = [&](const std::string& name) { return scheme.parameters[0].name == name; };
    const bool function = std::any_of(scheme.parameters.begin(), scheme.parameters.end(),
                                      [](const auto& p) { return is<SynType::Function>(p.type); });
    const Traits& t = traits(s.prim);
    const bool once = s.prim == Prim::let || s.prim == Prim::vectorize;
    CHECK((t.loop != Traits::Loop::none) == (function && !once));
    CHECK((t.loop == Traits::Loop::generate || t.loop == Traits::Loop::iterate) == (function && takes("count")));
    const bool parallel = t.level != Traits::Level::open && t.level != Traits::Level::sequential;
    CHECK((parallel && t.loop == Traits::Loop::map) == takes("dim"));
  }
}

TEST_CASE("traits: primitives that name a memory or a level are kept and run there") {
  using Level = Traits::Level;
  using Memory = Traits::Memory;
  const std::map<Prim, Memory> memories = {{Prim::toGlobal, Memory::global}, {Prim::mapGlb, Memory::global},
                                           {Prim::mapWrg, Memory::global},   {Prim::toLocal, Memory::local},
                                           {Prim::mapLcl, Memory::local},    {Prim::toPrivate, Memory::priv},
                                           {Prim::toImage, Memory::global}};
  for (const auto& [prim, memory] : memories) CHECK(traits(prim).memory == memory);
  const std::tuple<Prim, Level, kernel::LoopKind> levels[] = {
      {Prim::mapGlb, Level::global, kernel::LoopKind::global},
      {Prim::mapWrg, Level::group, kernel::LoopKind::group},
      {Prim::mapLcl, Level::local, kernel::LoopKind::local},
      {Prim::mapSeq, Level::sequential, kernel::LoopKind::sequential},
  };
  for (const auto& [prim, level, kind] : levels) {
    INFO(info(prim).name);
    CHECK(traits(prim).level == level);
    const std::string map =
        fmt::format("{}({}fun y => y + 1.0, {{}})", info(prim).name, kind == kernel::LoopKind::sequential ? "" : "0, ");
    CompileOptions options;
    options.local = options.groups = {2, 1, 1};
    const Program program = isKernelMap(prim)
                                ? ofRow(on(map, "ys"))
                                : parse("def main(xs: [2][8]f32) = mapWrg(1, fun zs => " + on(map, "zs") + ", xs)");
    std::set<kernel::LoopKind> kinds;
    for (const kernel::Kernel& k : compile(program, options).kernels)
      kernel::forEachStmt(k.body, [&](const kernel::Stmt& stmt) {
        if (const auto* loop = as<kernel::For>(stmt); loop && loop->count == Nat(8)) kinds.insert(loop->kind);
      });
    CHECK(kinds == std::set<kernel::LoopKind>{kind});
  }
}

TEST_CASE("traits: arguments that may be left out are, all others are evaluated") {
  const std::string failing = "map(fun v => ys[i32(v) + 100], ys)";
  int lazy = 0;
  for (const Sample& s : samples) {
    INFO(info(s.prim).name);
    CHECK_FALSE(fails(ofRow(on(s.value, "ys"))));
    CHECK(fails(ofRow(on(s.value, failing))));
    const bool leavesOut = traits(s.prim).lazy != Traits::Lazy::none;
    CHECK(leavesOut == !s.skipped.empty());
    if (!leavesOut) continue;
    CHECK_FALSE(fails(ofRow(on(s.skipped, failing))));
    lazy++;
  }
  CHECK(lazy == 3);
}

}  // namespace lift::codegen_tests
