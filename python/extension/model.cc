// Models as Python sees them: read from files or memory, their names, their constants as inputs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "driver/compile.h"
#include "driver/parameters.h"
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"

namespace headrace::python {
namespace {

using Strings = std::vector<std::string>;
using Sizes = std::vector<std::pair<std::string, int64_t>>;

// A model that was read: the program and the names that it had there.
struct PyModel {
  ImportedModel model;
  bool from_text = false;
};

// What differs from reading the file as it is. `values`: inputs by the model's names whose values may decide shapes.
struct Request {
  ImportOptions options;
  std::map<std::string, Tensor> values;
};

Request MakeRequest(const Sizes& dims, const Strings& outputs, bool simplify, const nb::dict& values) {
  Request q;
  q.options.dims = {dims.begin(), dims.end()};
  q.options.keep_outputs = outputs;
  q.options.simplify = simplify;
  for (auto [key, object] : values) {
    const std::string name = nb::cast<std::string>(key);
    Value v = ToValue(object, {}, name);
    if (v.kind == Value::kTensor) q.values.emplace(name, std::move(v.tensor));
  }
  return q;
}

void LetValuesBeAsked(Request& q) {
  if (q.values.empty()) return;
  q.options.input_value = [&q](const std::string& name, int) -> const Tensor* {
    auto it = q.values.find(name);
    return it == q.values.end() ? nullptr : &it->second;
  };
}

PyModel Load(const std::string& path, const Sizes& dims, const Strings& outputs, bool simplify, const nb::dict& values) {
  Registry& registry = Plugins();
  Request q = MakeRequest(dims, outputs, simplify, values);
  LetValuesBeAsked(q);
  Result<LoadedModel> m = Status();
  {
    nb::gil_scoped_release release;
    m = LoadModel(registry, path, q.options);
  }
  LoadedModel loaded = Checked(std::move(m));
  return {std::move(loaded.model), loaded.from_text};
}

// A file in memory, for importers that read files.
class MemoryFile {
 public:
  MemoryFile(const char* data, size_t size) : fd_(memfd_create("model", MFD_CLOEXEC)) {
    for (size_t at = 0; fd_ >= 0 && at < size;) {
      const ssize_t n = write(fd_, data + at, std::min<size_t>(size - at, 1 << 30));
      if (n < 0 && errno != EINTR) {
        close(fd_);
        fd_ = -1;
      } else {
        at += n < 0 ? 0 : static_cast<size_t>(n);
      }
    }
    if (fd_ < 0) error_ = std::strerror(errno);
  }
  ~MemoryFile() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& error() const { return error_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
  std::string error_;
};

// `file`: what messages call it.
PyModel LoadBytes(const nb::bytes& data, const std::string& file, const Sizes& dims, const Strings& outputs, bool simplify,
                  const nb::dict& values) {
  Registry& registry = Plugins();
  const Importer* importer = registry.FindImporter("onnx");
  if (!importer) Check(UsageError("E0404", "no loaded plugin reads ONNX models"));
  Request q = MakeRequest(dims, outputs, simplify, values);
  LetValuesBeAsked(q);
  Result<ImportedModel> m = Status();
  {
    nb::gil_scoped_release release;
    const MemoryFile memory(data.c_str(), data.size());
    if (memory.error().empty()) m = importer->import(memory.path(), q.options, registry);
    else m = InternalError("the model can't be kept in memory: " + memory.error());
    if (!m.ok()) {
      std::vector<Diagnostic> all = m.status().diagnostics();
      for (Diagnostic& d : all)
        if (d.file.empty() || d.file == memory.path()) d.file = file;
      m = Status(std::move(all));
    }
  }
  return {Checked(std::move(m)), false};
}

// Initializers that the program still has: (container, the model's name).
nb::list Initializers(const PyModel& m) {
  nb::list all;
  const Sdfg& s = m.model.program.Entry();
  for (Name n : s.order)
    if (const Container& c = s.Get(n); c.kind == ContainerKind::kConstant && c.origin.named())
      all.append(nb::make_tuple(n.str(), c.origin.Label()));
  return all;
}

// Turns constants into inputs, last of all: (program, values in order).
nb::tuple WithInputs(const Program& program, const Strings& constants) {
  Program p = program;
  nb::list values;
  for (const std::string& c : constants) {
    const Container* found = p.Entry().Find(Name(c));
    if (!found || found->kind != ContainerKind::kConstant) throw nb::key_error(c.c_str());
    values.append(FromValue(Value(Checked(MakeInput(Plugins(), p, {Name(c), c, true})))));
  }
  return nb::make_tuple(std::move(p), values);
}

// (container, name in the model) of values inside of its graphs and functions.
nb::list InnerValues(const PyModel& m) {
  nb::list all;
  for (const auto& [n, original] : m.model.original_names)
    if (const Container* c = m.model.program.Entry().Find(n); c && c->kind == ContainerKind::kTransient)
      all.append(nb::make_tuple(n.str(), original));
  return all;
}

nb::list Assumed(const PyModel& m) {
  nb::list all;
  for (const auto& [name, t] : m.model.assumed_inputs)
    all.append(nb::make_tuple(m.model.OriginalName(name), FromValue(Value(t))));
  return all;
}

// A copy of a model file with other initializers, by the model's names.
void Save(const std::string& from, const std::string& to, const nb::dict& constants) {
  const Importer* importer = Plugins().FindImporter("onnx");
  if (!importer || !importer->save) Check(UsageError("E0404", "no loaded plugin writes ONNX models"));
  SaveOptions o;
  for (auto [key, object] : constants) {
    const std::string name = nb::cast<std::string>(key);
    o.constants.emplace_back(name, ToValue(object, {}, name).tensor);
  }
  Check(importer->save(from, to, o));
}

// A serialised TensorProto as an array.
nb::object ReadTensor(const nb::bytes& data) {
  const Importer* importer = Plugins().FindImporter("onnx");
  if (!importer || !importer->read_value) Check(UsageError("E0404", "no loaded plugin reads ONNX tensors"));
  const MemoryFile memory(data.c_str(), data.size());
  if (!memory.error().empty()) Check(InternalError("the tensor can't be kept in memory: " + memory.error()));
  return FromValue(Checked(importer->read_value(memory.path())));
}

}  // namespace

void BindModel(nb::module_& m) {
  nb::class_<PyModel>(m, "Model")
      .def("program", [](const PyModel& model) { return model.model.program; })
      .def("kind", [](const PyModel& model) { return model.model.kind; })
      .def("report", [](const PyModel& model) { return model.model.report; })
      .def("original_name", [](const PyModel& model, const std::string& n) { return model.model.OriginalName(Name(n)); })
      .def("initializers", &Initializers, "(container, name in the model) of the constants that are initializers")
      .def("inner_values", &InnerValues, "(container, name in the model) of values inside of its graphs and functions")
      .def("assumed", &Assumed, "(name, value) of the inputs whose value the program was made for")
      .def("differentiable",
           [](const PyModel& model) {
             nb::list all;
             for (const Parameter& p : Differentiable(model.model, model.from_text))
               all.append(nb::make_tuple(p.container.str(), p.original, p.constant));
             return all;
           })
      .def("with_inputs", [](const PyModel& model, const Strings& constants) { return WithInputs(model.model.program, constants); });
  m.def("with_inputs", &WithInputs, nb::arg("program"), nb::arg("constants"),
        "Turns constants into inputs, last of all: (program, values in order)");
  m.def("load_model", &Load, nb::arg("path"), nb::arg("dims") = Sizes{}, nb::arg("outputs") = Strings{},
        nb::arg("simplify") = true, nb::arg("values") = nb::dict());
  m.def("load_model_bytes", &LoadBytes, nb::arg("data"), nb::arg("file"), nb::arg("dims") = Sizes{},
        nb::arg("outputs") = Strings{}, nb::arg("simplify") = true, nb::arg("values") = nb::dict());
  m.def("read_tensor", &ReadTensor, nb::arg("data"));
  m.def("save_model", &Save, nb::arg("source"), nb::arg("target"), nb::arg("constants"));
}

}  // namespace headrace::python
