// What a library of kernels says of one call of its function (hr_external, minor version 2): asked by passes and backends.
// A refusal is E0678, with its reason.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace {

// The output that is a call's scratch; it holds kCanaryBytes more than the function is told of, which it must leave alone.
inline constexpr std::string_view kScratchPort = "hr_scratch";
inline constexpr int64_t kCanaryBytes = 64;
// The attribute with the epilogue's steps: ["bias e0 1", "relu"].
inline constexpr std::string_view kEpilogueAttribute = "epilogue";
// How the inputs are called that steps read: e0, e1, …
std::string EpiloguePort(size_t number);

// Null: the node is no call of such a function.
const ExternalFunction* FunctionOf(const Registry& r, const Library& l);

// How many bytes the call needs besides, over the sizes around it; null: none.
Result<Expr> ScratchOf(const ExternalFunction& f, const NodeView& v);
// The order of a port's dimensions in memory, the slowest first; empty: dense, row-major.
Result<std::vector<int>> OrderOf(const ExternalFunction& f, const NodeView& v, int port);
// Why the steps of the node are not accepted, or "".
std::string EpilogueRefused(const ExternalFunction& f, const NodeView& v);

// The state of a call, made by `prepare`. Strides are what the backend gives; `dense`: none but row-major ones.
struct PrepareOptions {
  int threads = 0;
  std::string device;
  bool dense = false;
};
Result<void*> PrepareCall(const ExternalFunction& f, const NodeView& v, const PrepareOptions& o);

Status Refused(const std::string& function, const std::string& why, const std::string& node);

}  // namespace headrace
