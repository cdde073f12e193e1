// What plugins of kernel libraries share: nodes as numbers, layouts, chunks on the host's threads.
#pragma once
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include "plugins/api/headrace_plugin.hpp"

namespace headrace_kernels {

using headrace_plugin::Node;
using Dims = std::vector<int64_t>;

Dims Ints(const std::string& list);                 // "[1, 2]"
// Of an attribute of the node; `count` times `otherwise` where it is not set.
Dims IntsOf(const Node& n, const char* attribute, int64_t otherwise, size_t count);
Dims Sizes(const hr_port* p);                       // -1 where a size is a name
bool Known(const Dims& d, size_t from = 0);         // all of them are numbers
int64_t Product(const Dims& d, size_t from = 0);
Dims RowMajor(const Dims& shape);
Dims ChannelsLast(const Dims& shape);               // [N, C, H, W]: C lies densely
// Strides of a port of a node that has sizes `shape`, of which the first is not looked at.
Dims StridesOf(const Node& n, bool output, int port, const Dims& shape);

// "pads = [1, 1], strides = [2]": those of the node's attributes that are set; no pads where `auto_pad` is VALID.
std::string AttributesOf(const Node& n, const std::vector<std::string>& names);
// The attribute `auto_pad` says nothing that `pads` doesn't.
bool PadsAsWritten(const Node& n);

// Channels last for ports of the images' rank that are no vectors of an epilogue; `weights`: a port that is left alone.
std::vector<int> ImagesChannelsLast(const Node& n, int port, const char* weights);

// "", or why an onnx.Gemm is not rows times a constant matrix, with a constant row or without one, and no factors, in f32.
std::string WhyNotPlainGemm(const Node& n);
// An expansion of onnx.MatMul and onnx.Gemm: a call of `function` with their operands.
std::string ProductExpansion(const Node& n, const std::string& function);

// Chunks on the host's threads; the first exception of one is the call's failure. 0, or 1 when it failed.
template <typename Fn>
int32_t Chunks(hr_call* call, int64_t count, const Fn& fn) {
  struct Context {
    const Fn& fn;
    std::mutex mutex;
    std::string error;
  } context{fn, {}, {}};
  hr_call_parallel_for(call, count,
                       [](void* p, int64_t chunk) {
                         Context& c = *static_cast<Context*>(p);
                         try {
                           c.fn(chunk);
                         } catch (const std::exception& e) {
                           const std::lock_guard<std::mutex> lock(c.mutex);
                           if (c.error.empty()) c.error = e.what();
                         }
                       },
                       &context);
  if (context.error.empty()) return 0;
  call->fail(call, context.error.c_str());
  return 1;
}
// What a function does: State::Run, with its exceptions as failures.
template <typename State>
int32_t RunState(hr_call* call) {
  if (!call->state) return call->fail(call, "it was not prepared"), 1;
  try {
    return static_cast<const State*>(call->state)->Run(call);
  } catch (const std::exception& e) {
    return call->fail(call, e.what()), 1;
  }
}

}  // namespace headrace_kernels
