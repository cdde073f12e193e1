// The elaborator's own vocabulary; nothing outside ir/elaborate*.cc includes this.
//
// A statement is evaluated with its indices as reserved symbols: `%n` an index, `%p.1` the second index of group p, `%.0`
// the last dimension of `..` (counted from the right, so that broadcasting is by name), `%len:n` the extent of n. When
// the whole statement is known, the ranges are solved and the reserved symbols become the names that are printed.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/elaborate/elaborate.h"
#include "ir/expr/functions.h"

namespace headrace {
struct FormOutput;
namespace elaborate {

// Errors travel as exceptions inside the elaborator only; Elaborate() turns them into a Status.
struct FormError {
  Diagnostic diagnostic;
};
struct Place {
  int line = 0, column = 0;
};
Status FormStatus(const Form& form, const FormError& e);  // with the form's line
[[noreturn]] void Fail(Place at, std::string message, std::string hint = "", ErrorKind kind = ErrorKind::kInvalid);
inline Place At(const Expr& e) { return e ? Place{e->line, e->column} : Place{}; }

// What an expression of a form evaluates to before the run.
struct Val {
  enum Kind { kNothing, kUnsolved, kScalar, kList, kString, kStrings, kType } kind = kNothing;
  Expr e;                          // kScalar
  std::vector<Expr> items;         // kList
  std::string text;                // kString
  std::vector<std::string> texts;  // kStrings
  DType type = DType::kNone;       // kType
  static Val Scalar(Expr e) {
    Val v;
    v.kind = kScalar;
    v.e = std::move(e);
    return v;
  }
  static Val List(std::vector<Expr> l) {
    Val v;
    v.kind = kList;
    v.items = std::move(l);
    return v;
  }
  static Val Unsolved() {
    Val v;
    v.kind = kUnsolved;
    return v;
  }
  static Val String(std::string s) {
    Val v;
    v.kind = kString;
    v.text = std::move(s);
    return v;
  }
  static Val Type(DType t) {
    Val v;
    v.kind = kType;
    v.type = t;
    return v;
  }
  bool nothing() const { return kind == kNothing; }
  bool unsolved() const { return kind == kUnsolved; }
};

// A dimension (-1: the elements in their order) that an index walks from end to end.
struct Walk {
  Name index, container;
  int dim = 0;
  Expr extent;
  bool temporary = false;  // made by the form
};

// Bindings: an immutable chain, so that a let captures what it saw.
struct Binding;
using Env = std::shared_ptr<const Binding>;
struct Binding {
  Name name;
  enum Kind { kLet, kValue, kContainer } kind = kLet;
  std::vector<Name> parameters;
  Expr body;  // kLet
  Val value;  // kValue
  std::vector<Walk> walks;  // what the value's indices walk
  Name container;
  Env next;
  Env scope;  // what the body of a let sees; null: next
};

// ---- elaborate_fold.cc: scalar arithmetic that folds whatever is known ----
std::optional<double> AsNumber(const Expr& e);  // literals, bool as 0/1
std::optional<bool> AsTruth(const Expr& e);     // literals
Expr AsIndexLiteral(const Expr& e);             // 2.0 → 2; others unchanged
Expr FoldUnary(Op op, const Expr& a);
Expr FoldBinary(Op op, const Expr& a, const Expr& b, const Assumptions& as);
Expr FoldSelect(const Expr& c, const Expr& a, const Expr& b);
Expr FoldCall(Name fn, const std::vector<Expr>& args, const Assumptions& as);
Expr FoldCast(DType t, const Expr& a, bool saturate);
bool IsReserved(Name n);  // starts with '%'
bool IsEllipsisIndex(Name n);

// ---- elaborate_types.cc ----
struct TypeScope {
  const Sdfg* sdfg;
  bool has_f64 = false;  // a float input is f64: untyped reals that need a type become f64
};
// Types a value and inserts the conversions that assignment and mixed float widths imply. kNone: the value's own type.
Expr TypeValue(const TypeScope& scope, const Expr& e, DType target, Place at);
Expr TypeIndex(const TypeScope& scope, const Expr& e, Place at);
Expr TypeCondition(const TypeScope& scope, const Expr& e, Place at);
DType TemporaryType(const TypeScope& scope, const Expr& e, WriteOp op, Place at);
Expr Identity(WriteOp op, DType t);
std::optional<DType> TypeFromOnnx(int64_t number);

// ---- elaborate_ranges.cc ----
struct Interval2 {
  Expr begin, end;
};
using Ranges = std::vector<std::pair<Name, Interval2>>;  // in map order
const Interval2* FindRange(const Ranges& r, Name n);
// Is lo <= e (or e <= hi) for every point of the ranges? Endpoints are substituted where e is monotone in an index.
bool ProvablyAtLeast(const Expr& e, const Expr& lo, const Ranges& r, const Assumptions& as);
bool ProvablyAtMost(const Expr& e, const Expr& hi, const Ranges& r, const Assumptions& as);
// Drops guards that can't fire and conditions that ranges decide.
Expr Refine(const Sdfg& s, const Expr& e, const Ranges& r, const Assumptions& as);
bool InsideBounds(const std::vector<Expr>& index, const std::vector<Expr>& shape, const Ranges& r,
                  const Assumptions& as);

// One element of an evaluated index list.
struct Slot {
  Expr e;  // null: a slice (`:` or a:b)
  int64_t begin = 0, end = 0;
  bool bare = false;  // written as an index alone, `i`, `p..` or `..`: it walks the dimension
};

// An assignment on its way to a map.
struct Target {
  Name name, container;  // of the form; container empty: a new temporary
  bool flat = false, guarded = false;
  bool whole = false;  // written without indices: `Y`, `outputs[2]`
  WriteOp op = WriteOp::kAssign;
  std::vector<Expr> index;  // evaluated, one per dimension
  Expr value;
  Ranges over;                     // explicit, `i in a:b` and the extents of `X[i, j]`
  std::vector<Name> over_tensors;  // `over X`: where X is accessed in this statement decides
  Ranges ranges;                   // solved: the target's indices first, then the reduced ones
  size_t target_ranges = 0;        // how many of them are the target's
};

class Elaborator {
 public:
  Elaborator(const Form& form, const FormContext& context);
  Sdfg Run();
  std::map<Name, FormOutput> RunShapes();  // by container
  // Containers of the context's output ports, one per port; the empty name for an absent one.
  const std::vector<Name>& OutputNames() const { return output_names_; }

