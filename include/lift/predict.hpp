// How long kernels would take on a device that is not at hand: a model of what limits them.
//
//   const auto device = runtime::readProfile("mali-g72");
//   const PlanPrediction p = predict(plan, device);
//   p.milliseconds, p.kernels[0].limit                 // 14.2, "loads and stores"
//   const auto s = buildOffline(…).statistics;         // what a compiler says, where one is found, sharpens it
//   predict(plan, device, {{"conv", s}})
//
// A kernel's work is counted on its tree; nothing is run. Each resource of the device takes its time for its part of
// the work, at the throughput that the profile says; the slowest counts, then what a launch costs. All of it is as if
// at the peak of that resource but for one factor of the profile, `efficiency`, by which one measured point was hit;
// how far off the model is elsewhere is in docs/predictions.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lift/device.hpp"
#include "lift/kernel.hpp"
#include "lift/offline.hpp"
#include "lift/tune.hpp"

namespace lift {

// What one launch asks of a device whose work-items run in bundles: neighbours in lockstep (quads, warps, waves).
struct KernelWork {
  double operations = 0;    // arithmetic by lane, a multiplication and an addition counting one
  double halves = 0;        // of these, those in h16
  double instructions = 0;  // the same of any width, as a processor with vectors has it
  double accesses = 0;      // of memory, by bundle: loads and stores, of any width
  double lines = 0;         // cache lines that these touch
  double imageLines = 0;    // of these, by images
  double bundles = 0;
  double items = 0, groups = 0;
  double groupBytes = 0;   // distinct bytes of global memory of a work-group, summed over all groups
  double bufferBytes = 0;  // of the buffers that it reads and writes
};
// Of a kernel without symbolic sizes. Loops of many iterations and launches of many groups are sampled, evenly.
KernelWork workOf(const kernel::Kernel& kernel, const runtime::DeviceInfo& device);

struct KernelPrediction {
  std::string kernel;
  double milliseconds = 0;
  std::string limit;  // what takes that long: "arithmetic", "loads and stores", "images", "cache", "memory", "launch"
  // Milliseconds that each resource would take alone.
  double arithmetic = 0, accesses = 0, images = 0, cache = 0, memory = 0, launch = 0;
  double filled = 1;  // part of the device's threads that the launch fills, at most 1
};

struct PlanPrediction {
  double milliseconds = 0;  // of all launches, preparation not counted
  std::vector<KernelPrediction> kernels;
};

// Whether the profile says enough.
bool canPredict(const runtime::DeviceInfo& device);

using StatisticsByKernel = std::map<std::string, KernelStatistics>;
// Throws UserError (usage) where the profile says too little.
PlanPrediction predict(const kernel::Plan& plan, const runtime::DeviceInfo& device,
                       const StatisticsByKernel& statistics = {});

// Predicts in place of measuring, so that a sweep needs no device. Throws as `predict` does.
std::unique_ptr<tune::Measurer> makePredictor(const tune::Problem& problem, const runtime::DeviceInfo& device);

// Spearman's coefficient: 1 where both orders are the same, 0 where one says nothing of the other. At least two values.
double rankCorrelation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace lift
