// The workbench of `headrace tune`: this machine.
#pragma once
#include <chrono>

#include "driver/commands/profile.h"
#include "driver/tune/search.h"

namespace headrace::tune {

struct Measured {
  const Registry& registry;
  Program program;         // as imported
  CompileRequest request;  // without a plan
  NamedValues inputs;
  NamedSizes symbols;
  std::function<bool()> interrupted;      // polled
  std::function<void()> goes_on;          // an interrupt is over: Finish
  std::chrono::steady_clock::time_point start, until;
};

class Machine : public Workbench {
 public:
  explicit Machine(Measured m) : m_(std::move(m)) {}

  Status SetReference(const Plan& plan) override;
  Result<bool> Differs(const Plan& plan) override;
  Result<std::map<std::string, double>> KernelSeconds() override;
  std::string NameOf(const std::string& key) const override;
  Result<std::string> Schedule(const std::string& key, const Plan::Numbers& numbers) override;
  Result<Trial> Try(const Plan& plan, int times) override;
  bool Stop(double share) override;
  bool Finish() override;

 private:
  // A program with clocks.
  struct Build {
    Clocked clocked;
    std::vector<std::string> keys;  // of the kernel that each row is a call of; "": of none
    double seconds = 0;             // of a run
  };
  CompileRequest RequestOf(const Plan& plan) const;
  Result<Program> KernelsOf(const Plan& plan);
  Result<Build> Make(const Plan& plan);
  Result<double> Run(Build& b, size_t half, bool reference, Trial* t, std::vector<Value>* outputs = nullptr);
  Status CheckValues(const std::vector<Value>& outputs, const Plan& plan) const;

  Measured m_;
  Plan whole_;       // of kernels_
  Program kernels_;  // without schedules
  bool has_kernels_ = false;
  std::map<std::string, std::shared_ptr<Sdfg>> by_key_;
  std::map<std::string, std::string> names_;  // of kernels
  std::map<std::string, double> seconds_;     // of the reference's
  Build reference_;
  std::vector<Value> outputs_;  // of the reference; empty: they differ from run to run
  bool stopped_ = false;
};

}  // namespace headrace::tune
