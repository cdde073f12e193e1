#include "driver/compile.h"

#include <dlfcn.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <unordered_set>

#include "driver/file_kind.h"
#include "driver/program_json.h"
#include "driver/source_lines.h"
#include "driver/verify_outputs.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

bool IsFolder(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

std::string FolderOf(const std::string& path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Status FileError(const std::string& code, const std::string& path, const std::string& message,
                 const std::string& hint = "") {
  Diagnostic d;
  d.code = code, d.file = path, d.message = message, d.hint = hint;
  return Status(d);
}

bool LooksLikeText(const std::string& head) {
  return std::all_of(head.begin(), head.end(),
                     [](unsigned char c) { return c >= 0x20 || c == '\n' || c == '\t' || c == '\r'; });
}

}  // namespace

std::string InstalledPluginFolder() {
  char exe[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n > 0) {
    std::string beside = FolderOf(std::string(exe, n)) + "/plugins";
    if (IsFolder(beside)) return beside;
  }
  Dl_info info;  // this code is in a library: the wheel's, beside the plugins folder, or that of the SDK, in lib/ beside it
  if (dladdr(reinterpret_cast<void*>(&InstalledPluginFolder), &info) && info.dli_fname) {
    char resolved[PATH_MAX];
    const std::string folder = FolderOf(realpath(info.dli_fname, resolved) ? resolved : info.dli_fname);
    for (const char* beside : {"/plugins", "/../plugins"})
      if (IsFolder(folder + beside)) return folder + beside;
  }
  return "";
}

Status LoadPlugins(Registry& r, const std::vector<std::string>& extra) {
  std::vector<Diagnostic> all;
  auto keep = [&](const Status& s) { all.insert(all.end(), s.diagnostics().begin(), s.diagnostics().end()); };
  std::string installed = InstalledPluginFolder();
  if (!installed.empty()) keep(r.LoadPluginFolder(installed));
  for (const std::string& p : extra) keep(IsFolder(p) ? r.LoadPluginFolder(p) : r.LoadPlugin(p));
  return Status(std::move(all));
}

namespace {

// A model in memory, for importers that read files.
Result<LoadedModel> ImportBytes(const Registry& r, const std::string& bytes, const std::string& name,
                                const ImportOptions& o) {
  const Importer* importer = r.FindImporter("onnx");
  if (!importer) return FileError("E0404", name, "neither IR text nor a model that a loaded importer reads");
  const int fd = memfd_create("model", MFD_CLOEXEC);
  for (size_t at = 0; fd >= 0 && at < bytes.size();) {
    const ssize_t n = write(fd, bytes.data() + at, std::min<size_t>(bytes.size() - at, 1 << 30));
    if (n < 0 && errno != EINTR) {
      close(fd);
      return FileError("E0403", name, std::string("the model can't be kept: ") + std::strerror(errno));
    }
    at += n < 0 ? 0 : static_cast<size_t>(n);
  }
  if (fd < 0) return FileError("E0403", name, std::string("the model can't be kept: ") + std::strerror(errno));
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  Result<ImportedModel> m = importer->import(path, o, r);
  close(fd);
  LoadedModel out;
  if (m.ok()) {
    out.model = std::move(*m);
    return out;
  }
  std::vector<Diagnostic> all = m.status().diagnostics();
  for (Diagnostic& d : all)
    if (d.file == path || d.file.empty()) d.file = name;
  return Status(std::move(all));
}

// A size that has this value, in place of what the program says of it.
Status Fix(Sdfg* s, Name size, int64_t value) {
  auto& bounds = s->assumptions.bounds;
  const auto known = std::find_if(bounds.begin(), bounds.end(), [&](const auto& b) { return b.first == size; });
  if (known == bounds.end()) return bounds.emplace_back(size, Interval{value, value}), Status();
  const Interval assumed = known->second;
  if ((assumed.lo && value < *assumed.lo) || (assumed.hi && value > *assumed.hi)) {
    Diagnostic d;
    d.code = "E0463";
    d.message = "size " + size.str() + " = " + std::to_string(value) + " is outside what the program assumes";
    d.got = std::to_string(value);
    d.expected = (assumed.lo ? std::to_string(*assumed.lo) + " <= " : "") + size.str() + (assumed.hi ? " <= " + std::to_string(*assumed.hi) : "");
    return Status(d);
  }
  known->second = {value, value};
  return Status();
}

// IR text, or its JSON.
Result<LoadedModel> ParseModel(const Registry& r, const std::string& text, const std::string& file, const ImportOptions& o) {
  LoadedModel out;
  HR_ASSIGN_OR_RETURN(out.model.program, LooksLikeJson(text) ? ProgramFromJson(text, file) : ParseProgram(text, file));
  Status valid = Verify(out.model.program);
  if (valid.ok()) valid = VerifyOutputs(r, out.model.program);
  if (!valid.ok()) return WithFile(WithSourceLines(valid, file, text), file);
  out.model.kind = "IR text";
  out.from_text = true;
  if (o.dims.empty()) return out;
  Sdfg& s = out.model.program.MutableEntry();
  std::vector<std::string> known;
  for (Name n : FreeSymbols(s)) known.push_back(n.str());
  for (const auto& [name, value] : o.dims)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string close = ClosestWord(name, known), all;
      for (const std::string& k : known) all += (all.empty() ? "" : ", ") + k;
      return UsageError("E0463", "there is no size '" + name + "'",
                        !close.empty() ? "did you mean '" + close + "'?"
                        : all.empty()  ? "its sizes are all fixed"
                                       : "it has " + all);
    }
  for (const auto& [name, value] : o.dims) HR_RETURN_IF_ERROR(Fix(&s, Name(name), value));
  return out;
}

}  // namespace

