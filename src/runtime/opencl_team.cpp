#include "opencl_team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "host_executable.hpp"
#include "lift/diagnostic.hpp"

namespace lift::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using kernel::Launch;

// What precedes a kernel's source. A part of a launch is a range of its groups, counted along dimension 0 first; they
// stand along dimension 2 of the part's own launch, whose offsets say how many groups the whole has along dimensions 0
// and 1, and where the part begins, one group more, so that there always is an offset: PoCL 3.1 compiles a kernel once
// for launches with and once for those without, and also for greater lengths of dimensions 0 and 1 than it has met, and
// ends the process where launches of two such versions end at the same time. Offsets are in groups and nothing is
// divided by them: for launches of fewer than 2^16 work-items in each dimension PoCL tells its compiler that offsets
// are less, too, and a division of greater ones went wrong.
std::string idsOfParts(const kernel::NDRange& range) {
  const auto groups = [&](std::size_t d) {
    const auto global = range.global[d].constant(), local = range.local[d].constant();
    return global && local ? fmt::format("{}u", *global / *local) : fmt::format("(uint)get_global_offset({})", d);
  };
  return fmt::format(
      "#undef get_group_id\n"
      "#undef get_global_id\n"
      "#define lift_group ((uint)(get_group_id(2) + get_global_offset(2)) - 1)\n"
      "#define get_group_id(d) ((d) == 0 ? lift_group % {0} : (d) == 1 ? lift_group / {0} % {1} : lift_group / ({0} * "
      "{1}))\n"
      "#define get_global_id(d) (get_group_id(d) * get_local_size(d) + get_local_id(d))\n"
      "#line 1\n",
      groups(0), groups(1));
}

class TeamExecutable : public HostExecutable {
 public:
  TeamExecutable(std::shared_ptr<OpenClTeam> team, const DeviceInfo& info, const kernel::Plan& plan,
                 const std::map<std::string, std::int64_t>& sizes, const LoadOptions& options)
      : HostExecutable(info, plan, sizes), team_(std::move(team)), lanes_(team_->devices.size()) {
    std::vector<SourceUnit> units;
    for (std::size_t k = 0; k < plan.kernels.size(); k++)
      units.push_back(
          {kernelNameIn(plan.sources[k], plan.kernels[k].name), idsOfParts(plan.kernels[k].range) + plan.sources[k]});
    const BuiltKernels built = buildKernels(team_->context, team_->devices, info, units, options, team_->kept);
    build_ = built.report;
    guarded("create command queues on " + info.name, [&] {
      for (std::size_t l = 0; l < lanes_.size(); l++) {
        lanes_[l].queue = cl::CommandQueue(team_->context, team_->devices[l], cl::QueueProperties::Profiling);
        lanes_[l].compiled.assign(units.size(), false);
        for (std::size_t k = 0; k < units.size(); k++)  // arguments are a kernel's, so each lane has its own
          lanes_[l].kernels.emplace_back(built.kernels[k].getInfo<CL_KERNEL_PROGRAM>(), units[k].name.c_str());
      }
      return 0;
    });
  }

  Timer timer() const override { return Timer::host; }

 protected:
  void allocated() override {
    spent_.clear();
    guarded("use memory of the process", [&] {
      for (Lane& lane : lanes_) {
        lane.host = buffers_;
        lane.buffers.assign(buffers_.size(), {});
        for (std::size_t b = 0; b < buffers_.size(); b++)
          if (buffers_[b] != nullptr)
            lane.buffers[b] = cl::Buffer(team_->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                         static_cast<std::size_t>(std::max<std::int64_t>(bytes_[b], 4)), buffers_[b]);
      }
      return 0;
    });
  }

  void upload(const Binding& binding, const DeviceMemory& memory,
              const std::map<std::string, Tensor>& inputs) override {
    bytes_ = binding.bytes;
    HostExecutable::upload(binding, memory, inputs);
  }

