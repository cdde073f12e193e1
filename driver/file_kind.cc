#include "driver/file_kind.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace headrace {
namespace {

const char kExport[] = "export it from Python: torch.onnx.export(model, inputs, \"model.onnx\")";
const char kFromTensorFlow[] = "convert it: python -m tf2onnx.convert --";

bool Begins(const std::string& text, const std::string& with, size_t at = 0) {
  return text.size() >= at + with.size() && text.compare(at, with.size(), with) == 0;
}

bool IsWebPage(const std::string& head) {
  std::string text = head.substr(0, 64);
  text.erase(0, std::min(text.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), text.size()));
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return Begins(text, "<!doctype html") || Begins(text, "<html");
}

// Eight bytes of length, then a JSON object.
bool IsSafetensors(const std::string& head) {
  if (head.size() < 9 || head[8] != '{') return false;
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(head[static_cast<size_t>(i)]);
  return length >= 2 && length < (uint64_t{1} << 28);
}

FileKind Archive(const std::string& head) {
  if (head.find("/data.pkl") != std::string::npos || head.find("/byteorder") != std::string::npos ||
      head.find("/.format_version") != std::string::npos || head.find("/constants.pkl") != std::string::npos)
    return {"a PyTorch checkpoint or TorchScript program (ZIP)", kExport};
  if (head.find(".npy") != std::string::npos) return {"an archive of NumPy arrays (.npz)", "give the model, and arrays with --input NAME=@FILE.npy"};
  return {"a ZIP archive", "unzip it and give the model inside"};
}

}  // namespace

FileKind ForeignFile(const std::string& head, const std::string& path) {
  if (head.empty()) return {"an empty file", "download or export it again"};
  if (IsWebPage(head))
    return {"a web page (HTML)", "download the file itself: on GitHub the link \"raw\", on Hugging Face …/resolve/main/…"};
  if (Begins(head, "version https://git-lfs.github.com/spec/"))
    return {"a git-LFS pointer: the file itself was not fetched", "git lfs pull"};
  if (Begins(head, "PK\x03\x04")) return Archive(head);
  if (head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5)
    return {"a Python pickle, as old PyTorch checkpoints are", kExport};
  if (Begins(head, "TFL3", 4)) return {"a TensorFlow Lite model", std::string(kFromTensorFlow) + "tflite FILE --output model.onnx"};
  if (Begins(head, "\x1f\x8b")) return {"gzip-compressed", "gunzip it first"};
  if (Begins(head, "\x89HDF")) return {"an HDF5 file, as Keras writes", std::string(kFromTensorFlow) + "keras FILE --output model.onnx"};
  if (Begins(head, "GGUF")) return {"a GGUF file: weights for llama.cpp", "export the original model to ONNX"};
  if (Begins(head, "\x93NUMPY")) return {"a NumPy array (.npy)", "give the model, and arrays with --input NAME=@FILE.npy"};
  if (Begins(head, "\x7f" "ELF")) return {"a program or shared object (ELF)", "plugins are loaded with --plugin; artifacts are .hrx folders"};
  if (IsSafetensors(head))
    return {"a safetensors file: weights without the model", "export the model that they belong to as ONNX"};
  const size_t slash = path.rfind('/');
  if (path.substr(slash == std::string::npos ? 0 : slash + 1) == "saved_model.pb")
    return {"a part of a TensorFlow SavedModel", std::string(kFromTensorFlow) + "saved-model FOLDER --output model.onnx"};
  return {};
}

FileKind ForeignFolder(const std::string& path) {
  if (access((path + "/saved_model.pb").c_str(), F_OK) == 0)
    return {"a TensorFlow SavedModel", std::string(kFromTensorFlow) + "saved-model " + path + " --output model.onnx"};
  const std::string name = path.substr(0, path.find_last_not_of('/') + 1);
  if (name.size() > 4 && name.compare(name.size() - 4, 4, ".hrx") == 0)
    return {"an artifact, not a model", "it holds compiled code: run, bench and check take it"};
  if (access((path + "/manifest.json").c_str(), F_OK) == 0)
    return {"an artifact whose name does not end in .hrx", "rename it: the commands know artifacts by their ending"};
  return {};
}

}  // namespace headrace
