#include "runtime/loader_call.h"

#include <cstring>
#include <memory>
#include <mutex>

#include "runtime/runtime_internal.h"
#include "runtime/size_text.h"

namespace headrace::runtime {
namespace {

// By hr_dtype; 0: not in whole bytes, or strings.
int64_t Width(int32_t dtype) {
  switch (dtype) {
    case HR_C128: return 16;
    case HR_U64:
    case HR_I64:
    case HR_F64:
    case HR_C64: return 8;
    case HR_U32:
    case HR_I32:
    case HR_F32: return 4;
    case HR_U16:
    case HR_I16:
    case HR_F16:
    case HR_BF16: return 2;
    case HR_STRING: return 0;
    default: return 1;
  }
}

std::string ShapeText(const hr_value& v) {
  std::string s = "[";
  for (int32_t d = 0; d < v.rank; ++d) s += (d ? ", " : "") + std::to_string(v.shape[d]);
  return s + "]";
}
std::string ShapeText(const hr_parameter& p) {
  std::string s = "[";
  for (int32_t d = 0; d < p.rank; ++d) s += std::string(d ? ", " : "") + p.shape[d];
  return s + "]";
}

std::vector<const hr_parameter*> Parameters(const headrace_program_info_t& info, int32_t direction) {
  std::vector<const hr_parameter*> out;
  for (int32_t i = 0; i < info.n_parameters; ++i)
    if (info.parameters[i].direction & direction) out.push_back(&info.parameters[i]);
  return out;
}

std::string CheckValue(const hr_parameter& p, const hr_value& v) {
  const std::string what = std::string("input '") + p.name + "' ";
  if (v.kind == HR_ABSENT) return p.optional ? "" : what + "is missing";
  if (v.kind != p.kind) return what + (p.kind == HR_TENSOR ? "must be a tensor" : "must be a sequence");
  if (v.kind != HR_TENSOR) return "";
  if (v.dtype != p.dtype)
    return what + "has element type " + std::to_string(v.dtype) + ", not " + std::to_string(p.dtype) + " (hr_dtype)";
  if (v.rank != p.rank) return what + "has shape " + ShapeText(v) + ", not " + ShapeText(p);
  int64_t elements = 1;
  for (int32_t d = 0; d < v.rank; ++d) elements = hr_size_mul(elements, v.shape[d]);
  if (elements < 0) return what + "has shape " + ShapeText(v);
  if (elements > 0 && v.data == nullptr) return what + "has no data";
  return "";
}

std::string BindShape(const hr_parameter& p, const hr_value& v, Sizes& sizes) {
  for (int32_t d = 0; d < p.rank; ++d) {
    if (!IsName(p.shape[d])) continue;
    const auto [known, fresh] = sizes.emplace(p.shape[d], v.shape[d]);
    if (!fresh && known->second != v.shape[d])
      return std::string("sizes disagree: ") + p.shape[d] + " is " + std::to_string(known->second) + ", and " +
             std::to_string(v.shape[d]) + " in input '" + p.name + "'";
  }
  return "";
}

std::string CheckShape(const hr_parameter& p, const hr_value& v, const Sizes& sizes) {
  for (int32_t d = 0; d < p.rank; ++d) {
    const auto want = EvaluateSize(p.shape[d], sizes);
    if (!want || *want != v.shape[d])
      return std::string("input '") + p.name + "' has shape " + ShapeText(v) + ", not " + ShapeText(p) +
             (want ? " (" + std::to_string(*want) + " in dimension " + std::to_string(d) + ")"
                   : ": give the sizes that the inputs don't determine");
  }
  return "";
}

// ---- results ----
struct Owned {  // what an output's hr_value points to
  std::vector<int64_t> shape;
  void* data = nullptr;
  std::vector<std::string> strings;
  std::vector<hr_string> string_views;
  std::vector<std::unique_ptr<Owned>> items;
  std::vector<hr_value> item_values;
  Owned() = default;
  Owned(const Owned&) = delete;
  ~Owned() { std::free(data); }
};

struct OwnedResult : headrace_result {
  std::vector<hr_value> values;
  std::vector<std::unique_ptr<Owned>> owned;
};

struct CallState {
  OwnedResult* result = nullptr;
  std::mutex mutex;
  std::string error;
};

void SetStrings(Owned& o, hr_value& v, const hr_string* strings, int64_t count) {
  o.strings.clear(), o.string_views.clear();
  for (int64_t i = 0; i < count; ++i) o.strings.emplace_back(strings[i].data, static_cast<size_t>(strings[i].size));
  for (const std::string& s : o.strings) o.string_views.push_back({s.data(), static_cast<int64_t>(s.size())});
  v.data = o.string_views.data();
}

bool Fill(Owned& o, hr_value& v, int32_t dtype, int32_t rank, const int64_t* shape) {
  int64_t elements = 1;
  for (int32_t d = 0; d < rank; ++d) elements = hr_size_mul(elements, shape[d]);
  const int64_t bytes = hr_size_mul(elements, Width(dtype));
  if (bytes < 0) return false;
  o.shape.assign(shape, shape + rank);
  v = headrace_tensor(dtype, rank, o.shape.data(), nullptr);
  if (dtype == HR_STRING) {
    o.strings.assign(static_cast<size_t>(elements), "");
    const std::vector<hr_string> empty(static_cast<size_t>(elements), hr_string{"", 0});
    SetStrings(o, v, empty.data(), elements);
    return true;
  }
  std::free(o.data);
  o.data = v.data = std::aligned_alloc(64, static_cast<size_t>((bytes < 1 ? 1 : bytes) + 63) / 64 * 64);
  return v.data != nullptr;
}

bool Copy(Owned& o, hr_value& to, const hr_value& from) {
  if (from.kind == HR_SEQUENCE) {
    to = from;
    for (int64_t i = 0; i < from.count; ++i) {
      o.items.push_back(std::make_unique<Owned>());
      hr_value item = {};
      if (!Copy(*o.items.back(), item, from.items[i])) return false;
      o.item_values.push_back(item);
    }
    to.items = o.item_values.data();
    return true;
  }
  if (from.kind != HR_TENSOR) return true;
  if (!Fill(o, to, from.dtype, from.rank, from.shape)) return false;
  int64_t elements = 1;
  for (int32_t d = 0; d < from.rank; ++d) elements *= from.shape[d];
  if (from.dtype == HR_STRING) SetStrings(o, to, static_cast<const hr_string*>(from.data), elements);
  else if (elements > 0) std::memcpy(to.data, from.data, static_cast<size_t>(elements * Width(from.dtype)));
  return true;
}

CallState& StateOf(hr_run* run) { return *static_cast<CallState*>(run->host); }

int32_t Allocate(hr_run* run, int32_t output, int32_t dtype, int32_t rank, const int64_t* shape) {
  OwnedResult& r = *StateOf(run).result;
  return Fill(*r.owned[static_cast<size_t>(output)], r.values[static_cast<size_t>(output)], dtype, rank, shape) ? 0 : 1;
}
int32_t GiveStrings(hr_run* run, int32_t output, const hr_string* strings, int64_t count) {
  OwnedResult& r = *StateOf(run).result;
  SetStrings(*r.owned[static_cast<size_t>(output)], r.values[static_cast<size_t>(output)], strings, count);
  return 0;
}
int32_t Append(hr_run* run, int32_t output, const hr_value* item) {
  OwnedResult& r = *StateOf(run).result;
  Owned& o = *r.owned[static_cast<size_t>(output)];
  hr_value& v = r.values[static_cast<size_t>(output)];
  o.items.push_back(std::make_unique<Owned>());
  hr_value copy = {};
  if (!Copy(*o.items.back(), copy, *item)) return 1;
  o.item_values.push_back(copy);
  v.items = o.item_values.data(), v.count = static_cast<int64_t>(o.item_values.size());
  return 0;
}
void Fail(hr_run* run, const char* message) {
  CallState& s = StateOf(run);
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.error.empty()) s.error = message;
}

}  // namespace

