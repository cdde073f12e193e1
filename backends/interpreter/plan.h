// What an SDFG is compiled to before it is run: statements with their expressions as vector code.
//
// The innermost map around a tasklet is not interpreted point by point: its points are taken in blocks of kLanes and every
// instruction works on a whole block. Masks take the place of branches, so an access in an untaken branch never happens.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/registry/registry.h"

namespace headrace::interpreter {

inline constexpr int kLanes = 128;

// ---- integer expressions over symbols: shapes, ranges, coefficients ----
enum class IndexKind : uint8_t { kConst, kSymbol, kUnary, kBinary, kMin, kMax, kWrap, kReflect, kAbs, kSelect };
struct IndexOp {
  IndexKind kind;
  Op op = Op::kNone;
  int64_t value = 0;
};  // value: the constant or the symbol's number
// A stack program; evaluated once per execution of a statement, never per element. No ops: zero.
using IndexExpr = std::vector<IndexOp>;

// ---- vector code ----
enum class Opc : uint8_t {
  kConstF,
  kConstI,
  kSymbolI,
  kSymbolF,  // leaves
  kNegF,
  kAbsF,
  kSignF,
  kFn1,
  kFn2,
  kFma,  // imm: of f32
  kAddF,
  kSubF,
  kMulF,
  kDivF,
  kFloorDivF,
  kModF,
  kMinF,
  kMaxF,
  kEqF,
  kNeF,
  kLtF,
  kLeF,
  kIsNan,
  kIsInf,
  kNegI,
  kAbsI,
  kAbsU,
  kSignI,
  kSignU,
  kNotI,
  kAddI,
  kSubI,
  kMulI,
  kDivI,
  kDivU,
  kFloorDivI,
  kModI,
  kModU,
  kRemI,
  kMinI,
  kMaxI,
  kMinU,
  kMaxU,
  kShl,
  kShr,
  kShrU,
  kAndI,
  kOrI,
  kXorI,
  kPowI,
  kPopcount,
  kWrapIndex,
  kReflect,
  kEqI,
  kNeI,
  kLtI,
  kLeI,
  kLtU,
  kLeU,
  kSignExtend,
  kZeroExtend,
  kClampI,
  kClampU,  // back to the type's width; imm = bits, or table of limits
  kNotB,
  kAndB,
  kAndNotB,
  kOrB,
  kSelect,  // dst = a ? b : c, 8 bytes a lane
  kIToF,
  kUToF,
  kFToI,
  kFToU,
  kFToB,
  kIToB,
  kRoundF,  // kRoundF: imm = dtype, b = saturate
  kUniform,
  kNormal,
  kNegC,
  kAddC,
  kSubC,
  kMulC,
  kDivC,
  kFnC,
  kFnC2,
  kAbsC,
  kEqC,
  kNeC,  // complex: registers r (real) and r + 1
  kCopy,
  kEqS,        // kEqS: strings
  kLoad,       // dst = accesses[imm]
  kGuardDone,  // jump to imm when every lane of a was valid (skips a default)
};
struct Instr {
  Opc op;
  uint16_t dst = 0, a = 0, b = 0, c = 0;
  union {
    int64_t imm;
    double f;
    const void* fn;
  };
};

enum class RegClass : uint8_t { kFloat, kInt, kComplex, kString };  // bools are ints 0 and 1
RegClass ClassOf(DType t);

// One access of a container. Affine: index d = base[d] + Σ_k coef[d][k] · (block index k); else index registers.
struct Access {
  int slot = -1;
  bool flat = false, guarded = false, affine = false;
  std::vector<IndexExpr> base;
  std::vector<std::vector<IndexExpr>> coef;  // [dim][block index]
  std::vector<uint16_t> index;               // registers, when not affine
  int mask = -1;                             // register: lanes that are on; -1 = all
  uint16_t valid = 0;                        // guarded: register that receives which lanes were inside
};

struct Code {
  std::vector<Instr> prologue, instrs;  // prologue: once per execution of the statement
  std::vector<Access> accesses;
  int registers = 0;
  uint16_t result = 0;
  RegClass cls = RegClass::kInt;
  DType dtype = DType::kNone;
};

struct Scalar {  // a condition, a bound, a loop's init: an index program or code on one lane
  IndexExpr index;
  std::shared_ptr<Code> code;  // when it reads data
};

struct RangePlan {
  int symbol;
  IndexExpr begin, end, step;
  bool any_order = false;  // of a scheduled kernel's map, whose iterations have none
};

// ---- statements ----
// Does it say anything about where a statement came from?

struct Stmt {
  enum Kind { kTasklet, kMap, kNested, kCall, kIf, kCheck } kind = kTasklet;
  Origin origin;
  std::vector<RangePlan> ranges;  // kTasklet: the block indices, register k holds index k; kMap
  // kTasklet
  Code code;
  Access target;
  WriteOp op = WriteOp::kAssign;
  DType target_type = DType::kNone;
  bool halves = false;      // u and u + n/2 are combined, again and again, then the target with what is left
  bool moves = false;       // computes nothing: what it reads it writes, denormals too
  bool sequential = false;  // reads what it writes elsewhere: one lane at a time
  std::vector<int> slots;   // every slot touched, to be ready before a block runs
  // kMap, kIf
  std::vector<Stmt> body;
  std::vector<int> fresh;  // slots that have no value yet where the body begins
  // kIf; kCheck: reads the element, and fails where there is none
  Scalar condition;
  std::vector<Stmt> otherwise;
  // kNested
  const struct SdfgPlan* callee = nullptr;
  struct Binding {
    int port, slot;
    std::vector<IndexExpr> index;
  };
  std::vector<Binding> bindings;
  std::vector<std::pair<int, IndexExpr>> symbols;  // callee symbol ← expression here
  // kCall
  const Library* library = nullptr;
  const ExternalFunction* function = nullptr;
  std::vector<int> inputs, outputs;  // slots; -1 = absent
  std::vector<int> defines;
  void* state = nullptr;
  int scratch = -1;  // its slot
  std::vector<int> release;  // at the top level: containers that nothing after this statement uses
};

struct BlockPlan;
struct LoopPlan {
  int var = -1;
  Scalar init, condition, update;
  bool counts = false;  // `update` is what is added each time: a variable that would wrap ends the loop
  bool has_condition = false, do_while = false;
  std::vector<BlockPlan> body;
};
struct BranchPlan {
  bool is_else = false;
  Scalar condition;
  std::vector<BlockPlan> body;
};
struct BlockPlan {
  enum Kind { kState, kLoop, kConditional, kBreak, kContinue, kAssign, kRequire } kind = kState;
  std::vector<Stmt> statements;
  LoopPlan loop;
  std::vector<BranchPlan> branches;
  int symbol = -1;
  Scalar value;                   // kAssign; the condition of kRequire
  std::vector<IndexExpr> values;  // kRequire: for the places in its message
  std::string message;            // of an assignment whose value can't be read, of a condition that is false
  Origin origin;
  std::vector<int> release;  // as in Stmt, for loops and conditionals
};

struct SlotPlan {
  const Container* container = nullptr;
  std::vector<IndexExpr> shape, strides;
  IndexExpr offset;
  int base = -1;           // of a view
  std::vector<int> views;  // all views of this container and of its views
  bool sequence = false;
  int parameter = -1;
};

struct SdfgPlan {
  const Sdfg* sdfg = nullptr;
  std::vector<SlotPlan> slots;
  std::vector<Name> symbols;
  std::unordered_map<Name, int> slot_of, symbol_of;
  std::vector<std::vector<int>> dependents;  // by symbol: slots whose shape or place depends on it
  std::vector<BlockPlan> body;
  bool flush = false;  // denormals count as zero (ir/analysis/denormals.h)
};

struct ProgramPlan {
  Program program;                               // keeps containers and constants alive
  std::vector<std::unique_ptr<SdfgPlan>> sdfgs;  // callees before callers; the entry is last
  int registers = 0;                             // most that any code needs
  std::vector<std::pair<const ExternalFunction*, void*>> states;
  const SdfgPlan& entry() const { return *sdfgs.back(); }
  ~ProgramPlan();
};

// Notes, after every statement, the transients whose last use it is.
void PlanReleases(SdfgPlan* plan);

// Unsupported when library nodes are left that nothing here can run; all of them are named.
Result<std::shared_ptr<ProgramPlan>> Compile(const Program& p, const Registry& r);

}  // namespace headrace::interpreter
