// The program of the README, built against the installed package.
#include <iostream>
#include <lift/lift.hpp>

using namespace lift::dsl;

int main() {
  const E n = size("n");
  const lift::Program dot = program("dot", {{"x", array(n, f32)}, {"y", array(n, f32)}}, [](E x, E y) {
    return zip(x, y) | map([](E a, E b) { return a * b; }) | reduce(0, add);
  });
  const lift::kernel::Plan plan = lift::compile(dot);
  std::cout << plan.sources.front();

  lift::Tensor x(lift::Scalar::f32, {1024}), y(lift::Scalar::f32, {1024});
  for (int i = 0; i < 1024; ++i) x.set(i, 2), y.set(i, 0.5);
  const auto executable = lift::runtime::openDevice()->load(plan);
  const lift::Tensor out = executable->run({{"x", x}, {"y", y}}).outputs.at("out");
  std::cout << "dot = " << out.get(0) << "\n";
  return out.get(0) == 1024 ? 0 : 1;
}
