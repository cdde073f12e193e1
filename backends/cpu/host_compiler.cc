#include "backends/cpu/host_compiler.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

#include "backends/cpu/process.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace headrace::cpu {
namespace {

std::string FindInPath(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0 ? program : "";
  const char* path = std::getenv("PATH");
  std::stringstream list(path && *path ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(list, folder, ':');) {
    if (folder.empty() || folder[0] != '/') continue;  // never a compiler of the current folder
    const std::string file = folder + "/" + program;
    struct stat st;
    if (stat(file.c_str(), &st) == 0 && S_ISREG(st.st_mode) && access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// So that no processor is left alone with one at the end.
std::vector<SourceFile> LongestFirst(std::vector<SourceFile> files) {
  std::stable_sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) { return a.text.size() > b.text.size(); });
  return files;
}

// What of -O3 a schedule leaves to do. No level changes the order of sums or contracts them, so bits are the same.
std::vector<std::string> LevelFlags(CodeKind kind, bool gcc) {
  if (kind == CodeKind::kCalls) return {"-Og"};
  if (kind == CodeKind::kLoops || !gcc) return {"-O3"};
  // Short loops are written out, conditions that stay as they are leave them, and functions of the prelude become part of lanes. One choice
  // after the other stays so: jumps from the first into a side of the second would be choices within choices, with lanes for each way.
  // Loops around lanes are written out once their lanes are vectors (cunroll), not before (cunrolli): the lanes of each copy would be
  // looked at again, for the same code. First iterations of longer loops gain nothing by standing apart. The last line is of what takes an
  // eighth of the time and changes nothing that could be measured: kernels call nobody, and processors order instructions themselves.
  return {"-O2", "-fvect-cost-model=dynamic", "-fpeel-loops", "--param=max-peeled-insns=0", "-fdisable-tree-cunrolli", "-funswitch-loops",
          "-fpredictive-commoning", "-fno-thread-jumps", "--param=max-inline-insns-single=200", "--param=inline-min-speedup=15",
          "-fno-ipa-cp", "-fno-ipa-icf", "-fno-ipa-pure-const", "-fno-ipa-ra", "-fno-ipa-reference", "-fno-ipa-sra", "-fno-ipa-vrp",
          "-fno-partial-inlining", "-fno-schedule-insns2", "-fno-tree-dominator-opts", "-fno-tree-slp-vectorize"};
}

// Whether the compiler makes a library of a program of nothing.
bool Works(const HostCompiler& c, const std::string& target, const std::string& directory, const std::function<bool()>& cancelled) {
  std::ofstream(directory + "/nothing.cc") << "int nothing;\n";
  Command nothing{c.command, directory};
  for (const std::string& f : CompileFlags(c, target, CodeKind::kLanes)) nothing.argv.push_back(f);
  for (const char* a : {"nothing.cc", "-shared", "-o", "nothing.so"}) nothing.argv.push_back(a);
  const auto result = RunCommands({nothing}, 1, cancelled);
  return result.ok() && (*result)[0].exit_code == 0 && access((directory + "/nothing.so").c_str(), F_OK) == 0;
}

bool Killed(const ProcessResult& r) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGHUP})
    if (r.exit_code == 128 + signal) return true;
  return r.output.find("Killed signal terminated program") != std::string::npos;
}

// Of the disk, the folder, the compiler, the memory or the code, in this order.
Status WhyItFailed(const HostCompiler& c, const std::string& target, const std::string& directory, const Command& command,
                   const ProcessResult& r, const std::function<bool()>& cancelled) {
  if (r.output.find("No space left on device") != std::string::npos)
    return InvalidError("E0691", "the disk is full: the compiler could not write in " + directory,
                        "free space there, or set HEADRACE_CACHE_DIR and TMPDIR to another disk");
  if (access(directory.c_str(), F_OK) != 0)
    return InvalidError("E0691", "the folder that was compiled in is gone: " + directory, "was the cache removed meanwhile? run again");
  const std::string said = r.exit_code == 0 ? " (exit 0) wrote no program\n" : " failed (exit " + std::to_string(r.exit_code) + ")\n";
  const std::string what = "the compiler " + command.argv[0], output = r.output.substr(0, 4000);
  if (!Works(c, target, directory, cancelled)) {
    if (cancelled && cancelled()) return InterruptedError();
    return UnsupportedError("E0690", what + said + output, "it fails on a program of nothing, too: set CXX to another C++ compiler, or unset it; "
                                                           "--backend interpreter needs none");
  }
  if (Killed(r))
    return InvalidError("E0692", what + " was killed: too little memory, most likely", "free memory, or use --backend interpreter");
  return InternalError("the host compiler failed on generated code: " + what + said + output);
}

}  // namespace

