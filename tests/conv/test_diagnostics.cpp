// What a wrong descriptor's user reads, whole.
#include <filesystem>
#include <fstream>

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
  CHECK(complaint("ic3id4ih9oc4kd3kh3") == R"(conv:1:4: error: 'id' belongs to a 3D convolution; this one is 2D
ic3id4ih9oc4kd3kh3
   ^~~
  hint: `liftc op conv3d` computes convolutions in three dimensions
conv:1:13: error: 'kd' belongs to a 3D convolution; this one is 2D
ic3id4ih9oc4kd3kh3
            ^~~
  hint: `liftc op conv3d` computes convolutions in three dimensions
)");
}

TEST_CASE("missing sizes, all at once, where the text ends") {
  CHECK(complaint("mb1ih9") ==
        R"(conv:1:7: error: missing 'ic' (input channels), 'oc' (output channels), 'kh' (kernel rows)
mb1ih9
      ^
)");
  CHECK(complaint("-n 1 -H 9 -y 3") == R"(conv:1:15: error: missing '-c' (input channels), '-k' (output channels)
-n 1 -H 9 -y 3
              ^
)");
}

TEST_CASE("zero and negative sizes") {
  CHECK(complaint("mb0ic3ih0oc4kh3sh0ph-1") == R"(conv:1:1: error: 'mb' must be at least 1
mb0ic3ih0oc4kh3sh0ph-1
^~~
conv:1:7: error: 'ih' must be at least 1
mb0ic3ih0oc4kh3sh0ph-1
      ^~~
conv:1:16: error: 'sh' must be at least 1
mb0ic3ih0oc4kh3sh0ph-1
               ^~~
conv:1:19: error: 'ph' must be at least 0
mb0ic3ih0oc4kh3sh0ph-1
                  ^~~~
)");
}

TEST_CASE("numbers that overflow") {
  CHECK(complaint("ic3ih99999999999999999999oc4kh3") == R"(conv:1:4: error: 'ih' must be at most 2147483647
ic3ih99999999999999999999oc4kh3
   ^~~~~~~~~~~~~~~~~~~~~~
)");
  CHECK(complaint("ic3ih9oc4kh2000000000dh9") ==
        R"(conv:1:10: error: kernel of 2000000000 rows, 19999999991 with dilation, is larger than 2147483647
ic3ih9oc4kh2000000000dh9
         ^~~~~~~~~~~~
)");
  CHECK(complaint("ic2147483647ih2147483647oc2147483647kh1") ==
        R"(conv:1:1: error: layer is too large: elements of the input exceed 2^60
ic2147483647ih2147483647oc2147483647kh1
^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
conv:1:1: error: layer is too large: weights exceed 2^60
ic2147483647ih2147483647oc2147483647kh1
^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
conv:1:1: error: layer is too large: elements of the output exceed 2^60
ic2147483647ih2147483647oc2147483647kh1
^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
conv:1:1: error: layer is too large: multiply-accumulates exceed 2^60
ic2147483647ih2147483647oc2147483647kh1
^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
)");
}

TEST_CASE("channels that the groups do not divide") {
  CHECK(complaint("g4ic10ih9oc7kh3") == R"(conv:1:3: error: 'ic' is 10, which is not divisible into 4 groups ('g')
g4ic10ih9oc7kh3
  ^~~~
  hint: channels are counted over all groups
conv:1:10: error: 'oc' is 7, which is not divisible into 4 groups ('g')
g4ic10ih9oc7kh3
         ^~~
  hint: channels are counted over all groups
)");
}

TEST_CASE("a kernel larger than the padded input") {
  CHECK(complaint("ic3ih5iw9oc4kh9ph1") ==
        R"(conv:1:13: error: kernel of 9 rows is larger than the padded input of 7 rows
ic3ih5iw9oc4kh9ph1
            ^~~
)");
  CHECK(complaint("ic3ih9iw5oc4kh3dh3ph0") ==
        R"(conv:1:13: error: kernel of 3 columns, 9 with dilation, is larger than the input of 5 columns
ic3ih9iw5oc4kh3dh3ph0
            ^~~
)");
}

TEST_CASE("an output smaller than stride and padding give") {
  CHECK(complaint("ic8ih28oc8oh20kh3ph1") ==
        R"(conv:1:11: error: output of 20 rows leaves out 7 windows that fit into the input
ic8ih28oc8oh20kh3ph1
          ^~~~
  hint: stride 1 and padding 1 on both sides give 28 rows
)");
}

TEST_CASE("an output larger than stride and padding give") {
  CHECK(complaint("ic8ih28iw20oc8oh28ow28kh3ph1") ==
        R"(conv:1:19: error: output of 28 columns needs 9 columns of padding at the right, more than the kernel spans
ic8ih28iw20oc8oh28ow28kh3ph1
                  ^~~~
  hint: stride 1 and padding 1 on both sides give 20 columns
)");
}

TEST_CASE("a key given twice shows both places") {
  CHECK(complaint("ic8ih28oc8kh3_ic9") == R"(conv:1:15: error: 'ic' is given twice
ic8ih28oc8kh3_ic9
              ^~~
conv:1:1: note: the first time here
ic8ih28oc8kh3_ic9
^~~
)");
}

