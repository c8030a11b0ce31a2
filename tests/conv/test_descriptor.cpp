// Both notations of a layer: what they mean, and that printing one gives it back.
#include <fmt/format.h>

#include <algorithm>

#include "harness/setting.hpp"
#include "helpers.hpp"

using namespace lift;
using namespace lift::test;

namespace {
std::vector<std::int64_t> pads(const ConvSpec& s) { return {s.padTop, s.padLeft, s.padBottom, s.padRight}; }
using List = std::vector<std::int64_t>;
}  // namespace

TEST_CASE("a full benchdnn token sets every number") {
  const ConvSpec s = parseConv(R"(g2mb3ic4ih20iw30oc6oh9ow9kh5kw4sh2sw3ph1pw2dh0dw1n"all of it")");
  CHECK(s.groups == 2);
  CHECK(s.batch == 3);
  CHECK(List{s.ic, s.ih, s.iw} == List{4, 20, 30});
  CHECK(List{s.oc, s.oh, s.ow} == List{6, 9, 9});
  CHECK(List{s.kh, s.kw, s.sh, s.sw, s.dh, s.dw} == List{5, 4, 2, 3, 0, 1});
  // (9 - 1) * 2 + 5 = 21 rows from row -1: none below. (9 - 1) * 3 + 7 = 31 columns from column -2.
  CHECK(pads(s) == List{1, 2, 0, 0});
  CHECK(s.name == "all of it");
}

TEST_CASE("the design's example") {
  const std::string text = R"(g1mb1ic64ih224iw224oc64oh224ow224kh3kw3sh1sw1ph1pw1n"vgg2")";
  const ConvSpec s = parseConv(text);
  CHECK(pads(s) == List{1, 1, 1, 1});
  CHECK(s.str() == text);
}

TEST_CASE("a missing column value is the row value") {
  CHECK(parseConv("ic3ih9oc4kh3sh2ph1dh1") == parseConv("ic3ih9iw9oc4kh3kw3sh2sw2ph1pw1dh1dw1"));
}

TEST_CASE("a missing row value is the column value") {
  CHECK(parseConv("ic3iw9oc4kw3sw2pw1dw1ow4") == parseConv("ic3ih9iw9oc4kh3kw3sh2sw2ph1pw1dh1dw1"));
}

TEST_CASE("each missing value is taken by itself") {
  const ConvSpec s = parseConv("ic3ih8iw16oc4kh3sh2ph1");
  CHECK(List{s.kw, s.sw, s.padLeft, s.oh, s.ow} == List{3, 2, 1, 4, 8});
}

TEST_CASE("an output size is copied only between equal axes") {
  const ConvSpec s = parseConv("ic3ih8iw16oc4oh8kh3ph1");
  CHECK(List{s.oh, s.ow} == List{8, 16});
}

TEST_CASE("defaults: one image, one group, stride 1, no padding, no dilation") {
  const ConvSpec s = parseConv("ic3ih9oc4kh3");
  CHECK(List{s.batch, s.groups, s.sh, s.sw, s.dh, s.dw} == List{1, 1, 1, 1, 0, 0});
  CHECK(pads(s) == List{0, 0, 0, 0});
  CHECK(List{s.oh, s.ow} == List{7, 7});
  CHECK(s.name.empty());
}

TEST_CASE("keys come in any order, with underscores") {
  CHECK(parseConv("kh3_oc4_ih9__ph1_ic3_mb2_g1_") == parseConv("g1mb2ic3ih9oc4kh3ph1"));
}

TEST_CASE("names are bare or quoted, and quoted ones may be followed by keys") {
  CHECK(parseConv("ic3ih9oc4kh3nresnet:conv1").name == "resnet:conv1");
  CHECK(parseConv(R"(ic3ih9oc4kh3n"two words")").name == "two words");
  CHECK(parseConv(R"(n"first"ic3ih9oc4kh3)").name == "first");
  CHECK(parseConv(R"(ic3ih9oc4kh3n"")").name.empty());
}

TEST_CASE("without padding, the output size fixes it: half before, the odd line after") {
  CHECK(pads(parseConv("ic3ih9oc4oh9kh3")) == List{1, 1, 1, 1});
  CHECK(pads(parseConv("ic3ih9oc4oh9kh4")) == List{1, 1, 2, 2});
  CHECK(pads(parseConv("ic3ih224oc4oh112kh7sh2")) == List{2, 2, 3, 3});
  CHECK(pads(parseConv("ic3ih9oc4oh4kh3sh2")) == List{0, 0, 0, 0});
}

