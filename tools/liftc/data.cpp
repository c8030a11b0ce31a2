// Inputs and outputs of programs on the command line: files, what fills the others, what is shown and compared.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <optional>

#include "common.hpp"
#include "lift/diagnostic.hpp"
#include "lift/free_memory.hpp"
#include "lift/listed.hpp"

namespace lift::liftc {

namespace {

constexpr std::int64_t shownElements = 8;  // of a row, before the dots

using kernel::PlanBuffer;

// A plan that has only the program's inputs: what binding sizes needs.
kernel::Plan signatureOf(const Program& program) {
  kernel::Plan plan;
  plan.name = program.name;
  plan.sizes = program.sizes;
  plan.sizes.insert(plan.sizes.end(), program.tunables.begin(), program.tunables.end());
  for (const Expr p : program.parameters)
    for (const Leaf& l : leavesOf(p.type()))
      plan.buffers.push_back({p.name() + l.path, l.scalar, l.shape, PlanBuffer::Role::input});
  return plan;
}

// Whether the sizes make an array of the shape; what else they break is reported elsewhere.
bool isArray(const PlanBuffer& b, const std::map<std::string, std::int64_t>& values) {
  const auto size = [&](NatVar v) {
    const auto found = values.find(v.name());
    return found == values.end() ? 0 : found->second;
  };
  try {
    return std::ranges::all_of(b.shape, [&](Nat n) { return n.evaluate(size) >= 1; });
  } catch (const UserError&) {
    return false;
  }
}

// Refuses a program whose inputs and outputs the device, or this machine, has no memory for.
void checkMemory(kernel::Plan plan, const Program& program, const Tensors& read,
                 const std::map<std::string, std::int64_t>& values, const runtime::DeviceInfo* device) {
  std::vector<PlanBuffer> made;  // inputs without a file, and outputs
  std::erase_if(plan.buffers, [&](const PlanBuffer& b) {
    if (!read.count(b.name)) made.push_back(b);
    return !read.count(b.name);
  });
  for (const Leaf& l : leavesOf(program.result())) made.push_back({"out" + l.path, l.scalar, l.shape});
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [v, value] : runtime::bindSizes(plan, runtime::typesOf(read), values).sizes)
    sizes.emplace(v.name(), value);
  for (PlanBuffer& b : made) {
    b.role = PlanBuffer::Role::output;
    if (isArray(b, sizes)) plan.buffers.push_back(std::move(b));
  }
  if (plan.buffers.empty()) return;
  const auto binding = runtime::bindSizes(plan, runtime::typesOf(read), values);
  if (device) runtime::checkLimits(*device, plan, binding, runtime::deviceMemoryOf(plan, binding));
  // A processor has buffers of its own in the same memory.
  const bool isHere = device && (device->type == "cpu" || device->name == "emulator");
  constexpr std::int64_t large = std::int64_t{64} << 20U;
  double needed = 0;
  std::size_t largest = 0;
  for (std::size_t b = 0; b < plan.buffers.size(); b++) {
    const auto bytes = static_cast<double>(binding.bytes[b]);
    needed += (plan.buffers[b].role == PlanBuffer::Role::output ? bytes : 0) + (isHere ? bytes : 0);
    if (binding.bytes[b] > binding.bytes[largest]) largest = b;
  }
  if (needed < large) return;
  if (const std::int64_t left = freeMemory(); needed > static_cast<double>(left))
    throw UserError(
        ExitStatus::program,
        fmt::format("inputs and outputs need {:.0f} bytes of memory{} ({} for {}, the largest array), {} are free",
                    needed, isHere ? ", the device's copies included" : "", binding.bytes[largest],
                    plan.buffers[largest].name, left));
}

// Sizes and tunables that have no value and do not occur in the shapes of the inputs that are there.
void checkDetermined(const Program& program, const kernel::Plan& signature, const Tensors& tensors, bool filled,
                     const std::map<std::string, std::int64_t>& values) {
  const auto occurs = [&](NatVar v, bool anywhere) {
    for (const auto& b : signature.buffers)
      if (anywhere || tensors.count(b.name))
        for (const Nat n : b.shape)
          for (const NatVar w : n.variables())
            if (w == v) return true;
    return false;
  };
  const auto determined = [&](NatVar v) { return values.count(v.name()) || occurs(v, !filled); };
  for (const NatVar t : program.tunables)
    if (!determined(t))
      throw UserError(ExitStatus::program, fmt::format("the tunable {} has no value", t.name()),
                      fmt::format("give one with --size {}=…", t.name()));
  for (const NatVar s : program.sizes)
    if (!determined(s))
      throw UserError(
          ExitStatus::program, fmt::format("the size {} has no value", s.name()),
          fmt::format("give one with --size {}=…{}", s.name(), occurs(s, true) ? ", or an input that has it" : ""));
}

void fillTensor(Tensor& t, const std::string& fill, const std::string& name) {
  if (fill == "zeros") return;
  if (fill == "ones") {
    for (std::int64_t i = 0; i < t.size(); i++) t.set(i, 1);
    return;
  }
  const std::string prefix = "random:";
  if (fill == "random") return fillRandom(t, 0, name);
  if (fill.starts_with(prefix)) {
    const std::int64_t seed = parseInteger(fill.substr(prefix.size()), "--fill");
    if (seed < 0) throw UserError(ExitStatus::usage, fmt::format("--fill: {} is no seed, a number from 0", seed));
    return fillRandom(t, static_cast<std::uint64_t>(seed), name);
  }
  throw UserError(ExitStatus::usage, fmt::format("--fill: unknown '{}'", fill), "use zeros, ones or random:SEED");
}

// A scalar that is given as a number; nothing where the text is none.
std::optional<Tensor> numberOf(const std::string& text, Scalar scalar) {
  const auto doesNotFit = [&] {
    throw UserError(ExitStatus::usage, fmt::format("-i: {} does not fit {}", text, info(scalar).name));
  };
  const auto parsed = [&]<class T>(T value) -> std::optional<T> {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range && end == text.data() + text.size()) doesNotFit();
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  };
  Tensor t(scalar, {});
  if (isFloat(scalar)) {
    const auto value = parsed(0.0);
    if (value) t.set(0, *value);
    if (value && std::isfinite(*value) && !std::isfinite(t.get(0))) doesNotFit();
    return value ? std::optional(t) : std::nullopt;
  }
  if (scalar == Scalar::boolean && (text == "true" || text == "false")) {
    t.set(0, text == "true" ? 1 : 0);
    return t;
  }
  const auto whole = scalar == Scalar::u64 ? [&] {
    const auto value = parsed(std::uint64_t{0});
    return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
  }() : parsed(std::int64_t{0});
  if (!whole) return std::nullopt;
  t.put(0, ScalarValue::ofInteger(scalar, *whole));
  if (t.at(0).integer != *whole) doesNotFit();
  return t;
}

