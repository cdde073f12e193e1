// Loads and stores of blocks of lanes, every one bounds-checked: an affine access once per statement or per run of lanes,
// any other lane by lane.
#include <array>
#include <cmath>
#include <cstring>

#include "backends/interpreter/executor.h"
#include "ir/analysis/type_inference.h"
#include "runtime/hr_float.h"
#include "runtime/hr_scalar.h"

namespace headrace::interpreter {
namespace {

std::array<double, 256> MakeTable(DType t) {
  std::array<double, 256> r{};
  for (int b = 0; b < 256; ++b) r[b] = DecodeFloat(t, static_cast<uint32_t>(b));
  return r;
}
template <DType t>
double Decode8(uint8_t b) {
  static const std::array<double, 256> kTable = MakeTable(t);
  return kTable[b];
}

// How one dtype is kept in memory: Stored, and its conversion to and from the register's type.
template <typename S, typename R>
struct Plain {
  using Stored = S;
  static R Get(S v) { return static_cast<R>(v); }
  static S Put(R v) { return static_cast<S>(v); }
};
struct Bool {
  using Stored = uint8_t;
  static int64_t Get(uint8_t v) { return v != 0; }
  static uint8_t Put(int64_t v) { return v != 0; }
};
struct Half {
  using Stored = uint16_t;
  static double Get(uint16_t v) { return hr_f16_to_f32(v); }
  static uint16_t Put(double v) { return hr_f64_to_f16(v); }
};
struct BFloat {
  using Stored = uint16_t;
  static double Get(uint16_t v) { return hr_bf16_to_f32(v); }
  // The hardware's rounding to f32 tells whether denormals are zero now: those of bf16 are those of f32.
  static uint16_t Put(double v) { return static_cast<float>(v) == 0 ? hr_f64_to_bf16(std::copysign(0.0, v)) : hr_f64_to_bf16(v); }
};
template <DType t>
struct Small {
  using Stored = uint8_t;
  static double Get(uint8_t v) { return Decode8<t>(v); }
  static uint8_t Put(double v) { return static_cast<uint8_t>(EncodeFloat(t, v)); }
};

// Calls fn with the storage traits of a float or integer dtype.
template <typename Fn>
void WithStorage(DType t, Fn&& fn) {
  switch (t) {
    case DType::kBool: return fn(Bool());
    case DType::kU2:
    case DType::kU4:
    case DType::kU8: return fn(Plain<uint8_t, int64_t>());
    case DType::kI2:
    case DType::kI4:
    case DType::kI8: return fn(Plain<int8_t, int64_t>());
    case DType::kU16: return fn(Plain<uint16_t, int64_t>());
    case DType::kI16: return fn(Plain<int16_t, int64_t>());
    case DType::kU32: return fn(Plain<uint32_t, int64_t>());
    case DType::kI32: return fn(Plain<int32_t, int64_t>());
    case DType::kU64: return fn(Plain<uint64_t, int64_t>());
    case DType::kI64: return fn(Plain<int64_t, int64_t>());
    case DType::kF4E2M1: return fn(Small<DType::kF4E2M1>());
    case DType::kF8E4M3FN: return fn(Small<DType::kF8E4M3FN>());
    case DType::kF8E4M3FNUZ: return fn(Small<DType::kF8E4M3FNUZ>());
    case DType::kF8E5M2: return fn(Small<DType::kF8E5M2>());
    case DType::kF8E5M2FNUZ: return fn(Small<DType::kF8E5M2FNUZ>());
    case DType::kF8E8M0: return fn(Small<DType::kF8E8M0>());
    case DType::kF16: return fn(Half());
    case DType::kBF16: return fn(BFloat());
    case DType::kF32: return fn(Plain<float, double>());
    case DType::kF64: return fn(Plain<double, double>());
    default: HR_CHECK(false, "no storage for " + std::string(DTypeName(t)));
  }
}

// `stride` in elements; lanes [0, n) of consecutive points.
template <typename Real>
void LoadComplex(const char* data, int64_t offset, int64_t stride, int n, double* re, double* im) {
  const Real* p = reinterpret_cast<const Real*>(data) + 2 * offset;
  for (int l = 0; l < n; ++l) {
    re[l] = p[2 * l * stride];
    im[l] = p[2 * l * stride + 1];
  }
}

template <typename R>
R Combine(WriteOp op, R a, R b) {
  switch (op) {
    case WriteOp::kAdd: return a + b;
    case WriteOp::kMul: return a * b;
    case WriteOp::kMax: return b != b || b > a ? b : a;  // of equal ones (0 and -0), that which is there
    case WriteOp::kMin: return b != b || b < a ? b : a;
    case WriteOp::kAssign: break;
  }
  return b;
}
int64_t CombineInt(DType t, WriteOp op, int64_t a, int64_t b) {
  if (t == DType::kBool) return op == WriteOp::kAdd || op == WriteOp::kMax ? a | b : op == WriteOp::kAssign ? b : a & b;
  if (t == DType::kU64 && (op == WriteOp::kMax || op == WriteOp::kMin)) {
    return static_cast<int64_t>(Combine(op, static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
  if (op == WriteOp::kAdd) return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  if (op == WriteOp::kMul) return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  return Combine(op, a, b);
}
// Sub-byte integers take a whole byte: only there does storing not wrap by itself.
int64_t WrapSubByte(DType t, int64_t v) {
  switch (t) {
    case DType::kU2: return v & 3;
    case DType::kU4: return v & 15;
    case DType::kI2: return static_cast<int64_t>(static_cast<uint64_t>(v) << 62) >> 62;
    case DType::kI4: return static_cast<int64_t>(static_cast<uint64_t>(v) << 60) >> 60;
    default: return v;
  }
}

// Writes n lanes; a stride of 0 accumulates in the register and rounds once.
void StoreStrided(DType t, char* data, int64_t offset, int64_t stride, int n, WriteOp op, const double* f,
                  const int64_t* i) {
  WithStorage(t, [&](auto s) {
    using S = decltype(s);
    auto* p = reinterpret_cast<typename S::Stored*>(data) + offset;
    using R = decltype(S::Get(*p));
    auto combine = [&](R a, R b) {
      if constexpr (std::is_same_v<R, double>) return Combine(op, a, b);
      else return CombineInt(t, op, a, b);
    };
    const R* v;
    if constexpr (std::is_same_v<R, double>) v = f;
    else v = i;
    if (op == WriteOp::kAssign) {
      if constexpr (!std::is_same_v<R, double>) {
        if (t == DType::kU2 || t == DType::kU4 || t == DType::kI2 || t == DType::kI4) {
          for (int l = 0; l < n; ++l) p[l * stride] = S::Put(WrapSubByte(t, v[l]));
          return;
        }
      }
      if (stride == 1)
        for (int l = 0; l < n; ++l) p[l] = S::Put(v[l]);
      else
        for (int l = 0; l < n; ++l) p[l * stride] = S::Put(v[l]);
    } else if (stride == 0) {
      R acc = S::Get(*p);
      if constexpr (std::is_same_v<R, double>) {
        if (op == WriteOp::kAdd)
          for (int l = 0; l < n; ++l) acc += v[l];
        else
          for (int l = 0; l < n; ++l) acc = Combine(op, acc, v[l]);
        *p = S::Put(acc);
      } else {
        for (int l = 0; l < n; ++l) acc = combine(acc, v[l]);
        *p = S::Put(WrapSubByte(t, acc));
      }
    } else {
      for (int l = 0; l < n; ++l) {
        R r = combine(S::Get(p[l * stride]), v[l]);
        if constexpr (!std::is_same_v<R, double>) r = WrapSubByte(t, r);
        p[l * stride] = S::Put(r);
      }
    }
  });
}

template <typename Real>
void StoreComplex(char* data, int64_t offset, int64_t stride, int n, WriteOp op, const double* re, const double* im) {
  for (int l = 0; l < n; ++l) {
    Real* p = reinterpret_cast<Real*>(data) + 2 * (offset + l * stride);
    if (op == WriteOp::kAssign) {
      p[0] = static_cast<Real>(re[l]);
      p[1] = static_cast<Real>(im[l]);
    } else if (op == WriteOp::kAdd) {
      p[0] = static_cast<Real>(p[0] + re[l]);
      p[1] = static_cast<Real>(p[1] + im[l]);
    } else {
      const double a = p[0], b = p[1];
      p[0] = static_cast<Real>(a * re[l] - b * im[l]);
      p[1] = static_cast<Real>(a * im[l] + b * re[l]);
    }
  }
}

}  // namespace

int64_t StoredSize(DType t) { return t == DType::kString ? static_cast<int64_t>(sizeof(std::string)) : ByteSize(t); }

bool Executor::OutOfRange(Frame& f, const Access& a, const At& at, const std::vector<int64_t>& index) {
  std::string where, shape;
  for (int64_t i : index) where += (where.empty() ? "" : ", ") + std::to_string(i);
  if (a.flat) {
    shape = std::to_string(at.slot->elements) + " elements";
  } else {
    for (int64_t d : at.slot->shape) shape += (shape.empty() ? "[" : ", ") + std::to_string(d);
    shape = "its shape " + (shape.empty() ? "[]" : shape + "]");
  }
  Diagnostic d;
  const std::string name = f.plan->slots[a.slot].container->name.str();
  d.code = "E0650";
  d.message = "index out of range: " + name + (a.flat ? ".flat[" : "[") + where + "] is outside " + shape;
  d.hint = "a read that may fall outside is written X[i] ?? default, a write X[i] ?? = value";
  return Fail(Status(std::move(d)));
}

// Evaluates what stays the same during the statement, and decides whether every point is inside.
bool Executor::Prepare(Frame& f, const Access& a, At* at) {
  const Slot& s = f.slots[a.slot];
  at->slot = &s;
  at->data = s.data;
  at->dtype = s.dtype;
  at->inside = false;
  if (s.state == Slot::kAbsent) {
    if (a.guarded) return true;
    return Fail(
        InvalidError("E0664",
                     "parameter " + f.plan->slots[a.slot].container->name.str() + " is absent and read without ??"));
  }
  const int rank = static_cast<int>(s.shape.size());
  at->dims = static_cast<int>(a.affine ? a.base.size() : a.index.size());
  if (at->dims != (a.flat ? 1 : rank)) {
    return Fail(InternalError("access of " + f.plan->slots[a.slot].container->name.str() + " with " +
                              std::to_string(at->dims) + " indices, rank " + std::to_string(rank)));
  }
  if (!a.affine) return true;
  const int depth = static_cast<int>(begin_.size());
  at->base = pool_.size();
  at->coef = at->base + at->dims;
  at->lin = at->coef + static_cast<size_t>(at->dims) * depth;
  pool_.resize(at->lin + depth);
  at->inside = !a.flat || s.contiguous;
  at->lin_base = 0;
  for (int k = 0; k < depth; ++k) pool_[at->lin + k] = 0;
  for (int d = 0; d < at->dims; ++d) {
    int64_t base;
    if (!EvalIndex(f, a.base[d], &base)) return false;
    pool_[at->base + d] = base;
    const int64_t stride = a.flat ? 1 : s.strides[d], extent = a.flat ? s.elements : s.shape[d];
    __int128 low = base, high = base;
    at->lin_base = hr_add(at->lin_base, hr_mul(base, stride));
    for (int k = 0; k < depth; ++k) {
      int64_t c;
      if (!EvalIndex(f, a.coef[d][k], &c)) return false;
      pool_[at->coef + static_cast<size_t>(d) * depth + k] = c;
      if (c == 0) continue;
      pool_[at->lin + k] = hr_add(pool_[at->lin + k], hr_mul(c, stride));
      const __int128 first = static_cast<__int128>(c) * begin_[k];
      const __int128 last = static_cast<__int128>(c) * (begin_[k] + (count_[k] - 1) * step_[k]);
      low += std::min(first, last);
      high += std::max(first, last);
    }
    at->inside &= low >= 0 && high < extent;
  }
  return true;
}

bool Executor::Offsets(Frame& f, const Access& a, const At& at, const Block& b, int run, int64_t* offsets,
                       int64_t* valid) {
  const Slot& s = *at.slot;
  const int depth = static_cast<int>(b.run_index.size() / kLanes);
  const int lane0 = b.run_lane[run], n = b.run_length[run];
  const int64_t* start = b.run_index.data() + static_cast<size_t>(run) * depth;
  const int64_t* mask = a.mask >= 0 ? I(a.mask) : nullptr;
  index_.resize(at.dims);
  std::vector<int64_t>& index = index_;
  for (int l = 0; l < n; ++l) {
    const int lane = lane0 + l;
    offsets[lane] = 0;
    valid[lane] = 1;
    if (mask != nullptr && !mask[lane]) {
      valid[lane] = 0;
      continue;
    }
    bool inside = true;
    for (int d = 0; d < at.dims; ++d) {
      int64_t i;
      if (a.affine) {
        i = pool_[at.base + d];
        const int64_t* c = pool_.data() + at.coef + static_cast<size_t>(d) * depth;
        for (int k = 0; k < depth; ++k) i = hr_add(i, hr_mul(c[k], k + 1 == depth ? I(k)[lane] : start[k]));
      } else {
        i = I(a.index[d])[lane];
      }
      index[d] = i;
      const int64_t extent = a.flat ? s.elements : s.shape[d];
      inside &= static_cast<uint64_t>(i) < static_cast<uint64_t>(extent);
      offsets[lane] += inside ? i * (a.flat ? 1 : s.strides[d]) : 0;
    }
    if (inside && a.flat && !s.contiguous) {  // a number in row-major order
      int64_t rest = index[0];
      offsets[lane] = 0;
      for (int d = static_cast<int>(s.shape.size()) - 1; d >= 0; --d) {
        offsets[lane] += rest % s.shape[d] * s.strides[d];
        rest /= s.shape[d];
      }
    }
    if (!inside) {
      if (!a.guarded) return OutOfRange(f, a, at, index);
      valid[lane] = 0;
      offsets[lane] = 0;
    }
  }
  return true;
}

// Affine accesses that leave the container somewhere: is this run of lanes inside, and where does it begin?
bool Executor::RunInside(const Access& a, const At& at, const Block& b, int run, int64_t* offset) const {
  const Slot& s = *at.slot;
  if (!a.affine || (a.flat && !s.contiguous)) return false;
  const int depth = static_cast<int>(b.run_index.size() / kLanes);
  const int64_t* start = b.run_index.data() + static_cast<size_t>(run) * depth;
  *offset = 0;
  for (int d = 0; d < at.dims; ++d) {
    const int64_t* c = pool_.data() + at.coef + static_cast<size_t>(d) * depth;
    int64_t first = pool_[at.base + d];
    for (int k = 0; k < depth; ++k) first = hr_add(first, hr_mul(c[k], start[k]));
    const int64_t last = depth == 0 ? first : hr_add(first, hr_mul(c[depth - 1], (b.run_length[run] - 1) * step_last_));
    const uint64_t extent = static_cast<uint64_t>(a.flat ? s.elements : s.shape[d]);
    if (static_cast<uint64_t>(first) >= extent || static_cast<uint64_t>(last) >= extent) return false;
    *offset += first * (a.flat ? 1 : s.strides[d]);
  }
  return true;
}

bool Executor::Load(Frame& f, const Access& a, const At& at, const Block& b, uint16_t dst) {
  const DType t = at.dtype;
  const bool complex = IsComplex(t), string = t == DType::kString;
  const int depth = static_cast<int>(b.run_index.size() / kLanes);
  if (at.slot->state == Slot::kAbsent) {
    for (int l = 0; l < b.lanes; ++l) I(a.valid)[l] = 0, I(dst)[l] = 0;
    if (complex) std::memset(F(dst + 1), 0, sizeof(double) * kLanes);
    return true;
  }
  if (at.inside) {
    if (a.guarded)
      for (int l = 0; l < b.lanes; ++l) I(a.valid)[l] = 1;
    const int64_t stride = depth == 0 ? 0 : pool_[at.lin + depth - 1] * step_last_;
    auto each_run = [&](auto&& fn) {
      for (int r = 0; r < b.runs; ++r) {
        int64_t offset = at.lin_base;
        for (int k = 0; k < depth; ++k) offset += pool_[at.lin + k] * b.run_index[static_cast<size_t>(r) * depth + k];
        fn(offset, b.run_lane[r], b.run_length[r]);
      }
    };
    if (string) {
      each_run([&](int64_t offset, int lane, int n) {
        for (int l = 0; l < n; ++l)
          S(dst)[lane + l] = reinterpret_cast<const std::string*>(at.data) + offset + l * stride;
      });
    } else if (complex) {
      each_run([&](int64_t offset, int lane, int n) {
        if (t == DType::kC64) LoadComplex<float>(at.data, offset, stride, n, F(dst) + lane, F(dst + 1) + lane);
        else LoadComplex<double>(at.data, offset, stride, n, F(dst) + lane, F(dst + 1) + lane);
      });
    } else {
      WithStorage(t, [&](auto s) {
        using St = decltype(s);
        using R = decltype(St::Get(typename St::Stored{}));
        R* out = reinterpret_cast<R*>(I(dst));
        each_run([&](int64_t offset, int lane, int n) {
          const auto* p = reinterpret_cast<const typename St::Stored*>(at.data) + offset;
          R* o = out + lane;
          if (stride == 1)
            for (int l = 0; l < n; ++l) o[l] = St::Get(p[l]);
          else if (stride == 0) {
            const R v = St::Get(*p);
            for (int l = 0; l < n; ++l) o[l] = v;
          } else
            for (int l = 0; l < n; ++l) o[l] = St::Get(p[l * stride]);
        });
      });
    }
    return true;
  }
  int64_t offsets[kLanes], valid[kLanes];
  for (int r = 0; r < b.runs; ++r) {
    int64_t offset;
    if (RunInside(a, at, b, r, &offset)) {
      const int64_t stride = depth == 0 ? 0 : pool_[at.lin + depth - 1] * step_last_;
      const int lane = b.run_lane[r], n = b.run_length[r];
      for (int l = 0; l < n; ++l) offsets[lane + l] = offset + l * stride;
      for (int l = 0; l < n; ++l) valid[lane + l] = 1;
    } else if (!Offsets(f, a, at, b, r, offsets, valid)) {
      return false;
    }
  }
  const int64_t* mask = a.mask >= 0 ? I(a.mask) : nullptr;
  if (string) {
    for (int l = 0; l < b.lanes; ++l)
      S(dst)[l] = valid[l] ? reinterpret_cast<const std::string*>(at.data) + offsets[l] : nullptr;
  } else if (complex) {
    for (int l = 0; l < b.lanes; ++l) {
      F(dst)[l] = F(dst + 1)[l] = 0;
      if (!valid[l]) continue;
      if (t == DType::kC64) LoadComplex<float>(at.data, offsets[l], 0, 1, F(dst) + l, F(dst + 1) + l);
      else LoadComplex<double>(at.data, offsets[l], 0, 1, F(dst) + l, F(dst + 1) + l);
    }
  } else {
    WithStorage(t, [&](auto s) {
      using St = decltype(s);
      using R = decltype(St::Get(typename St::Stored{}));
      R* out = reinterpret_cast<R*>(I(dst));
      const auto* p = reinterpret_cast<const typename St::Stored*>(at.data);
      for (int l = 0; l < b.lanes; ++l) out[l] = valid[l] ? St::Get(p[offsets[l]]) : R{0};
    });
  }
  if (a.guarded)
    for (int l = 0; l < b.lanes; ++l) I(a.valid)[l] = valid[l] | (mask != nullptr && !mask[l]);
  return true;
}

bool Executor::Store(Frame& f, const Access& a, const At& at, const Block& b, WriteOp op, const Code& code) {
  const DType t = at.dtype;
  const int depth = static_cast<int>(b.run_index.size() / kLanes);
  auto put = [&](int64_t offset, int64_t stride, int lane, int n) {
    if (t == DType::kString) {
      std::string* p = reinterpret_cast<std::string*>(at.data);
      for (int l = 0; l < n; ++l) {
        const std::string* v = S(code.result)[lane + l];
        if (v != nullptr) p[offset + l * stride] = *v;
        else p[offset + l * stride].clear();
      }
    } else if (t == DType::kC64) {
      StoreComplex<float>(at.data, offset, stride, n, op, F(code.result) + lane, F(code.result + 1) + lane);
    } else if (t == DType::kC128) {
      StoreComplex<double>(at.data, offset, stride, n, op, F(code.result) + lane, F(code.result + 1) + lane);
    } else {
      StoreStrided(t, at.data, offset, stride, n, op, F(code.result) + lane, I(code.result) + lane);
    }
  };
  if (at.inside) {
    const int64_t stride = depth == 0 ? 0 : pool_[at.lin + depth - 1] * step_last_;
    for (int r = 0; r < b.runs; ++r) {
      int64_t offset = at.lin_base;
      for (int k = 0; k < depth; ++k) offset += pool_[at.lin + k] * b.run_index[static_cast<size_t>(r) * depth + k];
      put(offset, stride, b.run_lane[r], b.run_length[r]);
    }
    return true;
  }
  int64_t offsets[kLanes], valid[kLanes];
  for (int r = 0; r < b.runs; ++r)
    if (!Offsets(f, a, at, b, r, offsets, valid)) return false;
  for (int l = 0; l < b.lanes; ++l)
    if (valid[l]) put(offsets[l], 0, l, 1);
  return true;
}

// In the order of the text, each result rounded as what computes with it rounds; the first lane is left.
void Executor::FoldHalves(const Stmt& s, Block* b) {
  double* r = F(s.code.result);
  const bool single = ComputeType(s.target_type) == DType::kF32;
  const auto rounded = [&](double v) { return single ? static_cast<double>(static_cast<float>(v)) : v; };
  for (int u = 0; u < b->lanes; ++u) r[u] = rounded(r[u]);
  for (int half = b->lanes / 2; half > 0; half /= 2)
    for (int u = 0; u < half; ++u) r[u] = rounded(Combine(s.op, r[u], r[u + half]));
  b->lanes = b->runs = b->run_length[0] = 1;
}

}  // namespace headrace::interpreter