TEST_CASE("with padding, the output size fixes the end") {
  CHECK(pads(parseConv("ic3ih224oc4oh112kh7sh2ph3")) == List{3, 3, 2, 2});
  CHECK(pads(parseConv("ic3ih13oc4oh13kh2ph0")) == List{0, 0, 1, 1});
  CHECK(pads(parseConv("ic3ih13oc4oh13kh2ph1")) == List{1, 1, 0, 0});
}

TEST_CASE("padding that no window reads is not part of the layer") {
  CHECK(parseConv("ic3ih224oc4kh7sh2ph3") == parseConv("ic3ih224oc4oh112kh7sh2ph3"));
  CHECK(pads(parseConv("ic8ih16oc16kh3sh3")) == List{0, 0, 0, 0});
  CHECK(parseConv("ic8ih16oc16kh3sh3").oh == 5);
}

TEST_CASE("dilation of a token counts the elements between taps") {
  const ConvSpec s = parseConv("ic3ih9oc4kh3dh1");
  CHECK(s.extentH() == 5);
  CHECK(s.oh == 5);
}

TEST_CASE("a one-dimensional layer says ih1kh1") {
  const ConvSpec s = parseConv("ic7ih1iw40oc9kh1kw3ph0pw1");
  CHECK(List{s.oh, s.ow} == List{1, 40});
}

TEST_CASE("MIOpenDriver's short flags") {
  CHECK(parseConv("-n 1 -c 64 -H 224 -W 224 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -g 1") ==
        parseConv("g1mb1ic64ih224oc64kh3ph1"));
}

TEST_CASE("MIOpenDriver's long flags, with blanks or equals signs") {
  const ConvSpec want = parseConv("g2mb4ic8ih20iw30oc16kh3kw5sh2sw1ph1pw2dh1dw0");
  CHECK(parseConv("--batchsize 4 --in_channels 8 --in_h 20 --in_w 30 --out_channels 16 --fil_h 3 --fil_w 5 --pad_h 1 "
                  "--pad_w 2 --conv_stride_h 2 --conv_stride_w 1 --dilation_h 2 --dilation_w 1 --group_count 2") ==
        want);
  CHECK(parseConv("--batchsize=4 --in_channels=8 --in_h=20 --in_w=30 --out_channels=16 --fil_h=3 --fil_w=5 --pad_h=1 "
                  "--pad_w=2 --conv_stride_0=2 --conv_stride_1=1 --dilation_h=2 --dilation_w=1 -g 2") == want);
}

TEST_CASE("a whole MIOpenDriver command, as its log prints it") {
  CHECK(parseConv("./bin/MIOpenDriver conv -n 128 -c 64 -H 56 -W 56 -k 64 -y 1 -x 1 -p 0 -q 0 -u 1 -v 1 -l 1 -j 1 "
                  "-m conv -g 1 -F 1 -t 1 -V 0 -i 100 --spatial_dim 2") == parseConv("mb128ic64ih56oc64kh1"));
}

TEST_CASE("MIOpenDriver's dilation of 1 is none") {
  CHECK(parseConv("-c 3 -H 9 -k 4 -y 3 -l 1").dh == 0);
  CHECK(parseConv("-c 3 -H 9 -k 4 -y 3 -l 2").extentH() == 5);
  CHECK(parseConv("-c 3 -H 9 -k 4 -y 3 -l 2").dw == 1);
}

TEST_CASE("random layers print and parse back") {
  const std::uint64_t seed = newSeed();
  INFO("LIFT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int n = 0; n < 5000; ++n) {
    const ConvSpec s = randomSpec(random);
    INFO(s.str());
    REQUIRE(s.problems().empty());
    REQUIRE(parseConv(s.str()) == s);
    REQUIRE(parseConv(s.str()).str() == s.str());
  }
}

