// Linear algebra and Fourier transforms as documented pure forms, and faster implementations: //plugins/linalg:liblinalg_ops.so, a
// tier-1 plugin.
#include "plugins/linalg/families.h"

HEADRACE_PLUGIN("linalg_ops", "1.0") {
  linalg_ops::RegisterSolvers(r);
  linalg_ops::RegisterFactors(r);
  linalg_ops::RegisterTransforms(r);
  linalg_ops::RegisterCalls(r);
  linalg_ops::RegisterFactorCalls(r);
}
