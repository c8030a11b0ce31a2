#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "files.hpp"
#include "lift/characters.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/tensor.hpp"

namespace lift {

using files::damaged;

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::string_view supported = "b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8";

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<std::int64_t>> shape;
};

// The header is a Python dictionary literal; only what numpy writes into it is understood.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        if (header.descr) fail("'descr' twice");
        header.descr = descr();
      } else if (key == "fortran_order") {
        if (header.fortranOrder) fail("'fortran_order' twice");
        header.fortranOrder = boolean();
      } else if (key == "shape") {
        if (header.shape) fail("'shape' twice");
        header.shape = tuple();
      } else {
        fail("a key that is not descr, fortran_order or shape");
      }
      if (accept('}')) break;
      expect(',');
    }
    skip();
    if (at_ != text_.size()) fail("text after the dictionary");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) { damaged(name_, "malformed .npy header: " + what); }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }

  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' expected", c));
  }

  bool acceptWord(std::string_view word) {
    skip();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::string string() {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("a string expected");
    const char quote = text_[at_++];
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) fail("a string without end");
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }

  std::string descr() {
    skip();
    if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '('))
      damaged(name_, "arrays of structures are not supported", fmt::format("supported element types: {}", supported));
    return string();
  }

  bool boolean() {
    if (acceptWord("True")) return true;
    if (acceptWord("False")) return false;
    fail("True or False expected");
  }

  std::int64_t extent() {
    skip();
    if (at_ < text_.size() && text_[at_] == '-') damaged(name_, "negative extent in the shape");
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && isDigit(text_[at_]); ++at_) {
      if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
          __builtin_add_overflow(value, std::int64_t{text_[at_] - '0'}, &value))
        damaged(name_, "an extent of the shape is too large");
    }
    if (at_ == begin) fail("an integer expected in the shape");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
    return value;
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> extents;
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) fail("',' expected in the shape");
      extents.push_back(extent());
      comma = accept(',');
    }
    if (extents.size() == 1 && !comma) fail("a shape that is not a tuple");  // "(3)" is an integer in Python
    return extents;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

struct ElementType {
  Scalar scalar;
  std::endian order;
};

ElementType elementType(const std::string& descr, const std::string& name) {
  std::string_view type = descr;
  std::endian order = std::endian::native;
  if (!type.empty() && std::string_view("<>=|").find(type[0]) != std::string_view::npos) {
    if (type[0] == '<') order = std::endian::little;
    if (type[0] == '>') order = std::endian::big;
    type.remove_prefix(1);
  }
  for (int i = 0; i < scalarCount; ++i) {
    const ScalarInfo& row = info(static_cast<Scalar>(i));
    if (row.npy == type) return {row.scalar, order};
  }
  std::string shown;
  for (const char c : descr) shown += c >= ' ' && c <= '~' ? c : '?';
  damaged(name, fmt::format("element type '{}' is not supported", shown),
          fmt::format("supported element types: {}", supported));
}

std::uint32_t littleEndian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void swapBytes(Tensor& tensor) {
  const std::size_t width = info(tensor.scalar).bytes;
  if (width == 1) return;
  for (std::size_t at = 0; at < tensor.bytes.size(); at += width)
    std::reverse(tensor.bytes.data() + at, tensor.bytes.data() + at + width);
}

// Elements in column-major order, put into row-major order.
void fillFromFortran(Tensor& tensor, std::string_view data) {
  struct Axis {
    std::size_t stride, extent, index;
  };
  const std::size_t width = info(tensor.scalar).bytes;
  std::vector<Axis> axes;
  std::size_t stride = width;
  for (const std::int64_t extent : tensor.shape) {
    axes.push_back({stride, static_cast<std::size_t>(extent), 0});
    stride *= static_cast<std::size_t>(extent);
  }
  std::ranges::reverse(axes);
  std::size_t from = 0;
  for (std::size_t to = 0; to < tensor.bytes.size(); to += width) {
    std::memcpy(tensor.bytes.data() + to, data.data() + from, width);
    // The next index in row-major order, like an odometer.
    for (Axis& axis : axes) {
      from += axis.stride;
      if (++axis.index < axis.extent) break;
      from -= axis.stride * axis.extent;
      axis.index = 0;
    }
  }
}

}  // namespace

