// What a wrong descriptor's user reads, whole.

#include "harness/setting.hpp"
#include "helpers.hpp"

using namespace lift;
using namespace lift::test;

TEST_CASE("unknown keys") {
  CHECK(complaint("ic3ih9oc4kh3zz5") == R"(conv:1:13: error: unknown key 'zz'
ic3ih9oc4kh3zz5
            ^~~
  hint: keys are g mb ic ih iw oc oh ow kh kw sh sw ph pw dh dw, and n for the name
)");
}

TEST_CASE("keys of 3D convolutions") {
  CHECK(briefly("ic3id4ih9oc4kd3kh3") ==
        "1:4-6 'id' belongs to a 3D convolution; this one is 2D (`liftc op conv3d` computes convolutions in three "
        "dimensions)\n"
        "1:13-15 'kd' belongs to a 3D convolution; this one is 2D (`liftc op conv3d` computes convolutions in three "
        "dimensions)");
}

TEST_CASE("missing sizes, all at once, where the text ends") {
  CHECK(briefly("mb1ih9") == "1:7 missing 'ic' (input channels), 'oc' (output channels), 'kh' (kernel rows)");
  CHECK(briefly("-n 1 -H 9 -y 3") == "1:15 missing '-c' (input channels), '-k' (output channels)");
}

TEST_CASE("zero and negative sizes") {
  CHECK(briefly("mb0ic3ih0oc4kh3sh0ph-1") ==
        "1:1-3 'mb' must be at least 1\n"
        "1:7-9 'ih' must be at least 1\n"
        "1:16-18 'sh' must be at least 1\n"
        "1:19-22 'ph' must be at least 0");
}

TEST_CASE("numbers that overflow") {
  CHECK(briefly("ic3ih99999999999999999999oc4kh3") == "1:4-25 'ih' must be at most 2147483647");
  CHECK(briefly("ic3ih9oc4kh2000000000dh9") ==
        "1:10-21 kernel of 2000000000 rows, 19999999991 with dilation, is larger than 2147483647");
  CHECK(briefly("ic2147483647ih2147483647oc2147483647kh1") ==
        "1:1-39 layer is too large: elements of the input exceed 2^60\n"
        "1:1-39 layer is too large: weights exceed 2^60\n"
        "1:1-39 layer is too large: elements of the output exceed 2^60\n"
        "1:1-39 layer is too large: multiply-accumulates exceed 2^60");
}

TEST_CASE("channels that the groups do not divide") {
  CHECK(briefly("g4ic10ih9oc7kh3") ==
        "1:3-6 'ic' is 10, which is not divisible into 4 groups ('g') (channels are counted over all groups)\n"
        "1:10-12 'oc' is 7, which is not divisible into 4 groups ('g') (channels are counted over all groups)");
}

TEST_CASE("a kernel larger than the padded input") {
  CHECK(briefly("ic3ih5iw9oc4kh9ph1") == "1:13-15 kernel of 9 rows is larger than the padded input of 7 rows");
  CHECK(briefly("ic3ih9iw5oc4kh3dh3ph0") ==
        "1:13-15 kernel of 3 columns, 9 with dilation, is larger than the input of 5 columns");
}

TEST_CASE("an output smaller than stride and padding give") {
  CHECK(briefly("ic8ih28oc8oh20kh3ph1") ==
        "1:11-14 output of 20 rows leaves out 7 windows that fit into the input (stride 1 and padding 1 on both sides "
        "give 28 rows)");
}

TEST_CASE("an output larger than stride and padding give") {
  CHECK(briefly("ic8ih28iw20oc8oh28ow28kh3ph1") ==
        "1:19-22 output of 28 columns needs 9 columns of padding at the right, all that its last window would see "
        "(stride 1 and padding 1 on both sides give 20 columns)");
}

TEST_CASE("a key given twice shows both places") {
  CHECK(briefly("ic8ih28oc8kh3_ic9") ==
        "1:15-17 'ic' is given twice\n"
        "1:1-3 note: the first time here");
}

TEST_CASE("keys without numbers and numbers without keys") {
  CHECK(briefly("ic8ih28oc8kh3ph") == "1:14-15 expected a number after 'ph'");
  CHECK(briefly("ic8ih28oc8kh3 14") ==
        "1:14-16 expected a key (keys are g mb ic ih iw oc oh ow kh kw sh sw ph pw dh dw, and n for the name)");
}

TEST_CASE("names that are not closed, have quotes or are no text") {
  CHECK(briefly("ic8ih28oc8kh3n\"a\xFF\"") == "1:14-18 a name must be UTF-8 text");

  CHECK(briefly("ic8ih28oc8kh3n\"abc") == "1:14-18 the name's quote is not closed");
  CHECK(briefly("ic8ih28oc8kh3nab\"c") == "1:14-18 a name cannot contain quotes or line breaks");
}

