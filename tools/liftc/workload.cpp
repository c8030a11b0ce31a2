#include "workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <mutex>

#include "lift/characters.hpp"
#include "lift/conv_operator.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/listed.hpp"
#include "lift/parts.hpp"
#include "lift/plan_memory.hpp"
#include "lift/vector_registers.hpp"
#include "parts.hpp"

namespace lift::liftc {
namespace {

constexpr std::string_view with = " with ";  // before the layouts of a layer's descriptor

Layout layoutOf(const std::string& name, const char* option, bool weights, Layout any) {
  if (name == "any") return any;
  const auto layout = layoutNamed(name);
  if (!layout || isWeightLayout(*layout) != weights)
    throw UserError(ExitStatus::usage, fmt::format("{}: unknown layout '{}'", option, name),
                    weights ? "use ohwi, oihw or any" : "use nhwc, nchw, nChw16c, nChw8c or any");
  return *layout;
}

// "input nchw, weights oihw" as options.
std::vector<std::string> layoutWords(std::string_view order) {
  std::vector<std::string> words;
  for (const auto& [tensor, option] : {std::pair("input ", "--in-layout"), std::pair("output ", "--out-layout"),
                                       std::pair("weights ", "--weights-layout"), std::pair("elements ", "--elements")})
    if (const auto at = order.find(tensor); at != std::string_view::npos) {
      const std::string_view name = order.substr(at + std::string_view(tensor).size());
      words.insert(words.end(), {option, std::string(name.substr(0, name.find(',')))});
    }
  return words;
}

Provenance provenanceOf(const Variant& variant, const Config& config, const CodegenOptions& codegen) {
  const WorkloadWords words = wordsOf(variant.workload);
  Provenance provenance{words.command};
  auto& command = provenance.command;
  command.insert(command.end(), {"compile", "--family", variant.family});
  command.insert(command.end(), words.options.begin(), words.options.end());
  if (!config.empty()) command.insert(command.end(), {"--config", str(config)});
  const auto more = codegen.words();
  command.insert(command.end(), more.begin(), more.end());
  provenance.details = toJson(variant.workload);
  provenance.details.update({{"family", variant.family}, {"config", config}, {"derivation", Json::array()}});
  for (const rewrite::Step& step : variant.derivation.steps) provenance.details["derivation"].push_back(step.str());
  return provenance;
}

}  // namespace

WorkloadWords wordsOf(const Workload& w) {
  if (w.op != "conv") return {{"op", w.op, w.descriptor}, {}};
  const std::size_t layouts = std::min(w.descriptor.find(with), w.descriptor.size());
  return {{"conv", w.descriptor.substr(0, layouts)}, layoutWords(std::string_view(w.descriptor).substr(layouts))};
}

std::vector<std::string> problemWords(const Workload& w) {
  WorkloadWords words = wordsOf(w);
  words.command[0] = "--" + words.command[0];
  words.command.insert(words.command.end(), words.options.begin(), words.options.end());
  return words.command;
}

Json toJson(const Workload& w) {
  if (w.op != "conv") return {{"op", w.op}, {"descriptor", w.descriptor}};
  const WorkloadWords words = wordsOf(w);
  Json layouts{{"input", "nhwc"}, {"weights", "ohwi"}, {"output", "nhwc"}};
  for (std::size_t i = 0; i + 1 < words.options.size(); i += 2) {
    const std::string& option = words.options[i];
    layouts[option == "--in-layout"    ? "input"
            : option == "--out-layout" ? "output"
            : option == "--elements"   ? "elements"
                                       : "weights"] = words.options[i + 1];
  }
  return {{"conv", words.command[1]}, {"layouts", layouts}};
}

Json toJson(const std::vector<runtime::LaunchTime>& launches) {
  Json all = Json::array();
  for (const auto& l : launches) all.push_back({{"kernel", l.kernel}, {"ms", l.milliseconds}});
  return all;
}

Workload workloadNamed(const std::string& op, const std::string& descriptor) {
  return operatorNamed(op).parse(descriptor);
}

tune::Database openExistingDatabase(const std::filesystem::path& path) {
  std::error_code unreachable;
  if (!std::filesystem::exists(path, unreachable))
    throw UserError(ExitStatus::program, fmt::format("there is no tuning database '{}'", path.string()),
                    "`liftc tune` writes one; --db names another");
  return tune::Database::openToRead(path);
}

void LayoutOptions::add(cli::App& app) {
  app.add_option("--in-layout", input, "Layout of the input: nhwc, nchw, nChw16c, nChw8c or any (ours to choose)")
      ->capture_default_str();
  app.add_option("--out-layout", output, "Layout of the output: as of the input")->capture_default_str();
  app.add_option("--weights-layout", weights, "Layout of the weights: ohwi, oihw or any")->capture_default_str();
  app.add_option("--elements", elements,
                 "Elements: f32; f16, stored as half and computed in f32; h16, computed in half")
      ->capture_default_str();
}

namespace {

// The lanes of the vector registers that our layouts are made for: a processor's own; none on a GPU; else the widest.
std::int64_t lanesOf(const runtime::DeviceInfo& device) {
  if (device.type == "gpu") return 0;
  return device.type == "cpu" ? runtime::vectorRegisters(device).lanes : runtime::VectorRegisters().lanes;
}

}  // namespace

LayoutOptions LayoutOptions::on(const DeviceOptions& device) const {
  LayoutOptions own = *this;
  if (input == "any" || output == "any") own.lanes = lanesOf(device.compilesFor());
  return own;
}

ConvLayouts LayoutOptions::of(const ConvSpec& layer) const {
  const ConvLayouts free = freeLayouts(layer, lanes);
  const auto scalar = scalarNamed(elements);
  if (!scalar || (*scalar != Scalar::f32 && !isHalf(*scalar)))
    throw UserError(ExitStatus::usage, fmt::format("--elements: no layers have elements '{}'", elements),
                    "use f32, f16 or h16");
  return {layoutOf(input, "--in-layout", false, free.input), layoutOf(weights, "--weights-layout", true, free.weights),
          layoutOf(output, "--out-layout", false, free.output), *scalar};
}

LayoutOptions LayoutOptions::natural() const {
  return {input == "any" ? "nhwc" : input, output == "any" ? "nhwc" : output, weights, elements};
}

Workload LayoutOptions::workload(const ConvSpec& layer) const { return convWorkload(layer, of(layer)); }

void FamilyOptions::addKnown(cli::App& app) {
  app.add_option("--db", db,
                 "Database of what tuning has found (default: LIFTC_DB, else liftc/tune.db in XDG_DATA_HOME)");
  app.add_flag("--no-tuned", noTuned, "Take the family's defaults, whatever tuning has found");
}

void FamilyOptions::addOfProgram(cli::App& app) {
  app.add_option(
      "--family", family,
      "parts: each part by the best known of it; program: by the default mapping (default: parts where one has a "
      "family)");
  addKnown(app);
}

void FamilyOptions::add(cli::App& app) {
  app.add_option("--family", family, "How it is computed (default: the best known, else the operator's first)");
  app.add_option("--config", config, "Values of the family's tunables, in place of the best known or its defaults")
      ->type_name("NAME=VALUE,...");
  addKnown(app);
}

void FamilyOptions::addMaxWorkspace(cli::App& app) {
  app.add_option("--max-workspace", maxWorkspace, "Most bytes that the kernels use beside the tensors: 4MB")
      ->asSize()
      ->type_name("SIZE");
}

void FamilyOptions::checkWorkspace(const kernel::Plan& plan) const {
  if (maxWorkspace == anyWorkspace) return;
  for (const kernel::PlanBuffer& b : plan.buffers)
    if (b.role == kernel::PlanBuffer::Role::temporary && !b.count().constant())
      throw UserError(ExitStatus::usage, "--max-workspace: the sizes of the program are not known",
                      "give --size NAME=VALUE");
  if (const std::int64_t bytes = kernel::workspaceOf(plan); bytes > maxWorkspace)
    throw UserError(
        ExitStatus::program,
        fmt::format("the kernels need {} bytes of workspace, --max-workspace allows {}", bytes, maxWorkspace));
}

bool FamilyOptions::isWithin(const kernel::Plan& plan) const {
  return maxWorkspace == anyWorkspace || kernel::workspaceOf(plan) <= maxWorkspace;
}

void FamilyOptions::tellWithin(const std::string& taken, const std::string& origin) const {
  if (maxWorkspace != anyWorkspace) std::cerr << fmt::format("  {}: {}\n", taken, origin);
}

std::vector<std::string> FamilyOptions::words() const {
  std::vector<std::string> words;
  if (!family.empty()) words = {"--family", family};
  for (const std::string& c : config) words.insert(words.end(), {"--config", c});
  return words;
}

std::string FamilyOptions::familyOf(const Workload& workload) const {
  return family.empty() ? workload.families.at(0).name : workload.family(family).name;
}

std::filesystem::path databasePath(const std::string& asked) {
  return asked.empty() ? tune::defaultDatabasePath() : std::filesystem::path(asked);
}

namespace {

// What tuning has found, to read; nothing where there is no such file, which is told of one that was asked for. That
// the usual one cannot be read keeps nobody from going on without it.
std::optional<tune::Database> openKnown(const std::string& asked) {
  static std::once_flag told;
  const auto tell = [](Diagnostic warning) {
    warning.severity = Severity::warning;
    std::call_once(told, [&] { std::cerr << render(warning); });
  };
  std::error_code unreachable;
  try {
    const std::filesystem::path path = databasePath(asked);
    if (std::filesystem::exists(path, unreachable)) return tune::Database::openToRead(path);
    if (!asked.empty())
      tell({Severity::warning,
            {},
            fmt::format("there is no tuning database '{}'", asked),
            "`liftc tune` writes one",
            {}});
  } catch (const UserError& e) {
    if (!asked.empty()) throw;
    tell(e.diagnostics().front());
  }
  return std::nullopt;
}

// The other layouts in which a layer was tuned on a device, for a user who asks for it in these; empty where there are
// none.
std::string tunedElsewhere(const Workload& workload, const runtime::DeviceInfo& device, const tune::Database& db) {
  const auto layer = layerOf(workload);
  if (!layer) return {};
  for (ConvLayouts layouts : {freeLayouts(*layer, lanesOf(device)), ConvLayouts()}) {
    layouts.elements = leavesOf(workload.program.body.type()).at(0).scalar;
    const Workload other = convWorkload(*layer, layouts);
    tune::Filter filter;
    filter.problem = other.key();
    filter.device = tune::deviceRow(device).id;
    if (other.key() == workload.key() || db.select(filter).empty()) continue;
    const std::vector<std::string> words = wordsOf(other).options;
    return words.empty() ? "in the natural layouts" : fmt::format("with {}", fmt::join(words, " "));
  }
  return {};
}

}  // namespace

std::optional<tune::Database> FamilyOptions::known() const {
  return noTuned || !config.empty() ? std::nullopt : openKnown(db);
}

std::optional<CompiledWorkload> FamilyOptions::compile(const Workload& given, const CodegenOptions& codegen,
                                                       const runtime::DeviceInfo* device) const {
  const Workload workload = codegen.strictReductions ? inOrder(given) : given;
  const Stopwatch derivation;
  ChoiceOptions options{family, std::nullopt, nullptr, !noTuned};
  options.maxWorkspace = maxWorkspace;
  if (!config.empty()) options.config = parseValues(config, "--config");
  const std::optional<tune::Database> own = known();
  if (own) options.own = &*own;
  const Choice choice = choose(workload, device, options);
  auto compiled = compileAt(choice.variant, choice.config, codegen, derivation, device);
  if (compiled) {
    checkWorkspace(compiled->plan);
    compiled->origin = choice.origin;
    if (choice.measured)
      compiled->parts = partChoicesJson(choice.variant.workload.family(choice.variant.family), compiled->config,
                                        "tuned with the whole");
    compiled->measured = choice.measured;
    if (own && device != nullptr && !choice.measured)
      if (const std::string layouts = tunedElsewhere(workload, *device, *own); !layouts.empty())
        compiled->origin += "; the layer was tuned " + layouts;
  }
  return compiled;
}

std::optional<CompiledWorkload> compileAt(const Variant& variant, const Config& config, const CodegenOptions& codegen,
                                          const Stopwatch& derivation, const runtime::DeviceInfo* device) {
  CompiledWorkload compiled;
  compiled.family = variant.family;
  compiled.config = variant.defaults;
  for (const auto& [name, value] : config) compiled.config[name] = value;
  compiled.tolerance = variant.toleranceAt(compiled.config);
  compiled.parts = partChoicesJson(variant.workload.family(variant.family), compiled.config);
  const Program program = configured(variant, compiled.config);
  const double derive = derivation.milliseconds();
  codegen.checkConstants(program);
  CodegenOptions options = codegen;
  options.constants = variant.workload.constants;
  for (const std::string& name : codegen.constants)
    if (std::ranges::find(options.constants, name) == options.constants.end()) options.constants.push_back(name);
  options.alignedVectors = optionsOf(variant).opencl.alignedVectors;
  options.finiteMath |= variant.workload.finiteMath;
  CompileReport report;
  auto plan = options.compile(program, derive, &report, device);
  if (!plan) return std::nullopt;
  compiled.plan = std::move(*plan);
  compiled.milliseconds = report.total();
  compiled.provenance = provenanceOf(variant, compiled.config, codegen.within(device));
  return compiled;
}

namespace {

// A line of a file of shapes: its operator and where its descriptor is.
struct Line {
  std::string op;
  bool namesOp = false;
  Span line, descriptor;

