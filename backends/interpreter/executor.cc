#include "backends/interpreter/executor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "backends/common/external_call.h"
#include "ir/registry/call_contract.h"
#include "runtime/hr_scalar.h"

namespace headrace::interpreter {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}

}  // namespace

Executor::Executor(const ProgramPlan& program, PersistentState* state, std::function<bool()> cancelled)
    : program_(program), state_(state), cancelled_(std::move(cancelled)) {
  registers_.resize(static_cast<size_t>(program.registers + 1) * kLanes);
  if (const char* order = std::getenv("HEADRACE_MAP_ORDER")) {
    shuffled_ = std::strcmp(order, "shuffled") == 0;
    backward_ = shuffled_ || std::strcmp(order, "backward") == 0;
  }
}

bool Executor::Fail(Status s) {
  if (status_.ok()) status_ = WithOrigin(std::move(s), origin_);
  return false;
}

bool Executor::Cancelled() {
  if ((++ticks_ & 31) != 0 || !cancelled_ || !cancelled_()) return false;
  Fail(InterruptedError());
  return true;
}

// ---- statements ----
bool Executor::Eval(Frame& f, const Scalar& s, int64_t* value) {
  if (s.code == nullptr) return EvalIndex(f, s.index, value);
  const Denormals denormals(f.plan->flush);
  begin_.clear();
  step_.clear();
  count_.clear();
  pool_.clear();
  at_.resize(s.code->accesses.size());
  for (size_t k = 0; k < s.code->accesses.size(); ++k)
    if (!Ready(f, s.code->accesses[k].slot) || !Prepare(f, s.code->accesses[k], &at_[k])) return false;
  if (!Prologue(f, *s.code, 1)) return false;
  block_.lanes = block_.runs = block_.run_length[0] = 1;
  block_.run_lane[0] = 0;
  block_.run_index.clear();
  if (!Execute(f, *s.code, block_)) return false;
  *value = I(s.code->result)[0];
  return true;
}

bool Executor::RunMap(Frame& f, const Stmt& s, size_t dim) {
  if (dim == s.ranges.size()) {
    Forget(f, s);
    for (const Stmt& inner : s.body)
      if (!RunStmt(f, inner)) return false;
    return true;
  }
  int64_t begin, step, count;
  if (!EvalRange(f, s.ranges[dim], &begin, &step, &count)) return false;
  int64_t stride = 1;  // a shuffled map takes every third, fifth … iteration, and those between on its next rounds
  if (shuffled_ && s.ranges[dim].any_order)
    for (stride = count / 3 + 1; std::gcd(stride, count) > 1;) ++stride;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t i = static_cast<int64_t>(static_cast<__int128>(k) * stride % count);
    if (!SetSymbol(f, s.ranges[dim].symbol, begin + i * step) || !RunMap(f, s, dim + 1) || Cancelled()) return false;
  }
  return true;
}

// Read before it is written, it shows: NaN in floats, -1 in integers.
void Executor::Forget(Frame& f, const Stmt& s) {
  for (int k : s.fresh)
    if (f.slots[k].state == Slot::kReady && f.slots[k].owner.data)
      std::memset(f.slots[k].owner.data->data(), 0xff, static_cast<size_t>(f.slots[k].owner.bytes()));
}

