#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "lift/diagnostic.hpp"
#include "lift/source.hpp"

using namespace lift;

TEST_CASE("a source keeps its address, name and text") {
  const SourceFile* first = addSource("a.lift", "one");
  for (int i = 0; i < 1000; ++i) addSource("filler", "x");
  const SourceFile* second = addSource("a.lift", "one");
  CHECK(first->name == "a.lift");
  CHECK(first->text == "one");
  CHECK(first != second);
}

TEST_CASE("sources may be added from several threads") {
  std::vector<const SourceFile*> found(8 * 200);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([&found, t] {
      for (std::size_t i = 0; i < 200; ++i) found[t * 200 + i] = addSource(std::to_string(t), std::to_string(i));
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < 8; ++t)
    for (std::size_t i = 0; i < 200; ++i) {
      REQUIRE(found[t * 200 + i]->name == std::to_string(t));
      REQUIRE(found[t * 200 + i]->text == std::to_string(i));
    }
}

TEST_CASE("positions count lines and columns from one") {
  const SourceFile& file = *addSource("p", "ab\ncd\n\nx");
  const auto check = [&](std::uint32_t offset, int line, int column) {
    CAPTURE(offset);
    CHECK(positionOf(file, offset).line == line);
    CHECK(positionOf(file, offset).column == column);
  };
  check(0, 1, 1);
  check(1, 1, 2);
  check(2, 1, 3);  // the newline belongs to the line that it ends
  check(3, 2, 1);
  check(6, 3, 1);
  check(7, 4, 1);
  check(8, 4, 2);
  check(1000, 4, 2);
}

TEST_CASE("columns count code points") {
  const SourceFile& file = *addSource("utf8", "-- \xCE\xB8\xE2\x88\x80\xF0\x9F\x98\x80 x");
  CHECK(positionOf(file, 3).column == 4);
  CHECK(positionOf(file, 4).column == 4);  // inside the theta
  CHECK(positionOf(file, 5).column == 5);
  CHECK(positionOf(file, 8).column == 6);
  CHECK(positionOf(file, 13).column == 8);
}

TEST_CASE("the line of an offset comes without its end") {
  const SourceFile& file = *addSource("lines", "first\r\nsecond\n\nlast");
  CHECK(lineAt(file, 0) == "first");
  CHECK(lineAt(file, 6) == "first");
  CHECK(lineAt(file, 7) == "second");
  CHECK(lineAt(file, 13) == "second");
  CHECK(lineAt(file, 14).empty());
  CHECK(lineAt(file, 15) == "last");
  CHECK(lineAt(file, 400) == "last");
  const SourceFile& ended = *addSource("ended", "x\n");
  CHECK(lineAt(ended, 2).empty());
  CHECK(positionOf(ended, 2).line == 2);
  CHECK(lineAt(*addSource("nothing", ""), 0).empty());
}

TEST_CASE("UTF-8 is told from what is none") {
  for (const char* text : {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80x"}) CHECK(isUtf8(text));
  for (const char* text : {"\xFF", "x\x80", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"})
    CHECK_FALSE(isUtf8(text));
}

TEST_CASE("cover spans both and takes an empty span as neutral") {
  const SourceFile* file = addSource("cover", "0123456789");
  const Span both = cover({file, 6, 8}, {file, 2, 3});
  CHECK(both.file == file);
  CHECK(both.begin == 2);
  CHECK(both.end == 8);
  CHECK(cover({}, {file, 2, 3}).end == 3);
  CHECK(cover({file, 2, 3}, {}).begin == 2);
  CHECK_FALSE(cover({}, {}));
  CHECK_THROWS_AS(cover({file, 0, 1}, {addSource("other", "x"), 0, 1}), InternalError);
}