// What the text behind `-i NAME=` gives: of a scalar a number, else a file's tensor.
Tensor tensorOf(const PlanBuffer& input, const std::string& text) {
  const bool isScalar = input.shape.empty(), isNumber = numberOf(text, Scalar::f64).has_value();
  if (const auto number = isScalar ? numberOf(text, input.scalar) : std::nullopt) return *number;
  if (isScalar && (isNumber || !std::filesystem::path(text).has_extension()))
    throw UserError(ExitStatus::usage, fmt::format("-i: '{}' is no {}", text, info(input.scalar).name),
                    fmt::format("{} is a number of this type, or a tensor file of one element", input.name));
  if (!isScalar && isNumber)
    throw UserError(ExitStatus::usage, fmt::format("-i: {} is an array, '{}' is a number", input.name, text),
                    "arrays are read from files: .npy, .pgm or .ppm");
  return readTensorFile(text);
}

void show(std::ostream& out, const Tensor& t, std::size_t dimension, std::int64_t& at, std::size_t indent) {
  if (dimension == t.shape.size()) {
    const ScalarValue value = t.at(at);
    const double v = t.get(at++);
    const bool isWhole = isInteger(t.scalar);
    if (isWhole && t.scalar == Scalar::u64)
      out << static_cast<std::uint64_t>(value.integer);
    else if (isWhole)
      out << value.integer;
    else
      out << (std::isnan(v) ? "nan" : fmt::format("{:g}", v));
    return;
  }
  std::int64_t below = 1;
  for (std::size_t d = dimension + 1; d < t.shape.size(); d++) below *= t.shape[d];
  const std::int64_t n = t.shape[dimension];
  out << "[";
  for (std::int64_t i = 0; i < n; i++) {
    if (i) out << (dimension + 1 == t.shape.size() ? ", " : ",\n" + std::string(indent + 1, ' '));
    if (n > 2 * shownElements && i == shownElements) {
      out << "…";
      const std::int64_t skipped = n - 2 * shownElements;
      at += skipped * below;
      i += skipped - 1;
      continue;
    }
    show(out, t, dimension + 1, at, indent + 1);
  }
  out << "]";
}

