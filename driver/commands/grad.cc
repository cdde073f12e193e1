// headrace grad: differentiate a model, run forward and backward once, write one .npy per gradient.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "driver/commands/commands.h"
#include "driver/files.h"
#include "driver/parameters.h"
#include "ir/registry/differentiator.h"

namespace headrace {
namespace {

struct GradFlags {
  ModelFlags model;
  std::vector<std::string> outputs, wrt, inputs, output_gradients;
  std::string memory_limit, out;
  uint64_t seed = 0;
};

// The names of a comma-separated list, where a name itself may hold a comma.
std::vector<std::string> SplitList(const std::vector<std::string>& texts, const std::vector<std::string>& known) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    size_t start = 0;
    while (start <= text.size()) {
      std::string best;
      for (const std::string& name : known) {
        const size_t end = start + name.size();
        if (name.size() > best.size() && text.compare(start, name.size(), name) == 0 &&
            (end == text.size() || text[end] == ','))
          best = name;
      }
      if (best.empty())
        best = text.substr(
            start, text.find(',', start) == std::string::npos ? std::string::npos : text.find(',', start) - start);
      if (std::find(out.begin(), out.end(), best) == out.end()) out.push_back(best);
      start += best.size() + 1;
    }
  }
  return out;
}

// Distinct names that any file system takes.
class FileNames {
 public:
  std::string For(const std::string& value) {
    std::string stem;
    for (char c : value) stem += isalnum(static_cast<unsigned char>(c)) || strchr("_-.", c) ? c : '_';
    if (stem.empty() || stem[0] == '.') stem = "_" + stem;
    stem.resize(std::min<size_t>(stem.size(), 180));
    for (int k = 1;; ++k) {
      std::string name = stem + (k > 1 ? "_" + std::to_string(k) : ""), folded;
      for (char c : name) folded += static_cast<char>(tolower(static_cast<unsigned char>(c)));
      if (std::find(taken_.begin(), taken_.end(), folded) != taken_.end()) continue;
      taken_.push_back(folded);
      return name + ".npy";
    }
  }

 private:
  std::vector<std::string> taken_;
};

Status MakeFolder(const std::string& path) {
  for (size_t i = 1; i <= path.size(); ++i)
    if (i == path.size() || path[i] == '/') mkdir(path.substr(0, i).c_str(), 0777);
  struct stat st;
  if (stat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode))
    return WithFile(InvalidError("E0424", "can't make the folder"), path);
  return {};
}

nlohmann::json ToJson(const GradientReport& report) {
  nlohmann::json j = {{"kept", nlohmann::json::array()},
                      {"predicted_peak", report.predicted_peak},
                      {"minimum_peak", report.minimum_peak},
                      {"recompute_work", report.recompute_work},
                      {"solver", report.solver}};
  for (const GradientReport::Item& item : report.items)
    j["kept"].push_back({{"container", item.container.str()},
                         {"why", item.why},
                         {"bytes", item.bytes},
                         {"recomputed", item.recomputed}});
  return j;
}

void PrintReport(const Common& c, const nlohmann::json& report) {
  if (c.out.verbosity < 1) return;
  int64_t kept = 0;
  for (const auto& item : report["kept"])
    if (!item["recomputed"].get<bool>()) kept += item["bytes"].get<int64_t>();
  Note(c.out, "kept for the backward pass: " + HumanBytes(static_cast<double>(kept)) + ", predicted peak " +
                  HumanBytes(report["predicted_peak"].get<double>()) + ", smallest possible " +
                  HumanBytes(report["minimum_peak"].get<double>()) +
                  "; solver: " + report["solver"].get<std::string>());
  for (const auto& item : report["kept"])
    Note(c.out, "  " + item["container"].get<std::string>() + ": " +
                    (item["recomputed"].get<bool>() ? "recomputed, " : "") + HumanBytes(item["bytes"].get<double>()) +
                    ", " + item["why"].get<std::string>());
}

struct Plan {
  std::vector<Name> outputs, wrt, given;
  std::vector<std::string> wrt_names;  // as the user knows them
  NamedValues values;
};

