#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "fields.hpp"
#include "lift/integers.hpp"

namespace lift {

namespace conv {

const std::array<FieldInfo, fieldCount>& fields() {
  using F = Field;
  using S = ConvSpec;
  static constexpr std::array<FieldInfo, fieldCount> table = {{
      {F::g, "g", "-g", "--group_count", "groups", &S::groups, 1, F::g},
      {F::mb, "mb", "-n", "--batchsize", "images", &S::batch, 1, F::mb},
      {F::ic, "ic", "-c", "--in_channels", "input channels", &S::ic, 1, F::ic},
      {F::oc, "oc", "-k", "--out_channels", "output channels", &S::oc, 1, F::oc},
      {F::ih, "ih", "-H", "--in_h", "input rows", &S::ih, 1, F::iw},
      {F::iw, "iw", "-W", "--in_w", "input columns", &S::iw, 1, F::ih},
      {F::oh, "oh", "", "", "output rows", &S::oh, 1, F::ow},
      {F::ow, "ow", "", "", "output columns", &S::ow, 1, F::oh},
      {F::kh, "kh", "-y", "--fil_h", "kernel rows", &S::kh, 1, F::kw},
      {F::kw, "kw", "-x", "--fil_w", "kernel columns", &S::kw, 1, F::kh},
      {F::sh, "sh", "-u", "--conv_stride_h", "row stride", &S::sh, 1, F::sw},
      {F::sw, "sw", "-v", "--conv_stride_w", "column stride", &S::sw, 1, F::sh},
      {F::ph, "ph", "-p", "--pad_h", "row padding", &S::padTop, 0, F::pw},
      {F::pw, "pw", "-q", "--pad_w", "column padding", &S::padLeft, 0, F::ph},
      {F::dh, "dh", "-l", "--dilation_h", "row dilation", &S::dh, 0, F::dw},
      {F::dw, "dw", "-j", "--dilation_w", "column dilation", &S::dw, 0, F::dh},
  }};
  return table;
}

const FieldInfo& info(Field field) { return fields()[static_cast<std::size_t>(field)]; }

const std::array<Axis, 2>& axes() {
  using F = Field;
  static constexpr std::array<Axis, 2> table = {{
      {F::ih, F::oh, F::kh, F::sh, F::ph, F::dh, &ConvSpec::padBottom, "rows", "bottom"},
      {F::iw, F::ow, F::kw, F::sw, F::pw, F::dw, &ConvSpec::padRight, "columns", "right"},
  }};
  return table;
}

namespace {

std::int64_t get(const ConvSpec& spec, Field field) { return spec.*info(field).member; }

// "3 rows", "1 row"
std::string count(std::int64_t n, std::string_view plural) {
  return fmt::format("{} {}", n, n == 1 ? plural.substr(0, plural.size() - 1) : plural);
}

// Whether the product is at most 2^60, which leaves room for bytes per element and two operations.
bool fits(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors)
    if (__builtin_mul_overflow(product, factor, &product)) return false;
  return product <= std::int64_t{1} << 60;
}

}  // namespace

std::int64_t Axis::extent(const ConvSpec& spec) const { return (get(spec, k) - 1) * (get(spec, d) + 1) + 1; }

std::int64_t Axis::endNeeded(const ConvSpec& spec) const {
  return (get(spec, o) - 1) * get(spec, s) + extent(spec) - get(spec, i) - get(spec, p);
}

std::string Axis::describeKernel(const ConvSpec& spec) const {
  std::string text = "kernel of " + count(get(spec, k), lines);
  if (extent(spec) != get(spec, k)) text += fmt::format(", {} with dilation,", extent(spec));
  return text;
}

void checkRange(const FieldInfo& field, std::int64_t value, const Spelling& spelling, std::vector<Problem>& problems) {
  if (value < field.least)
    problems.push_back(
        {field.field, false, fmt::format("'{}' must be at least {}", spelling(field.field), field.least), {}});
  else if (value > largestInt)
    problems.push_back(
        {field.field, false, fmt::format("'{}' must be at most {}", spelling(field.field), largestInt), {}});
}

void checkGroups(const ConvSpec& spec, const Spelling& spelling, std::vector<Problem>& problems) {
  for (const Field channels : {Field::ic, Field::oc}) {
    const std::int64_t n = get(spec, channels);
    if (n > 0 && n % spec.groups != 0)
      problems.push_back({channels, false,
                          fmt::format("'{}' is {}, which is not divisible into {} groups ('{}')", spelling(channels), n,
                                      spec.groups, spelling(Field::g)),
                          "channels are counted over all groups"});
  }
}

bool checkExtent(const ConvSpec& spec, const Axis& axis, std::vector<Problem>& problems) {
  if (axis.extent(spec) <= largestInt) return true;
  problems.push_back({axis.k, false, fmt::format("{} is larger than {}", axis.describeKernel(spec), largestInt), {}});
  return false;
}

bool checkFits(const ConvSpec& spec, const Axis& axis, std::int64_t padStart, std::int64_t padEnd,
               std::vector<Problem>& problems) {
  const std::int64_t padded = get(spec, axis.i) + padStart + padEnd;
  if (axis.extent(spec) <= padded) return true;
  problems.push_back({axis.k,
                      false,
                      fmt::format("{} is larger than the {}input of {}", axis.describeKernel(spec),
                                  padStart + padEnd > 0 ? "padded " : "", count(padded, axis.lines)),
                      {}});
  return false;
}

bool checkOutput(const ConvSpec& spec, const Axis& axis, bool padGiven, std::vector<Problem>& problems) {
  const std::int64_t needed = axis.endNeeded(spec);
  const std::int64_t stride = get(spec, axis.s);
  const std::int64_t padding = get(spec, axis.p);
  const std::int64_t extent = axis.extent(spec);
  // What symmetric padding gives, to say what the user may have meant.
  std::string hint;
  const std::int64_t room = get(spec, axis.i) + 2 * padding - extent;
  if (room >= 0)
    hint = fmt::format("stride {} and padding {} on both sides give {}", stride, padding,
                       count(room / stride + 1, axis.lines));
  const std::string output = "output of " + count(get(spec, axis.o), axis.lines);
  if (needed <= -stride) {
    const std::int64_t windows = -needed / stride;
    problems.push_back({axis.o, false,
                        fmt::format("{} leaves out {} that fit{} into the input", output, count(windows, "windows"),
                                    windows == 1 ? "s" : ""),
                        hint});
    return false;
  }
  // Wider padding than the kernel is legal when the user asks for it (then on both sides), but not to make up numbers.
  if (needed > std::max(padGiven ? padding : 0, extent - 1)) {
    problems.push_back({axis.o, false,
                        fmt::format("{} needs {} of padding at the {}, all that its last window would see", output,
                                    count(needed, axis.lines), axis.end),
                        hint});
    return false;
  }
  return true;
}

void checkVolume(const ConvSpec& spec, std::vector<Problem>& problems) {
  const auto check = [&](std::string_view what, std::initializer_list<std::int64_t> factors) {
    if (!fits(factors)) problems.push_back({Field::g, true, fmt::format("layer is too large: {} 2^60", what), {}});
  };
  check("elements of the input exceed", {spec.batch, spec.ih, spec.iw, spec.ic});
  check("weights exceed", {spec.oc, spec.kh, spec.kw, spec.icPerGroup()});
  check("elements of the output exceed", {spec.batch, spec.oh, spec.ow, spec.oc});
  check("multiply-accumulates exceed", {spec.batch, spec.oh, spec.ow, spec.oc, spec.kh, spec.kw, spec.icPerGroup()});
}

}  // namespace conv

