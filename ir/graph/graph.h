// The SDFG: programs, containers, control flow, statements. Text form: docs/notation.md; printed by printer.h, read by
// parser.h. Everything is a value; copying a Program is cheap (cow.h) and a pass edits its own copy or in place.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/base/cow.h"
#include "ir/base/dtype.h"
#include "ir/base/name.h"
#include "ir/base/status.h"
#include "ir/base/value.h"
#include "ir/expr/expr.h"
#include "ir/graph/memory_order.h"
#include "ir/graph/origin.h"

namespace headrace {

struct NodeId {
  uint32_t value = ~0u;
  bool valid() const { return value != ~0u; }
};
struct BlockId {
  uint32_t value = ~0u;
  bool valid() const { return value != ~0u; }
};
inline bool operator==(NodeId a, NodeId b) { return a.value == b.value; }
inline bool operator==(BlockId a, BlockId b) { return a.value == b.value; }

// ---- containers ----
enum class ContainerKind : uint8_t {
  kParameter,  // an argument of the SDFG: read-only, written (an output), or both (`inout`)
  kTransient,  // lives inside one run
  kConstant,   // `data` holds the value; shared, never written
  kState,      // `persistent`: survives between runs (packed weights, optimizer state); initialised in `init`
  kView,       // another name for (part of) `base`: element [i…] lies offset + Σ i·strides after the base's first, in memory
  kSequence,   // run-time handle: ONNX sequence / optional of `type`; only library nodes touch it
};
enum class Storage : uint8_t {
  kArena,     // default: one arena planned from lifetimes
  kRegister,  // private to each iteration of the innermost map that holds all its uses; static size
  kHost,
  kDevice,
  kShared,  // for accelerators: of one iteration of a grid
  kWorker,  // as a register, but of any size: from the memory of the worker that runs the iteration
};
std::string_view StorageWord(Storage s);  // "arena", as after `@` in the text
const std::vector<Storage>& AllStorages();

// Where a pass put a transient: this many bytes after the begin of this slot of the SDFG's arena.
struct ArenaPlace {
  int slot = -1;
  Expr offset;
};

// What nearly every look at one asks for stands first, in one cache line.
struct Container {
  Name name;
  ContainerKind kind = ContainerKind::kTransient;
  DType dtype = DType::kNone;
  Storage storage = Storage::kArena;
  bool inout = false;     // parameters: both read and written, may alias nothing else
  bool output = false;    // parameters: `out` says that it is an output even though no statement writes it (any more)
  bool optional = false;  // parameters that the caller may leave out (read with `??` or has())
  Name base;                  // views
  std::vector<Expr> shape;    // empty = scalar
  std::vector<Expr> strides;  // in elements; empty = all elements, one after the other, in this order:
  MemoryOrder order;          // transients, constants, parameters of kernels; of constants `data` stays row-major
  ArenaPlace place;           // transients of the arena, once it is planned
  Expr offset;                // views, in elements
  Tensor data;            // constants
  ValueType type;         // sequences
  Origin origin;

