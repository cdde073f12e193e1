// headrace run: compile (or load) and execute once, from files, test data or seeded random inputs.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "driver/commands/verify.h"

namespace headrace {
namespace {

struct RunFlags {
  ModelFlags model;
  std::vector<std::string> inputs, outputs;
  std::string test_data, verify;
  std::optional<double> rtol, atol;
  uint64_t seed = 0;
};

std::string ShapeText(const Tensor& t) {
  std::string s = std::string(DTypeName(t.dtype)) + "[";
  for (size_t i = 0; i < t.shape.size(); ++i) s += (i ? ", " : "") + std::to_string(t.shape[i]);
  return s + "]";
}

std::string ElementText(const Tensor& t, int64_t i) {
  if (t.dtype == DType::kString) return '"' + (*t.strings)[i] + '"';
  if (t.dtype == DType::kC64)
    return std::to_string(t.as<float>()[2 * i]) + "+" + std::to_string(t.as<float>()[2 * i + 1]) + "i";
  if (t.dtype == DType::kC128)
    return std::to_string(t.as<double>()[2 * i]) + "+" + std::to_string(t.as<double>()[2 * i + 1]) + "i";
  if (t.dtype == DType::kBool) return t.GetInt(i) ? "true" : "false";
  if (!IsFloat(t.dtype))
    return t.dtype == DType::kU64 ? std::to_string(static_cast<uint64_t>(t.GetInt(i))) : std::to_string(t.GetInt(i));
  char text[40];
  snprintf(text, sizeof text, "%.6g", t.GetDouble(i));
  return text;
}

std::string Summary(const Value& v) {
  if (v.kind == Value::kAbsent) return "absent";
  if (v.kind == Value::kSequence) return "sequence of " + std::to_string(v.items.size());
  std::string s = ShapeText(v.tensor) + " =";
  int64_t n = v.tensor.elements(), shown = std::min<int64_t>(n, 6);
  for (int64_t i = 0; i < shown; ++i) s += " " + ElementText(v.tensor, i);
  return s + (n > shown ? " …" : "");
}

std::vector<std::string> NumberedFiles(const std::string& dir, const std::string& stem) {
  std::vector<std::string> files;
  for (int i = 0;; ++i) {
    std::string path = dir + "/" + stem + "_" + std::to_string(i) + ".pb";
    if (access(path.c_str(), F_OK) != 0) return files;
    files.push_back(path);
  }
}

Result<NamedValues> ReadTestData(const Registry& r, const std::string& dir, const std::string& stem,
                                 const std::vector<Name>& names) {
  const Importer* importer = r.FindImporter("onnx");
  if (!importer || !importer->read_value) return UsageError("E0425", "--test-data needs the onnx importer");
  if (access(dir.c_str(), F_OK) != 0) return WithFile(InvalidError("E0421", "there is no such folder"), dir);
  std::vector<std::string> files = NumberedFiles(dir, stem);
  if (files.size() > names.size()) {
    Diagnostic d;
    d.code = "E0420", d.file = dir;
    d.message = "the folder has " + std::to_string(files.size()) + " " + stem + " files, the model has " +
                std::to_string(names.size()) + " " + stem + "s";
    return Status(d);
  }
  NamedValues values;
  for (size_t i = 0; i < files.size(); ++i) {
    Result<Value> v = importer->read_value(files[i]);
    if (!v.ok()) return WithFile(v.status(), files[i]);
    values.emplace_back(names[i], std::move(*v));
  }
  return values;
}

// Flags that exclude each other or that nothing would look at.
Status CheckFlags(const RunFlags& f, const CLI::App& app, const Common& c) {
  const bool compares = !f.test_data.empty() || !f.verify.empty();
  for (const char* flag : {"--rtol", "--atol"})
    HR_RETURN_IF_ERROR(NoEffect(app, flag, compares, "it is of --verify and --test-data"));
  for (const char* flag : {"--input", "--seed"})
    HR_RETURN_IF_ERROR(NoEffect(app, flag, f.test_data.empty(), "--test-data gives all inputs"));
  const bool to_stdout = std::any_of(f.outputs.begin(), f.outputs.end(), [](const std::string& o) {
    return o.size() > 2 && o.compare(o.size() - 2, 2, "=-") == 0;
  });
  if (to_stdout && c.out.json) return UsageError("E0461", "--json and --output " + f.outputs[0] + " both want standard output");
  if (to_stdout && compares) return UsageError("E0461", "what --verify and --test-data say wants standard output, as does =-");
  return {};
}

Status CheckTestData(const std::vector<Value>& expected, const std::string& folder) {
  if (!expected.empty()) return {};
  return WithFile(InvalidError("E0422", "no output_0.pb in the test data: nothing to compare with"), folder);
}

std::vector<Value> ValuesOf(NamedValues named) {
  std::vector<Value> out;
  for (auto& [name, v] : named) out.push_back(std::move(v));
  return out;
}

nlohmann::json Describe(const std::string& name, const Value& v) {
  nlohmann::json o;
  o["name"] = name;
  if (v.kind == Value::kTensor) o["dtype"] = DTypeName(v.tensor.dtype), o["shape"] = v.tensor.shape;
  return o;
}

// Compares with test data and with another runtime; kExitMismatch when one differs.
Result<int> CompareAll(const RunFlags& f, const Registry& r, const Opened& opened, const std::vector<Name>& outputs,
                       const std::vector<std::string>& names, const std::vector<Value>& got, const NamedValues& inputs,
                       const NamedSizes& symbols, const Common& c, nlohmann::json* j) {
  bool ok = true;
  if (!f.test_data.empty()) {
    HR_ASSIGN_OR_RETURN(NamedValues read, ReadTestData(r, f.test_data, "output", outputs));
    FitValues(opened.model.model.program, read);
    const std::vector<Value> expected = ValuesOf(std::move(read));
    HR_RETURN_IF_ERROR(CheckTestData(expected, f.test_data));
    ok &= Judge(names, got, expected, {f.rtol.value_or(1e-3), f.atol.value_or(1e-7)}, c, &(*j)["outputs"]);
  }
  if (!f.verify.empty()) {
    HR_ASSIGN_OR_RETURN(std::vector<Value> expected, OutputsOf(f.verify, r, f.model, opened.model, inputs, symbols, c));
    if (expected.size() != got.size())
      return InvalidError("E0465", f.verify + " gives " + std::to_string(expected.size()) + " outputs, the program " +
                          std::to_string(got.size()));
    ok &= Judge(names, got, expected, {f.rtol, f.atol}, c, &(*j)["outputs"]);
    (*j)["verified_with"] = f.verify;
  }
  if (!f.test_data.empty() || !f.verify.empty()) (*j)["ok"] = ok;
  return static_cast<int>(ok ? kExitOk : kExitMismatch);
}

Result<int> RunModel(const RunFlags& f, const Common& c) {
  Registry r;
  HR_RETURN_IF_ERROR(OpenRegistry(r, c));
  auto early = std::make_shared<EarlyValues>(r, f.inputs, f.test_data);
  HR_ASSIGN_OR_RETURN(Opened opened, OpenModel(r, f.model, c, [early](const std::string& name, int index) {
    return (*early)(name, index);
  }));
  const ImportedModel& m = opened.model.model;
  const Sdfg& entry = m.program.Entry();
  const std::vector<Name> outputs = Outputs(m.program, entry);
  std::vector<std::string> names;
  for (Name n : outputs) names.push_back(m.OriginalName(n));

  HR_ASSIGN_OR_RETURN(NamedValues values, f.test_data.empty()
                                              ? ReadInputs(m, f.inputs)
                                              : ReadTestData(r, f.test_data, "input", Inputs(m.program, entry)));
  FitValues(m.program, values);
  HR_ASSIGN_OR_RETURN(NamedSizes sizes, f.model.Sizes());
  std::vector<std::string> notes;
  if (f.test_data.empty()) HR_RETURN_IF_ERROR(FillInputs(m.program, f.seed, sizes, values, &notes));
  for (const std::string& n : notes) Note(c.out, "note: " + n);
  HR_RETURN_IF_ERROR(CheckAssumed(m, values));
  HR_ASSIGN_OR_RETURN(std::vector<OutputTarget> targets, ReadTargets(m, outputs, f.outputs));

  const NamedSizes symbols = SizesOf(entry, sizes);
  auto start = std::chrono::steady_clock::now();
  Result<std::vector<Value>> results = opened.executable->Run(values, symbols);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!results.ok()) return WithFile(results.status(), f.model.model);

