// The checkpoints of a run: one safetensors file per moment, complete or absent. A file's name holds its step
// (step-000000200.safetensors); the newest complete ones stay, and an older one goes only after a newer one is on disk.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "training/safetensors.h"

namespace headrace::training {

class CheckpointFolder {
 public:
  explicit CheckpointFolder(std::string path, int keep = 2) : path_(std::move(path)), keep_(keep) {}
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  // Makes the folder, locks it against another run until the end, sees that it can be written, and removes what dead runs
  // left half-written. Errors name the folder and the process that uses it.
  Status Prepare();
  // Steps of the files that are there by their names, complete or not, in order. A new run must find none: its own
  // checkpoints would count as older ones.
  std::vector<int64_t> Steps() const;
  // Writes metadata "step" as well.
  Status Save(int64_t step, const Snapshot& s);
  // The newest complete checkpoint; each damaged or foreign file that was passed over is named in `notes`, with the one used
  // instead. An error, which names them too, when there is none.
  Result<Snapshot> Latest(std::vector<std::string>* notes);
  const std::string& path() const { return path_; }

 private:
  std::string FileOf(int64_t step) const;
  void RemoveBefore(int64_t step);  // all but the newest `keep` up to `step`
  std::string path_;
  int keep_;
  int lock_ = -1;
  std::set<int64_t> damaged_;  // not counted among those that stay, and not touched
};

}  // namespace headrace::training
