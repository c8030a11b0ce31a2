#include <cmath>
#include <limits>
#include <vector>

#include "files.hpp"

using namespace lift;
using Catch::Contains;

namespace {

// A version 1 file with any header.
std::string npy(const std::string& header, const std::string& data, char version = 1) {
  std::string out = "\x93NUMPY";
  out += version;
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return out + header + data;
}

std::string refusal(const std::string& header, const std::string& data = "") {
  return messageOf([&] { parseNpy(npy(header, data), "file.npy"); });
}

}  // namespace

TEST_CASE("numpy's f4 array is read") {
  const Tensor tensor = readNpy(fixture("f4_c.npy"));
  CHECK(tensor.describe() == "f32[2][3][4]");
  for (int i = 0; i < 24; ++i) CHECK(tensor.get(i) == (i - 7) / 4.0);
}

TEST_CASE("Fortran order is converted") {
  CHECK(same(readNpy(fixture("f4_fortran.npy")), readNpy(fixture("f4_c.npy"))));
  // The file itself is in another order, or this would show nothing.
  CHECK(readFile(fixture("f4_fortran.npy")).value().substr(128) != readFile(fixture("f4_c.npy")).value().substr(128));
  const Tensor vector = parseNpy(npy("{'descr':'|u1','fortran_order':True,'shape':(3,)}", "abc"), "v");
  CHECK(vector.get(2) == 'c');
}

TEST_CASE("big endian is converted") {
  const Tensor doubles = readNpy(fixture("f8_big_endian.npy"));
  CHECK(doubles.describe() == "f64[2][2]");
  CHECK(doubles.get(0) == 1.5);
  CHECK(doubles.get(1) == -2.25);
  CHECK(doubles.get(2) == 1e300);
  CHECK(std::isinf(doubles.get(3)));
  const Tensor shorts = readNpy(fixture("i2_big_endian_fortran.npy"));
  CHECK(shorts.describe() == "i16[2][3]");
  for (int i = 0; i < 6; ++i) CHECK(shorts.get(i) == i - 3);
}

TEST_CASE("numpy's other element types are read") {
  const Tensor booleans = readNpy(fixture("b1.npy"));
  CHECK(booleans.describe() == "bool[3]");
  CHECK(booleans.get(0) == 1);
  CHECK(booleans.get(1) == 0);
  const Tensor halves = readNpy(fixture("f2.npy"));
  CHECK(halves.describe() == "f16[5]");
  CHECK(halves.get(1) == -0.5);
  CHECK(halves.get(2) == 0x1p-24);
  CHECK(halves.get(3) == 65504);
  const Tensor scalar = readNpy(fixture("i8_scalar.npy"));
  CHECK(scalar.describe() == "i64");
  CHECK(scalar.at(0).integer == -9007199254740993);
  const Tensor wide = readNpy(fixture("u8_wide.npy"));
  CHECK(wide.data<std::uint64_t>()[0] == std::numeric_limits<std::uint64_t>::max());
  CHECK(wide.data<std::uint64_t>()[1] == 0x8000000000000001u);
  CHECK(readNpy(fixture("empty.npy")).describe() == "i32[0][3]");
}

TEST_CASE("format versions 2 and 3 are read") {
  for (const char* name : {"version2.npy", "version3.npy"}) {
    const Tensor tensor = readNpy(fixture(name));
    CHECK(tensor.describe() == "u8[5]");
    CHECK(tensor.get(4) == 4);
  }
}

TEST_CASE("headers are read however they are spelled") {
  for (const char* header : {"{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }   \n",
                             "{\"shape\":(2,),\"descr\":\"i2\",\"fortran_order\":False}",
                             " {'fortran_order' : False ,\n'descr':'=i2','shape':( 2L , )}",
                             "{'descr':'|i2','fortran_order':False,'shape':(1,2)}"}) {
    CAPTURE(header);
    const Tensor tensor = parseNpy(npy(header, std::string("\1\0\2\0", 4)), "x");
    CHECK(tensor.size() == 2);
    CHECK(tensor.get(1) == 2);
  }
}

TEST_CASE("booleans other than one become one") {
  const Tensor tensor =
      parseNpy(npy("{'descr':'|b1','fortran_order':False,'shape':(2,)}", std::string("\0\7", 2)), "x");
  CHECK(tensor.at(0).integer == 0);
  CHECK(tensor.bytes[1] == std::byte{1});
}

TEST_CASE("unsupported element types are named") {
  CHECK_THAT(messageOf([] { readNpy(fixture("complex.npy")); }),
             Contains("complex.npy") && Contains("'<c16' is not supported") && Contains("hint: supported"));
  CHECK_THAT(messageOf([] { readNpy(fixture("structured.npy")); }),
             Contains("structured.npy") && Contains("arrays of structures"));
}