  Repetition launch(const Binding& binding, const std::vector<Launch>& launches,
                    const std::vector<kernel::LaunchLoop>& loops, int runs, Timed) override {
    std::vector<Shares> shares;
    const bool isRun = &launches == &plan().launches;
    for (std::size_t i = 0; i < launches.size(); i++)
      shares.push_back(sharesOf(launches[i], binding, isRun && !spent_.empty() ? spent_[i] : Spent{}));
    std::vector<double> milliseconds(launches.size(), 0.0), times(launches.size(), 0.0);
    std::vector<bool> compiled(launches.size(), false);
    double whole = 0;
    team_->team.run([&](int member) {
      Lane& lane = lanes_[static_cast<std::size_t>(member)];
      lane.set.assign(lane.kernels.size(), {});
      team_->team.meet();  // times begin when all are awake
      const auto begin = Clock::now();
      auto last = begin;
      int alone = 0;  // launches by the first member that the others have not waited for
      const auto settle = [&] {
        if (std::exchange(alone, 0) > 0) team_->team.meet();
      };
      const auto one = [&](std::size_t i) {
        if (shares[i].geometry.empty()) return;
        const bool isAlone = shares[i].isAlone, compiles = !lane.compiled[static_cast<std::size_t>(launches[i].kernel)];
        if (!isAlone) settle();
        if (member == 0 || !isAlone) compute(lane, launches[i], shares[i], binding);
        if (!isAlone) team_->team.meet();
        if (member == 0) {
          const auto now = Clock::now();
          milliseconds[i] += compiles ? longest(lanes_) : std::chrono::duration<double, std::milli>(now - last).count();
          times[i]++;
          if (compiles) compiled[i] = true;
          last = now;
        }
        if (compiles) team_->team.meet();  // before others compute the next
        if (isAlone && ++alone == mostAlone) settle();
      };
      const auto swap = [&](int a, int b) {
        std::swap(lane.buffers[static_cast<std::size_t>(a)], lane.buffers[static_cast<std::size_t>(b)]);
        std::swap(lane.host[static_cast<std::size_t>(a)], lane.host[static_cast<std::size_t>(b)]);
      };
      const auto holds = [&](int b) {
        settle();
        const bool flag = *static_cast<const unsigned char*>(lane.host[static_cast<std::size_t>(b)]) != 0;
        team_->team.meet();  // before a launch writes the next
        return flag;
      };
      for (int r = 0; r < runs; r++)
        kernel::forEachLaunch(
            launches.size(), loops, [&](Nat n) { return binding.evaluate(n); }, one, swap, holds);
      if (member == 0) whole = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    });
    buffers_ = lanes_.front().host;
    if (isRun) spent_.resize(launches.size());
    for (std::size_t i = 0; i < launches.size(); i++) {
      if (isRun && times[i] > 0 && (!compiled[i] || milliseconds[i] >= shortest))  // events leave out what parts cost
        spent_[i].add(milliseconds[i] / times[i], shares[i].isAlone);
      milliseconds[i] /= runs;
    }
    return {0, whole / runs, std::move(milliseconds)};
  }

 private:
  struct Lane {  // what a member of the team has
    cl::CommandQueue queue;
    std::vector<cl::Kernel> kernels;
    std::vector<cl::Memory> buffers;       // one per plan buffer, of the same memory in all lanes
    std::vector<void*> host;               // that memory
    std::vector<std::vector<cl_mem>> set;  // the arguments of each kernel, in these launches
    std::vector<bool> compiled;            // whether each kernel has been launched, which compiles it
    double milliseconds = 0;               // that the lane's parts of a launch that was the first one took
  };

  // The least milliseconds that a launch took, divided among the members and by the first one alone; 0: not known.
  struct Spent {
    double shared = 0, alone = 0;
    int triesAlone = 0;

    void add(double milliseconds, bool isAlone) {
      double& least = isAlone ? alone : shared;
      least = least > 0 ? std::min(least, milliseconds) : milliseconds;
      triesAlone += int{isAlone};
    }
  };

  static constexpr double shortest = 0.005;  // milliseconds, below which both are tried
  static constexpr int mostAlone = 8;  // launches that others do not wait for: few, so that they do not fall asleep

  // How the groups of a launch are shared out.
  struct Shares {
    Geometry geometry;
    std::array<std::size_t, 3> groups{};
    std::vector<std::size_t> ends = {};  // of each part, which begins where the one before ends
    bool isAlone = false;                // the first member computes all
  };

