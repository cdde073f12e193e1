#include "training/checkpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "training/whole_file.h"

namespace headrace::training {
namespace {

constexpr std::string_view kPrefix = "step-", kSuffix = ".safetensors";
constexpr char kLock[] = "run.lock";

std::string NameOf(int64_t step) {
  char name[64];
  std::snprintf(name, sizeof name, "step-%09lld.safetensors", static_cast<long long>(step));
  return name;
}

bool EndsWith(const std::string& s, std::string_view end) {
  return s.size() >= end.size() && s.compare(s.size() - end.size(), end.size(), end) == 0;
}

// -1 for any other name.
int64_t StepOf(const std::string& name) {
  if (name.compare(0, kPrefix.size(), kPrefix) != 0 || !EndsWith(name, kSuffix)) return -1;
  const std::string digits = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) return -1;
  const int64_t step = std::strtoll(digits.c_str(), nullptr, 10);
  return NameOf(step) == name ? step : -1;
}

// "step-000000200.safetensors.tmp4711", "losses.svg.tmp4711"
bool IsTemporary(const std::string& name) {
  const size_t at = name.rfind(".tmp");
  if (at == std::string::npos || at + 4 == name.size()) return false;
  if (name.find_first_not_of("0123456789", at + 4) != std::string::npos) return false;
  const std::string target = name.substr(0, at);
  return StepOf(target) >= 0 || target == "losses.svg" || target == "writable";
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* d = opendir(folder.c_str())) {
    while (const dirent* e = readdir(d)) names.push_back(e->d_name);
    closedir(d);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Each part of the path that is missing.
Status MakeFolder(const std::string& path) {
  for (size_t at = 0; at < path.size();) {
    at = std::min(path.find('/', at + 1), path.size());
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0777) == 0) continue;
    struct stat st;
    const int failed = errno;
    if (stat(part.c_str(), &st) != 0) return WriteError(path, failed);
    if (!S_ISDIR(st.st_mode)) return WriteError(path, ENOTDIR);
  }
  return {};
}

Status InUse(const std::string& folder, const std::string& process) {
  Diagnostic d;
  d.code = "E0954", d.file = folder;
  d.message = "another run writes its checkpoints here" + (process.empty() ? "" : " (process " + process + ")");
  d.hint = "wait for its end, or give this run a folder of its own";
  return Status(d);
}

}  // namespace

CheckpointFolder::~CheckpointFolder() {
  if (lock_ >= 0) close(lock_);
}

std::string CheckpointFolder::FileOf(int64_t step) const { return path_ + "/" + NameOf(step); }

Status CheckpointFolder::Prepare() {
  if (path_.empty()) return UsageError("E0936", "the folder of checkpoints has no name");
  HR_RETURN_IF_ERROR(MakeFolder(path_));
  const std::string lock = path_ + "/" + kLock;
  lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (lock_ < 0) return WriteError(path_, errno);
  while (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) break;  // a file system without locks
    char process[32] = {};
    const ssize_t n = pread(lock_, process, sizeof process - 1, 0);
    close(lock_), lock_ = -1;
    std::string digits(process, n > 0 ? static_cast<size_t>(n) : 0);
    return InUse(path_, digits.substr(0, digits.find_first_not_of("0123456789")));
  }
  // Nobody else writes here now, so every temporary is a dead run's.
  for (const std::string& name : Names(path_))
    if (IsTemporary(name)) unlink((path_ + "/" + name).c_str());
  // A full disk shows before hours of training do.
  const std::string process = std::to_string(getpid()) + "\n";
  if (ftruncate(lock_, 0) != 0 || !WriteAll(lock_, process) || fsync(lock_) != 0) return WriteError(path_, errno);
  HR_RETURN_IF_ERROR(WriteWholeFile(path_ + "/writable", {process}));
  unlink((path_ + "/writable").c_str());
  return {};
}

std::vector<int64_t> CheckpointFolder::Steps() const {
  std::vector<int64_t> steps;
  for (const std::string& name : Names(path_))
    if (const int64_t step = StepOf(name); step >= 0) steps.push_back(step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

Status CheckpointFolder::Save(int64_t step, const Snapshot& s) {
  HR_CHECK(step >= 0 && step < 1'000'000'000'000'000'000, "step of a checkpoint");
  Snapshot with_step = s;  // tensors are shared
  with_step.metadata["step"] = std::to_string(step);
  HR_RETURN_IF_ERROR(WriteSafetensors(FileOf(step), with_step));
  damaged_.erase(step);
  RemoveBefore(step);
  return {};
}

void CheckpointFolder::RemoveBefore(int64_t step) {
  // Newer ones are there only if they are damaged: Latest() would have taken them.
  std::vector<int64_t> complete = Steps();
  complete.erase(
      std::remove_if(complete.begin(), complete.end(), [&](int64_t i) { return i > step || damaged_.count(i) > 0; }),
      complete.end());
  for (size_t i = 0; i + static_cast<size_t>(keep_) < complete.size(); ++i) unlink(FileOf(complete[i]).c_str());
}

Result<Snapshot> CheckpointFolder::Latest(std::vector<std::string>* notes) {
  std::vector<std::string> passed;
  for (const std::string& name : Names(path_))
    if (EndsWith(name, kSuffix) && StepOf(name) < 0) passed.push_back(name + " is not a checkpoint of this run");
  std::vector<int64_t> steps = Steps();
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    Result<Snapshot> s = ReadSafetensors(FileOf(*step));
    std::string problem = s.ok() ? "" : s.status().message();
    if (s.ok() && s->metadata["step"] != std::to_string(*step)) {
      problem = "this is not a complete checkpoint: by its name it is of step " + std::to_string(*step) +
                ", by its contents of step " + s->metadata["step"];
    }
    if (problem.empty()) {
      RemoveBefore(*step);  // a run may have been killed before it could
      for (const std::string& p : passed) notes->push_back(p + "; " + NameOf(*step) + " is used instead");
      return s;
    }
    damaged_.insert(*step);
    passed.push_back(NameOf(*step) + ": " + problem);
  }
  Diagnostic d;
  d.code = "E0953", d.file = path_;
  d.message = "the folder holds no complete checkpoint to resume from";
  for (const std::string& p : passed) d.got += (d.got.empty() ? "" : "; ") + p;
  d.hint = "start anew without --resume, in an empty folder";
  return Status(d);
}

}  // namespace headrace::training