bool Executor::RunNested(Frame& f, const Stmt& s) {
  if (++depth_ > 1000) return Fail(InvalidError("E0659", "calls nest deeper than 1000"));
  Frame inner(*s.callee);
  const SdfgPlan& callee = *s.callee;
  auto set = [&](int symbol, int64_t v) {
    inner.symbols[symbol] = v;
    inner.known[symbol] = 1;
  };
  for (const auto& [symbol, e] : s.symbols) {
    int64_t v;
    if (!EvalIndex(f, e, &v)) return false;
    set(symbol, v);
  }
  for (const SlotPlan& p : callee.slots) {  // optional parameters that the call leaves out
    if (p.parameter >= 0)
      inner.slots[&p - callee.slots.data()].state = p.container->optional ? Slot::kAbsent : Slot::kUnset;
  }
  std::vector<const Stmt::Binding*> made;  // containers whose size the callee finds
  for (const Stmt::Binding& b : s.bindings) {
    Slot& in = inner.slots[b.port];
    const SlotPlan& outer = f.plan->slots[b.slot];
    if (f.slots[b.slot].state == Slot::kUnset && !outer.sequence && outer.base < 0) {
      bool known = true;
      for (const IndexExpr& e : outer.shape)
        for (const IndexOp& o : e) known &= o.kind != IndexKind::kSymbol || f.known[o.value];
      if (!known) {
        in.state = Slot::kUnset;
        made.push_back(&b);
        continue;
      }
    }
    if (!Ready(f, b.slot)) return false;
    in = f.slots[b.slot];
    if (in.state != Slot::kReady || outer.sequence) continue;
    if (b.index.size() > in.shape.size())
      return Fail(InternalError("argument " + outer.container->name.str() + " has too many indices"));
    for (size_t d = 0; d < b.index.size(); ++d) {
      int64_t v;
      if (!EvalIndex(f, b.index[d], &v)) return false;
      if (v < 0 || v >= in.shape[d]) {
        return Fail(InvalidError("E0653", "argument " + outer.container->name.str() + " of the call of " +
                                 callee.sdfg->name.str() + ": index " + std::to_string(v) + " is outside dimension " +
                                 std::to_string(d) + " of its shape " + ShapeText(in.shape)));
      }
      in.data += v * in.strides[d] * StoredSize(in.dtype);
    }
    in.shape.erase(in.shape.begin(), in.shape.begin() + static_cast<std::ptrdiff_t>(b.index.size()));
    in.strides.erase(in.strides.begin(), in.strides.begin() + static_cast<std::ptrdiff_t>(b.index.size()));
    if (!b.index.empty()) {
      in.elements = 1;
      for (int64_t d : in.shape) in.elements *= d;
      FindContiguous(&in);
    }
    const std::vector<Expr>& declared = callee.slots[b.port].container->shape;
    if (declared.size() != in.shape.size()) {
      return Fail(InternalError(
          "argument " + outer.container->name.str() + " has rank " + std::to_string(in.shape.size()) + ", parameter " +
          callee.slots[b.port].container->name.str() + " rank " + std::to_string(declared.size())));
    }
    for (size_t d = 0; d < declared.size(); ++d) {
      if (!declared[d].Is(ExprKind::kSymbol)) continue;
      const int symbol = callee.symbol_of.at(declared[d]->name);
      if (!inner.known[symbol]) set(symbol, in.shape[d]);
    }
  }
  for (const Stmt::Binding& b : s.bindings) {
    const Slot& in = inner.slots[b.port];
    const SlotPlan& p = callee.slots[b.port];
    if (in.state != Slot::kReady || p.sequence) continue;
    for (size_t d = 0; d < p.shape.size(); ++d) {
      int64_t v;
      if (!EvalIndex(inner, p.shape[d], &v)) return false;
      if (v != in.shape[d]) {
        return Fail(InvalidError("E0652", "call of " + callee.sdfg->name.str() + ": argument " +
                                 f.plan->slots[b.slot].container->name.str() + " has shape " + ShapeText(in.shape) +
                                 ", but dimension " + std::to_string(d) + " of " + p.container->name.str() + " is " +
                                 std::to_string(v)));
      }
    }
  }
  if (RunBlocks(inner, callee.body) == Flow::kFailed) return false;
  for (const Stmt::Binding* b : made) {
    const Slot& got = inner.slots[b->port];
    const SlotPlan& outer = f.plan->slots[b->slot];
    if (got.state != Slot::kReady) continue;
    f.slots[b->slot] = got;
    for (size_t d = 0; d < got.shape.size(); ++d) {
      const Expr& e = outer.container->shape[d];
      if (e.Is(ExprKind::kSymbol) && !f.known[f.plan->symbol_of.at(e->name)] &&
          !SetSymbol(f, f.plan->symbol_of.at(e->name), got.shape[d]))
        return false;
    }
  }
  --depth_;
  return true;
}

