// headrace._core: the C++ under the package `headrace`.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "driver/compile.h"
#include "driver/plugin_path.h"
#include "python/extension/bindings.h"
#include "python/extension/callbacks.h"
#include "python/extension/interrupts.h"

namespace headrace::python {
namespace {

nb::dict ToDict(const Diagnostic& d) {
  nb::dict out;
  out["code"] = d.code;
  out["message"] = d.message;
  out["file"] = d.file;
  out["line"] = d.line;
  out["column"] = d.column;
  out["node"] = d.node;
  out["op"] = d.op;
  out["got"] = d.got;
  out["expected"] = d.expected;
  out["hint"] = d.hint;
  return out;
}

const char* KindName(ErrorKind k) {
  switch (k) {
    case ErrorKind::kUsage: return "usage";
    case ErrorKind::kUnsupported: return "unsupported";
    case ErrorKind::kMismatch: return "mismatch";
    case ErrorKind::kInterrupted: return "interrupted";
    case ErrorKind::kInternal: return "internal";
    default: return "invalid";
  }
}

void Raise(const Status& s) try {
  if (PyErr_Occurred()) return;  // a signal's exception, while our code was asked to stop
  nb::list diagnostics;
  for (const Diagnostic& d : s.diagnostics()) diagnostics.append(ToDict(d));
  nb::object error =
      nb::module_::import_("headrace.errors").attr("of")(KindName(s.kind()), s.ToString(), diagnostics);
  if (nb::object cause = CauseOf(s); !cause.is_none()) error.attr("__cause__") = cause;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
} catch (nb::python_error& e) {  // Ctrl-C, which Python's code in between has seen
  e.restore();
}

}  // namespace

Registry& Plugins() {
  static Registry* registry = [] {  // never let go of: compiled programs may outlive every static
    auto* r = new Registry;
    Check(AddFunctionOp(r));
    const Status s = LoadPlugins(*r, PluginPath());
    if (!s.ok()) {
      nb::object warn = nb::module_::import_("warnings").attr("warn");
      warn("a plugin can't be loaded:\n" + s.ToString());
    }
    return r;
  }();
  // Once for all, but not for the functions of entry points, which use the registry themselves: Python's lock knows them.
  static bool complete = false;
  if (!complete) complete = nb::cast<bool>(nb::module_::import_("headrace.custom.plugins").attr("load_entry_points")());
  return *registry;
}

}  // namespace headrace::python

NB_MODULE(_core, m) {
  using namespace headrace::python;
  nb::set_leak_warnings(false);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const StatusError& e) {
      Raise(e.status);
    }
  });
  m.def(
      "load_plugin", [](const std::string& path, bool folder) { Check(folder ? Plugins().LoadPluginFolder(path) : Plugins().LoadPlugin(path)); },
      nb::arg("path"), nb::arg("folder") = false);
  m.def("plugins", [] {
    nb::list all;
    for (const auto& p : Plugins().Plugins()) all.append(nb::make_tuple(p.name, p.version, p.path));
    return all;
  });
  m.def("backends", [] {
    nb::list all;
    for (const headrace::Backend* b : Plugins().Backends()) all.append(b->name);
    return all;
  });
  RememberMainThread();
  BindProgram(m);
  BindExecutable(m);
  BindModel(m);
  BindInnerValues(m);
  BindOps(m);
  BindCustomOps(m);
  BindTransformations(m);
  BindSamples(m);
  BindLog(m);
}