  bool row_major() const { return strides.empty() && order.row_major(); }
  void MakeRowMajor() { strides.clear(), order = {}; }
};

// ---- statements (nodes) ----
enum class WriteOp : uint8_t { kAssign, kAdd, kMul, kMax, kMin };  // "=", and wcr "+=", "*=", "max=", "min="
std::string_view WriteOpToken(WriteOp op);

// container[index…] op value. `guarded` ("??" before the op): a write outside the bounds is dropped.
struct Tasklet {
  Name target;
  std::vector<Expr> index;  // may read containers (scatter); empty for scalars
  bool flat = false;        // target.flat[index]
  bool guarded = false;
  WriteOp op = WriteOp::kAssign;
  Expr value;
};

struct Range {
  Name index;
  Expr begin, end, step;
};  // begin ≤ i < end for step > 0, end < i ≤ begin for step < 0

// Where the iterations of a map run: data, printed as `map … @parallel {`. A sequential map keeps their order; a kernel
// writes it as `for … {`. The kinds after it stand in kernels only (docs/schedules.md).
enum class Schedule : uint8_t {
  kDefault,
  kSequential,
  kParallel,  // by the threads of a pool
  kVector,    // in the lanes of vectors
  kStream,    // so, each a copy of a line of numbers: what is written goes past the caches
  kUnroll,    // written out one after the other, in any order
  kHalves,    // accumulates by halves: u and u + n/2 are combined, again and again, then the target with what is left
  kApart,     // no ranges: the body, once, as code of its own, so that its registers are all that compilers have to place
  kGrid,      // accelerators: blocks of threads, the threads of a block, the lanes of a warp
  kBlock,
  kLane,
};
std::string_view ScheduleWord(Schedule s);  // "parallel", as after `@` in the text; "" of the default
const std::vector<Schedule>& AllSchedules();

struct Map {
  std::vector<Range> ranges;
  std::vector<NodeId> body;  // ordered statements, owned
  Schedule schedule = Schedule::kDefault;
};

// In kernels: `if condition { … } else { … }` among statements.
struct If {
  Expr condition;
  std::vector<NodeId> body, otherwise;
};

// In kernels, a statement about one element of a container.
enum class TouchKind : uint8_t {
  kCheck,     // `check X[I[b], j]`: where an index is outside of the container the program stops with an error that says so. What comes
              // after may use these indices.
  kPrefetch,  // `prefetch X[i, j]`: its memory may be brought near meanwhile. No value depends on it, and it may be outside.
};
struct Touch {
  Name container;
  std::vector<Expr> index;
  bool flat = false;
  TouchKind kind = TouchKind::kCheck;
};

// A call of another SDFG of the program. Arguments are whole containers (views for parts); inside a map an argument may
// be narrowed to a subset by leading fixed indices: `call f(x = X[i, :])`.
struct Argument {
  Name port;
  Name container;
  std::vector<Expr> index;
};  // index: fixed leading dims; empty = all of it
struct Nested {
  Name callee;
  std::vector<Argument> arguments;             // inputs and outputs alike, by parameter name
  std::vector<std::pair<Name, Expr>> symbols;  // callee symbol → expression of the caller
};

// An attribute of a library node.
struct Attribute {
  std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, std::vector<std::string>,
               Tensor, Name /* a graph: an SDFG of this program */>
      value;
};
using Attributes = std::vector<std::pair<Name, Attribute>>;  // sorted by name
const Attribute* FindAttribute(const Attributes& a, Name n);

struct Port {
  Name name;
  Name container;
};  // variadic ports repeat their name in order; an absent optional port has container ""
struct Library {
  Name domain;      // "onnx", "ai.onnx.ml", "grad", "call" (an external function, op = its registered name), …
  Name op;          // "Conv"
  int version = 0;  // since-version of the signature; 0 = newest
  Attributes attributes;
  std::vector<Port> inputs, outputs;
  std::vector<Name> defines;  // symbols whose value this node determines: bare dims of its outputs
  Name implementation;        // chosen by the user or a pass; "" = first that applies
};

using Body = std::variant<std::monostate, Tasklet, Map, Nested, Library, If, Touch>;  // monostate: a removed node
struct Node {
  Body body;
  Origin origin;
};
// Calls `fn` with each list of statements that a statement owns: the body of a map, both sides of an if.
template <typename Fn>
void ForEachBody(const Body& b, Fn&& fn) {
  if (const auto* map = std::get_if<Map>(&b)) fn(map->body);
  if (const auto* choice = std::get_if<If>(&b)) fn(choice->body), fn(choice->otherwise);
}
template <typename Fn>
void ForEachBody(Body* b, Fn&& fn) {
  if (auto* map = std::get_if<Map>(b)) fn(map->body);
  if (auto* choice = std::get_if<If>(b)) fn(choice->body), fn(choice->otherwise);
}

// ---- control flow (blocks) ----
struct State {
  Name label;
  std::vector<NodeId> statements;
};  // text order is the meaning
// for (var = init; cond; var = update) body. A while loop has no var. do_while tests after the body.
struct Loop {
  Name var;
  Expr init, condition, update;  // may read containers; `condition` null = forever (leave by break)
  bool do_while = false;
  std::vector<BlockId> body;
};
struct Branch {
  Expr condition;
  std::vector<BlockId> body;
};  // condition null = else (last)
struct Conditional {
  std::vector<Branch> branches;
};
struct Break {};
struct Continue {};
// let n = expr [else "message"]: defines a size from data, once per execution; where reading the value fails (an index out
// of range), the error is `message`.
struct Assign {
  Name symbol;
  Expr value;
  std::string message = {};
};
// require condition else "message", value…: where `condition` is false the program stops with `message`, each `{}` in it
// replaced by the next value. It speaks of sizes alone, no data, and so moves to the front: before any kernel.
struct Require {
  Expr condition;
  std::string message;
  std::vector<Expr> values;
};
using Control = std::variant<std::monostate, State, Loop, Conditional, Break, Continue, Assign, Require>;
struct Block {
  Control control;
  Origin origin;
};

// The loop that the text writes as `for var in begin:end:step`, and back: empty when `l` is not of that kind.
// A step that is not a literal decides when it runs whether the loop counts up or down, as in a map.
Loop RangeLoop(Name var, Expr begin, Expr end, Expr step = 1);
std::optional<Range> AsRange(const Loop& l);

// ---- one SDFG ----
struct Sdfg {
  Name name;
  bool kernel = false;  // one statement with its schedule, written `kernel name(…) for device {`: docs/schedules.md
  Name device;          // of a kernel: the device description it is scheduled for; "" = not scheduled yet
  bool flush = false;       // denormal floats count as zero in its statements (ir/analysis/denormals.h); text: `@flush`
  std::string unscheduled;  // of a kernel that a strategy has left as it is, or made plain loops: why; no part of the text
  std::vector<Name> parameters;     // containers, in order
  std::vector<Name> symbol_params;  // symbols not found in a parameter's shape, passed by name
  std::vector<Name> order;          // all containers in declaration order (parameters first)
  CowMap<Name, Container> containers;
  CowTable<NodeId, Node> nodes;
  CowTable<BlockId, Block> blocks;
  std::vector<BlockId> body;
  std::vector<Expr> arena;  // bytes of each slot, in order, once a pass has planned them
  Assumptions assumptions;  // text: `assume 1 <= N <= 64`
  std::vector<Range> given;  // of a kernel: what loops around its calls say of its symbols; text: `assume t in 0:T`

