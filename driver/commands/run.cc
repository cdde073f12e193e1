// headrace run: compile (or load) and execute once, from files, test data or seeded random inputs.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "driver/commands/commands.h"

namespace headrace {
namespace {

struct RunFlags {
  ModelFlags model;
  std::vector<std::string> inputs, outputs;
  std::string test_data;
  double rtol = 1e-3, atol = 1e-7;
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

int Run(const RunFlags& f, const Common& c) {
  Registry r;
  Status s = OpenRegistry(r, c);
  if (!s.ok()) return Fail(c.out, s);
  auto early = std::make_shared<EarlyValues>(r, f.inputs, f.test_data);
  Result<Opened> opened =
      OpenModel(r, f.model, c, [early](const std::string& name, int index) { return (*early)(name, index); });
  if (!opened.ok()) return Fail(c.out, opened.status());
  const ImportedModel& m = opened->model.model;
  const Sdfg& entry = m.program.Entry();
  std::vector<Name> output_names = Outputs(m.program, entry);

  Result<NamedValues> values =
      f.test_data.empty() ? ReadInputs(m, f.inputs) : ReadTestData(r, f.test_data, "input", Inputs(m.program, entry));
  if (!values.ok()) return Fail(c.out, values.status());
  FitValues(m.program, *values);
  Result<NamedSizes> sizes = f.model.Sizes();
  if (!sizes.ok()) return Fail(c.out, sizes.status());
  std::vector<std::string> notes;
  if (f.test_data.empty()) s = FillInputs(m.program, f.seed, *sizes, *values, &notes);
  if (!s.ok()) return Fail(c.out, s);
  for (const std::string& n : notes) Note(c.out, "note: " + n);
  s = CheckAssumed(m, *values);
  if (!s.ok()) return Fail(c.out, s);

  std::vector<std::pair<Name, std::string>> saves;
  for (const std::string& text : f.outputs) {
    Result<std::pair<std::string, std::string>> pair = SplitPair(text, "--output");
    if (!pair.ok()) return Fail(c.out, pair.status());
    if (pair->second[0] != '@')
      return Fail(c.out, UsageError("E0438", "--output " + text + ": the target is a file, NAME=@FILE.npy"));
    Result<Name> n = ResolveName(m, output_names, "output", pair->first);
    if (!n.ok()) return Fail(c.out, n.status());
    saves.emplace_back(*n, pair->second.substr(1));
  }

  const NamedSizes symbols = SizesOf(entry, *sizes);
  auto start = std::chrono::steady_clock::now();
  Result<std::vector<Value>> outputs = opened->executable->Run(*values, symbols);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!outputs.ok()) return Fail(c.out, WithFile(outputs.status(), f.model.model));

  nlohmann::json j;
  j["model"] = f.model.model, j["backend"] = f.model.backend, j["run_seconds"] = seconds;
  j["load_seconds"] = opened->load_seconds, j["compile_seconds"] = opened->compile_seconds;
  for (size_t i = 0; i < outputs->size(); ++i) {
    std::string name = m.OriginalName(output_names[i]);
    const Value& v = (*outputs)[i];
    nlohmann::json o;
    o["name"] = name;
    if (v.kind == Value::kTensor) o["dtype"] = DTypeName(v.tensor.dtype), o["shape"] = v.tensor.shape;
    if (!c.out.json && c.out.verbosity >= 0 && f.test_data.empty())
      printf("%s: %s\n", name.c_str(), Summary(v).c_str());
    for (const auto& [n, path] : saves)
      if (n == output_names[i]) {
        if (v.kind != Value::kTensor)
          return Fail(c.out, InvalidError("E0423", "output '" + name + "' is not a tensor: it can't be saved as .npy"));
        Status saved = WriteNpy(path, v.tensor);
        if (!saved.ok()) return Fail(c.out, WithFile(saved, path));
        o["file"] = path;
      }
    j["outputs"].push_back(o);
  }

  int code = kExitOk;
  if (!f.test_data.empty()) {
    Result<NamedValues> expected = ReadTestData(r, f.test_data, "output", output_names);
    if (!expected.ok()) return Fail(c.out, expected.status());
    FitValues(m.program, *expected);
    if (expected->empty())
      return Fail(c.out,
                  WithFile(InvalidError("E0422",
                                        "no output_0.pb in the test data: nothing to compare with"), f.test_data));
    for (size_t i = 0; i < expected->size(); ++i) {
      Difference d = Compare((*outputs)[i], (*expected)[i].second, f.rtol, f.atol);
      std::string name = m.OriginalName(output_names[i]);
      j["outputs"][i]["ok"] = d.ok, j["outputs"][i]["max_abs"] = d.max_abs, j["outputs"][i]["max_rel"] = d.max_rel;
      if (!d.ok) code = kExitMismatch;
      if (!c.out.json && (c.out.verbosity >= 0 || !d.ok))
        printf("%s: %s, max |difference| %.3g, relative %.3g%s\n", name.c_str(), d.ok ? "ok" : "MISMATCH", d.max_abs,
               d.max_rel, d.where.empty() ? "" : ("; first at " + d.where).c_str());
    }
  }
  if (c.out.json) PrintJson(j);
  return code;
}

}  // namespace

Runner AddRun(CLI::App& app, Common& c) {
  auto f = std::make_shared<RunFlags>();
  f->model.AddTo(app);
  f->model.AddPipelineTo(app);
  app.add_option("--input", f->inputs, "NAME=@FILE.npy (repeatable); others are random, seeded");
  app.add_option("--output", f->outputs, "NAME=@FILE.npy: save an output (repeatable)");
  app.add_option("--test-data", f->test_data, "folder with input_0.pb …, output_0.pb …: run and compare");
  app.add_option("--rtol", f->rtol, "relative tolerance of --test-data")->capture_default_str();
  app.add_option("--atol", f->atol, "absolute tolerance of --test-data")->capture_default_str();
  app.add_option("--seed", f->seed, "seed of random inputs")->capture_default_str();
  return [f, &c] { return Run(*f, c); };
}

}  // namespace headrace
