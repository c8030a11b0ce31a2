// CLBlast's convgemm (im2col and its matrix product) on the OpenCL device that our kernels run on, NCHW. It adds no
// bias, so the comparison of its results adds it on the host; in time the bias is nothing.
#include "peers.hpp"

#ifdef LIFT_HAVE_CLBLAST
#define CL_TARGET_OPENCL_VERSION 120
#include <clblast_c.h>  // brings OpenCL's C interface
#include <fmt/format.h>

#include <type_traits>

#include "lift/diagnostic.hpp"
#include "lift/stopwatch.hpp"
#endif

namespace lift::bench {

#ifdef LIFT_HAVE_CLBLAST

namespace {

void check(cl_int status, const char* doing) {
  if (status != CL_SUCCESS)
    throw UserError(ExitStatus::device, fmt::format("CLBlast: cannot {}: OpenCL error {}", doing, status));
}

template <class Handle, cl_int (*release)(Handle)>
struct Releaser {
  using pointer = Handle;
  void operator()(Handle handle) const { release(handle); }
};
template <class Handle, cl_int (*release)(Handle)>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Releaser<Handle, release>>;

cl_device_id deviceOf(const runtime::DeviceInfo& info) {
  const auto platform = static_cast<cl_uint>(info.platformIndex), device = static_cast<cl_uint>(info.deviceIndex);
  std::vector<cl_platform_id> platforms(platform + 1);
  check(clGetPlatformIDs(platform + 1, platforms.data(), nullptr), "list the platforms");
  std::vector<cl_device_id> devices(device + 1);
  check(clGetDeviceIDs(platforms.back(), CL_DEVICE_TYPE_ALL, device + 1, devices.data(), nullptr), "list the devices");
  return devices.back();
}

class ClBlast final : public Contestant {
 public:
  ClBlast(const runtime::DeviceInfo& info, const ConvSpec& spec, const ConvTensors& tensors)
      : spec_(spec), bias_(tensors.bias) {
    cl_device_id device = deviceOf(info);
    cl_int status = CL_SUCCESS;
    context_.reset(clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status));
    check(status, "create a context");
    queue_.reset(clCreateCommandQueue(context_.get(), device, 0, &status));
    check(status, "create a queue");
    image_ = buffer(convertLayout(tensors.input, Layout::nhwc, Layout::nchw));
    weights_ = buffer(convertLayout(tensors.weights, Layout::ohwi, Layout::oihw));
    result_ = buffer(Tensor(Scalar::f32, {spec.batch, spec.oc, spec.oh, spec.ow}));
  }

  double run(int runs) override {
    const ConvSpec& s = spec_;
    const auto n = [](std::int64_t value) { return static_cast<std::size_t>(value); };
    cl_command_queue queue = queue_.get();
    const Stopwatch watch;
    for (int i = 0; i < runs; i++) {
      const CLBlastStatusCode status =
          CLBlastSconvgemm(CLBlastKernelModeCrossCorrelation, n(s.ic), n(s.ih), n(s.iw), n(s.kh), n(s.kw), n(s.padTop),
                           n(s.padLeft), n(s.sh), n(s.sw), n(s.dh + 1), n(s.dw + 1), n(s.oc), n(s.batch), image_.get(),
                           0, weights_.get(), 0, result_.get(), 0, &queue, nullptr);
      check(static_cast<cl_int>(status), "run convgemm");
    }
    check(clFinish(queue), "finish");
    return watch.milliseconds() / runs;
  }

  std::map<std::string, Tensor> outputs() override {
    Tensor nchw(Scalar::f32, {spec_.batch, spec_.oc, spec_.oh, spec_.ow});
    check(clEnqueueReadBuffer(queue_.get(), result_.get(), CL_TRUE, 0, nchw.bytes.size(), nchw.bytes.data(), 0, nullptr,
                              nullptr),
          "read the result");
    Tensor result = convertLayout(nchw, Layout::nchw, Layout::nhwc);
    float* out = result.data<float>();
    for (std::int64_t i = 0; i < result.size(); ++i) out[i] += bias_.data<float>()[i % spec_.oc];
    return {{"out", std::move(result)}};
  }

  Memory memory() const override {
    // The matrix of all images' windows; weights are used as they are, in NCHW's order.
    return {spec_.tensorBytes(), spec_.batch * spec_.oh * spec_.ow * spec_.reduction() * 4, 0};
  }

  std::string implementation() const override { return "im2col and XgemmDirect"; }

 private:
  using Buffer = Owned<cl_mem, clReleaseMemObject>;

  Buffer buffer(Tensor contents) {
    cl_int status = CL_SUCCESS;
    Buffer made(clCreateBuffer(context_.get(), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, contents.bytes.size(),
                               contents.bytes.data(), &status));
    check(status, "create a buffer");
    return made;
  }

  ConvSpec spec_;
  Tensor bias_;
  Owned<cl_context, clReleaseContext> context_;
  Owned<cl_command_queue, clReleaseCommandQueue> queue_;
  Buffer image_, weights_, result_;
};

// CLBlast pads symmetrically and computes every window that fits.
bool padsSymmetrically(const ConvSpec& s) {
  return (s.ih + 2 * s.padTop - s.extentH()) / s.sh + 1 == s.oh &&
         (s.iw + 2 * s.padLeft - s.extentW()) / s.sw + 1 == s.ow;
}

}  // namespace

Setup setUpClBlast(const Layer& layer) {
  if (layer.device.info().builtIn()) return {nullptr, "needs an OpenCL device"};
  if (layer.spec.groups != 1) return {nullptr, "no channel groups"};
  if (!padsSymmetrically(layer.spec)) return {nullptr, "no asymmetric padding"};
  return {std::make_unique<ClBlast>(layer.device.info(), layer.spec, layer.tensors)};
}

#else

Setup setUpClBlast(const Layer&) { return {nullptr, "not built in"}; }

#endif

}  // namespace lift::bench
