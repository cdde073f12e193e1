#include "backends/cpu/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

extern char** environ;

namespace headrace::cpu {
namespace {

std::atomic<int> all_running{0};  // of everything that this process compiles: it shares the processors

struct Child {
  size_t index = 0;
  pid_t pid = 0;
  int pipe = -1;
};

Result<Child> Spawn(const Command& c, size_t index) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return InvalidError("E0693",
                                                      std::string("cannot make a pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
  if (!c.directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, c.directory.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (int s : {SIGINT, SIGTERM, SIGQUIT, SIGPIPE}) sigaddset(&defaults, s);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  std::vector<char*> argv;
  for (const std::string& a : c.argv) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  // What a killed command leaves of temporary files goes with its folder.
  std::vector<char*> environment;
  for (char** e = environ; *e; ++e)
    if (c.directory.empty() || std::strncmp(*e, "TMPDIR=", 7) != 0) environment.push_back(*e);
  static char here[] = "TMPDIR=.";
  if (!c.directory.empty()) environment.push_back(here);
  environment.push_back(nullptr);
  Child child;
  child.index = index;
  const int error = posix_spawnp(&child.pid, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(fds[1]);
  if (error != 0) {
    close(fds[0]);
    return InvalidError("E0693", "cannot start '" + c.argv[0] + "': " + std::strerror(error));
  }
  child.pipe = fds[0];
  all_running.fetch_add(1);
  return child;
}

int Reap(const Child& c) {
  int status = 0;
  while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR) {}
  all_running.fetch_sub(1);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<std::vector<ProcessResult>> RunCommands(const std::vector<Command>& commands, int parallel,
                                               const std::function<bool()>& cancelled,
                                               const std::function<void(int)>& progress) {
  std::vector<ProcessResult> results(commands.size());
  std::vector<Child> running;
  size_t next = 0;
  int done = 0;
  const auto may_start = [&] { return running.empty() || all_running.load() < parallel; };
  auto stop = [&](Status s) {
    for (const Child& c : running) kill(-c.pid, SIGKILL);
    for (const Child& c : running) {
      Reap(c);
      close(c.pipe);
    }
    return s;
  };
  while (next < commands.size() || !running.empty()) {
    while (next < commands.size() && may_start()) {
      auto child = Spawn(commands[next], next);
      if (!child.ok()) return stop(child.status());
      running.push_back(*child);
      ++next;
    }
    std::vector<pollfd> polls;
    for (const Child& c : running) polls.push_back({c.pipe, POLLIN, 0});
    poll(polls.data(), polls.size(), 50);
    if (cancelled && cancelled()) return stop(InterruptedError());
    for (size_t i = running.size(); i-- > 0;) {
      if (!(polls[i].revents & (POLLIN | POLLHUP | POLLERR))) continue;
      char buffer[4096];
      const ssize_t n = read(running[i].pipe, buffer, sizeof buffer);
      if (n > 0) {
        std::string& out = results[running[i].index].output;
        if (out.size() < 1 << 20) out.append(buffer, static_cast<size_t>(n));
        continue;
      }
      if (n < 0 && errno == EINTR) continue;
      results[running[i].index].exit_code = Reap(running[i]);
      close(running[i].pipe);
      running.erase(running.begin() + static_cast<long>(i));
      if (progress) progress(++done);
    }
  }
  return results;
}

}  // namespace headrace::cpu
