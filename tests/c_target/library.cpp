#include "c_target/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/host_code.hpp"

namespace lift::c_target {
namespace {

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

std::size_t Library::add(const kernel::Plan& plan) {
  const std::string name = fmt::format("p{}", plans_.size());
  const CCode code = printCCode(plan, name);
  write(file(name + ".c"), code.source);
  write(file(name + ".h"), code.header);
  // Sizes, then inputs and outputs, as the header declares them. Called twice: the second time memory is there already.
  std::string arguments = "plan";
  for (std::size_t i = 0; i < plan.sizes.size(); i++) arguments += fmt::format(", sizes[{}]", i);
  std::size_t at = 0;
  for (const auto role : {kernel::PlanBuffer::Role::input, kernel::PlanBuffer::Role::output})
    for (const auto& b : plan.buffers)
      if (b.role == role) arguments += fmt::format(", arrays[{}]", at++);
  calls_ += fmt::format(
      "#include \"{0}.h\"\nint {0}_call(const int* sizes, void** arrays) {{\n  int status;\n"
      "  {0}_plan* plan = {0}_create();\n  (void)sizes;\n  (void)arrays;\n"
      "  status = {0}_run({1});\n  if (status == 0) status = {0}_run({1});\n  {0}_destroy(plan);\n  return "
      "status;\n}}\n",
      name, arguments);
  plans_.push_back(plan);
  return plans_.size() - 1;
}

std::string Library::build(const std::string& flags) {
  write(file("calls.c"), calls_);
  const char* compiler = std::getenv("CC");
  const std::string command = fmt::format(
      "cd {0} && ls *.c | xargs -P 2 -n 16 {1} -std=gnu11 {2} -Wall -Wextra -Werror -fPIC -c >log 2>&1 && "
      "{1} -shared {2} *.o -o all.so -lm >>log 2>&1",
      folder_.path().string(), compiler != nullptr ? compiler : "cc", flags);
  if (std::system(command.c_str()) != 0) return readFile(file("log")).value();
  handle_ = dlopen(file("all.so").c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  return handle_ != nullptr ? "" : dlerror();
}

std::map<std::string, Tensor> Library::run(std::size_t index, const std::map<std::string, Tensor>& inputs,
                                           const std::map<std::string, std::int64_t>& sizes) {
  const kernel::Plan& plan = plans_.at(index);
  std::vector<int> values;
  std::map<NatVar, Nat> known;
  for (const NatVar v : plan.sizes) {
    values.push_back(static_cast<int>(sizes.at(v.name())));
    known.emplace(v, Nat(sizes.at(v.name())));
  }
  std::vector<void*> arrays;
  std::map<std::string, Tensor> outputs, in = inputs;
  for (const auto& b : plan.buffers)
    if (b.role == kernel::PlanBuffer::Role::input) arrays.push_back(in.at(b.name).bytes.data());
  for (const auto& b : plan.buffers) {
    if (b.role != kernel::PlanBuffer::Role::output) continue;
    std::vector<std::int64_t> shape;
    for (const Nat n : b.shape) shape.push_back(n.substitute(known).constant().value());
    Tensor& out = outputs[b.name] = Tensor(b.scalar, shape);
    std::fill(out.bytes.begin(), out.bytes.end(), b.name == "faults" ? std::byte{0xFF} : std::byte{0xAB});
    arrays.push_back(out.bytes.data());
  }
  using Call = int (*)(const int*, void**);
  const auto call = reinterpret_cast<Call>(dlsym(handle_, fmt::format("p{}_call", index).c_str()));
  ensure(call != nullptr, "the library has no such function");
  const int status = call(values.data(), arrays.data());
  if (status != 0) throw InternalError(fmt::format("{} returned {}", plan.name, status));
  return outputs;
}

}  // namespace lift::c_target
