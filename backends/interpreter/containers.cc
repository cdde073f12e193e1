// Containers while a program runs: memory for transients, places of views, what changes when a symbol does.
#include <cstring>

#include "backends/interpreter/executor.h"
#include "ir/analysis/layout.h"
#include "runtime/hr_scalar.h"

namespace headrace::interpreter {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

void SetRowMajor(Slot* s) {
  s->strides.assign(s->shape.size(), 1);
  for (size_t d = s->shape.size(); d-- > 1;) s->strides[d - 1] = hr_mul(s->strides[d], s->shape[d]);
  s->contiguous = true;
}

}  // namespace

void FindContiguous(Slot* s) {
  int64_t expected = 1;
  s->contiguous = true;
  for (size_t d = s->shape.size(); d-- > 0;) {
    if (s->shape[d] != 1) s->contiguous &= s->strides[d] == expected;
    expected = hr_mul(expected, s->shape[d]);
  }
}

Slot SlotOf(const Tensor& t) {
  Slot s;
  s.state = Slot::kReady;
  s.dtype = t.dtype;
  s.shape = t.shape;
  s.elements = t.elements();
  s.data = t.dtype == DType::kString ? reinterpret_cast<char*>(t.strings ? t.strings->data() : nullptr)
           : t.data                  ? t.data->data()
                                     : nullptr;
  s.owner = t;
  SetRowMajor(&s);
  return s;
}

bool Executor::SetSymbol(Frame& f, int symbol, int64_t value) {
  if (f.known[symbol] && f.symbols[symbol] == value) return true;
  f.symbols[symbol] = value;
  f.known[symbol] = 1;
  for (int k :
       f.plan->dependents[symbol]) {  // what lies elsewhere or has another size now is found again at its next use
    Slot& s = f.slots[k];
    const SlotPlan& p = f.plan->slots[k];
    if (s.state != Slot::kReady || p.parameter >= 0) continue;
    if (p.base < 0 && p.container->kind == ContainerKind::kTransient) {
      bool same = true;
      for (size_t d = 0; d < p.shape.size() && same; ++d) {
        int64_t v;
        if (!EvalIndex(f, p.shape[d], &v)) return false;
        same = v == s.shape[d];
      }
      if (same) continue;
    }
    s.state = Slot::kUnset;
  }
  return true;
}

