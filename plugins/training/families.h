// One function per family of ops for training; entry.cc calls them all.
#pragma once
#include "plugins/api/headrace_plugin.hpp"

namespace training_ops {

using headrace_plugin::Registrar;

void RegisterOptimizers(Registrar& r);
void RegisterLosses(Registrar& r);
void RegisterScaling(Registrar& r);
void RegisterStatistics(Registrar& r);

}  // namespace training_ops
