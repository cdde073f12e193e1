// What the functions of this room share: oneDNN on one thread at a time, epilogues as its post-ops.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "plugins/kernels/nodes.h"

namespace headrace_onednn {

using namespace headrace_kernels;

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

// Constants in the form that a primitive wants.
dnnl::memory Packed(const hr_value& constant, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

void RegisterConvolution(headrace_plugin::Registrar& r);
void RegisterProducts(headrace_plugin::Registrar& r);
void RegisterPooling(headrace_plugin::Registrar& r);
void RegisterRows(headrace_plugin::Registrar& r);  // softmax, layer normalisation

}  // namespace headrace_onednn
