// A program of the catalogue compiled and run on a device, judged against its reference.
#pragma once

#include "lift/codegen.hpp"
#include "lift/device.hpp"
#include "lift/diagnostic.hpp"
#include "programs/catalogue.hpp"

namespace lift::programs {

// What is wrong, or nothing; errors of compiler and device are rendered.
inline std::string runOn(runtime::Device& device, const CatalogueEntry& entry, CompileOptions options = {},
                         const runtime::LoadOptions& loading = {}) {
  try {
    options.passes.verifyEach = true;
    const Program program = load(entry);
    const Tensors inputs = inputsOf(entry, program);
    const kernel::Plan plan = compile(program, options);
    const auto executable = device.load(plan, {}, loading);
    return judge(entry, executable->run(inputs).outputs, entry.reference(inputs));
  } catch (const UserError& e) {
    return render(e.diagnostics());
  } catch (const InternalError& e) {
    return e.what();
  }
}

}  // namespace lift::programs
