// A run's folder: what stays, what is passed over, and that a kill at any moment loses nothing.
#include "training/checkpoint.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "gtest/gtest.h"
#include "training/whole_file.h"

namespace headrace::training {
namespace {

Snapshot Of(double value, int64_t size = 4) {
  Tensor w = *Tensor::Create(DType::kF64, {size});
  for (int64_t i = 0; i < size; ++i) w.SetDouble(i, value);
  return {{{"seed", "7"}}, {{"w", w}}};
}

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "/checkpointsXXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    path_ = name + "/of a/run";
  }
  void TearDown() override {
    for (const std::string& n : Names()) unlink(File(n).c_str());
    for (const char* up : {"", "/..", "/../.."}) rmdir((path_ + up).c_str());
  }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    if (DIR* d = opendir(path_.c_str())) {
      while (const dirent* e = readdir(d))
        if (e->d_name[0] != '.') names.push_back(e->d_name);
      closedir(d);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  static double ValueOf(const Result<Snapshot>& s) { return s.ok() ? s->tensors.at(0).second.GetDouble(0) : -1; }

  std::string path_;
};

using Strings = std::vector<std::string>;

TEST_F(CheckpointTest, TheLastTwoStay) {
  CheckpointFolder folder(path_);
  ASSERT_TRUE(folder.Prepare().ok());
  EXPECT_EQ(folder.Latest(nullptr).status().diagnostics()[0].code, "E0953");
  for (int64_t step : {0, 5, 20, 1000000000}) ASSERT_TRUE(folder.Save(step, Of(static_cast<double>(step))).ok());
  EXPECT_EQ(Names(), (Strings{"run.lock", "step-000000020.safetensors", "step-1000000000.safetensors"}));
  EXPECT_EQ(folder.Steps(), (std::vector<int64_t>{20, 1000000000}));
  Strings notes;
  Result<Snapshot> s = folder.Latest(&notes);
  EXPECT_EQ(ValueOf(s), 1e9);
  EXPECT_EQ(s->metadata, (std::map<std::string, std::string>{{"seed", "7"}, {"step", "1000000000"}}));
  EXPECT_EQ(notes, Strings());
}

TEST_F(CheckpointTest, TornAndForeignFilesAreNamedWithTheOneThatIsUsed) {
  {
    CheckpointFolder folder(path_, 3);
    ASSERT_TRUE(folder.Prepare().ok());
    for (int64_t step : {10, 20, 30}) ASSERT_TRUE(folder.Save(step, Of(static_cast<double>(step))).ok());
  }
  ASSERT_EQ(truncate(File("step-000000030.safetensors").c_str(), 210), 0);
  std::ofstream(File("model.safetensors")) << "another program's";
  std::ofstream(File("step-000000090.safetensors")) << std::ifstream(File("step-000000010.safetensors")).rdbuf();

  CheckpointFolder folder(path_);
  ASSERT_TRUE(folder.Prepare().ok());
  Strings notes;
  EXPECT_EQ(ValueOf(folder.Latest(&notes)), 20);
  EXPECT_EQ(
      notes,
      (Strings{"model.safetensors is not a checkpoint of this run; step-000000020.safetensors is used instead",
               "step-000000090.safetensors: this is not a complete checkpoint: by its name it is of step 90, by its "
               "contents of step 10; step-000000020.safetensors is used instead",
               "step-000000030.safetensors: this is not a complete checkpoint: its header speaks of 32 bytes of "
               "data, it has 10; step-000000020.safetensors is used instead"}));
  // A damaged file is not one of the two that stay, and is not touched before its step comes again.
  ASSERT_TRUE(folder.Save(25, Of(25)).ok());
  EXPECT_EQ(Names(),
            (Strings{"model.safetensors", "run.lock", "step-000000020.safetensors", "step-000000025.safetensors",
                     "step-000000030.safetensors", "step-000000090.safetensors"}));
  ASSERT_TRUE(folder.Save(30, Of(30)).ok());
  ASSERT_TRUE(folder.Save(35, Of(35)).ok());
  EXPECT_EQ(folder.Steps(), (std::vector<int64_t>{30, 35, 90}));
}

TEST_F(CheckpointTest, WithoutACompleteOneThereIsNothingToResume) {
  CheckpointFolder folder(path_);
  ASSERT_TRUE(folder.Prepare().ok());
  std::ofstream(File("step-000000010.safetensors")) << "";
  Strings notes;
  Result<Snapshot> s = folder.Latest(&notes);
  ASSERT_FALSE(s.ok());
  const Diagnostic& d = s.status().diagnostics()[0];
  EXPECT_EQ(d.code, "E0953");
  EXPECT_EQ(d.file, path_);
  EXPECT_EQ(d.message, "the folder holds no complete checkpoint to resume from");
  EXPECT_EQ(d.got, "step-000000010.safetensors: this is not a complete checkpoint: it has 0 bytes");
}

TEST_F(CheckpointTest, OneRunAtATime) {
  auto first = std::make_unique<CheckpointFolder>(path_);
  ASSERT_TRUE(first->Prepare().ok());
  const Status s = CheckpointFolder(path_).Prepare();
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.diagnostics()[0].code, "E0954");
  EXPECT_EQ(s.diagnostics()[0].file, path_);
  EXPECT_EQ(s.message(), "another run writes its checkpoints here (process " + std::to_string(getpid()) + ")");
  first.reset();
  EXPECT_TRUE(CheckpointFolder(path_).Prepare().ok());
}

