// The peers: one file each. Every function sets its peer up for a layer, or says why it cannot.
#pragma once

#include "lift/bench.hpp"
#include "lift/opset.hpp"
#include "lift/parts.hpp"
#include "plan.hpp"

namespace lift::bench {

Setup setUpOneDnn(const Layer& layer, OneDnnMode mode);  // peer_onednn.cpp
Setup setUpOpenBlas(const Layer& layer);                 // peer_openblas.cpp
Setup setUpClBlast(const Layer& layer);                  // peer_clblast.cpp
Setup setUpProbe(const Layer& layer);                    // peer_probe.cpp

Setup setUpOneDnnProduct(const MatrixProduct& product, const Inputs& inputs);  // peer_onednn_others.cpp
Setup setUpOneDnnConvNd(const ConvNdSpec& spec, const Inputs& inputs);
Setup setUpOpenBlasProduct(const MatrixProduct& product, const Inputs& inputs);  // peer_openblas.cpp
Setup setUpOpenBlasBilinear(const Inputs& inputs);

}  // namespace lift::bench
