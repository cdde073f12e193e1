#include "plugins/onnx/external/call.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace onnx_ops::external {
namespace {

// Values of attributes as the notation writes them: 3, 0.5, "same", [1, 2], floats[], inf.
class Reader {
 public:
  explicit Reader(const char* text) : p_(text) {}
  bool Accept(char c) {
    Space();
    if (*p_ != c) return false;
    ++p_;
    return true;
  }
  bool More(bool* first) {  // of a list's items
    if (Accept(']')) return false;
    if (!*first) Require(Accept(','), "a damaged list attribute");
    *first = false;
    return true;
  }
  void Open() {
    while (*p_ && *p_ != '[') ++p_;  // "floats [" and such
    Require(Accept('['), "a list attribute is expected");
  }
  int64_t Int() {
    Space();
    char* end;
    const long long v = std::strtoll(p_, &end, 10);
    Require(end != p_, "an integer attribute is expected");
    p_ = end;
    return v;
  }
  double Float() {
    Space();
    char* end;
    const double v = std::strtod(p_, &end);
    Require(end != p_, "a number is expected in an attribute");
    p_ = end;
    return v;
  }
  std::string Str() {
    Require(Accept('"'), "a string attribute is expected");
    std::string s;
    for (; *p_ && *p_ != '"'; ++p_) {
      if (*p_ != '\\') {
        s += *p_;
        continue;
      }
      ++p_;
      if (*p_ == 'x' && p_[1] && p_[2]) {
        const char hex[3] = {p_[1], p_[2], 0};
        s += static_cast<char>(std::strtol(hex, nullptr, 16));
        p_ += 2;
      } else {
        s += *p_ == 'n' ? '\n' : *p_ == 't' ? '\t' : *p_;
      }
    }
    Require(Accept('"'), "a damaged string attribute");
    return s;
  }

 private:
  void Space() {
    while (*p_ == ' ' || *p_ == '\n') ++p_;
  }
  const char* p_;
};

}  // namespace

Call::Call(hr_call* raw) : raw_(raw) {
  inputs_ = StrList("inputs");
  outputs_ = StrList("outputs");
  Require(static_cast<int>(inputs_.size()) == raw->n_inputs && static_cast<int>(outputs_.size()) == raw->n_outputs,
          "the attributes 'inputs' and 'outputs' must name every port");
}

void Call::LeaveIfCancelled() const {
  if (hr_call_cancelled(raw_)) Fail("the run is cancelled");
}

const hr_value* Call::Find(const std::string& port, int index) const {
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] == port && index-- == 0) return raw_->inputs[i].kind == HR_ABSENT ? nullptr : &raw_->inputs[i];
  return nullptr;
}

const hr_value& Call::Input(const std::string& port, int index) const {
  const hr_value* v = Find(port, index);
  if (!v) Fail("input " + port + " is missing");
  return *v;
}

const hr_value& Call::Tensor(const std::string& port, int index) const {
  const hr_value& v = Input(port, index);
  if (v.kind != HR_TENSOR) Fail("input " + port + " must be a tensor");
  return v;
}

const hr_value& Call::Sequence(const std::string& port) const {
  const hr_value& v = Input(port);
  if (v.kind != HR_SEQUENCE) Fail("input " + port + " must be a sequence");
  return v;
}

int64_t Call::Scalar(const std::string& port, int64_t otherwise) const {
  const hr_value* v = Find(port);
  if (!v) return otherwise;
  if (v->kind != HR_TENSOR || Count(ShapeOf(*v)) != 1) Fail("input " + port + " must have one element");
  return ToInt(*v, 0);
}

int Call::Inputs(const std::string& port) const {
  int n = 0;
  for (const std::string& p : inputs_) n += p == port;
  return n;
}

int Call::Output(const std::string& port) const {
  for (size_t i = 0; i < outputs_.size(); ++i)
    if (outputs_[i] == port) return static_cast<int>(i);
  return -1;
}

void* Call::Make(int output, int32_t dtype, const Shape& shape) {
  hr_value& v = raw_->outputs[output];
  if (v.kind == HR_TENSOR && (v.data != nullptr || v.shape != nullptr)) {  // the program knew the size
    if (v.dtype != dtype || ShapeOf(v) != shape) {
      Fail("output " + outputs_[output] + " is " + TypeName(dtype) + Text(shape) + ", the program expects " +
           TypeName(v.dtype) + Text(ShapeOf(v)));
    }
    return v.data;
  }
  if (raw_->allocate(raw_, output, dtype, static_cast<int32_t>(shape.size()), shape.data()) != 0)
    Fail("no memory for output " + outputs_[output] + ", " + TypeName(dtype) + Text(shape));
  return raw_->outputs[output].data;
}

void Call::MakeStrings(int output, const Shape& shape, const std::vector<std::string>& strings) {
  Make(output, HR_STRING, shape);
  std::vector<hr_string> views;
  views.reserve(strings.size());
  for (const std::string& s : strings) views.push_back({s.data(), static_cast<int64_t>(s.size())});
  if (raw_->set_strings(raw_, output, views.data(), static_cast<int64_t>(views.size())) != 0)
    Fail("the strings of output " + outputs_[output] + " can't be kept");
}

void Call::Append(int output, const hr_value& item) {
  if (raw_->append(raw_, output, &item) != 0) Fail("output " + outputs_[output] + " takes no more items");
}

const hr_attribute* Call::Attribute(const std::string& name) const {
  for (int i = 0; i < raw_->n_attributes; ++i)
    if (name == raw_->attributes[i].name) return &raw_->attributes[i];
  return nullptr;
}

int64_t Call::Int(const std::string& name, int64_t otherwise) const {
  const hr_attribute* a = Attribute(name);
  return a ? Reader(a->text).Int() : otherwise;
}
double Call::Float(const std::string& name, double otherwise) const {
  const hr_attribute* a = Attribute(name);
  return a ? Reader(a->text).Float() : otherwise;
}
std::string Call::Str(const std::string& name, const std::string& otherwise) const {
  const hr_attribute* a = Attribute(name);
  return a ? Reader(a->text).Str() : otherwise;
}
template <typename T, typename One>
static std::vector<T> List(const hr_attribute* a, One one) {
  std::vector<T> out;
  if (!a) return out;
  Reader r(a->text);
  r.Open();
  for (bool first = true; r.More(&first);) out.push_back(one(r));
  return out;
}
std::vector<int64_t> Call::IntList(const std::string& name) const {
  return List<int64_t>(Attribute(name), [](Reader& r) { return r.Int(); });
}
std::vector<double> Call::FloatList(const std::string& name) const {
  return List<double>(Attribute(name), [](Reader& r) { return r.Float(); });
}
std::vector<std::string> Call::StrList(const std::string& name) const {
  return List<std::string>(Attribute(name), [](Reader& r) { return r.Str(); });
}

int32_t Guard(hr_call* raw, void (*body)(Call&)) {
  try {
    Call call(raw);
    body(call);
    return 0;
  } catch (const std::bad_alloc&) { raw->fail(raw, "out of memory"); } catch (const std::exception& e) {
    raw->fail(raw, e.what());
  } catch (...) { raw->fail(raw, "unknown exception"); }
  return 1;
}

}  // namespace onnx_ops::external
