// The convolutional layer of examples/conv_layer.lift (Listing 3 of the Lift paper), written in the C++ DSL, compiled
// and run on a device.
//
//   build/conv_dsl examples/conv_layer.lift [DEVICE]
//
// The text program, in the interpreter, is what the result is compared with.
#include <lift/lift.hpp>

#include <cstdio>

namespace {

lift::Program convLayer() {
  using namespace lift::dsl;
  const E k = size("numKernels"), c = size("inputChannels"), h = size("inputHeight"), w = size("inputWidth");
  return program(
      "main", {{"weights", array(k, 3, 3, c, f32)}, {"biases", array(k, f32)}, {"input", array(h, w, c, f32)}},
      array(k, h, w, f32), [](E weights, E biases, E input) {
        return let(call("pad2D", 1, 1, 1, 1, arg("value", 0.0), input), [&](E padded) {
          return let(call("slide2D", 3, 3, 1, 1, padded), [&](E windows) {
            return call("channelsFirst", call("map2D", fun([&](E window) {
                                                return zip(weights, biases) | map([&](E kernel, E bias) {
                                                         return reduce(bias, fun([](E acc, E xw) {
                                                                         return acc + xw.get(0) * xw.get(1);
                                                                       }),
                                                                       zip(join(join(window)), join(join(kernel))));
                                                       });
                                              }),
                                              windows));
          });
        });
      });
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    std::fprintf(stderr, "usage: conv_dsl examples/conv_layer.lift [DEVICE]\n");
    return 2;
  }
  const lift::Program fromCpp = convLayer();
  const lift::Program fromText = lift::readProgram(argv[1]);
  std::printf("%s", lift::print(fromCpp).c_str());

  std::map<lift::NatVar, lift::Nat> sizes;
  for (const lift::NatVar v : fromCpp.sizes) sizes.emplace(v, v.name() == "numKernels" ? 8 : 6);
  const lift::Program layer = lift::specialise(fromCpp, sizes);
  std::map<std::string, lift::Tensor> inputs{{"weights", lift::Tensor(lift::Scalar::f32, {8, 3, 3, 6})},
                                             {"biases", lift::Tensor(lift::Scalar::f32, {8})},
                                             {"input", lift::Tensor(lift::Scalar::f32, {6, 6, 6})}};
  for (auto& [name, tensor] : inputs) lift::fillRandom(tensor, 1, name);

  lift::runtime::DeviceChoice choice;
  if (argc > 2) choice.device = argv[2];
  const auto device = lift::runtime::openDevice(choice);
  const auto out = device->load(lift::compile(layer))->run(inputs).outputs.at("out");

  std::map<lift::NatVar, lift::Nat> sizesOfText;
  for (const lift::NatVar v : fromText.sizes) sizesOfText.emplace(v, v.name() == "numKernels" ? 8 : 6);
  const auto expected = lift::interpret(lift::specialise(fromText, sizesOfText), inputs).at("out");
  const double error = lift::compare(out, expected, 1.0).maxRel;
  std::printf("on %s: largest difference to the text program in the interpreter %.2g\n", device->info().name.c_str(),
              error);
  return error < 1e-5 ? 0 : 4;
} catch (const lift::UserError& e) {
  std::fputs(e.what(), stderr);
  return static_cast<int>(e.status());
}
