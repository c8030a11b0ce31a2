// Every peer against the reference; im2col for all odd shapes.
#include <set>

#include "conv/helpers.hpp"
#include "im2col.hpp"
#include "lift/bench.hpp"
#include "lift/codegen.hpp"
#include "lift/conv_program.hpp"

using namespace lift;
using namespace lift::bench;
using namespace lift::test;

namespace {

Setup setUp(const std::string& name, const ConvSpec& spec, const ConvTensors& tensors, runtime::Device& device) {
  for (const Peer& peer : peers())
    if (peer.name == name) return peer.setUp({spec, tensors, device});
  FAIL("no peer " << name);
  return {};
}

}  // namespace

TEST_CASE("peers are called differently, and those of a group stand together") {
  std::set<std::string> names, groups;
  std::string last;
  for (const Peer& peer : peers()) {
    CHECK(names.insert(peer.name).second);
    if (peer.group != last) CHECK(groups.insert(peer.group).second);
    last = peer.group;
  }
  CHECK(groups == std::set<std::string>{"onednn", "openblas", "onnxruntime", "clblast", "probe"});
}

TEST_CASE("im2col times the weights is the layer, for odd shapes") {
  int layers = 0;
  for (const ConvSpec& s : shapes("odd.txt")) {
    INFO(s.str());
    const ConvTensors t = randomConvTensors(s, 5);
    Tensor out(Scalar::f32, s.outputShape());
    std::vector<float> columns(static_cast<std::size_t>(s.oh * s.ow * s.reduction()), -77.0F);
    for (std::int64_t n = 0; n < s.batch; ++n)
      for (std::int64_t g = 0; g < s.groups; ++g) {
        const float* image = t.input.data<float>() + n * s.ih * s.iw * s.ic;
        im2col(s, g, image, columns.data());
        if (im2colIsIdentity(s)) CHECK(std::equal(columns.begin(), columns.end(), image));
        for (std::int64_t p = 0; p < s.oh * s.ow; ++p)
          for (std::int64_t k = g * s.ocPerGroup(); k < (g + 1) * s.ocPerGroup(); ++k) {
            double sum = t.bias.get(k);
            for (std::int64_t i = 0; i < s.reduction(); ++i)
              sum += double(columns[std::size_t(p * s.reduction() + i)]) * t.weights.get(k * s.reduction() + i);
            out.set((n * s.oh * s.ow + p) * s.oc + k, sum);
          }
      }
    CHECK(isRight(s, out, reference(s, t)));
    ++layers;
  }
  CHECK(layers >= 30);
}

TEST_CASE("only one tap of a whole image needs no im2col") {
  CHECK(im2colIsIdentity(parseConv("ic16ih9oc8kh1")));
  for (const char* other : {"ic16ih9oc8kh1sh2", "ic16ih9oc8kh1ph1", "g2ic16ih9oc8kh1", "ic16ih9oc8kh3ph1"})
    CHECK_FALSE(im2colIsIdentity(parseConv(other)));
}

TEST_CASE("host peers are right for odd shapes, or absent for a reason") {
  const auto device = runtime::makeNullDevice();
  int runs = 0;
  for (const ConvSpec& s : shapes("odd.txt")) {
    const ConvTensors t = randomConvTensors(s, 6);
    const Tensor expected = reference(s, t);
    for (const char* name : {"openblas_im2col", "onednn_direct", "onednn_nchw", "onnxruntime"}) {
      INFO(name << " on " << s.str());
      const Setup setup = setUp(name, s, t, *device);
      CHECK((setup.contestant == nullptr) == !setup.absent.empty());
      if (!setup.contestant) continue;
      setup.contestant->run(1);
      setup.contestant->run(1);  // a second run starts from the bias again
      CHECK(isRight(s, setup.contestant->output(), expected));
      CHECK(setup.contestant->memory().tensors >= s.tensorBytes());
      ++runs;
    }
  }
  CHECK((runs > 30 || !haveOneDnn()));
}

TEST_CASE("the workspace of im2col is its matrix") {
  const ConvSpec s = parseConv("ic8ih10oc16kh3ph1");
  const ConvTensors t = randomConvTensors(s, 6);
  const auto device = runtime::makeNullDevice();
  const Setup setup = setUp("openblas_im2col", s, t, *device);
  if (setup.contestant)
    CHECK(setup.contestant->memory().workspace == 10 * 10 * 8 * 9 * 4);
  else
    CHECK(setup.absent == "not built in");
}

TEST_CASE("peers on OpenCL are absent without OpenCL") {
  const ConvSpec s = parseConv("ic16ih14oc32kh3ph1");
  const ConvTensors t = randomConvTensors(s, 6);
  const auto device = runtime::makeNullDevice();
  CHECK(setUp("probe", s, t, *device).absent == "needs an OpenCL device");
  CHECK_FALSE(setUp("clblast_convgemm", s, t, *device).absent.empty());
  CHECK(peakGflops(*device) == 0);
}

TEST_CASE("a plan is a contestant") {
  const ConvSpec s = parseConv("ic4ih6oc4kh3ph1");
  const ConvTensors t = randomConvTensors(s, 6);
  const auto device = runtime::makeEmulatorDevice();
  const auto contestant = contestPlan(*device, compile(convProgram(s)), t);
  CHECK(contestant->run(1) >= 0);
  CHECK(isRight(s, contestant->output(), reference(s, t)));
  CHECK(contestant->memory().tensors == s.tensorBytes());
}
