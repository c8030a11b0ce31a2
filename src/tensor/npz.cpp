// Zip archives as far as .npz needs them.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "files.hpp"
#include "lift/diagnostic.hpp"
#include "lift/files.hpp"
#include "lift/tensor.hpp"

namespace lift {

using files::damaged;

namespace {

constexpr std::uint32_t localSignature = 0x04034B50;
constexpr std::uint32_t centralSignature = 0x02014B50;
constexpr std::uint32_t endSignature = 0x06054B50;
constexpr std::uint32_t end64Signature = 0x06064B50;
constexpr std::uint32_t locator64Signature = 0x07064B50;
constexpr std::size_t localBytes = 30;
constexpr std::size_t centralBytes = 46;
constexpr std::size_t endBytes = 22;
constexpr std::size_t end64Bytes = 56;
constexpr std::size_t locator64Bytes = 20;
constexpr std::uint32_t full32 = 0xFFFFFFFF;
constexpr std::uint16_t full16 = 0xFFFF;

// Little-endian reads that never leave the text.
class Bytes {
 public:
  Bytes(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::uint64_t number(std::uint64_t at, int width) const {
    const std::string_view bytes = part(at, static_cast<std::uint64_t>(width));
    std::uint64_t value = 0;
    for (int i = width; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    return value;
  }
  std::uint16_t uint16(std::uint64_t at) const { return static_cast<std::uint16_t>(number(at, 2)); }
  std::uint32_t uint32(std::uint64_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
  std::uint64_t uint64(std::uint64_t at) const { return number(at, 8); }

  std::string_view part(std::uint64_t at, std::uint64_t length) const {
    if (at > text_.size() || length > text_.size() - at) damaged(name_, "damaged zip archive: a record is cut off");
    return text_.substr(at, length);
  }
  std::uint64_t size() const { return text_.size(); }

 private:
  std::string_view text_;
  const std::string& name_;
};

struct Member {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t packed = 0;
  std::uint64_t size = 0;
  std::uint64_t header = 0;  // of the local record
  std::uint64_t data = 0;
};

struct Directory {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::uint64_t at = 0;
};

// The offset of the end record, which is last but for a comment of at most 65535 bytes.
std::uint64_t findEnd(const Bytes& file, const std::string& name) {
  for (std::uint64_t comment = 0; comment <= full16 && comment + endBytes <= file.size(); ++comment) {
    const std::uint64_t end = file.size() - comment - endBytes;
    if (file.uint32(end) == endSignature && file.uint16(end + 20) == comment) return end;
  }
  damaged(name, "not a zip archive, or truncated");
}

Directory findDirectory(const Bytes& file, const std::string& name) {
  const std::uint64_t end = findEnd(file, name);
  const std::uint16_t disk = file.uint16(end + 4);
  Directory directory{file.uint16(end + 10), file.uint32(end + 12), file.uint32(end + 16)};
  const bool zip64 = directory.entries == full16 || directory.bytes == full32 || directory.at == full32;
  std::uint64_t limit = end;
  if (zip64 && end >= locator64Bytes && file.uint32(end - locator64Bytes) == locator64Signature) {
    const std::uint64_t end64 = file.uint64(end - locator64Bytes + 8);
    (void)file.part(end64, end64Bytes);
    if (file.uint32(end64) != end64Signature) damaged(name, "damaged zip archive: no zip64 end record");
    directory = {file.uint64(end64 + 32), file.uint64(end64 + 40), file.uint64(end64 + 48)};
    limit = end64;
  } else if (disk != 0 || file.uint16(end + 6) != 0 || file.uint16(end + 8) != directory.entries) {
    damaged(name, "zip archives in several parts are not supported");
  }
  if (directory.at > limit || directory.bytes != limit - directory.at)
    damaged(name, "damaged zip archive: the directory is not where it should be");
  return directory;
}

// Takes the 64-bit sizes of the zip64 extra field in place of those that are all ones.
void readZip64(const Bytes& file, std::uint64_t at, std::uint64_t length, Member& member, const std::string& name) {
  const std::uint64_t end = at + length;
  while (end - at >= 4) {
    const std::uint16_t tag = file.uint16(at);
    const std::uint64_t stop = at + 4 + file.uint16(at + 2);
    if (stop > end) damaged(name, "damaged zip archive: an extra field is cut off");
    at += 4;
    if (tag == 1) {
      for (std::uint64_t* field : {&member.size, &member.packed, &member.header}) {
        if (*field != full32) continue;
        if (stop - at < 8) damaged(name, "damaged zip archive: a zip64 field is cut off");
        *field = file.uint64(at);
        at += 8;
      }
    }
    at = stop;
  }
}

std::vector<Member> readDirectory(const Bytes& file, const std::string& name) {
  const Directory directory = findDirectory(file, name);
  std::vector<Member> members;
  std::uint64_t at = directory.at;
  const std::uint64_t end = directory.at + directory.bytes;
  while (at < end) {
    (void)file.part(at, centralBytes);
    if (file.uint32(at) != centralSignature) damaged(name, "damaged zip archive: bad directory entry");
    Member member;
    member.flags = file.uint16(at + 8);
    member.method = file.uint16(at + 10);
    member.crc = file.uint32(at + 16);
    member.packed = file.uint32(at + 20);
    member.size = file.uint32(at + 24);
    const std::uint16_t nameBytes = file.uint16(at + 28);
    const std::uint16_t extraBytes = file.uint16(at + 30);
    const std::uint16_t commentBytes = file.uint16(at + 32);
    member.header = file.uint32(at + 42);
    member.name = file.part(at + centralBytes, nameBytes);
    readZip64(file, at + centralBytes + nameBytes, extraBytes, member, name);
    at += centralBytes + nameBytes + extraBytes + commentBytes;

    // Only names, data and where they are is taken from the local record; sizes may be missing there.
    (void)file.part(member.header, localBytes);
    if (file.uint32(member.header) != localSignature) damaged(name, "damaged zip archive: bad member header");
    const std::uint16_t localName = file.uint16(member.header + 26);
    if (file.part(member.header + localBytes, localName) != member.name)
      damaged(name, "damaged zip archive: directory and member disagree about a name");
    member.data = member.header + localBytes + localName + file.uint16(member.header + 28);
    (void)file.part(member.data, member.packed);
    if (member.data + member.packed > directory.at)
      damaged(name, "damaged zip archive: a member reaches into the directory");
    members.push_back(std::move(member));
  }
  if (at != end || members.size() != directory.entries)
    damaged(name, "damaged zip archive: the directory has another length than it says");

  // Members that share bytes are how small archives unpack to huge ones.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const Member& member : members) ranges.emplace_back(member.header, member.data + member.packed);
  std::ranges::sort(ranges);
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second) damaged(name, "damaged zip archive: members overlap");
  return members;
}

std::string inflateMember(std::string_view packed, std::uint64_t size, const std::string& name) {
  // Deflate cannot expand further than this, so what is allocated stays in proportion to the file.
  if (size / 1032 > packed.size()) damaged(name, "damaged zip archive: impossible size of a deflated member");
  // And it is allocated as it is filled, since the size is only a claim.
  std::string out(std::min<std::uint64_t>(size, 4 * packed.size() + 4096), '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw InternalError("npz: zlib does not start");
  constexpr std::size_t most = std::numeric_limits<uInt>::max();
  std::size_t in = 0;
  std::size_t done = 0;
  char excess = 0;  // where a stream that is too long would write
  int status = Z_OK;
  while (status == Z_OK) {
    if (done == out.size() && done < size) out.resize(std::min<std::uint64_t>(size, 2 * out.size()));
    const bool full = done == out.size();
    const std::size_t give = std::min(most, packed.size() - in);
    const std::size_t room = full ? 1 : std::min(most, out.size() - done);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in));
    stream.avail_in = static_cast<uInt>(give);
    stream.next_out = reinterpret_cast<Bytef*>(full ? &excess : out.data() + done);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    const std::size_t took = give - stream.avail_in;
    const std::size_t gave = room - stream.avail_out;
    in += took;
    if (full && gave > 0) status = Z_DATA_ERROR;
    if (!full) done += gave;
    if (took == 0 && gave == 0 && status == Z_OK) status = Z_BUF_ERROR;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || in != packed.size() || done != size)
    damaged(name, "damaged zip archive: a deflated member does not unpack to its size");
  return out;
}

std::string unpack(const Bytes& file, const Member& member, const std::string& name) {
  if ((member.flags & 1) != 0) damaged(name, "encrypted members are not supported");
  const std::string_view packed = file.part(member.data, member.packed);
  std::string contents;
  if (member.method == 0) {
    if (member.packed != member.size) damaged(name, "damaged zip archive: two sizes of a stored member");
    contents = packed;
  } else if (member.method == 8) {
    contents = inflateMember(packed, member.size, name);
  } else {
    damaged(name, fmt::format("zip compression method {} is not supported", member.method),
            "numpy.savez and numpy.savez_compressed write methods that are");
  }
  if (crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()), contents.size()) != member.crc)
    damaged(name, "damaged zip archive: wrong checksum");
  return contents;
}

void put(std::string& out, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

}  // namespace

std::map<std::string, Tensor> parseNpz(std::string_view contents, const std::string& name) {
  constexpr std::string_view suffix = ".npy";
  const Bytes file(contents, name);
  const std::vector<Member> members = readDirectory(file, name);
  std::map<std::string, Tensor> tensors;
  for (const Member& member : members) {
    if (!member.name.ends_with(suffix)) continue;
    const std::string key = member.name.substr(0, member.name.size() - suffix.size());
    const std::string where = name + ":" + member.name;
    if (tensors.contains(key)) damaged(where, "two members of this name");
    tensors.emplace(key, parseNpy(unpack(file, member, where), where));
  }
  if (tensors.empty() && !members.empty()) damaged(name, "no .npy arrays in this archive");
  return tensors;
}

std::string formatNpz(const std::map<std::string, Tensor>& tensors) {
  // 1 January 1980, the first day of zip: equal tensors give equal files.
  constexpr std::uint32_t date = 0x00210000;
  std::string out;
  std::string directory;
  if (tensors.size() >= full16) throw UserError(ExitStatus::program, "too many arrays for one .npz file");
  for (const auto& [key, tensor] : tensors) {
    const std::string name = key + ".npy";
    const std::string contents = formatNpy(tensor);
    if (name.size() > full16) throw UserError(ExitStatus::program, "a name is too long for a .npz file");
    if (contents.size() >= full32 || out.size() + contents.size() >= full32)
      throw UserError(ExitStatus::program, fmt::format("array '{}' does not fit into a .npz file of 4 GiB", key),
                      "write it to a .npy file of its own");
    const bool ascii = std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 128; });
    const std::size_t at = out.size();
    // The fields that both records share.
    std::string common;
    put(common, 20, 2);                   // version needed
    put(common, ascii ? 0 : 1 << 11, 2);  // names beyond ASCII are marked as UTF-8
    put(common, 0, 2);                    // stored
    put(common, date, 4);
    put(common, crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()), contents.size()), 4);
    put(common, contents.size(), 4);
    put(common, contents.size(), 4);
    put(common, name.size(), 2);
    put(common, 0, 2);  // no extra field

    put(out, localSignature, 4);
    out += common;
    out += name;
    out += contents;

    put(directory, centralSignature, 4);
    put(directory, 20, 2);  // version made by
    directory += common;
    put(directory, 0, 2);  // no comment
    put(directory, 0, 2);  // disk
    put(directory, 0, 2);  // internal attributes
    put(directory, 0, 4);  // external attributes
    put(directory, at, 4);
    directory += name;
  }
  const std::size_t at = out.size();
  if (at + directory.size() >= full32) throw UserError(ExitStatus::program, "the arrays do not fit into a .npz file");
  out += directory;
  put(out, endSignature, 4);
  put(out, 0, 4);  // disks
  put(out, tensors.size(), 2);
  put(out, tensors.size(), 2);
  put(out, directory.size(), 4);
  put(out, at, 4);
  put(out, 0, 2);  // no comment
  return out;
}

std::map<std::string, Tensor> readNpz(const std::filesystem::path& path) {
  return parseNpz(files::readFile(path), path.string());
}

void writeNpz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors) {
  lift::writeFile(path, formatNpz(tensors));
}

}  // namespace lift
