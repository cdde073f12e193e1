// What the functions of this room share: oneDNN on one thread at a time, nodes as numbers, epilogues as its post-ops.
#pragma once
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "plugins/api/headrace_plugin.hpp"

namespace headrace_onednn {

using headrace_plugin::Node;
using Dims = std::vector<int64_t>;

const dnnl::engine& Engine();
dnnl::stream& Stream();  // of this thread

// The packaged library works on threads of libgomp. Where this stands, primitives are made for one thread and run on the one that
// calls: chunks of the host's pool take the place of its own threads.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;

 private:
  const int before_;
};

Dims Ints(const std::string& list);                 // "[1, 2]"
Dims Sizes(const hr_port* p);                       // -1 where a size is a name
bool Known(const Dims& d, size_t from = 0);         // all of them are numbers
int64_t Product(const Dims& d, size_t from = 0);
Dims RowMajor(const Dims& shape);
Dims ChannelsLast(const Dims& shape);               // [N, C, H, W]: C lies densely
// Strides of a port of a node that has sizes `shape`, of which the first is not looked at.
Dims StridesOf(const Node& n, bool output, int port, const Dims& shape);
dnnl::memory::desc Desc(const Dims& shape, const Dims& strides);
dnnl::memory At(const dnnl::memory::desc& d, const void* data);

// Steps of an epilogue, and which of the call's inputs its post-ops read.
struct PostOps {
  dnnl::primitive_attr attr;  // scratchpad: the caller's
  struct Operand {
    int number;  // of the post-op
    int input;   // of the call
    bool vector;  // else of the result's shape
  };
  std::vector<Operand> operands;
  int bias = -1;  // an input that is added first, as the primitive's own bias
};
// "" = all of them can be done.
std::string WhyNoSteps(const Node& n, int channel);
// `result`: of what one primitive gives; `channel`: its dimension for vectors. A bias at the front becomes the primitive's own where
// `own_bias`.
PostOps PostOpsOf(const Node& n, const dnnl::memory::desc& result, int channel, bool own_bias);

// A primitive with what each run adds to its arguments.
class Kernel {
 public:
  Kernel() = default;
  template <typename Primitive, typename PrimitiveDesc>
  static Kernel Of(const PrimitiveDesc& pd) {
    Kernel k;
    k.primitive_ = Primitive(pd);
    k.scratchpad_ = pd.scratchpad_desc();
    return k;
  }
  void Run(std::vector<std::pair<int, dnnl::memory>> arguments) const;

 private:
  dnnl::primitive primitive_;
  dnnl::memory::desc scratchpad_;
};

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

// Constants in the form that a primitive wants.
dnnl::memory Packed(const hr_value& constant, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

// "pads = [1, 1], strides = [2]": those of the node's attributes that are set; no pads where `auto_pad` is VALID.
std::string AttributesOf(const Node& n, const std::vector<std::string>& names);

// Channels last for ports of the images' rank that are no vectors of an epilogue; `weights`: a port that is left alone.
std::vector<int> ImagesChannelsLast(const Node& n, int port, const char* weights);

void RegisterConvolution(headrace_plugin::Registrar& r);
void RegisterProducts(headrace_plugin::Registrar& r);
void RegisterPooling(headrace_plugin::Registrar& r);
void RegisterRows(headrace_plugin::Registrar& r);  // softmax, layer normalisation

}  // namespace headrace_onednn
