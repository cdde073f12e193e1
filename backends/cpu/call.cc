#include "backends/cpu/call.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_set>

#include "backends/common/signature.h"

namespace headrace::cpu {
namespace {

std::string ShapeText(int32_t rank, const int64_t* shape) {
  std::string s = "[";
  for (int32_t d = 0; d < rank; ++d) s += (d ? ", " : "") + std::to_string(shape[d]);
  return s + "]";
}
std::string TypeText(int32_t dtype, int32_t rank, const int64_t* shape) {
  return std::string(DTypeName(static_cast<DType>(dtype))) + ShapeText(rank, shape);
}

int64_t Elements(const hr_array& a) {
  int64_t n = 1;
  for (int32_t d = 0; d < a.rank; ++d) n = hr_size_mul(n, a.shape[d]);
  return n;
}
int64_t Bytes(const hr_array& a) { return hr_size_mul(Elements(a), ByteSize(static_cast<DType>(a.dtype))); }

bool IsDense(const hr_array& a) {
  if (!a.strides) return true;
  int64_t expected = 1;
  for (int32_t d = a.rank - 1; d >= 0; --d) {
    if (a.shape[d] == 0) return true;
    if (a.shape[d] != 1 && a.strides[d] != expected) return false;
    expected *= a.shape[d];
  }
  return true;
}

// The bytes that an array's elements lie in: [first, last).
struct Extent {
  const char *first, *last;
};
Extent ExtentOf(const hr_array& a) {
  const int64_t item = ByteSize(static_cast<DType>(a.dtype));
  const char* data = static_cast<const char*>(a.data);
  if (Elements(a) == 0) return {data, data};
  int64_t low = 0, high = 0, stride = 1;
  for (int32_t d = a.rank - 1; d >= 0; --d) {
    const int64_t reach = (a.strides ? a.strides[d] : stride) * (a.shape[d] - 1);
    (reach < 0 ? low : high) += reach;
    stride *= a.shape[d];
  }
  return {data + low * item, data + (high + 1) * item};
}
// The distance that each of the array's elements has from its first is a multiple of this many bytes; 0: there is one element.
int64_t Grid(const hr_array& a) {
  int64_t all = 0, dense = 1;
  for (int32_t d = a.rank - 1; d >= 0; --d) {
    if (a.shape[d] > 1) all = std::gcd(all, a.strides ? a.strides[d] : dense);
    dense *= a.shape[d];
  }
  return all * ByteSize(static_cast<DType>(a.dtype));
}

// Whether an element of one may be an element of the other: columns of one matrix are apart.
bool Overlap(const hr_array& a, const hr_array& b) {
  const Extent x = ExtentOf(a), y = ExtentOf(b);
  if (x.first >= y.last || y.first >= x.last || Elements(a) == 0 || Elements(b) == 0) return false;
  const int64_t grid = std::gcd(Grid(a), Grid(b));
  if (grid == 0) return true;
  const int64_t apart = static_cast<const char*>(a.data) - static_cast<const char*>(b.data);
  const int64_t behind = ((apart % grid) + grid) % grid;  // of a's elements, after the next one of b's before it
  return behind < ByteSize(static_cast<DType>(b.dtype)) || grid - behind < ByteSize(static_cast<DType>(a.dtype));
}

// Whether two indices are one element, as of what was broadcast.
bool RepeatsElements(const hr_array& a) {
  bool repeats = false;
  for (int32_t d = 0; d < a.rank && a.strides; ++d) {
    if (a.shape[d] == 0) return false;
    repeats = repeats || (a.shape[d] > 1 && a.strides[d] == 0);
  }
  return repeats;
}

Status OwnElements(const hr_array& a, const std::string& what) {
  if (!RepeatsElements(a)) return {};
  return InvalidError("E0688", what + " is written, and its elements share memory with each other", "copy it: what was broadcast has a stride of 0");
}

// Copies between a strided array and dense memory, one innermost row at a time.
void CopyStrided(const hr_array& a, char* dense, bool to_dense) {
  const int64_t item = ByteSize(static_cast<DType>(a.dtype)), n = Elements(a);
  if (n == 0) return;
  const int64_t row = a.rank == 0 ? 1 : a.shape[a.rank - 1];
  const int64_t step = a.rank == 0 ? 1 : a.strides[a.rank - 1];
  std::vector<int64_t> at(static_cast<size_t>(a.rank), 0);
  for (int64_t done = 0; done < n; done += row) {
    int64_t offset = 0;
    for (int32_t d = 0; d + 1 < a.rank; ++d) offset += at[static_cast<size_t>(d)] * a.strides[d];
    char* p = static_cast<char*>(a.data) + offset * item;
    char* q = dense + done * item;
    if (step == 1) {
      to_dense ? std::memcpy(q, p, static_cast<size_t>(row * item)) : std::memcpy(p, q, static_cast<size_t>(row * item));
    } else {
      for (int64_t i = 0; i < row; ++i, p += step * item, q += item)
        to_dense ? std::memcpy(q, p, static_cast<size_t>(item)) : std::memcpy(p, q, static_cast<size_t>(item));
    }
    for (int32_t d = a.rank - 2; d >= 0 && ++at[static_cast<size_t>(d)] == a.shape[d]; --d) at[static_cast<size_t>(d)] = 0;
  }
}

Status OnHost(const hr_array& a, const std::string& what) {
  if (a.device_type == HR_DEVICE_CPU) return {};
  return InvalidError("E0686", what + " lies on a device (DLPack type " + std::to_string(a.device_type) + "), not in host memory",
                      "copy it to the host first");
}

}  // namespace

CallPlan::CallPlan(const Program* signature, const headrace_program_info_t* info) : signature_(signature), info_(info) {
  for (int32_t i = 0; i < info->n_parameters; ++i) {
    const hr_parameter& p = info->parameters[i];
    if (p.direction != HR_OUT) {
      if (p.direction == HR_INOUT) targets_.push_back(static_cast<int32_t>(inputs_.size()));
      inputs_.push_back(i);
      names_.push_back(p.name);
    } else {
      targets_.push_back(~static_cast<int32_t>(outputs_.size()));
      outputs_.push_back(i);
    }
    if (p.direction != HR_IN) shape_at_.push_back(shape_at_.back() + p.rank);
  }
  std::unordered_set<Name> told;  // by the shape of an input
  for (Name n : names_)
    for (const Expr& e : signature->Entry().Get(n).shape)
      if (e.Is(ExprKind::kSymbol)) told.insert(e->name);
  for (int32_t i = 0; i < info->n_symbols; ++i)
    if (!told.count(info->symbols[i].name)) by_name_.push_back(info->symbols[i].name);
}

Status CallPlan::Callable() const {
  for (int32_t i = 0; i < info_->n_parameters; ++i) {
    const hr_parameter& p = info_->parameters[i];
    if (p.kind == HR_SEQUENCE || p.dtype == HR_STRING)
      return UnsupportedError("E0685", std::string("'") + p.original_name + "' is a " +
                                  (p.kind == HR_SEQUENCE ? "sequence" : "tensor of strings") +
                                  ", which has no place in a call by position",
                              "give the arguments by name");
  }
  return {};
}

Result<std::vector<int64_t>> CallPlan::Bind(const CallFrame& frame) const {
  std::vector<std::pair<Name, Value>> arguments;
  for (int32_t k = 0; k < frame.n_inputs; ++k) {
    const hr_array& a = frame.inputs[k];
    if (a.flags & HR_ARRAY_ABSENT) continue;
    Tensor t;  // its type and shape are all that binding looks at
    t.dtype = static_cast<DType>(a.dtype);
    t.shape.assign(a.shape, a.shape + a.rank);
    arguments.push_back({names_[static_cast<size_t>(k)], Value(std::move(t))});
  }
  std::vector<std::pair<Name, int64_t>> given;
  for (size_t i = 0; i < by_name_.size(); ++i) given.push_back({by_name_[i], frame.symbols[i]});
  HR_ASSIGN_OR_RETURN(BoundArguments bound, BindArguments(*signature_, signature_->Entry(), arguments, given));
  std::vector<int64_t> sizes;
  for (int32_t i = 0; i < info_->n_symbols; ++i) {
    const auto v = bound.Find(info_->symbols[i].name);
    if (!v)
      return InvalidError("E0676", std::string("the size '") + info_->symbols[i].name + "' is not determined by the arguments",
                          "give it by name");
    sizes.push_back(*v);
  }
  return sizes;
}

Result<std::shared_ptr<const std::vector<int64_t>>> CallPlan::Sizes(const CallFrame& frame) {
  std::shared_ptr<const Form> last;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    last = last_;
  }
  // The key of this call, compared while it is made: the usual call equals the last one.
  size_t at = 0;
  bool same = last != nullptr;
  std::vector<int64_t> key;
  auto put = [&](int64_t v) {
    if (same && at < last->key.size() && last->key[at] == v) {
      ++at;
      return;
    }
    if (same) {
      key.assign(last->key.begin(), last->key.begin() + static_cast<std::ptrdiff_t>(at));
      same = false;
    }
    key.push_back(v);
  };
  for (int32_t k = 0; k < frame.n_inputs; ++k) {
    const hr_array& a = frame.inputs[k];
    if (a.flags & HR_ARRAY_ABSENT) {
      put(-1);
      continue;
    }
    put(a.dtype);
    put(a.rank);
    for (int32_t d = 0; d < a.rank; ++d) put(a.shape[d]);
  }
  for (int32_t i = 0; i < frame.n_symbols; ++i) put(frame.symbols[i]);
  if (same && at == last->key.size()) return std::shared_ptr<const std::vector<int64_t>>(last, &last->sizes);
  if (same) key.assign(last->key.begin(), last->key.begin() + static_cast<std::ptrdiff_t>(at));