bool isNpz(const std::string& path) { return path.size() > 4 && path.ends_with(".npz"); }

// Errors are taken relative to the expected tensor's largest value.
bool compareOutputs(const Tensors& outputs, const DataOptions& data, bool json, Json& report) {
  Tensors expected;
  if (isNpz(data.expect))
    expected = readNpz(data.expect);
  else
    expected["out"] = readTensorFile(data.expect);
  bool ok = true;
  double worst = 0;
  for (const auto& [name, e] : expected) {
    const auto found = outputs.find(name);
    if (found == outputs.end())
      throw UserError(ExitStatus::usage, fmt::format("--expect: the program has no output '{}'", name),
                      "several outputs are compared with the tensors of an .npz file");
    const Difference d = compare(found->second, e, largestMagnitude(e));
    const bool same = d.sameShape && d.finite && d.maxRel <= data.rtol;
    ok = ok && same;
    worst = std::max(worst, d.maxRel);
    if (json || (same && data.quiet)) continue;
    if (!d.sameShape)
      std::cerr << fmt::format("{}: expected {}, got {}: WRONG\n", name, e.describe(), found->second.describe());
    else
      std::cerr << fmt::format("{}: largest error {:.3g}, tolerance {:.3g}: {}\n", name, d.maxRel, data.rtol,
                               same ? "ok" : fmt::format("WRONG at element {}", d.at));
  }
  report["max_rel_err"] = worst;
  report["ok"] = ok;
  return ok;
}

}  // namespace

void DataOptions::add(cli::App& app) {
  app.add_option("-i,--input", inputs,
                 "Input tensor NAME=FILE (.npy, .pgm, .ppm), or an .npz of several; of a scalar NAME=NUMBER, too")
      ->type_name("NAME=FILE");
  app.add_option("--fill", fill, "Contents of inputs that no file gives: zeros, ones or random:SEED")->type_name("HOW");
  app.add_option("-o,--output", outputs,
                 "Where the result goes: FILE, or NAME=FILE for a part of a tuple; folders are made where missing")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--expect", expect, "Compare the result with this tensor; exit status 4 when it differs")
      ->type_name("FILE");
  app.add_option("--rtol", rtol, "Largest error for --expect, relative to the tensor's largest value")
      ->nonNegative()
      ->capture_default_str();
  app.add_flag("-q,--quiet", quiet, "Print nothing but errors");
}

