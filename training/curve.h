// Loss curves in the checkpoint folder: losses.csv (step,epoch,rate,loss), epochs.csv (epoch,step,loss,validation_loss,
// validation_accuracy) and losses.svg, drawn from them. Numbers are written so that they read back as the same doubles.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/status.h"

namespace headrace::training {

class CurveFiles {
 public:
  explicit CurveFiles(std::string folder) : folder_(std::move(folder)) {}
  ~CurveFiles();
  CurveFiles(const CurveFiles&) = delete;
  CurveFiles& operator=(const CurveFiles&) = delete;

  // Starts anew (step 0), or goes on after `step`: later lines go, an incomplete last line too. What is missing before it is
  // said in `notes`. A file by these names that has other columns is an error, not overwritten.
  Status Open(int64_t step, std::vector<std::string>* notes = nullptr);
  Status AddStep(int64_t step, int64_t epoch, double rate, double loss);
  Status AddEpoch(int64_t epoch, int64_t step, double loss, const double* validation_loss, const double* accuracy);
  Status Flush();  // to the disk, before a checkpoint, so that the files are never behind it
  Status Draw();   // losses.svg, of what was added so far

 private:
  struct File {
    std::string path, buffer;
    int fd = -1;
  };
  Status Open(File& f, const std::string& name, int64_t step, std::vector<std::string>* notes);
  Status Write(File& f);
  std::string folder_;
  File steps_, epochs_;
};

}  // namespace headrace::training