TEST_CASE("malformed headers are refused with their reason") {
  CHECK_THAT(refusal("{'descr':'<f4','fortran_order':False}"), Contains("file.npy") && Contains("no shape"));
  CHECK_THAT(refusal("{'descr':'<f4','shape':(1,)}"), Contains("no fortran_order"));
  CHECK_THAT(refusal("{'fortran_order':False,'shape':(1,)}"), Contains("no descr"));
  CHECK_THAT(refusal("{'descr':'<f4','fortran_order':0,'shape':(1,)}"), Contains("True or False"));
  CHECK_THAT(refusal("{'descr':'<f4','fortran_order':False,'shape':(1)}"), Contains("not a tuple"));
  CHECK_THAT(refusal("{'descr':'<f4','fortran_order':False,'shape':(1 1)}"), Contains("','"));
  CHECK_THAT(refusal("{'descr':'<f4','fortran_order':False,'shape':(-1,)}"), Contains("negative"));
  CHECK_THAT(refusal("{'descr':'<f4','fortran_order':False,'shape':(x,)}"), Contains("integer expected"));
  CHECK_THAT(refusal("{'descr':'<f4','descr':'<f4'}"), Contains("twice"));
  CHECK_THAT(refusal("{'extra':'<f4'}"), Contains("key"));
  CHECK_THAT(refusal("{'descr':'<f4','fortran_order':False,'shape':(1,)} x"), Contains("after"));
  CHECK_THAT(refusal(""), Contains("'{'"));
}

TEST_CASE("sizes that do not fit the file are refused before allocation") {
  const auto shaped = [](const std::string& shape, const std::string& data = "1234") {
    return refusal("{'descr':'<f4','fortran_order':False,'shape':" + shape + "}", data);
  };
  CHECK_THAT(shaped("(2,)"), Contains("4 bytes of data where the shape needs 8"));
  CHECK_THAT(shaped("(1,)", "12345"), Contains("5 bytes of data where the shape needs 4"));
  CHECK_THAT(shaped("(1000000000000,)"), Contains("needs 4000000000000"));
  CHECK_THAT(shaped("(4294967296,4294967296)"), Contains("too large"));
  CHECK_THAT(shaped("(0,4294967296,4294967296)"), Contains("too large"));
  CHECK_THAT(shaped("(99999999999999999999,)"), Contains("too large"));
}

TEST_CASE("files that are no arrays are refused") {
  CHECK_THAT(messageOf([] { parseNpy("", "f"); }), Contains("truncated"));
  CHECK_THAT(messageOf([] { parseNpy("\x93NUM", "f"); }), Contains("truncated"));
  CHECK_THAT(messageOf([] { parseNpy("PK\3\4 something", "f"); }), Contains("not a .npy file"));
  CHECK_THAT(messageOf([] { parseNpy(npy("", "", 4), "f"); }), Contains("version 4.0"));
  CHECK_THAT(messageOf([] { readNpy("/no/such/folder/x.npy"); }), Contains("/no/such/folder/x.npy"));
  CHECK_THAT(messageOf([] { readNpy(std::filesystem::temp_directory_path()); }), Contains("directory"));
}

TEST_CASE("damaged npy files are read or refused") {
  checkDamage(readFile(fixture("f4_fortran.npy")).value(), parseNpy);
  checkDamage(readFile(fixture("version3.npy")).value(), parseNpy);
  checkDamage(readFile(fixture("i2_big_endian_fortran.npy")).value(), parseNpy);
}

TEST_CASE("every type and rank survives writing and reading") {
  for (int s = 0; s < scalarCount; ++s)
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{}, {1}, {7}, {2, 3}, {0, 4}, {2, 1, 3, 2}}) {
      Tensor tensor(static_cast<Scalar>(s), shape);
      fillRandom(tensor, 5, "round trip");
      const std::string text = formatNpy(tensor);
      CAPTURE(tensor.describe());
      if (tensor.scalar == Scalar::h16) tensor.scalar = Scalar::f16;  // as files have it
      CHECK(same(parseNpy(text, "x"), tensor));
      CHECK((text.size() - tensor.bytes.size()) % 64 == 0);
    }
}

TEST_CASE("what is written is what numpy writes") {
  for (const char* name : {"f4_c.npy", "b1.npy", "f2.npy", "i8_scalar.npy", "empty.npy"})
    CHECK(formatNpy(readNpy(fixture(name))) == readFile(fixture(name)).value());
}

TEST_CASE("a header too long for version 1 is written as version 2") {
  const Tensor tensor(Scalar::u8, std::vector<std::int64_t>(30000, 1));
  const std::string text = formatNpy(tensor);
  CHECK(text[6] == 2);
  CHECK(same(parseNpy(text, "x"), tensor));
}

TEST_CASE("writing replaces a file and leaves nothing else") {
  const Folder folder;
  const auto path = folder.path() / "x.npy";
  writeNpy(path, Tensor(Scalar::f32, {100}));
  Tensor second(Scalar::i8, {3});
  second.set(0, 9);
  writeNpy(path, second);
  CHECK(same(readNpy(path), second));
  CHECK(folder.files() == 1);
}

TEST_CASE("writing through a link keeps the link") {
  const Folder folder;
  const Tensor tensor(Scalar::f32, {2});
  writeNpy(folder.path() / "target.npy", Tensor(Scalar::i8, {1}));
  std::filesystem::create_symlink(folder.path() / "target.npy", folder.path() / "link.npy");
  writeNpy(folder.path() / "link.npy", tensor);
  CHECK(std::filesystem::is_symlink(folder.path() / "link.npy"));
  CHECK(same(readNpy(folder.path() / "target.npy"), tensor));
}

TEST_CASE("a folder that does not exist is a user error that names the file") {
  const Folder folder;
  const auto path = folder.path() / "no" / "x.npy";
  CHECK_THAT(messageOf([&] { writeNpy(path, Tensor(Scalar::f32, {1})); }), Contains(path.string()));
  CHECK_THAT(messageOf([&] { writeNpy(folder.path(), Tensor(Scalar::f32, {1})); }), Contains("directory"));
  CHECK(folder.files() == 0);
}