 private:
  struct Context {
    bool list = false;
  };  // inside let, index, over, if: 1-D inputs are lists
  enum class Resolved { kEnv, kContainer, kVariadic, kAbsent, kAttribute, kConstant, kGroup, kIndex };

  // elaborate.cc
  void BindPorts();
  void AddPort(const FormPort& p, Name as, bool output, size_t position);
  void BindAttributes();
  void CollectGroups(const std::vector<FormStmt>& body);
  void CollectGroups(const Expr& e);
  void FindHalfSums(const std::vector<FormStmt>& body);
  void Statements(const std::vector<FormStmt>& body);
  void Statement(const FormStmt& s);
  void RunIf(const FormStmt& s);
  void RunEach(const FormStmt& s);
  void RunFor(const FormStmt& s);
  void Push(Binding b);
  void Finish();
  void RemoveDead();
  void BindSymbols();
  Name FreshName(const std::string& stem);
  Name FreshIndex(const std::string& stem, std::set<Name>* taken) const;

  // elaborate_eval.cc
  Val Eval(const Expr& e, const Env& env, Context c);
  Val EvalName(const Expr& e, const Env& env, Context c);
  Val EvalBare(Name container, Context c);
  Val EvalRead(const Expr& e, const Env& env, Context c);
  Val EvalLet(const std::shared_ptr<const Binding>& b, const std::vector<Val>& args, Place at);
  Val EvalAttribute(const Attribute& a, Name n, Place at);
  Val DefaultOf(const Expr& what, Val v) const;
  Val Group(Name n);
  Val MapVals(const std::vector<Val>& v, Place at, const std::function<Expr(const std::vector<Expr>&)>& fn);
  Val BinaryVal(Op op, const Val& a, const Val& b, Place at);
  Val SelectVal(const Val& c, const Expr& e, const Env& env, Context ctx);
  Val IndexVal(const Val& v, const std::vector<Expr>& args, const Env& env, Place at);
  int64_t EvalInt(const Expr& e, const Env& env, const char* what);
  std::optional<bool> Truth(const Val& v, Place at);
  Resolved Resolve(Name n, const Env& env, std::shared_ptr<const Binding>* binding) const;
  const Binding* Find(Name n, const Env& env) const;
  std::string KnownNames() const;
  void MustBeDeclared(const Expr& name) const;

