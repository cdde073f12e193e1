// Operators that ONNX Runtime's optimizer and quantizers write: //plugins/onnxruntime:libonnxruntime_ops.so, a tier-1 plugin.
#include "plugins/onnxruntime/families.h"

HEADRACE_PLUGIN("onnxruntime_ops", "1.0") {
  onnxruntime_ops::RegisterActivations(r);
  onnxruntime_ops::RegisterProducts(r);
  onnxruntime_ops::RegisterNormalization(r);
  onnxruntime_ops::RegisterAttention(r);
  onnxruntime_ops::RegisterQuantized(r);
  onnxruntime_ops::RegisterQuantizedPools(r);
  onnxruntime_ops::RegisterQuantizedProducts(r);
  onnxruntime_ops::RegisterQuantizedLayers(r);
}
