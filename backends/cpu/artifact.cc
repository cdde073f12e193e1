#include "backends/cpu/artifact.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "backends/cpu/cache.h"
#include "backends/cpu/sites.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "runtime/headrace_runtime.h"

namespace headrace::cpu {
namespace {

using nlohmann::json;
constexpr int kFormat = 1;

// Instruction sets that -march=native may have used, by name.
std::vector<std::string> InstructionSets() {
  std::vector<std::string> out;
#if defined(__x86_64__)
  __builtin_cpu_init();
#define HR_HAS(name) \
  if (__builtin_cpu_supports(name)) out.push_back(name);
  HR_HAS("sse4.2")
  HR_HAS("avx") HR_HAS("avx2") HR_HAS("fma") HR_HAS("bmi") HR_HAS("bmi2") HR_HAS("avx512f") HR_HAS("avx512bw")
      HR_HAS("avx512dq") HR_HAS("avx512vl") HR_HAS("avx512vnni") HR_HAS("avx512vbmi") HR_HAS("avx512bf16")
#undef HR_HAS
#endif
          return out;
}

std::string Machine() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "other";
#endif
}

Status CopyFile(const std::string& from, const std::string& to) {
  std::ifstream in(from, std::ios::binary);
  std::ofstream out(to, std::ios::binary);
  out << in.rdbuf();
  out.close();
  if (!in || !out) return InvalidError("E0370", "cannot copy " + from + " to " + to);
  return {};
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<std::string> ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return InvalidError("E0371", "cannot read " + path, "is it a complete .hrx folder?");
  return text.str();
}

}  // namespace

