// A child process that is talked to in lines of JSON.
#pragma once

#include <sys/types.h>

#include <functional>
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

// The child's end of the channel.
class Channel {
 public:
  explicit Channel(int fd = channelFd) : fd_(fd) {}
  std::optional<Json> receive();  // waits; nothing when the parent is gone
  void send(const Json& message) const;

 private:
  int fd_;
  std::string buffer_;
};

// A process in a group of its own, so that Ctrl-C on the terminal is the parent's alone; the system kills it when the
// parent ends.
class Child {
 public:
  // Runs the command. What it prints is lost.
  Child(const std::vector<std::string>& command, const SharedFile& data);
  // A copy of this process, which ends when `serve` returns. Other threads are not copied, nor may what they hold be
  // used: locks, devices.
  explicit Child(const std::function<void(Channel&)>& serve);
  ~Child();  // kills it
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(const Json& message) const;  // to a dead child: nothing happens, and nothing will be received
  // The next message that has arrived; nothing when there is none yet, or will be none.
  std::optional<Json> receive();
  // Waits until there is one; nothing where none comes within so many seconds, either.
  std::optional<Json> await(double seconds);
  bool gone() const { return gone_; }  // it closed its end, and all it said was received
  // Stands still until it is told to go on; what runs on its device goes on.
  void pause() const;
  void resume() const;
  // Ends it if it has not ended, and says how: "killed by signal 11 (Segmentation fault)".
  std::string end();

  int fd() const { return fd_; }

 private:
  void start(const std::function<void(int channel)>& run);  // `run` in the child

  pid_t pid_ = -1;
  int fd_ = -1;
  std::string buffer_;
  bool gone_ = false;
};

// Answers requests in a copy of this process, so that the memory that answering takes is given back: terms, types and
// sizes, once made, stay until their process ends. The copy is made anew after some requests. It is asked by one
// thread.
class Replica {
 public:
  using Answer = std::function<Json(const Json& request)>;  // the copy dies of what it throws

  explicit Replica(Answer answer) : answer_(std::move(answer)) {}
  // Nothing where the copy died of it, or did not answer within so many seconds.
  std::optional<Json> ask(const Json& request, double seconds);

 private:
  Answer answer_;
  std::optional<Child> child_;
  int asked_ = 0;  // of this copy
};

}  // namespace lift::tune