// Names to containers; constants that are differentiated become inputs of `m`.
Result<Plan> MakePlan(const Registry& r, const GradFlags& f, bool from_text, ImportedModel& m) {
  Plan plan;
  const std::vector<Name> all_outputs = Outputs(m.program, m.program.Entry());
  std::vector<std::string> names;
  for (Name n : all_outputs) names.push_back(m.OriginalName(n));
  for (const std::string& name : SplitList(f.outputs, names)) {
    HR_ASSIGN_OR_RETURN(Name n, ResolveName(m, all_outputs, "output", name));
    plan.outputs.push_back(n);
  }

  std::vector<Parameter> candidates = Differentiable(m, from_text);
  names.clear();
  for (const Parameter& q : candidates) names.push_back(q.original);
  std::vector<Parameter> chosen;
  if (f.wrt.size() == 1 && f.wrt[0] == "all") {
    for (const Parameter& q : candidates)
      if (!q.constant || GradientCanFlow(r, m.program, q.container)) chosen.push_back(q);
  } else {
    for (const std::string& name : SplitList(f.wrt, names)) {
      auto found = std::find_if(candidates.begin(), candidates.end(),
                                [&](const Parameter& q) { return q.original == name || q.container.view() == name; });
      if (found != candidates.end()) {
        chosen.push_back(*found);
        continue;
      }
      for (Name n : Inputs(m.program, m.program.Entry()))  // there, but not a float
        if (m.OriginalName(n) == name)
          return UsageError("E0444", "input '" + name + "' is " + std::string(DTypeName(m.program.Entry().Get(n).dtype)) +
                            ": it has no gradient");
      return NoSuchName("float input or parameter", name, names);
    }
  }
  if (chosen.empty())
    return UsageError("E0444", "the model has no float input or parameter: nothing to differentiate with respect to");
  for (const Parameter& q : chosen) {
    plan.wrt.push_back(q.container);
    plan.wrt_names.push_back(q.original);
    if (!q.constant) continue;
    HR_ASSIGN_OR_RETURN(Tensor data, MakeInput(r, m.program, q));
    plan.values.emplace_back(q.container, Value(std::move(data)));
  }

  HR_ASSIGN_OR_RETURN(NamedValues given, ReadInputs(m, f.inputs));
  for (auto& [n, v] : given) {
    auto known =
        std::find_if(plan.values.begin(), plan.values.end(), [&, name = n](const auto& x) { return x.first == name; });
    if (known == plan.values.end()) plan.values.emplace_back(n, std::move(v));
    else known->second = std::move(v);  // a parameter may be given another value
  }
  return plan;
}

// Whether one of `outputs` has a size that only running the program tells: a gradient given for it is compared with the
// output itself, which is kept for that.
bool SizedByTheRun(const Program& p, const std::vector<Name>& outputs, const NamedSizes& known) {
  for (Name output : outputs)
    for (const Expr& size : p.Entry().Find(output)->shape)
      for (Name symbol : FreeSymbols(size))
        if (std::none_of(known.begin(), known.end(), [&](const auto& k) { return k.first == symbol; })) return true;
  return false;
}

