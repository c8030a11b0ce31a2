// The operator "conv": the workload of a descriptor, and its families in the order of preference.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "lift/conv_program.hpp"
#include "lift/diagnostic.hpp"
#include "recognise.hpp"
#include "winograd.hpp"

namespace lift {

namespace {

constexpr std::string_view with = " with ";

Scalar elementsNamed(std::string_view name) {
  const auto scalar = scalarNamed(name);
  if (!scalar || (*scalar != Scalar::f32 && !isHalf(*scalar)))
    throw UserError(ExitStatus::program, fmt::format("there are no layers of elements '{}'", name),
                    "they are f32, f16 (stored as half, computed in f32) or h16 (computed in half)");
  return *scalar;
}

ConvLayouts parseLayouts(std::string_view text) {
  ConvLayouts layouts;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(", "));
    rest.remove_prefix(std::min(rest.size(), item.size() + 2));
    const std::size_t blank = std::min(item.find(' '), item.size());
    const std::string_view tensor = item.substr(0, blank), name = item.substr(std::min(item.size(), blank + 1));
    if (tensor == "elements") {
      layouts.elements = elementsNamed(name);
      continue;
    }
    const auto layout = layoutNamed(name);
    const bool weights = tensor == "weights";
    if ((tensor != "input" && tensor != "output" && !weights) || !layout || isWeightLayout(*layout) != weights)
      throw UserError(ExitStatus::program, fmt::format("there is no layout '{}'", item),
                      "write with input nchw, weights oihw, output nChw16c, elements f16, or some of them");
    (weights ? layouts.weights : tensor == "input" ? layouts.input : layouts.output) = *layout;
  }
  return layouts;
}

void requireBlocks(std::int64_t channels, Layout layout, const char* tensor) {
  if (channels % blockOf(layout) != 0)
    throw UserError(ExitStatus::program,
                    fmt::format("the {} has {} channels, no multiple of {}'s {}", tensor, channels, layoutName(layout),
                                blockOf(layout)),
                    "the layouts nhwc and nchw take any number of channels");
}

std::map<std::string, Tensor> reference(const ConvSpec& spec, const ConvLayouts& layouts,
                                        const std::map<std::string, Tensor>& in) {
  const Tensor input = convertLayout(in.at("input"), layouts.input, Layout::nhwc);
  const Tensor weights = convertLayout(in.at("weights"), layouts.weights, Layout::ohwi);
  std::optional<Tensor> out;
  if (layouts.elements == Scalar::f32) out = convOneDnn(spec, input, weights, in.at("biases"));
  if (!out) out = convReference(spec, input, weights, in.at("biases"));
  return {{"out", convertLayout(*out, Layout::nhwc, layouts.output)}};
}

// A family for processors: tiles of the registers that they have.
OperatorFamily ofRegisters(std::string name, std::string meaning, std::function<void(rewrite::Rewriting&)> derive,
                           const std::function<Config(const runtime::VectorRegisters&)>& defaults) {
  OperatorFamily family{std::move(name), std::move(meaning), std::move(derive), defaults({})};
  family.preferred = [=, usual = family.defaults](const runtime::DeviceInfo& device) {
    if (device.type != "cpu") return Config();
    Config own = defaults(runtime::vectorRegisters(device));
    return own == usual ? Config() : own;
  };
  return family;
}

// How the products of a Winograd algorithm are computed: by a kernel of their own, in one with the transforms, or in
// blocks copied to local memory, for GPUs.
enum class Products : std::uint8_t { apart, fused, staged };

// The families of the first kind and the outputs of their tiles, smallest first. Where a kernel is long, tiles are
// smaller, and only one of these families has them.
constexpr std::pair<const char*, std::int64_t> ofTilesApart[] = {{"winograd2", 2}, {"winograd", 4}, {"winograd6", 6}};

