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

Dims Ints(const std::string& list) {
  Dims out;
  for (const char* at = list.c_str(); *at;) {
    char* end = nullptr;
    const long long v = std::strtoll(at, &end, 10);
    if (end == at) {
      ++at;
      continue;
    }
    out.push_back(v);
    at = end;
  }
  return out;
}
Dims Sizes(const hr_port* p) {
  Dims out;
  for (int d = 0; d < p->rank; ++d) out.push_back(Node::Size(p, d));
  return out;
}
bool Known(const Dims& d, size_t from) {
  for (size_t i = from; i < d.size(); ++i)
    if (d[i] < 1) return false;
  return true;
}
int64_t Product(const Dims& d, size_t from) {
  int64_t n = 1;
  for (size_t i = from; i < d.size(); ++i) n *= d[i];
  return n;
}
Dims RowMajor(const Dims& shape) {
  Dims s(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) s[d - 1] = s[d] * shape[d];
  return s;
}
Dims ChannelsLast(const Dims& shape) {
  Dims s(shape.size(), 1);
  int64_t step = shape[1];
  for (size_t d = shape.size(); d-- > 2; step *= shape[d]) s[d] = step;
  s[0] = step;
  return s;
}
Dims StridesOf(const Node& n, bool output, int port, const Dims& shape) {
  const hr_node* raw = n.raw();
  const auto* all = output ? raw->output_strides : raw->input_strides;
  if (!all || !all[port]) return shape.size() > 2 && Product(shape, 2) == 1 ? ChannelsLast(shape) : RowMajor(shape);  // the same memory
  Dims s;
  for (size_t d = 0; d < shape.size(); ++d) {
    char* end = nullptr;
    const int64_t v = std::strtoll(all[port][d], &end, 10);
    if (*end) throw std::invalid_argument("strides that are no numbers");
    s.push_back(v);
  }
  return s;
}
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

std::string AttributesOf(const Node& n, const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    const std::string text = n.attribute(name);
    if (text.empty() || (name == "pads" && n.attribute("auto_pad") == "\"VALID\"")) continue;
    out += (out.empty() ? "" : ", ") + name + " = " + text;
  }
  return out;
}

std::vector<int> ImagesChannelsLast(const Node& n, int port, const char* weights) {
  const hr_node* raw = n.raw();
  const hr_port& p = port < raw->n_inputs ? raw->inputs[port] : raw->outputs[port - raw->n_inputs];
  if (p.rank < 3 || p.rank != raw->inputs[0].rank || std::string(p.name) == weights) return {};
  for (const hr_step& s : n.steps())
    if (s.input == port && s.dim >= 0) return {};
  std::vector<int> order = {0};
  for (int d = 2; d < p.rank; ++d) order.push_back(d);
  order.push_back(1);
  return order;
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
