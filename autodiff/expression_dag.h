// Typed scalar expressions as a graph: equal subexpressions are one node, operands come before their users, and every node
// knows under which conditions it is evaluated. What the derivative is built in.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "autodiff/derivative.h"
#include "ir/graph/graph.h"

namespace headrace::autodiff {

using Ref = int;  // a node; -1 is none (an adjoint that is exactly zero)

class ExpressionDag {
 public:
  explicit ExpressionDag(const Sdfg& s) : s_(s) {}

  // A typed tree. Narrow floats (f16, bf16, f8, f4) become what they are computed in: f32 with a cast around each read.
  Ref Intern(const Expr& e);
  Ref Make(ExprNode n, std::vector<Ref> args);

  int size() const { return static_cast<int>(nodes_.size()); }
  const Expr& expr(Ref r) const { return nodes_[r].e; }                 // the whole tree below r
  const std::vector<Ref>& args(Ref r) const { return nodes_[r].args; }  // operands; of a read only the default
  DType type(Ref r) const { return nodes_[r].e->dtype; }
  bool cheap(Ref r) const { return nodes_[r].cheap; }
  int height(Ref r) const { return nodes_[r].height; }
  Ref InBounds(Expr read);  // a bool: the index of the read is inside its container

  // ---- arithmetic with light simplification: literal operands, signs; never changes a result, infinities included ----
  Ref Literal(double v, DType t);
  Ref Bool(bool v);
  std::optional<double> Number(Ref r) const;  // of a literal, also as a complex number
  Ref Add(Ref a, Ref b);                      // either may be none
  Ref Sub(Ref a, Ref b);
  Ref Neg(Ref a);
  Ref Mul(Ref a, Ref b);
  Ref Div(Ref a, Ref b);
  Ref Binary(Op op, Ref a, Ref b);  // comparisons and logic too
  Ref Not(Ref a);
  Ref Select(Ref c, Ref a, Ref b);
  Ref Call(const char* fn, std::vector<Ref> args, DType t);
  Ref Cast(DType t, Ref a);

 private:
  struct Node {
    Expr e;
    std::vector<Ref> args;
    bool cheap = false, index_only = false;
    int height = 0;
  };
  Ref InternNode(const Expr& e);
  const Sdfg& s_;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, std::vector<Ref>> by_hash_;
  std::unordered_map<const void*, Ref> interned_;
  std::vector<Expr> keep_;  // keys of interned_ must stay alive
};

// Where a node is evaluated: 0 is always; others are an arm of a `c ? a : b` in another context, or "in any of these".
class Contexts {
 public:
  explicit Contexts(ExpressionDag& dag) : dag_(dag) { all_.push_back({}); }
  int Arm(int parent, Ref condition, bool taken);
  int Merge(int a, int b);                             // where either holds
  Ref Holds(int context, int base = 0);                // the condition, evaluated in `base`
  Ref Restrict(Ref value, int context, int base = 0);  // `context ? value : 0`, lazily, evaluated in `base`
  struct Item {
    int context;
    Ref value;
  };
  Ref Sum(int base, const std::vector<Item>& items);  // each counts where its context holds

  // Contexts of all nodes from `roots` (each evaluated always); -1 for nodes that are not reached.
  std::vector<int> Analyze(const std::vector<Ref>& roots);

 private:
  struct Context {
    int parent = -1, depth = 0;
    Ref condition = -1;
    bool taken = false;
    std::vector<int> any;
  };
  int StepBelow(int ancestor, int context) const;  // the context on the way whose parent is `ancestor`
  int Intern(Context c);
  ExpressionDag& dag_;
  std::vector<Context> all_;
  std::map<std::tuple<int, Ref, bool, std::vector<int>>, int> index_;
};

// Values as expressions again: nodes used more than once become shared ones, computed first. Reads that are not known to be
// inside of their containers (`safe` says so) stay behind the conditions they were written under.
std::vector<Expr> Linearize(ExpressionDag& dag, const std::vector<Ref>& roots,
                            const std::function<bool(Ref read)>& safe,
                            const std::function<Name(std::string_view)>& fresh, std::vector<Shared>* shared);

}  // namespace headrace::autodiff
