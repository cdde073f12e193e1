// The samples of an op, checked: what `test()` of an op from Python calls, as `headrace ops OP --test` does.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "driver/compile.h"
#include "driver/samples/gradients.h"
#include "driver/samples/implementations.h"
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"

namespace headrace::python {
namespace {

const char* Text(WayOfComputing::Verdict v) {
  switch (v) {
    case WayOfComputing::kReference: return "runs";
    case WayOfComputing::kAgrees: return "agrees";
    case WayOfComputing::kNotApplicable: return "does not apply";
    case WayOfComputing::kUnchecked: return "not compared";
    case WayOfComputing::kWrong: return "wrong";
  }
  return "wrong";
}

const char* Text(autodiff::Verdict v) {
  switch (v) {
    case autodiff::Verdict::kChecked: return "agrees";
    case autodiff::Verdict::kZero: return "zero";
    case autodiff::Verdict::kKink: return "kinks";
    case autodiff::Verdict::kRefused: return "refused";
    case autodiff::Verdict::kWrong: return "wrong";
  }
  return "wrong";
}

const OpDefinition& DefinitionOf(const Registry& r, const std::string& domain, const std::string& name) {
  for (const OpDefinition* d : r.Definitions())
    if (d->domain == domain && d->name == name) return *d;
  throw nb::key_error((domain + "." + name).c_str());
}

// (title, inputs [(port, array)], attributes, outputs) of a sample.
nb::tuple Sample(const std::string& domain, const std::string& name, int number) {
  Registry& r = Plugins();
  const OpSample s = Checked(ParseSample(r, DefinitionOf(r, domain, name), number));
  nb::list inputs;
  for (const SampleInput& in : s.inputs) inputs.append(nb::make_tuple(in.port, FromValue(Value(in.value))));
  nb::dict attributes;
  for (const auto& [attribute, value] : s.attributes) attributes[attribute.str().c_str()] = AttributeObject(value);
  return nb::make_tuple(s.Label() + ": " + s.text, inputs, attributes, s.outputs);
}

// (ways [(implementation, backend, verdict, detail)], gradients [(input, rule, verdict, detail, elements, kinks)]); `backends`: the
// first is the reference, models and compiled code go into `folder`.
nb::tuple CheckSample(const std::string& domain, const std::string& name, int number, const std::vector<std::string>& backends,
                      const std::string& folder) {
  Registry& r = Plugins();
  const OpSample s = Checked(ParseSample(r, DefinitionOf(r, domain, name), number));
  WaysOptions options;
  options.backends = backends, options.folder = folder;
  std::vector<WayOfComputing> ways;
  std::vector<autodiff::InputVerdict> gradients;
  {
    nb::gil_scoped_release release;
    ways = CheckWays(r, s, options);
    if (!IsRandom(*s.signature)) gradients = autodiff::CheckGradients(r, s, backends.back(), folder);
  }
  nb::list computed, differentiated;
  for (const WayOfComputing& w : ways) computed.append(nb::make_tuple(w.implementation, w.backend, Text(w.verdict), w.detail));
  for (const autodiff::InputVerdict& v : gradients)
    differentiated.append(nb::make_tuple(v.input, v.rule, Text(v.verdict), v.detail, v.compared, v.kinks));
  return nb::make_tuple(computed, differentiated);
}

}  // namespace

void BindSamples(nb::module_& m) {
  m.def("sample_count", [](const std::string& domain, const std::string& name) { return DefinitionOf(Plugins(), domain, name).samples.size(); },
        nb::arg("domain"), nb::arg("name"));
  m.def("sample", &Sample, nb::arg("domain"), nb::arg("name"), nb::arg("number"));
  m.def("check_sample", &CheckSample, nb::arg("domain"), nb::arg("name"), nb::arg("number"), nb::arg("backends"), nb::arg("folder"));
  m.def(
      "backend_ready",
      [](const std::string& name) -> std::string {
        const Backend* b = Plugins().FindBackend(name);
        if (!b) return "the backend is not loaded";
        const Status ready = b->ready ? b->ready({}) : Status();
        return ready.ok() ? "" : ready.message();
      },
      nb::arg("backend"), "\"\", or what this machine lacks to compile with it");
}

}  // namespace headrace::python
