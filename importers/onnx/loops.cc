// Loop and Scan as loops.
#include "importers/onnx/lower.h"
#include "importers/onnx/onnx_types.h"

namespace headrace::onnx_import {

void Lowering::LowerLoop(const NodeCall& call, Scope&) { Report(UnsupportedError("Loop"), call); }
void Lowering::LowerScan(const NodeCall& call, Scope&) { Report(UnsupportedError("Scan"), call); }

}  // namespace headrace::onnx_import