  std::string_view text(Span s) const { return std::string_view(s.file->text).substr(s.begin, s.end - s.begin); }
  Span firstWord() const {
    const std::size_t length = std::min(text(line).find_first_of(" \t"), text(line).size());
    return {line.file, line.begin, line.begin + static_cast<std::uint32_t>(length)};
  }
};

std::vector<Line> linesOf(const std::string& path, const std::string& op) {
  const SourceFile* file = addSource(path, readInput(path));
  std::vector<Line> lines;
  for (const Span span : descriptorLines(*file)) {
    Line line{op, false, span, span};
    const Span word = line.firstWord();
    for (const Operator& o : operators())
      if (o.name == line.text(word)) line = {o.name, true, span, {file, word.end, span.end}};
    lines.push_back(line);
  }
  if (lines.empty()) throw UserError(ExitStatus::program, fmt::format("'{}' has no descriptors", path));
  return lines;
}

// Whether the line begins as if it named an operator: no descriptor's first word is letters alone, with others behind
// it, but that of a driver's command.
bool namesUnknown(const Line& line) {
  const std::string_view text = line.text(line.line), word = line.text(line.firstWord());
  const std::string_view rest = text.substr(std::min(text.size(), text.find_first_not_of(" \t", word.size())));
  return !line.namesOp && !rest.empty() && !rest.starts_with('-') && !rest.starts_with("conv") &&
         std::ranges::all_of(word, [](char c) { return isLetter(c); });
}

// What `parse` makes of each line's descriptor; errors at their places in the file.
template <class Parse>
auto parsedLines(const std::vector<Line>& lines, const Parse& parse) {
  std::vector<decltype(parse(lines[0], std::string()))> parsed;
  std::vector<Diagnostic> errors;
  for (const Line& line : lines) try {
      const std::string descriptor(line.text(line.descriptor));
      parsed.push_back(parse(line, descriptor));
    } catch (const UserError& e) {
      if (namesUnknown(line)) {
        const Span word = line.firstWord();
        errors.push_back({Severity::error,
                          word,
                          fmt::format("there is no operator '{}'", line.text(word)),
                          "the operators are " + listed(operators(), &Operator::name),
                          {}});
        continue;
      }
      for (Diagnostic d : e.diagnostics()) {
        Span at = line.line;
        if (d.span.file != nullptr && d.span.file->text == line.text(line.descriptor))
          at = {line.line.file, line.descriptor.begin + d.span.begin, line.descriptor.begin + d.span.end};
        d.span = at;
        errors.push_back(std::move(d));
      }
    }
  throwErrors(std::move(errors));
  return parsed;
}

}  // namespace

std::vector<Workload> readWorkloads(const std::string& path, const std::string& op, const LayoutOptions& layouts) {
  return parsedLines(linesOf(path, op), [&](const Line& line, const std::string& descriptor) {
    return line.op == "conv" ? layouts.workload(parseConv(descriptor)) : workloadNamed(line.op, descriptor);
  });
}

std::vector<ConvSpec> readLayers(const std::string& path) {
  return parsedLines(linesOf(path, "conv"), [](const Line& line, const std::string& descriptor) {
    if (line.op != "conv")
      throw UserError(ExitStatus::program, fmt::format("bounds are known of layers, not of the operator '{}'", line.op),
                      "`liftc bound FILE.lift` takes any program");
    return parseConv(descriptor);
  });
}

}  // namespace lift::liftc