TEST_CASE("random layers in random order and with what may be left out left out") {
  const std::uint64_t seed = newSeed();
  INFO("LIFT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int n = 0; n < 3000; ++n) {
    ConvSpec s = randomSpec(random);
    s.name.clear();
    if (random() % 2) {  // equal axes, where all column values may go
      s.iw = s.ih, s.kw = s.kh, s.sw = s.sh, s.dw = s.dh;
      s.padLeft = s.padTop, s.ow = s.oh, s.padRight = s.padBottom;
    }
    const auto coin = [&] { return random() % 2 == 0; };
    std::vector<std::string> parts = {fmt::format("ic{}", s.ic), fmt::format("oc{}", s.oc), fmt::format("ih{}", s.ih),
                                      fmt::format("kh{}", s.kh), fmt::format("ph{}", s.padTop)};
    const auto unless = [&](bool mayDrop, const std::string& part) {
      if (!mayDrop || coin()) parts.push_back(part);
    };
    const bool square = s.iw == s.ih && s.kw == s.kh && s.sw == s.sh && s.dw == s.dh && s.padLeft == s.padTop;
    unless(s.groups == 1, fmt::format("g{}", s.groups));
    unless(s.batch == 1, fmt::format("mb{}", s.batch));
    unless(s.iw == s.ih, fmt::format("iw{}", s.iw));
    unless(s.kw == s.kh, fmt::format("kw{}", s.kw));
    unless(s.padLeft == s.padTop, fmt::format("pw{}", s.padLeft));
    const bool dropStrides = s.sh == 1 && s.sw == 1 && coin();
    if (!dropStrides) parts.push_back(fmt::format("sh{}", s.sh)), unless(s.sw == s.sh, fmt::format("sw{}", s.sw));
    const bool dropDilation = s.dh == 0 && s.dw == 0 && coin();
    if (!dropDilation) parts.push_back(fmt::format("dh{}", s.dh)), unless(s.dw == s.dh, fmt::format("dw{}", s.dw));
    parts.push_back(fmt::format("oh{}", s.oh));
    unless(square && s.ow == s.oh, fmt::format("ow{}", s.ow));
    std::shuffle(parts.begin(), parts.end(), random);
    std::string text;
    for (const std::string& part : parts) text += (coin() ? "_" : "") + part;
    INFO(text);
    REQUIRE(parseConv(text) == s);
  }
}

TEST_CASE("random symmetric layers mean the same in both notations") {
  const std::uint64_t seed = newSeed();
  INFO("LIFT_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int n = 0; n < 2000; ++n) {
    ConvSpec s = randomSpec(random);
    s.name.clear();
    s.setPadding(s.padTop, s.padLeft, s.padTop, s.padLeft);
    const std::string flags =
        fmt::format("-n {} -c {} -H {} -W {} -k {} -y {} -x {} -p {} -q {} -u {} -v {} -l {} -j {} -g {}", s.batch,
                    s.ic, s.ih, s.iw, s.oc, s.kh, s.kw, s.padTop, s.padLeft, s.sh, s.sw, s.dh + 1, s.dw + 1, s.groups);
    INFO(flags);
    REQUIRE(parseConv(flags) == s);
  }
}

TEST_CASE("operations count every tap twice, padding included") {
  const ConvSpec vgg = parseConv("ic64ih224oc64oh224kh3ph1");
  CHECK(vgg.operations() == 2LL * 224 * 224 * 64 * 64 * 9);
  CHECK(parseConv("g4ic16ih14oc32kh3").operations() == 2LL * 12 * 12 * 32 * 4 * 9);
}

TEST_CASE("tensor bytes are those of input, weights, bias and output") {
  const ConvSpec s = parseConv("g2mb2ic4ih5iw6oc8kh3");
  const std::int64_t elements = 2 * 5 * 6 * 4 + 8 * 3 * 3 * 2 + 8 + 2 * 3 * 4 * 8;
  CHECK(s.tensorBytes() == 4 * elements);
  CHECK(s.tensorBytes(Scalar::f16) == 2 * elements);
}

TEST_CASE("specs made by hand are checked as descriptors are") {
  ConvSpec s = parseConv("ic16ih14oc32kh3ph1");
  CHECK(s.problems().empty());
  s.groups = 3;
  CHECK(s.problems() == std::vector<std::string>{"'ic' is 16, which is not divisible into 3 groups ('g')",
                                                 "'oc' is 32, which is not divisible into 3 groups ('g')"});
  s = parseConv("ic16ih14oc32kh3ph1");
  s.padBottom = 2;
  CHECK(s.problems() == std::vector<std::string>{"padding at the bottom is 2, but the windows read 1 row"});
  s.setPadding(1, 1, 2, 2);
  CHECK(s.problems().empty());
  CHECK(s.oh == 15);
  CHECK(ConvSpec{}.problems().size() == 8);  // sizes of zero
  s.name = "a\"b";
  CHECK(s.problems() == std::vector<std::string>{"name has a double quote or a line break"});
}