TEST_F(CheckpointTest, WhatDeadRunsLeftHalfWrittenGoes) {
  { ASSERT_TRUE(CheckpointFolder(path_).Prepare().ok()); }
  for (const char* name :
       {"step-000000010.safetensors.tmp123", "losses.svg.tmp7", "notes.tmp7", "step-1.safetensors.tmpx"})
    std::ofstream(File(name)) << "half";
  ASSERT_TRUE(CheckpointFolder(path_).Prepare().ok());
  EXPECT_EQ(Names(), (Strings{"notes.tmp7", "run.lock", "step-1.safetensors.tmpx"}));
}

TEST_F(CheckpointTest, AFolderThatCantBeWritten) {
  { ASSERT_TRUE(CheckpointFolder(path_).Prepare().ok()); }
  const Status s = CheckpointFolder(File("run.lock/deeper")).Prepare();
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.diagnostics()[0].code, "E0951");
  EXPECT_EQ(s.diagnostics()[0].file, File("run.lock/deeper"));
  EXPECT_EQ(s.message(), "can't write here: a part of its path is a file, not a folder");
  EXPECT_EQ(CheckpointFolder("/proc/checkpoints").Prepare().diagnostics()[0].code, "E0951");
}

// SIGKILL while another process saves as fast as it can: the newest checkpoint is complete, always.
TEST_F(CheckpointTest, AKillAtAnyMomentLosesNothing) {
  int64_t last = 0;
  for (int round = 0; round < 12; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      CheckpointFolder folder(path_);
      if (!folder.Prepare().ok()) _exit(1);
      for (int64_t step = last + 1;; ++step)
        if (!folder.Save(step, Of(static_cast<double>(step), 100000)).ok()) _exit(2);
    }
    usleep(20000 + 7919 * round);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << WEXITSTATUS(status);
    CheckpointFolder folder(path_);
    ASSERT_TRUE(folder.Prepare().ok());
    const std::vector<int64_t> steps = folder.Steps();
    Strings notes;
    if (steps.empty()) continue;  // killed before the first
    EXPECT_EQ(ValueOf(folder.Latest(&notes)), static_cast<double>(steps.back()));
    EXPECT_EQ(notes, Strings());
    EXPECT_GE(steps.back(), last);
    EXPECT_EQ(Names().size(), 1 + folder.Steps().size()) << "temporaries stay";
    // A kill may have come before older ones went.
    EXPECT_LE(folder.Steps().size(), 2u);
    last = steps.back();
  }
  EXPECT_GT(last, 0);
}

}  // namespace
}  // namespace headrace::training
