// The instructions: each works on a whole block of lanes. Nothing here can trap; masks matter to accesses only.
#include <cmath>
#include <complex>

#include "backends/interpreter/executor.h"
#include "runtime/hr_float.h"
#include "runtime/hr_scalar.h"

namespace headrace::interpreter {
namespace {

using Complex = std::complex<double>;

double RoundTo(DType t, double v, bool saturate) {
  switch (t) {
    case DType::kF32: {
      const float f = static_cast<float>(v);
      return saturate && std::isinf(f) ? std::copysign(3.4028234663852886e38, v) : f;
    }
    case DType::kF16: return hr_f16_to_f32(static_cast<uint16_t>(hr_encode(&hr_format_f16, v, saturate)));
    case DType::kBF16: return hr_bf16_to_f32(static_cast<uint16_t>(hr_encode(&hr_format_bf16, v, saturate)));
    default: return DecodeFloat(t, EncodeFloat(t, v, saturate));
  }
}

template <typename T, typename Fn>
inline void Each1(T* __restrict d, const T* a, int n, Fn fn) {
#pragma GCC ivdep
  for (int l = 0; l < n; ++l) d[l] = fn(a[l]);
}

}  // namespace

bool Executor::Prologue(Frame& f, const Code& c, int lanes) {
  for (const Instr& i : c.prologue) {
    switch (i.op) {
      case Opc::kConstF: {
        for (int l = 0; l < lanes; ++l) F(i.dst)[l] = i.f;
        break;
      }
      case Opc::kConstI: {
        for (int l = 0; l < lanes; ++l) I(i.dst)[l] = i.imm;
        break;
      }
      default: {
        if (!f.known[i.imm])
          return Fail(InvalidError("E0656",
                                   "size symbol " + f.plan->symbols[i.imm].str() + " is used before it has a value"));
        for (int l = 0; l < lanes; ++l) I(i.dst)[l] = f.symbols[i.imm];
      }
    }
  }
  return true;
}

// Lane loops: `d` may be `a` or `b` themselves (same lane), never partly overlapping.
#define HR_LOOP(expr)                                    \
  _Pragma("GCC ivdep") for (int l = 0; l < n; ++l) expr; \
  break
#define HR_F1(op, e)          \
  case Opc::op: {             \
    double* d = F(i.dst);     \
    const double* a = F(i.a); \
    HR_LOOP(d[l] = (e));      \
  }
#define HR_F2(op, e)                       \
  case Opc::op: {                          \
    double* d = F(i.dst);                  \
    const double *a = F(i.a), *b = F(i.b); \
    HR_LOOP(d[l] = (e));                   \
  }
#define HR_FB(op, e)                       \
  case Opc::op: {                          \
    int64_t* d = I(i.dst);                 \
    const double *a = F(i.a), *b = F(i.b); \
    static_cast<void>(b);                  \
    HR_LOOP(d[l] = (e));                   \
  }
#define HR_I1(op, e)           \
  case Opc::op: {              \
    int64_t* d = I(i.dst);     \
    const int64_t* a = I(i.a); \
    HR_LOOP(d[l] = (e));       \
  }
#define HR_I2(op, e)                        \
  case Opc::op: {                           \
    int64_t* d = I(i.dst);                  \
    const int64_t *a = I(i.a), *b = I(i.b); \
    HR_LOOP(d[l] = (e));                    \
  }
#define HR_U2(op, e)                                                                                   \
  case Opc::op: {                                                                                      \
    uint64_t* d = reinterpret_cast<uint64_t*>(I(i.dst));                                               \
    const uint64_t *a = reinterpret_cast<uint64_t*>(I(i.a)), *b = reinterpret_cast<uint64_t*>(I(i.b)); \
    HR_LOOP(d[l] = (e));                                                                               \
  }
#define HR_C(op, e)                                                              \
  case Opc::op: {                                                                \
    double *dr = F(i.dst), *di = F(i.dst + 1);                                   \
    const double *ar = F(i.a), *ai = F(i.a + 1), *br = F(i.b), *bi = F(i.b + 1); \
    for (int l = 0; l < n; ++l) {                                                \
      const Complex a(ar[l], ai[l]), b(br[l], bi[l]), r = (e);                   \
      static_cast<void>(b);                                                      \
      dr[l] = r.real();                                                          \
      di[l] = r.imag();                                                          \
    }                                                                            \
    break;                                                                       \
  }

bool Executor::Execute(Frame& f, const Code& c, const Block& block) {
  const int n = block.lanes;
  for (size_t pc = 0; pc < c.instrs.size(); ++pc) {
    const Instr& i = c.instrs[pc];
    switch (i.op) {
      HR_F1(kNegF, -a[l])
      HR_F1(kAbsF, std::fabs(a[l]))
      HR_F1(kSignF, a[l] > 0 ? 1.0 : a[l] < 0 ? -1.0 : a[l] == 0 ? 0.0 : a[l])
      case Opc::kFn1: {
        auto* fn = reinterpret_cast<double (*)(double)>(const_cast<void*>(i.fn));
        double* d = F(i.dst);
        const double* a = F(i.a);
        for (int l = 0; l < n; ++l) d[l] = fn(a[l]);
        break;
      }
      case Opc::kFn2: {
        auto* fn = reinterpret_cast<double (*)(double, double)>(const_cast<void*>(i.fn));
        double* d = F(i.dst);
        const double *a = F(i.a), *b = F(i.b);
        for (int l = 0; l < n; ++l) d[l] = fn(a[l], b[l]);
        break;
      }
      case Opc::kFma: {
        double* d = F(i.dst);
        const double *a = F(i.a), *b = F(i.b), *e = F(i.c);
        if (i.imm) { HR_LOOP(d[l] = std::fma(static_cast<float>(a[l]), static_cast<float>(b[l]), static_cast<float>(e[l]))); }
        HR_LOOP(d[l] = std::fma(a[l], b[l], e[l]));
      }
        HR_F2(kAddF, a[l] + b[l])
        HR_F2(kSubF, a[l] - b[l])
        HR_F2(kMulF, a[l] * b[l])
        HR_F2(kDivF, a[l] / b[l])
        HR_F2(kFloorDivF, std::floor(a[l] / b[l]))
        HR_F2(kModF, hr_floor_mod_f64(a[l], b[l]))
        HR_F2(kMinF, a[l] != a[l] || a[l] < b[l] ? a[l] : b[l])
        HR_F2(kMaxF, a[l] != a[l] || a[l] > b[l] ? a[l] : b[l])
        HR_FB(kEqF, a[l] == b[l])
        HR_FB(kNeF, a[l] != b[l])
        HR_FB(kLtF, a[l] < b[l])
        HR_FB(kLeF, a[l] <= b[l])
        HR_FB(kIsNan, a[l] != a[l])
        HR_FB(kIsInf, std::isinf(a[l]))
        HR_I1(kNegI, hr_neg(a[l]))
        HR_I1(kAbsI, hr_abs(a[l]))
        HR_I1(kSignI, (a[l] > 0) - (a[l] < 0))
        HR_I1(kSignU, a[l] != 0)
        HR_I1(kNotI, ~a[l])
        HR_I2(kAddI, hr_add(a[l], b[l]))
        HR_I2(kSubI, hr_sub(a[l], b[l]))
        HR_I2(kMulI, hr_mul(a[l], b[l]))
        HR_I2(kDivI, hr_div_trunc(a[l], b[l]))
        HR_I2(kFloorDivI, hr_floor_div(a[l], b[l]))
        HR_I2(kModI, hr_floor_mod(a[l], b[l]))
        HR_I2(kRemI, hr_rem_trunc(a[l], b[l]))
        HR_U2(kDivU, hr_udiv(a[l], b[l]))
        HR_U2(kModU, hr_umod(a[l], b[l]))
        HR_I2(kMinI, a[l] < b[l] ? a[l] : b[l])
        HR_I2(kMaxI, a[l] > b[l] ? a[l] : b[l])
        HR_U2(kMinU, a[l] < b[l] ? a[l] : b[l])
        HR_U2(kMaxU, a[l] > b[l] ? a[l] : b[l])
        HR_I2(kShl, hr_shl(a[l], b[l]))
        HR_I2(kShr, hr_shr(a[l], b[l]))
        HR_I2(kShrU, static_cast<int64_t>(hr_ushr(static_cast<uint64_t>(a[l]), b[l])))
        HR_I2(kAndI, a[l] & b[l])
        HR_I2(kOrI, a[l] | b[l])
        HR_I2(kXorI, a[l] ^ b[l])
        HR_I2(kPowI, hr_ipow(a[l], b[l]))
        HR_I1(kPopcount, __builtin_popcountll(static_cast<uint64_t>(a[l]) & (~uint64_t{0} >> (64 - i.imm))))
        HR_I2(kWrapIndex, hr_wrap(a[l], b[l]))
        HR_I2(kReflect, hr_reflect(a[l], b[l]))
        HR_I2(kEqI, a[l] == b[l])
        HR_I2(kNeI, a[l] != b[l])
        HR_I2(kLtI, a[l] < b[l])
        HR_I2(kLeI, a[l] <= b[l])
        HR_U2(kLtU, a[l] < b[l])
        HR_U2(kLeU, a[l] <= b[l])
      case Opc::kSignExtend: {
        int64_t* d = I(i.dst);
        const int64_t* a = I(i.a);
        const int s = 64 - static_cast<int>(i.imm);
        HR_LOOP(d[l] = static_cast<int64_t>(static_cast<uint64_t>(a[l]) << s) >> s);
      }
      case Opc::kZeroExtend: {
        int64_t* d = I(i.dst);
        const int64_t* a = I(i.a);
        const int64_t m = (int64_t{1} << i.imm) - 1;
        HR_LOOP(d[l] = a[l] & m);
      }
      case Opc::kClampI: {  // from a signed value to the range of an integer type
        const DType t = static_cast<DType>(i.imm);
        const int64_t lo = LowestInt(t), hi = static_cast<int64_t>(std::min<uint64_t>(HighestInt(t), INT64_MAX));
        int64_t* d = I(i.dst);
        const int64_t* a = I(i.a);
        HR_LOOP(d[l] = hr_clamp_i64(a[l], lo, hi));
      }
      case Opc::kClampU: {
        const uint64_t hi = HighestInt(static_cast<DType>(i.imm));
        int64_t* d = I(i.dst);
        const int64_t* a = I(i.a);
        HR_LOOP(d[l] = static_cast<uint64_t>(a[l]) > hi ? static_cast<int64_t>(hi) : a[l]);
      }
        HR_I1(kNotB, !a[l])
        HR_I2(kAndB, a[l] & b[l])
        HR_I2(kAndNotB, a[l] & (b[l] ^ 1))
        HR_I2(kOrB, a[l] | b[l])
      case Opc::kSelect: {
        int64_t* d = I(i.dst);
        const int64_t *a = I(i.a), *b = I(i.b), *e = I(i.c);
        HR_LOOP(d[l] = a[l] ? b[l] : e[l]);
      }
      case Opc::kIToF: {
        double* d = F(i.dst);
        const int64_t* a = I(i.a);
        HR_LOOP(d[l] = static_cast<double>(a[l]));
      }
      case Opc::kUToF: {
        double* d = F(i.dst);
        const int64_t* a = I(i.a);
        HR_LOOP(d[l] = static_cast<double>(static_cast<uint64_t>(a[l])));
      }
        HR_FB(kFToI, hr_f64_to_i64(a[l]))
        HR_FB(kFToU, static_cast<int64_t>(hr_f64_to_u64(a[l])))
        HR_FB(kFToB, a[l] != 0)
        HR_I1(kIToB, a[l] != 0)
      case Opc::kRoundF: {
        double* d = F(i.dst);
        const double* a = F(i.a);
        const DType t = static_cast<DType>(i.imm);
        if (t == DType::kF32 && !i.b) { HR_LOOP(d[l] = static_cast<float>(a[l])); }
        HR_LOOP(d[l] = RoundTo(t, a[l], i.b));
      }
      case Opc::kUniform: {
        double* d = F(i.dst);
        const int64_t *a = I(i.a), *b = I(i.b);
        HR_LOOP(d[l] = hr_uniform(a[l], b[l]));
      }
      case Opc::kNormal: {
        double* d = F(i.dst);
        const int64_t *a = I(i.a), *b = I(i.b);
        HR_LOOP(d[l] = hr_normal(a[l], b[l]));
      }
        HR_C(kNegC, -a)
        HR_C(kAddC, a + b)
        HR_C(kSubC, a - b)
        HR_C(kMulC, a * b)
        HR_C(kDivC, a / b)
        HR_C(kFnC, reinterpret_cast<Complex (*)(const Complex&)>(const_cast<void*>(i.fn))(a))
        HR_C(kFnC2, reinterpret_cast<Complex (*)(const Complex&, const Complex&)>(const_cast<void*>(i.fn))(a, b))
        HR_F1(kAbsC, std::hypot(a[l], a[l + kLanes]))
        HR_FB(kEqC, a[l] == b[l] && a[l + kLanes] == b[l + kLanes])
        HR_FB(kNeC, a[l] != b[l] || a[l + kLanes] != b[l + kLanes])
        HR_I1(kCopy, a[l])
      case Opc::kEqS: {
        int64_t* d = I(i.dst);
        const std::string **a = S(i.a), **b = S(i.b);
        for (int l = 0; l < n; ++l) d[l] = a[l] && b[l] ? *a[l] == *b[l] : a[l] == b[l];
        break;
      }
      case Opc::kLoad:
        if (!Load(f, c.accesses[i.imm], at_[i.imm], block, i.dst)) return false;
        break;
      case Opc::kGuardDone: {
        const int64_t* a = I(i.a);
        int64_t all = 1;
        for (int l = 0; l < n; ++l) all &= a[l];
        if (all) pc = static_cast<size_t>(i.imm) - 1;
        break;
      }
      case Opc::kAbsU:
      case Opc::kConstF:
      case Opc::kConstI:
      case Opc::kSymbolI:
      case Opc::kSymbolF: break;
    }
  }
  return true;
}

}  // namespace headrace::interpreter
