// The shapes that come with the project.
#include <algorithm>
#include <set>

#include "helpers.hpp"

using namespace lift;
using namespace lift::test;

namespace {

// Files of networks, and how many layers each has.
const std::vector<std::pair<std::string, int>> networks = {
    {"vgg16.txt", 9},          {"alexnet.txt", 4},        {"yolov1.txt", 15},        {"resnet50.txt", 24},
    {"mobilenet_v1.txt", 20},  {"mobilenet_v2.txt", 31},  {"squeezenet.txt", 22},    {"efficientnet_b0.txt", 33},
    {"inception_v3.txt", 24},  {"resnext50.txt", 19},     {"shufflenet_v2.txt", 17}, {"mobilenet_v3_large.txt", 46},
    {"convnext_tiny.txt", 17}, {"densenet121.txt", 29},   {"xception.txt", 22},      {"darknet19.txt", 11},
    {"mnasnet.txt", 33},       {"regnety_800mf.txt", 17}, {"deeplabv3plus.txt", 10}, {"unet.txt", 10}};

}  // namespace

TEST_CASE("the networks' shape files are what the papers print") {
  const std::vector<ConvSpec> vgg = shapes("vgg16.txt"), alexnet = shapes("alexnet.txt"), yolo = shapes("yolov1.txt");
  for (const ConvSpec& s : vgg) {
    CHECK(s.kh == 3);
    CHECK((s.oh == s.ih && s.padTop == 1 && s.padBottom == 1));
  }
  for (const auto& [file, layers] : networks) CHECK(shapes(file).size() == static_cast<std::size_t>(layers));
  CHECK(vgg[1].operations() == 3699376128);
  CHECK(alexnet[0].oh == 55);
  CHECK(yolo[0].padBottom == 2);  // 448 rows, 7x7, stride 2: the last window ends two rows below
}

TEST_CASE("every layer of the shape files is legal, named once and prints itself") {
  std::set<std::string> names;
  int layers = 0;
  std::vector<std::string> files{"odd.txt"};
  for (const auto& [file, count] : networks) files.push_back(file);
  for (const std::string& file : files)
    for (const ConvSpec& s : shapes(file)) {
      INFO(s.str());
      CHECK(s.problems().empty());
      CHECK(parseConv(s.str()) == s);
      CHECK(!s.name.empty());
      CHECK(names.insert(s.name).second);
      ++layers;
    }
  CHECK(layers >= 28 + 173 + 109 + 24);
}

TEST_CASE("the odd shapes are small and cover what they should") {
  const std::vector<ConvSpec> odd = shapes("odd.txt");
  for (const ConvSpec& s : odd) {
    INFO(s.str());
    CHECK(s.operations() <= 20'000'000);
  }
  const auto some = [&](auto&& property) { return std::any_of(odd.begin(), odd.end(), property); };
  for (const std::int64_t stride : {2, 3, 4}) CHECK(some([&](const ConvSpec& s) { return s.sh == stride; }));
  for (const auto& [h, w] : {std::pair{1, 1}, {1, 7}, {5, 3}, {11, 11}, {2, 2}})
    CHECK(some([h = h, w = w](const ConvSpec& s) { return s.kh == h && s.kw == w; }));
  CHECK(some([](const ConvSpec& s) { return s.padTop < s.padBottom; }));
  CHECK(some([](const ConvSpec& s) { return s.padTop > s.padBottom; }));
  CHECK(some([](const ConvSpec& s) { return s.padTop > s.kh / 2 && s.padBottom > s.kh / 2; }));
  CHECK(some([](const ConvSpec& s) { return s.padTop >= s.extentH(); }));
  CHECK(some([](const ConvSpec& s) { return s.dh == 1 && s.dw == 1; }));
  CHECK(some([](const ConvSpec& s) { return s.dh > 0 && s.dh != s.dw; }));
  CHECK(some([](const ConvSpec& s) { return s.ic % 4 != 0 && s.oc % 4 != 0; }));
  CHECK(some([](const ConvSpec& s) { return s.ic == 1 && s.oc > 1; }));
  CHECK(some([](const ConvSpec& s) { return s.oc == 1 && s.ic > 1; }));
  CHECK(some([](const ConvSpec& s) { return s.batch > 1; }));
  CHECK(some([](const ConvSpec& s) { return s.groups > 1 && s.groups != s.ic; }));
  CHECK(some([](const ConvSpec& s) { return s.groups > 1 && s.groups == s.ic && s.oc == s.ic; }));
  CHECK(some([](const ConvSpec& s) { return s.groups > 1 && s.groups == s.ic && s.oc == 2 * s.ic; }));
  const auto partial = [](const ConvSpec& s) { return (s.oh - 1) * s.sh + s.extentH() < s.ih + s.padTop; };
  CHECK(some(partial));
}
