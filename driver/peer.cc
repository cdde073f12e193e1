#include "driver/peer.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "driver/npz.h"
#include "driver/output.h"
#include "training/whole_file.h"

extern char** environ;

namespace headrace {
namespace {

// Python: driver/peer_torch.py, driver/peer.py.
constexpr char kScript[] =
#include "driver/peer_script.inc"
    ;

struct Pipe {
  int read = -1, write = -1;
  bool Open() {
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) != 0) return false;
    read = fd[0], write = fd[1];
    return true;
  }
};

Status NotStarted(const std::string& python, const std::string& why) {
  return UnsupportedError("E0464", "the other runtime needs Python, and '" + python + "' can't be run: " + why,
                          "install python3, or name one in HEADRACE_PYTHON");
}

}  // namespace

Result<std::unique_ptr<Peer>> Peer::Start(const Request& q) {
  signal(SIGPIPE, SIG_IGN);  // an end of the other process is an error, not our end
  std::unique_ptr<Peer> peer(new Peer);
  peer->runtime_ = q.runtime;
  const char* tmp = getenv("TMPDIR");
  std::string folder = std::string(tmp && *tmp ? tmp : "/tmp") + "/headrace-peerXXXXXX";
  if (!mkdtemp(folder.data())) return training::WriteError(folder, errno);
  peer->folder_ = folder;
  training::NamedTensors arrays;
  nlohmann::json names = nlohmann::json::array();
  for (const auto& [name, t] : q.inputs) {
    arrays.emplace_back(std::to_string(arrays.size()), t);
    names.push_back(name);
  }
  HR_RETURN_IF_ERROR(WriteNpz(folder + "/inputs.npz", arrays));

  Pipe to, from;
  if (!to.Open() || !from.Open()) return InvalidError("E0465", std::string("can't make a pipe: ") + std::strerror(errno));
  peer->to_ = to.write, peer->from_ = from.read;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to.read, 0);
  posix_spawn_file_actions_adddup2(&actions, from.write, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  const char* chosen = getenv("HEADRACE_PYTHON");
  const std::string python = chosen && *chosen ? chosen : "python3";
  std::vector<std::string> words = {python,     "-c", kScript, q.runtime, q.model, folder,
                                    names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                                    std::to_string(q.threads)};
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  const int failed = posix_spawnp(&peer->process_, python.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to.read), close(from.write);
  if (failed != 0) {
    peer->process_ = -1;
    return NotStarted(python, std::strerror(failed));
  }
  HR_ASSIGN_OR_RETURN(std::string said, peer->Ask(""));
  peer->version_ = nlohmann::json::parse(said).value("version", "");
  return peer;
}

Peer::~Peer() {
  if (to_ >= 0) close(to_);  // its loop ends
  if (from_ >= 0) close(from_);
  if (process_ > 0) {
    if (Interrupted()) kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {}
  }
  for (const char* name : {"/inputs.npz", "/outputs.npz"}) unlink((folder_ + name).c_str());
  rmdir(folder_.c_str());
}

Result<std::string> Peer::Ask(const std::string& line) {
  if (!line.empty() && !training::WriteAll(to_, line + "\n"))
    return InvalidError("E0465", runtime_ + " ended before it answered");
  size_t end;
  while ((end = unread_.find('\n')) == std::string::npos) {
    char block[4096];
    const ssize_t n = read(from_, block, sizeof block);
    if (Interrupted()) return InterruptedError();
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return InvalidError("E0465", runtime_ + " ended before it answered");
    unread_.append(block, static_cast<size_t>(n));
  }
  const std::string said = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  const nlohmann::json j = nlohmann::json::parse(said, nullptr, false);
  if (!j.is_object()) return InvalidError("E0465", runtime_ + " said what is no answer: " + said);
  if (j.contains("missing"))
    return UnsupportedError("E0464", "the Python package '" + j["missing"].get<std::string>() + "' is not installed",
                            "pip install " + std::string(runtime_ == "reference" ? "onnx" : runtime_ == "torch" ? "torch onnx" : runtime_) +
                                ", or name a Python that has it in HEADRACE_PYTHON");
  if (j.contains("error")) return InvalidError("E0465", runtime_ + ": " + j["error"].get<std::string>());
  return said;
}

Result<std::vector<double>> Peer::Turn(double seconds, int runs) {
  HR_ASSIGN_OR_RETURN(std::string said,
                      Ask(nlohmann::json({{"do", "turn"}, {"seconds", seconds}, {"runs", runs}}).dump()));
  return nlohmann::json::parse(said)["times"].get<std::vector<double>>();
}

Result<std::vector<Value>> Peer::Outputs() {
  HR_ASSIGN_OR_RETURN(std::string said, Ask("{\"do\": \"outputs\"}"));
  HR_ASSIGN_OR_RETURN(training::NamedTensors arrays, training::ReadNpz(folder_ + "/outputs.npz"));
  std::vector<Value> out(arrays.size());
  for (auto& [name, t] : arrays) {
    const size_t i = std::strtoul(name.c_str(), nullptr, 10);
    if (i < out.size()) out[i] = Value(std::move(t));
  }
  return out;
}

}  // namespace headrace
