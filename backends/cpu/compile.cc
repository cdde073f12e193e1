// Program → generated source → cache or host compiler → loaded program.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "backends/cpu/cache.h"
#include "backends/cpu/cache_key.h"
#include "backends/cpu/codegen_program.h"
#include "backends/cpu/executable.h"
#include "backends/cpu/host_compiler.h"
#include "ir/analysis/arena.h"
#include "ir/base/log.h"
#include "ir/plugin.h"
#include "runtime/processor.h"

namespace headrace::cpu {
namespace {

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A small program is one file: one compiler process.
std::vector<SourceFile> JoinSmall(const std::vector<SourceFile>& files) {
  size_t bytes = 0;
  for (const SourceFile& f : files) bytes += f.name == "headrace.h" ? 0 : f.text.size();
  if (bytes > 24 * 1024) return files;
  std::vector<SourceFile> out;
  SourceFile all{"all.cc", ""};
  for (const SourceFile& f : files) {
    all.kind = std::max(all.kind, f.kind);
    if (f.name.size() > 2 && f.name.substr(f.name.size() - 2) == ".h") out.push_back(f);
    else all.text += "// ---- " + f.name + " ----\n" + f.text;
  }
  out.push_back(all);
  return out;
}

std::vector<KeyPart> KeyParts(const GeneratedProgram& g, const std::vector<SourceFile>& files, const HostCompiler& c,
                              const std::string& target, const Registry& r) {
  std::vector<std::string> flags, headrace = {"headrace cpu 2", HEADRACE_VERSION}, program, externals;
  for (CodeKind kind : {CodeKind::kCalls, CodeKind::kLanes, CodeKind::kLoops})
    for (const std::string& f : CompileFlags(c, target, kind)) flags.push_back(f);
  for (const SourceFile& f : files) {
    std::vector<std::string>& part = f.name == "headrace.h" ? headrace : program;
    part.push_back(f.name);
    part.push_back(f.text);
  }
  for (const std::string& e : g.externals) {
    externals.push_back(e);
    const ExternalFunction* f = r.FindFunction(e);
    if (f && !f->library_path.empty())
      externals.push_back(HashFile(f->library_path).ok() ? *HashFile(f->library_path) : "");
  }
  return {{"the compiler", Hash({c.identity})},
          {"the processor", Hash({CpuFeatures()})},
          {"the flags", Hash(flags)},
          {"headrace's version", Hash(headrace)},
          {"the program", Hash(program)},
          {"a plugin's library", Hash(externals)}};
}

Result<std::string> TargetOf(const CompileOptions& o) {
  const std::string target = o.target.empty() ? "native" : o.target;
  std::string known;
  for (const std::string& t : runtime::Targets()) {
    if (t == target) return target;
    known += (known.empty() ? "" : ", ") + t;
  }
  return UsageError("E0378", "there is no target '" + target + "'", "targets: " + known);
}

Status Dump(const SourceFile& f, const std::string& folder) {
  std::ofstream out(folder + "/" + f.name, std::ios::binary);
  out << f.text;
  out.close();
  return out ? Status() : InvalidError("E0691", "cannot write " + folder + "/" + f.name, "set HEADRACE_DUMP_DIR to a folder that can be written");
}

}  // namespace

Result<std::unique_ptr<Executable>> Compile(const Program& p, const CompileOptions& o, const Registry& r) {
  LoadRequest request;
  HR_ASSIGN_OR_RETURN(request.target, TargetOf(o));
  const double start = Now();
  if (o.progress) o.progress("codegen", 0);
  HR_ASSIGN_OR_RETURN(GeneratedProgram g, GenerateProgram(p, r));
  const double generated = Now();
  if (!o.dump_dir.empty()) {
    std::error_code ignored;  // what is wrong with the folder shows where a file is written
    std::filesystem::create_directories(o.dump_dir, ignored);
    for (const SourceFile& f : g.files) HR_RETURN_IF_ERROR(Dump(f, o.dump_dir));
  }
  HR_ASSIGN_OR_RETURN(HostCompiler compiler, FindHostCompiler());
  const std::vector<SourceFile> files = JoinSmall(g.files);
  const std::vector<KeyPart> parts = KeyParts(g, files, compiler, request.target, r);
  const std::string key = KeyOf(parts), name = p.Entry().name.str();
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Cache cache(o.cache_dir);
  const bool there = access((cache.directory() + "/" + key).c_str(), F_OK) == 0;  // damaged, if it is not used
  auto compile = [&](const std::string& folder) -> Status {
    if (LogsOn(LogTopic::kCache) || LogsOn(LogTopic::kRecompiles)) {
      const std::string why = there ? "the entry was damaged" : WhyMissed(cache, name, parts);
      Log(LogTopic::kCache, "miss: " + why);
      Log(LogTopic::kRecompiles, name + ": compiled by " + compiler.command[0] + ": " + why);
    }
    return CompileShared(compiler, request.target, files, folder, cores, o.cancelled, [&](double done) {
      if (o.progress) o.progress("compile", done);
    });
  };
  if (o.progress) o.progress("compile", 0);
  HR_ASSIGN_OR_RETURN(Cache::Entry entry, cache.Get(key, Described(name, parts), compile, o.cancelled));
  if (entry.hit) Log(LogTopic::kCache, "hit: " + entry.path);
  const double compiled = Now();
  request.path = entry.path;
  request.scratch = entry.scratch;
  request.signature = SignatureOf(p);
  for (const auto& sdfg : p.sdfgs)  // what persists between runs is the program's, not the run's
    for (Name n : sdfg->order) request.serial |= sdfg->Get(n).kind == ContainerKind::kState;
  request.constants = std::move(g.constants);
  request.sites = std::move(g.sites);
  for (const std::string& e : g.externals)
    if (const ExternalFunction* f = r.FindFunction(e)) request.externals.push_back({e, f->symbol, f->library_path});
  request.registry = &r;
  request.threads = o.threads;
  request.cancelled = o.cancelled;
  request.source = g.Text();
  request.report = {{"codegen seconds", generated - start},
                    {"host compiler seconds", compiled - generated},
                    {"cache hit", entry.hit ? 1.0 : 0.0},
                    {"kernels", static_cast<double>(g.kernels)},
                    {"kernels scheduled", static_cast<double>(g.scheduled)},
                    {"kernels without a schedule", static_cast<double>(g.kernels - g.scheduled)},
                    {"source bytes", static_cast<double>(request.source.size())}};
  if (const auto bytes = ArenaBytes(p.Entry())) request.report.push_back({"arena bytes", static_cast<double>(*bytes)});
  return LoadProgram(std::move(request));
}

Result<std::unique_ptr<Executable>> LoadArtifact(const std::string& path, const CompileOptions& o, const Registry& r) {
  HR_ASSIGN_OR_RETURN(Artifact a, ReadArtifact(path, o.verify_artifact));
  LoadRequest request;
  request.path = a.program;
  request.target = a.target;
  request.serial = a.serial;
  request.signature = std::move(a.signature);
  request.constants = std::move(a.constants);
  request.sites = std::move(a.sites);
  request.externals = std::move(a.externals);
  request.registry = &r;
  request.threads = o.threads;
  request.cancelled = o.cancelled;
  request.remedy = kArtifactRemedy;
  return LoadProgram(std::move(request));
}

Status RegisterCpu(Registry& r) {
  Backend b;
  b.name = "cpu";
  b.doc = "Generates C++ and compiles it with the machine's compiler; parallel, vectorised, cached.";
  b.compile = Compile;
  b.load = LoadArtifact;
  b.ready = [](const CompileOptions&) { return FindHostCompiler().status(); };
  b.plugin = "cpu";
  return r.Add(std::move(b));
}

}  // namespace headrace::cpu