Inputs makeInputs(const Program& program, const std::map<std::string, std::int64_t>& values, const DataOptions& data,
                  const runtime::DeviceInfo* device) {
  checkValues(program, values);
  const kernel::Plan signature = signatureOf(program);
  const std::string known = listed(signature.buffers, &PlanBuffer::name);
  const auto checkKnown = [&](const std::string& name, ExitStatus wrong) {
    if (std::ranges::find(signature.buffers, name, &PlanBuffer::name) == signature.buffers.end())
      throw UserError(wrong, fmt::format("the program has no input '{}'", name),
                      known.empty() ? "it has none at all" : "its inputs are " + known);
  };
  Inputs inputs;
  for (const std::string& argument : data.inputs) {
    const auto equals = argument.find('=');
    if (equals == std::string::npos) {
      if (!isNpz(argument))
        throw UserError(ExitStatus::usage, fmt::format("-i: expected NAME=FILE or an .npz file, found '{}'", argument));
      for (auto& [name, tensor] : readNpz(argument)) inputs.tensors[name] = std::move(tensor);
      continue;
    }
    const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
    checkKnown(name, ExitStatus::usage);
    inputs.tensors[name] = tensorOf(*std::ranges::find(signature.buffers, name, &PlanBuffer::name), value);
  }
  for (const auto& input : inputs.tensors) checkKnown(input.first, ExitStatus::program);
  checkDetermined(program, signature, inputs.tensors, !data.fill.empty(), values);
  if (!data.fill.empty()) {
    checkMemory(signature, program, inputs.tensors, values, device);
    // Sizes come from the inputs that are there; the others get tensors of the shapes that follow.
    kernel::Plan partial = signature;
    partial.buffers.clear();
    for (const auto& b : signature.buffers)
      if (inputs.tensors.count(b.name)) partial.buffers.push_back(b);
    const runtime::Binding binding = runtime::bindSizes(partial, runtime::typesOf(inputs.tensors), values);
    for (const auto& b : signature.buffers) {
      if (inputs.tensors.count(b.name)) continue;
      std::vector<std::int64_t> shape;
      for (const Nat n : b.shape) shape.push_back(binding.evaluate(n));
      Tensor t(b.scalar, shape);
      fillTensor(t, data.fill, b.name);
      inputs.tensors[b.name] = std::move(t);
    }
  }
  inputs.sizes = runtime::bindSizes(signature, runtime::typesOf(inputs.tensors), values).sizes;
  return inputs;
}

void checkMemory(const Program& program, const runtime::DeviceInfo& device) {
  checkMemory(signatureOf(program), program, {}, {}, &device);
}

Program atSizes(const Program& program, const std::map<NatVar, std::int64_t>& sizes) {
  std::map<NatVar, Nat> values;
  for (const auto& [v, value] : sizes) values.emplace(v, Nat(value));
  return specialise(program, values);
}

namespace {

// The place in the program's result: 3 and 10 of out.3.10.
std::vector<int> componentOf(const std::string& output) {
  std::vector<int> place;
  for (std::size_t dot = output.find('.'); dot != std::string::npos; dot = output.find('.', dot + 1))
    place.push_back(std::atoi(output.c_str() + dot + 1));
  return place;
}

}  // namespace

int finishOutputs(const Tensors& outputs, const DataOptions& data, bool json, Json& report) {
  for (const std::string& o : data.outputs) {
    const auto equals = o.find('=');
    const std::string name = equals == std::string::npos ? "out" : o.substr(0, equals);
    const std::string path = equals == std::string::npos ? o : o.substr(equals + 1);
    if (equals == std::string::npos && isNpz(path)) {
      makeFolderOf(path);
      writeNpz(path, outputs);
      continue;
    }
    const auto found = outputs.find(name);
    if (found == outputs.end()) {
      const std::string known = listed(outputs, &Tensors::value_type::first);
      const bool isUnnamed = equals == std::string::npos;
      throw UserError(
          ExitStatus::usage,
          isUnnamed ? fmt::format("-o: which of the {} outputs goes to '{}' is not said", outputs.size(), o)
                    : fmt::format("-o: there is no output '{}'", name),
          fmt::format("outputs are {}: write {}=FILE, or all to one .npz file", known, outputs.begin()->first));
    }
    makeFolderOf(path);
    writeTensorFile(path, found->second);
  }
  Json shapes = Json::object();
  for (const auto& [name, t] : outputs) shapes[name] = t.describe();
  report["outputs"] = shapes;
  if (data.outputs.empty() && data.expect.empty() && !json && !data.quiet) {
    std::vector<const Tensors::value_type*> inOrder;
    for (const auto& output : outputs) inOrder.push_back(&output);
    std::ranges::stable_sort(inOrder, {}, [](const auto* output) { return componentOf(output->first); });
    for (const auto* output : inOrder) {
      std::int64_t at = 0;
      std::cout << output->first << ": " << output->second.describe() << "\n";
      show(std::cout, output->second, 0, at, 0);
      std::cout << "\n";
    }
  }
  if (data.expect.empty()) return 0;
  return compareOutputs(outputs, data, json, report) ? 0 : static_cast<int>(ExitStatus::wrong);
}

}  // namespace lift::liftc