  HR_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, Bind(frame));
  auto form = std::make_shared<Form>();
  form->key = std::move(key);
  form->sizes = std::move(sizes);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    last_ = form;
  }
  return std::shared_ptr<const std::vector<int64_t>>(form, &form->sizes);
}

Status PositionalCall::Prepare(hr_run* run) {
  HR_RETURN_IF_ERROR(plan_->Callable());
  auto count = [&](const char* what, int32_t got, int64_t expected) -> Status {
    if (got == expected) return {};
    return InvalidError("E0670", "the program takes " + std::to_string(expected) + " " + what + ", not " + std::to_string(got));
  };
  HR_RETURN_IF_ERROR(count("inputs", frame_->n_inputs, plan_->inputs()));
  HR_RETURN_IF_ERROR(count("outputs", frame_->n_outputs, plan_->outputs()));
  HR_RETURN_IF_ERROR(count("sizes by number", frame_->n_symbols, static_cast<int64_t>(plan_->by_name().size())));
  HR_ASSIGN_OR_RETURN(sizes_, plan_->Sizes(*frame_));
  in_.resize(static_cast<size_t>(frame_->n_inputs));
  out_.resize(plan_->targets().size());
  for (hr_value& v : out_) v = {};
  shapes_.resize(static_cast<size_t>(plan_->shape_at(static_cast<int32_t>(out_.size()))));
  for (int32_t k = 0; k < frame_->n_inputs; ++k) HR_RETURN_IF_ERROR(PrepareInput(k));
  HR_RETURN_IF_ERROR(CheckOverlap());
  for (int32_t k = 0; k < frame_->n_outputs; ++k) {
    const hr_array& a = frame_->outputs[k];
    if (!a.data) continue;
    const std::string what = std::string("output ") + plan_->output(k).original_name;
    HR_RETURN_IF_ERROR(OnHost(a, what));
    if (a.flags & HR_ARRAY_READ_ONLY) return InvalidError("E0687", what + " is read-only", "give an array that may be written");
    HR_RETURN_IF_ERROR(OwnElements(a, what));
  }
  run->struct_size = sizeof *run;
  run->n_inputs = frame_->n_inputs;
  run->n_outputs = static_cast<int32_t>(out_.size());
  run->n_symbols = static_cast<int32_t>(sizes_->size());
  run->inputs = in_.data();
  run->outputs = out_.data();
  run->symbols = sizes_->data();
  run->allocate = Allocate;
  run->set_strings = SetStrings;
  run->append = Append;
  run->fail = Fail;
  run->host = this;
  return {};
}

