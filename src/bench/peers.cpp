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

std::vector<WorkloadPeer> peersOf(const Workload& w) {
  if (w.op == "conv3d" || w.op == "deconv")
    return {{"onednn", "onednn", [spec = parseConvNd(w.descriptor, w.op == "deconv")](const Inputs& inputs) {
               return setUpOneDnnConvNd(spec, inputs);
             }}};
  if (w.op == "bilinear") return {{"openblas", "openblas", setUpOpenBlasBilinear}};
  const auto product = matrixProductOf(w.program);
  if (!product) return {};
  return {{"onednn", "onednn", [product](const Inputs& inputs) { return setUpOneDnnProduct(*product, inputs); }},
          {"openblas", "openblas", [product](const Inputs& inputs) { return setUpOpenBlasProduct(*product, inputs); }}};
}

}  // namespace lift::bench