std::string CheckSizes(const headrace_program_info_t& info) {
  Sizes any;  // large and different, so that nothing is divided by zero
  for (int32_t i = 0; i < info.n_symbols; ++i) any[info.symbols[i].name] = 7919 + 104 * i;
  for (const hr_parameter* p : Parameters(info, HR_IN))
    for (int32_t d = 0; p->kind == HR_TENSOR && d < p->rank; ++d)
      if (!EvaluateSize(p->shape[d], any))
        return std::string("input '") + p->name + "' has a size that this loader can't compute: " + p->shape[d] +
               "; headrace run can";
  return "";
}

std::string BindSizes(const headrace_program_info_t& info, const Bounds& bounds, const headrace_call& call,
                      std::vector<int64_t>& out) {
  const std::vector<const hr_parameter*> inputs = Parameters(info, HR_IN);
  if (call.n_inputs != static_cast<int32_t>(inputs.size()))
    return "the program has " + std::to_string(inputs.size()) + " inputs, " + std::to_string(call.n_inputs) +
           " were given";
  Sizes sizes;
  for (int32_t i = 0; i < call.n_sizes; ++i) sizes[call.sizes[i].name] = call.sizes[i].value;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string wrong = CheckValue(*inputs[i], call.inputs[i]);
    if (!wrong.empty()) return wrong;
  }
  const auto each_tensor = [&](auto&& check) {
    std::string wrong;
    for (size_t i = 0; i < inputs.size() && wrong.empty(); ++i)
      if (call.inputs[i].kind == HR_TENSOR) wrong = check(*inputs[i], call.inputs[i], sizes);
    return wrong;
  };
  std::string wrong = each_tensor(BindShape);
  if (wrong.empty()) wrong = each_tensor(CheckShape);
  if (!wrong.empty()) return wrong;
  for (int32_t i = 0; i < info.n_symbols; ++i) {
    const auto known = sizes.find(info.symbols[i].name);
    if (known == sizes.end()) return std::string("size '") + info.symbols[i].name + "' must be given";
    out.push_back(known->second);
  }
  for (const auto& [name, b] : bounds) {
    const auto known = sizes.find(name);
    if (known != sizes.end() && (known->second < b.first || known->second > b.second))
      return "size " + name + " = " + std::to_string(known->second) + " is outside what the program assumes";
  }
  return "";
}

