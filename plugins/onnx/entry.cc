// ONNX operators as documented pure forms: //plugins/onnx:libonnx_ops.so, a tier-1 plugin.
#include "plugins/onnx/external/expand.h"
#include "plugins/onnx/families.h"

HEADRACE_PLUGIN("onnx_ops", "1.0") {
  onnx_ops::RegisterElementwise(r);
  onnx_ops::RegisterBinary(r);
  onnx_ops::RegisterReductions(r);
  onnx_ops::RegisterSoftmax(r);
  onnx_ops::RegisterNormalization(r);
  onnx_ops::RegisterContraction(r);
  onnx_ops::RegisterEinsum(r);
  onnx_ops::RegisterConvolution(r);
  onnx_ops::RegisterPooling(r);
  onnx_ops::RegisterMovement(r);
  onnx_ops::RegisterIndexing(r);
  onnx_ops::RegisterResize(r);
  onnx_ops::RegisterQuantization(r);
  onnx_ops::RegisterRecurrent(r);
  onnx_ops::RegisterAttention(r);
  onnx_ops::RegisterLosses(r);
  onnx_ops::RegisterSignal(r);
  onnx_ops::RegisterGenerators(r);
  onnx_ops::RegisterTraining(r);
  onnx_ops::external::RegisterAll(r);
}
