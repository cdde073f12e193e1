// One function per family of operators; entry.cc calls them all.
#pragma once
#include <string>

#include "plugins/api/headrace_plugin.hpp"

namespace onnxruntime_ops {

using headrace_plugin::Registrar;

void RegisterActivations(Registrar& r);
void RegisterProducts(Registrar& r);
void RegisterNormalization(Registrar& r);
void RegisterAttention(Registrar& r);
void RegisterQuantized(Registrar& r);
void RegisterQuantizedPools(Registrar& r);
void RegisterQuantizedProducts(Registrar& r);
void RegisterQuantizedLayers(Registrar& r);

// Scaled dot-product attention from its parts: the queries as `q`, keys AK[b, h, j, d] and values AV[b, h, j, e], for B, H, I, J,
// D, F and P; `mask` is the port of the mask over keys, `bias` that of what is added to the scores ("" = none). Gives `output`.
std::string AttentionCore(const std::string& mask, const std::string& bias);

// Sizes `out` that a window leaves of the list xd: strides, dilations, pads, auto_pad and ceil_mode as in ONNX's pools.
std::string WindowSizes();

// What x becomes in steps of `scale`, its zero point where a range holds 0: q, as DynamicQuantizeLinear has it.
std::string DynamicScale(const std::string& x);

}  // namespace onnxruntime_ops
