#include "importers/onnx/save.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <unordered_map>

#include "importers/onnx/import.h"
#include "importers/onnx/inference.h"
#include "importers/onnx/onnx_types.h"
#include "importers/onnx/save_file.h"
#include "importers/onnx/wire.h"

namespace headrace::onnx_import {
namespace {

using TP = onnx::TensorProto;
constexpr int64_t kAlignment = 4096;  // of external data, so that it can be mapped

// Calls f(tensor, whether it is an initializer) for every tensor of a graph and of what is nested in it.
template <typename F>
void EachTensor(onnx::GraphProto* g, const F& f);
template <typename F>
void EachTensor(onnx::NodeProto* n, const F& f) {
  auto sparse = [&](onnx::SparseTensorProto* t) {
    f(t->mutable_values(), false);
    f(t->mutable_indices(), false);
  };
  for (auto& a : *n->mutable_attribute()) {
    if (a.has_t()) f(a.mutable_t(), false);
    for (auto& t : *a.mutable_tensors()) f(&t, false);
    if (a.has_sparse_tensor()) sparse(a.mutable_sparse_tensor());
    for (auto& t : *a.mutable_sparse_tensors()) sparse(&t);
    if (a.has_g()) EachTensor(a.mutable_g(), f);
    for (auto& g : *a.mutable_graphs()) EachTensor(&g, f);
  }
}
template <typename F>
void EachTensor(onnx::GraphProto* g, const F& f) {
  for (auto& t : *g->mutable_initializer()) f(&t, true);
  for (auto& t : *g->mutable_sparse_initializer()) {
    f(t.mutable_values(), false);
    f(t.mutable_indices(), false);
  }
  for (auto& n : *g->mutable_node()) EachTensor(&n, f);
}
template <typename F>
void EachTensor(onnx::ModelProto* m, const F& f) {
  EachTensor(m->mutable_graph(), f);
  for (auto& t : *m->mutable_training_info()) {
    if (t.has_initialization()) EachTensor(t.mutable_initialization(), f);
    if (t.has_algorithm()) EachTensor(t.mutable_algorithm(), f);
  }
  for (auto& function : *m->mutable_functions()) {
    for (auto& n : *function.mutable_node()) EachTensor(&n, f);
    for (auto& a : *function.mutable_attribute_proto())
      if (a.has_t()) f(a.mutable_t(), false);
  }
}

Status ConstantError(const std::string& name, const std::string& what, std::string got = "", std::string expected = "",
                     std::string hint = "") {
  Diagnostic d;
  d.code = "E0550";
  d.message = "constant '" + name + "' can't be saved: " + what;
  d.got = std::move(got);
  d.expected = std::move(expected);
  d.hint = std::move(hint);
  return Status(d);
}
Status TargetError(const std::string& path, const std::string& what, std::string hint) {
  Diagnostic d;
  d.code = "E0551";
  d.file = path;
  d.message = "the model can't be saved there: " + what;
  d.hint = std::move(hint);
  return Status(d);
}

template <typename Dims>
std::string TypeOf(DType t, const Dims& dims) {
  std::string out(DTypeName(t));
  out += "[";
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) out += (i ? ", " : "") + std::to_string(*(dims.begin() + i));
  return out + "]";
}

// Elements as raw_data holds them: those of 2 and 4 bits packed, the first in the lowest bits.
std::string_view RawBytes(const Tensor& t, std::string* packed) {
  const int bits = BitWidth(t.dtype);
  if (t.elements() == 0) return {};
  if (bits >= 8) return {t.data->data(), static_cast<size_t>(t.bytes())};
  const int per_byte = 8 / bits, mask = (1 << bits) - 1;
  packed->assign(static_cast<size_t>((t.elements() + per_byte - 1) / per_byte), 0);
  for (int64_t i = 0; i < t.elements(); ++i)
    (*packed)[static_cast<size_t>(i / per_byte)] |=
        static_cast<char>((t.data->data()[i] & mask) << (i % per_byte * bits));
  return *packed;
}

std::string ExternalEntry(const TP& t, const std::string& key) {
  for (const auto& e : t.external_data())
    if (e.key() == key) return e.value();
  return "";
}

std::string Stem(const std::string& path, bool folder) {
  const size_t slash = path.rfind('/');
  if (folder) return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

bool SameFile(const std::string& a, const std::string& b) {
  struct stat x, y;
  return stat(a.c_str(), &x) == 0 && stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

class Save {
 public:
  Save(const std::string& from, const std::string& to, const SaveOptions& options)
      : from_(from), to_(to), options_(options) {}

  Status Run() {
    HR_RETURN_IF_ERROR(CheckTarget());
    HR_RETURN_IF_ERROR(Read());
    HR_RETURN_IF_ERROR(Match());
    FileWriter data(to_ + ".data");
    HR_RETURN_IF_ERROR(Replace(&data));
    if (options_.inference) MakeInference(&model_);
    if (model_.ByteSizeLong() > INT32_MAX)
      return WithFile(UnsupportedError("E0563", "the model is larger than 2 GiB and holds its weights itself",
                                       "save it with external data first (onnx.save, save_as_external_data=True)"),
                      from_);
    FileWriter file(to_);
    HR_RETURN_IF_ERROR(file.Open());
    google::protobuf::io::FileOutputStream stream(file.fd());
    {
      google::protobuf::io::CodedOutputStream coded(&stream);
      coded.SetSerializationDeterministic(true);
      model_.SerializeToCodedStream(&coded);
    }
    if (!stream.Flush()) return file.Failed(stream.GetErrno());
    HR_RETURN_IF_ERROR(file.Sync());
    if (data.is_open()) {
      HR_RETURN_IF_ERROR(data.Sync());
      // An older model there must never be seen with the new data.
      if (access(data.path().c_str(), F_OK) == 0) unlink(to_.c_str());
      HR_RETURN_IF_ERROR(data.Rename());
    }
    return file.Rename();
  }

 private:
  Status CheckTarget() const {
    if (SameFile(from_, to_) || from_ == to_)
      return TargetError(to_, "it is the model that is read", "give the new model another name");
    struct stat st;
    if (stat(to_.c_str(), &st) == 0 && !S_ISREG(st.st_mode))
      return TargetError(to_, "it is not a regular file", "name a new .onnx file");
    const std::string end = ".onnxtxt";
    if (to_.size() >= end.size() && to_.compare(to_.size() - end.size(), end.size(), end) == 0)
      return TargetError(to_, "models are written in the binary form only", "name it .onnx");
    return {};
  }

  // With everything that importing leaves out; LoadModel first says what is wrong with the file.
  Status Read() {
    HR_ASSIGN_OR_RETURN(loaded_, LoadModel(from_));
    const std::string end = ".onnxtxt";
    if (from_.size() >= end.size() && from_.compare(from_.size() - end.size(), end.size(), end) == 0) {
      model_ = loaded_->proto;
      return {};
    }
    HR_ASSIGN_OR_RETURN(MappedFile file, MapFile(from_));
    if (file.bytes->size() > INT32_MAX)
      return WithFile(UnsupportedError("E0563", "the model is larger than 2 GiB and holds its weights itself",
                                       "save it with external data first (onnx.save, save_as_external_data=True)"),
                      from_);
    google::protobuf::io::CodedInputStream coded(reinterpret_cast<const uint8_t*>(file.bytes->data()),
                                                 static_cast<int>(file.bytes->size()));
    coded.SetRecursionLimit(3 * kMaxGraphDepth + 40);
    if (!model_.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
      return WithFile(InvalidError("E0553", "the model changed while it was read"), from_);
    return {};
  }

  // Which initializer each new value is for: the outermost graph's, else the only one of that name in a subgraph.
  Status Match() {
    std::unordered_map<std::string, std::vector<TP*>> found;
    std::vector<std::string> names;
    auto add = [&](TP* t, bool initializer) {
      if (!initializer) return;
      found[t->name()].push_back(t);
      names.push_back(t->name());
    };
    EachTensor(model_.mutable_graph(), add);
    for (const auto& [name, value] : options_.constants) {
      auto it = found.find(name);
      if (it == found.end()) {
        for (const auto& s : model_.graph().sparse_initializer())
          if (s.values().name() == name) return ConstantError(name, "it is sparse in the model");
        const std::string close = ClosestWord(name, names);
        return ConstantError(name, "the model has no initializer of that name", "", "",
                             close.empty() ? "" : "did you mean '" + close + "'?");
      }
      TP* t = it->second.front();
      const auto& own = model_.graph().initializer();
      if (it->second.size() > 1 && std::none_of(own.begin(), own.end(), [&](const TP& o) { return &o == t; }))
        return ConstantError(name, "several subgraphs have an initializer of that name");
      const DType type = FromOnnxType(t->data_type());
      if (type != value.dtype ||
          !std::equal(t->dims().begin(), t->dims().end(), value.shape.begin(), value.shape.end()))
        return ConstantError(name, "the value does not fit the initializer", TypeOf(value.dtype, value.shape),
                             TypeOf(type, t->dims()));
      if (type == DType::kString) return ConstantError(name, "strings can't be replaced");
      if (!targets_.emplace(t, &value).second) return ConstantError(name, "it is given twice");
    }
    return {};
  }

  Status Replace(FileWriter* data) {
    Status status;
    EachTensor(&model_, [&](TP* t, bool) {
      if (!status.ok()) return;
      auto target = targets_.find(t);
      const Tensor* value = target == targets_.end() ? nullptr : target->second;
      if (t->data_location() == TP::EXTERNAL) status = MoveExternal(t, value, data);
      else if (value) SetRaw(t, *value);
    });
    return status;
  }

  static void SetRaw(TP* t, const Tensor& value) {
    std::string packed;
    const std::string_view bytes = RawBytes(value, &packed);
    t->clear_float_data();
    t->clear_int32_data();
    t->clear_int64_data();
    t->clear_double_data();
    t->clear_uint64_data();
    t->set_raw_data(bytes.data(), bytes.size());
  }

  Status MoveExternal(TP* t, const Tensor* value, FileWriter* data) {
    const std::string location = ExternalEntry(*t, "location");
    if (SameFile(Stem(from_, true) + "/" + location, data->path()))
      return TargetError(to_, "'" + Stem(data->path(), false) + "' holds data of the model that is read",
                         "give the new model another name or folder");
    // Tensors may share their bytes, and go on doing so.
    std::string key;
    Tensor own;
    if (!value) {
      HR_ASSIGN_OR_RETURN(own, loaded_->source.Load(*t));
      key = location + ":" + ExternalEntry(*t, "offset") + ":" + std::to_string(own.bytes());
      value = &own;
    }
    std::string packed;
    const std::string_view bytes = RawBytes(*value, &packed);
    if (!data->is_open()) HR_RETURN_IF_ERROR(data->Open());
    int64_t offset = 0;
    auto before = key.empty() ? written_.end() : written_.find(key);
    if (before != written_.end()) {
      offset = before->second;
    } else {
      HR_RETURN_IF_ERROR(data->Pad(kAlignment));
      offset = data->size();
      HR_RETURN_IF_ERROR(data->Write(bytes));
      if (!key.empty()) written_[key] = offset;
    }
    t->clear_external_data();
    auto add = [&](const char* name, const std::string& text) {
      auto* e = t->add_external_data();
      e->set_key(name);
      e->set_value(text);
    };
    add("location", Stem(data->path(), false));
    add("offset", std::to_string(offset));
    add("length", std::to_string(bytes.size()));
    return {};
  }

  const std::string &from_, &to_;
  const SaveOptions& options_;
  std::shared_ptr<LoadedModel> loaded_;
  onnx::ModelProto model_;
  std::unordered_map<const TP*, const Tensor*> targets_;
  std::map<std::string, int64_t> written_;
};

}  // namespace

Status SaveModel(const std::string& from, const std::string& to, const SaveOptions& options) {
  return Save(from, to, options).Run();
}

}  // namespace headrace::onnx_import
