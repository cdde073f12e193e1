// headrace.set_log: what the compiler says of its work, to a stream of Python's.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "ir/base/log.h"
#include "python/extension/bindings.h"

namespace headrace {
namespace python {
namespace {

nb::object* stream = nullptr;  // under the GIL; null: stderr

void Write(const std::string& line) {
  nb::gil_scoped_acquire gil;
  if (!stream) return;
  const nb::object to = *stream;  // while it writes, another thread may set another one
  try {
    to.attr("write")(line);
  } catch (nb::python_error& e) {  // a stream that fails must not end a compilation
    e.discard_as_unraisable("headrace.set_log");
  }
}

void SetLog(const std::vector<std::string>& topics, nb::object to) {
  unsigned on = 0;
  for (const std::string& t : topics) {
    const auto& known = LogTopics();
    on |= 1u << (std::find(known.begin(), known.end(), t) - known.begin());
  }
  delete stream;
  stream = to.is_none() ? nullptr : new nb::object(std::move(to));
  LogTo(on, stream ? &Write : nullptr);
}

}  // namespace

void BindLog(nb::module_& m) {
  m.def("log_topics", [] { return LogTopics(); });
  m.def("set_log", &SetLog, nb::arg("topics"), nb::arg("stream").none());
}

}  // namespace python
}  // namespace headrace