Status PositionalCall::PrepareInput(int32_t k) {
  const hr_array& a = frame_->inputs[k];
  hr_value& v = in_[static_cast<size_t>(k)];
  v = {};
  if (a.flags & HR_ARRAY_ABSENT) return {};
  const hr_parameter& p = plan_->input(k);
  if (a.device_type != HR_DEVICE_CPU) return OnHost(a, std::string("input ") + p.original_name);
  const bool updated = p.direction == HR_INOUT;
  if (updated && (a.flags & HR_ARRAY_READ_ONLY))
    return InvalidError("E0687", std::string("input ") + p.original_name + " is read-only, and the program updates it",
                        "give an array that may be written");
  if (updated) HR_RETURN_IF_ERROR(OwnElements(a, std::string("input ") + p.original_name));
  v.kind = HR_TENSOR;
  v.dtype = a.dtype;
  v.rank = a.rank;
  v.shape = a.shape;
  v.data = a.data;
  if (IsDense(a)) return {};
  v.data = Dense(Bytes(a));
  CopyStrided(a, static_cast<char*>(v.data), true);
  if (updated) back_.push_back({&a, v.data});
  return {};
}

// Generated code takes for granted that what it writes is nobody else's memory.
Status PositionalCall::CheckOverlap() const {
  for (int32_t k = 0; k < frame_->n_inputs; ++k) {
    const hr_array& a = frame_->inputs[k];
    if (plan_->input(k).direction != HR_INOUT || (a.flags & HR_ARRAY_ABSENT)) continue;
    for (int32_t j = 0; j < frame_->n_outputs; ++j)
      if (frame_->outputs[j].data && Overlap(a, frame_->outputs[j]))
        return InvalidError("E0688", std::string("input ") + plan_->input(k).original_name + " is updated, and shares memory with output " +
                                         plan_->output(j).original_name,
                            "give another array for one of them");
    for (int32_t j = 0; j < frame_->n_inputs; ++j) {
      const hr_array& b = frame_->inputs[j];
      if (j == k || (b.flags & HR_ARRAY_ABSENT) || !Overlap(a, b)) continue;
      return InvalidError("E0688", std::string("input ") + plan_->input(k).original_name + " is updated, and shares memory with input " +
                              plan_->input(j).original_name,
                          "copy one of them");
    }
  }
  return {};
}

