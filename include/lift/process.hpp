// Programs of others, run to their end.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lift {

struct Finished {
  int status = 0;      // of its exit; -1 where it was ended by a signal, or took too long
  std::string output;  // standard output and standard error, in the order in which they came
  std::string end;     // "exit status 1", "killed by signal 11 (Segmentation fault)", "stopped after 60 s"
  bool ok() const { return status == 0; }
};

// What a program may take. `wall`: it and what it started, a group of their own, are killed after so many seconds.
// `processor`: each of them may use so many seconds of a processor; they are of the caller's group, so that who pauses
// or kills that reaches them, and time in which they are paused does not count.
enum class Limit : std::uint8_t { wall, processor };

// Runs a program, found on PATH, in a folder; its standard input is empty. Throws UserError (device) where no process
// can be started; a program that cannot be executed has status 127.
Finished runProgram(const std::vector<std::string>& command, const std::filesystem::path& folder = ".",
                    double seconds = 60, Limit limit = Limit::wall);

// What of a program goes on to the caller's standard error: all that it prints, or what it prints to its own.
enum class Follow : std::uint8_t { all, errors };

// Runs a program of the caller's group, which what interrupts the caller interrupts, too; its standard input is empty.
// Its exit status, or 128 and the number of the signal that ended it. Throws UserError (device) where no process can be
// started; a program that cannot be executed has status 127.
int followProgram(const std::vector<std::string>& command, Follow follow);

// Where a name is found on PATH; a name with a slash is a file by itself.
std::optional<std::filesystem::path> findProgram(const std::string& name);

// A folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws UserError (device)
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lift
