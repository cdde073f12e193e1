// One tasklet over all points of its map, block by block.
#include <algorithm>
#include <cstring>

#include "backends/interpreter/executor.h"
#include "runtime/hr_scalar.h"

namespace headrace::interpreter {

bool Executor::EvalIndex(Frame& f, const IndexExpr& e, int64_t* value) {
  if (e.empty()) {
    *value = 0;
    return true;
  }
  int64_t fixed[16];
  std::vector<int64_t> heap;
  int64_t* stack = fixed;
  if (e.size() > 16) {
    heap.resize(e.size());
    stack = heap.data();
  }
  int top = -1;
  for (const IndexOp& o : e) {
    switch (o.kind) {
      case IndexKind::kConst: stack[++top] = o.value; break;
      case IndexKind::kSymbol:
        if (!f.known[o.value]) {
          return Fail(InvalidError(
              "E0656", "size symbol " + f.plan->symbols[o.value].str() + " is used before it has a value"));
        }
        stack[++top] = f.symbols[o.value];
        break;
      case IndexKind::kUnary: {
        int64_t& a = stack[top];
        a = o.op == Op::kNeg ? hr_neg(a) : o.op == Op::kNot ? !a : ~a;
        break;
      }
      case IndexKind::kAbs: stack[top] = hr_abs(stack[top]); break;
      case IndexKind::kMin:
        --top;
        stack[top] = std::min(stack[top], stack[top + 1]);
        break;
      case IndexKind::kMax:
        --top;
        stack[top] = std::max(stack[top], stack[top + 1]);
        break;
      case IndexKind::kWrap:
        --top;
        stack[top] = hr_wrap(stack[top], stack[top + 1]);
        break;
      case IndexKind::kReflect:
        --top;
        stack[top] = hr_reflect(stack[top], stack[top + 1]);
        break;
      case IndexKind::kSelect:
        top -= 2;
        stack[top] = stack[top] ? stack[top + 1] : stack[top + 2];
        break;
      case IndexKind::kBinary: {
        --top;
        int64_t& a = stack[top];
        const int64_t b = stack[top + 1];
        switch (o.op) {
          case Op::kAdd: a = hr_add(a, b); break;
          case Op::kSub: a = hr_sub(a, b); break;
          case Op::kMul: a = hr_mul(a, b); break;
          case Op::kDiv: a = hr_div_trunc(a, b); break;
          case Op::kFloorDiv: a = hr_floor_div(a, b); break;
          case Op::kMod: a = hr_floor_mod(a, b); break;
          case Op::kShl: a = hr_shl(a, b); break;
          case Op::kShr: a = hr_shr(a, b); break;
          case Op::kBitAnd: a &= b; break;
          case Op::kBitOr: a |= b; break;
          case Op::kBitXor: a ^= b; break;
          case Op::kEq: a = a == b; break;
          case Op::kNe: a = a != b; break;
          case Op::kLt: a = a < b; break;
          case Op::kLe: a = a <= b; break;
          case Op::kGt: a = a > b; break;
          case Op::kGe: a = a >= b; break;
          case Op::kAnd: a = a && b; break;
          case Op::kOr: a = a || b; break;
          default: break;
        }
        break;
      }
    }
  }
  *value = stack[0];
  return true;
}

bool Executor::EvalRange(Frame& f, const RangePlan& r, int64_t* begin, int64_t* step, int64_t* count) {
  int64_t end;
  if (!EvalIndex(f, r.begin, begin) || !EvalIndex(f, r.end, &end) || !EvalIndex(f, r.step, step)) return false;
  if (*step == 0) {
    return Fail(InvalidError("E0657", "map over " + f.plan->symbols[r.symbol].str() + " has step 0"));
  }
  const __int128 span = *step > 0 ? static_cast<__int128>(end) - *begin : static_cast<__int128>(*begin) - end;
  const __int128 width = *step > 0 ? *step : -static_cast<__int128>(*step);
  *count = span <= 0 ? 0 : static_cast<int64_t>((span + width - 1) / width);
  if (backward_ && r.any_order && *count > 0) {
    *begin += (*count - 1) * *step;
    *step = -*step;
  }
  return true;
}

bool Executor::RunTasklet(Frame& f, const Stmt& s) {
  for (int slot : s.slots)
    if (!Ready(f, slot)) return false;
  const size_t depth = s.ranges.size();
  begin_.resize(depth);
  step_.resize(depth);
  count_.resize(depth);
  int64_t total = 1;
  bool empty = false;
  for (size_t k = 0; k < depth; ++k) {
    if (!EvalRange(f, s.ranges[k], &begin_[k], &step_[k], &count_[k])) return false;
    empty |= count_[k] == 0;
    if (!empty && __builtin_mul_overflow(total, count_[k], &total)) {
      return Fail(InvalidError("E0658", "a map has more than 2^63 points"));
    }
  }
  const Denormals denormals(f.plan->flush && !s.moves);
  return empty || RunPoints(f, s, total);
}

namespace {
// A float reduction over many points of few elements accumulates in double and rounds once at the end.
bool WantsWideTarget(const Stmt& s, const Slot& target, int64_t total) {
  if (s.op == WriteOp::kAssign || s.sequential || s.halves || !target.contiguous || target.elements >= total ||
      target.elements == 0)
    return false;
  return (IsFloat(target.dtype) && target.dtype != DType::kF64) || target.dtype == DType::kC64;
}
}  // namespace

bool Executor::RunPoints(Frame& f, const Stmt& s, int64_t total) {
  const size_t depth = s.ranges.size();
  const int64_t width = s.sequential && !s.halves ? 1 : kLanes;
  pool_.clear();
  at_.resize(s.code.accesses.size() + 1);
  for (size_t k = 0; k < s.code.accesses.size(); ++k)
    if (!Prepare(f, s.code.accesses[k], &at_[k])) return false;
  At& target = at_.back();
  if (!Prepare(f, s.target, &target)) return false;
  if (!Prologue(f, s.code, static_cast<int>(std::min(total, width)))) return false;
  step_last_ = depth == 0 ? 1 : step_.back();

  Slot& slot = f.slots[s.target.slot];
  Tensor wide, narrow;
  if (WantsWideTarget(s, slot, total)) {
    const bool complex = IsComplex(slot.dtype);
    HR_CHECK(!complex || slot.dtype == DType::kC64, "complex type");
    Result<Tensor> w = Tensor::Create(complex ? DType::kC128 : DType::kF64, slot.shape);
    if (!w.ok()) return Fail(w.status());
    wide = *w;
    narrow.dtype = complex ? DType::kF32 : slot.dtype;
    narrow.data = Buffer::Wrap(slot.data, slot.elements * StoredSize(slot.dtype), nullptr);
    target.data = wide.data->data();
    target.dtype = wide.dtype;
    const int64_t n = slot.elements * (complex ? 2 : 1);
    for (int64_t i = 0; i < n; ++i) wide.as<double>()[i] = narrow.GetDouble(i);
  }

  Block& b = block_;
  b.run_index.resize(depth * kLanes);
  std::vector<int64_t>& at = counter_;
  at.assign(depth, 0);
  bool ok = true;
  for (int64_t done = 0; ok && done < total;) {
    b.lanes = static_cast<int>(std::min(width, total - done));
    b.runs = 0;
    if (depth == 0) {
      b.runs = 1;
      b.run_lane[0] = 0;
      b.run_length[0] = 1;
    }
    for (int lane = 0; depth > 0 && lane < b.lanes;) {
      const int64_t left = count_[depth - 1] - at[depth - 1];
      const int n = static_cast<int>(std::min<int64_t>(left, b.lanes - lane));
      b.run_lane[b.runs] = lane;
      b.run_length[b.runs] = n;
      for (size_t k = 0; k < depth; ++k) {
        const int64_t v = begin_[k] + at[k] * step_[k];
        b.run_index[b.runs * depth + k] = v;
        int64_t* r = I(static_cast<int>(k)) + lane;
        if (k + 1 < depth) std::fill(r, r + n, v);
        else
          for (int l = 0; l < n; ++l) r[l] = v + l * step_[k];
      }
      ++b.runs;
      lane += n;
      at[depth - 1] += n;
      for (size_t k = depth - 1; at[k] == count_[k] && k > 0; --k) {
        at[k] = 0;
        ++at[k - 1];
      }
    }
    ok = Execute(f, s.code, b);
    done += b.lanes;
    if (ok && s.halves) FoldHalves(s, &b);
    ok = ok && Store(f, s.target, target, b, s.op, s.code);
    if (done < total && Cancelled()) ok = false;
  }
  if (wide.data != nullptr && ok) {
    const int64_t n = slot.elements * (IsComplex(slot.dtype) ? 2 : 1);
    for (int64_t i = 0; i < n; ++i) narrow.SetDouble(i, wide.as<double>()[i]);
  }
  return ok;
}

}  // namespace headrace::interpreter
