// One function per family of ops; entry.cc calls them all.
#pragma once
#include "plugins/api/headrace_plugin.hpp"

namespace linalg_ops {

using headrace_plugin::Registrar;

void RegisterSolvers(Registrar& r);
void RegisterFactors(Registrar& r);
void RegisterTransforms(Registrar& r);
void RegisterCalls(Registrar& r);
void RegisterFactorCalls(Registrar& r);

}  // namespace linalg_ops