bool Executor::ResolveView(Frame& f, int k) {
  const SlotPlan& p = f.plan->slots[k];
  if (!Ready(f, p.base)) return false;
  const Slot& base = f.slots[p.base];
  Slot& s = f.slots[k];
  const std::string name = p.container->name.str();
  if (base.state == Slot::kAbsent) {
    s.state = Slot::kAbsent;
    s.dtype = p.container->dtype;
    return true;
  }
  int64_t offset;
  if (!EvalIndex(f, p.offset, &offset)) return false;
  s.shape.resize(p.shape.size());
  for (size_t d = 0; d < p.shape.size(); ++d)
    if (!EvalIndex(f, p.shape[d], &s.shape[d])) return false;
  int64_t count = 1;
  for (int64_t d : s.shape) {
    if (d < 0) return Fail(InvalidError("E0651", "view " + name + " would have the shape " + ShapeText(s.shape)));
    if (__builtin_mul_overflow(count, d, &count))
      return Fail(InvalidError("E0651", "view " + name + " of shape " + ShapeText(s.shape) + " is too large"));
  }
  s.elements = count;
  SetRowMajor(&s);
  if (!p.strides.empty()) {
    for (size_t d = 0; d < p.strides.size(); ++d)
      if (!EvalIndex(f, p.strides[d], &s.strides[d])) return false;
    FindContiguous(&s);
  }
  // The base is counted in its own memory; a base that is itself strided shows memory up to its last element.
  __int128 low = offset, high = offset, last = 0;
  for (size_t d = 0; d < s.shape.size(); ++d) {
    const __int128 reach = static_cast<__int128>(s.strides[d]) * (s.shape[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  for (size_t d = 0; d < base.shape.size(); ++d) last += static_cast<__int128>(base.strides[d]) * (base.shape[d] - 1);
  if (count > 0 && (low < 0 || base.elements == 0 || high > last)) {
    return Fail(InvalidError("E0651",
                             "view " + name + " reaches outside its base " + p.container->base.str() + ": elements " +
                             std::to_string(static_cast<int64_t>(low)) + " to " +
                             std::to_string(static_cast<int64_t>(high)) + " of " +
                             std::to_string(static_cast<int64_t>(last + 1))));
  }
  s.dtype = base.dtype;
  if (p.container->dtype != base.dtype) {
    if (StoredSize(p.container->dtype) != StoredSize(base.dtype)) {
      return Fail(
          UnsupportedError("E0684",
                           "view " + name + " has elements of another size than its base " + p.container->base.str()));
    }
    s.dtype = p.container->dtype;
  }
  s.data = base.data + (count > 0 ? offset : 0) * StoredSize(base.dtype);
  s.owner = base.owner;
  s.state = Slot::kReady;
  return true;
}

bool Executor::Bind(Frame& f, int k) {
  const SlotPlan& p = f.plan->slots[k];
  const Container& c = *p.container;
  Slot& s = f.slots[k];
  if (p.sequence) {
    s.sequence = std::make_shared<Value>();
    if (c.type.kind == ValueType::kSequence) s.sequence->kind = Value::kSequence;
    s.state = Slot::kReady;
    return true;
  }
  if (c.kind == ContainerKind::kView) return ResolveView(f, k);
  if (c.kind == ContainerKind::kConstant) {
    Result<Tensor> data = InMemory(c);
    if (!data.ok()) return Fail(WithNode(data.status(), c.name.str()));
    s = SlotOf(*data);
    for (size_t d = 0; d < p.strides.size(); ++d)
      if (!EvalIndex(f, p.strides[d], &s.strides[d])) return false;
    FindContiguous(&s);
    return true;
  }
  std::vector<int64_t> shape(p.shape.size());
  for (size_t d = 0; d < shape.size(); ++d)
    if (!EvalIndex(f, p.shape[d], &shape[d])) return false;
  // A padded or permuted layout takes as much memory as its last element reaches.
  std::vector<int64_t> strides(p.strides.size());
  std::vector<int64_t> memory = shape;
  bool empty = false;
  for (int64_t d : shape) empty |= d == 0;
  if (!strides.empty() && !empty) {
    __int128 last = 0;
    for (size_t d = 0; d < strides.size(); ++d) {
      if (!EvalIndex(f, p.strides[d], &strides[d])) return false;
      if (strides[d] < 0) return Fail(UnsupportedError("E0684",
                                                       "container " + c.name.str() + " has a negative stride"));
      last += static_cast<__int128>(strides[d]) * (shape[d] - 1);
    }
    memory = {last >= INT64_MAX ? INT64_MAX : static_cast<int64_t>(last) + 1};
  }
  Tensor t;
  if (c.kind == ContainerKind::kState) {
    Tensor& kept = state_->tensors[{f.plan, k}];
    if (kept.dtype == DType::kNone || kept.shape != memory) {
      if (c.data.dtype != DType::kNone && c.data.shape == memory) {
        Result<Tensor> copy = Tensor::Create(c.dtype, memory);
        if (!copy.ok()) return Fail(WithNode(copy.status(), c.name.str()));
        kept = *copy;
        if (c.dtype == DType::kString) *kept.strings = *c.data.strings;
        else std::memcpy(kept.data->data(), c.data.data->data(), static_cast<size_t>(kept.bytes()));
      } else {
        Result<Tensor> fresh = Tensor::Create(c.dtype, memory);
        if (!fresh.ok()) return Fail(WithNode(fresh.status(), c.name.str()));
        kept = *fresh;
        if (c.dtype != DType::kString) std::memset(kept.data->data(), 0, static_cast<size_t>(kept.bytes()));
      }
    }
    t = kept;
  } else {
    Result<Tensor> fresh = Tensor::Create(c.dtype, memory);
    if (!fresh.ok()) return Fail(WithNode(fresh.status(), c.name.str()));
    t = std::move(*fresh);
    // What is read before it was written shows: NaN in floats, -1 in integers.
    if (c.dtype != DType::kString) std::memset(t.data->data(), 0xff, static_cast<size_t>(t.bytes()));
  }
  s = SlotOf(t);
  if (!strides.empty() && !empty) {
    s.shape = shape;
    s.strides = strides;
    s.elements = 1;
    for (int64_t d : shape) s.elements *= d;
    FindContiguous(&s);
  }
  return true;
}

void Executor::Release(Frame& f, const std::vector<int>& slots) {
  for (int k : slots) {
    f.slots[k] = Slot();
    for (int view : f.plan->slots[k].views) f.slots[view] = Slot();  // they hold the memory too
  }
}

bool Executor::Ready(Frame& f, int slot) { return f.slots[slot].state != Slot::kUnset || Bind(f, slot); }

}  // namespace headrace::interpreter
