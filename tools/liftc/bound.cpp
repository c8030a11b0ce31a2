// liftc bound: how little a layer or a program can load and store, and what its kernels do.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <limits>

#include "common.hpp"
#include "lift/bench.hpp"
#include "lift/bounds.hpp"
#include "lift/diagnostic.hpp"
#include "workload.hpp"

namespace lift::liftc {
namespace {

struct Options {
  std::string what, shapes;
  ProgramOptions program;
  std::int64_t fast = 32 * 1024;
  FamilyOptions family;
  LayoutOptions layouts;
  DeviceOptions device;
  bool roofline = false, noKernel = false, spaces = false, json = false;

  std::int64_t elementBytes() const { return layouts.elements == "f32" ? 4 : 2; }  // of layers
  std::int64_t elements() const { return fast / elementBytes(); }
};

// Of a number of elements in a layer's or a part's report.
double bytesOf(const Json& report, double elements) { return elements * report["element_bytes"].get<double>(); }

// The largest unit of which there is one.
struct Unit {
  const char* name;
  double bytes;
};
Unit unitOf(double bytes) {
  for (const Unit& unit : {Unit{"MB", 1e6}, Unit{"KB", 1e3}})
    if (bytes >= unit.bytes) return unit;
  return {"B", 1};
}

// "12.34 MB", the number in so many columns.
std::string amount(double bytes, int width = 0) {
  const Unit unit = unitOf(bytes);
  return fmt::format("{:>{}.{}f} {}", bytes / unit.bytes, width, unit.bytes > 1 ? 2 : 0, unit.name);
}
std::string amount(const Json& report, double elements, int width = 10) {
  return amount(bytesOf(report, elements), width);
}

// ------------------------------------------------------------------------------------------------------------- kernels

Json toJson(const kernel::Traffic& t) {
  return {{"loads", t.loads}, {"stores", t.stores}, {"bytes_loaded", t.bytesLoaded}, {"bytes_stored", t.bytesStored}};
}

struct Device {
  runtime::DeviceInfo info;
  double peak = 0, bandwidth = 0;  // GFLOP/s, GB/s; 0: not measured
};

// The kernels of the best known configuration, or of the one asked for, against what `near` holds them.
template <class Near>
Json kernelJson(const Workload& workload, const Options& o, const Device* device, const Near& near) {
  CodegenOptions codegen;
  const auto compiled = o.family.compile(workload, codegen, device != nullptr ? &device->info : nullptr);
  const bounds::Nearness n = near(*compiled);
  const bounds::PlanTraffic& t = n.traffic;
  return {{"family", compiled->family},
          {"config", compiled->config},
          {"config_origin", compiled->origin},
          {"global", toJson(t.global)},
          {"local", toJson(t.local)},
          {"distinct_bytes", t.distinct},
          {"working_set_bytes", t.workingSet},
          {"work_groups", t.groups},
          {"work_groups_counted", t.counted},
          {"algorithm", n.algorithm},
          {"bound_at_bytes", n.fast},
          {"bound_bytes", n.bound},
          {"ratio", n.ratio}};
}

void addRoofline(Json& row, std::int64_t operations, const Device& device) {
  const double bytes = row["kernel"]["distinct_bytes"];
  const double intensity = static_cast<double>(operations) / bytes;
  row["roofline"] = {{"device", device.info.name},
                     {"peak_gflops", device.peak},
                     {"bandwidth_gbs", device.bandwidth},
                     {"flops_per_byte", intensity},
                     {"balance", device.bandwidth > 0 ? device.peak / device.bandwidth : 0.0},
                     {"attainable_gflops", std::min(device.peak, intensity * device.bandwidth)}};
}

constexpr const char* inputsAndOutputs = "inputs and outputs";  // as Nearness::algorithm has it

void printKernel(const Json& k) {
  const Json &g = k["global"], &l = k["local"];
  std::cout << fmt::format("  kernel: family {}{}{} ({})\n", k["family"], k["config"].empty() ? "" : ", ",
                           str(k["config"].get<Config>()), k["config_origin"]);
  const auto issued = [](const char* name, const Json& t) {
    std::cout << fmt::format("    {:<28} {} loaded, {} stored\n", name, amount(t["bytes_loaded"].get<double>(), 10),
                             amount(t["bytes_stored"].get<double>()));
  };
  issued("issued, global memory", g);
  if (l["loads"].get<double>() > 0) issued("issued, local memory", l);
  const std::int64_t groups = k["work_groups"], counted = k["work_groups_counted"];
  std::cout << fmt::format("    {:<28} {} in {} work-groups of at most {:.1f} KiB{}\n", "distinct by work-group",
                           amount(k["distinct_bytes"].get<double>(), 10), groups,
                           k["working_set_bytes"].get<double>() / 1024,
                           counted < groups ? fmt::format(" (from {} of them)", counted) : "");
  if (k["algorithm"] == inputsAndOutputs)
    std::cout << fmt::format("    {:<28} {:>10.2f} of inputs and outputs: no bound of its algorithm is known\n",
                             "ratio", k["ratio"]);
  else
    std::cout << fmt::format("    {:<28} {:>10.2f} of the bound of {} for {:.1f} KiB\n", "ratio", k["ratio"],
                             k["algorithm"], k["bound_at_bytes"].get<double>() / 1024);
}

void printRoofline(const Json& r) {
  std::cout << fmt::format(
      "  roofline of {}: {:.1f} GFLOP/s, {:.1f} GB/s; {:.1f} operations per byte, balance {:.1f}: "
      "{:.1f} GFLOP/s attainable\n",
      r["device"], r["peak_gflops"], r["bandwidth_gbs"], r["flops_per_byte"], r["balance"], r["attainable_gflops"]);
}

// -------------------------------------------------------------------------------------------------------------- layers

Json toJson(const bounds::ConvBound& b) {
  Json j{{"algorithm", b.algorithm}, {"reuse", b.reuse}, {"most_reuse", b.mostReuse}, {"order", b.order},
         {"composite", b.composite}, {"bound", b.bound}, {"dataflow", nullptr}};
  if (!b.dataflow) {
    j["reason"] = b.reason;
    return j;
  }
  const bounds::Dataflow& d = *b.dataflow;
  j["dataflow"] = {
      {"area", d.area},
      {"channels", d.channels},
      {"ideal", d.ideal},
      {"tile",
       {{"images", d.tile.images}, {"rows", d.tile.rows}, {"columns", d.tile.columns}, {"channels", d.tile.channels}}},
      {"volume", d.volume},
      {"memory", d.memory}};
  return j;
}

Json layerJson(const ConvSpec& spec, const Options& o, const Device* device) {
  const bounds::ConvBound direct = bounds::boundOf(spec, o.elements());
  Json j{{"conv", spec.str()},
         {"fast_memory_bytes", o.fast},
         {"fast_memory_elements", o.elements()},
         {"element_bytes", o.elementBytes()},
         {"compulsory", direct.compulsory},
         {"algorithms", Json::array({toJson(direct)})}};
  if (const std::string why = bounds::whyNotWinograd(spec); !why.empty())
    j["no_winograd"] = why;
  else
    for (const int m : {2, 4}) j["algorithms"].push_back(toJson(bounds::winogradBound(spec, m, o.elements())));
  if (o.noKernel) return j;
  const Workload workload = o.layouts.workload(spec);
  j["kernel"] = kernelJson(workload, o, device, [&](const CompiledWorkload& compiled) {
    return bounds::nearnessOf(spec, derive(workload, compiled.family).derivation, compiled.plan, o.fast);
  });
  if (device != nullptr && device->peak > 0) addRoofline(j, workload.operations, *device);
  return j;
}

void printLayer(const Json& j) {
  std::cout << fmt::format("{}, fast memory of {} elements\n", j["conv"], j["fast_memory_elements"]);
  std::cout << fmt::format("  {:<30} {}\n", "inputs and outputs", amount(j, j["compulsory"]));
  for (const Json& a : j["algorithms"]) {
    std::cout << fmt::format("  {}\n", a["algorithm"]);
    std::cout << fmt::format("    {:<28} {}; each input is in {} windows at most, R = {:.4g}\n", "bound",
                             amount(j, a["bound"]), a["most_reuse"], a["reuse"]);
    std::cout << fmt::format("    {:<28} {}; theorem 4.6: {}\n",
                             a["algorithm"] == "direct" ? "order, equation (14)" : "order, equation (19)",
                             amount(j, a["order"]), amount(j, a["composite"], 0));
    const Json& d = a["dataflow"];
    if (d.is_null()) {
      std::cout << fmt::format("    {:<28} none: {}\n", "dataflow", a["reason"]);
      continue;
    }
    const Json& t = d["tile"];
    const auto of = [&](const char* key) { return t[key].get<std::int64_t>(); };
    std::cout << fmt::format("    {:<28} {} by tiles of {}{} x {} pixels, {} channels: {:.2f} of the bound\n",
                             "dataflow", amount(j, d["volume"]),
                             of("images") > 1 ? fmt::format("{} images, ", of("images")) : "", of("rows"),
                             of("columns"), of("channels"), d["volume"].get<double>() / a["bound"].get<double>());
    std::cout << fmt::format("    {:<28} {} by tiles of {:.1f} pixels, {:.1f} channels\n",
                             a["algorithm"] == "direct" ? "equation (21)" : "equation (22), times √2",
                             amount(j, d["ideal"]), d["area"], d["channels"]);
  }
  if (j.contains("no_winograd")) std::cout << fmt::format("  no bound of Winograd's algorithm: {}\n", j["no_winograd"]);
  if (j.contains("kernel")) printKernel(j["kernel"]);
  if (j.contains("roofline")) printRoofline(j["roofline"]);
}

void printTable(const Json& rows, const std::vector<ConvSpec>& layers, const Options& o) {
  double least = std::numeric_limits<double>::infinity();
  for (const Json& row : rows) least = std::min(least, bytesOf(row, row["compulsory"]));
  const Unit unit = unitOf(10 * least);  // two digits of the smallest
  const auto inUnit = [&](const Json& row, double elements) { return bytesOf(row, elements) / unit.bytes; };
  std::vector<std::string> unbounded;  // of whose kernel's algorithm no bound is known
  std::cout << fmt::format("fast memory of {} elements; traffic in {}\n\n", o.elements(), unit.name);
  std::cout << fmt::format("{:<14} {:>7} {:>10} {:>9} {:>9} {:>6}  {:<16} {:>10} {:>10}", "layer", "R", "in + out",
                           "bound", "dataflow", "ratio", "tile", "F(2) bound", "F(4) bound");
  if (!o.noKernel)
    std::cout << fmt::format("  {:<14} {:>9} {:>9} {:>8} {:>6}", "family", "issued", "distinct", "KiB", "ratio");
  std::cout << "\n";
  for (std::size_t i = 0; i < layers.size(); i++) {
    const Json &row = rows[i], &direct = row["algorithms"][0], &d = direct["dataflow"];
    const std::string name = layers[i].name.empty() ? std::to_string(i + 1) : layers[i].name;
    std::string tile = "none", volume = "-", ratio = "-";
    if (!d.is_null()) {
      const Json& t = d["tile"];
      tile = fmt::format("{}x{}x{}", t["rows"], t["columns"], t["channels"]);
      volume = fmt::format("{:.2f}", inUnit(row, d["volume"]));
      ratio = fmt::format("{:.2f}", d["volume"].get<double>() / direct["bound"].get<double>());
    }
    const auto winograd = [&](std::size_t a) {
      return row["algorithms"].size() > a ? fmt::format("{:.2f}", inUnit(row, row["algorithms"][a]["bound"]))
                                          : std::string("-");
    };
    std::cout << fmt::format("{:<14} {:>7.2f} {:>10.2f} {:>9.2f} {:>9} {:>6}  {:<16} {:>10} {:>10}", name,
                             direct["reuse"], inUnit(row, row["compulsory"]), inUnit(row, direct["bound"]), volume,
                             ratio, tile, winograd(1), winograd(2));
    if (row.contains("kernel")) {
      const Json &k = row["kernel"], &g = k["global"];
      std::cout << fmt::format("  {:<14} {:>9.1f} {:>9.2f} {:>8.1f} {:>6.2f}", k["family"],
                               (g["bytes_loaded"].get<double>() + g["bytes_stored"].get<double>()) / unit.bytes,
                               k["distinct_bytes"].get<double>() / unit.bytes,
                               k["working_set_bytes"].get<double>() / 1024, k["ratio"]);
      if (k["algorithm"] == inputsAndOutputs) unbounded.push_back(name);
    }
    std::cout << "\n";
  }
  if (!unbounded.empty())
    std::cout << fmt::format("\nno bound of the family's algorithm is known for {}: the ratio is that to in + out\n",
                             fmt::join(unbounded, ", "));
}

// ------------------------------------------------------------------------------------------------------------ programs

Json programJson(const Options& o, const Device* device) {
  ProgramOptions options = o.program;
  options.file = o.what;
  const Program program = options.readAtValues();
  Json j{{"program", program.name},
         {"file", o.what},
         {"sizes", options.values()},
         {"fast_memory_bytes", o.fast},
         {"parts", Json::array()}};
  std::int64_t sum = 0;
  const bool isMapped = lift::isMapped(program);
  const std::vector<Part> parts = partsOf(program).parts;
  for (const Part& part : parts) {
    const bounds::PartBound b = bounds::boundOf(part, o.fast);
    Json p{{"name", part.name},          {"pattern", name(part.pattern)},
           {"place", part.place},        {"element_bytes", b.elementBytes},
           {"compulsory", b.compulsory}, {"bound", b.bound}};
    if (b.reason.empty())
      p.update({{"products", b.products}, {"reuse", b.reuse}});
    else
      p["reason"] = isMapped ? "it says itself where it runs, and is not read" : b.reason;
    sum += b.bound * b.elementBytes;
    j["parts"].push_back(p);
  }
  j["bound_bytes"] = sum;
  if (o.noKernel || !program.tunables.empty()) return j;
  const Workload workload = programWorkload(program, 0);
  j["kernel"] = kernelJson(workload, o, device, [&](const CompiledWorkload& compiled) {
    std::vector<std::string> families;
    for (const Json& choice : compiled.parts) families.push_back(choice["family"]);
    return bounds::nearnessOf(parts, families, compiled.plan, o.fast);
  });
  if (device != nullptr && device->peak > 0 && workload.operations > 0) addRoofline(j, workload.operations, *device);
  return j;
}

void printProgram(const Json& j) {
  std::cout << fmt::format("{} of {}, fast memory of {} bytes\n", j["program"], j["file"], j["fast_memory_bytes"]);
  for (const Json& p : j["parts"]) {
    std::cout << fmt::format("  {} {}{}\n", p["name"], p["pattern"],
                             p["place"] == "" ? "" : ", " + p["place"].get<std::string>());
    std::cout << fmt::format("    {:<28} {}\n", "inputs and outputs", amount(p, p["compulsory"]));
    if (p.contains("reason"))
      std::cout << fmt::format("    no bound better than these is known: {}\n", p["reason"]);
    else
      std::cout << fmt::format("    {:<28} {} for {:.4g} products, each value good for {:.4g}\n", "bound",
                               amount(p, p["bound"]), p["products"], p["reuse"]);
  }
  if (j["parts"].size() > 1)
    std::cout << fmt::format("  {:<30} {}, where arrays between parts are kept in slow memory\n", "all parts",
                             amount(j["bound_bytes"].get<double>(), 10));
  if (j.contains("kernel")) printKernel(j["kernel"]);
  if (j.contains("roofline")) printRoofline(j["roofline"]);
}

// ------------------------------------------------------------------------------------------------------------- spaces

// The paper's Table 2: sizes of spaces, exactly.
int printSpaces(const Options& o) {
  Json rows = Json::array();
  const auto size = [](const Space& space) {
    return static_cast<std::int64_t>(space.count(std::numeric_limits<std::int64_t>::max()).points);
  };
  for (const bounds::TemplateSpace& s : bounds::templateSpaces()) {
    const auto with = [&](const std::vector<bounds::Inequality>& which) {
      return size(bounds::spaceOf(s, o.elements(), which));
    };
    rows.push_back({{"layer", s.name},
                    {"reuse", s.reuse()},
                    {"space", with({})},
                    {"printed_space", s.printed},
                    {"channels_only", with({bounds::Inequality::channels})},
                    {"printed_domain", s.printedDomain},
                    {"domain", with({std::begin(bounds::allInequalities), std::end(bounds::allInequalities)})}});
  }
  if (o.json) {
    printJson(Json{{"schema", 1}, {"fast_memory_elements", o.elements()}, {"rows", rows}});
    return 0;
  }
  std::cout << fmt::format("{:<11} {:>6} {:>12} {:>9} {:>12} {:>9} {:>18}\n", "layer", "R", "space", "printed",
                           "z <= √(S/R)", "printed", "all inequalities");
  for (const Json& r : rows)
    std::cout << fmt::format("{:<11} {:>6.4g} {:>12} {:>9.2e} {:>12} {:>9.2e} {:>18}\n", r["layer"], r["reuse"],
                             r["space"], r["printed_space"], r["channels_only"], r["printed_domain"], r["domain"]);
  return 0;
}

// ------------------------------------------------------------------------------------------------------------ command

int bound(const Options& o) {
  checkOne({{!o.what.empty(), o.what}, {!o.shapes.empty(), "--shapes"}, {o.spaces, "--paper-spaces"}},
           "a descriptor, a program or --shapes FILE",
           "for example liftc bound mb1ic64ih56oc64oh56kh3ph1 --fast-memory 32KiB");
  if (o.elements() < bounds::leastFastMemory)
    throw UserError(ExitStatus::usage,
                    fmt::format("--fast-memory: {} bytes are {} elements, too few to compute in", o.fast, o.elements()),
                    fmt::format("sums of products need {} bytes at least", bounds::leastFastMemory * o.elementBytes()));
  if (o.spaces) return printSpaces(o);
  std::optional<Device> device;
  if (o.roofline) {
    const auto opened = o.device.open();
    device = Device{opened->info(), bench::peakGflops(*opened), bench::copyBandwidth(*opened)};
    if (device->peak == 0)
      throw UserError(ExitStatus::usage, fmt::format("--roofline: {} has no speed to measure", device->info.name),
                      "name an OpenCL device with --device");
  } else if (!o.device.device.empty() || !o.device.platform.empty()) {
    device = Device{o.device.info()};
  }
  const Device* known = device ? &*device : nullptr;
  if (o.what.ends_with(".lift")) {
    const Json j = programJson(o, known);
    o.json ? printJson(j) : printProgram(j);
    return 0;
  }
  const auto layers = o.shapes.empty() ? std::vector{parseConv(o.what)} : readLayers(o.shapes);
  Json rows = Json::array();
  for (const ConvSpec& spec : layers) rows.push_back(layerJson(spec, o, known));
  if (o.json)
    printJson(o.shapes.empty() ? rows[0] : Json{{"schema", 1}, {"rows", rows}});
  else
    o.shapes.empty() ? printLayer(rows[0]) : printTable(rows, layers, o);
  return 0;
}

}  // namespace

void addBound(cli::App& app, int& status) {
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand(
      "bound", "Print how little a layer or a program can load and store, and what its kernels do (docs/bounds.md)");
  sub->add_option("what", o->what, "Descriptor of a layer, or a program, FILE.lift");
  sub->add_option("--shapes", o->shapes, "File of descriptors, one a line, in place of the descriptor");
  sub->add_option("--fast-memory", o->fast,
                  "Bytes of fast memory, as 32768 or 32KiB; elements are of four bytes, halves of two")
      ->asSize()
      ->capture_default_str();
  o->program.addValues(*sub);
  o->family.add(*sub);
  o->layouts.add(*sub);
  sub->add_flag("--no-kernel", o->noKernel, "Only the bounds");
  sub->add_flag("--roofline", o->roofline, "Measure the device's peak and bandwidth, and say what they allow");
  sub->add_flag("--paper-spaces", o->spaces,
                "Instead: the sizes of the spaces in Table 2 of the paper, whole and within the optimality condition");
  sub->add_flag("--json", o->json, "Print it as JSON");
  o->device.add(*sub);
  onCall(*sub, status, [o, sub] {
    const bool isProgram = o->what.ends_with(".lift");
    if (!isProgram) refuseValues(*sub);
    if (isProgram) refuseLayouts(*sub, "a layer");
    return bound(*o);
  });
}

}  // namespace lift::liftc