  nlohmann::json j;
  j["model"] = f.model.model, j["backend"] = f.model.backend, j["run_seconds"] = seconds;
  j["load_seconds"] = opened.load_seconds, j["compile_seconds"] = opened.compile_seconds;
  const bool to_stdout =
      std::any_of(targets.begin(), targets.end(), [](const OutputTarget& t) { return t.path == "-"; });
  for (size_t i = 0; i < results->size(); ++i) {
    nlohmann::json o = Describe(names[i], (*results)[i]);
    for (const OutputTarget& t : targets)
      if (t.index == i) o["file"] = t.path;
    j["outputs"].push_back(o);
    if (!c.out.json && c.out.verbosity >= 0 && f.test_data.empty() && f.verify.empty() && !to_stdout)
      printf("%s: %s\n", names[i].c_str(), Summary((*results)[i]).c_str());
  }
  HR_RETURN_IF_ERROR(SaveOutputs(targets, names, *results));
  HR_ASSIGN_OR_RETURN(int code, CompareAll(f, r, opened, outputs, names, *results, values, symbols, c, &j));
  if (c.out.json) PrintJson(j);
  return code;
}

int Run(const RunFlags& f, const CLI::App& app, const Common& c) {
  Status s = CheckFlags(f, app, c);
  if (!s.ok()) return Fail(c.out, s);
  Result<int> code = RunModel(f, c);
  return code.ok() ? *code : Fail(c.out, code.status());
}

}  // namespace

