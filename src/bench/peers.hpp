// The peers: one file each. Every function sets its peer up for a layer, or says why it cannot.
#pragma once

#include <limits>

#include "lift/bench.hpp"
#include "lift/opset.hpp"
#include "lift/parts.hpp"
#include "plan.hpp"

namespace lift::bench {

// The fastest of a peer's variants for a layer.
class Fastest {
 public:
  void tryOut(Setup variant);  // the best of three runs after another one
  Setup best = {};             // why the last is absent, where all are

 private:
  double bestMilliseconds_ = std::numeric_limits<double>::infinity();
};

Setup setUpOneDnn(const Layer& layer, OneDnnMode mode);  // peer_onednn.cpp
Setup setUpOneDnnOnNchw(const Layer& layer);             // the fastest of its modes with NCHW in and out
Setup setUpOpenBlas(const Layer& layer);                 // peer_openblas.cpp
Setup setUpClBlast(const Layer& layer);                  // peer_clblast.cpp
Setup setUpOnnxRuntime(const Layer& layer);              // peer_onnxruntime.cpp
Setup setUpProbe(const Layer& layer);                    // peer_probe.cpp

Setup setUpOneDnnProduct(const MatrixProduct& product, const Inputs& inputs);  // peer_onednn_others.cpp
Setup setUpOneDnnConvNd(const ConvNdSpec& spec, const Inputs& inputs);
Setup setUpOpenBlasProduct(const MatrixProduct& product, const Inputs& inputs);  // peer_openblas.cpp
Setup setUpOpenBlasBilinear(const Inputs& inputs);

}  // namespace lift::bench
