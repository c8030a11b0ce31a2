#include <zlib.h>

#include <map>

#include "files.hpp"

using namespace lift;
using Catch::Contains;

namespace {

using Tensors = std::map<std::string, Tensor>;

Tensors some() {
  Tensors tensors;
  tensors["weights"] = Tensor(Scalar::f32, {2, 3});
  tensors["b"] = Tensor(Scalar::i8, {});
  fillRandom(tensors["weights"], 1, "w");
  tensors["b"].set(0, -7);
  return tensors;
}

std::string little(std::uint64_t value, int width) {
  std::string out;
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

std::uint32_t checksum(const std::string& text) {
  return static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
}

std::string deflated(const std::string& text) {
  std::string out(text.size() + 1000, '\0');
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// An archive of one member whose records may say anything.
struct Archive {
  std::string name = "a.npy";
  std::string data;  // as it stands in the file
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
  int method = 0;
  int flags = 0;
  bool zip64 = false;
  std::string comment;
  int copies = 1;           // of the directory entry
  std::uint32_t shift = 0;  // added to where the end record says the directory is

  static Archive stored(const std::string& contents) {
    Archive archive;
    archive.data = contents;
    archive.size = contents.size();
    archive.crc = checksum(contents);
    return archive;
  }

  std::string text() const {
    const std::string fields = little(20, 2) + little(flags, 2) + little(method, 2) + little(0, 4) + little(crc, 4);
    const std::string plain = little(data.size(), 4) + little(size, 4);
    const std::string ones = little(0xFFFFFFFF, 4) + little(0xFFFFFFFF, 4);
    const std::string extra64 = little(1, 2) + little(24, 2) + little(size, 8) + little(data.size(), 8) + little(0, 8);
    const std::string extra = zip64 ? little(0x5555, 2) + little(2, 2) + "ab" + extra64 : "";
    // Writers that do not seek leave out checksum and sizes here; the directory has them.
    std::string out = "PK\3\4" + little(20, 2) + little(flags, 2) + little(method, 2) + std::string(16, '\0') +
                      little(name.size(), 2) + little(3, 2) + name + "xyz" + data;
    const std::string entry = "PK\1\2" + little(20, 2) + fields + (zip64 ? ones : plain) + little(name.size(), 2) +
                              little(extra.size(), 2) + little(4, 2) + little(0, 8) +
                              little(zip64 ? 0xFFFFFFFF : 0, 4) + name + extra + "note";
    const std::size_t at = out.size();
    for (int i = 0; i < copies; ++i) out += entry;
    const std::size_t bytes = out.size() - at;
    if (zip64) {
      const std::size_t end = out.size();
      out += "PK\6\6" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) +
             little(static_cast<std::uint64_t>(copies), 8) + little(static_cast<std::uint64_t>(copies), 8) +
             little(bytes, 8) + little(at, 8);
      out += "PK\6\7" + little(0, 4) + little(end, 8) + little(1, 4);
      return out + "PK\5\6" + little(0, 4) + little(0xFFFFFFFF, 4) + ones + little(comment.size(), 2) + comment;
    }
    return out + "PK\5\6" + little(0, 4) + little(static_cast<std::uint64_t>(copies), 2) +
           little(static_cast<std::uint64_t>(copies), 2) + little(bytes, 4) + little(at + shift, 4) +
           little(comment.size(), 2) + comment;
  }
};

std::string refusal(const Archive& archive) {
  return messageOf([&] { parseNpz(archive.text(), "file.npz"); });
}

std::string sample() { return formatNpy(some()["weights"]); }

}  // namespace

TEST_CASE("numpy's stored archive is read") {
  const Tensors tensors = readNpz(fixture("stored.npz"));
  REQUIRE(tensors.size() == 2);
  CHECK(same(tensors.at("weights"), readNpy(fixture("f4_c.npy"))));
  CHECK(tensors.at("bias").describe() == "i32[3]");
  CHECK(tensors.at("bias").get(1) == -2);
}

TEST_CASE("numpy's deflated archive is read") {
  const Tensors tensors = readNpz(fixture("deflated.npz"));
  REQUIRE(tensors.size() == 3);
  CHECK(same(tensors.at("weights"), readNpy(fixture("f4_c.npy"))));
  CHECK(same(tensors.at("zeros"), Tensor(Scalar::f32, {64, 64})));
}

TEST_CASE("an archive survives writing and reading") {
  const Folder folder;
  const auto path = folder.path() / "x.npz";
  writeNpz(path, some());
  const Tensors back = readNpz(path);
  REQUIRE(back.size() == 2);
  for (const auto& [key, tensor] : some()) CHECK(same(back.at(key), tensor));
  CHECK(folder.files() == 1);
  CHECK(parseNpz(formatNpz({}), "x").empty());
}

TEST_CASE("equal tensors give equal archives") { CHECK(formatNpz(some()) == formatNpz(some())); }

TEST_CASE("keys keep slashes and letters beyond ASCII") {
  Tensors tensors;
  tensors["layer/0/\xCE\xB8"] = Tensor(Scalar::u8, {1});
  CHECK(parseNpz(formatNpz(tensors), "x").contains("layer/0/\xCE\xB8"));
}

TEST_CASE("archives of other writers are read") {
  const Tensor expected = some()["weights"];
  Archive archive = Archive::stored(sample());
  archive.comment = "a comment with PK\5\6 inside";
  CHECK(same(parseNpz(archive.text(), "x").at("a"), expected));
  archive.zip64 = true;
  CHECK(same(parseNpz(archive.text(), "x").at("a"), expected));
  archive.data = deflated(sample());
  archive.method = 8;
  CHECK(same(parseNpz(archive.text(), "x").at("a"), expected));
}

TEST_CASE("members that are no arrays are passed over") {
  Archive archive = Archive::stored("read me");
  archive.name = "README";
  CHECK_THAT(refusal(archive), Contains("no .npy arrays"));
  archive.name = "a.npy";
  CHECK_THAT(refusal(archive), Contains("file.npz:a.npy") && Contains("not a .npy file"));
}

TEST_CASE("a wrong checksum is refused") {
  Archive archive = Archive::stored(sample());
  archive.crc ^= 1;
  CHECK_THAT(refusal(archive), Contains("file.npz:a.npy") && Contains("checksum"));
}

TEST_CASE("a deflated member that lies about its size is refused") {
  Archive archive = Archive::stored(sample());
  archive.data = deflated(sample());
  archive.method = 8;
  CHECK(parseNpz(archive.text(), "x").size() == 1);
  const std::uint64_t size = archive.size;
  for (const std::uint64_t lie : {size - 1, size + 1, std::uint64_t{0}, size / 2, size * 100}) {
    archive.size = lie;
    CHECK_THAT(refusal(archive), Contains("does not unpack to its size"));
  }
  archive.size = 0xFFFFFFF0;
  CHECK_THAT(refusal(archive), Contains("impossible size"));
  archive.size = size;
  archive.data += "more";
  CHECK_THAT(refusal(archive), Contains("does not unpack"));
  archive.data = "\xFF\xFF\xFF\xFF";
  CHECK_THAT(refusal(archive), Contains("does not unpack"));
}

TEST_CASE("members that cannot be read are refused by their reason") {
  Archive archive = Archive::stored(sample());
  archive.method = 12;
  CHECK_THAT(refusal(archive), Contains("method 12"));
  archive.method = 0;
  archive.flags = 1;
  CHECK_THAT(refusal(archive), Contains("encrypted"));
  archive.flags = 0;
  archive.size += 1;
  CHECK_THAT(refusal(archive), Contains("two sizes"));
}

TEST_CASE("archives whose records disagree are refused") {
  Archive archive = Archive::stored(sample());
  archive.copies = 2;
  CHECK_THAT(refusal(archive), Contains("overlap"));
  archive.copies = 1;
  archive.shift = 1;
  CHECK_THAT(refusal(archive), Contains("directory"));
  CHECK_THAT(messageOf([] { parseNpz("", "x"); }), Contains("not a zip archive"));
  CHECK_THAT(messageOf([] { parseNpz(std::string(70000, 'P'), "x"); }), Contains("not a zip archive"));
}

TEST_CASE("damaged archives are read or refused") {
  Archive archive = Archive::stored(formatNpy(Tensor(Scalar::u8, {2})));
  checkDamage(archive.text(), parseNpz);
  archive.zip64 = true;
  archive.method = 8;
  archive.data = deflated(archive.data);
  checkDamage(archive.text(), parseNpz);
}

TEST_CASE("numpy's archives damaged are read or refused") {
  checkDamage(readFile(fixture("stored.npz")).value(), parseNpz, 23);
  checkDamage(readFile(fixture("deflated.npz")).value(), parseNpz, 23);
}

TEST_CASE("the data of a damaged archive are never wrong") {
  const std::string text = formatNpz(some());
  const Tensors expected = some();
  std::string changed = text;
  for (std::size_t at = 0; at < text.size(); ++at) {
    changed[at] = static_cast<char>(text[at] ^ 0x10);
    try {
      for (const auto& [key, tensor] : parseNpz(changed, "x")) {
        // A change of a name passes unseen where both records agree; one record alone does not.
        REQUIRE(expected.contains(key));
        REQUIRE(same(tensor, expected.at(key)));
      }
    } catch (const UserError&) {
    }
    changed[at] = text[at];
  }
}
