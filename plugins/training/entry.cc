// What training adds to a model as documented pure forms: //plugins/training:libtraining_ops.so, a tier-1 plugin.
#include "plugins/training/families.h"

HEADRACE_PLUGIN("training_ops", "1.0") {
  training_ops::RegisterLosses(r);
  training_ops::RegisterOptimizers(r);
  training_ops::RegisterScaling(r);
  training_ops::RegisterStatistics(r);
}