Runner AddRun(CLI::App& app, Common& c) {
  auto f = std::make_shared<RunFlags>();
  f->model.AddTo(app, ModelFlags::kArtifactsToo);
  f->model.AddPipelineTo(app);
  f->model.AddPlanTo(app);
  app.add_option("--input", f->inputs,
                 "NAME=VALUE: @FILE.npy, @FILE.npz, @FILE.npz:ARRAY, 3, [0,1] (repeatable); others are random, seeded")
      ->allow_extra_args(false);
  app.add_option("--output", f->outputs,
                 "NAME=@FILE.npy, @FILE.npz or @FILE.npz:ARRAY: save an output (repeatable); NAME=-: standard output")
      ->allow_extra_args(false);
  app.add_option("--test-data", f->test_data, "folder with input_0.pb …, output_0.pb …: run and compare");
  app.add_flag("--verify{interpreter}", f->verify,
               "compare with the interpreter, or =reference (the onnx package), =onnxruntime, =torch; exit 4 when it differs")
      ->check(OneOf({"interpreter", "reference", "onnxruntime", "torch"}));
  app.add_option("--rtol", f->rtol, "relative tolerance; --test-data: 0.001, --verify: by type")->check(Number(true));
  app.add_option("--atol", f->atol, "absolute tolerance; --test-data: 1e-07, --verify: by type")->check(Number(true));
  app.add_option("--seed", f->seed, "seed of random inputs")->capture_default_str()->check(Number(true));
  return [f, &app, &c] { return Run(*f, app, c); };
}

}  // namespace headrace