// The family of tiles of m by m outputs, or why there is none.
void addWinograd(Workload& w, const ConvSpec& spec, const ConvLayouts& layouts, const std::string& name, std::int64_t m,
                 Products products) {
  const Scalar elements = layouts.elements;
  const bool fused = products == Products::fused, staged = products == Products::staged;
  const std::string why = detail::whyNotWinograd(spec, fused);
  if (!why.empty()) {
    w.refused.emplace(name, why);
    return;
  }
  const detail::Winograd f = detail::winogradOf(spec, m, fused);
  if (products == Products::apart)
    for (const auto& [smaller, outputs] : ofTilesApart)
      if (const detail::Winograd same = detail::winogradOf(spec, outputs, false);
          outputs < m && same.rows.m == f.rows.m && same.columns.m == f.columns.m) {
        w.refused.emplace(name, fmt::format("its kernel is too long for tiles of {} outputs; {} has those of {}", m,
                                            smaller, outputs));
        return;
      }
  constexpr double most = 0.5;  // of the results' size; beyond, no result could be told from a wrong one
  if (elements == Scalar::h16 && detail::winogradTolerance(spec, f, elements) > most) {
    w.refused.emplace(name, "sums in half would err too much; elements f16 are computed in f32");
    return;
  }
  OperatorFamily family{
      name,
      fmt::format("Cook-Toom algorithms F({}, {}) of rows, F({}, {}) of columns{}", f.rows.m, f.rows.r, f.columns.m,
                  f.columns.r,
                  fused    ? ", in one kernel"
                  : staged ? ", products of blocks copied to local memory: for GPUs"
                           : ""),
      [=](rewrite::Rewriting& r) { (staged ? detail::deriveWinogradStaged : detail::deriveWinograd)(spec, f, r); },
      staged ? detail::winogradStagedDefaults(spec, f) : detail::winogradDefaults(spec, f, layouts)};
  family.forGpus = staged;
  const auto factor = [=](std::int64_t points) {
    return detail::winogradTolerance(spec, detail::atPoints(f, points), elements) / convTolerance(spec, elements);
  };
  const std::int64_t choices = detail::choicesOfPoints(f);
  family.toleranceFactor = factor(1);
  for (std::int64_t p = 2; p <= choices; p++) family.toleranceFactor = std::max(family.toleranceFactor, factor(p));
  family.preferred = [=](const runtime::DeviceInfo& device) {
    return staged ? detail::winogradStagedPreferred(spec, f, device)
                  : detail::winogradPreferred(spec, f, layouts, device);
  };
  if (name == "winograd" && elements != Scalar::h16)
    family.firstOn = [=](const runtime::DeviceInfo& device) { return detail::prefersUnfused(spec, layouts, device); };
  if (staged)
    family.firstOn = [spec, layouts](const runtime::DeviceInfo& device) {
      return detail::preferredStaged(spec, layouts, device) == "winogradStaged";
    };
  if (choices > 1) family.toleranceFactorAt = [=](const Config& config) { return factor(config.at("points")); };
  w.families.push_back(std::move(family));
}

// Families for GPUs; among them the first is the first choice there.
void addForGpus(Workload& w, const ConvSpec& spec, const ConvLayouts& layouts) {
  using Info = runtime::DeviceInfo;
  const Layout input = layouts.input;
  const auto family = [&](std::string name, std::string_view meaning, std::function<void(rewrite::Rewriting&)> derive,
                          Config defaults, Config (*preferred)(const ConvSpec&, const Info&)) {
    return OperatorFamily{.name = std::move(name),
                          .meaning = fmt::format("{}: for GPUs", meaning),
                          .derive = std::move(derive),
                          .defaults = std::move(defaults),
                          .forGpus = true,
                          .preferred = [=](const Info& device) { return preferred(spec, device); }};
  };
  const auto tiled = [&](std::string name, std::string_view meaning, bool images) {
    return family(
        std::move(name), meaning, [=](rewrite::Rewriting& r) { detail::deriveTiled(spec, input, images, r); },
        detail::tiledDefaults(spec), detail::tiledPreferred);
  };
  w.families.push_back(
      tiled("tiled", "register tiles of pixels by output channels, a work-item each, no local memory", false));
  w.families.push_back(family(
      "paper", "pad, partial convolution of tiles, sum, crop",
      [=](rewrite::Rewriting& r) { detail::derivePaper(spec, r); }, detail::paperDefaults(spec),
      detail::paperPreferred));
  if (const std::int64_t channels = spec.icPerGroup(); channels % 2 == 0 && channels % 4 != 0) {
    w.refused.emplace("tiledImages", "an even number of input channels, but no multiple of four");
  } else {
    w.families.push_back(tiled("tiledImages", "tiled, weights read through images", true));
    w.families.back().firstOn = [=](const Info& device) {
      // With tiles of a single output a compiler for Adreno unrolls the loops and spills registers.
      return device.throughput.texelsPer100Cycles > 0 && detail::fillsTiles(spec) &&
             detail::preferredStaged(spec, layouts, device) != "winogradStaged";
    };
  }
  const auto staged = [&](std::string name, std::string_view meaning, auto derive, Config defaults, auto preferred) {
    w.families.push_back(family(
        name, meaning, [=](rewrite::Rewriting& r) { derive(spec, input, r); }, std::move(defaults), preferred));
    w.families.back().firstOn = [=](const Info& device) {
      return detail::preferredStaged(spec, layouts, device) == name;
    };
  };
  staged("staged", "blocks of pixels by output channels, operands copied to local memory", detail::deriveStaged,
         detail::stagedDefaults(spec), detail::stagedPreferred);
  if (spec.groups == 1)
    staged("stagedSplitK", "staged, sums in chunks by work-groups of their own, added by another kernel (split-K)",
           detail::deriveStagedSplitK, detail::stagedSplitKDefaults(spec), detail::stagedSplitKPreferred);
  else
    w.refused.emplace("stagedSplitK", "its channels are in groups, which staged takes");
}