headrace_result* RunProgram(const headrace_program_info_t& info, headrace_program_run_fn run, void* program,
                            const headrace_call& call, const std::vector<int64_t>& sizes, std::string& error) {
  auto result = std::make_unique<OwnedResult>();
  for (const hr_parameter* p : Parameters(info, HR_OUT)) {
    result->owned.push_back(std::make_unique<Owned>());
    hr_value empty = {};
    if (p->kind == HR_SEQUENCE) empty.kind = HR_SEQUENCE;
    result->values.push_back(empty);
  }
  CallState state;
  state.result = result.get();
  hr_run request = {};
  request.struct_size = sizeof request;
  request.n_inputs = call.n_inputs;
  request.n_outputs = static_cast<int32_t>(result->values.size());
  request.n_symbols = static_cast<int32_t>(sizes.size());
  request.threads = call.threads;
  request.inputs = call.inputs;
  request.outputs = result->values.data();
  request.symbols = sizes.data();
  request.allocate = Allocate;
  request.set_strings = GiveStrings;
  request.append = Append;
  request.fail = Fail;
  request.host = &state;
  if (run(program, &request) != HR_OK) {
    error = state.error.empty() ? "the program failed" : state.error;
    return nullptr;
  }
  result->outputs = result->values.data();
  result->n_outputs = static_cast<int32_t>(result->values.size());
  return result.release();
}

void FreeResult(headrace_result* result) { delete static_cast<OwnedResult*>(result); }

}  // namespace headrace::runtime
