// Every family of functions in this folder.
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {

void RegisterAll(Registrar& r) {
  RegisterSelection(r);
  RegisterBoxes(r);
  RegisterUnique(r);
  RegisterNumbers(r);
  RegisterStrings(r);
  RegisterStringMoves(r);
  RegisterNgrams(r);
  RegisterSequences(r);
  RegisterLabels(r);
  RegisterFeatures(r);
  RegisterTrees(r);
  RegisterLinear(r);
  RegisterVectorMachines(r);
}

}  // namespace onnx_ops::external
