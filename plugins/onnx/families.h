// One function per family of ONNX operators; entry.cc calls them all.
#pragma once
#include <string>

#include "plugins/api/headrace_plugin.hpp"

namespace onnx_ops {

using headrace_plugin::Registrar;

void RegisterElementwise(Registrar& r);
void RegisterBinary(Registrar& r);
void RegisterReductions(Registrar& r);
void RegisterSoftmax(Registrar& r);
void RegisterNormalization(Registrar& r);
void RegisterContraction(Registrar& r);
void RegisterEinsum(Registrar& r);
void RegisterConvolution(Registrar& r);
void RegisterPooling(Registrar& r);
void RegisterMovement(Registrar& r);
void RegisterIndexing(Registrar& r);
void RegisterResize(Registrar& r);
void RegisterQuantization(Registrar& r);
void RegisterRecurrent(Registrar& r);
void RegisterAttention(Registrar& r);
void RegisterLosses(Registrar& r);
void RegisterSignal(Registrar& r);
void RegisterGenerators(Registrar& r);
void RegisterTraining(Registrar& r);

// Each of the samples in `text`, which are separated by " | ".
inline void Samples(Registrar::Op& op, const std::string& text) {
  for (size_t at = 0; at != std::string::npos;) {
    size_t bar = text.find(" | ", at);
    op.Sample(text.substr(at, bar == std::string::npos ? bar : bar - at));
    at = bar == std::string::npos ? bar : bar + 3;
  }
}

// Geometry shared by convolutions and pools: N spatial dimensions xd → yd, stride st, dilation dl, kernel K, padding lo before.
// `x`, `y`, `w` are the port names.
std::string Window(const std::string& x, const std::string& y, const std::string& w);

}  // namespace onnx_ops
