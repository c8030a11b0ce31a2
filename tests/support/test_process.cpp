#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "lift/process.hpp"

using lift::Finished;
using lift::runProgram;

TEST_CASE("programs are run to their end, with both outputs in order") {
  const Finished f = runProgram({"sh", "-c", "echo one; echo two >&2; exit 3"});
  CHECK(f.output == "one\ntwo\n");
  CHECK(f.status == 3);
  CHECK(f.end == "exit status 3");
  CHECK(runProgram({"true"}).ok());
  CHECK(runProgram({"cat"}).output.empty());  // its input is empty
  CHECK(runProgram({"no-such-program"}).status == 127);
  CHECK(runProgram({"sh", "-c", "head -c 200000 /dev/zero"}).output.size() == 200000);
}

TEST_CASE("programs that die or take too long") {
  const Finished killed = runProgram({"sh", "-c", "kill -SEGV $$"});
  CHECK(killed.status == -1);
  CHECK(killed.end.rfind("killed by signal 11", 0) == 0);
  const Finished slow = runProgram({"sh", "-c", "echo begun; sleep 60 & wait"}, ".", 0.3);  // what it started, too
  CHECK(slow.end == "stopped after 0.3 s");
  CHECK(slow.output == "begun\n");
  // By processor time, in the caller's group: time asleep does not count.
  const Finished busy = runProgram({"sh", "-c", "sleep 1.1; while :; do :; done"}, ".", 1, lift::Limit::processor);
  CHECK(busy.end.rfind("killed by signal", 0) == 0);
  CHECK(runProgram({"sh", "-c", "ps -o pgid= $$"}, ".", 5, lift::Limit::processor).output ==
        runProgram({"sh", "-c", "ps -o pgid= " + std::to_string(getpid())}).output);
}

TEST_CASE("programs whose output goes on to standard error") {
  const auto status = [](const std::string& text, lift::Follow follow) {
    return lift::followProgram({"sh", "-c", text}, follow);
  };
  CHECK(status("exit 7", lift::Follow::all) == 7);
  CHECK(status("kill -9 $$", lift::Follow::errors) == 128 + 9);
  CHECK(status("test -z \"$(cat)\"", lift::Follow::all) == 0);
  CHECK(status("test /dev/null -ef /dev/stdout", lift::Follow::errors) == 0);
  CHECK(status("test /dev/null -ef /dev/stderr", lift::Follow::errors) == 1);
  CHECK(status("test /dev/stdout -ef /dev/stderr", lift::Follow::all) == 0);
  CHECK(lift::followProgram({"no-such-program"}, lift::Follow::all) == 127);
}

TEST_CASE("programs are found on PATH, folders vanish") {
  REQUIRE(lift::findProgram("sh"));
  CHECK(lift::findProgram(lift::findProgram("sh")->string()));
  CHECK_FALSE(lift::findProgram("no-such-program"));
  CHECK_FALSE(lift::findProgram("/"));
  std::filesystem::path path;
  {
    const lift::TemporaryFolder folder;
    path = folder.path();
    CHECK(runProgram({"pwd"}, path).output == std::filesystem::canonical(path).string() + "\n");
  }
  CHECK_FALSE(std::filesystem::exists(path));
}
