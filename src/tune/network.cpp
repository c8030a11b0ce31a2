#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lift::tune {
namespace {

double normal(Random& random) {  // Box and Muller (1958)
  const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
  return radius * std::cos(2 * std::numbers::pi * random.unit());
}

}  // namespace

Network::Network(const std::vector<std::size_t>& widths, Random& random) {
  for (std::size_t l = 0; l + 1 < widths.size(); l++) {
    Layer layer{widths[l], widths[l + 1], std::vector<Weight>((widths[l] + 1) * widths[l + 1])};
    const double deviation = std::sqrt(2 / static_cast<double>(layer.in));
    for (std::size_t i = 0; i < layer.weights.size(); i++)
      if (i % (layer.in + 1) != layer.in) layer.weights[i].value = deviation * normal(random);
    layers_.push_back(std::move(layer));
  }
}

std::vector<std::vector<double>> Network::activations(const std::vector<double>& input) const {
  std::vector<std::vector<double>> values = {input};
  for (std::size_t l = 0; l < layers_.size(); l++) {
    const Layer& layer = layers_[l];
    std::vector<double> out(layer.out);
    for (std::size_t o = 0; o < layer.out; o++) {
      const Weight* row = &layer.weights[o * (layer.in + 1)];
      double sum = row[layer.in].value;
      for (std::size_t i = 0; i < layer.in; i++) sum += row[i].value * values.back()[i];
      out[o] = l + 1 < layers_.size() ? std::max(0.0, sum) : sum;
    }
    values.push_back(std::move(out));
  }
  return values;
}

std::vector<double> Network::operator()(const std::vector<double>& input) const { return activations(input).back(); }

void Network::addGradients(const std::vector<std::vector<double>>& values, std::size_t output, double error) {
  std::vector<double> delta(values.back().size(), 0.0);
  delta[output] = error;
  for (std::size_t l = layers_.size(); l-- > 0;) {
    Layer& layer = layers_[l];
    std::vector<double> below(layer.in, 0.0);
    for (std::size_t o = 0; o < layer.out; o++) {
      if (delta[o] == 0) continue;
      Weight* row = &layer.weights[o * (layer.in + 1)];
      row[layer.in].gradient += delta[o];
      for (std::size_t i = 0; i < layer.in; i++) {
        row[i].gradient += delta[o] * values[l][i];
        if (values[l][i] > 0) below[i] += delta[o] * row[i].value;  // ReLU's derivative; of the input it is not used
      }
    }
    delta = std::move(below);
  }
}

double Network::train(const std::vector<Sample>& samples) {
  constexpr double decay = 0.95, epsilon = 1e-6;  // Zeiler's
  const auto count = static_cast<double>(samples.size());
  double loss = 0;
  for (const Sample& s : samples) {
    const auto values = activations(s.input);
    const double error = values.back()[s.output] - s.target;
    loss += error * error / count;
    addGradients(values, s.output, 2 * error / count);
  }
  for (Layer& layer : layers_)
    for (Weight& w : layer.weights) {
      w.squaredGradient = decay * w.squaredGradient + (1 - decay) * w.gradient * w.gradient;
      const double step = -std::sqrt((w.squaredStep + epsilon) / (w.squaredGradient + epsilon)) * w.gradient;
      w.squaredStep = decay * w.squaredStep + (1 - decay) * step * step;
      w.value += step;
      w.gradient = 0;
    }
  return loss;
}

}  // namespace lift::tune
