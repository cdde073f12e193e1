#include "tests/onnx_node/forked.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  pid_t pid = 0;
  int pipe = -1;
  size_t index = 0;
  Clock::time_point start;
};

void WriteAll(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    ssize_t n = write(fd, text.data() + at, text.size() - at);
    if (n <= 0) return;
    at += static_cast<size_t>(n);
  }
}

Child Start(size_t index, const ForkLimits& limits, const std::function<void(size_t, const Say&)>& run) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) abort();
  Child child;
  child.index = index, child.start = Clock::now(), child.pipe = fds[0];
  child.pid = fork();
  if (child.pid < 0) abort();
  if (child.pid == 0) {
    setpgid(0, 0);
    const auto bytes = static_cast<rlim_t>(limits.bytes), seconds = static_cast<rlim_t>(limits.cpu_seconds);
    rlimit memory{bytes, bytes}, cpu{seconds, seconds + 1};
    if (!getenv("ASAN_OPTIONS")) setrlimit(RLIMIT_AS, &memory);  // AddressSanitizer reserves terabytes
    if (seconds > 0) setrlimit(RLIMIT_CPU, &cpu);
    run(index, [&](const std::string& text) { WriteAll(fds[1], text); });
    _exit(0);
  }
  close(fds[1]);
  return child;
}

// Reads until the child is done or out of time.
bool Poll(const Child& c, const ForkLimits& limits, Ended& out) {
  pollfd p{c.pipe, POLLIN, 0};
  char buffer[65536];
  bool closed = false;
  while (poll(&p, 1, 0) > 0) {
    ssize_t n = read(c.pipe, buffer, sizeof buffer);
    if (n <= 0) {
      closed = true;
      break;
    }
    out.said.append(buffer, static_cast<size_t>(n));
  }
  out.seconds = std::chrono::duration<double>(Clock::now() - c.start).count();
  const bool late = out.seconds > limits.seconds;
  if (!closed && !late) return false;
  if (late) kill(-c.pid, SIGKILL);
  int status = 0;
  waitpid(c.pid, &status, 0);
  close(c.pipe);
  const bool out_of_time = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
  if (late || out_of_time) out.how = Ended::kLate;
  else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) out.how = Ended::kDone;
  else out.signal = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit " + std::to_string(WEXITSTATUS(status));
  return true;
}

}  // namespace

std::vector<CaseFiles> ReadCases(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::map<std::string, CaseFiles> cases;
  char header[512];
  while (in.read(header, sizeof header) && header[0]) {
    std::string name(header, strnlen(header, 100)), prefix(header + 345, strnlen(header + 345, 155));
    if (!prefix.empty()) name = prefix + "/" + name;
    size_t size = strtoull(std::string(header + 124, 12).c_str(), nullptr, 8);
    std::string data(size, '\0');
    in.read(data.data(), static_cast<std::streamsize>(size));
    in.ignore(static_cast<std::streamsize>((512 - size % 512) % 512));
    size_t slash = name.find('/');
    CaseFiles& c = cases[name.substr(0, slash)];
    c.name = name.substr(0, slash);
    c.files[name.substr(slash + 1)] = std::move(data);
  }
  std::vector<CaseFiles> out;
  for (auto& [name, c] : cases) out.push_back(std::move(c));
  return out;
}

std::string Unpack(const CaseFiles& c, const std::string& folder) {
  const std::string at = folder + "/" + c.name;
  mkdir(at.c_str(), 0777);
  for (const auto& [name, data] : c.files) std::ofstream(at + "/" + name, std::ios::binary) << data;
  return at;
}

std::vector<Ended> RunForked(size_t count, const ForkLimits& limits,
                             const std::function<void(size_t, const Say&)>& run) {
  std::vector<Ended> out(count);
  std::vector<Child> running;
  for (size_t next = 0, done = 0; done < count;) {
    while (next < count && running.size() < static_cast<size_t>(limits.jobs))
      running.push_back(Start(next++, limits, run));
    for (size_t k = 0; k < running.size();)
      if (Poll(running[k], limits, out[running[k].index])) {
        running.erase(running.begin() + static_cast<long>(k));
        ++done;
      } else {
        ++k;
      }
    usleep(500);
  }
  return out;
}

}  // namespace headrace