  const Container* Find(Name n) const { return containers.Find(n); }
  const Container& Get(Name n) const;  // must exist
  Container& Mutable(Name n);          // must exist; copies its chunk when shared
  void Add(Container c);               // appends to `order`; the name must be new
  void Remove(Name n);                 // must have no uses
  // stem, stem_1, stem_2 …: not yet a container, size or loop variable here (map indices are local and not looked at).
  Name FreshName(std::string_view stem) const;
  NodeId AddNode(Body b, Origin o = {});
  BlockId AddBlock(Control c, Origin o = {});
};

struct Program {
  std::vector<std::shared_ptr<Sdfg>> sdfgs;  // shared between copies; use Mutable() to write
  Name entry;                                // the first sdfg unless said otherwise
  const Sdfg* Find(Name n) const;
  const Sdfg& Entry() const;
  Sdfg& Mutable(Name n);  // must exist; copies it when shared
  Sdfg& MutableEntry() { return Mutable(entry); }
  Sdfg& Add(Sdfg s);  // the name must be new
};

// ---- reading helpers ----
// Direction of a parameter, derived from its uses in `s` (and in the callees' parameters it is bound to).
// `inout` parameters are kInOut; every other one that is written or `out` is kOut, even when it is read back later.
enum class Direction { kUnused, kIn, kOut, kInOut };
Direction DirectionOf(const Program& p, const Sdfg& s, Name parameter);
std::vector<Direction> Directions(const Program& p, const Sdfg& s);  // of all parameters, in one walk
std::vector<Name> Inputs(const Program& p,
                         const Sdfg& s);  // in parameter order; inout counts as both; unused ones are inputs
std::vector<Name> Outputs(const Program& p, const Sdfg& s);
std::vector<Name> FreeSymbols(const Sdfg& s);  // sizes bound from parameter shapes, then symbol_params
// Every statement of a block list in order, maps entered (pre-order) when `into_maps`.
void ForEachBlock(const Sdfg& s, const std::vector<BlockId>& body, const std::function<void(BlockId)>& fn);
void ForEachNode(const Sdfg& s, const std::function<void(NodeId)>& fn, bool into_maps = true);
// Statements and blocks are numbered from 0 in the order of the text, a map or loop before what it holds; removed ones go.
void Renumber(Sdfg* s);
Expr NumElements(const Container& c);
std::vector<Expr> RowMajorStrides(const std::vector<Expr>& shape);
std::vector<Expr> StridesOf(const Container& c);  // whichever way they are given

}  // namespace headrace
