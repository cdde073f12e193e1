// Gradients of library nodes. The gradient of onnx.Conv is the library node grad.Conv over the values its rule reads, the
// gradients given and the gradients asked for:
//
//   onnx.Conv{pads = …}(X = X, W = W) -> (Y = Y)
//   → grad.Conv{domain = "onnx", pads = …}(X = X, W = W, grad_Y = dY) -> (grad_X = dX, grad_W = dW)
//
// Its implementation "pure" is the registered backward rule that applies, else the derivative of the forward's pure
// implementation; plugins add others under domain "grad" and the forward's op name.
#pragma once
#include <string>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace::autodiff {

struct LibraryGradient {
  // The gradient node with every port named but containers of gradients left empty: values read are wired to the forward's
  // containers. Gradient outputs ("grad_X") are *assigned* in full, not accumulated.
  Library node;
  std::vector<std::string> inputs_read, outputs_read;  // forward ports whose values the rule reads
  std::string rule;  // "form", a plugin's name, or "derived" (for the report and `headrace ops`)
};

// `given`: output ports (variadic ones as name_0, name_1 …) with a gradient; `required`: input ports whose gradient is wanted.
// An error names op, node, the port and what to register.
Result<LibraryGradient> GradientOf(const Registry& r, const Program& p, const Sdfg& s, NodeId n,
                                   const std::vector<std::string>& given, const std::vector<std::string>& required);

// Can a gradient flow from this input port: is its type a float? (ONNX's schemas call ports non-differentiable that are not, such
// as Clip's bounds and an LSTM's initial state; where a derivative is zero, the rule says so.)
bool Differentiable(const Registry& r, const Program& p, const Sdfg& s, NodeId n, const std::string& input_port);

// The expansion of a grad.* node (ForwardImplementation {domain "grad", op "*", name "pure"}): a program whose parameters are
// the node's ports.
Result<Program> ExpandGradient(const Registry& r, const NodeView& v);

// Adds that expansion to the registry, with a cache: a model repeats its layers.
Status RegisterLibraryGradients(Registry& r);

}  // namespace headrace::autodiff