void ConvSpec::setPadding(std::int64_t top, std::int64_t left, std::int64_t bottom, std::int64_t right) {
  padTop = top, padLeft = left;
  const auto windows = [](std::int64_t input, std::int64_t before, std::int64_t after, std::int64_t extent,
                          std::int64_t stride) {
    const std::int64_t room = input + before + after - extent;
    return room < 0 || stride < 1 ? 0 : room / stride + 1;
  };
  oh = windows(ih, top, bottom, extentH(), sh);
  ow = windows(iw, left, right, extentW(), sw);
  padBottom = std::max<std::int64_t>(0, conv::axes()[0].endNeeded(*this));
  padRight = std::max<std::int64_t>(0, conv::axes()[1].endNeeded(*this));
}

std::vector<std::string> ConvSpec::problems() const {
  using namespace conv;
  const Spelling spelling = [](Field field) { return std::string(info(field).key); };
  std::vector<Problem> found;
  for (const FieldInfo& field : fields()) checkRange(field, this->*field.member, spelling, found);
  if (found.empty()) {
    checkGroups(*this, spelling, found);
    bool sound = found.empty();
    for (const Axis& axis : axes()) {
      if (!checkExtent(*this, axis, found) || !checkOutput(*this, axis, true, found)) {
        sound = false;
        continue;
      }
      const std::int64_t needed = std::max<std::int64_t>(0, axis.endNeeded(*this));
      if (this->*axis.padEnd != needed)
        found.push_back({axis.o,
                         false,
                         fmt::format("padding at the {} is {}, but the windows read {}", axis.end, this->*axis.padEnd,
                                     count(needed, axis.lines)),
                         {}});
    }
    if (sound) checkVolume(*this, found);
  }
  if (name.find_first_of("\"\r\n") != std::string::npos)
    found.push_back({Field::g, true, "name has a double quote or a line break", {}});
  std::vector<std::string> messages;
  std::transform(found.begin(), found.end(), std::back_inserter(messages), [](Problem& p) { return p.message; });
  return messages;
}

std::string ConvSpec::str() const {
  std::string text = fmt::format("g{}mb{}ic{}ih{}iw{}oc{}oh{}ow{}kh{}kw{}sh{}sw{}ph{}pw{}", groups, batch, ic, ih, iw,
                                 oc, oh, ow, kh, kw, sh, sw, padTop, padLeft);
  if (dh != 0 || dw != 0) text += fmt::format("dh{}dw{}", dh, dw);
  if (!name.empty()) text += fmt::format("n\"{}\"", name);
  return text;
}

std::int64_t ConvSpec::operations() const { return 2 * batch * oh * ow * oc * reduction(); }

std::int64_t ConvSpec::tensorBytes(Scalar scalar) const {
  const std::int64_t elements = batch * ih * iw * ic + oc * kh * kw * icPerGroup() + oc + batch * oh * ow * oc;
  return elements * static_cast<std::int64_t>(info(scalar).bytes);
}

}  // namespace lift
