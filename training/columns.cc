#include "training/columns.h"

#include <algorithm>
#include <cmath>

namespace headrace::training {
namespace {

Status Wrong(const std::string& code, const std::string& file, std::string message, std::string hint = "") {
  Diagnostic d;
  d.code = code, d.file = file, d.message = std::move(message), d.hint = std::move(hint);
  return Status(d);
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}
// "[samples, 1, 8, 8]": what an array has to look like.
std::string Wanted(const std::vector<Expr>& shape, int batch_dim) {
  std::string s = "[samples";
  for (size_t i = 0; i < shape.size(); ++i)
    if (static_cast<int>(i) != batch_dim) s += ", " + ToString(shape[i]);
  return s + "]";
}
// How the array could be made to fit.
std::string ShapeHint(const Tensor& t, const Container& c, int batch_dim) {
  int64_t have = 1, want = 1;
  std::string sizes;
  for (size_t d = 1; d < t.shape.size(); ++d) have *= t.shape[d];
  for (size_t d = 0; d < c.shape.size(); ++d) {
    if (static_cast<int>(d) == batch_dim) continue;
    const auto size = AsInt(c.shape[d]);
    if (!size) return "";
    want *= *size, sizes += ", " + std::to_string(*size);
  }
  if (t.shape.size() != c.shape.size() && have == want)
    return "save it with .reshape(-1" + (sizes.empty() ? "" : sizes) + ")";
  if (IsInteger(c.dtype) && t.shape.size() == c.shape.size() + 1)
    return "class numbers are wanted: .argmax(1)";
  return "";
}
std::string TypeText(DType t) { return std::string(DTypeName(t)); }

const Tensor* Find(const NamedTensors& data, const std::string& name) {
  for (const auto& [n, t] : data)
    if (n == name) return &t;
  return nullptr;
}

Status NoArray(const NamedTensors& data, const std::string& file, const std::string& name, bool target) {
  std::vector<std::string> names;
  std::string all;
  for (const auto& d : data) names.push_back(d.first), all += (all.empty() ? "" : ", ") + d.first;
  const std::string close = ClosestWord(name, names);
  return Wrong("E0921", file,
               target ? std::string("there is no array 'target' for the loss to compare with")
                      : "there is no array '" + name + "' for the model's input of this name",
               close.empty() ? "it holds " + all : "did you mean '" + close + "'? Arrays go by the model's names");
}

// With the batch at dimension p, all sizes that are known agree with the array.
bool Fits(const std::vector<Expr>& shape, int p, const Tensor& t) {
  if (t.shape.size() != shape.size() || shape.empty()) return false;
  size_t at = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (static_cast<int>(d) == p) continue;
    const auto size = AsInt(shape[d]);
    if (size && *size != t.shape[at]) return false;
    ++at;
  }
  return true;
}

int PlaceOf(const std::vector<Expr>& shape, Name symbol) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d].Is(ExprKind::kSymbol) && shape[d]->name == symbol) return static_cast<int>(d);
  return -1;
}

bool CalledBatch(Name n) {
  std::string s = n.str();
  for (char& c : s) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
  return s.find("batch") != std::string::npos || s == "n" || s == "b" || s == "bs";
}

// The symbol that stands in each of the shapes, in a place that agrees with the arrays.
Name CommonSymbol(const std::vector<const std::vector<Expr>*>& shapes, const std::vector<const Tensor*>& arrays) {
  Name best;
  for (const Expr& e : *shapes[0]) {
    if (!e.Is(ExprKind::kSymbol)) continue;
    bool common = true;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const int p = PlaceOf(*shapes[i], e->name);
      common = common && p >= 0 && Fits(*shapes[i], p, *arrays[i]);
    }
    if (common && (best.empty() || (CalledBatch(e->name) && !CalledBatch(best)))) best = e->name;
  }
  return best;
}

template <typename From, typename To>
void Cast(const Tensor& from, const Tensor& to) {
  const From* a = from.as<From>();
  To* b = to.as<To>();
  for (int64_t i = 0, n = from.elements(); i < n; ++i) b[i] = static_cast<To>(a[i]);
}

bool IsIntegerLike(DType t) { return IsInteger(t) || t == DType::kBool; }

bool FitsIn(const Tensor& t, int64_t i, DType to) {
  if (t.dtype == DType::kU64) {
    const uint64_t v = t.as<uint64_t>()[i];
    return v <= (to == DType::kBool ? 1 : HighestInt(to));
  }
  const int64_t v = t.GetInt(i);
  if (to == DType::kBool) return v == 0 || v == 1;
  return v >= LowestInt(to) && (v < 0 || static_cast<uint64_t>(v) <= HighestInt(to));
}

