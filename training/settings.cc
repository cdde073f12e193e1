#include "training/settings.h"

#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

namespace headrace::training {
namespace {

std::string Checksum(const char* data, int64_t bytes, uint32_t start = 0) {
  uint32_t sum = start;
  for (int64_t at = 0; at < bytes; at += 1 << 30)
    sum = static_cast<uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(data + at),
                                        static_cast<size_t>(std::min<int64_t>(bytes - at, 1 << 30))));
  char text[16];
  snprintf(text, sizeof text, "%08x", sum);
  return text;
}

Result<std::string> FileChecksum(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> f(fopen(path.c_str(), "rb"), fclose);
  if (!f) return WithFile(InvalidError("E0939", "can't read the file"), path);
  std::vector<char> block(1 << 20);
  uLong sum = 0;
  int64_t size = 0;
  while (const size_t n = fread(block.data(), 1, block.size(), f.get())) {
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(block.data()), n);
    size += static_cast<int64_t>(n);
  }
  char text[48];
  snprintf(text, sizeof text, "%lld bytes, checksum %08lx", static_cast<long long>(size), sum);
  return std::string(text);
}

std::string List(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : " ") + n;
  return text.empty() ? "none" : text;
}

std::string Describe(const Column& c) {
  std::string text = c.name + ": " + std::string(DTypeName(c.data.dtype)) + "[";
  for (size_t i = 0; i < c.data.shape.size(); ++i) text += (i ? ", " : "") + std::to_string(c.data.shape[i]);
  return text + "], checksum " + Checksum(c.data.data->data(), c.data.bytes());
}

}  // namespace

std::string Exact(double v) {
  char text[40];
  snprintf(text, sizeof text, "%.17g", v);
  for (int digits = 1; digits < 17; ++digits) {  // the shortest that reads back the same
    char shorter[40];
    snprintf(shorter, sizeof shorter, "%.*g", digits, v);
    if (strtod(shorter, nullptr) == v) return shorter;
  }
  return text;
}

Result<std::vector<Setting>> SettingsOf(const TrainOptions& o, const std::vector<Column>& columns) {
  std::vector<Setting> s;
  HR_ASSIGN_OR_RETURN(std::string model, FileChecksum(o.model));
  s.push_back({"model", "MODEL", model});
  std::string data;
  for (const Column& c : columns) data += (data.empty() ? "" : "; ") + Describe(c);
  s.push_back({"data", "--data", data});
  s.push_back({"loss", "--loss", o.step.loss});
  s.push_back({"optimizer", "--optimizer", o.step.optimizer});
  s.push_back({"rate", "--lr", Exact(o.rate)});
  s.push_back({"momentum", "--momentum", Exact(o.step.momentum)});
  s.push_back({"betas", "--betas", Exact(o.step.beta1) + "," + Exact(o.step.beta2)});
  s.push_back({"epsilon", "--eps", Exact(o.step.epsilon)});
  s.push_back({"weight_decay", "--weight-decay", Exact(o.step.weight_decay)});
  s.push_back({"clip_norm", "--clip-norm", o.step.clip_norm ? Exact(*o.step.clip_norm) : "none"});
  if (!o.step.autocast.empty()) s.push_back({"autocast", "--autocast", o.step.autocast});
  s.push_back({"only", "--only", List(o.step.trained)});
  s.push_back({"freeze", "--freeze", List(o.step.frozen)});
  s.push_back({"schedule", "--schedule", o.schedule.kind});
  if (o.schedule.kind == "step") {
    s.push_back({"step_epochs", "--step-epochs", std::to_string(o.schedule.epochs)});
    s.push_back({"gamma", "--gamma", Exact(o.schedule.gamma)});
  }
  s.push_back({"warmup", "--warmup", std::to_string(o.schedule.warmup)});
  // Other schedules than this one don't look at the end, so that a run may be made longer.
  if (o.schedule.kind == "cosine") s.push_back({"epochs", "--epochs", std::to_string(o.epochs)});
  s.push_back({"batch", "--batch", std::to_string(o.batch)});
  s.push_back({"seed", "--seed", std::to_string(o.seed)});
  s.push_back({"shuffle", "--no-shuffle", o.shuffle ? "not given" : "given"});
  s.push_back({"backend", "--backend", o.compile.backend});
  std::string implementations;
  for (const auto& [where, name] : o.compile.options.implementations)
    implementations += (implementations.empty() ? "" : ",") + where + "=" + name;
  s.push_back({"implementations", "--impl", implementations.empty() ? "none" : implementations});
  return s;
}

Status SameSettings(const std::vector<Setting>& settings, const std::map<std::string, std::string>& metadata,
                    const std::string& folder) {
  std::string got, expected;
  for (const Setting& s : settings) {
    const auto it = metadata.find(s.key);
    const std::string then = it == metadata.end() ? "nothing" : it->second;
    if (then == s.value) continue;
    got += (got.empty() ? "" : "; ") + s.option + " " + s.value;
    expected += (expected.empty() ? "" : "; ") + s.option + " " + then;
  }
  // What this version does not know may decide numbers too. The rest is where the run stood.
  for (const auto& [key, value] : metadata) {
    static const std::set<std::string>* const place =
        new std::set<std::string>{"epoch", "epoch_loss", "last_loss", "last_rate", "step"};
    const auto same = [&, k = key](const Setting& s) { return s.key == k; };
    if (place->count(key) || std::any_of(settings.begin(), settings.end(), same)) continue;
    std::string option = "--" + key;
    std::replace(option.begin(), option.end(), '_', '-');
    got += (got.empty() ? "" : "; ") + option + " nothing";
    expected += (expected.empty() ? "" : "; ") + option + " " + value;
  }
  if (got.empty()) return {};
  Diagnostic d;
  d.kind = ErrorKind::kUsage, d.code = "E0931", d.file = folder;
  d.message = "the run in this folder was started with other options", d.got = got, d.expected = expected;
  d.hint = "resume with the options it was started with, or start a new run in another folder";
  return Status(d);
}

}  // namespace headrace::training
