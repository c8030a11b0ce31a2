// ONNX Runtime on a model of one Conv, NCHW in and out, with all of its optimisations. The library is loaded when it is
// wanted, for it comes without headers where users have it from (PyPI): LIFTC_ONNXRUNTIME names its file, else the
// loader finds libonnxruntime.so. Its C interface is a table of functions that has only grown at its end since
// version 1.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <thread>
#include <utility>

#include "lift/diagnostic.hpp"
#include "lift/stopwatch.hpp"
#include "onnx_model.hpp"
#include "peers.hpp"

namespace lift::bench {
namespace {

using Table = void* const*;  // OrtApi

// A function of the table: its place in onnxruntime_c_api.h, and its parameters. Objects are pointers to us.
template <int place, class... Parameters>
struct Function {
  static auto* in(Table table) { return reinterpret_cast<void* (*)(Parameters...)>(table[place]); }
};
using GetErrorMessage = Function<2, void*>;
using CreateEnv = Function<3, int, const char*, void**>;
using CreateSessionFromArray = Function<8, void*, const void*, std::size_t, void*, void**>;
using Run =
    Function<9, void*, void*, const char* const*, void* const*, std::size_t, const char* const*, std::size_t, void**>;
using CreateSessionOptions = Function<10, void**>;
using SetIntraOpNumThreads = Function<24, void*, int>;
using CreateTensorWithData = Function<49, void*, void*, std::size_t, const std::int64_t*, std::size_t, int, void**>;
using CreateCpuMemoryInfo = Function<69, int, int, void**>;
constexpr int releaseEnv = 92, releaseStatus = 93, releaseMemoryInfo = 94, releaseSession = 95, releaseValue = 96,
              releaseSessionOptions = 100;

void release(Table table, int place, void* object) { reinterpret_cast<void (*)(void*)>(table[place])(object); }

// Calls a function that returns a status; throws UserError with the library's message.
template <class F, class... Arguments>
void call(Table table, Arguments... arguments) {
  void* status = F::in(table)(arguments...);
  if (status == nullptr) return;
  const std::string message = static_cast<const char*>(GetErrorMessage::in(table)(status));
  release(table, releaseStatus, status);
  throw UserError(ExitStatus::device, "ONNX Runtime: " + message);
}

// An object of the library.
template <int releasing>
class Owned {
 public:
  // What `F` makes of the arguments.
  template <class F, class... Arguments>
  static Owned make(Table table, Arguments... arguments) {
    Owned made(table);
    call<F>(table, arguments..., &made.object_);
    return made;
  }
  Owned(Owned&& other) noexcept : table_(other.table_), object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (object_ != nullptr) release(table_, releasing, object_);
  }
  void* get() const { return object_; }

 private:
  explicit Owned(Table table) : table_(table) {}

  Table table_;
  void* object_ = nullptr;
};

// The library, loaded for as long as the process lives, or why it is not.
struct Library {
  Table table = nullptr;
  std::string version = {};
  std::string absent = {};
};

Library load() {
  struct ApiBase {
    Table (*table)(std::uint32_t version);
    const char* (*version)();
  };
  const char* named = std::getenv("LIFTC_ONNXRUNTIME");
  const char* file = named != nullptr && *named != '\0' ? named : "libonnxruntime.so";
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr && file != named)
    return {.absent = "not found: LIFTC_ONNXRUNTIME names its library, scripts/onnxruntime.sh gets it"};
  if (library == nullptr) return {.absent = fmt::format("LIFTC_ONNXRUNTIME: {}", dlerror())};
  void* getBase = dlsym(library, "OrtGetApiBase");
  if (getBase == nullptr) return {.absent = fmt::format("{} is not ONNX Runtime: it lacks OrtGetApiBase", file)};
  const auto* base = reinterpret_cast<const ApiBase* (*)()>(getBase)();
  constexpr std::uint32_t interface = 1;  // has all of the functions above
  const Table table = base->table(interface);
  if (table == nullptr) return {.absent = fmt::format("{} no longer has interface {}", base->version(), interface)};
  return {.table = table, .version = base->version()};
}

class OnnxRuntime final : public Contestant {
 public:
  OnnxRuntime(const Library& library, const ConvSpec& spec, const ConvTensors& tensors)
      : library_(library),
        spec_(spec),
        input_(convertLayout(tensors.input, Layout::nhwc, Layout::nchw)),
        output_(Scalar::f32, {spec.batch, spec.oc, spec.oh, spec.ow}),
        session_(makeSession(onnxModel(spec, tensors))),
        x_(makeValue(input_)),
        y_(makeValue(output_)) {}

  double run(int runs) override {
    const char* x = "X";
    const char* y = "Y";
    void* const input = x_.get();
    void* output = y_.get();
    const Stopwatch watch;
    for (int i = 0; i < runs; i++)
      call<Run>(library_.table, session_.get(), nullptr, &x, &input, std::size_t{1}, &y, std::size_t{1}, &output);
    return watch.milliseconds() / runs;
  }
  std::map<std::string, Tensor> outputs() override {
    return {{"out", convertLayout(output_, Layout::nchw, Layout::nhwc)}};
  }
  Memory memory() const override { return {spec_.tensorBytes(), 0, 0}; }  // it does not tell what else it holds
  std::string implementation() const override { return "ONNX Runtime " + library_.version; }

 private:
  using Session = Owned<releaseSession>;
  using Value = Owned<releaseValue>;

  // Sessions need an environment, one for the process.
  void* environment() const {
    constexpr int errorsOnly = 3;
    static const auto made = Owned<releaseEnv>::make<CreateEnv>(library_.table, errorsOnly, "liftc");
    return made.get();
  }

  Session makeSession(const std::string& model) const {
    const auto options = Owned<releaseSessionOptions>::make<CreateSessionOptions>(library_.table);
    const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    call<SetIntraOpNumThreads>(library_.table, options.get(), threads);
    return Session::make<CreateSessionFromArray>(library_.table, environment(), model.data(), model.size(),
                                                 options.get());
  }

  Value makeValue(Tensor& tensor) const {
    constexpr int deviceAllocator = 0, defaultMemory = 0, float32 = 1;
    const auto memory =
        Owned<releaseMemoryInfo>::make<CreateCpuMemoryInfo>(library_.table, deviceAllocator, defaultMemory);
    return Value::make<CreateTensorWithData>(library_.table, memory.get(), tensor.bytes.data(), tensor.bytes.size(),
                                             tensor.shape.data(), tensor.shape.size(), float32);
  }

  const Library& library_;
  ConvSpec spec_;
  Tensor input_, output_;
  Session session_;
  Value x_, y_;
};

}  // namespace

Setup setUpOnnxRuntime(const Layer& layer) {
  static const Library library = load();
  if (library.table == nullptr) return {nullptr, library.absent};
  try {
    return {std::make_unique<OnnxRuntime>(library, layer.spec, layer.tensors)};
  } catch (const UserError& refused) {
    return {nullptr, refused.diagnostics().front().message};
  }
}

}  // namespace lift::bench
