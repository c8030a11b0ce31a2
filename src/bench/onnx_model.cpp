// ONNX models are messages of Protocol Buffers: fields, each a number, a kind and contents. The numbers are
// onnx.proto's.
#include "onnx_model.hpp"

#include <initializer_list>
#include <string_view>
#include <vector>

namespace lift::bench {
namespace {

constexpr int float32 = 1;                          // TensorProto.DataType
constexpr int attributeInt = 2, attributeInts = 7;  // AttributeProto.AttributeType

// A message under construction.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& text(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  // Seven bits a byte, the lowest first; the top bit says that more follow.
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

Message constant(const char* name, const Tensor& tensor) {
  Message m;
  for (const std::int64_t size : tensor.shape) m.number(1, size);
  return m.number(2, float32)
      .text(8, name)
      .text(9, {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
}

Message value(const char* name, const std::vector<std::int64_t>& shape) {
  Message dimensions;
  for (const std::int64_t size : shape) dimensions.message(1, Message().number(1, size));
  return Message().text(1, name).message(2, Message().message(1, Message().number(1, float32).message(2, dimensions)));
}

Message attribute(const char* name, std::initializer_list<std::int64_t> values) {
  Message m;
  m.text(1, name).number(20, attributeInts);
  for (const std::int64_t v : values) m.number(8, v);
  return m;
}

}  // namespace

std::string onnxModel(const ConvSpec& s, const ConvTensors& tensors) {
  Message conv;
  for (const char* input : {"X", "W", "B"}) conv.text(1, input);
  conv.text(2, "Y").text(4, "Conv");
  conv.message(5, attribute("kernel_shape", {s.kh, s.kw}))
      .message(5, attribute("strides", {s.sh, s.sw}))
      .message(5, attribute("dilations", {s.dh + 1, s.dw + 1}))
      .message(5, attribute("pads", {s.padTop, s.padLeft, s.padBottom, s.padRight}))
      .message(5, Message().text(1, "group").number(20, attributeInt).number(3, s.groups));
  Message graph;
  graph.message(1, conv)
      .text(2, "layer")
      .message(5, constant("W", convertLayout(tensors.weights, Layout::ohwi, Layout::oihw)))
      .message(5, constant("B", tensors.bias))
      .message(11, value("X", {s.batch, s.ic, s.ih, s.iw}))
      .message(12, value("Y", {s.batch, s.oc, s.oh, s.ow}));
  return Message().number(1, 8).message(7, graph).message(8, Message().text(1, "").number(2, 13)).bytes();
}

}  // namespace lift::bench