Result<Tensor> Convert(const Tensor& t, DType to, const std::string& name, const std::string& file,
                       std::vector<std::string>* notes) {
  if (t.dtype == to) return t;
  const std::string what = "array '" + name + "' is " + TypeText(t.dtype) + ", the model takes " + TypeText(to);
  const bool to_float = IsFloat(to) && (IsFloat(t.dtype) || IsIntegerLike(t.dtype));
  if (!to_float && !(IsIntegerLike(to) && IsIntegerLike(t.dtype)))
    return Wrong("E0923", file, what,
                 IsFloat(t.dtype) ? "save it with .astype('int64')" : "save it as numbers of that type");
  HR_ASSIGN_OR_RETURN(Tensor out, Tensor::Create(to, t.shape));
  const int64_t n = t.elements();
  if (to_float) {
    if (t.dtype == DType::kF64 && to == DType::kF32) Cast<double, float>(t, out);
    else if (t.dtype == DType::kF32 && to == DType::kF64) Cast<float, double>(t, out);
    else if (t.dtype == DType::kU8 && to == DType::kF32) Cast<uint8_t, float>(t, out);
    else
      for (int64_t i = 0; i < n; ++i)
        out.SetDouble(i, IsFloat(t.dtype)         ? t.GetDouble(i)
                         : t.dtype == DType::kU64 ? static_cast<double>(t.as<uint64_t>()[i])
                                                  : static_cast<double>(t.GetInt(i)));
    if (notes) notes->push_back(what + ": converted");
    return out;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (!FitsIn(t, i, to))
      return Wrong("E0923", file,
                   what + ", which can't hold element " + std::to_string(i) + ", " + std::to_string(t.GetInt(i)));
    out.SetInt(i, t.GetInt(i));
  }
  return out;
}

template <typename T>
std::optional<int64_t> FirstNonFiniteOf(const T* data, int64_t n) {
  constexpr int64_t kBlock = 1024;
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t end = std::min(n, start + kBlock);
    T sum = 0;  // 0·x is 0 for every finite x, and NaN otherwise
    for (int64_t i = start; i < end; ++i) sum += 0 * data[i];
    if (sum == 0) continue;
    for (int64_t i = start; i < end; ++i)
      if (!std::isfinite(data[i])) return i;
  }
  return std::nullopt;
}

}  // namespace

Result<Layout> FitData(const ImportedModel& m, const NamedTensors& data, const std::string& file) {
  const Sdfg& s = m.program.Entry();
  const std::vector<Name> inputs = Inputs(m.program, s);
  if (inputs.empty()) return Wrong("E0922", file, "the model has no inputs that data could go into");
  Layout out;
  std::vector<const std::vector<Expr>*> shapes;
  std::vector<const Tensor*> arrays;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = m.OriginalName(inputs[i]);
    const Container& c = s.Get(inputs[i]);
    if (c.kind == ContainerKind::kSequence || c.dtype == DType::kString)
      return UnsupportedError("E0937", "input '" + name + "' is no tensor of numbers: such models can't be trained");
    const Tensor* t = Find(data, name);
    if (!t) return NoArray(data, file, name, false);
    if (t->shape.empty()) return Wrong("E0922", file, "array '" + name + "' has no samples: it is a single number");
    if (c.shape.empty())
      return UnsupportedError("E0937", "input '" + name + "' is a scalar: it has no dimension for samples",
                              "export the model with this input as a constant, or with a batch dimension");
    if (i == 0) out.samples = t->shape[0];
    if (t->shape[0] != out.samples)
      return Wrong("E0922", file,
                   "array '" + name + "' has " + std::to_string(t->shape[0]) + " samples, '" +
                       m.OriginalName(inputs[0]) + "' has " + std::to_string(out.samples));
    shapes.push_back(&c.shape), arrays.push_back(t);
  }
  if (out.samples == 0) return Wrong("E0922", file, "there are no samples");

  const Name common = CommonSymbol(shapes, arrays);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<Expr>& shape = *shapes[i];
    const std::string name = m.OriginalName(inputs[i]);
    int place = common.empty() ? -1 : PlaceOf(shape, common);
    const int places = AsInt(shape[0]) ? static_cast<int>(shape.size()) : 1;
    for (int p = 0; place < 0 && p < places; ++p)
      if (Fits(shape, p, *arrays[i])) place = p;
    if (place < 0)
      return Wrong("E0922", file,
                   "array '" + name + "' has the shape " + ShapeText(arrays[i]->shape) + ", the model takes " +
                       Wanted(shape, 0));
    const Expr& e = shape[static_cast<size_t>(place)];
    out.batch_dims.push_back(place);
    if (const auto size = AsInt(e)) {
      if (out.fixed && *out.fixed != *size)
        return UnsupportedError("E0938",
                                "the model's inputs have different batch sizes, " + std::to_string(*out.fixed) +
                                    " and " + std::to_string(*size) + " ('" + name + "')",
                                "export it with a symbolic batch dimension");
      out.fixed = *size;
    } else if (e.Is(ExprKind::kSymbol)) {
      if (std::find(out.batch.begin(), out.batch.end(), e->name) == out.batch.end()) out.batch.push_back(e->name);
    } else {
      return UnsupportedError("E0938", "input '" + name + "' has the batch size " + ToString(e) + ", a formula",
                              "export it with a symbolic batch dimension");
    }
    size_t at = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (static_cast<int>(d) == place) continue;
      const int64_t size = arrays[i]->shape[at++];
      if (!shape[d].Is(ExprKind::kSymbol)) continue;
      const Name symbol = shape[d]->name;
      auto known = std::find_if(out.sizes.begin(), out.sizes.end(), [&](const auto& x) { return x.first == symbol; });
      if (known == out.sizes.end()) out.sizes.emplace_back(symbol, size);
      else if (known->second != size)
        return Wrong("E0922", file,
                     "array '" + name + "' says that the model's size " + symbol.str() + " is " + std::to_string(size) +
                         ", another that it is " + std::to_string(known->second));
    }
  }
  return out;
}

