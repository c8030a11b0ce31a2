#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fields.hpp"
#include "lift/characters.hpp"
#include "lift/files.hpp"

namespace lift {

namespace {

using namespace conv;

// A number of the descriptor and where it stands.
struct Given {
  bool present = false;
  bool usable = false;  // passed its range check
  std::int64_t value = 0;
  Span span;
  std::string spelling;
};

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Flags that say how to run or what to verify, not which layer it is.
constexpr std::string_view ignored[] = {"-b", "--bias",      "-i", "--iter",        "-V", "--verify",
                                        "-t", "--time",      "-w", "--wall",        "-s", "--search",
                                        "-P", "--printconv", "-o", "--dump_output", "-d", "--in_data",
                                        "-e", "--weights",   "-S", "--solution",    "-C", "--verification_cache"};
// Flags for what is no part of a descriptor here, but an option of the commands.
struct Elsewhere {
  std::string_view shortFlag, longFlag;
  std::string_view option;
  std::string_view nchw, nhwc;  // what the option takes for these
};
constexpr Elsewhere layouts[] = {
    {"-I", "--in_layout", "--in-layout", "nchw", "nhwc"},
    {"-O", "--out_layout", "--out-layout", "nchw", "nhwc"},
    {"-f", "--fil_layout", "--weights-layout", "oihw", "ohwi"},
};
// Flags with the values that leave it a forward 2D convolution with zero padding.
struct Fixed {
  std::string_view shortFlag, longFlag;
  std::string_view allowed;  // blank-separated
  std::string_view otherwise;
};
constexpr Fixed fixed[] = {
    {"-m", "--mode", "conv", "only forward convolutions are supported"},
    {"-F", "--forw", "0 1", "only the forward direction is supported"},
    {"-_", "--spatial_dim", "2", "only 2D convolutions are supported"},
    {"-z", "--pad_mode", "default", "give the padding with -p and -q"},
    {"-r", "--pad_val", "0", "only zero padding is supported"},
};

// Reads the descriptor that is bytes [begin, end) of a file. Errors go to `errors`.
class Reader {
 public:
  Reader(const SourceFile& file, std::size_t begin, std::size_t end, std::vector<Diagnostic>& errors)
      : file_(file), text_(file.text), begin_(begin), end_(end), errors_(errors) {
    while (begin_ < end_ && blank(text_[begin_])) ++begin_;
    while (end_ > begin_ && blank(text_[end_ - 1])) --end_;
    at_ = begin_;
  }

  std::optional<ConvSpec> read() {
    const std::size_t before = errors_.size();
    if (begin_ == end_) {
      error(span(begin_, end_), "empty convolution descriptor", "for example ic64ih56oc64kh3ph1");
      return std::nullopt;
    }
    const std::string_view first = word(at_);
    driver_ = text_[begin_] == '-' || first == "conv" || first == "MIOpenDriver" || first.ends_with("/MIOpenDriver");
    if (driver_) {
      readFlags();
    } else {
      readToken();
    }
    finish(errors_.size() != before);
    if (errors_.size() != before) return std::nullopt;
    return spec_;
  }

