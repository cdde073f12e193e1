#include "autodiff/expression_dag.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unordered_set>

#include "ir/analysis/type_inference.h"

namespace headrace::autodiff {
namespace {

ExprNode Blank(ExprKind k, DType t) {
  ExprNode n;
  n.kind = k;
  n.dtype = t;
  return n;
}
bool IsComparison(Op op) { return op >= Op::kEq && op <= Op::kGe; }
bool IsNarrow(DType t) { return IsFloat(t) && ComputeType(t) != t; }
DType PartType(DType t) { return t == DType::kC64 ? DType::kF32 : t == DType::kC128 ? DType::kF64 : t; }

}  // namespace

Ref ExpressionDag::Make(ExprNode n, std::vector<Ref> args) {
  const bool read = n.kind == ExprKind::kRead;
  if (read) {
    if (n.has_default) n.args.back() = nodes_[args[0]].e;  // indices are taken as they are
  } else {
    n.args.clear();
    for (Ref a : args) n.args.push_back(nodes_[a].e);
  }
  const Expr e(std::move(n));
  uint64_t h = e->hash * 0x9E3779B97F4A7C15ull + static_cast<uint64_t>(e->dtype);
  for (Ref a : args) h = h * 0x100000001b3ull + static_cast<uint64_t>(a);
  for (Ref r : by_hash_[h]) {
    const Node& o = nodes_[r];
    if (o.args != args || o.e->dtype != e->dtype) continue;
    // Operands are equal nodes, so what is left to compare is the node itself.
    const ExprNode &x = *o.e, &y = *e;
    bool same = x.kind == y.kind && x.op == y.op && x.ivalue == y.ivalue && x.name == y.name && x.flat == y.flat &&
                x.has_default == y.has_default && x.saturate == y.saturate && x.text == y.text &&
                x.args.size() == y.args.size();
    same = same && std::memcmp(&x.fvalue, &y.fvalue, sizeof(double)) == 0;  // -0 is not 0
    for (size_t i = 0; same && read && i + y.has_default < y.args.size(); ++i)
      same = x.args[i] == y.args[i] && x.args[i]->dtype == y.args[i]->dtype;
    if (same) return r;
  }
  Node node;
  node.e = e;
  bool index = IsInteger(e->dtype) || e->dtype == DType::kBool, cheap = true;
  for (Ref a : args) {
    index = index && nodes_[a].index_only;
    cheap = cheap && nodes_[a].cheap;
    node.height = std::max(node.height, nodes_[a].height + 1);
  }
  switch (e->kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kBool:
    case ExprKind::kSymbol: break;
    case ExprKind::kRead:
      index = false;
      cheap = !e->has_default;
      break;
    case ExprKind::kUnary: cheap = cheap && (index || node.height <= 2); break;
    case ExprKind::kBinary: cheap = cheap && (index || (IsComparison(e->op) && node.height <= 3)); break;
    case ExprKind::kCast: cheap = cheap && node.height <= 2; break;
    default: cheap = index; break;
  }
  node.index_only = index;
  node.cheap = cheap;
  node.args = std::move(args);
  nodes_.push_back(std::move(node));
  by_hash_[h].push_back(size() - 1);
  return size() - 1;
}

Ref ExpressionDag::Intern(const Expr& e) {
  auto it = interned_.find(e.id());
  if (it != interned_.end()) return it->second;
  const Ref r = InternNode(e);
  keep_.push_back(e);
  interned_.emplace(e.id(), r);
  return r;
}

Ref ExpressionDag::InternNode(const Expr& e) {
  const DType t = e->dtype;
  ExprNode n = *e;
  if (e.Is(ExprKind::kRead)) {
    std::vector<Ref> args;
    if (e->has_default) {
      Ref d = Intern(e->args.back());
      if (IsNarrow(t)) d = Cast(t, d);
      args.push_back(d);
    }
    const Ref read = Make(std::move(n), std::move(args));
    return IsNarrow(t) ? Cast(ComputeType(t), read) : read;
  }
  std::vector<Ref> args;
  for (const Expr& a : e->args) args.push_back(Intern(a));
  if (e.Is(ExprKind::kCast)) {
    if (type(args[0]) == t && !e->saturate) return args[0];  // f32 of a narrow value is what it is computed in
    const Ref cast = Make(std::move(n), std::move(args));
    return IsNarrow(t) ? Cast(ComputeType(t), cast) : cast;  // a cast rounds
  }
  if (e.Is(ExprKind::kCall) && e->name == Name("dot2"))
    return Call("fma", {args[0], args[1], Call("fma", {args[2], args[3], args[4]}, t)}, t);
  if (e.Is(ExprKind::kCall) && e->name == Name("complex")) return Call("complex", std::move(args), t);
  n.dtype = ComputeType(t);
  return Make(std::move(n), std::move(args));
}

Ref ExpressionDag::InBounds(Expr read) {
  const Container& c = s_.Get(read->name);
  const size_t rank = read->args.size() - (read->has_default ? 1 : 0);
  Ref all = -1;
  const auto require = [&](Ref condition) { all = all < 0 ? condition : Binary(Op::kAnd, all, condition); };
  for (size_t d = 0; d < rank; ++d) {
    const Expr extent = read->flat ? NumElements(c) : c.shape[d];
    Result<Expr> typed = InferTypes(s_, extent, DType::kIndex);
    const Ref i = Intern(read->args[d]), n = Intern(typed.ok() ? *typed : extent);
    ExprNode zero = *IntExpr(0);
    zero.dtype = type(i);
    require(Binary(Op::kLe, Make(zero, {}), i));
    ExprNode bound = *expr(n);
    Ref limit = n;
    if (type(n) != type(i)) {
      bound.dtype = type(i);
      limit = Make(std::move(bound), args(n));
    }
    require(Binary(Op::kLt, i, limit));
  }
  return all < 0 ? Bool(true) : all;
}

// ---- arithmetic ----

Ref ExpressionDag::Literal(double v, DType t) {
  if (IsComplex(t)) return Cast(t, Literal(v, PartType(t)));
  ExprNode n = Blank(ExprKind::kFloat, t);
  n.fvalue = t == DType::kF64 ? v : static_cast<double>(static_cast<float>(v));
  if (t == DType::kBool) return Bool(v != 0);
  return Make(std::move(n), {});
}
Ref ExpressionDag::Bool(bool v) {
  ExprNode n = *BoolExpr(v);
  n.dtype = DType::kBool;
  return Make(std::move(n), {});
}
std::optional<double> ExpressionDag::Number(Ref r) const {
  const Expr& e = nodes_[r].e;
  if (e.Is(ExprKind::kFloat)) return e->fvalue;
  if (e.Is(ExprKind::kInt)) return static_cast<double>(e->ivalue);
  if (e.Is(ExprKind::kCast) && (IsFloat(e->dtype) || IsComplex(e->dtype)) && e->args[0]->args.empty() &&
      !e->args[0].Is(ExprKind::kRead))
    return Number(args(r)[0]);
  return std::nullopt;
}
Ref ExpressionDag::Binary(Op op, Ref a, Ref b) {
  return Make(
      [&] {
        ExprNode n =
            Blank(ExprKind::kBinary, IsComparison(op) || op == Op::kAnd || op == Op::kOr ? DType::kBool : type(a));
        n.op = op;
        return n;
      }(),
      {a, b});
}
Ref ExpressionDag::Not(Ref a) {
  if (expr(a).Is(ExprKind::kUnary) && expr(a)->op == Op::kNot) return args(a)[0];
  ExprNode n = Blank(ExprKind::kUnary, DType::kBool);
  n.op = Op::kNot;
  return Make(std::move(n), {a});
}
Ref ExpressionDag::Neg(Ref a) {
  const Expr& e = expr(a);
  if (e.Is(ExprKind::kUnary) && e->op == Op::kNeg) return args(a)[0];
  if (e.Is(ExprKind::kFloat)) return Literal(-e->fvalue, e->dtype);
  ExprNode n = Blank(ExprKind::kUnary, type(a));
  n.op = Op::kNeg;
  return Make(std::move(n), {a});
}
Ref ExpressionDag::Add(Ref a, Ref b) {
  if (a < 0) return b;
  if (b < 0) return a;
  if (a == b) return Mul(Literal(2, type(a)), a);
  const auto negated = [&](Ref x) { return expr(x).Is(ExprKind::kUnary) && expr(x)->op == Op::kNeg; };
  if (negated(b)) return Binary(Op::kSub, a, args(b)[0]);
  if (negated(a)) return Binary(Op::kSub, b, args(a)[0]);
  return Binary(Op::kAdd, a, b);
}
Ref ExpressionDag::Sub(Ref a, Ref b) { return Add(a, Neg(b)); }
Ref ExpressionDag::Mul(Ref a, Ref b) {
  const auto x = Number(a), y = Number(b);
  if (x && y && !IsComplex(type(a))) return Literal(*x * *y, type(a));
  if (x == 1.0) return b;
  if (y == 1.0) return a;
  if (x == -1.0) return Neg(b);
  if (y == -1.0) return Neg(a);
  const auto negated = [&](Ref r) { return expr(r).Is(ExprKind::kUnary) && expr(r)->op == Op::kNeg; };
  if (negated(a)) return Neg(Mul(args(a)[0], b));
  if (negated(b)) return Neg(Mul(a, args(b)[0]));
  return Binary(Op::kMul, a, b);
}
Ref ExpressionDag::Div(Ref a, Ref b) {
  const auto y = Number(b);
  if (y == 1.0) return a;
  if (y == -1.0) return Neg(a);
  if (expr(a).Is(ExprKind::kUnary) && expr(a)->op == Op::kNeg) return Neg(Div(args(a)[0], b));
  return Binary(Op::kDiv, a, b);
}
Ref ExpressionDag::Select(Ref c, Ref a, Ref b) {
  if (a == b) return a;
  if (expr(c).Is(ExprKind::kBool)) return expr(c)->ivalue ? a : b;
  return Make(Blank(ExprKind::kSelect, type(a)), {c, a, b});
}
Ref ExpressionDag::Call(const char* fn, std::vector<Ref> args, DType t) {
  ExprNode n = Blank(ExprKind::kCall, t);
  n.name = Name(fn);
  // In text the literals of a complex number have no type, and are two f64.
  const auto literal = [&](Ref a) { return expr(a).Is(ExprKind::kFloat) || expr(a).Is(ExprKind::kInt); };
  if (n.name == Name("complex") && t == DType::kC64 && literal(args[0]) && literal(args[1])) {
    n.dtype = DType::kC128;
    return Cast(t, Make(std::move(n), {Cast(DType::kF64, args[0]), Cast(DType::kF64, args[1])}));
  }
  return Make(std::move(n), std::move(args));
}
Ref ExpressionDag::Cast(DType t, Ref a) {
  if (type(a) == t) return a;
  if (expr(a).Is(ExprKind::kFloat) && (t == DType::kF64 || t == DType::kF32)) return Literal(expr(a)->fvalue, t);
  return Make(Blank(ExprKind::kCast, t), {a});
}

// ---- contexts ----

int Contexts::Intern(Context c) {
  c.depth = all_[c.parent].depth + 1;
  const auto key = std::make_tuple(c.parent, c.condition, c.taken, c.any);
  auto [it, fresh] = index_.emplace(key, static_cast<int>(all_.size()));
  if (fresh) all_.push_back(std::move(c));
  return it->second;
}

int Contexts::Arm(int parent, Ref condition, bool taken) {
  Context c;
  c.parent = parent;
  c.condition = condition;
  c.taken = taken;
  return Intern(std::move(c));
}

int Contexts::StepBelow(int ancestor, int context) const {
  while (all_[context].parent != ancestor) context = all_[context].parent;
  return context;
}

int Contexts::Merge(int a, int b) {
  if (a < 0) return b;
  if (b < 0 || a == b) return a;
  int x = a, y = b;
  while (all_[x].depth > all_[y].depth) x = all_[x].parent;
  while (all_[y].depth > all_[x].depth) y = all_[y].parent;
  while (x != y) {
    x = all_[x].parent;
    y = all_[y].parent;
  }
  if (x == a || x == b) return x;
  std::vector<int> any;
  for (int m : {a, b}) {
    if (all_[m].parent == x && !all_[m].any.empty()) any.insert(any.end(), all_[m].any.begin(), all_[m].any.end());
    else any.push_back(m);
  }
  std::sort(any.begin(), any.end());
  any.erase(std::unique(any.begin(), any.end()), any.end());
  // Both arms of one choice: nothing is left to decide.
  for (int m : any)
    for (int o : any)
      if (all_[m].parent == x && all_[o].parent == x && all_[m].any.empty() && all_[o].any.empty() &&
          all_[m].condition == all_[o].condition && all_[m].taken != all_[o].taken)
        return x;
  Context c;
  c.parent = x;
  c.any = std::move(any);
  return Intern(std::move(c));
}

Ref Contexts::Holds(int context, int base) {
  Ref out = -1;
  for (int k = context; k != base; k = all_[k].parent) {
    const Context c = all_[k];
    Ref own = -1;
    if (c.any.empty()) {
      own = c.taken ? c.condition : dag_.Not(c.condition);
    } else {
      for (int m : c.any) {
        const Ref one = Holds(m, c.parent);
        own = own < 0 ? one : dag_.Binary(Op::kOr, own, one);
      }
    }
    // A choice and not `&&`: what is inside is evaluated only where the outer condition holds.
    out = out < 0 ? own : dag_.Select(own, out, dag_.Bool(false));
  }
  return out < 0 ? dag_.Bool(true) : out;
}

Ref Contexts::Restrict(Ref value, int context, int base) {
  for (int k = context; k != base; k = all_[k].parent) {
    const Context c = all_[k];
    const Ref zero = dag_.Literal(0, dag_.type(value));
    if (c.any.empty()) value = c.taken ? dag_.Select(c.condition, value, zero) : dag_.Select(c.condition, zero, value);
    else value = dag_.Select(Holds(k, c.parent), value, zero);
  }
  return value;
}

Ref Contexts::Sum(int base, const std::vector<Item>& items) {
  Ref sum = -1;
  const bool any = !all_[base].any.empty();
  struct Group {
    int step;
    std::vector<Item> taken, other;
  };
  std::vector<Group> groups;
  for (const Item& i : items) {
    if (i.context == base) {
      sum = dag_.Add(sum, i.value);
      continue;
    }
    // What lies below one of "any of these" hangs in the tree below their common parent.
    const int step = StepBelow(any ? all_[base].parent : base, i.context);
    const Context& c = all_[step];
    Group* g = nullptr;
    for (Group& x : groups)
      if (x.step == step || (c.any.empty() && all_[x.step].any.empty() && all_[x.step].condition == c.condition))
        g = &x;
    if (g == nullptr) {
      groups.push_back({step, {}, {}});
      g = &groups.back();
    }
    (c.any.empty() && !c.taken ? g->other : g->taken).push_back(i);
  }
  for (const Group& g : groups) {
    const Context c = all_[g.step];
    if (!c.any.empty()) {
      const Ref v = Sum(g.step, g.taken);
      sum = dag_.Add(sum, dag_.Select(Holds(g.step, c.parent), v, dag_.Literal(0, dag_.type(v))));
      continue;
    }
    const Ref a = g.taken.empty() ? -1 : Sum(Arm(c.parent, c.condition, true), g.taken);
    const Ref b = g.other.empty() ? -1 : Sum(Arm(c.parent, c.condition, false), g.other);
    const Ref zero = dag_.Literal(0, dag_.type(a < 0 ? b : a));
    sum = dag_.Add(sum, dag_.Select(c.condition, a < 0 ? zero : a, b < 0 ? zero : b));
  }
  return sum;
}

std::vector<int> Contexts::Analyze(const std::vector<Ref>& roots) {
  const int n = dag_.size();
  std::vector<int> at(n, -1);
  for (Ref r : roots) at[r] = 0;
  for (Ref r = n - 1; r >= 0; --r) {
    if (at[r] < 0) continue;
    const Expr e = dag_.expr(r);
    const std::vector<Ref> args = dag_.args(r);
    for (size_t k = 0; k < args.size(); ++k) {
      int c = at[r];
      if (e.Is(ExprKind::kSelect) && k > 0) c = Arm(c, args[0], k == 1);
      if (e.Is(ExprKind::kRead)) c = Arm(c, dag_.InBounds(e), false);
      at[args[k]] = Merge(at[args[k]], c);
    }
  }
  return at;
}

// ---- back to expressions ----

namespace {

class Linearizer {
 public:
  Linearizer(ExpressionDag& dag, const std::function<bool(Ref)>& safe_read,
             const std::function<Name(std::string_view)>& fresh, std::vector<Shared>* out)
      : dag_(dag), contexts_(dag), safe_read_(safe_read), fresh_(fresh), out_(*out) {}

