// Inputs of a graph whose values decide shapes, ranks or axes (Reshape's shape, Slice's starts, ReduceSum's axes, …): where
// the caller can give their values before compiling, the model is compiled for them.
#pragma once
#include <string>
#include <unordered_set>

#include "onnx/onnx_pb.h"

namespace headrace::onnx_import {

// Names of values in `g` that such a port reads, directly or through integer arithmetic and movement of small tensors.
std::unordered_set<std::string> ShapeDeciding(const onnx::GraphProto& g);

}  // namespace headrace::onnx_import
