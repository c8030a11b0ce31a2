// The peers: one file each. Every function sets its peer up for a layer, or says why it cannot.
#pragma once

#include "lift/bench.hpp"

namespace lift::bench {

Setup setUpOneDnn(const Layer& layer, OneDnnMode mode);  // peer_onednn.cpp
Setup setUpOpenBlas(const Layer& layer);                 // peer_openblas.cpp
Setup setUpClBlast(const Layer& layer);                  // peer_clblast.cpp
Setup setUpProbe(const Layer& layer);                    // peer_probe.cpp

}  // namespace lift::bench
