#include "manifest.hpp"

#include "lift/diagnostic.hpp"
#include "lift/host_code.hpp"

namespace liftc {
namespace {

Json size(lift::Nat n) {
  if (const auto c = n.constant()) return *c;
  return n.str();
}

Json sizes3(const std::array<lift::Nat, 3>& n) { return Json::array({size(n[0]), size(n[1]), size(n[2])}); }

std::string_view roleName(lift::kernel::PlanBuffer::Role role) {
  switch (role) {
    case lift::kernel::PlanBuffer::Role::input:
      return "input";
    case lift::kernel::PlanBuffer::Role::output:
      return "output";
    case lift::kernel::PlanBuffer::Role::temporary:
      return "temporary";
  }
  return "";
}

}  // namespace

Json manifest(const lift::kernel::Plan& plan) {
  Json j{{"schema", 1}, {"name", plan.name}, {"build_options", "-cl-std=CL1.2"}};
  j["sizes"] = Json::array();
  for (const lift::NatVar v : plan.sizes) j["sizes"].push_back(v.name());
  j["buffers"] = Json::array();
  for (const auto& b : plan.buffers) {
    Json shape = Json::array();
    for (const lift::Nat n : b.shape) shape.push_back(size(n));
    j["buffers"].push_back(
        {{"name", b.name},
         {"role", roleName(b.role)},
         {"type", lift::info(b.scalar).name},
         {"shape", shape},
         {"bytes", size(b.count() * lift::Nat(static_cast<std::int64_t>(lift::info(b.scalar).bytes)))}});
  }
  j["kernels"] = Json::array();
  for (const auto& k : plan.kernels) {
    Json arguments = Json::array();
    for (const auto a : k.arguments) arguments.push_back(k.buffers[a].name);
    for (const lift::NatVar v : k.sizes) arguments.push_back("int " + v.name());
    j["kernels"].push_back({{"name", k.name},
                            {"file", k.name + ".cl"},
                            {"arguments", arguments},
                            {"global", sizes3(k.range.global)},
                            {"local", sizes3(k.range.local)}});
  }
  const auto launches = [&](const std::vector<lift::kernel::Launch>& list) {
    Json out = Json::array();
    for (const auto& l : list) {
      Json arguments = Json::array();
      for (const int a : l.arguments) arguments.push_back(plan.buffers[static_cast<std::size_t>(a)].name);
      out.push_back({{"kernel", plan.kernels[static_cast<std::size_t>(l.kernel)].name}, {"arguments", arguments}});
    }
    return out;
  };
  j["preparation"] = launches(plan.preparation);
  j["launches"] = launches(plan.launches);
  return j;
}

void writeArtefacts(const std::filesystem::path& directory, const lift::kernel::Plan& plan) {
  for (std::size_t k = 0; k < plan.kernels.size(); k++)
    writeFile(directory / (plan.kernels[k].name + ".cl"), plan.sources[k]);
  writeFile(directory / "manifest.json", manifest(plan).dump(2) + "\n");
  const lift::HostCode host = lift::printHostCode(plan);
  writeFile(directory / "host.h", host.header);
  writeFile(directory / "host.c", host.source);
}

}  // namespace liftc
