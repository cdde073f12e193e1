// Compiled programs, called from Python: by position without copies, by name with any kind of value.
#include <malloc.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <fstream>
#include <functional>
#include <numeric>

#include "driver/compile.h"
#include "ir/registry/call.h"
#include "ir/text/printer.h"
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"
#include "python/extension/interrupts.h"
#include "python/extension/kept_memory.h"

namespace headrace::python {
namespace {

// What an object's own DLPack method raises; "" where it raises nothing. What is no Exception, as Ctrl-C, goes on.
std::string WhyNoDlpack(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack__")) return "";
  try {
    object.attr("__dlpack__")();
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) throw;
    return std::string(nb::str(e.type().attr("__name__")).c_str()) + ": " + nb::str(e.value()).c_str();
  }
  return "";
}

// What was given instead of an array, and what to do about it.
std::string Refused(nb::handle object) {
  const std::string type = nb::cast<std::string>(object.type().attr("__name__"));
  std::string what = type;
  if (nb::hasattr(object, "dtype")) what += " of " + nb::cast<std::string>(nb::str(nb::handle(object.attr("dtype"))));
  if (const std::string why = PyObject_CheckBuffer(object.ptr()) ? "" : WhyNoDlpack(object); !why.empty())
    return what + ", which gives none: " + why + "\n  hint: give a dense array in the machine's memory";
  if (what != type) return what + "\n  hint: convert it first: types are never changed silently";
  if (PyNumber_Check(object.ptr())) return type + " " + nb::str(object).c_str() + "\n  hint: convert it first: types are never changed silently";
  return type + "\n  hint: an array is what has the buffer protocol or DLPack: numpy.asarray(…) makes one";
}

// After Ctrl-C: the KeyboardInterrupt that Python's handler raises.
void CheckRun(const Status& s, const RunScope& scope) {
  if (s.ok()) return;
  if (s.kind() == ErrorKind::kInterrupted && scope.in_main_thread() && (PyErr_Occurred() || PyErr_CheckSignals() != 0))
    throw nb::python_error();
  Check(s);
}

class PyExecutable {
 public:
  // `progress` is what was polled while `e` was compiled.
  PyExecutable(std::unique_ptr<Executable> e, Program interface, bool by_position, std::shared_ptr<Progress> progress)
      : e_(std::move(e)), interface_(std::move(interface)), by_position_(by_position), progress_(std::move(progress)) {
    progress_->compiled = true;
    const Sdfg& s = interface_.Entry();
    const std::vector<Direction> directions = Directions(interface_, s);
    for (size_t k = 0; k < directions.size(); ++k) {
      const Container& c = s.Get(s.parameters[k]);
      if (directions[k] == Direction::kOut) outputs_.push_back(c.name.str());
      else inputs_.push_back({c.name.str(), c.dtype, c.optional, directions[k] == Direction::kInOut});
    }
  }

  PyExecutable(PyExecutable&&) = default;
  ~PyExecutable() {
    if (!e_) return;
    nb::gil_scoped_release release;  // its thread that looks for Ctrl-C may just be waiting for the GIL
    e_.reset();
  }

  nb::tuple Call(nb::args args, nb::handle out, nb::handle sizes);
  nb::list Run(nb::dict arguments, const std::vector<std::pair<std::string, int64_t>>& sizes);
  std::vector<std::string> CallSymbols() const {
    std::vector<std::string> all;
    for (Name n : e_->CallSymbols()) all.push_back(n.str());
    return all;
  }
  const Executable& get() const { return *e_; }
  bool by_position() const { return by_position_; }

 private:
  struct Input {
    std::string name;
    DType dtype;
    bool optional, updated;
  };
  struct Made {  // outputs of one call
    ArrayKind kind;
    KeptMemory* kept;
    std::vector<nb::object> arrays;
    size_t kept_bytes = 0;
  };
  static void* Allocate(void* context, int32_t index, int32_t dtype, int32_t rank, const int64_t* shape);
  static bool Taken(nb::handle given, const Input& input, ArrayArgument* a);
  void TakeInputs(const nb::args& args, std::deque<ArrayArgument>* taken, std::vector<hr_array>* in) const;