bool Executor::RunCall(Frame& f, const Stmt& s) {
  // External functions see dense row-major tensors: anything else goes through a copy.
  auto dense = [&](const Slot& slot) -> Result<Tensor> {
    const bool whole = slot.contiguous && slot.owner.shape == slot.shape && slot.owner.dtype == slot.dtype &&
                       slot.data == SlotOf(slot.owner).data;
    if (whole) return slot.owner;
    HR_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(slot.dtype, slot.shape));
    return t;
  };
  auto transfer = [](const Slot& strided, const Tensor& packed, bool into_slot) {
    const int64_t size = StoredSize(strided.dtype);
    char* p = SlotOf(packed).data;
    std::vector<int64_t> index(strided.shape.size());
    for (int64_t n = 0; n < strided.elements; ++n, p += size) {
      int64_t offset = 0;
      for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strided.strides[d];
      char* q = strided.data + offset * size;
      if (strided.dtype == DType::kString) {
        auto *a = reinterpret_cast<std::string*>(q), *b = reinterpret_cast<std::string*>(p);
        *(into_slot ? a : b) = *(into_slot ? b : a);
      } else {
        std::memcpy(into_slot ? q : p, into_slot ? p : q, static_cast<size_t>(size));
      }
      for (size_t d = index.size(); d-- > 0 && ++index[d] == strided.shape[d];) index[d] = 0;
    }
  };
  std::vector<Value> inputs, outputs;
  for (int k : s.inputs) {
    if (k >= 0 && !Ready(f, k)) return false;
    if (k < 0 || f.slots[k].state == Slot::kAbsent) {
      inputs.emplace_back();
    } else if (f.plan->slots[k].sequence) {
      inputs.push_back(*f.slots[k].sequence);
    } else {
      Result<Tensor> t = dense(f.slots[k]);
      if (!t.ok()) return Fail(t.status());
      if (t->data != f.slots[k].owner.data || t->strings != f.slots[k].owner.strings) transfer(f.slots[k], *t, false);
      inputs.emplace_back(std::move(*t));
    }
  }
  std::vector<bool> unsized;
  for (int k : s.outputs) {
    bool unknown = k < 0;
    if (k >= 0 && !f.plan->slots[k].sequence) {
      for (const IndexExpr& e : f.plan->slots[k].shape)
        for (const IndexOp& o : e)
          unknown |= o.kind == IndexKind::kSymbol &&
                     (!f.known[o.value] ||
                      std::find(s.defines.begin(), s.defines.end(), static_cast<int>(o.value)) != s.defines.end());
    }
    unsized.push_back(unknown);
    Value v;
    if (k >= 0 && f.plan->slots[k].sequence) {
      if (f.plan->slots[k].container->type.kind == ValueType::kSequence) v.kind = Value::kSequence;
    } else if (!unknown) {
      if (!Ready(f, k)) return false;
      Result<Tensor> t = dense(f.slots[k]);
      if (!t.ok()) return Fail(t.status());
      v = Value(std::move(*t));
    }
    outputs.push_back(std::move(v));
  }
  int64_t scratch = 0;
  if (s.scratch >= 0) {
    if (!Ready(f, s.scratch)) return false;
    scratch = f.slots[s.scratch].shape[0] - kCanaryBytes;
  }
  Status called = CallExternal(*s.function, s.library->attributes, s.state, 0, inputs, &outputs, s.origin.Label(), cancelled_, scratch);
  if (!called.ok()) return Fail(std::move(called));
  for (size_t i = 0; i < s.outputs.size(); ++i) {
    const int k = s.outputs[i];
    if (k < 0) continue;
    const SlotPlan& p = f.plan->slots[k];
    Slot& slot = f.slots[k];
    if (p.sequence) {
      if (!Ready(f, k)) return false;
      *slot.sequence = std::move(outputs[i]);
      continue;
    }
    const std::string name = p.container->name.str();
    const Tensor& t = outputs[i].tensor;
    if (!unsized[i]) {
      if (t.data != slot.owner.data || t.strings != slot.owner.strings) transfer(slot, t, true);
      continue;
    }
    if (outputs[i].kind != Value::kTensor) {
      return Fail(InvalidError("E0655", "external function " + s.function->name + " made no tensor for " + name));
    }
    if (t.dtype != p.container->dtype || t.shape.size() != p.shape.size()) {
      return Fail(InvalidError("E0655", "external function " + s.function->name + " gave " + name + " type " +
                                            std::string(DTypeName(t.dtype)) + " and shape " + ShapeText(t.shape)));
    }
    for (size_t d = 0; d < t.shape.size(); ++d) {
      const Expr& e = p.container->shape[d];
      if (!e.Is(ExprKind::kSymbol)) continue;
      const int symbol = f.plan->symbol_of.at(e->name);
      const bool defined = std::find(s.defines.begin(), s.defines.end(), symbol) != s.defines.end();
      if ((defined || !f.known[symbol]) && !SetSymbol(f, symbol, t.shape[d])) return false;
    }
    for (size_t d = 0; d < t.shape.size(); ++d) {
      int64_t v;
      if (!EvalIndex(f, p.shape[d], &v)) return false;
      if (v != t.shape[d]) {
        return Fail(InvalidError("E0655", "external function " + s.function->name + " gave " + name + " shape " +
                                              ShapeText(t.shape) + ", but its dimension " + std::to_string(d) + " is " +
                                              std::to_string(v)));
      }
    }
    slot = SlotOf(t);
  }
  return true;
}

