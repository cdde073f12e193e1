// Training-mode nodes as inference: batch normalisation by the statistics it is given, dropout that drops nothing.
#pragma once
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"

namespace headrace::onnx_import {

//   Y, m, v = BatchNormalization<training_mode = 1>(X, s, b, mean, var)   →   Y = BatchNormalization(X, s, b, mean, var)
//   Y = Dropout(X, ratio, training)                                       →   Y = Dropout(X, ratio)
// Everywhere: in subgraphs and functions too. A running statistic that is read further on, or is an output, is the one
// given (an Identity node); what nothing reads any more is removed. Gives a line per op for the report; none: nothing changed.
std::vector<std::string> MakeInference(onnx::ModelProto* model);

}  // namespace headrace::onnx_import