  std::vector<Expr> Run(const std::vector<Ref>& roots) {
    at_ = contexts_.Analyze(roots);
    const int n = static_cast<int>(at_.size());
    std::vector<int> uses(n, 0), height(n, 0);
    for (Ref r : roots) ++uses[r];
    for (Ref r = 0; r < n; ++r)
      if (at_[r] >= 0)
        for (Ref a : dag_.args(r)) ++uses[a];
    share_.assign(n, false);
    safe_.assign(n, true);
    bool conditional = false;
    for (Ref r = 0; r < n; ++r) {
      const Expr& e = dag_.expr(r);
      safe_[r] = !e.Is(ExprKind::kRead) || at_[r] == 0 || safe_read_(r);
      for (Ref a : dag_.args(r)) {
        safe_[r] = safe_[r] && safe_[a];
        height[r] = std::max(height[r], share_[a] ? 0 : height[a] + 1);
      }
      if (at_[r] < 0) continue;
      // Trees stay low enough to be printed and parsed.
      share_[r] = !dag_.cheap(r) && (uses[r] > 1 || height[r] > 200);
      conditional |= share_[r] && !safe_[r] && at_[r] != 0;
    }
    if (conditional) {  // they will be computed under their conditions, which are used once more there
      for (Ref r = 0; r < n; ++r)
        if (at_[r] >= 0 && dag_.expr(r).Is(ExprKind::kSelect) && !dag_.cheap(dag_.args(r)[0]))
          share_[dag_.args(r)[0]] = true;
    }
    std::vector<Expr> values;
    for (Ref r : roots) values.push_back(Emit(r));
    return values;
  }

