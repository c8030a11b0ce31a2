#include <limits>

#include "files.hpp"

using namespace lift;
using Catch::Contains;

TEST_CASE("a gray image is read") {
  const Tensor tensor = parseImage(std::string("P5\n3 2\n255\n\0\1\2\xFF\n ", 17), "x");
  CHECK(tensor.describe() == "u8[2][3]");
  CHECK(tensor.get(0) == 0);
  CHECK(tensor.get(3) == 255);
  CHECK(tensor.get(4) == '\n');  // a sample that looks like a blank
}

TEST_CASE("a colour image with comments is read") {
  const Tensor tensor = parseImage("P6 # made by hand\n# width\n1\t2 # height\n\n15\nabcdef", "x");
  CHECK(tensor.describe() == "u8[2][1][3]");
  CHECK(tensor.get(5) == 'f');
}

TEST_CASE("an image survives writing and reading") {
  const Folder folder;
  Tensor gray(Scalar::u8, {4, 5});
  Tensor colour(Scalar::u8, {4, 5, 3});
  for (int i = 0; i < 20; ++i) gray.set(i, i * 12);
  for (int i = 0; i < 60; ++i) colour.set(i, i * 4);
  writeTensorFile(folder.path() / "g.pgm", gray);
  writeTensorFile(folder.path() / "c.PPM", colour);
  CHECK(same(readTensorFile(folder.path() / "g.pgm"), gray));
  CHECK(same(readTensorFile(folder.path() / "c.PPM"), colour));
  CHECK(readFile(folder.path() / "g.pgm").value().substr(0, 11) == "P5\n5 4\n255\n");
  Tensor flat = gray;
  flat.shape.push_back(1);
  CHECK(formatImage(flat) == formatImage(gray));
}

TEST_CASE("other element types are clamped and rounded") {
  Tensor tensor(Scalar::f32, {1, 7});
  const double values[] = {-5, 0.4, 0.5, 254.6, 300, std::numeric_limits<double>::quiet_NaN(), 127};
  const int expected[] = {0, 0, 1, 255, 255, 0, 127};
  for (int i = 0; i < 7; ++i) tensor.set(i, values[i]);
  const Tensor image = parseImage(formatImage(tensor), "x");
  for (int i = 0; i < 7; ++i) CHECK(image.get(i) == expected[i]);
  Tensor integers(Scalar::i32, {1, 2});
  integers.set(0, -300);
  integers.set(1, 1000);
  CHECK(parseImage(formatImage(integers), "x").get(0) == 0);
  CHECK(parseImage(formatImage(integers), "x").get(1) == 255);
}

TEST_CASE("tensors that are no images are refused") {
  const Folder folder;
  CHECK_THAT(messageOf([] { formatImage(Tensor(Scalar::u8, {5})); }), Contains("u8[5] is not an image"));
  CHECK_THAT(messageOf([] { formatImage(Tensor(Scalar::u8, {5, 5, 2})); }), Contains("not an image"));
  CHECK_THAT(messageOf([] { formatImage(Tensor(Scalar::u8, {0, 5})); }), Contains("not an image"));
  const Tensor colour(Scalar::u8, {2, 2, 3});
  CHECK_THAT(messageOf([&] { writeTensorFile(folder.path() / "x.pgm", colour); }), Contains(".ppm"));
  CHECK_THAT(messageOf([&] {
               writeTensorFile(folder.path() / "x.ppm", Tensor(Scalar::u8, {2, 2}));
             }),
             Contains(".pgm"));
  CHECK(folder.files() == 0);
}

TEST_CASE("images that cannot be read are refused by their reason") {
  const auto refusal = [](const std::string& text) { return messageOf([&] { parseImage(text, "pic.pgm"); }); };
  CHECK_THAT(refusal("P2\n1 1\n255\n1\n"), Contains("pic.pgm") && Contains("text images"));
  CHECK_THAT(refusal("\x89PNG"), Contains("not a binary PGM"));
  CHECK_THAT(refusal("P5\n2 2\n255\nabc"), Contains("3 bytes of samples of 4"));
  CHECK_THAT(refusal("P5\n2 2\n65535\nabcdefgh"), Contains("65535 is not supported"));
  CHECK_THAT(refusal("P5\n2 2\n0\nabcd"), Contains("0 is not supported"));
  CHECK_THAT(refusal("P5\n0 2\n255\n"), Contains("without pixels"));
  CHECK_THAT(refusal("P5\nx 2\n255\n"), Contains("number expected"));
  CHECK_THAT(refusal("P5\n99999999999999999999 2\n255\n"), Contains("too large"));
  CHECK_THAT(refusal("P6\n1000000000 1000000000\n255\n"), Contains("truncated"));
  CHECK_THAT(refusal("P5\n# no end"), Contains("truncated"));
  CHECK_THAT(refusal("P51 1 255 a"), Contains("blank"));
  CHECK_THAT(refusal("P5 1 1 255"), Contains("truncated"));
}

TEST_CASE("damaged images are read or refused") {
  Tensor tensor(Scalar::u8, {2, 3, 3});
  checkDamage(formatImage(tensor), parseImage);
  checkDamage("P5 #c\n2 2 9\nabcd", parseImage);
}

TEST_CASE("the extension chooses the format") {
  const Folder folder;
  Tensor tensor(Scalar::f32, {2, 2});
  tensor.set(1, 3.7);
  writeTensorFile(folder.path() / "x.npy", tensor);
  CHECK(same(readTensorFile(folder.path() / "x.npy"), tensor));
  writeTensorFile(folder.path() / "x.pgm", tensor);
  CHECK(readTensorFile(folder.path() / "x.pgm").get(1) == 4);
}

TEST_CASE("an unknown extension is a usage error that lists the known ones") {
  for (const char* name : {"x.png", "x", "x.npz", ".npy"}) {
    CAPTURE(name);
    CHECK_THAT(messageOf([&] { readTensorFile(name); }, ExitStatus::usage),
               Contains(name) && Contains(".npy") && Contains(".pgm") && Contains(".ppm"));
    CHECK_THAT(messageOf(
                   [&] {
                     writeTensorFile(name, Tensor(Scalar::u8, {1, 1}));
                   },
                   ExitStatus::usage),
               Contains("known extensions"));
  }
}

TEST_CASE("a missing file is an error of the data") {
  for (const char* name : {"missing.npy", "missing.pgm", "missing.ppm"})
    CHECK_THAT(messageOf([&] { readTensorFile(name); }), Contains(name) && Contains("No such file"));
}
