// Removes what nothing needs: statements whose results are never read (value inference made them so) and their containers.
#pragma once
#include "ir/graph/graph.h"

namespace headrace::onnx_import {

void RemoveUnused(Sdfg* s);

}  // namespace headrace::onnx_import
