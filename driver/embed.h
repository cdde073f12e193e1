// headrace/compile.h of the SDK: models and programs are read, compiled and run in a program of yours, which links
// libheadrace_compile.so and libheadrace.so of `headrace.tar` (examples/embed.cc is a whole one; docs/deploy.md).
//
//   Registry registry;                                       // ops, passes, backends
//   LoadPlugins(registry);                                   // plugins/ beside lib/
//   Result<LoadedModel> m = LoadModel(registry, "net.onnx");
//   auto f = CompileProgram(registry, m->model.program, {});
//   (*f)->Call(frame);                                       // by position, on arrays of yours; thread-safe
//   (*f)->Run({{Name("X"), value}});                         // by name, any kind of value
//
// `CompileRequest::options` (ir/registry/registry.h): threads, implementations, cache, and keep_denormals: exact with floats below
// 1.2e-38, too, which are zero by default where there is no f64 (docs/denormals.md).
//
// Failures are Status, never an exception; Status::ToString() has what, where, hint.
#pragma once
#include "driver/compile.h"
#include "ir/registry/call.h"