bool Executor::RunStmt(Frame& f, const Stmt& s) {
  if (s.origin.known()) origin_ = s.origin;
  switch (s.kind) {
    case Stmt::kTasklet: return RunTasklet(f, s);
    case Stmt::kMap: return RunMap(f, s, 0);
    case Stmt::kNested: {
      const Origin call = origin_;
      if (!RunNested(f, s)) return false;
      origin_ = call;
      return true;
    }
    case Stmt::kCall: return RunCall(f, s);
    case Stmt::kIf: {
      int64_t yes;
      if (!Eval(f, s.condition, &yes)) return false;
      Forget(f, s);
      for (const Stmt& inner : yes != 0 ? s.body : s.otherwise)
        if (!RunStmt(f, inner)) return false;
      return true;
    }
    case Stmt::kCheck: {
      int64_t ignored;
      return Eval(f, s.condition, &ignored);
    }
  }
  return true;
}

// ---- control flow ----
Executor::Flow Executor::RunLoop(Frame& f, const LoopPlan& l) {
  int64_t v;
  if (l.var >= 0 && (!Eval(f, l.init, &v) || !SetSymbol(f, l.var, v))) return Flow::kFailed;
  for (bool first = true;; first = false) {
    if (l.has_condition && !(l.do_while && first)) {
      if (!Eval(f, l.condition, &v)) return Flow::kFailed;
      if (v == 0) return Flow::kNext;
    }
    const Flow flow = RunBlocks(f, l.body);
    if (flow == Flow::kFailed || Cancelled()) return Flow::kFailed;
    if (flow == Flow::kBreak) return Flow::kNext;
    if (l.var < 0) continue;
    if (!Eval(f, l.update, &v)) return Flow::kFailed;
    if (l.counts && __builtin_add_overflow(f.symbols[l.var], v, &v)) return Flow::kNext;
    if (!SetSymbol(f, l.var, v)) return Flow::kFailed;
  }
}

Executor::Flow Executor::Unmet(Frame& f, const BlockPlan& b) {
  Diagnostic d;
  d.code = "E0570";
  d.node = b.origin.Label();
  size_t done = 0;
  for (const IndexExpr& value : b.values) {
    const size_t place = b.message.find("{}", done);
    int64_t v;
    if (place == std::string::npos || !EvalIndex(f, value, &v)) break;
    d.message += b.message.substr(done, place - done) + std::to_string(v);
    done = place + 2;
  }
  d.message += b.message.substr(done);
  Fail(Status(std::move(d)));
  return Flow::kFailed;
}

Executor::Flow Executor::RunBlocks(Frame& f, const std::vector<BlockPlan>& blocks) {
  for (const BlockPlan& b : blocks) {
    if (b.origin.known()) origin_ = b.origin;
    int64_t v;
    Flow flow = Flow::kNext;
    switch (b.kind) {
      case BlockPlan::kState:
        for (const Stmt& s : b.statements) {
          if (!RunStmt(f, s)) return Flow::kFailed;
          Release(f, s.release);
        }
        break;
      case BlockPlan::kLoop: flow = RunLoop(f, b.loop); break;
      case BlockPlan::kConditional:
        for (const BranchPlan& branch : b.branches) {
          if (!branch.is_else && !Eval(f, branch.condition, &v)) return Flow::kFailed;
          if (!branch.is_else && v == 0) continue;
          flow = RunBlocks(f, branch.body);
          break;
        }
        break;
      case BlockPlan::kBreak: return Flow::kBreak;
      case BlockPlan::kContinue: return Flow::kContinue;
      case BlockPlan::kAssign:
        if (!Eval(f, b.value, &v)) {
          if (!b.message.empty()) status_ = WithOrigin(InvalidError("E0660", b.message), b.origin);
          return Flow::kFailed;
        }
        if (!SetSymbol(f, b.symbol, v)) return Flow::kFailed;
        break;
      case BlockPlan::kRequire:
        if (!Eval(f, b.value, &v)) return Flow::kFailed;
        if (v == 0) return Unmet(f, b);
        break;
    }
    if (flow != Flow::kNext) return flow;
    Release(f, b.release);
  }
  return Flow::kNext;
}

}  // namespace headrace::interpreter