 private:
  bool IsShared(Ref r) const { return r < static_cast<int>(share_.size()) && share_[r]; }

  Expr Emit(Ref r) {
    auto it = done_.find(r);
    if (it != done_.end()) return it->second;
    Expr e = Build(r);
    if (guarded_.count(r)) return e;  // a part of the condition that it is computed under: there it stands itself
    if (IsShared(r)) {
      const DType t = dag_.type(r);
      if (at_[r] != 0 && !safe_[r]) {
        const Ref zero = dag_.Literal(0, t), holds = contexts_.Holds(at_[r]);
        guarded_.insert(r);
        e = WithType(SelectExpr(Emit(holds), e, Emit(zero)), t);
        guarded_.erase(r);
      }
      const Name name = fresh_("t");
      out_.push_back({name, t, e});
      e = WithType(ReadExpr(name, {}), t);
    }
    done_.emplace(r, e);
    return e;
  }

  Expr Build(Ref r) {
    const Expr e = dag_.expr(r);
    std::vector<Expr> args;
    bool same = true;
    for (Ref a : std::vector<Ref>(dag_.args(r))) {
      args.push_back(Emit(a));
      same = same && args.back().id() == dag_.expr(a).id();
    }
    if (same) return e;
    if (!e.Is(ExprKind::kRead)) return WithArgs(e, std::move(args));
    std::vector<Expr> read = e->args;
    read.back() = args[0];
    return WithArgs(e, std::move(read));
  }

  ExpressionDag& dag_;
  Contexts contexts_;
  const std::function<bool(Ref)>& safe_read_;
  const std::function<Name(std::string_view)>& fresh_;
  std::vector<Shared>& out_;
  std::vector<int> at_;
  std::vector<bool> share_, safe_;
  std::unordered_map<Ref, Expr> done_;
  std::unordered_set<Ref> guarded_;  // whose condition is being built
};

}  // namespace

std::vector<Expr> Linearize(ExpressionDag& dag, const std::vector<Ref>& roots,
                            const std::function<bool(Ref read)>& safe,
                            const std::function<Name(std::string_view)>& fresh, std::vector<Shared>* shared) {
  return Linearizer(dag, safe, fresh, shared).Run(roots);
}

}  // namespace headrace::autodiff