Result<HostCompiler> FindHostCompiler() {
  std::vector<std::vector<std::string>> candidates;
  if (const char* cxx = std::getenv("CXX"); cxx && *cxx) {
    std::stringstream words(cxx);
    std::vector<std::string> command;
    for (std::string w; words >> w;) command.push_back(w);
    if (!command.empty()) candidates.push_back(command);
  }
  const bool chosen = !candidates.empty();
  if (!chosen)
    for (const char* name : {"g++", "clang++", "c++"}) candidates.push_back({name});
  std::string tried;
  for (std::vector<std::string>& command : candidates) {
    tried += (tried.empty() ? "" : ", ") + command[0];
    const std::string path = FindInPath(command[0]);
    if (path.empty()) continue;
    command[0] = path;
    struct stat st = {};
    stat(path.c_str(), &st);
    HostCompiler c;
    c.command = command;
    Command version{command, "/"};
    version.argv.push_back("--version");
    auto result = RunCommands({version}, 1, nullptr);
    if (!result.ok() || (*result)[0].exit_code != 0) continue;
    c.version = (*result)[0].output.substr(0, (*result)[0].output.find('\n'));
    for (const std::string& w : command) c.identity += w + "\n";
    c.identity += c.version + "\n" + std::to_string(st.st_size) + " " + std::to_string(st.st_mtime);
    return c;
  }
  if (chosen)
    return UnsupportedError("E0690", "the compiler that CXX names can't be run: " + tried,
                            "set CXX to a C++ compiler or unset it; --backend interpreter needs none");
  return UnsupportedError("E0690", "no C++ compiler was found (tried " + tried + ")",
                          "install g++ or clang++, or set CXX; --backend interpreter needs none");
}

std::vector<std::string> CompileFlags(const HostCompiler& c, const std::string& target, CodeKind kind) {
  const bool hot = kind != CodeKind::kCalls, gcc = c.version.find("clang") == std::string::npos;
  std::vector<std::string> flags = LevelFlags(kind, gcc);
  flags.push_back("-march=" + target);
  for (const char* f : {"-std=c++17", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-semantic-interposition",
                        "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti", "-w"})
    flags.push_back(f);
  if (hot) flags.push_back("-fopenmp-simd");
#if defined(__x86_64__) || defined(__i386__)
  // Compilers halve vectors of 64 bytes for most of Intel's processors: a schedule's tiles then take twice the registers there are.
  if (hot) flags.push_back("-mprefer-vector-width=512");
#endif
  // gcc 12 makes a memset of `x[a + i] = 0`, before the same loop has read x[a + i] (loops_test). clang has no such flag.
  if (hot && gcc) flags.push_back("-fno-tree-loop-distribute-patterns");
  return flags;
}

std::string CpuFeatures() {
#if defined(__x86_64__) || defined(__i386__)
  std::string s;
  char buffer[64];
  for (const auto& [leaf, sub] : std::vector<std::pair<unsigned, unsigned>>{
           {0, 0}, {1, 0}, {7, 0}, {7, 1}, {0xd, 1}, {0x80000001, 0}, {0x14, 0}, {0x19, 0}}) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid_count(leaf, sub, &a, &b, &c, &d);
    if (leaf == 1) b = 0, c &= ~(1u << 27);  // APIC number and OSXSAVE say nothing about instructions
    if (leaf == 0xd) b = 0;                  // size of the current save area
    std::snprintf(buffer, sizeof buffer, "%x.%x:%x,%x,%x,%x ", leaf, sub, a, b, c, d);
    s += buffer;
  }
  return s;
#else
  std::ifstream in("/proc/cpuinfo");
  std::string line, s;
  while (std::getline(in, line) && !line.empty())
    if (line.rfind("Features", 0) == 0 || line.rfind("CPU ", 0) == 0) s += line + "\n";
  return s;
#endif
}

Status CompileShared(const HostCompiler& c, const std::string& target, const std::vector<SourceFile>& files,
                     const std::string& directory, int parallel, const std::function<bool()>& cancelled,
                     const std::function<void(double)>& progress) {
  std::vector<Command> compile;
  Command link{c.command, directory};
  size_t sources = 0;
  for (const SourceFile& f : files) sources += f.name.find(".cc") != std::string::npos;
  for (const SourceFile& f : LongestFirst(files)) {
    std::ofstream out(directory + "/" + f.name, std::ios::binary);
    out << f.text;
    out.close();
    if (!out) return InvalidError("E0691", "cannot write " + directory + "/" + f.name, "is the disk full?");
    if (f.name.size() < 3 || f.name.substr(f.name.size() - 3) != ".cc") continue;
    const std::vector<std::string> flags = CompileFlags(c, target, f.kind);
    if (sources == 1) {  // compile and link at once
      link.argv.insert(link.argv.end(), flags.begin(), flags.end());
      link.argv.push_back(f.name);
      continue;
    }
    Command command{c.command, directory};
    command.argv.insert(command.argv.end(), flags.begin(), flags.end());
    const std::string object = f.name.substr(0, f.name.size() - 3) + ".o";
    for (const std::string& a : {std::string("-c"), f.name, std::string("-o"), object}) command.argv.push_back(a);
    link.argv.push_back(object);
    compile.push_back(command);
  }
  for (const char* a : {"-shared", "-o", "program.so", "-Wl,--as-needed", "-Wl,--build-id=none", "-lm"})
    link.argv.push_back(a);
  auto report = [&](const Command& command, const ProcessResult& r) {
    return WhyItFailed(c, target, directory, command, r, cancelled);
  };
  auto count_done = [&](int done) {
    if (progress) progress(static_cast<double>(done) / static_cast<double>(compile.size() + 1));
  };
  if (!compile.empty()) {
    HR_ASSIGN_OR_RETURN(std::vector<ProcessResult> results, RunCommands(compile, parallel, cancelled, count_done));
    for (size_t i = 0; i < results.size(); ++i)
      if (results[i].exit_code != 0) return report(compile[i], results[i]);
  }
  HR_ASSIGN_OR_RETURN(std::vector<ProcessResult> linked, RunCommands({link}, 1, cancelled));
  const bool written = access((directory + "/program.so").c_str(), F_OK) == 0;
  if (linked[0].exit_code != 0 || !written) return report(link, linked[0]);
  return {};
}

}  // namespace headrace::cpu