void addDepthwise(Workload& w, const ConvSpec& spec, const ConvLayouts& layouts) {
  if (spec.groups == 1) {
    for (const char* name : {"depthwise", "depthwiseTiled"}) w.refused.emplace(name, "it has one group of channels");
    return;
  }
  const OperatorFamily family = ofRegisters(
      "depthwise", "register tiles of pixels by vectors of groups",
      [=](rewrite::Rewriting& r) { detail::deriveDepthwise(spec, layouts, r); },
      [=](const auto& registers) { return detail::depthwiseDefaults(spec, layouts, registers); });
  w.families.insert(detail::prefersLanesOfGroups(spec) ? w.families.begin() : w.families.end(), family);
  if (spec.icPerGroup() > 1) {
    w.refused.emplace("depthwiseTiled", "its groups have several input channels");
    return;
  }
  w.families.push_back({.name = "depthwiseTiled",
                        .meaning = "tiles of a row by vectors of groups, a work-item each, no local memory: for GPUs",
                        .derive = [=](rewrite::Rewriting& r) { detail::deriveDepthwiseTiled(spec, r); },
                        .defaults = detail::depthwiseTiledDefaults(spec),
                        .forGpus = true});
  w.families.back().preferred = [=](const runtime::DeviceInfo& device) {
    return detail::depthwiseTiledPreferred(spec, device);
  };
  w.families.back().firstOn = [=](const runtime::DeviceInfo& device) {
    return detail::prefersDepthwiseTiled(spec, layouts, device);
  };
}

void addIm2col(Workload& w, const ConvSpec& spec) {
  if (const std::string why = detail::whyNotIm2col(spec); why.empty())
    w.families.push_back(ofRegisters(
        "im2col", "a matrix of all windows times the matrix of kernels",
        [=](rewrite::Rewriting& r) { detail::deriveIm2col(spec, r); },
        [=](const auto& registers) { return detail::im2colDefaults(spec, registers); }));
  else
    w.refused.emplace("im2col", why);
}

