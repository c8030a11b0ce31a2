// oneDNN: direct with the layouts it likes, Winograd, and whatever is fastest with NCHW in and out.
#include <fmt/format.h>

#include "peers.hpp"

namespace lift::bench {
namespace {

class OneDnn final : public Contestant {
 public:
  OneDnn(const ConvSpec& spec, std::unique_ptr<OneDnnConv> layer) : spec_(spec), layer_(std::move(layer)) {}

  double run(int runs) override { return layer_->run(runs); }
  std::map<std::string, Tensor> outputs() override { return {{"out", layer_->output()}}; }
  std::string implementation() const override {
    return fmt::format("oneDNN {} {}", oneDnnVersion(), layer_->implementation());
  }

  Memory memory() const override {
    const std::int64_t weights = spec_.oc * spec_.reduction() * 4, bias = spec_.oc * 4;
    return {layer_->activationBytes() + weights + bias, layer_->scratchBytes(), layer_->weightBytes()};
  }

 private:
  ConvSpec spec_;
  std::unique_ptr<OneDnnConv> layer_;
};

}  // namespace

Setup setUpOneDnn(const Layer& layer, OneDnnMode mode) {
  if (!haveOneDnn()) return {nullptr, "not built in"};
  auto made = OneDnnConv::make(layer.spec, mode, layer.tensors);
  if (!made) return {nullptr, "no implementation of this layer on this processor"};
  return {std::make_unique<OneDnn>(layer.spec, std::move(made))};
}

Setup setUpOneDnnOnNchw(const Layer& layer) {
  Fastest modes;
  for (const OneDnnMode mode : {OneDnnMode::nchwWinograd, OneDnnMode::nchwDirect, OneDnnMode::nchw})
    modes.tryOut(setUpOneDnn(layer, mode));
  return std::move(modes.best);
}

}  // namespace lift::bench