Result<nlohmann::json> Grad(const GradFlags& f, const Common& c) {
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); };
  nlohmann::json j;
  j["model"] = f.model.model, j["backend"] = f.model.backend;
  Registry r;
  HR_RETURN_IF_ERROR(OpenRegistry(r, c));
  HR_RETURN_IF_ERROR(f.model.WantModel("differentiated"));
  HR_ASSIGN_OR_RETURN(CompileRequest request, f.model.Compile(c));
  HR_ASSIGN_OR_RETURN(NamedSizes dims, f.model.Sizes());
  HR_ASSIGN_OR_RETURN(ImportOptions reading, f.model.Import());
  reading.simplify = false;  // initializers stay themselves
  auto early = std::make_shared<EarlyValues>(r, f.inputs);
  reading.input_value = [early](const std::string& name, int index) { return (*early)(name, index); };
  std::optional<int64_t> memory_limit;
  if (!f.memory_limit.empty()) { HR_ASSIGN_OR_RETURN(memory_limit, ParseBytes(f.memory_limit, "--memory-limit")); }

  auto start = Clock::now();
  if (request.options.progress) request.options.progress("reading", 0);
  HR_ASSIGN_OR_RETURN(LoadedModel loaded, ReadModel(r, f.model.model, reading));
  HR_RETURN_IF_ERROR(f.model.CheckChoices(r, loaded, c));
  ImportedModel& m = loaded.model;
  if (c.out.verbosity > 0)
    for (const std::string& line : m.report) Note(c.out, line);
  j["load_seconds"] = seconds(start);
  HR_ASSIGN_OR_RETURN(Plan plan, MakePlan(r, f, loaded.from_text, m));
  HR_ASSIGN_OR_RETURN(NamedValues given, ReadValues(m, plan.outputs, "chosen output", "--output-grad", f.output_gradients));
  for (const auto& g : given) plan.given.push_back(g.first);
  FitValues(m.program, plan.values);
  std::vector<std::string> notes;
  HR_RETURN_IF_ERROR(FillInputs(m.program, f.seed, dims, plan.values, &notes));
  for (const std::string& n : notes) Note(c.out, "note: " + n);
  HR_RETURN_IF_ERROR(CheckAssumed(m, plan.values));
  HR_ASSIGN_OR_RETURN(NamedSizes sizes, BindSizes(m.program, plan.values, dims));
  if (Interrupted()) return InterruptedError();

  start = Clock::now();
  if (request.options.progress) request.options.progress("gradient", 0);
  HR_RETURN_IF_ERROR(Autocast(r, request, m.program));
  request.autocast.clear();
  const bool check = SizedByTheRun(m.program, plan.given, sizes);
  GradientOptions wanted;
  wanted.given_gradients = plan.given, wanted.keep_outputs = check;
  wanted.sizes = sizes, wanted.memory_limit = memory_limit;
  Result<BackwardPrograms> gradient = Differentiate(m.program, plan.outputs, plan.wrt, wanted, r);
  if (!gradient.ok()) return WithFile(gradient.status(), f.model.model);
  Program program = std::move(gradient->program);
  const nlohmann::json report = ToJson(gradient->report);
  j["transform_seconds"] = seconds(start);
  PrintReport(c, report);
  if (Interrupted()) return InterruptedError();

  start = Clock::now();
  const Program interface = program;
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable, CompileProgram(r, std::move(program), request));
  EndProgress(c.out);
  j["compile_seconds"] = seconds(start);
  for (const auto& [what, value] : executable->Report())
    if (what == "arena bytes") j["arena_bytes"] = static_cast<int64_t>(value);  // unknown where sizes are symbolic

  NamedValues arguments;
  for (Name n : Inputs(interface, interface.Entry())) {
    for (auto& [name, v] : plan.values)
      if (name == n) arguments.emplace_back(n, v);
    for (const auto& pair : gradient->output_gradients)
      for (auto& [output, v] : given)
        if (pair.first == output && pair.second == n) arguments.emplace_back(n, v);
  }
  const NamedSizes symbols = SizesOf(interface.Entry(), sizes);
  start = Clock::now();
  Result<std::vector<Value>> results = executable->Run(arguments, symbols);
  if (!results.ok()) return WithFile(results.status(), f.model.model);
  j["run_seconds"] = seconds(start);

  HR_RETURN_IF_ERROR(MakeFolder(f.out));
  const std::vector<Name> gives = Outputs(interface, interface.Entry());
  FileNames files;
  nlohmann::ordered_json index;
  for (size_t i = 0; i < plan.wrt.size(); ++i) {
    Name result;
    for (const auto& pair : gradient->input_gradients)
      if (pair.first == plan.wrt[i]) result = pair.second;
    const size_t at = static_cast<size_t>(std::find(gives.begin(), gives.end(), result) - gives.begin());
    HR_CHECK(at < results->size(), "no output holds the gradient of '" + plan.wrt_names[i] + "'");
    const Tensor& t = (*results)[at].tensor;
    const std::string file = files.For(plan.wrt_names[i]), path = f.out + "/" + file;
    Status saved = WriteNpy(path, t);
    if (!saved.ok()) return WithFile(saved, path);
    index[plan.wrt_names[i]] = file;
    j["gradients"].push_back(
        {{"name", plan.wrt_names[i]}, {"dtype", DTypeName(t.dtype)}, {"shape", t.shape}, {"file", path}});
  }
  HR_RETURN_IF_ERROR(WriteOut(f.out + "/index.json",
                              {index.dump(2, ' ', false, nlohmann::json::error_handler_t::replace), "\n"}));
  for (const char* key : {"kept", "predicted_peak", "minimum_peak", "recompute_work", "solver"}) j[key] = report[key];
  if (memory_limit && c.out.verbosity >= 0) {
    char work[32];
    snprintf(work, sizeof work, "%.1f %%", 100 * report["recompute_work"].get<double>());
    Note(c.out, "memory: limit " + HumanBytes(static_cast<double>(*memory_limit)) + ", predicted " +
                    HumanBytes(report["predicted_peak"].get<double>()) +
                    (j.contains("arena_bytes") ? ", planned " + HumanBytes(j["arena_bytes"].get<double>()) : "") +
                    "; computed again: " + work + " of the forward pass");
  }
  return j;
}

int Run(const GradFlags& f, const Common& c) {
  Result<nlohmann::json> j = Grad(f, c);
  if (!j.ok()) return Fail(c.out, j.status());
  if (c.out.json) {
    PrintJson(*j);
  } else if (c.out.verbosity >= 0) {
    for (const auto& g : (*j)["gradients"]) {
      std::string shape;
      for (const auto& d : g["shape"]) shape += (shape.empty() ? "" : ", ") + d.dump();
      printf("%s: %s[%s] in %s\n", g["name"].get<std::string>().c_str(), g["dtype"].get<std::string>().c_str(),
             shape.c_str(), g["file"].get<std::string>().c_str());
    }
  }
  return kExitOk;
}

}  // namespace

Runner AddGrad(CLI::App& app, Common& c) {
  auto f = std::make_shared<GradFlags>();
  f->model.AddTo(app, ModelFlags::kModels);
  f->model.AddPipelineTo(app);
  app.add_option("--output", f->outputs, "what to differentiate: names; the sum of all their elements counts")
      ->required();
  app.add_option("--wrt", f->wrt, "all, or names of float inputs and parameters: A,B")->required();
  app.add_option("--out", f->out, "folder for one .npy per gradient and index.json")->required();
  app.add_option("--input", f->inputs, "NAME=VALUE: @FILE.npy, @FILE.npz, @FILE.npz:ARRAY, 3, [0,1] (repeatable); others are random, seeded")
      ->allow_extra_args(false);
  app.add_option("--output-grad", f->output_gradients,
                 "NAME=VALUE: gradient of an output, instead of ones (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--memory-limit", f->memory_limit, "for what is kept and temporaries: 2GiB; recomputes to stay below");
  app.add_option("--seed", f->seed, "seed of random inputs")->capture_default_str()->check(Number(true));
  return [f, &c] { return Run(*f, c); };
}

}  // namespace headrace
