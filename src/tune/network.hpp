// A small fully connected network: ReLU between the layers, none after the last. Trained by AdaDelta (Zeiler 2012),
// which needs no learning rate.
#pragma once

#include <cstddef>
#include <vector>

#include "random.hpp"

namespace lift::tune {

class Network {
 public:
  // `widths`: of the input, of the layers between, of the output. Weights are drawn as He et al. (2015) do.
  Network(const std::vector<std::size_t>& widths, Random& random);

  std::vector<double> operator()(const std::vector<double>& input) const;

  // What one of the outputs should be for an input; the others may be what they are.
  struct Sample {
    std::vector<double> input;
    std::size_t output = 0;
    double target = 0;
  };
  // One step against the gradient of the samples' mean squared error, which is what comes back: that of before.
  double train(const std::vector<Sample>& samples);

 private:
  // A weight, the sum of its gradients over the samples, and AdaDelta's two running means.
  struct Weight {
    double value = 0, gradient = 0, squaredGradient = 0, squaredStep = 0;
  };
  struct Layer {
    std::size_t in = 0, out = 0;
    std::vector<Weight> weights;  // [out][in + 1], the last one of a row is added
  };

  // What comes out of each layer; the first is the input.
  std::vector<std::vector<double>> activations(const std::vector<double>& input) const;
  void addGradients(const std::vector<std::vector<double>>& values, std::size_t output, double error);

  std::vector<Layer> layers_;
};

}  // namespace lift::tune