Tensor parseNpy(std::string_view contents, const std::string& name) {
  if (!contents.starts_with(magic)) {
    if (magic.starts_with(contents)) damaged(name, "truncated .npy file");
    damaged(name, "not a .npy file");
  }
  if (contents.size() < magic.size() + 2) damaged(name, "truncated .npy file");
  const int version = static_cast<unsigned char>(contents[6]);
  const int minor = static_cast<unsigned char>(contents[7]);
  if (version < 1 || version > 3 || minor != 0)
    damaged(name, fmt::format(".npy version {}.{} is not supported", version, minor));
  const std::size_t lengthBytes = version == 1 ? 2 : 4;
  if (contents.size() < 8 + lengthBytes) damaged(name, "truncated .npy header");
  const std::size_t headerBytes = littleEndian(contents.substr(8, lengthBytes));
  const std::string_view rest = contents.substr(8 + lengthBytes);
  if (rest.size() < headerBytes) damaged(name, "truncated .npy header");

  const Header header = HeaderParser(rest.substr(0, headerBytes), name).parse();
  if (!header.descr) damaged(name, "malformed .npy header: no descr");
  if (!header.fortranOrder) damaged(name, "malformed .npy header: no fortran_order");
  if (!header.shape) damaged(name, "malformed .npy header: no shape");
  const ElementType element = elementType(*header.descr, name);

  // Sizes are compared with the file before anything is allocated.
  const std::string_view data = rest.substr(headerBytes);
  std::int64_t needed = static_cast<std::int64_t>(info(element.scalar).bytes);
  bool empty = false;
  for (const std::int64_t extent : *header.shape) {
    if (extent == 0)
      empty = true;
    else if (__builtin_mul_overflow(needed, extent, &needed))
      damaged(name, "the shape is too large");
  }
  if (empty) needed = 0;
  if (static_cast<std::uint64_t>(needed) != data.size())
    damaged(name, fmt::format("{} bytes of data where the shape needs {}", data.size(), needed));

  Tensor tensor(element.scalar, *header.shape);
  if (*header.fortranOrder && tensor.shape.size() > 1)
    fillFromFortran(tensor, data);
  else if (!data.empty())
    std::memcpy(tensor.bytes.data(), data.data(), data.size());
  if (element.order != std::endian::native) swapBytes(tensor);
  if (tensor.scalar == Scalar::boolean)
    for (std::byte& value : tensor.bytes) value = value == std::byte{0} ? std::byte{0} : std::byte{1};
  return tensor;
}

std::string formatNpy(const Tensor& tensor) {
  const ScalarInfo& element = info(tensor.scalar);
  ensure(tensor.bytes.size() == static_cast<std::size_t>(tensor.size()) * element.bytes,
         "formatNpy: the tensor's bytes do not fit its shape");
  const char order = element.bytes == 1 ? '|' : std::endian::native == std::endian::little ? '<' : '>';
  std::string shape;
  for (const std::int64_t extent : tensor.shape) shape += fmt::format("{}, ", extent);
  if (tensor.shape.size() == 1) shape.pop_back();  // "(3,)", "(3, 4)"
  if (tensor.shape.size() > 1) shape.resize(shape.size() - 2);
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, element.npy, shape);
  // Data start at a multiple of 64; version 2 only where the length of the header needs it.
  const bool longHeader = header.size() + 64 > 0xFFFF;
  const std::size_t lengthBytes = longHeader ? 4 : 2;
  const std::size_t fixed = magic.size() + 2 + lengthBytes;
  header.append(63 - (fixed + header.size()) % 64, ' ');
  header += '\n';

  std::string out(magic);
  out += static_cast<char>(longHeader ? 2 : 1);
  out += '\0';
  for (std::size_t i = 0; i < lengthBytes; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  out += header;
  out.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return out;
}

Tensor readNpy(const std::filesystem::path& path) { return parseNpy(files::readFile(path), path.string()); }

void writeNpy(const std::filesystem::path& path, const Tensor& tensor) { lift::writeFile(path, formatNpy(tensor)); }

}  // namespace lift