Result<Column> MakeColumn(const NamedTensors& data, const std::string& file, const std::string& name,
                          const Container& c, std::optional<int> batch_dim, int64_t batch, int first_batch_dim,
                          std::vector<std::string>* notes) {
  const Tensor* t = Find(data, name);
  if (!t) return NoArray(data, file, name, true);
  Column out;
  out.parameter = c.name, out.name = name;
  auto takes = [&](int p) {
    if (p >= static_cast<int>(c.shape.size())) return false;
    const auto size = AsInt(c.shape[static_cast<size_t>(p)]);
    return (!size || *size == batch) && Fits(c.shape, p, *t);
  };
  if (!batch_dim && takes(first_batch_dim)) batch_dim = first_batch_dim;
  for (int p = 0; !batch_dim && p < static_cast<int>(c.shape.size()); ++p)
    if (takes(p)) batch_dim = p;
  if (!batch_dim || !takes(*batch_dim))
    return Wrong("E0922", file,
                 "array '" + name + "' has the shape " + ShapeText(t->shape) + ", the model takes " +
                     Wanted(c.shape, batch_dim.value_or(0)),
                 ShapeHint(*t, c, batch_dim.value_or(0)));
  out.batch_dim = *batch_dim;
  HR_ASSIGN_OR_RETURN(out.data, Convert(*t, c.dtype, name, file, notes));
  if (const auto bad = notes ? FirstNonFinite(out.data) : std::nullopt)
    notes->push_back("array '" + name + "' holds " + std::to_string(out.data.GetDouble(*bad)) + " (sample " +
                     std::to_string(*bad / std::max<int64_t>(1, out.data.elements() / out.data.shape[0])) + ")");
  return out;
}

Status CheckCounts(const std::vector<Column>& columns, const std::string& file) {
  const Column& first = columns[0];
  for (const Column& c : columns)
    if (c.data.shape[0] != first.data.shape[0])
      return Wrong("E0922", file,
                   "array '" + c.name + "' has " + std::to_string(c.data.shape[0]) + " samples, '" + first.name +
                       "' has " + std::to_string(first.data.shape[0]));
  if (first.data.shape[0] == 0) return Wrong("E0922", file, "there are no samples");
  return {};
}

Status CheckLabels(const Column& target, int64_t classes, const std::string& file) {
  for (int64_t i = 0, n = target.data.elements(); i < n; ++i) {
    const int64_t v = target.data.GetInt(i);
    if (v >= 0 && v < classes) continue;
    const int64_t sample = i / std::max<int64_t>(1, n / target.data.shape[0]);
    return Wrong("E0924", file,
                 "label " + std::to_string(v) + " of sample " + std::to_string(sample) +
                     " is no class: the model has classes 0 to " + std::to_string(classes - 1));
  }
  return {};
}

std::optional<int64_t> FirstNonFinite(const Tensor& t) {
  if (!IsFloat(t.dtype)) return std::nullopt;
  const int64_t n = t.elements();
  if (t.dtype == DType::kF32) return FirstNonFiniteOf(t.as<float>(), n);
  if (t.dtype == DType::kF64) return FirstNonFiniteOf(t.as<double>(), n);
  for (int64_t i = 0; i < n; ++i)
    if (!std::isfinite(t.GetDouble(i))) return i;
  return std::nullopt;
}

}  // namespace headrace::training