Result<LoadedModel> LoadModelBytes(const Registry& r, const std::string& bytes, const std::string& name,
                                   const ImportOptions& o) {
  return LooksLikeText(bytes.substr(0, 512)) ? ParseModel(r, bytes, name, o) : ImportBytes(r, bytes, name, o);
}

Result<LoadedModel> LoadModel(const Registry& r, const std::string& path, const ImportOptions& o) {
  if (access(path.c_str(), F_OK) != 0) return FileError("E0401", path, "no such file");
  if (IsFolder(path)) {
    const FileKind kind = ForeignFolder(path);
    return FileError("E0402", path, "this is " + (kind.what.empty() ? "a folder, not a model" : kind.what),
                     kind.hint.empty() ? "an artifact (.hrx) holds compiled code: run, bench and check take it" : kind.hint);
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return FileError("E0403", path, "can't read the file");
  std::string head(512, '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(in.gcount());
  if (const FileKind kind = ForeignFile(head, path); !kind.what.empty())
    return FileError("E0404", path, "not a model: this is " + kind.what, kind.hint);
  const Importer* importer = r.ImporterForFile(path);
  if (!importer && !LooksLikeText(head)) importer = r.FindImporter("onnx");
  if (importer) {
    Result<ImportedModel> m = importer->import(path, o, r);
    if (!m.ok()) return WithFile(m.status(), path);
    LoadedModel out;
    out.model = std::move(*m);
    return out;
  }
  if (!LooksLikeText(head)) return FileError("E0404", path, "neither IR text nor a model that a loaded importer reads");
  in.clear();
  in.seekg(0);
  std::stringstream all;
  all << in.rdbuf();
  return ParseModel(r, all.str(), path, o);
}

namespace {

// How deep sequences nest; -1 when an empty one hides it.
int Depth(const Value& v) {
  if (v.kind != Value::kSequence) return 0;
  const int inner = v.items.empty() ? -1 : Depth(v.items[0]);
  return inner < 0 ? -1 : inner + 1;
}
int Depth(const ValueType& t) {
  return t.kind == ValueType::kTensor || !t.element ? 0 : Depth(*t.element) + (t.kind == ValueType::kSequence);
}

}  // namespace

void FitValues(const Program& p, NamedValues& values) {
  for (auto& [name, v] : values) {
    const Container* c = p.Entry().Find(name);
    if (!c || c->type.kind != ValueType::kOptional) continue;
    if (v.kind == Value::kSequence && v.items.size() == 1 && Depth(v) == Depth(c->type) + 1) v = Value(v.items[0]);
    else if (v.kind == Value::kSequence && v.items.empty() && Depth(c->type) == 0) v = Value();
  }
}

Status CheckAssumed(const ImportedModel& m, const NamedValues& values) {
  for (const auto& [name, assumed] : m.assumed_inputs)
    for (const auto& [given, value] : values) {
      if (given != name || Compare(value, Value(assumed), 0, 0).ok) continue;
      Diagnostic d;
      d.code = "E0413";
      d.message =
          "the program was compiled for another value of input '" + m.OriginalName(name) + "', which decides shapes";
      d.hint = "compile it again for this value";
      return Status(d);
    }
  return {};
}

Result<const Backend*> BackendNamed(const Registry& r, const std::string& name) {
  if (const Backend* b = r.FindBackend(name)) return b;
  // Most likely it is there and can't be loaded: then that is what is wrong.
  std::vector<Diagnostic> broken;
  for (const Diagnostic& d : r.LoadErrors())
    if (d.file.substr(d.file.rfind('/') + 1).find(name) != std::string::npos) broken.push_back(d);
  if (!broken.empty()) return Status(broken);
  std::vector<std::string> names;
  for (const Backend* b : r.Backends()) names.push_back(b->name);
  std::string close = ClosestWord(name, names), list;
  for (const std::string& n : names) list += (list.empty() ? "" : ", ") + n;
  if (name == "cuda")  // known to the project, not to this machine
    return UnsupportedError("E0435", "the backend 'cuda' is not installed here",
                            "loaded backends: " + (list.empty() ? "none" : list) + "; --plugin loads others");
  return UsageError("E0435", "unknown backend '" + name + "'", close.empty()
                                                          ? "loaded backends: " + (list.empty() ? "none" : list)
                                                          : "did you mean '" + close + "'?");
}

Result<std::unique_ptr<Executable>> CompileProgram(const Registry& r, Program program, const CompileRequest& request) {
  HR_ASSIGN_OR_RETURN(const Backend* backend, BackendNamed(r, request.backend));
  if (request.options.progress) request.options.progress("passes", 0);
  HR_ASSIGN_OR_RETURN(Program lowered, LowerProgram(r, std::move(program), request));
  if (request.options.progress) request.options.progress("passes", 1);
  return backend->compile(lowered, request.options, r);
}

NamedSizes SizesOf(const Sdfg& entry, const NamedSizes& sizes) {
  const std::vector<Name> wanted = FreeSymbols(entry);
  NamedSizes out;
  for (const auto& size : sizes)
    if (std::find(wanted.begin(), wanted.end(), size.first) != wanted.end()) out.push_back(size);
  return out;
}

Result<NamedSizes> BindSizes(const Program& p, const NamedValues& values, const NamedSizes& given) {
  NamedSizes sizes = given;
  const Sdfg& s = p.Entry();
  for (const auto& [name, value] : values) {
    const Container* c = s.Find(name);
    if (!c || value.kind != Value::kTensor || value.tensor.shape.size() != c->shape.size()) continue;
    for (size_t i = 0; i < c->shape.size(); ++i) {
      if (!c->shape[i].Is(ExprKind::kSymbol)) continue;
      auto it = std::find_if(sizes.begin(), sizes.end(), [&](const auto& x) { return x.first == c->shape[i]->name; });
      if (it == sizes.end()) sizes.emplace_back(c->shape[i]->name, value.tensor.shape[i]);
      else if (it->second != value.tensor.shape[i]) {
        Diagnostic d;
        d.code = "E0410";
        d.message = "size " + it->first.str() + " has two values";
        d.node = name.str();
        d.got =
            std::to_string(value.tensor.shape[i]) + " (dimension " + std::to_string(i) + " of '" + name.str() + "')";
        d.expected = std::to_string(it->second);
        return Status(d);
      }
    }
  }
  return sizes;
}

Status FillInputs(const Program& p, uint64_t seed, const NamedSizes& given, NamedValues& values,
                  std::vector<std::string>* notes) {
  const Sdfg& s = p.Entry();
  HR_ASSIGN_OR_RETURN(NamedSizes sizes, BindSizes(p, values, given));
  std::unordered_set<Name> given_values;
  for (const auto& v : values) given_values.insert(v.first);
  for (Name input : Inputs(p, s)) {
    if (given_values.count(input)) continue;
    const Container& c = s.Get(input);
    if (c.optional) continue;
    if (c.kind == ContainerKind::kSequence || c.dtype == DType::kString) {
      Diagnostic d;
      d.code = "E0411";
      d.message = "input '" + input.str() + "' has no random value: it is a " +
                  (c.kind == ContainerKind::kSequence ? "sequence" : "string tensor");
      d.hint = "give it with --input " + input.str() + "=@file, or --test-data DIR";
      return Status(d);
    }
    std::vector<int64_t> shape;
    for (const Expr& dim : c.shape) {
      for (Name symbol : FreeSymbols(dim))
        if (std::none_of(sizes.begin(), sizes.end(), [&](const auto& x) { return x.first == symbol; })) {
          auto known = s.assumptions.Find(symbol);
          int64_t value = known && known->lo && *known->lo > 1 ? *known->lo : 1;
          sizes.emplace_back(symbol, value);
          if (notes)
            notes->push_back("size " + symbol.str() + " = " + std::to_string(value) + " (set it with --dim " +
                             symbol.str() + "=…)");
        }
      NameMap map;
      for (const auto& [n, v] : sizes) map.emplace_back(n, IntExpr(v));
      std::optional<int64_t> extent = AsInt(Simplify(Substitute(dim, map)));
      if (!extent || *extent < 0) {
        Diagnostic d;
        d.code = "E0412";
        d.message =
            "dimension " + ToString(dim) + " of input '" + input.str() + "' is not a size for these --dim values";
        return Status(d);
      }
      shape.push_back(*extent);
    }
    HR_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(c.dtype, shape));
    // One stream per input name, so that adding an input does not change the others.
    std::seed_seq mix{seed, static_cast<uint64_t>(std::hash<std::string>()(input.str()))};
    std::mt19937_64 rng(mix);
    for (int64_t i = 0, n = t.elements() * (IsComplex(c.dtype) ? 2 : 1); i < n; ++i) {
      double u = static_cast<double>(rng() >> 11) * 0x1p-53;
      if (c.dtype == DType::kC64) t.as<float>()[i] = static_cast<float>(2 * u - 1);
      else if (c.dtype == DType::kC128) t.as<double>()[i] = 2 * u - 1;
      else if (IsFloat(c.dtype)) t.SetDouble(i, 2 * u - 1);
      else if (c.dtype == DType::kBool) t.SetInt(i, u < 0.5);
      else t.SetInt(i, static_cast<int64_t>(u * 4) & static_cast<int64_t>(std::min<uint64_t>(HighestInt(c.dtype), 3)));
    }
    values.emplace_back(input, Value(std::move(t)));
  }
  return {};
}

}  // namespace headrace
