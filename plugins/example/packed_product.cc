// A tier-1 plugin as a library of kernels is one: matrix products whose weights are packed once, with a preferred layout, scratch,
// results in place, epilogues, threads of the host's and a cost. Needs nothing but headrace_plugin.h(pp); any C++17 compiler
// builds it (README.md). PACKED_PRODUCT_TRACE=1 says on standard error what it does.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "headrace_plugin.hpp"

namespace {

using headrace_plugin::Node;

constexpr int64_t kColumns = 16;  // of a panel

void Trace(const char* what) {
  if (std::getenv("PACKED_PRODUCT_TRACE")) std::fprintf(stderr, "packed_product: %s\n", what);
}

// The state of a call: B in panels of kColumns columns, row after row, filled up with zeros; and what is done to each element.
struct Weights {
  explicit Weights(const Node& n) {
    const hr_value* b = n.input("B")->constant;
    if (!b) throw std::invalid_argument("B is no constant");
    depth = b->shape[0], columns = b->shape[1];
    panels = (columns + kColumns - 1) / kColumns;
    packed.assign(static_cast<size_t>(panels * depth * kColumns), 0);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t c = 0; c < columns; ++c)
        packed[static_cast<size_t>(((c / kColumns) * depth + k) * kColumns + c % kColumns)] =
            static_cast<const float*>(b->data)[k * columns + c];
    for (const hr_step& s : n.steps()) steps.push_back({s.op[0], s.input});
    Trace("prepared");
  }
  ~Weights() { Trace("released"); }

  struct Step {
    char what;  // 'b'ias, 'a'dd, 'r'elu
    int32_t input;
  };
  int64_t depth, columns, panels;
  std::vector<float> packed;
  std::vector<Step> steps;
};

// One call; a chunk is a panel.
struct Product {
  const hr_call* call;
  const Weights& w;
  const float* a;
  int64_t rows, row_step, depth_step;

  static void Chunk(void* ctx, int64_t panel) { static_cast<const Product*>(ctx)->Run(panel); }
  void Run(int64_t panel) const {
    float* const sums = static_cast<float*>(call->scratch) + panel * rows * kColumns;
    std::memset(sums, 0, static_cast<size_t>(rows * kColumns) * sizeof(float));
    const float* b = w.packed.data() + panel * w.depth * kColumns;
    for (int64_t k = 0; k < w.depth; ++k, b += kColumns)
      for (int64_t i = 0; i < rows; ++i) {
        const float factor = a[i * row_step + k * depth_step];
        for (int64_t c = 0; c < kColumns; ++c) sums[i * kColumns + c] += factor * b[c];
      }
    Store(panel, sums);
  }
  void Store(int64_t panel, const float* sums) const {
    float* const y = static_cast<float*>(call->outputs[0].data);
    const int64_t first = panel * kColumns, count = w.columns - first < kColumns ? w.columns - first : kColumns;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = 0; c < count; ++c) {
        const int64_t column = first + c, at = i * w.columns + column;
        float v = sums[i * kColumns + c];
        for (const Weights::Step& s : w.steps) {
          const float* e = s.input < 0 ? nullptr : static_cast<const float*>(call->inputs[s.input].data);
          if (s.what == 'b') v += e[column];
          else if (s.what == 'a') v += e[at];  // read before it is overwritten: the result may lie over it
          else v = v < 0 ? 0 : v;
        }
        y[at] = v;
      }
  }
};

// "" = applies.
std::string WhyNot(const Node& n) {
  const hr_port *a = n.input("A"), *b = n.input("B");
  if (a->dtype != HR_F32) return "only f32";
  if (a->rank != 2 || b->rank != 2) return "only matrices";
  return b->constant ? "" : "B is no constant";
}

std::string Expansion(const Node& n) {
  const auto port = [&](const char* name, const hr_port* p) { return std::string(name) + ": f32[" + Node::Shape(p) + "]"; };
  return "sdfg packed_product(" + port("A", n.input("A")) + ", " + port("B", n.input("B")) + ", " + port("Y", n.output("Y")) + ") {\n" +
         "  call.packed_product(A = A, B = B) -> (Y = Y)\n}\n";
}

std::string WhyNoEpilogue(const Node& n) {
  const hr_step s = n.steps().back();  // those before it were accepted
  const std::string op = s.op;
  if (op == "bias") return s.dim == 1 ? "" : "only a bias of columns";
  return op == "add" || op == "relu" ? "" : "no " + op;
}

}  // namespace

extern "C" HEADRACE_EXPORT int32_t packed_product(hr_call* call) {
  if (!call->state) return call->fail(call, "its weights were not prepared"), 1;
  const Weights& w = *static_cast<const Weights*>(call->state);
  const hr_value& a = call->inputs[0];
  const int64_t* strides = call->input_strides ? call->input_strides[0] : nullptr;
  Product p{call, w, static_cast<const float*>(a.data), a.shape[0], strides ? strides[0] : w.depth, strides ? strides[1] : 1};
  for (int32_t i = 0; i < call->n_inputs; ++i)
    if (call->inputs[i].data == call->outputs[0].data) Trace("in place");
  hr_call_parallel_for(call, w.panels, Product::Chunk, &p);
  return 0;
}

HEADRACE_PLUGIN("example_packed_product", "1.0") {
  headrace_plugin::Contract c = headrace_plugin::Prepared<Weights>();
  c.scratch = [](const Node& n) {  // the sums of each panel
    const hr_port *a = n.input("A"), *b = n.input("B");
    return "4 * " + std::to_string(kColumns) + " * (" + a->shape[0] + ") * ((" + b->shape[1] + " + 15) // 16)";
  };
  c.layout = [](const Node&, int port) { return port == 0 ? std::vector<int>{1, 0} : std::vector<int>(); };  // columns of A lie densely
  c.epilogue = WhyNoEpilogue;
  c.in_place = {{"Y", "e0"}, {"Y", "e1"}};
  r.external("packed_product", "packed_product", c);
  r.impl("MatMul", "packed", WhyNot, Expansion,
         /*cost=*/[](const Node& n) { return n.operations() < 0 ? -1 : 0.5 * n.operations() + 10000; }, {});
}