Status SaveArtifact(const Artifact& a, const std::string& folder) {
  std::string target = folder;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  const std::string scratch = target + ".tmp" + std::to_string(getpid());
  RemoveTree(scratch);
  if (mkdir(scratch.c_str(), 0755) != 0) return InvalidError("E0370",
                                                             "cannot make " + scratch + ": " + std::strerror(errno));
  auto write = [&]() -> Status {
    json manifest = {{"format", kFormat},
                     {"machine", Machine()},
                     {"instructions", InstructionSets()},
                     {"abi", HEADRACE_PROGRAM_MAJOR}};
    HR_RETURN_IF_ERROR(CopyFile(a.program, scratch + "/program.so"));
    HR_ASSIGN_OR_RETURN(manifest["program"], HashFile(scratch + "/program.so"));
    std::ofstream weights(scratch + "/weights.bin", std::ios::binary);
    int64_t at = 0;
    manifest["constants"] = json::array();
    for (const Tensor& t : a.constants) {
      json c = {{"dtype", std::string(DTypeName(t.dtype))}, {"shape", t.shape}};
      if (t.dtype == DType::kString) {
        c["strings"] = *t.strings;
      } else {
        const std::string pad(static_cast<size_t>((64 - at % 64) % 64), '\0');
        weights << pad;
        at += static_cast<int64_t>(pad.size());
        c["offset"] = at;
        if (t.bytes() > 0) weights.write(t.data->data(), t.bytes());
        at += t.bytes();
      }
      manifest["constants"].push_back(c);
    }
    weights.close();
    if (!weights) return InvalidError("E0370", "cannot write " + scratch + "/weights.bin", "is the disk full?");
    manifest["weights_bytes"] = at;
    manifest["statements"] = SitesToJson(a.sites);
    manifest["externals"] = json::array();
    std::set<std::string> copied;
    for (const ArtifactExternal& e : a.externals) {
      if (e.library.empty())
        return UnsupportedError("E0375", "external function '" + e.name +
                                "' is part of the host program: the artifact can't carry it");
      const std::string file = BaseName(e.library);
      if (copied.insert(file).second) HR_RETURN_IF_ERROR(CopyFile(e.library, scratch + "/" + file));
      manifest["externals"].push_back({{"name", e.name}, {"symbol", e.symbol}, {"library", file}});
    }
    Dl_info runtime;
    if (dladdr(reinterpret_cast<void*>(&hr_runtime), &runtime) && runtime.dli_fname &&
        BaseName(runtime.dli_fname).find(".so") != std::string::npos)
      HR_RETURN_IF_ERROR(CopyFile(runtime.dli_fname, scratch + "/libheadrace_runtime.so"));
    std::ofstream(scratch + "/signature.txt") << Print(a.signature);
    HR_ASSIGN_OR_RETURN(manifest["signature"], HashFile(scratch + "/signature.txt"));
    std::ofstream out(scratch + "/manifest.json");
    out << manifest.dump(1) << "\n";
    out.close();
    if (!out) return InvalidError("E0370", "cannot write " + scratch + "/manifest.json");
    return {};
  };
  if (const Status s = write(); !s.ok()) {
    RemoveTree(scratch);
    return s;
  }
  struct stat st;
  const std::string old = scratch + ".old";
  if (lstat(target.c_str(), &st) == 0) {
    if (!S_ISDIR(st.st_mode) || access((target + "/manifest.json").c_str(), F_OK) != 0) {
      RemoveTree(scratch);
      return InvalidError("E0376", target + " exists and is no .hrx folder", "choose another name");
    }
    rename(target.c_str(), old.c_str());
  }
  if (rename(scratch.c_str(), target.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    rename(old.c_str(), target.c_str());
    RemoveTree(scratch);
    return InvalidError("E0370", "cannot make " + target + ": " + why);
  }
  RemoveTree(old);
  return {};
}

Result<Artifact> ReadArtifact(const std::string& folder) {
  HR_ASSIGN_OR_RETURN(std::string text, ReadText(folder + "/manifest.json"));
  const json m = json::parse(text, nullptr, /*allow_exceptions=*/false);
  auto damaged = [&](const std::string& what) {
    return InvalidError("E0372", folder + " is damaged: " + what, "compile it again");
  };
  if (!m.is_object() || !m.contains("format") || !m["format"].is_number_integer())
    return damaged("manifest.json is not a manifest");
  if (m["format"] != kFormat)
    return InvalidError("E0373", folder + " has format " + m["format"].dump() + ", this version reads " +
                        std::to_string(kFormat));
  if (m.value("machine", "") != Machine())
    return UnsupportedError("E0374",
                            folder + " was compiled for " + m.value("machine", "?") + ", this is " + Machine());
  const std::vector<std::string> here = InstructionSets();
  Artifact a;
  try {  // the JSON library reports wrong types by exceptions: none leaves this function
    for (const std::string& i : m.at("instructions").get<std::vector<std::string>>())
      if (std::find(here.begin(), here.end(), i) == here.end())
        return UnsupportedError("E0374",
                                folder + " uses " + i + ", which this processor lacks", "compile it on this machine");
    a.program = folder + "/program.so";
    const auto hash = HashFile(a.program);
    if (!hash.ok()) return damaged("program.so is missing");
    if (*hash != m.at("program").get<std::string>())
      return damaged("program.so has another hash than the manifest says");
    const auto signature_hash = HashFile(folder + "/signature.txt");
    if (!signature_hash.ok() || *signature_hash != m.at("signature").get<std::string>())
      return damaged("signature.txt has another hash than the manifest says");
    const int64_t bytes = m.at("weights_bytes").get<int64_t>();
    const int fd = open((folder + "/weights.bin").c_str(), O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size != bytes) {
      if (fd >= 0) close(fd);
      return damaged("weights.bin has another size than the manifest says");
    }
    void* map = bytes ? mmap(nullptr, static_cast<size_t>(bytes), PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
    close(fd);
    if (map == MAP_FAILED) return InvalidError("E0371",
                                               "cannot map " + folder + "/weights.bin: " + std::strerror(errno));
    std::shared_ptr<void> keep(map, [bytes](void* p) {
      if (p) munmap(p, static_cast<size_t>(bytes));
    });
    for (const json& c : m.at("constants")) {
      Tensor t;
      const auto type = ParseDType(c.at("dtype").get<std::string>());
      if (!type) return damaged("unknown element type");
      t.dtype = *type;
      t.shape = c.at("shape").get<std::vector<int64_t>>();
      for (int64_t d : t.shape)
        if (d < 0) return damaged("a negative size");
      if (c.contains("strings")) {
        t.strings = std::make_shared<std::vector<std::string>>(c.at("strings").get<std::vector<std::string>>());
        if (static_cast<int64_t>(t.strings->size()) != t.elements())
          return damaged("a constant has another size than its shape");
      } else {
        const int64_t at = c.at("offset").get<int64_t>();
        if (at < 0 || at > bytes || t.bytes() > bytes - at) return damaged("a constant lies outside weights.bin");
        t.data = Buffer::Wrap(map ? static_cast<char*>(map) + at : nullptr, t.bytes(), keep, /*writable=*/false);
      }
      a.constants.push_back(std::move(t));
    }
    if (m.contains("statements")) a.sites = SitesFromJson(m["statements"]);
    for (const json& e : m.at("externals")) {
      const std::string file = e.at("library").get<std::string>();
      if (file.empty() || file.find('/') != std::string::npos) return damaged("a library outside the folder");
      a.externals.push_back({e.at("name").get<std::string>(), e.at("symbol").get<std::string>(), folder + "/" + file});
    }
  } catch (const std::exception& e) { return damaged(e.what()); }
  HR_ASSIGN_OR_RETURN(std::string signature, ReadText(folder + "/signature.txt"));
  HR_ASSIGN_OR_RETURN(a.signature, ParseProgram(signature, folder + "/signature.txt"));
  return a;
}

}  // namespace headrace::cpu
