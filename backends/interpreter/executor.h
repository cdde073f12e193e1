// Runs a plan: frames of containers and symbols, blocks of lanes, control flow.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backends/interpreter/plan.h"
#include "runtime/hr_denormals.h"

namespace headrace::interpreter {

// A container while an SDFG runs. `data` points at element 0 of what the container shows (views and arguments: inside
// memory that `owner` keeps alive).
struct Slot {
  enum State : uint8_t { kUnset, kReady, kAbsent } state = kUnset;
  bool contiguous = true;
  DType dtype = DType::kNone;
  std::vector<int64_t> shape, strides;
  int64_t elements = 0;
  char* data = nullptr;  // strings: std::string*
  Tensor owner;
  std::shared_ptr<Value> sequence;  // sequences and optionals
};
// Row-major slot over a tensor's memory.
Slot SlotOf(const Tensor& t);
void FindContiguous(Slot* s);  // from shape and strides
int64_t StoredSize(DType t);   // bytes between neighbouring elements in memory

struct Frame {
  explicit Frame(const SdfgPlan& p)
      : plan(&p), slots(p.slots.size()), symbols(p.symbols.size()), known(p.symbols.size()) {}
  const SdfgPlan* plan;
  std::vector<Slot> slots;
  std::vector<int64_t> symbols;
  std::vector<uint8_t> known;
};

// Containers that keep their value between runs: per sdfg and slot.
struct PersistentState {
  std::mutex* mutex = nullptr;
  std::map<std::pair<const SdfgPlan*, int>, Tensor> tensors;
};

class Executor {
 public:
  Executor(const ProgramPlan& program, PersistentState* state, std::function<bool()> cancelled);
  Status Run(Frame& f) { return RunBlocks(f, f.plan->body) == Flow::kFailed ? status_ : Status(); }
  bool Ready(Frame& f, int slot);  // allocated or resolved; false = failed
  Status status() const { return status_; }
  bool SetSymbol(Frame& f, int symbol, int64_t value);

 private:
  enum class Flow { kNext, kBreak, kContinue, kFailed };
  // Where one access stands while its statement runs.
  struct At {
    const Slot* slot = nullptr;
    char* data = nullptr;  // the slot's, or the wide copy that a reduction accumulates in
    DType dtype = DType::kNone;
    size_t base = 0, coef = 0, lin = 0;  // into pool_: [dim], [dim][block index], [block index]
    int dims = 0;
    bool inside = false;  // affine and within bounds at every point
    int64_t lin_base = 0;
  };
  struct Block {  // up to kLanes points of the innermost map
    int lanes = 0;
    int runs = 0;  // maximal stretches in which only the last index moves
    int run_lane[kLanes], run_length[kLanes];
    std::vector<int64_t> run_index;  // [run][block index]
  };

  Flow RunBlocks(Frame& f, const std::vector<BlockPlan>& blocks);
  Flow Unmet(Frame& f, const BlockPlan& b);  // a require whose condition is false
  Flow RunLoop(Frame& f, const LoopPlan& l);
  bool RunStmt(Frame& f, const Stmt& s);
  bool RunMap(Frame& f, const Stmt& s, size_t dim);
  void Forget(Frame& f, const Stmt& s);
  bool RunNested(Frame& f, const Stmt& s);
  bool RunCall(Frame& f, const Stmt& s);
  bool RunTasklet(Frame& f, const Stmt& s);
  // While it lives, denormals are zero or are not. Floats turn from f32 to f64 where they are read and back where they are
  // stored, and so lose them there.
  class Denormals {
   public:
    explicit Denormals(bool flush) : before_(hr_denormals(flush)) {}
    ~Denormals() { hr_float_mode_swap(before_); }
    Denormals(const Denormals&) = delete;
    Denormals& operator=(const Denormals&) = delete;

   private:
    hr_float_mode before_;
  };
  bool RunPoints(Frame& f, const Stmt& s, int64_t total);
  bool Eval(Frame& f, const Scalar& s, int64_t* value);
  bool EvalIndex(Frame& f, const IndexExpr& e, int64_t* value);
  bool EvalRange(Frame& f, const RangePlan& r, int64_t* begin, int64_t* step, int64_t* count);
  bool Bind(Frame& f, int slot);
  bool ResolveView(Frame& f, int slot);
  void Release(Frame& f, const std::vector<int>& slots);
  bool Cancelled();
  bool Fail(Status s);

  void FoldHalves(const Stmt& s, Block* b);
  bool Prologue(Frame& f, const Code& c, int lanes);
  bool Execute(Frame& f, const Code& c, const Block& b);
  bool Prepare(Frame& f, const Access& a, At* at);
  bool Load(Frame& f, const Access& a, const At& at, const Block& b, uint16_t dst);
  bool Store(Frame& f, const Access& a, const At& at, const Block& b, WriteOp op, const Code& value);
  // Offsets of the lanes of a run, and which of them are inside; an unguarded lane outside is an error.
  bool Offsets(Frame& f, const Access& a, const At& at, const Block& b, int run, int64_t* offsets, int64_t* valid);
  bool RunInside(const Access& a, const At& at, const Block& b, int run, int64_t* offset) const;
  bool OutOfRange(Frame& f, const Access& a, const At& at, const std::vector<int64_t>& index);

  double* F(int r) { return reinterpret_cast<double*>(registers_.data() + static_cast<size_t>(r) * kLanes); }
  int64_t* I(int r) { return registers_.data() + static_cast<size_t>(r) * kLanes; }
  const std::string** S(int r) {
    return reinterpret_cast<const std::string**>(registers_.data() + static_cast<size_t>(r) * kLanes);
  }

  const ProgramPlan& program_;
  PersistentState* state_;
  std::function<bool()> cancelled_;
  Status status_;
  std::vector<int64_t> registers_;
  std::vector<int64_t> pool_;
  std::vector<At> at_;
  Block block_;
  std::vector<int64_t> index_;
  std::vector<int64_t> begin_, step_, count_, counter_;  // of the running tasklet's block indices
  Origin origin_;                                        // of the statement being run, for messages
  int64_t step_last_ = 1;                                // of the innermost block index
  bool backward_ = false, shuffled_ = false;             // maps of scheduled kernels, which have no order
  int depth_ = 0;
  uint32_t ticks_ = 0;
};

}  // namespace headrace::interpreter
