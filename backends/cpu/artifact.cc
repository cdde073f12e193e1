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
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "backends/cpu/cache.h"
#include "backends/cpu/sites.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "runtime/artifact_files.h"
#include "runtime/checksums.h"
#include "runtime/headrace_runtime.h"
#include "runtime/processor.h"

namespace headrace::cpu {
namespace {

using nlohmann::json;
constexpr int kFormat = runtime::kArtifactFormat;

// What the program assumes of its sizes, for loaders that do not read the signature.
json BoundsOf(const Program& signature) {
  json out = json::object();
  for (const auto& [name, interval] : signature.Entry().assumptions.bounds)
    out[name.str()] = {interval.lo.value_or(INT64_MIN), interval.hi.value_or(INT64_MAX)};
  return out;
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

// The files that a plugin's library opens itself, as its `headrace_files` says (docs/plugins.md), beside it under their names.
Status CopyFilesOf(const std::string& library, const std::string& folder, std::set<std::string>* taken) {
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return {};
  using Files = const char* const* (*)();
  Status status;
  if (auto files = reinterpret_cast<Files>(dlsym(handle, "headrace_files")))
    for (const char* const* file = files(); *file && status.ok(); ++file) {
      const std::string name = BaseName(*file);
      status = taken->insert(name).second ? CopyFile(*file, folder + "/" + name)
                                          : UnsupportedError("E0375", "the artifact has a file " + name + " already, and " +
                                                                          library + " needs one of that name");
    }
  dlclose(handle);
  return status;
}

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
                     {"machine", runtime::Machine()},
                     {"target", a.target},
                     {"instructions", runtime::TargetFeatures(a.target)},
                     {"abi", HEADRACE_PROGRAM_MAJOR},
                     {"bounds", BoundsOf(a.signature)},
                     {"serial", a.serial}};
    HR_RETURN_IF_ERROR(CopyFile(a.program, scratch + "/program.so"));
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
    std::map<std::string, std::string> copied;  // path of a plugin → its name here
    std::set<std::string> taken = {"program.so", "libheadrace_runtime.so"};
    for (const ArtifactExternal& e : a.externals) {
      if (e.library.empty())
        return UnsupportedError("E0375", "external function '" + e.name +
                                             "' is part of the host program: the artifact can't carry it");
      std::string& file = copied[e.library];
      if (file.empty()) {
        file = BaseName(e.library);
        while (!taken.insert(file).second) file = "other-" + file;
        HR_RETURN_IF_ERROR(CopyFile(e.library, scratch + "/" + file));
        HR_RETURN_IF_ERROR(CopyFilesOf(e.library, scratch, &taken));
      }
      manifest["externals"].push_back({{"name", e.name}, {"symbol", e.symbol}, {"library", file}});
    }
    Dl_info runtime;
    if (dladdr(reinterpret_cast<void*>(&hr_runtime), &runtime) && runtime.dli_fname &&
        BaseName(runtime.dli_fname).find(".so") != std::string::npos)
      HR_RETURN_IF_ERROR(CopyFile(runtime.dli_fname, scratch + "/libheadrace_runtime.so"));
    std::ofstream signature(scratch + "/signature.txt");
    signature << Print(a.signature);
    signature.close();
    if (!signature) return InvalidError("E0370", "cannot write " + scratch + "/signature.txt", "is the disk full?");
    std::ofstream out(scratch + "/manifest.json");
    out << manifest.dump(1) << "\n";
    out.close();
    if (!out) return InvalidError("E0370", "cannot write " + scratch + "/manifest.json", "is the disk full?");
    const std::string trouble = runtime::WriteChecksums(scratch);
    return trouble.empty() ? Status() : InvalidError("E0370", trouble, "is the disk full?");
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

namespace {

Status Damaged(const std::string& folder, const std::string& what) {
  return InvalidError("E0372", folder + " is damaged: " + what, kArtifactRemedy);
}

// Every faulty file at once.
Status FaultsOf(const std::string& folder, const std::vector<runtime::FaultyFile>& faulty) {
  std::vector<Diagnostic> all;
  for (const runtime::FaultyFile& f : faulty) {
    const Status s = f.fault == runtime::FileFault::kExtra
                         ? InvalidError("E0372", folder + "/" + f.file + " " + f.message,
                                        "remove it, or use --no-verify")
                         : Damaged(folder, f.file + " " + f.message);
    all.push_back(s.diagnostics()[0]);
  }
  return Status(std::move(all));
}

Status CheckVersion(const std::string& folder, const json& m) {
  if (!m.is_object() || !m.contains("format") || !m["format"].is_number_integer())
    return Damaged(folder, "manifest.json is not a manifest");
  if (m["format"] != kFormat)
    return InvalidError("E0373",
                        folder + " was made by another version of headrace: its format is " + m["format"].dump() +
                            ", this version reads " + std::to_string(kFormat),
                        "compile it again with this version");
  return {};
}

Status CheckProcessor(const std::string& folder, const json& m) {
  if (const std::string machine = m.value("machine", "?"); machine != runtime::Machine())
    return UnsupportedError("E0374", folder + " was compiled for " + machine + ", this is " + runtime::Machine());
  std::string missing;
  for (const std::string& f : runtime::MissingFeatures(m.at("instructions").get<std::vector<std::string>>()))
    missing += (missing.empty() ? "" : ", ") + f;
  if (missing.empty()) return {};
  return UnsupportedError("E0374",
                          folder + " was compiled for '" + m.value("target", "native") +
                              "' and may use instructions that this processor lacks: " + missing,
                          "compile it on this machine, or for an older one: --target x86-64-v2 or x86-64-v3");
}

}  // namespace

Result<Artifact> ReadArtifact(const std::string& folder, bool verify) {
  auto damaged = [&](const std::string& what) { return Damaged(folder, what); };
  const auto text = ReadText(folder + "/manifest.json");
  const json m = text.ok() ? json::parse(*text, nullptr, /*allow_exceptions=*/false) : json();
  const Status version = CheckVersion(folder, m);
  std::vector<runtime::FaultyFile> faulty;
  if (verify) faulty = runtime::VerifyChecksums(folder);
  // Of another version the files may be others, unless it is the manifest itself that is damaged.
  const bool manifest =
      std::any_of(faulty.begin(), faulty.end(), [](const auto& f) { return f.file == "manifest.json"; });
  if (!version.ok() && !manifest && version.diagnostics()[0].code == "E0373") return version;
  HR_RETURN_IF_ERROR(FaultsOf(folder, faulty));
  HR_RETURN_IF_ERROR(version);
  Artifact a;
  try {  // the JSON library reports wrong types by exceptions: none leaves this function
    HR_RETURN_IF_ERROR(CheckProcessor(folder, m));
    a.program = folder + "/program.so";
    a.target = m.value("target", "native");
    a.serial = m.at("serial").get<bool>();
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