// All families of the layer, the default first.
void addFamilies(Workload& w, const ConvSpec& spec, const ConvLayouts& layouts) {
  const auto forProcessors = [&](std::string name, std::string meaning, auto derive, auto defaults) {
    w.families.push_back(ofRegisters(std::move(name), std::move(meaning), derive, defaults));
  };
  const auto planes = [&](std::string name, std::string meaning, bool inPlace) {
    forProcessors(
        std::move(name), std::move(meaning), [=](rewrite::Rewriting& r) { detail::derivePlanes(spec, inPlace, r); },
        [=](const auto& registers) { return detail::planesDefaults(spec, registers); });
  };
  forProcessors(
      "blocked", "register tiles of pixels by vectors of output channels, weights arranged once",
      [=](rewrite::Rewriting& r) { detail::deriveBlocked(spec, layouts, r); },
      [=](const auto& registers) { return detail::blockedDefaults(spec, layouts, registers); });
  planes("planes", "register tiles of output channels by vectors of pixels, weights arranged once", false);
  if (detail::hasVectors(spec.icPerGroup()))
    forProcessors(
        "dots", "register tiles of pixels by output channels, sums in vectors of input channels, no workspace",
        [=](rewrite::Rewriting& r) { detail::deriveDots(spec, layouts, r); },
        [=](const auto& registers) { return detail::dotsDefaults(spec, layouts, registers); });
  else
    w.refused.emplace("dots", "its groups have an odd number of input channels, which planesInPlace takes");
  planes("planesInPlace", "planes, weights read where they are, no workspace", true);
  // Which of the two is taken where no other fits the memory that there is.
  if (detail::hasVectors(spec.icPerGroup()) && !detail::suitsDots(spec, layouts))
    std::swap(w.families[w.families.size() - 2], w.families.back());
  w.families.push_back({"naive", "one output element per work-item: Listing 3 as it is", {}});
  // Where a group has too few outputs for a tile's vectors, and too odd inputs, neighbouring work-items take
  // neighbouring outputs; so they do where each of its outputs is a short sum, unless tiles need no local memory that
  // is apart.
  w.families.back().firstOn = [=](const runtime::DeviceInfo& device) {
    const bool isShort = spec.groups > 1 && spec.icPerGroup() == 1;
    return device.type == "gpu" && (!detail::suitsTiles(spec) || (isShort && device.localMemoryIsDedicated));
  };
  addForGpus(w, spec, layouts);
  addDepthwise(w, spec, layouts);
  addIm2col(w, spec);
  for (const auto& [name, m, products] : {std::tuple("winograd", 4, Products::apart),
                                          {"winogradFused", 4, Products::fused},
                                          {"winograd2", 2, Products::apart},
                                          {"winograd6", 6, Products::apart},
                                          {"winogradStaged", 4, Products::staged}})
    addWinograd(w, spec, layouts, name, m, products);
  std::vector<std::string> first = detail::likelyFastest(spec, layouts);
  if (first.empty() && detail::prefersIm2col(spec)) first = {"im2col"};
  if (first.empty()) {
    const bool usually = detail::prefersPlanes(spec, layouts);
    const std::string otherwise = w.families.front().name;
    for (OperatorFamily& f : w.families)
      if (f.name == (usually ? otherwise : "planes"))
        f.firstOn = [=](const runtime::DeviceInfo& device) {
          return device.type == "cpu" &&
                 detail::prefersPlanes(spec, layouts, runtime::vectorRegisters(device)) != usually;
        };
    if (usually) first = {"planes"};
  }
  for (const std::string& name : first | std::views::reverse)
    std::ranges::stable_partition(w.families, [&](const auto& f) { return f.name == name; });
}

}  // namespace

Workload convWorkload(const ConvSpec& spec, const ConvLayouts& layouts) {
  requireBlocks(spec.ic, layouts.input, "input");
  requireBlocks(spec.oc, layouts.output, "output");
  ConvSpec unnamed = spec;  // no kernel depends on its name
  unnamed.name.clear();
  Workload w;
  w.op = "conv";
  w.descriptor = unnamed.str();
  if (const std::string order = layouts.str(); !order.empty()) w.descriptor += std::string(with) + order;
  w.label = spec.name;
  w.program = convProgram(spec, layouts.elements);
  w.constants = {"weights", "biases"};
  w.finiteMath = true;  // padding takes no part, of whatever weights
  w.operations = spec.operations();
  w.tensorBytes = spec.tensorBytes(layouts.elements);
  w.tolerance = convTolerance(spec, layouts.elements);
  w.inputs = [=](std::uint64_t seed) { return randomConvTensors(spec, seed, layouts.elements).in(layouts); };
  w.reference = [=](const std::map<std::string, Tensor>& in) { return reference(spec, layouts, in); };
  w.judge = haveOneDnn() && layouts.elements == Scalar::f32 ? "oneDNN " + oneDnnVersion() : "naive reference";
  w.outer = [=](const Program& program) { return withLayouts(program, layouts); };
  addFamilies(w, spec, layouts);
  return w;
}

std::optional<ConvSpec> layerOf(const Workload& w) {
  if (w.op != "conv") return std::nullopt;
  ConvSpec layer = parseConv(w.descriptor.substr(0, w.descriptor.find(with)));
  layer.name = w.label;
  return layer;
}

Operator convOperator() {
  return {"conv",
          "2D convolution with bias",
          "benchdnn's or MIOpenDriver's, perhaps with layouts and elements: ic64ih56oc64kh3ph1",
          [](std::string_view text) {
            const std::size_t layouts = text.find(with);
            const ConvSpec spec = parseConv(text.substr(0, layouts));
            return convWorkload(spec, layouts == std::string_view::npos
                                          ? ConvLayouts()
                                          : parseLayouts(text.substr(layouts + with.size())));
          },
          detail::matchConv,
          {detail::convRule()}};
}

}  // namespace lift
