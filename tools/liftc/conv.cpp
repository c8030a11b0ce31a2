// liftc conv: convolution layers from their descriptors.
#include <fmt/format.h>

#include <exception>
#include <iostream>
#include <memory>

#include "common.hpp"
#include "family.hpp"
#include "lift/conv.hpp"
#include "lift/conv_program.hpp"
#include "lift/diagnostic.hpp"
#include "lift/parallel.hpp"
#include "lift/space.hpp"
#include "manifest.hpp"

namespace liftc {
namespace {

struct Options {
  std::vector<std::string> words;  // [DESCRIPTOR] ACTION
  std::string shapes;
  FamilyOptions family;
  DataOptions data;
  DeviceOptions device;
  CodegenOptions codegen;
  std::string output, prefix, target = "opencl";
  std::uint64_t seed = 1;
  int samples = 0;
  int repetitions = 3;
  std::string mutate;
  bool json = false;
};

struct Judge {
  std::string name;
  lift::Tensor expected;
};

// oneDNN where the build has it, else the naive reference: neither knows the compiler.
Judge judge(const lift::ConvSpec& spec, const lift::ConvTensors& t) {
  if (auto expected = lift::convOneDnn(spec, t.input, t.weights, t.bias))
    return {"oneDNN " + lift::oneDnnVersion(), std::move(*expected)};
  return {"naive reference", lift::convReference(spec, t.input, t.weights, t.bias)};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (from.empty() || at == std::string::npos)
    throw lift::UserError(lift::ExitStatus::usage, fmt::format("--test-mutate: the kernels do not contain '{}'", from));
  return text.replace(at, from.size(), to);
}

std::optional<CompiledLayer> compileLayer(const lift::ConvSpec& spec, const Options& o,
                                          const lift::runtime::DeviceInfo* device = nullptr) {
  return o.family.compile(spec, o.codegen, device);
}

void mutate(lift::kernel::Plan& plan, const std::string& mutation) {
  const auto arrow = mutation.find("=>");
  if (arrow == std::string::npos) throw lift::UserError(lift::ExitStatus::usage, "--test-mutate: expected FROM=>TO");
  plan.sources.back() = replaced(plan.sources.back(), mutation.substr(0, arrow), mutation.substr(arrow + 2));
}

// What `check` compiles of a layer: the configuration asked for or known, or --samples random ones of the family's
// space.
std::vector<CompiledLayer> candidates(const lift::ConvSpec& spec, const Options& o,
                                      const lift::runtime::DeviceInfo& device) {
  std::vector<CompiledLayer> out;
  const auto add = [&](std::optional<CompiledLayer> compiled) {
    if (!compiled) return;
    if (!o.mutate.empty()) mutate(compiled->plan, o.mutate);
    out.push_back(std::move(*compiled));
  };
  if (o.samples == 0) {
    add(compileLayer(spec, o, &device));
    return out;
  }
  const lift::ConvVariant variant = lift::deriveConv(spec, o.family.family, o.family.layouts.layouts());
  lift::Sampler sampler(lift::spaceOf(variant.program, lift::parseDeviceLimits(device.toJson())), o.seed);
  for (int i = 0; i < o.samples; i++) {
    const auto config = sampler.next();
    if (!config) break;  // the space has no more
    add(compileVariant(variant, *config, o.codegen, std::chrono::steady_clock::now()));
  }
  return out;
}

// One row of `check`: compiled, run, timed, compared. Of several configurations, the fastest.
struct Row {
  Json json;
  bool ok = true;
};

std::optional<Row> checkLayer(const lift::ConvSpec& spec, const Options& o, lift::runtime::Device& device) {
  const std::vector<CompiledLayer> layers = candidates(spec, o, device.info());
  if (layers.empty()) return std::nullopt;
  // Drivers take their time to build: all cores do.
  std::vector<std::unique_ptr<lift::runtime::Executable>> built(layers.size());
  std::vector<std::exception_ptr> failed(layers.size());
  lift::parallelFor(static_cast<std::int64_t>(layers.size()), [&](std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    try {
      built[i] = device.load(layers[i].plan, {}, o.device.load());
    } catch (...) {
      failed[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);

  const lift::ConvTensors t = lift::randomConvTensors(spec, o.seed);
  const Judge j = judge(spec, t);
  const lift::ConvLayouts layouts = o.family.layouts.layouts();
  const auto inputs = t.in(layouts);
  lift::runtime::MeasureOptions measure;
  measure.repetitions = o.samples > 0 ? 1 : o.repetitions;
  measure.warmup = o.samples > 0 ? 0 : 1;
  measure.outputs = true;
  Row row;
  Json configs = Json::array();
  double worst = 0;
  for (std::size_t i = 0; i < layers.size(); i++) {
    const auto timing = built[i]->measure(inputs, measure);
    const double buildMilliseconds = built[i]->build().milliseconds;
    built[i].reset();  // its memory
    const lift::Tensor out = lift::convertLayout(timing.outputs.at("out"), layouts.output, lift::Layout::nhwc);
    const lift::ConvCheck check = lift::checkConv(spec, out, j.expected);
    const double ms = timing.median();
    row.ok = row.ok && check.ok();
    worst = std::max(worst, check.difference.maxRel);
    const Json found{{"conv", spec.str()},
                     {"family", layers[i].family},
                     {"config", layers[i].config},
                     {"layouts", toJson(layouts)},
                     {"config_origin", layers[i].origin},
                     {"device", device.info().name},
                     {"ok", check.ok()},
                     {"max_rel_err", check.difference.maxRel},
                     {"tolerance", check.tolerance},
                     {"reference", j.name},
                     {"ms", ms},
                     {"gflops", ms > 0 ? static_cast<double>(spec.operations()) * 1e-6 / ms : 0.0},
                     {"compile_ms", layers[i].milliseconds},
                     {"build_ms", buildMilliseconds},
                     {"tensor_bytes", spec.tensorBytes()},
                     {"workspace_bytes", timing.memory.temporaries}};
    if (o.samples > 0) configs.push_back(found);
    if (row.json.is_null() || ms < row.json["ms"].get<double>()) row.json = found;
    if (!check.ok() && !o.json && o.samples > 0)
      std::cerr << fmt::format("{} is wrong with --config {}\n", spec.str(), lift::str(layers[i].config));
  }
  row.json["ok"] = row.ok;
  row.json["max_rel_err"] = worst;
  if (o.samples > 0) row.json["samples"] = configs;
  return row;
}

int check(const std::vector<lift::ConvSpec>& specs, const Options& o) {
  const auto device = o.device.open();
  Json rows = Json::array();
  bool ok = true;
  if (!o.json)
    std::cout << fmt::format("{:<12} {:>26} {:>10} {:>9} {:>10} {:>9} {:>11} {:>10}  {}\n", "layer", "input x kernels",
                             "ms", "GFLOP/s", "memory MB", "work MB", "max rel err", "tolerance", "result");
  for (std::size_t i = 0; i < specs.size(); i++) {
    const lift::ConvSpec& s = specs[i];
    const auto row = checkLayer(s, o, *device);
    if (!row) return 0;
    ok = ok && row->ok;
    rows.push_back(row->json);
    if (!o.json) {
      const Json& r = row->json;
      std::cout << fmt::format("{:<12} {:>26} {:>10.2f} {:>9.2f} {:>10.2f} {:>9.2f} {:>11.2e} {:>10.2e}  {}\n",
                               s.name.empty() ? fmt::format("#{}", i) : s.name,
                               fmt::format("{}x{}x{} x {}x{}x{}", s.ic, s.ih, s.iw, s.oc, s.kh, s.kw),
                               r["ms"].get<double>(), r["gflops"].get<double>(), r["tensor_bytes"].get<double>() * 1e-6,
                               r["workspace_bytes"].get<double>() * 1e-6, r["max_rel_err"].get<double>(),
                               r["tolerance"].get<double>(), row->ok ? "ok" : "WRONG")
                << std::flush;
    }
  }
  if (o.json)
    std::cout << (o.shapes.empty() ? rows[0] : Json{{"schema", 1}, {"rows", rows}}).dump(2) << "\n";
  else
    std::cout << fmt::format("on {}; errors against {}, relative to max(|expected|, root mean square)\n",
                             device->info().name, rows.empty() ? "" : rows[0]["reference"].get<std::string>());
  return ok ? 0 : static_cast<int>(lift::ExitStatus::wrong);
}

int compile(const lift::ConvSpec& spec, const Options& o) {
  if (const auto compiled = compileLayer(spec, o))
    deliver(compiled->plan, compiled->provenance, o.output, o.json, compiled->milliseconds, o.prefix, o.target);
  return 0;
}

int run(const lift::ConvSpec& spec, const Options& o) {
  const auto device = o.device.open();
  const auto compiled = compileLayer(spec, o, &device->info());
  if (!compiled) return 0;
  DataOptions data = o.data;
  if (!o.output.empty()) data.outputs = {o.output};
  const Inputs inputs = makeInputs(lift::withLayouts(lift::convProgram(spec), compiled->layouts), {}, data);
  const auto executable = device->load(compiled->plan, {}, o.device.load());
  auto e = executable->run(inputs.tensors);
  Json report{{"conv", spec.str()},
              {"device", device->info().name},
              {"ms", e.milliseconds()},
              {"family", compiled->family},
              {"config", compiled->config},
              {"config_origin", compiled->origin},
              {"layouts", toJson(compiled->layouts)}};
  const int code = finishOutputs(e.outputs, data, o.json, report);
  if (o.json)
    std::cout << report.dump(2) << "\n";
  else if (!data.quiet)
    std::cerr << fmt::format("{} on {}: {:.3f} ms\n  {}: {}\n", spec.str(), device->info().name, e.milliseconds(),
                             compiled->family, compiled->origin);
  return code;
}

}  // namespace

void addConv(cli::App& app, int& status) {
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand(
      "conv", "Compile, run or check a convolution layer given by its descriptor (benchdnn's or MIOpenDriver's)");
  sub->add_option("words", o->words, "[DESCRIPTOR] run|check|compile")->expected(1, 2)->required();
  sub->add_option("--shapes", o->shapes, "File of descriptors, one a line, in place of the descriptor");
  o->family.add(*sub);
  sub->add_option("-i,--input", o->data.inputs, "run: tensors NAME=FILE: input, weights, biases")
      ->type_name("NAME=FILE");
  sub->add_option("--fill", o->data.fill, "run: contents of tensors that no file gives: zeros, ones or random:SEED");
  sub->add_option("--expect", o->data.expect,
                  "run: compare the result with this tensor; exit status 4 when it differs");
  sub->add_option("--rtol", o->data.rtol, "run: largest relative error for --expect")->capture_default_str();
  addTarget(*sub, o->target);
  addPrefix(*sub, o->prefix)
      ->needs(sub->add_option("-o,--output", o->output, "compile: folder; run: file of the result"));
  sub->add_option("--samples", o->samples,
                  "check: so many random configurations of the family, each run once, not the given one")
      ->positive();
  sub->add_option("--seed", o->seed, "check: seed of the random tensors and configurations")->capture_default_str();
  sub->add_option("--repeat", o->repetitions, "check: timed repetitions, of which the median is printed")
      ->capture_default_str();
  sub->add_flag("--json", o->json, "Print a report as JSON");
  sub->add_option("--test-mutate", o->mutate, "check: FROM=>TO replaces text in the kernel, to see the check fail")
      ->group("");
  o->device.add(*sub);
  o->codegen.add(*sub);
  sub->callback([o, &status] {
    status = guarded([&] {
      const std::string action = o->words.back();
      if (action != "run" && action != "check" && action != "compile")
        throw lift::UserError(lift::ExitStatus::usage, fmt::format("unknown action '{}'", action),
                              "write liftc conv DESCRIPTOR run|check|compile");
      if (o->shapes.empty() == (o->words.size() == 1))
        throw lift::UserError(lift::ExitStatus::usage, "give a descriptor or --shapes FILE",
                              "for example liftc conv mb1ic64ih56oc64oh56kh3ph1 check");
      if (action != "compile" && o->target != "opencl")
        throw lift::UserError(lift::ExitStatus::usage, "--target goes with compile");
      if (o->repetitions < 1) throw lift::UserError(lift::ExitStatus::usage, "--repeat: at least 1");
      // MIOpenDriver's flags may follow its own word, since an argument that begins with - would be an option of ours.
      std::string descriptor = o->words[0];
      if (descriptor.rfind("conv ", 0) == 0) descriptor.erase(0, 5);
      const std::vector<lift::ConvSpec> specs =
          o->shapes.empty() ? std::vector{lift::parseConv(descriptor)} : readLayers(o->shapes);
      if (action == "check") return check(specs, *o);
      if (specs.size() != 1) throw lift::UserError(lift::ExitStatus::usage, "--shapes goes with check");
      return action == "compile" ? compile(specs[0], *o) : run(specs[0], *o);
    });
  });
}

}  // namespace liftc