 private:
  Span span(std::size_t begin, std::size_t end) const {
    return {&file_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }
  void error(Span where, std::string message, std::string hint = {}, std::vector<Diagnostic> notes = {}) {
    errors_.push_back({Severity::error, where, std::move(message), std::move(hint), std::move(notes)});
  }
  Given& given(Field field) { return given_[static_cast<std::size_t>(field)]; }
  // The word (up to a blank) that starts at a byte.
  std::string_view word(std::size_t at) const {
    std::size_t stop = at;
    while (stop < end_ && !blank(text_[stop])) ++stop;
    return text_.substr(at, stop - at);
  }
  void skipBlanks() {
    while (at_ < end_ && blank(text_[at_])) ++at_;
  }

  void set(Field field, std::int64_t value, Span where, std::string spelling) {
    Given& slot = given(field);
    if (slot.present) {
      error(where, fmt::format("'{}' is given twice", spelling), {},
            {{Severity::note, slot.span, "the first time here", {}, {}}});
      return;
    }
    slot = {true, true, value, where, std::move(spelling)};
  }

  // --- benchdnn ---

  void readToken() {
    static const std::string other = "`liftc op conv3d` computes convolutions in three dimensions";
    static const std::string keys = "keys are g mb ic ih iw oc oh ow kh kw sh sw ph pw dh dw, and n for the name";
    while (at_ < end_) {
      const std::size_t start = at_;
      const char c = text_[at_];
      if (c == '_') {
        ++at_;
      } else if (c == 'n') {
        readName();
      } else if (isLetter(c)) {
        while (at_ < end_ && isLetter(text_[at_])) ++at_;
        const std::string_view key = text_.substr(start, at_ - start);
        const auto [value, length] = leadingNumber(text_.substr(at_, end_ - at_));
        at_ += length;
        const auto field = std::ranges::find_if(fields(), [&](const FieldInfo& f) { return f.key == key; });
        if (field == fields().end()) {
          if (key.size() == 2 && key[1] == 'd' && std::string_view("iokspd").find(key[0]) != std::string_view::npos)
            error(span(start, at_), fmt::format("'{}' belongs to a 3D convolution; this one is 2D", key), other);
          else
            error(span(start, at_), fmt::format("unknown key '{}'", key), keys);
        } else if (length == 0) {
          error(span(start, at_), fmt::format("expected a number after '{}'", key));
          given(field->field).present = true;  // not missing as well
        } else {
          set(field->field, value, span(start, at_), std::string(key));
        }
      } else {
        // One message for a run of anything else.
        while (at_ < end_ && !isLetter(text_[at_]) && text_[at_] != '_') ++at_;
        error(span(start, at_), "expected a key", keys);
      }
    }
  }

  void readName() {
    const std::size_t start = at_++;
    std::size_t from = at_, to = at_;
    if (at_ < end_ && text_[at_] == '"') {
      from = at_ + 1;
      to = std::min(text_.find('"', from), end_);
      if (to == end_) {
        at_ = end_;
        error(span(start, end_), "the name's quote is not closed");
        return;
      }
      at_ = to + 1;
    } else {
      to = at_ += word(at_).size();
    }
    const std::string_view name = text_.substr(from, to - from);
    if (name.find_first_of("\"\r\n") != std::string_view::npos) {
      error(span(start, at_), "a name cannot contain quotes or line breaks");
    } else if (!isUtf8(name)) {
      error(span(start, at_), "a name must be UTF-8 text");
    } else if (named_) {
      error(span(start, at_), "the name is given twice", {}, {{Severity::note, named_, "the first time here", {}, {}}});
    } else {
      named_ = span(start, at_);
      spec_.name = std::string(name);
    }
  }

  // --- MIOpenDriver ---

  void readFlags() {
    if (text_[at_] != '-') {  // "MIOpenDriver conv", "conv"
      if (word(at_) != "conv") at_ += word(at_).size();
      skipBlanks();
      const std::string_view what = word(at_);
      if (what != "conv" && !what.starts_with('-'))
        error(span(at_, at_ + what.size()), "expected 'conv' after MIOpenDriver",
              "element types are not part of a layer's descriptor");
      if (!what.starts_with('-')) at_ += what.size();
    }
    for (skipBlanks(); at_ < end_; skipBlanks()) {
      const std::size_t start = at_;
      const std::string_view flag = word(at_);
      at_ += flag.size();
      if (flag[0] != '-' || flag.size() < 2)
        error(span(start, at_), fmt::format("expected a flag, not '{}'", flag));
      else
        readFlag(flag, start);
    }
    // Here dilation is the distance between taps; 1 is none.
    for (const Field field : {Field::dh, Field::dw}) {
      Given& dilation = given(field);
      if (!dilation.present || !dilation.usable) continue;
      if (dilation.value < 1) {
        error(dilation.span, fmt::format("'{}' must be at least 1", dilation.spelling), "1 is no dilation");
        dilation.usable = false;
      } else {
        --dilation.value;
      }
    }
  }

  // The flag that begins at `start` and has just been read, with its value.
  void readFlag(std::string_view flag, std::size_t start) {
    std::string_view value;
    if (const std::size_t equals = flag.find('='); flag.starts_with("--") && equals != flag.npos) {
      value = flag.substr(equals + 1);
      flag = flag.substr(0, equals);
    } else {
      skipBlanks();
      const std::string_view next = word(at_);
      // A negative number is a value, anything else with a dash is the next flag.
      if (!next.empty() && (next[0] != '-' || (next.size() > 1 && isDigit(next[1])))) {
        value = next;
        at_ += next.size();
      } else {
        at_ = start + flag.size();
      }
    }
    const Span where = span(start, at_);
    if (flag == "--conv_stride_0") flag = "--conv_stride_h";  // the names of old versions
    if (flag == "--conv_stride_1") flag = "--conv_stride_w";
    const auto isIt = [&](const auto& row) {
      return !row.shortFlag.empty() && (row.shortFlag == flag || row.longFlag == flag);
    };
    const auto field = std::ranges::find_if(fields(), isIt);
    const auto constant = std::find_if(std::begin(fixed), std::end(fixed), isIt);
    if (field != fields().end()) {
      const auto [number, length] = leadingNumber(value);
      if (length == 0 || length != value.size()) {
        error(where, fmt::format("expected a number after '{}'", flag));
        given(field->field).present = true;
      } else {
        set(field->field, number, where, std::string(flag));
      }
    } else if (constant != std::end(fixed)) {
      const std::string padded = fmt::format(" {} ", constant->allowed);
      if (value.empty() || padded.find(fmt::format(" {} ", value)) == std::string::npos)
        error(where, fmt::format("'{} {}': {}", flag, value, constant->otherwise));
    } else if (const auto layout = std::find_if(std::begin(layouts), std::end(layouts), isIt);
               layout != std::end(layouts)) {
      error(where, fmt::format("'{}': layouts are no part of a descriptor", flag),
            value == "NCHW" || value == "NHWC"
                ? fmt::format("leave it out, and give the command {} {}", layout->option,
                              value == "NCHW" ? layout->nchw : layout->nhwc)
                : fmt::format("{} {} or {} says them", layout->option, layout->nchw, layout->nhwc));
    } else if (std::find(std::begin(ignored), std::end(ignored), flag) == std::end(ignored)) {
      error(where, fmt::format("unknown flag '{}'", flag),
            "layers are given by -n -c -H -W -k -y -x -p -q -u -v -l -j -g");
    }
  }

  // --- defaults and checks, for both ---

  void finish(bool failed) {
    std::vector<Problem> problems = outOfRange();
    copyAxes();
    const bool complete = hasRequired();
    for (const FieldInfo& field : fields())
      if (given(field.field).present) spec_.*field.member = given(field.field).value;
    const bool sound = !failed && complete && problems.empty();
    if (settleAll(problems) && sound) checkVolume(spec_, problems);
    report(problems);
  }

  // A field as the descriptor writes it.
  std::string spelled(Field field) {
    if (!given(field).spelling.empty()) return given(field).spelling;
    return std::string(driver_ ? info(field).shortFlag : info(field).key);
  }
  Spelling spelling() {
    return [this](Field field) { return spelled(field); };
  }

  std::vector<Problem> outOfRange() {
    std::vector<Problem> problems;
    for (const FieldInfo& field : fields()) {
      Given& slot = given(field.field);
      if (!slot.present) continue;
      const std::size_t before = problems.size();
      if (slot.usable) checkRange(field, slot.value, spelling(), problems);
      slot.usable = slot.usable && problems.size() == before;
    }
    return problems;
  }

  // One axis stands for the other; output size and padding are settled later.
  void copyAxes() {
    for (const FieldInfo& field : fields()) {
      if (field.field == Field::oh || field.field == Field::ow) continue;
      Given& slot = given(field.field);
      if (!slot.present && given(field.other).present) slot = given(field.other);
    }
  }

  bool hasRequired() {
    std::string missing;
    for (const Field field : {Field::ic, Field::ih, Field::oc, Field::kh})
      if (!given(field).present)
        missing += fmt::format("{}'{}' ({})", missing.empty() ? "" : ", ", spelled(field), info(field).meaning);
    if (!missing.empty()) error(span(end_, end_), "missing " + missing);
    return missing.empty();
  }

  // Groups, output sizes and padding, as far as the fields that they follow from are known. Whether all agree.
  bool settleAll(std::vector<Problem>& problems) {
    const auto usable = [this](std::initializer_list<Field> list) {
      return std::ranges::all_of(list, [this](Field field) { return !given(field).present || given(field).usable; });
    };
    const auto present = [this](std::initializer_list<Field> list) {
      return std::ranges::all_of(list, [this](Field field) { return given(field).present; });
    };
    const std::size_t before = problems.size();
    if (usable({Field::g, Field::ic, Field::oc})) checkGroups(spec_, spelling(), problems);
    bool agree = problems.size() == before;
    copyOutputs();
    for (const Axis& axis : axes())
      if (present({axis.i, axis.k}) && usable({axis.i, axis.k, axis.s, axis.p, axis.d, axis.o}))
        agree = settle(axis, problems) && agree;
    return agree;
  }

  // A mistake in a value that stands for both axes is reported once.
  void report(const std::vector<Problem>& problems) {
    const auto reported = static_cast<std::ptrdiff_t>(errors_.size());
    for (const Problem& problem : problems) {
      const Span at = given(problem.field).span;
      const Span where = problem.whole || !at ? span(begin_, end_) : at;
      const bool repeated = std::any_of(errors_.begin() + reported, errors_.end(), [&](const Diagnostic& d) {
        return !problem.whole && at && d.span.begin == at.begin && d.span.end == at.end;
      });
      if (!repeated) error(where, problem.message, problem.hint);
    }
  }

  // An output size stands for both axes only where the axes are equal otherwise.
  void copyOutputs() {
    const auto [h, w] = std::pair(axes()[0], axes()[1]);
    const auto same = [&](Field a, Field b) { return spec_.*info(a).member == spec_.*info(b).member; };
    if (!same(h.i, w.i) || !same(h.k, w.k) || !same(h.s, w.s) || !same(h.d, w.d) || !same(h.p, w.p)) return;
    for (const auto& [to, from] : {std::pair(h.o, w.o), std::pair(w.o, h.o)})
      if (!given(to).present && given(from).present) {
        given(to) = given(from);
        spec_.*info(to).member = given(to).value;
      }
  }

  // Output size and padding of one axis from each other.
  bool settle(const Axis& axis, std::vector<Problem>& problems) {
    if (!checkExtent(spec_, axis, problems)) return false;
    std::int64_t& padStart = spec_.*info(axis.p).member;
    std::int64_t& output = spec_.*info(axis.o).member;
    const bool padGiven = given(axis.p).present;
    if (!given(axis.o).present) {
      if (!checkFits(spec_, axis, padStart, padStart, problems)) return false;
      output = (spec_.*info(axis.i).member + 2 * padStart - axis.extent(spec_)) / spec_.*info(axis.s).member + 1;
    } else {
      if (!padGiven) padStart = std::max<std::int64_t>(0, axis.endNeeded(spec_)) / 2;
      if (!checkOutput(spec_, axis, padGiven, problems)) return false;
    }
    spec_.*axis.padEnd = std::max<std::int64_t>(0, axis.endNeeded(spec_));
    return true;
  }

  const SourceFile& file_;
  const std::string_view text_;
  std::size_t begin_, end_, at_ = 0;
  std::vector<Diagnostic>& errors_;
  bool driver_ = false;
  std::array<Given, fieldCount> given_;
  Span named_;
  ConvSpec spec_;
};

}  // namespace

ConvSpec parseConv(std::string_view text, const std::string& name) {
  const SourceFile* file = addSource(name, std::string(text));
  std::vector<Diagnostic> errors;
  std::optional<ConvSpec> spec = Reader(*file, 0, file->text.size(), errors).read();
  throwErrors(std::move(errors));
  return *std::move(spec);
}

std::vector<Span> descriptorLines(const SourceFile& file) {
  const std::string_view text = file.text;
  constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";
  std::vector<Span> lines;
  for (std::size_t begin = text.starts_with(byteOrderMark) ? byteOrderMark.size() : 0, next = 0; begin < text.size();
       begin = next) {
    const std::size_t lineEnd = std::min(text.find('\n', begin), text.size());
    next = lineEnd + 1;
    std::size_t end = begin;
    for (bool quoted = false; end < lineEnd; ++end) {
      if (text[end] == '"') quoted = !quoted;
      if (text[end] == '#' && !quoted && (end == begin || blank(text[end - 1]))) break;
    }
    while (begin < end && blank(text[begin])) ++begin;
    while (end > begin && blank(text[end - 1])) --end;
    if (begin < end) lines.push_back({&file, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  }
  return lines;
}

std::vector<ConvSpec> parseShapes(std::string_view contents, const std::string& name) {
  const SourceFile* file = addSource(name, std::string(contents));
  std::vector<ConvSpec> specs;
  std::vector<Diagnostic> errors;
  for (const Span line : descriptorLines(*file))
    if (std::optional<ConvSpec> spec = Reader(*file, line.begin, line.end, errors).read())
      specs.push_back(*std::move(spec));
  throwErrors(std::move(errors));
  return specs;
}

std::vector<ConvSpec> readShapes(const std::filesystem::path& path) {
  std::vector<ConvSpec> specs = parseShapes(readInput(path), path.string());
  if (specs.empty()) throw UserError(ExitStatus::program, fmt::format("'{}' has no descriptors", path.string()));
  return specs;
}

}  // namespace lift