void* PositionalCall::Dense(int64_t bytes) {
  dense_.push_back(std::unique_ptr<char[]>(new char[static_cast<size_t>(bytes) + 1]));
  return dense_.back().get();
}

bool PositionalCall::Overlaps(const hr_array& a) const {
  for (int32_t j = 0; j < frame_->n_inputs; ++j)
    if (!(frame_->inputs[j].flags & HR_ARRAY_ABSENT) && Overlap(a, frame_->inputs[j])) return true;
  for (int32_t j = 0; j < frame_->n_outputs; ++j)
    if (&frame_->outputs[j] != &a && frame_->outputs[j].data && Overlap(a, frame_->outputs[j])) return true;
  return false;
}

void* PositionalCall::OutputMemory(int32_t k, int32_t dtype, int32_t rank, const int64_t* shape) {
  hr_array& a = frame_->outputs[k];
  const std::string name = plan_->output(k).original_name;
  if (!a.data) {
    if (!frame_->allocate) {
      SetError("output " + name + " has no memory, and the call no allocator");
      return nullptr;
    }
    a.dtype = dtype;
    a.rank = rank;
    void* memory = frame_->allocate(frame_->context, k, dtype, rank, shape);
    if (!memory) SetError("out of memory for output " + name + ", " + TypeText(dtype, rank, shape));
    return memory;
  }
  if (a.dtype != dtype || a.rank != rank ||
      (rank > 0 && std::memcmp(a.shape, shape, static_cast<size_t>(rank) * sizeof *shape) != 0)) {
    misfit_ = true;
    SetError("output " + name + " is " + TypeText(dtype, rank, shape) + ", the array given for it " +
             TypeText(a.dtype, a.rank, a.shape));
    return nullptr;
  }
  if (IsDense(a) && !Overlaps(a)) return a.data;
  void* memory = Dense(Bytes(a));
  back_.push_back({&a, memory});
  return memory;
}

void* PositionalCall::Target(int32_t target, int32_t dtype, int32_t rank, const int64_t* shape) {
  if (target < 0) return OutputMemory(~target, dtype, rank, shape);
  const hr_value& v = in_[static_cast<size_t>(target)];
  if (v.kind == HR_TENSOR && v.dtype == dtype && v.rank == rank &&
      (rank == 0 || std::memcmp(v.shape, shape, static_cast<size_t>(rank) * sizeof *shape) == 0))
    return v.data;
  SetError(std::string("input ") + plan_->input(target).original_name + " is updated to another shape: " +
           TypeText(dtype, rank, shape));
  return nullptr;
}

int32_t PositionalCall::Allocate(hr_run* run, int32_t output, int32_t dtype, int32_t rank, const int64_t* shape) {
  auto* self = static_cast<PositionalCall*>(run->host);
  if (output < 0 || output >= run->n_outputs) return 1;
  void* memory = self->Target(self->plan_->targets()[static_cast<size_t>(output)], dtype, rank, shape);
  if (!memory) return 1;
  hr_value& v = run->outputs[output];
  v = {};
  v.kind = HR_TENSOR;
  v.dtype = dtype;
  v.rank = rank;
  v.shape = std::copy(shape, shape + rank, self->shapes_.data() + self->plan_->shape_at(output)) - rank;
  v.data = memory;
  return 0;
}
int32_t PositionalCall::SetStrings(hr_run*, int32_t, const hr_string*, int64_t) { return 1; }  // Callable() excludes them
int32_t PositionalCall::Append(hr_run*, int32_t, const hr_value*) { return 1; }
void PositionalCall::Fail(hr_run* run, const char* message) {
  static_cast<PositionalCall*>(run->host)->SetError(message);
}
void PositionalCall::SetError(std::string message) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (error_.empty()) error_ = std::move(message);
}

void PositionalCall::Finish() {
  for (const CopyBack& c : back_) {
    const char* from = static_cast<const char*>(c.from);
    if (c.to->strides) CopyStrided(*c.to, const_cast<char*>(from), false);
    else std::memcpy(c.to->data, from, static_cast<size_t>(Bytes(*c.to)));
  }
}

}  // namespace headrace::cpu
