// A child process that is talked to in lines of JSON.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "json.hpp"

namespace lift::tune {

// What a child finds: a socket to its parent, and the problem's tensors as an .npz file.
constexpr int channelFd = 3;
constexpr int dataFd = 4;

// A file without a name, which vanishes with the last process that has it.
class SharedFile {
 public:
  explicit SharedFile(const std::string& contents);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

class Child {
 public:
  // Starts the command in a process group of its own, so that Ctrl-C on the terminal is the parent's alone; the system
  // kills it when the parent ends. What it prints is lost.
  Child(const std::vector<std::string>& command, const SharedFile& data);
  ~Child();  // kills it
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(const Json& message) const;  // to a dead child: nothing happens, and nothing will be received
  // The next message that has arrived; nothing when there is none yet, or will be none.
  std::optional<Json> receive();
  bool gone() const { return gone_; }  // it closed its end, and all it said was received
  // Stands still until it is told to go on; what runs on its device goes on.
  void pause() const;
  void resume() const;
  // Ends it if it has not ended, and says how: "killed by signal 11 (Segmentation fault)".
  std::string end();

  int fd() const { return fd_; }

 private:
  pid_t pid_ = -1;
  int fd_ = -1;
  std::string buffer_;
  bool gone_ = false;
};

// The child's end of the channel.
class Channel {
 public:
  std::optional<Json> receive();  // waits; nothing when the parent is gone
  void send(const Json& message) const;

 private:
  std::string buffer_;
};

}  // namespace lift::tune
