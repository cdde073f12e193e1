// Helpers shared by the symbolic shape rules (shapes*.cc).
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "importers/onnx/node_call.h"

namespace headrace::onnx_import {

using Shape = std::vector<Expr>;
using ShapeRule = Status (*)(const NodeCall& call, std::vector<Inferred>* out);
using ShapeRules = std::unordered_map<std::string, ShapeRule>;
void AddBroadcastRules(ShapeRules* rules);
void AddMovementRules(ShapeRules* rules);
void AddWindowRules(ShapeRules* rules);
void AddStateRules(ShapeRules* rules);
void AddSignalRules(ShapeRules* rules);
void AddFirstVersionRules(ShapeRules* rules);  // of opset 1, where ONNX has no inference functions
void AddMlRules(ShapeRules* rules);  // of the domain ai.onnx.ml

Status ShapeError(const std::string& message, std::string got = "", std::string expected = "");
std::string ToString(const Shape& s);  // [N, 3]
// Sizes that numpy broadcasting gives; for two different symbols as in ir/expr/broadcast.h: right whenever the program is.
Result<Expr> BroadcastDim(const Expr& a, const Expr& b);
Result<Shape> Broadcast(const std::vector<const Shape*>& shapes);
Expr Product(const Shape& s, size_t begin = 0, size_t end = SIZE_MAX);
// a // b with common factors taken out first: N*S*768 // (N*S*12) is 64.
Expr ExactDiv(const Shape& a, const Shape& b);
// Axis in [0, rank), an error outside [-rank, rank).
Result<int64_t> Axis(int64_t axis, size_t rank);
void SetShape(std::vector<Inferred>* out, size_t i, Shape shape);  // output i, when the node has it
// `axes` from attribute or input; nothing when neither is known.
std::optional<std::vector<int64_t>> AxesOf(const NodeCall& call, size_t input);

}  // namespace headrace::onnx_import
