#include "runtime/artifact_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/checksums.h"
#include "runtime/headrace_runtime.h"
#include "runtime/processor.h"

namespace headrace::runtime {
namespace {

using nlohmann::json;

std::string CheckManifest(const std::string& folder, const json& m) {
  if (!m.is_object() || !m.contains("format")) return folder + " is damaged: manifest.json is not a manifest";
  if (m["format"] != kArtifactFormat)
    return folder + " was made by another version of headrace: its format is " + m["format"].dump() +
           ", this version reads " + std::to_string(kArtifactFormat);
  if (m.at("machine") != Machine())
    return folder + " was compiled for " + m["machine"].dump() + ", this is " + Machine();
  std::string missing;
  for (const std::string& f : MissingFeatures(m.at("instructions").get<std::vector<std::string>>()))
    missing += (missing.empty() ? "" : ", ") + f;
  return missing.empty() ? "" : folder + " may use instructions that this processor lacks: " + missing;
}

}  // namespace

std::string ArtifactFiles::MapWeights(const std::string& path, int64_t bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st;
  const bool as_said = fd >= 0 && fstat(fd, &st) == 0 && st.st_size == bytes;
  void* data = as_said && bytes ? mmap(nullptr, static_cast<size_t>(bytes), PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  if (fd >= 0) close(fd);
  if (!as_said) return path + " has another size than the manifest says";
  if (data == MAP_FAILED) return path + " can't be mapped";
  weights_ = std::shared_ptr<const char>(static_cast<const char*>(data), [bytes](const char* p) {
    if (p) munmap(const_cast<char*>(p), static_cast<size_t>(bytes));
  });
  return "";
}

std::string ArtifactFiles::LibraryOf(const std::string& external) const {
  const auto it = libraries_.find(external);
  return it == libraries_.end() ? "" : it->second;
}

// The JSON library reports wrong types by exceptions, which end in the loader's Open.
std::string ArtifactFiles::Read(const std::string& folder, bool verify) {
  std::string all;
  if (verify)
    for (const FaultyFile& f : VerifyChecksums(folder)) all += (all.empty() ? "" : "; ") + f.file + " " + f.message;
  if (!all.empty()) return folder + " is damaged: " + all;
  std::ifstream in(folder + "/manifest.json");
  const json m = json::parse(in, nullptr, /*allow_exceptions=*/false);
  std::string trouble = CheckManifest(folder, m);
  const int64_t bytes = trouble.empty() ? m.at("weights_bytes").get<int64_t>() : 0;
  if (trouble.empty()) trouble = MapWeights(folder + "/weights.bin", bytes);
  if (!trouble.empty()) return trouble;
  for (const json& c : m.at("constants")) {
    if (c.contains("strings")) {
      texts_.push_back(c["strings"].get<std::vector<std::string>>());
      std::vector<hr_string> views;
      for (const std::string& s : texts_.back()) views.push_back({s.data(), static_cast<int64_t>(s.size())});
      string_views_.push_back(std::move(views));
      constants_.push_back(string_views_.back().data());
      available_.push_back(static_cast<int64_t>(string_views_.back().size() * sizeof(hr_string)));
      continue;
    }
    const int64_t at = c.at("offset").get<int64_t>();
    if (at < 0 || at > bytes) return folder + " is damaged: a constant lies outside weights.bin";
    constants_.push_back(weights_.get() + at);
    available_.push_back(bytes - at);
  }
  for (const auto& [name, b] : m.at("bounds").items())
    bounds_[name] = {b.at(0).get<int64_t>(), b.at(1).get<int64_t>()};
  serial_ = m.at("serial").get<bool>();
  for (const json& e : m.at("externals")) {
    const std::string file = e.at("library").get<std::string>();
    if (file.empty() || file.find('/') != std::string::npos) return folder + " is damaged: a library outside the folder";
    libraries_[e.at("name").get<std::string>()] = folder + "/" + file;
  }
  return "";
}

}  // namespace headrace::runtime
