#include "backends/common/external_call.h"

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>

#include "ir/registry/call_contract.h"

namespace headrace {
namespace {

std::string Number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, v).ptr;
  std::string s(buffer, end);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}
std::string Text(int64_t v) { return std::to_string(v); }
std::string Text(double v) { return Number(v); }
std::string Text(const std::string& v) {
  std::string s = "\"";
  for (char c : v) {
    if (c == '"' || c == '\\') s += '\\';
    if (c == '\n') s += "\\n";
    else s += c;
  }
  return s + "\"";
}
std::string Text(const Tensor&) { return ""; }
std::string Text(Name n) { return n.str(); }
template <typename T>
std::string Text(const std::vector<T>& v) {
  std::string s = "[";
  for (size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + Text(v[i]);
  return s + "]";
}

// What the callbacks of one call need.
struct Call {
  const ExternalFunction* function;
  std::vector<Value>* outputs;
  std::vector<hr_value> views;
  std::vector<bool> fixed;  // the size was known before the call
  HrValues values;
  std::string error;
  const std::function<bool()>* poll;
  bool cancelled;
  std::chrono::steady_clock::time_point polled;
};

std::string ShapeText(const int64_t* shape, int64_t rank) {
  std::string s = "[";
  for (int64_t i = 0; i < rank; ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

int32_t Refuse(Call* c, std::string message) {
  if (c->error.empty()) c->error = std::move(message);
  return 1;
}

int32_t Allocate(hr_call* call, int32_t output, int32_t dtype, int32_t rank, const int64_t* shape) {
  Call* c = static_cast<Call*>(call->host);
  if (output < 0 || output >= call->n_outputs)
    return Refuse(c, "it allocated output " + std::to_string(output) + ", which does not exist");
  if (dtype <= 0 || dtype > HR_STRING || rank < 0) return Refuse(c, "it allocated an output of an unknown type");
  Value& v = (*c->outputs)[output];
  const std::vector<int64_t> dims(shape, shape + rank);
  const DType t = static_cast<DType>(dtype);
  if (c->fixed[output]) {
    if (v.tensor.dtype == t && v.tensor.shape == dims) return 0;
    return Refuse(c, "output " + std::to_string(output) + " got type " + std::string(DTypeName(t)) + " and shape " +
                         ShapeText(shape, rank) + ", expected " + std::string(DTypeName(v.tensor.dtype)) + " and " +
                         ShapeText(v.tensor.shape.data(), static_cast<int64_t>(v.tensor.shape.size())));
  }
  Result<Tensor> made = Tensor::Create(t, dims);
  if (!made.ok()) return Refuse(c, made.status().message());
  v = Value(std::move(*made));
  call->outputs[output] = c->values.View(v);
  return 0;
}

int32_t SetStrings(hr_call* call, int32_t output, const hr_string* strings, int64_t count) {
  Call* c = static_cast<Call*>(call->host);
  if (output < 0 || output >= call->n_outputs) return Refuse(c, "it set strings of an output that does not exist");
  Value& v = (*c->outputs)[output];
  if (v.kind != Value::kTensor || v.tensor.dtype != DType::kString || v.tensor.elements() != count) {
    return Refuse(c, "it set " + std::to_string(count) + " strings of output " + std::to_string(output) +
                         ", which has another size or type");
  }
  for (int64_t i = 0; i < count; ++i)
    (*v.tensor.strings)[i].assign(strings[i].data, static_cast<size_t>(strings[i].size));
  return 0;
}

int32_t Append(hr_call* call, int32_t output, const hr_value* item) {
  Call* c = static_cast<Call*>(call->host);
  if (output < 0 || output >= call->n_outputs) return Refuse(c, "it appended to an output that does not exist");
  Value& v = (*c->outputs)[output];
  if (v.kind == Value::kTensor) return Refuse(c, "it appended to output " + std::to_string(output) + ", a tensor");
  v.kind = Value::kSequence;  // no item: a sequence of none so far
  if (item != nullptr) v.items.push_back(CopyValue(*item));
  return 0;
}

void Fail(hr_call* call, const char* message) {
  Refuse(static_cast<Call*>(call->host), message == nullptr ? "no reason given" : message);
}

int32_t Cancelled(hr_call* call) {
  Call* c = static_cast<Call*>(call->host);
  const auto now = std::chrono::steady_clock::now();  // functions may ask in their innermost loops, and polling may be slow
  if (c->cancelled || now - c->polled < std::chrono::milliseconds(10)) return c->cancelled;
  c->polled = now;
  return c->cancelled = (*c->poll)();
}

void OneByOne(int64_t chunks, hr_chunk_fn fn, void* ctx, int32_t) {
  for (int64_t c = 0; c < chunks; ++c) fn(ctx, c);
}

// What a call needs besides, with bytes behind it that must stay what they are.
class Scratch {
 public:
  explicit Scratch(int64_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    memory_.resize(static_cast<size_t>(bytes) + kCanary + kAlignment);
    std::memset(data() + bytes_, kMark, kCanary);
  }
  char* data() {
    if (bytes_ == 0) return nullptr;
    const auto at = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (kAlignment - at % kAlignment) % kAlignment;
  }
  bool Whole() {
    for (size_t i = 0; bytes_ > 0 && i < kCanary; ++i)
      if (static_cast<unsigned char>(data()[bytes_ + static_cast<int64_t>(i)]) != kMark) return false;
    return true;
  }

 private:
  static constexpr size_t kCanary = 64, kAlignment = 64;
  static constexpr unsigned char kMark = 0xA5;
  const int64_t bytes_;
  std::vector<char> memory_;
};

}  // namespace

hr_value HrValues::View(const Tensor& t) {
  hr_value r{};
  r.kind = HR_TENSOR;
  r.dtype = static_cast<int32_t>(t.dtype);
  r.rank = static_cast<int32_t>(t.shape.size());
  r.shape = t.shape.data();
  if (t.dtype == DType::kString) {
    strings_.emplace_back();
    if (t.strings != nullptr)
      for (const std::string& s : *t.strings) strings_.back().push_back({s.data(), static_cast<int64_t>(s.size())});
    r.data = strings_.back().data();
  } else {
    r.data = t.data != nullptr ? t.data->data() : nullptr;
  }
  return r;
}

hr_value HrValues::View(const Value& v) {
  if (v.kind == Value::kTensor) return View(v.tensor);
  hr_value r{};
  r.kind = v.kind == Value::kAbsent ? HR_ABSENT : HR_SEQUENCE;
  std::vector<hr_value> items;
  for (const Value& i : v.items) items.push_back(View(i));
  items_.push_back(std::move(items));
  r.items = items_.back().data();
  r.count = static_cast<int64_t>(items_.back().size());
  return r;
}

Value CopyValue(const hr_value& v) {
  Value r;
  if (v.kind == HR_SEQUENCE) {
    r.kind = Value::kSequence;
    for (int64_t i = 0; i < v.count; ++i) r.items.push_back(CopyValue(v.items[i]));
  } else if (v.kind == HR_TENSOR) {
    Result<Tensor> t = Tensor::Create(static_cast<DType>(v.dtype), std::vector<int64_t>(v.shape, v.shape + v.rank));
    if (!t.ok()) return r;
    if (t->dtype == DType::kString) {
      const hr_string* s = static_cast<const hr_string*>(v.data);
      for (int64_t i = 0; i < t->elements(); ++i) (*t->strings)[i].assign(s[i].data, static_cast<size_t>(s[i].size));
    } else if (t->bytes() > 0) {
      std::memcpy(t->data->data(), v.data, static_cast<size_t>(t->bytes()));
    }
    r = Value(std::move(*t));
  }
  return r;
}

std::string AttributeText(const Attribute& a) {
  return std::visit([](const auto& v) { return Text(v); }, a.value);
}

AttributeTexts::AttributeTexts(const Attributes& attributes) {
  for (const auto& [name, a] : attributes) {
    hr_attribute r{};
    r.name = text_.emplace_back(name.str()).c_str();
    r.text = text_.emplace_back(AttributeText(a)).c_str();
    if (const Tensor* t = std::get_if<Tensor>(&a.value)) r.tensor = &tensors_.emplace_back(values_.View(*t));
    view_.push_back(r);
  }
}

Result<void*> CreateState(const ExternalFunction& f, const Attributes& attributes, const std::string& node) {
  const AttributeTexts texts(attributes);
  std::string why = "it threw an exception";
  try {
    return f.create(texts.data(), texts.size());
  } catch (const std::exception& e) {
    why += std::string(": ") + e.what();
  } catch (...) {
  }
  return Refused(f.name, why, node);
}

void EndState(const ExternalFunction& f, void* state) {
  try {
    if (f.prepare) {
      if (f.release) f.release(f.user, state);
    } else if (f.destroy && state) {
      f.destroy(state);
    }
  } catch (...) {  // nobody waits for it
  }
}

Status CallExternal(const ExternalFunction& f, const Attributes& attributes, void* state, int threads,
                    const std::vector<Value>& inputs, std::vector<Value>* outputs, const std::string& node,
                    const std::function<bool()>& cancelled, int64_t scratch_bytes) {
  if (f.address == nullptr)
    return WithNode(UnsupportedError("E0681", "external function " + f.name + " has no code here"), node);
  Call c{};
  c.function = &f;
  c.poll = &cancelled;
  c.outputs = outputs;
  AttributeTexts texts(attributes);
  std::vector<hr_value> in;
  for (const Value& v : inputs) in.push_back(c.values.View(v));
  for (Value& v : *outputs) {
    c.fixed.push_back(v.kind == Value::kTensor);
    c.views.push_back(c.values.View(v));
  }
  hr_call call{};
  call.struct_size = sizeof call;
  call.n_inputs = static_cast<int32_t>(in.size());
  call.n_outputs = static_cast<int32_t>(outputs->size());
  call.n_attributes = texts.size();
  call.threads = threads;
  call.inputs = in.data();
  call.outputs = c.views.data();
  call.attributes = texts.data();
  call.state = state;
  call.allocate = Allocate;
  call.set_strings = SetStrings;
  call.append = Append;
  call.fail = Fail;
  call.host = &c;
  if (cancelled) call.cancelled = Cancelled;
  call.parallel_for = OneByOne;
  Scratch scratch(scratch_bytes);
  call.scratch = scratch.data(), call.scratch_bytes = scratch_bytes;
  static std::mutex serial;  // functions that are not thread-safe may share anything: one at a time of all of them
  std::unique_lock<std::mutex> lock(serial, std::defer_lock);
  if (!f.thread_safe) lock.lock();
  int32_t rc = 1;
  try {
    rc = reinterpret_cast<hr_function>(f.address)(&call);
  } catch (const std::exception& e) {
    c.error = e.what();
  } catch (...) {
    c.error = "unknown exception";
  }
  if (rc != 0 && c.cancelled) return InterruptedError();
  if (!scratch.Whole())
    return WithNode(InvalidError("E0679", "external function " + f.name + " wrote beyond the " + std::to_string(scratch_bytes) +
                                 " bytes of its scratch"),
                    node);
  if (rc != 0 || !c.error.empty()) {
    return WithNode(InvalidError("E0654", "external function " + f.name +
                                 " failed: " + (c.error.empty() ? "code " + std::to_string(rc) : c.error)),
                    node);
  }
  return {};
}

}  // namespace headrace
