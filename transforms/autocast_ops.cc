#include "transforms/autocast_ops.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "ir/registry/inference.h"

namespace headrace::transforms {
namespace {

// All other ops with a pure form follow their operands: activations, arithmetic, extrema, what moves elements.
const std::pair<Precision, const char*> kOps[] = {
    // Products: their forms carry sums in f32.
    {Precision::kNarrow, "onnx.MatMul onnx.Gemm onnx.Einsum onnx.Conv onnx.ConvTranspose onnx.CausalConvWithState onnx.Attention onnx.RNN onnx.GRU onnx.LSTM"},
    {Precision::kNarrow, "com.microsoft.FusedMatMul com.microsoft.TransposeMatMul com.microsoft.FusedGemm com.microsoft.GemmFastGelu"},
    {Precision::kNarrow, "com.microsoft.FusedConv com.microsoft.Attention com.microsoft.MultiHeadAttention"},
    // What needs f32's range or precision.
    {Precision::kWide, "onnx.Exp onnx.Log onnx.Pow onnx.Softplus onnx.Reciprocal onnx.Tan onnx.Acos onnx.Asin onnx.Cosh onnx.Sinh"},
    {Precision::kWide, "onnx.Softmax onnx.LogSoftmax onnx.NegativeLogLikelihoodLoss onnx.SoftmaxCrossEntropyLoss onnx.CumSum onnx.CumProd"},
    {Precision::kWide, "onnx.ReduceL1 onnx.ReduceL2 onnx.ReduceLogSum onnx.ReduceLogSumExp onnx.ReduceMean onnx.ReduceProd onnx.ReduceSum"},
    {Precision::kWide, "onnx.ReduceSumSquare onnx.LpPool onnx.GlobalLpPool onnx.RoiAlign onnx.LinearAttention onnx.DeformConv onnx.DFT onnx.STFT"},
    {Precision::kWide, "onnx.BatchNormalization onnx.GroupNormalization onnx.InstanceNormalization onnx.LayerNormalization onnx.RMSNormalization"},
    {Precision::kWide, "onnx.LRN onnx.LpNormalization onnx.MeanVarianceNormalization onnx.SimplifiedLayerNormalization"},
    {Precision::kWide, "onnx.Resize onnx.Upsample onnx.GridSample onnx.AffineGrid onnx.Bernoulli onnx.Multinomial onnx.QuantizeLinear"},
    {Precision::kWide, "com.microsoft.SkipLayerNormalization com.microsoft.SkipSimplifiedLayerNormalization com.microsoft.EmbedLayerNormalization"},
    {Precision::kWide, "com.microsoft.QEmbedLayerNormalization com.microsoft.QAttention com.microsoft.MatMulNBits com.microsoft.QuantizeLinear"},
    {Precision::kWide, "com.microsoft.MatMulIntegerToFloat com.microsoft.DynamicQuantizeMatMul com.microsoft.DynamicQuantizeLSTM com.microsoft.QGemm"},
    {Precision::kWide, "linalg.Solve linalg.Det linalg.Cholesky linalg.Slogdet linalg.Eigh linalg.Svd linalg.Qr linalg.Pinv linalg.Fft"},
    {Precision::kWide, "train.MeanSquaredError train.ChannelMoments train.ClipNorm train.ClipScaledNorm train.LossScale train.SGD train.Momentum train.Adam train.AdamW"},
    {Precision::kWide, "ai.onnx.preview.training.Adagrad ai.onnx.preview.training.Adam ai.onnx.preview.training.Momentum"},
    {Precision::kExact, "onnx.DequantizeLinear com.microsoft.DequantizeLinear"},
};

const PortSignature* Declared(const std::vector<PortSignature>& ports, Name name) {
  for (const PortSignature& p : ports)
    if (p.name == name.view()) return &p;
  return nullptr;
}

// "y_zero_point|f32" of an output: the type of that input, where it is there.
std::string TypeOf(const OpSignature& op, const PortSignature& port) {
  const std::string first = port.type.substr(0, port.type.find('|'));
  const PortSignature* input = Declared(op.inputs, Name(first));
  return input ? input->type : port.type;
}

// bf16 came later than f16 to most ops, and their forms know no difference.
bool Narrows(const OpSignature& op, const std::string& type) {
  const auto variable = op.types.find(type);
  const std::vector<std::string>* types = variable != op.types.end() ? &variable->second : TypeFamily(type);
  return types && std::find(types->begin(), types->end(), "f16") != types->end();
}

TypeGroup& GroupOf(std::vector<TypeGroup>* groups, const OpSignature& op, const std::string& type) {
  for (TypeGroup& g : *groups)
    if (g.type == type) return g;
  groups->push_back({type, Narrows(op, type), {}, {}});
  return groups->back();
}

}  // namespace

Precisions::Precisions(const Registry& r) {
  for (const OpDefinition* d : r.Definitions())
    if (!d->pure.empty()) ops_[d->domain + "." + d->name] = Precision::kFollow;
  for (const auto& [precision, names] : kOps) {
    std::stringstream words(names);
    for (std::string op; words >> op;) ops_[op] = precision;
  }
}

Precision Precisions::Of(const Library& l) const {
  if (!l.implementation.empty()) return Precision::kWide;
  for (const auto& [name, a] : l.attributes)
    if (std::holds_alternative<Name>(a.value)) return Precision::kWide;
  const auto it = ops_.find(l.domain.str() + "." + l.op.str());
  return it == ops_.end() ? Precision::kWide : it->second;
}

std::vector<TypeGroup> TypeGroups(const Registry& r, const Library& l) {
  std::vector<TypeGroup> groups;
  const OpSignature* op = r.FindOp(l.domain.str(), l.op.str(), l.version);
  if (!op) return groups;
  for (size_t i = 0; i < l.inputs.size(); ++i)
    if (const PortSignature* p = Declared(op->inputs, l.inputs[i].name)) GroupOf(&groups, *op, p->type).inputs.push_back(i);
  for (size_t i = 0; i < l.outputs.size(); ++i)
    if (const PortSignature* p = Declared(op->outputs, l.outputs[i].name)) GroupOf(&groups, *op, TypeOf(*op, *p)).outputs.push_back(i);
  return groups;
}

}  // namespace headrace::transforms
