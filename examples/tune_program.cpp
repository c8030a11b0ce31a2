// Tunes a program from C++ and prints the kernel of the best configuration. The tuner measures in processes of this
// same program: they are started with an argument.
#include <filesystem>
#include <iostream>

#include "lift/lift.hpp"

int main(int argc, char** argv) {
  using namespace lift;
  const Program program = parseProgram(*addSource("squares.lift",
                                                  "tune k in 1..64\n"
                                                  "def squares(xs: [65536]f32): [65536]f32 =\n"
                                                  "  join(mapGlb(0, mapSeq(fun x => x * x), split(k, xs)))\n"));
  const Workload workload = programWorkload(program, /*tolerance=*/1e-6);
  const auto device = runtime::openDevice();
  const tune::Problem problem = tuningProblem(workload, device->info());
  if (argc > 1) return tune::serveWorker(problem, *device, {});

  auto database = tune::Database::inMemory();
  const auto workers = tune::makeWorkers({argv[0], "worker"}, problem.data(), {}, /*workers=*/2);
  tune::sweep(problem, tune::deviceRow(device->info()), database, *workers, {.points = 7});
  const Choice best = choose(workload, &device->info(), {.own = &database});
  std::cout << str(best.config) << ", " << best.origin << "\n" << compileVariant(best.variant, best.config).sources[0];
}