  // elaborate_place.cc
  // Evaluated indices of container access; nullopt while a group's length is unsolved. rank < 0: a new temporary.
  std::optional<std::vector<Slot>> EvalPlace(const std::vector<Expr>& args, const Env& env, int rank,
                                             const std::string& what, const std::vector<Expr>* shape, Place at);
  std::optional<int> GroupLength(Name n) const;
  void SolveGroup(Name n, int length, Place at);
  Val ReadSlots(Name container, const std::vector<Slot>& slots, const Val& dflt, bool flat, Context c);
  Name ContainerOf(Name n, const Env& env) const;  // the empty name when n is not one

  // elaborate_functions.cc
  Val EvalCall(const Expr& e, const Env& env, Context c);
  Val EvalPortFunction(const std::string& fn, const Expr& e, const Env& env);
  Val EvalListFunction(const std::string& fn, const std::vector<Val>& a, Place at);
  Val Activation(const std::string& name, const std::vector<Val>& a, Place at);
  Val CastVal(const Val& v, DType t, bool saturate, Place at);
  DType TypeArgument(const Val& v, Place at);
  Val LengthOf(const Expr& arg, const Env& env, Place at);

  // elaborate_solve.cc: ranges of a statement's indices
  bool EvalOver(const FormStmt& s, Target* t);
  void SolveEllipsis(Target* t, Place at);
  void SolveRanges(Target* t, Place at);

  // elaborate_require.cc: sizes that a statement takes to be equal
  void AddWalk(Walk w);
  void RecordWalks(Name container, const std::vector<Slot>& slots, bool flat, bool guarded);
  void RequireWalks(const Target& t, Place at);
  void RunRequire(const FormStmt& s);
  void AddRequirement(Expr condition, std::string message, std::vector<Expr> values, Place at);
  std::string PortName(Name container) const;

  // elaborate_assign.cc
  void RunAssign(const FormStmt& s);
  bool EvalAssign(const FormStmt& s, Target* t);
  void DeclareTemporary(Target* t, Place at);
  void EmitAssign(Target* t, Place at);
  void EmitInitialisation(Name container, WriteOp op);
  void EmitCopy(Name to, Name from);
  NodeId Wrap(std::vector<Range> ranges, Tasklet t);
  void Unbounded(Name index);

  // elaborate_shapes.cc
  void RunShape(const FormStmt& s);
  void RunKnown(const FormStmt& s);
  std::vector<Name> OutputsNamed(Name name, Place at) const;
  std::vector<Expr> Integers(const std::vector<Expr>& parts, const char* what);

  // blocks
  void Emit(NodeId n);
  BlockId CurrentState();
  void EmitBefore(NodeId n);  // into the state before the outermost open loop

  const Form& form_;
  const FormContext& context_;
  Assumptions assumptions_;
  Sdfg s_;
  Env env_;

  std::map<Name, Name> containers_;             // form name → container (ports, aliases, temporaries)
  std::map<Name, std::vector<Name>> variadic_;  // form name → containers
  std::set<Name> absent_;                       // ports and attributes with nothing there
  std::map<Name, DType> absent_type_;
  std::set<Name> outputs_, absent_outputs_, written_;
  std::map<Name, Name> shadow_;              // half-precision output → its f32 accumulator
  std::map<Name, std::vector<Expr>> known_;  // container → elements
  std::set<Name> has_known_, inputs_;
  std::map<Name, Val> attributes_;
  std::set<Name> groups_;
  std::map<Name, int> fixed_length_;                // let rank(g)
  std::map<Name, int> length_, remembered_length_;  // of this statement; of earlier ones
  std::map<Name, Interval2> remembered_range_;
  std::unordered_map<const Binding*, Val> let_cache_;
  std::set<Name> used_names_;
  std::set<Name> unbounded_;  // reserved indices, whose bounds are not known yet
  bool progress_ = false, use_remembered_ = false;
  int ellipsis_rank_ = 0;  // longest `..` seen in this statement
  DType target_type_ = DType::kNone;
  bool has_f64_ = false;
  std::deque<std::vector<BlockId>> open_;  // bodies of the open loops and branches; front: the SDFG's
  int loop_depth_ = 0;
  std::vector<Walk> walks_;                                    // of this statement
  std::deque<std::vector<BlockId>> held_;  // requirements, to come first in the open branches; front: in the SDFG
  std::map<Name, FormOutput>* shapes_ = nullptr;  // where a shape form's results go; null in other forms
  std::vector<Name> output_names_;
  Ranges loops_;  // of the open loops' variables
  BlockId before_loop_;
};

}  // namespace elaborate
}  // namespace headrace
