#include "lift/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "lift/diagnostic.hpp"

namespace lift {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void failed(const char* what) {
  throw UserError(ExitStatus::device, fmt::format("cannot start a process: {}: {}", what, strerror(errno)));
}

// As exec takes them; they refer to the words.
std::vector<char*> argumentsOf(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

// Waits for the end of a process; as waitpid has it.
int endOf(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Between fork and exec only what is safe in a process that had threads.
[[noreturn]] void become(char* const* arguments, const char* folder, int output, rlim_t processorSeconds) {
  if (processorSeconds == RLIM_INFINITY) {
    setpgid(0, 0);
  } else {
    const rlimit most{processorSeconds, processorSeconds};
    setrlimit(RLIMIT_CPU, &most);
  }
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  dup2(output, 1);
  dup2(output, 2);
  if (chdir(folder) == 0) execvp(arguments[0], arguments);
  _exit(127);
}

// All that comes until the end of the stream; false when the time is over before.
bool readAll(int fd, std::string& text, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd p{fd, POLLIN, 0};
    if (poll(&p, 1, static_cast<int>(std::min<std::int64_t>(left, 1 << 30))) <= 0) continue;
    char bytes[4096];
    const ssize_t n = read(fd, bytes, sizeof bytes);
    if (n == 0) return true;
    if (n > 0) text.append(bytes, static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) return true;
  }
}

}  // namespace

Finished runProgram(const std::vector<std::string>& command, const std::filesystem::path& folder, double seconds,
                    Limit limit) {
  const bool byWall = limit == Limit::wall;
  std::vector<char*> arguments = argumentsOf(command);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) failed("pipe");
  const pid_t pid = fork();
  if (pid == 0)
    become(arguments.data(), folder.c_str(), ends[1], byWall ? RLIM_INFINITY : static_cast<rlim_t>(std::ceil(seconds)));
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    failed("fork");
  }
  Finished f;
  const auto most = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const bool inTime = readAll(ends[0], f.output, byWall ? Clock::now() + most : Clock::time_point::max());
  close(ends[0]);
  if (!inTime) kill(-pid, SIGKILL);
  const int status = endOf(pid);
  f.status = inTime && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (!inTime)
    f.end = fmt::format("stopped after {} s", seconds);
  else if (WIFEXITED(status))
    f.end = fmt::format("exit status {}", f.status);
  else
    f.end = fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return f;
}

int followProgram(const std::vector<std::string>& command, Follow follow) {
  std::vector<char*> arguments = argumentsOf(command);
  const pid_t pid = fork();
  if (pid == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(follow == Follow::all ? 2 : null, 1);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  if (pid < 0) failed("fork");
  const int status = endOf(pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::optional<std::filesystem::path> findProgram(const std::string& name) {
  const auto isProgram = [](const std::filesystem::path& file) {
    return std::filesystem::is_regular_file(file) && access(file.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return isProgram(name) ? std::optional(name) : std::nullopt;
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':'), rest.size());
    const std::filesystem::path file = std::filesystem::path(rest.substr(0, end)) / name;
    if (isProgram(file)) return file;
    rest.erase(0, end + 1);
  }
  return std::nullopt;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  std::string name = (std::filesystem::temp_directory_path(error) / "liftc-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr)
    throw UserError(ExitStatus::device, fmt::format("cannot make a folder '{}': {}", name, strerror(errno)));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace lift
