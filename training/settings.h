// What decides a run's numbers, as a checkpoint's metadata: who resumes must say the same.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "training/data.h"
#include "training/trainer.h"

namespace headrace::training {

struct Setting {
  std::string key;     // in the metadata
  std::string option;  // how the user knows it: "--lr"
  std::string value;
};

// `columns` are those of the training data; they and the model's file are known by checksum.
Result<std::vector<Setting>> SettingsOf(const TrainOptions& o, const std::vector<Column>& columns);

// An error names each difference between a checkpoint's metadata and the settings of this run.
Status SameSettings(const std::vector<Setting>& settings, const std::map<std::string, std::string>& metadata,
                    const std::string& folder);

// A number as text that reads back as the same number.
std::string Exact(double v);

}  // namespace headrace::training