TEST_CASE("keys without numbers and numbers without keys") {
  CHECK(complaint("ic8ih28oc8kh3ph") == R"(conv:1:14: error: expected a number after 'ph'
ic8ih28oc8kh3ph
             ^~
)");
  CHECK(complaint("ic8ih28oc8kh3 14") == R"(conv:1:14: error: expected a key
ic8ih28oc8kh3 14
             ^~~
  hint: keys are g mb ic ih iw oc oh ow kh kw sh sw ph pw dh dw, and n for the name
)");
}

TEST_CASE("names that are not closed or have quotes") {
  CHECK(complaint("ic8ih28oc8kh3n\"abc") ==
        "conv:1:14: error: the name's quote is not closed\n"
        "ic8ih28oc8kh3n\"abc\n"
        "             ^~~~~\n");
  CHECK(complaint("ic8ih28oc8kh3nab\"c") ==
        "conv:1:14: error: a name cannot contain quotes or line breaks\n"
        "ic8ih28oc8kh3nab\"c\n"
        "             ^~~~~\n");
}

TEST_CASE("an empty descriptor") {
  CHECK(complaint("  ") ==
        "conv:1:3: error: empty convolution descriptor\n  \n  ^\n"
        "  hint: for example ic64ih56oc64kh3ph1\n");
}

TEST_CASE("wrong MIOpenDriver flags, all at once") {
  CHECK(complaint("MIOpenDriver convfp16 -c 3 -Q 4 -F 2 -k x -H 9 -y 3 -l 0 -m trans") ==
        R"(conv:1:14: error: expected 'conv' after MIOpenDriver
MIOpenDriver convfp16 -c 3 -Q 4 -F 2 -k x -H 9 -y 3 -l 0 -m trans
             ^~~~~~~~
  hint: element types are not part of a layer's descriptor
conv:1:28: error: unknown flag '-Q'
MIOpenDriver convfp16 -c 3 -Q 4 -F 2 -k x -H 9 -y 3 -l 0 -m trans
                           ^~~~
  hint: layers are given by -n -c -H -W -k -y -x -p -q -u -v -l -j -g
conv:1:33: error: '-F 2': only the forward direction is supported
MIOpenDriver convfp16 -c 3 -Q 4 -F 2 -k x -H 9 -y 3 -l 0 -m trans
                                ^~~~
conv:1:38: error: expected a number after '-k'
MIOpenDriver convfp16 -c 3 -Q 4 -F 2 -k x -H 9 -y 3 -l 0 -m trans
                                     ^~~~
conv:1:53: error: '-l' must be at least 1
MIOpenDriver convfp16 -c 3 -Q 4 -F 2 -k x -H 9 -y 3 -l 0 -m trans
                                                    ^~~~
  hint: 1 is no dilation
conv:1:58: error: '-m trans': only forward convolutions are supported
MIOpenDriver convfp16 -c 3 -Q 4 -F 2 -k x -H 9 -y 3 -l 0 -m trans
                                                         ^~~~~~~~
)");
}

TEST_CASE("MIOpenDriver errors name the flags as they were written") {
  CHECK(complaint("--in_channels 6 --in_h 9 --out_channels 4 --fil_h 3 --group_count 4") ==
        R"(conv:1:1: error: '--in_channels' is 6, which is not divisible into 4 groups ('--group_count')
--in_channels 6 --in_h 9 --out_channels 4 --fil_h 3 --group_count 4
^~~~~~~~~~~~~~~
  hint: channels are counted over all groups
)");
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
                    "error: cannot read the shapes file '/nonexistent/shapes.txt'\n");
  CHECK_THROWS_AS(readShapes("/"), UserError);
  CHECK_THROWS_WITH(readShapes("/dev/null"), "error: '/dev/null' has no descriptors\n");
}

TEST_CASE("an empty shapes file holds no layers") {
  CHECK(parseShapes("", "none").empty());
  CHECK(parseShapes("# nothing\n\n", "none").empty());
}

TEST_CASE("no descriptor crashes the reader") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const std::string good = R"(g1mb1ic64ih24iw24oc64oh24ow24kh3kw3sh1sw1ph1pw1dh0n"vgg2" -n 1 --in_h=3 -c)";
  int accepted = 0, refused = 0;
  for (int n = 0; n < 20000; ++n) {
    std::string text = n % 2   ? good.substr(random() % good.size(), random() % good.size())
                       : n % 4 ? R"(g2mb1ic64ih24oc64oh24kh3sh1ph1dh0n"vgg2")"
                               : "-c 8 -H 24 -k 4 -y 3 -p 1 --fil_w=3";
    for (std::uint64_t edits = random() % 6; edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text.erase(at, 1);
          break;
        case 1:
          text.insert(at, 1, static_cast<char>(random() % 256));
          break;
        default:
          text[at] = good[random() % good.size()];
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
      ++refused;
    }
  }
  CHECK(accepted + refused == 20000);
  CHECK(accepted > 1000);
}
