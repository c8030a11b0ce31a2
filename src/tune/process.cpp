#include "process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>

#include "lift/diagnostic.hpp"
#include "lift/stopwatch.hpp"

namespace lift::tune {
namespace {

constexpr int lifetime = 256;  // requests that one copy of a process answers

[[noreturn]] void failed(const char* what) {
  throw UserError(ExitStatus::device,
                  fmt::format("cannot start a process to measure in: {}: {}", what, strerror(errno)));
}

void sendLine(int fd, const Json& message) {
  const std::string line = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t n = ::send(fd, line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // the other side is gone, which reading will tell
    at += static_cast<std::size_t>(n);
  }
}

std::optional<Json> takeLine(std::string& buffer) {
  const auto newline = buffer.find('\n');
  if (newline == std::string::npos) return std::nullopt;
  Json message = Json::parse(buffer.substr(0, newline), nullptr, false);
  buffer.erase(0, newline + 1);
  return message;
}

// Appends what there is; false at the end of the stream.
bool readMore(int fd, std::string& buffer, int flags) {
  char bytes[4096];
  const ssize_t n = ::recv(fd, bytes, sizeof bytes, flags);
  if (n > 0) buffer.append(bytes, static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

// A child's first steps.
void leaveGroup(pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it ended in between
}

// Between fork and exec only what is safe in a process that had threads.
[[noreturn]] void become(char* const* arguments, int channel, int data) {
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) dup2(null, fd);
  // Copies above the numbers to be assigned, so that assigning one cannot close another.
  const int channelCopy = fcntl(channel, F_DUPFD, dataFd + 1), dataCopy = fcntl(data, F_DUPFD, dataFd + 1);
  dup2(channelCopy, channelFd);
  dup2(dataCopy, dataFd);
  close(channelCopy);
  close(dataCopy);
  execv(arguments[0], arguments);
  _exit(127);
}

}  // namespace

SharedFile::SharedFile(const std::string& contents) : fd_(memfd_create("liftc-tensors", MFD_CLOEXEC)) {
  if (fd_ < 0) failed("memfd_create");
  for (std::size_t at = 0; at < contents.size();) {
    const ssize_t n = write(fd_, contents.data() + at, contents.size() - at);
    if (n < 0) failed("write");
    at += static_cast<std::size_t>(n);
  }
}

SharedFile::~SharedFile() { close(fd_); }

Child::Child(const std::vector<std::string>& command, const SharedFile& data) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  start([&](int channel) { become(arguments.data(), channel, data.fd()); });
}

Child::Child(const std::function<void(Channel&)>& serve) {
  start([&](int fd) {
    Channel channel(fd);
    serve(channel);
  });
}

void Child::start(const std::function<void(int channel)>& run) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) failed("socketpair");
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    leaveGroup(parent);
    try {
      run(ends[1]);
      _exit(0);
    } catch (...) {  // whatever it is, the child must not go on as if it were its parent
      _exit(1);
    }
  }
  close(ends[1]);
  fd_ = ends[0];
  if (pid_ < 0) {
    close(fd_);
    failed("fork");
  }
}

Child::~Child() {
  end();
  close(fd_);
}

void Child::send(const Json& message) const { sendLine(fd_, message); }

std::optional<Json> Child::receive() {
  while (!gone_) {
    const std::size_t before = buffer_.size();
    if (!readMore(fd_, buffer_, MSG_DONTWAIT)) gone_ = true;
    if (buffer_.size() == before) break;
  }
  return takeLine(buffer_);
}

std::optional<Json> Child::await(double seconds) {
  const Stopwatch watch;
  for (;;) {
    if (auto message = receive()) return message;
    const double left = seconds - watch.seconds();
    if (gone_ || left <= 0) return std::nullopt;
    pollfd p{fd_, POLLIN, 0};
    poll(&p, 1, static_cast<int>(std::min(std::ceil(left * 1e3), 1e6)));
  }
}

void Child::pause() const {
  if (pid_ >= 0) ::kill(-pid_, SIGSTOP);
}

void Child::resume() const {
  if (pid_ >= 0) ::kill(-pid_, SIGCONT);
}

std::string Child::end() {
  if (pid_ < 0) return "ended";
  // A child that closed its end is dying by itself; how, is what we want to know.
  for (int i = 0; i < 100 && gone_; i++) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_) break;
    usleep(10'000);
  }
  ::kill(-pid_, SIGKILL);  // the group…
  ::kill(pid_, SIGKILL);   // …which it may not have founded yet
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  gone_ = true;
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

std::optional<Json> Channel::receive() {
  for (;;) {
    if (auto message = takeLine(buffer_)) return message;
    if (!readMore(fd_, buffer_, 0)) return std::nullopt;
  }
}

void Channel::send(const Json& message) const { sendLine(fd_, message); }

std::optional<Json> Replica::ask(const Json& request, double seconds) {
  if (asked_ == lifetime) child_.reset();
  if (!child_) {
    asked_ = 0;
    child_.emplace([this](Channel& channel) {
      while (const auto next = channel.receive()) channel.send(answer_(*next));
    });
  }
  asked_++;
  child_->send(request);
  auto answer = child_->await(seconds);
  if (!answer) child_.reset();
  return answer;
}

}  // namespace lift::tune
