// Another runtime beside ours, in a Python process: the same model, the same inputs, its outputs and times.
#pragma once
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "ir/base/value.h"

namespace headrace {

class Peer {
 public:
  struct Request {
    std::string runtime;  // "onnxruntime", "torch" (driver/peer_torch.py), or "reference": the onnx package's own evaluator
    std::string model;    // an ONNX file
    std::vector<std::pair<std::string, Tensor>> inputs;
    int threads = 0;
  };
  // $HEADRACE_PYTHON or python3; the error says what is not installed.
  static Result<std::unique_ptr<Peer>> Start(const Request& q);
  ~Peer();

  // Seconds of `runs` runs; of as many as `seconds` hold, at least one, when `runs` is 0.
  Result<std::vector<double>> Turn(double seconds, int runs);
  Result<std::vector<Value>> Outputs();  // in the model's order
  const std::string& version() const { return version_; }

 private:
  Peer() = default;
  Result<std::string> Ask(const std::string& line);

  std::string runtime_, folder_, version_, unread_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
};

}  // namespace headrace
