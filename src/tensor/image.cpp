// Binary PGM and PPM images, and the choice of a format by extension.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

#include "files.hpp"
#include "lift/characters.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/tensor.hpp"

namespace lift {

using files::damaged;

namespace {

bool isSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A decimal of the header; blanks and comments may stand before it.
std::int64_t number(std::string_view text, std::size_t& at, const std::string& name) {
  while (at < text.size() && (isSpace(text[at]) || text[at] == '#')) {
    if (text[at] == '#')
      at = std::min(text.find('\n', at), text.size());
    else
      ++at;
  }
  if (at == text.size()) damaged(name, "truncated image header");
  const std::size_t begin = at;
  std::int64_t value = 0;
  for (; at < text.size() && isDigit(text[at]); ++at) {
    value = value * 10 + (text[at] - '0');
    if (value > 1'000'000'000) damaged(name, "a number in the image header is too large");
  }
  if (at == begin) damaged(name, "malformed image header: a number expected");
  return value;
}

enum class Format { npy, pgm, ppm };

Format formatOf(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (extension == ".npy") return Format::npy;
  if (extension == ".pgm") return Format::pgm;
  if (extension == ".ppm") return Format::ppm;
  throw UserError(ExitStatus::usage, fmt::format("'{}': cannot tell the file format from its name", path.string()),
                  "known extensions are .npy, .pgm and .ppm");
}

}  // namespace

Tensor parseImage(std::string_view contents, const std::string& name) {
  if (contents.size() < 2) damaged(name, "truncated image");
  const std::string_view magic = contents.substr(0, 2);
  if (magic == "P2" || magic == "P3")
    damaged(name, "text images are not supported", "convert it to binary PGM (P5) or PPM (P6)");
  if (magic != "P5" && magic != "P6") damaged(name, "not a binary PGM (P5) or PPM (P6) image");
  std::size_t at = 2;
  if (at < contents.size() && !isSpace(contents[at]) && contents[at] != '#')
    damaged(name, "malformed image header: a blank expected");
  const std::int64_t width = number(contents, at, name);
  const std::int64_t height = number(contents, at, name);
  const std::int64_t most = number(contents, at, name);
  if (width == 0 || height == 0) damaged(name, "an image without pixels");
  if (most < 1 || most > 255) damaged(name, fmt::format("maximal value {} is not supported (1 to 255 are)", most));
  if (at == contents.size()) damaged(name, "truncated image header");
  if (!isSpace(contents[at])) damaged(name, "malformed image header: a blank expected");
  ++at;  // exactly one blank; the next byte may be a sample that looks like one

  std::vector<std::int64_t> shape{height, width};
  if (magic == "P6") shape.push_back(3);
  const std::uint64_t needed =
      static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height) * (magic == "P6" ? 3u : 1u);  // below 2^62
  const std::uint64_t there = contents.size() - at;
  if (there < needed) damaged(name, fmt::format("truncated image: {} bytes of samples of {}", there, needed));
  Tensor tensor(Scalar::u8, std::move(shape));
  std::memcpy(tensor.bytes.data(), contents.data() + at, tensor.bytes.size());
  return tensor;
}

std::string formatImage(const Tensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  const bool gray = rank == 2 || (rank == 3 && tensor.shape[2] == 1);
  const bool colour = rank == 3 && tensor.shape[2] == 3;
  if ((!gray && !colour) || tensor.size() == 0)
    throw UserError(ExitStatus::program, fmt::format("a tensor {} is not an image", tensor.describe()),
                    "PGM holds [height][width], PPM [height][width][3]");
  std::string out = fmt::format("P{}\n{} {}\n255\n", gray ? 5 : 6, tensor.shape[1], tensor.shape[0]);
  if (tensor.scalar == Scalar::u8) {
    out.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    return out;
  }
  const std::int64_t count = tensor.size();
  for (std::int64_t i = 0; i < count; ++i)
    out += static_cast<char>(ScalarValue::of(Scalar::u8, std::round(tensor.get(i))).integer);
  return out;
}

Tensor readTensorFile(const std::filesystem::path& path) {
  const Format format = formatOf(path);
  const std::string contents = files::readFile(path);
  return format == Format::npy ? parseNpy(contents, path.string()) : parseImage(contents, path.string());
}

void writeTensorFile(const std::filesystem::path& path, const Tensor& tensor) {
  const Format format = formatOf(path);
  if (format == Format::npy) return writeNpy(path, tensor);
  const std::string image = formatImage(tensor);
  if (image.starts_with("P6") != (format == Format::ppm))
    throw UserError(ExitStatus::program, fmt::format("'{}': a tensor {} needs a {} file", path.string(),
                                                     tensor.describe(), format == Format::ppm ? ".pgm" : ".ppm"));
  lift::writeFile(path, image);
}

}  // namespace lift
