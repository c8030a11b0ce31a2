// Subcommands that tell: devices, primitives, cache.
#include <fmt/format.h>

#include <iostream>

#include "common.hpp"
#include "lift/diagnostic.hpp"
#include "lift/primitive.hpp"

namespace lift::liftc {

void addDevices(cli::App& app, int& status) {
  struct Options {
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand("devices", "List the devices that programs can run on");
  sub->add_flag("--json", o->json, "Print all properties as JSON");
  onCall(*sub, status, [o] {
    const auto devices = runtime::listDevices();
    for (const auto& d : runtime::unusableDrivers())
      std::cerr << fmt::format("warning: {}: the loader leaves out this driver{}: {}\n", d.file,
                               d.library.empty() ? "" : ", " + d.library, d.reason);
    if (o->json) {
      std::cout << runtime::toJson(devices, 2) << "\n";
      return 0;
    }
    bool any = false;
    for (const auto& d : devices) {
      any = any || !d.builtIn();
      const bool hasSubgroups = d.hasExtension("cl_khr_subgroups") || d.hasExtension("cl_intel_subgroups");
      if (d.name == "native")
        std::cout << (d.platform.empty()
                          ? "native needs a C compiler: install gcc or clang, or name one by the variable CC\n"
                          : fmt::format("native {} {} | {} | {} units | vectors of {} f32{}{}\n", d.platform,
                                        d.driverVersion, d.deviceVersion, d.computeUnits, d.vectorWidthF32,
                                        d.fp16 ? " | fp16" : "", d.fp64 ? " | fp64" : ""));
      else if (d.builtIn())
        std::cout << fmt::format("{:<6} pseudo device\n", d.name);
      else
        std::cout << fmt::format("{}:{:<4} {} | {} | {} | {} units | local {} KiB | group {}{}{}{}\n", d.platformIndex,
                                 d.deviceIndex, d.platform, d.name, d.deviceVersion, d.computeUnits,
                                 d.localMemory / 1024, d.maxWorkGroupSize, d.fp16 ? " | fp16" : "",
                                 d.fp64 ? " | fp64" : "", hasSubgroups ? " | sub-groups" : "");
    }
    if (!any)
      std::cerr << "no OpenCL device found; `--device native` runs kernels on the processor by way of a C compiler,\n"
                   "and Debian's pocl-opencl-icd provides an OpenCL device for it\n"
                   "(drivers are found through the .icd files in /etc/OpenCL/vendors, or OCL_ICD_VENDORS)\n";
    return 0;
  });
}

void addPrimitives(cli::App& app, int& status) {
  struct Options {
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand("primitives", "List the primitives, operations and index functions");
  sub->add_flag("--json", o->json, "Print the tables as JSON");
  onCall(*sub, status, [o] {
    Json j{{"primitives", Json::array()}, {"operations", Json::array()}, {"index_functions", Json::array()}};
    constexpr const char* dialects[] = {"functional", "opencl", "scalar"};
    for (int i = 0; i < primCount; i++) {
      const auto& row = info(static_cast<Prim>(i));
      j["primitives"].push_back({{"name", row.name},
                                 {"type", row.scheme},
                                 {"dialect", dialects[static_cast<int>(row.dialect)]},
                                 {"meaning", row.meaning}});
    }
    for (int i = 0; i < opCount; i++) {
      const auto& row = info(static_cast<Op>(i));
      j["operations"].push_back(
          {{"name", row.name}, {"infix", row.infix}, {"operands", row.arity}, {"meaning", row.meaning}});
    }
    for (int i = 0; i < indexFnCount; i++) {
      const auto& row = info(static_cast<IndexFn>(i));
      j["index_functions"].push_back({{"name", row.name}, {"formula", row.formula}, {"meaning", row.meaning}});
    }
    if (o->json) {
      printJson(j);
      return 0;
    }
    for (const char* dialect : dialects) {
      std::cout << dialect << " primitives\n";
      for (const auto& row : j["primitives"])
        if (row["dialect"] == dialect) std::cout << fmt::format("  {}\n      {}\n", row["type"], row["meaning"]);
    }
    std::cout << "operations (on scalars, and lane by lane on vectors)\n";
    for (const auto& row : j["operations"])
      std::cout << fmt::format("  {:<12}{:<4}{}\n", row["name"], row["infix"], row["meaning"]);
    std::cout << "index functions of reorder\n";
    for (const auto& row : j["index_functions"])
      std::cout << fmt::format("  {:<12}{}\n      {}\n", row["name"], row["formula"], row["meaning"]);
    return 0;
  });
}

void addCache(cli::App& app, int& status) {
  struct Options {
    bool clear = false, json = false;
  };
  auto o = std::make_shared<Options>();
  cli::App* sub = app.add_subcommand("cache", "Show or clear the cache of compiled kernels");
  sub->add_flag("--clear", o->clear, "Remove all entries");
  sub->add_flag("--json", o->json, "Print as JSON");
  onCall(*sub, status, [o] {
    const std::int64_t removed = o->clear ? runtime::clearCache() : 0;
    const auto s = runtime::cacheSummary();
    if (o->json)
      printJson(Json{{"enabled", s.enabled},
                     {"directory", s.directory.string()},
                     {"entries", s.entries},
                     {"bytes", s.bytes},
                     {"removed", removed}});
    else
      std::cout << fmt::format("{}: {} entries, {} bytes{}{}\n", s.directory.string(), s.entries, s.bytes,
                               s.enabled ? "" : " (disabled)", o->clear ? fmt::format(", {} removed", removed) : "");
    return 0;
  });
}

}  // namespace lift::liftc