  std::unique_ptr<Executable> e_;
  Program interface_;
  bool by_position_;
  std::shared_ptr<Progress> progress_;
  std::vector<Input> inputs_;
  std::vector<std::string> outputs_;
  std::shared_ptr<KeptMemory> kept_ = std::make_shared<KeptMemory>();
};

void* PyExecutable::Allocate(void* context, int32_t index, int32_t dtype, int32_t rank, const int64_t* shape) {
  auto* made = static_cast<Made*>(context);
  nb::gil_scoped_acquire gil;
  try {
    void* memory = nullptr;
    nb::object& array = made->arrays[static_cast<size_t>(index)];
    const auto type = static_cast<DType>(dtype);
    const auto bytes = static_cast<size_t>(std::accumulate(shape, shape + rank, ByteSize(type), std::multiplies<>()));
    array.reset();  // a loop may make its result larger in each round
    if (bytes >= KeptMemory::kLeast) array = made->kept->NewArray(made->kind, type, rank, shape, bytes, &memory);
    if (array.is_valid()) made->kept_bytes += bytes;
    else array = NewArray(made->kind, type, rank, shape, &memory);
    return memory;
  } catch (nb::python_error&) {
    return nullptr;
  }
}

// Errors of numbers that do not fit say whose.
bool PyExecutable::Taken(nb::handle given, const Input& input, ArrayArgument* a) {
  try {
    return a->Take(given, input.dtype);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_OverflowError)) throw;
    nb::raise_from(e, PyExc_OverflowError, "'%s': %s", input.name.c_str(), nb::str(e.value()).c_str());
  }
}

void PyExecutable::TakeInputs(const nb::args& args, std::deque<ArrayArgument>* taken, std::vector<hr_array>* in) const {
  if (args.size() != inputs_.size()) {
    std::string names;
    for (const Input& i : inputs_) names += (names.empty() ? "" : ", ") + i.name;
    throw nb::type_error(("takes " + std::to_string(inputs_.size()) + " arrays (" + names + "), not " + std::to_string(args.size())).c_str());
  }
  for (size_t k = 0; k < inputs_.size(); ++k) {
    const nb::handle h = args[k];
    if (h.is_none() && inputs_[k].optional) {
      hr_array absent = {};
      absent.flags = HR_ARRAY_ABSENT;
      in->push_back(absent);
      continue;
    }
    taken->emplace_back();
    if (!Taken(h, inputs_[k], &taken->back()))
      throw nb::type_error(("'" + inputs_[k].name + "' takes an array of " + std::string(DTypeName(inputs_[k].dtype)) + ", not " + Refused(h)).c_str());
    in->push_back(taken->back().array());
  }
}

nb::tuple PyExecutable::Call(nb::args args, nb::handle out, nb::handle sizes) {
  std::deque<ArrayArgument> taken;
  std::vector<hr_array> in, results(outputs_.size());
  in.reserve(inputs_.size());
  TakeInputs(args, &taken, &in);
  Made made{args.size() > 0 ? KindOf(args[0]) : ArrayKind::kNumpy, kept_.get(), {}};
  made.arrays.resize(outputs_.size());
  for (size_t k = 0; k < outputs_.size(); ++k) {
    results[k].device_type = HR_DEVICE_CPU;
    if (out.is_none() || out[k].is_none()) continue;
    taken.emplace_back();
    if (!taken.back().Take(out[k], DType::kNone)) throw nb::type_error(("out: '" + outputs_[k] + "' takes an array, not " + Refused(out[k])).c_str());
    results[k] = taken.back().array();
    made.arrays[k] = nb::borrow(out[k]);
  }
  std::vector<int64_t> numbers;
  if (!sizes.is_none())
    for (nb::handle n : sizes) numbers.push_back(nb::cast<int64_t>(n));
  CallFrame frame;
  frame.inputs = in.data();
  frame.n_inputs = static_cast<int32_t>(in.size());
  frame.outputs = results.data();
  frame.n_outputs = static_cast<int32_t>(results.size());
  frame.symbols = numbers.data();
  frame.n_symbols = static_cast<int32_t>(numbers.size());
  frame.allocate = Allocate;
  frame.context = &made;
  Status done;
  const RunScope scope(*progress_);
  {
    nb::gil_scoped_release release;
    done = e_->Call(frame);
  }
  kept_->Expect(made.kept_bytes);
  for (size_t k = 0; k < inputs_.size(); ++k)
    if (inputs_[k].updated && !args[k].is_none()) MarkWritten(args[k]);
  for (size_t k = 0; k < outputs_.size(); ++k)
    if (!out.is_none() && !out[k].is_none()) MarkWritten(out[k]);
  CheckRun(done, scope);
  PyObject* all = PyTuple_New(static_cast<Py_ssize_t>(made.arrays.size()));
  for (size_t k = 0; k < made.arrays.size(); ++k) NB_TUPLE_SET_ITEM(all, static_cast<Py_ssize_t>(k), made.arrays[k].release().ptr());
  return nb::steal<nb::tuple>(all);
}

