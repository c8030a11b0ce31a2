#include "peers.hpp"

namespace lift::bench {

const std::vector<Peer>& peers() {
  const auto oneDnn = [](OneDnnMode mode) { return [mode](const Layer& layer) { return setUpOneDnn(layer, mode); }; };
  static const std::vector<Peer> all = {
      {"onednn_direct", "onednn", oneDnn(OneDnnMode::direct)},
      {"onednn_nchw", "onednn", oneDnn(OneDnnMode::nchw)},
      {"onednn_winograd", "onednn", oneDnn(OneDnnMode::winograd)},
      {"openblas_im2col", "openblas", setUpOpenBlas},
      {"clblast_convgemm", "clblast", setUpClBlast},
      {"probe", "probe", setUpProbe},
  };
  return all;
}

}  // namespace lift::bench
