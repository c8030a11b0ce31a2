// The optimality condition xy = R z as constraints of a search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lift/bounds.hpp"

namespace lift::bounds {
namespace {

Constraint atMost(Nat left, std::int64_t most, const char* origin) {
  std::vector<NatVar> variables = left.variables();
  return {{SizeCondition::Kind::lessEqual, left, most, origin}, Constraint::Kind::user, std::move(variables)};
}

// ------------------------------------------------------------------------------------------------------------ families

struct SymbolicTile {
  Nat pixels, channels;
  double reuse;
};

class Tunables {
 public:
  explicit Tunables(const Program& program) {
    for (const NatVar t : program.tunables) byName_.emplace(t.name(), t);
  }
  bool has(const std::string& name) const { return byName_.count(name) != 0; }
  Nat operator[](const std::string& name) const {
    ensure(has(name), "the tile of a family is told by tunables that it has");
    return byName_.at(name);
  }
  Nat product(std::initializer_list<const char*> names) const {
    Nat all = 1;
    for (const char* name : names) all = all * (*this)[name];
    return all;
  }

 private:
  std::map<std::string, NatVar> byName_;
};

// What a work-group of a family computes, by the tunables that src/conv/family_*.cpp declare.
std::optional<SymbolicTile> tileOf(const ConvSpec& c, const std::string& family, const Program& program) {
  const Tunables t(program);
  const double reuse = static_cast<double>(c.kh * c.kw) / static_cast<double>(c.sh * c.sw);
  if (family == "blocked")
    return {{t.product({"bands", "rows", "pixels"}), t.product({"groups", "vectors", "lanes"}), reuse}};
  if (family == "depthwise") return {{t.product({"rows", "pixels"}), t.product({"vectors", "lanes"}), reuse}};
  if (family == "paper") {
    const auto windows = [](Nat theta, std::int64_t extent, std::int64_t stride) {
      return floorDiv(theta - extent, stride) + 1;
    };
    const Nat columns = t[t.has("thetaColumns") ? "thetaColumns" : "theta"];
    return {{windows(t["theta"], c.extentH(), c.sh) * windows(columns, c.extentW(), c.sw), t["kappa"], reuse}};
  }
  if (family == "winogradStaged")
    return {{t.product({"tiles", "tileItems"}), t.product({"kernels", "kernelItems"}), 1}};
  if (family.starts_with("winograd"))
    return {{t.has("block") ? t["block"] : t["tiles"], t["vectors"] * (t.has("lanes") ? t["lanes"] : Nat(1)), 1}};
  return std::nullopt;
}

// ------------------------------------------------------------------------------------------------------------- Table 2

class Template {
 public:
  // Splits a length into so many parts; the products of the last parts, from all but the first on.
  std::vector<Nat> split(const std::string& name, std::int64_t length, int parts) {
    std::vector<Nat> tails;
    Nat whole = length;
    for (int i = 1; i < parts; i++) {
      const NatVar v = NatVar::fresh(fmt::format("{}{}", name, i), 1, Nat(length), NatVar::Role::tunable);
      variables.push_back(v);
      constraints.push_back({{SizeCondition::Kind::divides, v, whole, fmt::format("split of {}", name)},
                             Constraint::Kind::algorithm,
                             Nat(whole).variable() ? std::vector{*Nat(whole).variable(), v} : std::vector{v}});
      whole = v;
      tails.push_back(v);
    }
    return tails;
  }
  void choice(const char* name, std::int64_t values) {
    variables.push_back(NatVar::fresh(name, 0, Nat(values - 1), NatVar::Role::tunable));
  }

  std::vector<NatVar> variables;
  std::vector<Constraint> constraints;
};

}  // namespace

std::vector<Constraint> optimalityDomain(Nat pixels, Nat channels, double reuse, std::int64_t fast,
                                         const std::vector<Inequality>& inequalities) {
  const auto s = static_cast<double>(fast);
  std::vector<Constraint> all;
  for (const Inequality i : inequalities) {
    if (i == Inequality::fits) all.push_back(atMost(pixels * channels, fast, "optimality domain: xyz <= S"));
    if (i == Inequality::channels)
      all.push_back(
          atMost(channels, static_cast<std::int64_t>(std::sqrt(s / reuse)), "optimality domain: z <= √(S / R)"));
    if (i == Inequality::pixels)
      all.push_back(atMost(pixels, static_cast<std::int64_t>(std::sqrt(s * reuse)), "optimality domain: xy <= √(S R)"));
  }
  return all;
}

std::vector<Constraint> optimalityDomain(const ConvSpec& layer, const std::string& family, const Program& program,
                                         std::int64_t fast) {
  const auto tile = tileOf(layer, family, program);
  if (!tile) return {};
  auto all = optimalityDomain(tile->pixels, tile->channels, tile->reuse, fast);
  all.erase(std::remove_if(all.begin(), all.end(), [](const Constraint& c) { return c.variables.empty(); }), all.end());
  return all;
}

double TemplateSpace::reuse() const {
  return winograd ? 1 : static_cast<double>(layer.kh * layer.kw) / static_cast<double>(layer.sh * layer.sw);
}

const std::vector<TemplateSpace>& templateSpaces() {
  static const std::vector<TemplateSpace> all = [] {
    const ConvSpec conv1 = parseConv("ic3ih227oc96oh55kh11sh4ph0"), conv2 = parseConv("ic96ih27oc256oh27kh5ph2"),
                   conv3 = parseConv("ic256ih13oc384oh13kh3ph1"), conv4 = parseConv("ic384ih13oc256oh13kh3ph1");
    return std::vector<TemplateSpace>{
        {"conv1", conv1, false, 9.29e6, 4.81e6},     {"conv2", conv2, false, 2.25e8, 4.76e7},
        {"conv3", conv3, false, 1.87e7, 4.51e6},     {"conv4", conv4, false, 1.54e7, 5.23e6},
        {"conv3_wino", conv3, true, 2.59e5, 1.36e5}, {"conv4_wino", conv4, true, 1.58e5, 8.06e4}};
  }();
  return all;
}

Space spaceOf(const TemplateSpace& space, std::int64_t fast, const std::vector<Inequality>& inequalities) {
  const ConvSpec& c = space.layer;
  Template t;
  const Nat channels = t.split("z", c.oc, 4)[0];
  Nat pixels = 1;
  if (space.winograd) {
    // F(2x2, 3x3), as TVM takes it where the image's size is no multiple of 8; positions are not split.
    pixels = t.split("p", ((c.oh + 1) / 2) * ((c.ow + 1) / 2), 4)[0];
    t.split("rc", c.ic, 2);
  } else {
    const Nat rows = t.split("y", c.oh, 4)[0];
    pixels = rows * t.split("x", c.ow, 4)[0];
    t.split("rc", c.ic, 3);
    t.split("ry", c.kh, 3);
    t.split("rx", c.kw, 3);
  }
  t.choice("unroll", 3);
  t.choice("explicit", 2);
  for (Constraint& more : optimalityDomain(pixels, channels, space.reuse(), fast, inequalities))
    t.constraints.push_back(std::move(more));
  return {t.variables, t.constraints};
}

}  // namespace lift::bounds