  // A launch is divided among the members, a long one in parts that become shorter, so that none waits long for another
  // that was interrupted or whose groups take longer. Of one so short that handing its data from core to core may take
  // longer than computing them, both are tried, alone some times, since the first run after others is slow, and the
  // faster one stays.
  Shares sharesOf(const Launch& launch, const Binding& binding, const Spent& spent) const {
    constexpr int tries = 4;
    constexpr double shortLaunch = 0.1, shortPart = 0.05, ofRest = 0.6;
    const double milliseconds = spent.shared;
    Shares s{.geometry = geometryOf(plan().kernels[static_cast<std::size_t>(launch.kernel)], binding)};
    for (std::size_t d = 0; d < 3; d++) s.groups[d] = s.geometry.global[d] / s.geometry.local[d];
    const std::size_t total = s.groups[0] * s.groups[1] * s.groups[2];
    const auto members = lanes_.size();
    s.isAlone = spent.shared > 0 && spent.shared < shortest && (spent.triesAlone < tries || spent.alone < spent.shared);
    if (s.isAlone) {
      s.ends = {total};
      return s;
    }
    if (milliseconds < shortLaunch) {
      for (std::size_t m = 1; m <= members; m++) s.ends.push_back(total * m / members);
      return s;
    }
    const double groups = static_cast<double>(total);
    const double least = groups * shortPart / (milliseconds * static_cast<double>(members));
    for (double rest = groups; rest >= 1;) {
      const double part = std::ceil(std::max(least, rest * ofRest / static_cast<double>(members)));
      rest -= part;
      s.ends.push_back(total - static_cast<std::size_t>(std::max(0.0, rest)));
    }
    return s;
  }

  static double longest(const std::vector<Lane>& lanes) {
    return std::ranges::max(lanes, {}, &Lane::milliseconds).milliseconds;
  }

  // The parts that come to one member. PoCL compiles a kernel when it is first launched, so that launch is timed by
  // events.
  void compute(Lane& lane, const Launch& launch, const Shares& s, const Binding& binding) {
    const auto k = static_cast<std::size_t>(launch.kernel);
    const auto& local = s.geometry.local;
    guarded("launch kernel " + plan().kernels[k].name, [&] {
      bool any = false;
      std::vector<cl::Event> events;
      std::size_t own = 0;
      for (std::size_t part; (part = s.isAlone ? own++ : team_->team.next()) < s.ends.size();) {
        const std::size_t begin = part == 0 ? 0 : s.ends[part - 1], end = s.ends[part];
        if (begin == end) continue;
        if (!any) setArguments(lane.kernels[k], plan().kernels[k], launch, binding, lane.buffers, lane.set[k]);
        any = true;
        lane.queue.enqueueNDRangeKernel(lane.kernels[k], cl::NDRange(s.groups[0], s.groups[1], begin + 1),
                                        cl::NDRange(local[0], local[1], (end - begin) * local[2]),
                                        cl::NDRange(local[0], local[1], local[2]), nullptr,
                                        lane.compiled[k] ? nullptr : &events.emplace_back());
      }
      if (any) lane.queue.finish();
      lane.compiled[k] = true;
      lane.milliseconds = 0;
      for (const cl::Event& e : events)
        lane.milliseconds += 1e-6 * static_cast<double>(e.getProfilingInfo<CL_PROFILING_COMMAND_END>() -
                                                        e.getProfilingInfo<CL_PROFILING_COMMAND_START>());
      return 0;
    });
  }

  std::shared_ptr<OpenClTeam> team_;
  std::vector<std::int64_t> bytes_;  // of each buffer, as they are allocated
  std::vector<Spent> spent_;         // on each launch of a run
  std::vector<Lane> lanes_;
};

}  // namespace

bool OpenClTeam::isPinned() {
  const char* affinity = std::getenv("POCL_AFFINITY");
  return affinity != nullptr && affinity == std::string_view("1");
}

bool isForTeams(const kernel::Plan& plan) {
  return std::ranges::none_of(plan.buffers, [](const kernel::PlanBuffer& b) { return b.isImage; }) &&
         std::ranges::none_of(plan.sources, [](const std::string& source) {
           return source.find("get_num_groups") != std::string::npos ||
                  source.find("get_global_size") != std::string::npos ||
                  source.find("get_global_offset") != std::string::npos;
         });
}

std::unique_ptr<Executable> loadOnTeam(std::shared_ptr<OpenClTeam> team, const DeviceInfo& info,
                                       const kernel::Plan& plan, const std::map<std::string, std::int64_t>& sizes,
                                       const LoadOptions& options) {
  return std::make_unique<TeamExecutable>(std::move(team), info, plan, sizes, options);
}

}  // namespace lift::runtime