nb::list PyExecutable::Run(nb::dict arguments, const std::vector<std::pair<std::string, int64_t>>& sizes) {
  NamedValues values;
  for (auto [key, object] : arguments) {
    const std::string name = nb::cast<std::string>(key);
    const Container* c = interface_.Entry().Find(Name(name));
    ValueType type;
    if (c) type = c->type;
    if (c && type.kind == ValueType::kTensor) type.dtype = c->dtype;
    values.push_back({Name(name), ToValue(object, type, name)});
  }
  Result<std::vector<Value>> r = Status();
  const RunScope scope(*progress_);
  {
    nb::gil_scoped_release release;
    r = e_->Run(values, {sizes.begin(), sizes.end()});
  }
  if (!r.ok()) CheckRun(r.status(), scope);
  nb::list all;
  for (const Value& v : Checked(std::move(r))) all.append(FromValue(v));
  return all;
}

// The program before and after its passes lies in the folder, too, before the backend sees it.
Result<std::unique_ptr<Executable>> CompileAndDump(const Registry& r, const Program& p, const CompileRequest& q) {
  const auto leave = [&](const char* name, const Program& what) {
    std::ofstream(q.options.dump_dir + "/" + name, std::ios::binary) << Print(what);
  };
  HR_ASSIGN_OR_RETURN(const Backend* backend, BackendNamed(r, q.backend));
  leave("program.sdfg", p);
  HR_ASSIGN_OR_RETURN(Program lowered, LowerProgram(r, p, q));
  leave("lowered.sdfg", lowered);
  return backend->compile(lowered, q.options, r);
}

// What compiling took goes back to the system, a millisecond or two: nothing asks for as much before the next compilation.
void GiveBackMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

PyExecutable Compile(const Program& p, const std::string& backend, const std::string& pipeline, int threads,
                     const std::vector<std::pair<std::string, std::string>>& implementations, const std::string& dump_dir,
                     bool debug, bool keep_denormals, const std::string& plan, const std::string& autocast) {
  Registry& registry = Plugins();
  CompileRequest q;
  q.plan = Checked(ParsePlan(plan));
  std::vector<std::string> without_effect;
  q.warn = [&](const std::string& text) { without_effect.push_back(text); };
  q.backend = backend;
  q.pipeline = pipeline;
  q.options.threads = threads;
  q.options.implementations = implementations;
  const auto progress = std::make_shared<Progress>();
  q.options.cancelled = Cancellation(progress);
  q.options.dump_dir = dump_dir;
  q.options.debug = debug;
  q.options.keep_denormals = keep_denormals;
  q.autocast = autocast;
  Program preferred = WithPreferences(p, implementations);
  Result<std::unique_ptr<Executable>> made = Status();
  {
    nb::gil_scoped_release release;
    made = dump_dir.empty() ? CompileProgram(registry, std::move(preferred), q) : CompileAndDump(registry, preferred, q);
    GiveBackMemory();
  }
  for (const std::string& text : without_effect)
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
  return PyExecutable(Checked(std::move(made)), p, backend == "cpu", progress);
}

std::pair<PyExecutable, Program> LoadArtifact(const std::string& path, int threads) {
  const Backend* cpu = Plugins().FindBackend("cpu");
  if (!cpu || !cpu->load) Check(UsageError("E0343", "no backend loads artifacts"));
  CompileOptions o;
  o.threads = threads;
  const auto progress = std::make_shared<Progress>();
  o.cancelled = Cancellation(progress);
  std::unique_ptr<Executable> e = Checked(cpu->load(path, o, Plugins()));
  Program interface = Checked(e->Interface());
  return {PyExecutable(std::move(e), interface, true, progress), interface};
}

}  // namespace

void BindExecutable(nb::module_& m) {
  nb::class_<PyExecutable>(m, "Executable")
      .def("__call__", &PyExecutable::Call, nb::arg("args"), nb::kw_only(), nb::arg("out").none() = nb::none(),
           nb::arg("sizes").none() = nb::none())
      .def("run", &PyExecutable::Run, nb::arg("arguments"), nb::arg("sizes"))
      .def("call_symbols", &PyExecutable::CallSymbols)
      .def("by_position", &PyExecutable::by_position)
      .def("save", [](const PyExecutable& e, const std::string& path) { Check(e.get().Save(path)); }, nb::arg("path"))
      .def("source", [](const PyExecutable& e) { return e.get().Source(); })
      .def("report", [](const PyExecutable& e) { return e.get().Report(); });
  m.def("compile", &Compile, nb::arg("program"), nb::arg("backend"), nb::arg("pipeline"), nb::arg("threads"),
        nb::arg("implementations"), nb::arg("dump_dir"), nb::arg("debug"), nb::arg("keep_denormals"), nb::arg("plan") = "",
        nb::arg("autocast") = "");
  m.def("load_artifact", &LoadArtifact, nb::arg("path"), nb::arg("threads"));
}

}  // namespace headrace::python
