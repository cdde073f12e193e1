#include "plugins/onednn/kernels.h"

#include <omp.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <unordered_map>

namespace headrace_onednn {

const dnnl::engine& Engine() {
  static const dnnl::engine e(dnnl::engine::kind::cpu, 0);
  return e;
}
dnnl::stream& Stream() {
  static thread_local dnnl::stream s(Engine());
  return s;
}

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

dnnl::memory::desc Desc(const Dims& shape, const Dims& strides) {
  return dnnl::memory::desc(shape, dnnl::memory::data_type::f32, strides);
}
dnnl::memory At(const dnnl::memory::desc& d, const void* data) { return dnnl::memory(d, Engine(), const_cast<void*>(data)); }

std::string WhyNoSteps(const Node& n, int channel) {
  for (const hr_step& s : n.steps()) {
    const std::string op = s.op;
    const bool vector = op == "bias" || op == "scale", whole = op == "add" || op == "mul";
    if (vector && s.dim != channel) return "a vector along another dimension than the channels'";
    const bool alone = op == "relu" || op == "leaky" || op == "clip" || op == "linear" || op == "sigmoid" || op == "tanh";
    if (!vector && !whole && !alone) return "no " + op;
  }
  return "";
}

PostOps PostOpsOf(const Node& n, const dnnl::memory::desc& result, int channel, bool own_bias) {
  using dnnl::algorithm;
  PostOps out;
  dnnl::post_ops ops;
  for (const hr_step& s : n.steps()) {
    const std::string op = s.op;
    const float alpha = static_cast<float>(s.alpha), beta = static_cast<float>(s.beta);
    if (op == "relu") ops.append_eltwise(algorithm::eltwise_relu, 0, 0);
    else if (op == "leaky") ops.append_eltwise(algorithm::eltwise_relu, alpha, 0);
    else if (op == "clip") ops.append_eltwise(algorithm::eltwise_clip, alpha, beta);
    else if (op == "linear") ops.append_eltwise(algorithm::eltwise_linear, alpha, beta);
    else if (op == "sigmoid") ops.append_eltwise(algorithm::eltwise_logistic, 0, 0);
    else if (op == "tanh") ops.append_eltwise(algorithm::eltwise_tanh, 0, 0);
    else if (op == "bias" && own_bias && ops.len() == 0 && out.bias < 0) out.bias = s.input;
    else if (op == "bias" || op == "scale" || op == "add" || op == "mul") {
      const bool vector = op == "bias" || op == "scale";
      Dims shape(result.get_dims().size(), 1);
      shape[static_cast<size_t>(channel)] = result.get_dims()[static_cast<size_t>(channel)];
      out.operands.push_back({ops.len(), s.input, vector});
      ops.append_binary(op == "bias" || op == "add" ? algorithm::binary_add : algorithm::binary_mul,
                        vector ? Desc(shape, RowMajor(shape)) : result);
    } else {
      throw std::invalid_argument("no " + op);
    }
  }
  out.attr.set_post_ops(ops);
  out.attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return out;
}

namespace {

// Of this thread, grown as needed: a primitive that was made on one thread runs on others.
void* Scratchpad(size_t bytes) {
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  static thread_local std::unique_ptr<void, Free> memory;
  static thread_local size_t size = 0;
  if (size < bytes) {
    memory.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    size = memory ? bytes : 0;
    if (!memory) throw std::bad_alloc();
  }
  return memory.get();
}

}  // namespace

void Kernel::Run(std::vector<std::pair<int, dnnl::memory>> arguments) const {
  const OneThread alone;
  std::unordered_map<int, dnnl::memory> all(arguments.begin(), arguments.end());
  if (scratchpad_.get_size() > 0) all[DNNL_ARG_SCRATCHPAD] = At(scratchpad_, Scratchpad(scratchpad_.get_size()));
  primitive_.execute(Stream(), all);
  Stream().wait();
}

dnnl::memory Packed(const hr_value& constant, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  const OneThread alone;
  if (from == to) return At(from, constant.data);  // constants live as long as the state does
  dnnl::memory packed(to, Engine());
  const dnnl::memory plain = At(from, constant.data);
  dnnl::reorder(plain, packed).execute(Stream(), const_cast<dnnl::memory&>(plain), packed);
  Stream().wait();
  return packed;
}

}  // namespace headrace_onednn
