// The gradient of every op sample against differences: what `headrace ops --test`, //tests/autodiff and the
// table of docs walk over.
#pragma once
#include <string>
#include <vector>

#include "driver/samples/samples.h"
#include "ir/registry/registry.h"

namespace headrace::autodiff {

enum class Verdict {
  kChecked,  // agrees with differences, not all zero
  kZero,     // zero by definition: gradient and differences are zero, or no output is a float
  kKink,     // only elements at kinks: the gradient lies between the slopes of both sides
  kRefused,  // an error; `detail` is its text
  kWrong,    // `detail` says where
};

struct InputVerdict {
  std::string input;  // a float input of the sample's program
  Verdict verdict = Verdict::kWrong;
  std::string detail;
  std::string rule;  // "form", "derived", a plugin's name
  int compared = 0;  // elements with a derivative by differences
  int kinks = 0;     // elements at a kink: the gradient lies between the slopes of both sides
};

// In f64, output gradients drawn at random, central differences; eps 1e-6, atol 1e-5, rtol 1e-3. Empty when no input is a float.
std::vector<InputVerdict> CheckGradients(const Registry& r, const OpSample& s, const std::string& backend,
                                         const std::string& folder);

// The gradients at the sample's values for output gradients of one, in f64: for tables of kinks.
Result<std::vector<std::pair<Name, Value>>> SampleGradients(const Registry& r, const OpSample& s,
                                                            const std::string& backend, const std::string& folder);

// The samples of a file, one a line: "OP | SAMPLE", of the newest version, or "OP-VERSION | SAMPLE"; `#` starts a comment.
Result<std::vector<OpSample>> SamplesOfFile(const Registry& r, const std::string& path);

// All samples of one op name, summed up.
struct OpVerdict {
  std::string name;  // "onnx.Relu"
  int samples = 0;
  std::vector<std::string> checked, zero, refused, wrong;  // inputs by their best verdict
  std::string rule, error;
};
// One of every `every` samples.
std::vector<OpVerdict> CheckOps(const Registry& r, const std::vector<OpSample>& samples, const std::string& backend,
                                const std::string& folder, bool verbose, int every = 1);

}  // namespace headrace::autodiff