TEST_CASE("an empty descriptor") {
  CHECK(briefly("  ") == "1:3 empty convolution descriptor (for example ic64ih56oc64kh3ph1)");
}

TEST_CASE("wrong MIOpenDriver flags, all at once") {
  CHECK(briefly("MIOpenDriver convfp16 -c 3 -Q 4 -F 2 -k x -H 9 -y 3 -l 0 -m trans") ==
        "1:14-21 expected 'conv' after MIOpenDriver (element types are not part of a layer's descriptor)\n"
        "1:28-31 unknown flag '-Q' (layers are given by -n -c -H -W -k -y -x -p -q -u -v -l -j -g)\n"
        "1:33-36 '-F 2': only the forward direction is supported\n"
        "1:38-41 expected a number after '-k'\n"
        "1:53-56 '-l' must be at least 1 (1 is no dilation)\n"
        "1:58-65 '-m trans': only forward convolutions are supported");
}

TEST_CASE("MIOpenDriver errors name the flags as they were written") {
  CHECK(briefly("--in_channels 6 --in_h 9 --out_channels 4 --fil_h 3 --group_count 4") ==
        "1:1-15 '--in_channels' is 6, which is not divisible into 4 groups ('--group_count') (channels are counted "
        "over all groups)");
}

TEST_CASE("shapes files: comments, both notations, and the file's own line numbers") {
  const std::vector<ConvSpec> read =
      parseShapes("# a file\r\n\n  ic3ih9oc4kh3n\"a #1\"   # a comment\n-c 3 -H 9 -k 4 -y 3\n\t# end", "layers.txt");
  REQUIRE(read.size() == 2);
  CHECK(read[0].name == "a #1");
  CHECK(read[1] == parseConv("ic3ih9oc4kh3"));
  try {
    parseShapes("# a file\nic3ih9oc4kh3\n\n  ic3ih9oc4 # no kernel\nic3ih9oc4kh3\nqq1ic3ih9oc4kh3sh0\n", "layers.txt");
    FAIL("accepted");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()) == R"(layers.txt:4:12: error: missing 'kh' (kernel rows)
  ic3ih9oc4 # no kernel
           ^
layers.txt:6:1: error: unknown key 'qq'
qq1ic3ih9oc4kh3sh0
^~~
  hint: keys are g mb ic ih iw oc oh ow kh kw sh sw ph pw dh dw, and n for the name
layers.txt:6:16: error: 'sh' must be at least 1
qq1ic3ih9oc4kh3sh0
               ^~~
)");
  }
}

TEST_CASE("a shapes file that cannot be read") {
  CHECK_THROWS_WITH(readShapes("/nonexistent/shapes.txt"),
                    "error: cannot read '/nonexistent/shapes.txt': No such file or directory\n");
  CHECK_THROWS_AS(readShapes("/"), UserError);
  CHECK_THROWS_WITH(readShapes("/dev/null"), "error: '/dev/null' has no descriptors\n");
}

TEST_CASE("an empty shapes file holds no layers") {
  CHECK(parseShapes("", "none").empty());
  CHECK(parseShapes("# nothing\n\n", "none").empty());
}

TEST_CASE("no descriptor crashes the reader") {
  const std::uint64_t seed = newSeed();
  INFO("LIFT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  const std::string good = R"(g1mb1ic64ih24iw24oc64oh24ow24kh3kw3sh1sw1ph1pw1dh0n"vgg2" -n 1 --in_h=3 -c)";
  int accepted = 0;
  for (int n = 0; n < 20000; ++n) {
    std::string text = n % 2   ? good.substr(random() % good.size(), random() % good.size())
                       : n % 4 ? R"(g2mb1ic64ih24oc64oh24kh3sh1ph1dh0n"vgg2")"
                               : "-c 8 -H 24 -k 4 -y 3 -p 1 --fil_w=3";
    for (std::uint64_t edits = random() % 6; edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text.erase(at, 1); break;
        case 1: text.insert(at, 1, static_cast<char>(random() % 256)); break;
        default: text[at] = good[random() % good.size()];
      }
    }
    INFO(text);
    try {
      const ConvSpec s = parseConv(text);
      REQUIRE(s.problems().empty());
      REQUIRE(parseConv(s.str()) == s);
      ++accepted;
    } catch (const UserError& error) {
      REQUIRE(!error.diagnostics().empty());
    }
  }
  CHECK(accepted > 1000);
}
