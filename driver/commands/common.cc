#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <iterator>

#include "driver/commands/commands.h"
#include "driver/commands/model_names.h"
#include "driver/plugin_path.h"

namespace headrace {

void ModelFlags::AddTo(CLI::App& app, Takes takes) {
  app.add_option("MODEL", model,
                 takes == kModels ? "ONNX model or IR text (- for standard input)"
                                  : "ONNX model, IR text (- for standard input), or .hrx artifact")
      ->required();
  if (takes == kArtifactsToo)
    app.add_flag("--no-verify", no_verify, "do not compare an artifact's files with their checksums");
  app.add_option("--backend", backend, "cpu, interpreter, or a plugin's")->capture_default_str();
  app.add_option("--dim", dims, "fix a named size: N=32 (repeatable)")->allow_extra_args(false);
  app.add_option("--impl", implementations,
                 "prefer implementations: onednn, Conv=pure, node_name=external (repeatable or comma-separated)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--threads", threads, "threads to use; 0 = all, or $HEADRACE_NUM_THREADS, $OMP_NUM_THREADS");
  app.add_option("--autocast", autocast,
                 "bf16 or f16: compute products and convolutions so, and what needs range or precision in f32")
      ->check(OneOf({"bf16", "f16"}));
  app.add_flag("--keep-denormals", keep_denormals,
               "compute exactly with floats below 1.2e-38, too, instead of taking them for zero: slower where they occur");
}

void ModelFlags::AddPipelineTo(CLI::App& app) {
  app.add_option("--pipeline", pipeline,
                 "passes before the backend, \"default; my-pass\": default is what runs without this flag");
}

bool ModelFlags::IsArtifact() const {
  const std::string path = model.substr(0, model.find_last_not_of('/') + 1);
  return path.size() > 4 && path.compare(path.size() - 4, 4, ".hrx") == 0;
}

Status ModelFlags::WantModel(const std::string& done) const {
  if (!IsArtifact()) return {};
  return UsageError("E0445", "an artifact can't be " + done + ": it holds compiled code",
                    "give the model that it was compiled from; run, bench and check take artifacts");
}

Result<std::pair<std::string, std::string>> SplitPair(const std::string& text, const std::string& flag) {
  size_t eq = text.find('=');
  if (eq == std::string::npos || eq == 0 || eq + 1 == text.size())
    return UsageError("E0431", flag + " wants NAME=VALUE, got '" + text + "'");
  return std::make_pair(text.substr(0, eq), text.substr(eq + 1));
}

Result<int64_t> ParseBytes(const std::string& text, const std::string& flag) {
  static const std::pair<const char*, double> kUnits[] = {
      {"", 1},         {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"KIB", 0x1p10}, {"MIB", 0x1p20}, {"GIB", 0x1p30}, {"TIB", 0x1p40}, {"TB", 1e12}};
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit;
  for (; *end; ++end)
    if (*end != ' ') unit += static_cast<char>(toupper(static_cast<unsigned char>(*end)));
  for (const auto& [name, factor] : kUnits)
    if (unit == name && !text.empty() && std::isfinite(number) && number >= 0 && number * factor < 0x1p62)
      return static_cast<int64_t>(number * factor);
  return UsageError("E0432", flag + " " + text + " is not a size", "for example 2GiB, 300MB or a number of bytes");
}

Result<NamedSizes> ModelFlags::Sizes() const {
  NamedSizes sizes;
  for (const std::string& d : dims) {
    HR_ASSIGN_OR_RETURN(auto pair, SplitPair(d, "--dim"));
    char* end = nullptr;
    errno = 0;
    long long v = strtoll(pair.second.c_str(), &end, 10);
    if (*end || errno || v < 0) return UsageError("E0433", "--dim " + d + ": the size must be a non-negative integer");
    sizes.emplace_back(pair.first, v);
  }
  return sizes;
}

Result<ImportOptions> ModelFlags::Import() const {
  ImportOptions o;
  HR_ASSIGN_OR_RETURN(NamedSizes sizes, Sizes());
  for (const auto& [n, v] : sizes) o.dims.emplace_back(n.str(), v);
  o.cancelled = Interrupted;
  return o;
}

Result<CompileRequest> ModelFlags::Compile(const Common& c) const {
  CompileRequest request;
  request.backend = backend;
  request.pipeline = pipeline;
  request.options.threads = threads;
  request.options.target = target;
  request.options.keep_denormals = keep_denormals;
  request.autocast = autocast;
  request.options.verify_artifact = !no_verify;
  if (threads < 0) return UsageError("E0434", "--threads must not be negative");
  for (const std::string& i : implementations) {
    size_t eq = i.find('=');
    if (eq == std::string::npos) request.options.implementations.emplace_back("*", i);
    else request.options.implementations.emplace_back(i.substr(0, eq), i.substr(eq + 1));
  }
  if (const char* dump = getenv("HEADRACE_DUMP_DIR")) request.options.dump_dir = dump;
  if (const char* cache = getenv("HEADRACE_CACHE_DIR")) request.options.cache_dir = cache;
  request.options.debug = getenv("HEADRACE_VERIFY") != nullptr;
  request.options.progress = ProgressOf(c.out);
  request.options.cancelled = Interrupted;
  return request;
}

Status ModelFlags::CheckChoices(const Registry& r, const LoadedModel& m, const Common& c) const {
  HR_ASSIGN_OR_RETURN(NamedSizes sizes, Sizes());
  if (IsArtifact()) {
    if (!implementations.empty())
      return UsageError("E0461", "--impl has no effect on an artifact: it is compiled already",
                        "give --impl to `headrace compile`");
    if (!pipeline.empty())
      return UsageError("E0461", "--pipeline has no effect on an artifact: it is compiled already",
                        "give --pipeline to `headrace compile`");
    if (plan != "auto" && plan != "none")
      return UsageError("E0461", "--plan has no effect on an artifact: it is compiled already",
                        "give --plan to `headrace compile`");
    if (!autocast.empty())
      return UsageError("E0461", "--autocast has no effect on an artifact: it is compiled already",
                        "give --autocast to `headrace compile`");
    if (keep_denormals)
      return UsageError("E0461", "--keep-denormals has no effect on an artifact: it is compiled already",
                        "give --keep-denormals to `headrace compile`");
    HR_RETURN_IF_ERROR(CheckSizes(m.model.program.Entry(), sizes));
  }
  std::vector<std::string> warnings;
  HR_ASSIGN_OR_RETURN(CompileRequest request, Compile(c));
  HR_RETURN_IF_ERROR(CheckImplementations(r, m.model.program, request.options, &warnings));
  if (threads > 1 && backend == "interpreter") warnings.push_back("--threads has no effect: the interpreter uses one");
  if (no_verify && !IsArtifact()) warnings.push_back("--no-verify has no effect: it is of artifacts");
  for (const std::string& w : warnings) Note(c.out, "warning: " + w);
  return {};
}

Result<LoadedModel> ReadModel(const Registry& r, const std::string& path, const ImportOptions& o) {
  if (path != "-") return LoadModel(r, path, o);
  // Read once: some verbs look at their model twice.
  static const auto* const kText = new std::string(std::istreambuf_iterator<char>(std::cin), {});
  return LoadModelBytes(r, *kText, "<stdin>", o);
}

Status OpenRegistry(Registry& r, const Common& c) {
  Status s = LoadPlugins(r, PluginPath(c.plugins));
  if (s.ok()) return s;
  // A plugin asked for by name must load; a broken one lying in a folder only earns a warning.
  for (const std::string& p : c.plugins)
    for (const Diagnostic& d : s.diagnostics())
      if (d.file.find(p.substr(p.rfind('/') + 1)) != std::string::npos) return s;
  for (const Diagnostic& d : s.diagnostics()) Note(c.out, "warning: " + d.file + ": " + d.message);
  return {};
}

namespace {

Result<Opened> OpenArtifact(const Registry& r, const ModelFlags& f, const CompileRequest& request, const Common& c) {
  struct stat st;
  if (stat(f.model.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) {
    Diagnostic d;
    d.code = "E0405", d.file = f.model,
    d.message = "no such artifact: an .hrx is a folder made by `headrace compile`";
    return Status(d);
  }
  HR_ASSIGN_OR_RETURN(const Backend* b, BackendNamed(r, f.backend));
  if (!b->load) return UsageError("E0436", "backend '" + f.backend + "' loads no artifacts");
  Opened out;
  const auto start = std::chrono::steady_clock::now();
  HR_ASSIGN_OR_RETURN(out.executable, b->load(f.model, request.options, r));
  HR_ASSIGN_OR_RETURN(out.model.model.program, out.executable->Interface());
  ReadModelNames(&out.model.model);
  out.model.model.kind = "artifact";
  out.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  HR_RETURN_IF_ERROR(f.CheckChoices(r, out.model, c));
  return out;
}

}  // namespace

Result<Opened> OpenModel(const Registry& r, const ModelFlags& f, const Common& c, const InputValue& input_value) {
  using Clock = std::chrono::steady_clock;
  Opened out;
  HR_ASSIGN_OR_RETURN(CompileRequest request, f.Compile(c));
  if (f.IsArtifact()) return OpenArtifact(r, f, request, c);
  HR_ASSIGN_OR_RETURN(ImportOptions import, f.Import());
  import.input_value = input_value;
  auto start = Clock::now();
  if (request.options.progress) request.options.progress("reading", 0);
  HR_ASSIGN_OR_RETURN(out.model, ReadModel(r, f.model, import));
  HR_RETURN_IF_ERROR(f.CheckChoices(r, out.model, c));
  auto loaded = Clock::now();
  Program program = out.model.model.program;
  HR_RETURN_IF_ERROR(f.UsePlan(r, program, c, &request));
  WriteModelNames(out.model.model, &program);
  Result<std::unique_ptr<Executable>> made = CompileProgram(r, program, request);
  if (!made.ok() && made.status().kind() == ErrorKind::kUsage && f.plan == "auto" && !request.plan.empty()) {
    Note(c.out, "warning: the plan that was kept for this model is of another headrace, and is not taken: " + made.status().message());
    request.plan = {};
    made = CompileProgram(r, std::move(program), request);
  }
  HR_ASSIGN_OR_RETURN(out.executable, std::move(made));
  EndProgress(c.out);
  out.request = std::move(request);
  out.load_seconds = std::chrono::duration<double>(loaded - start).count();
  out.compile_seconds = std::chrono::duration<double>(Clock::now() - loaded).count();
  if (c.out.verbosity > 0)
    for (const std::string& line : out.model.model.report) Note(c.out, line);
  return out;
}

}  // namespace headrace
