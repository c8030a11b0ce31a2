#include "peers.hpp"

#include <algorithm>

namespace lift::bench {

void Fastest::tryOut(Setup variant) {
  if (!variant.contestant) {
    if (!best.contestant) best.absent = std::move(variant.absent);
    return;
  }
  variant.contestant->run(1);
  double milliseconds = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) milliseconds = std::min(milliseconds, variant.contestant->run(1));
  if (best.contestant && milliseconds >= bestMilliseconds_) return;
  bestMilliseconds_ = milliseconds;
  best = std::move(variant);
}

const std::vector<Peer>& peers() {
  const auto oneDnn = [](OneDnnMode mode) { return [mode](const Layer& layer) { return setUpOneDnn(layer, mode); }; };
  static const std::vector<Peer> all = {
      {"onednn_direct", "onednn", oneDnn(OneDnnMode::direct)},
      {"onednn_nchw", "onednn", setUpOneDnnOnNchw},
      {"onednn_winograd", "onednn", oneDnn(OneDnnMode::winograd)},
      {"openblas_im2col", "openblas", setUpOpenBlas},
      {"onnxruntime", "onnxruntime", setUpOnnxRuntime},
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
