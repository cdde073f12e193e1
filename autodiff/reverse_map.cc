// Adjoints of tasklets and maps: a map over the same ranges whose body recomputes the registers and then runs backwards.
#include <algorithm>

#include "autodiff/derivative.h"
#include "autodiff/reverse.h"
#include "autodiff/reverse_pieces.h"
#include "ir/analysis/type_inference.h"

namespace headrace::autodiff {
namespace {

// The elements that an accumulation by `*=`, `max=` or `min=` combined, summed up again: what the adjoint of each needs.
struct Helper {
  Name value;  // max, min: the result. *: the product of the factors that are not 0
  Name count;  // max, min: how many were equal to it. *: how many were 0
};

class MapReverser {
 public:
  // `touches`: in how many tasklets of the whole statement each array stands; one that is overwritten where another tasklet
  // made it must be cleared between.
  // `whole`: the adjoint is one map, in which everything stands in order; where it can't be, that is an error.
  MapReverser(const MapContext& c, std::unordered_map<Name, int> touches, bool whole)
      : c_(c), s_(*c.s), names_(*c.names), touches_(std::move(touches)), whole_(whole) {}

  Result<std::vector<NodeId>> Run(NodeId statement) {
    NodeId own = CloneStatement(&s_, statement, OwnRegisters(&s_, &names_, statement),
                                [&](NodeId, Tasklet t) { return std::vector<Tasklet>{t}; });
    if (!PlainWrites(own)) return std::vector<NodeId>();
    root_ = own;
    HR_RETURN_IF_ERROR(Helpers(own));
    std::vector<NodeId> out;
    HR_RETURN_IF_ERROR(Statement(own, &out, /*in_map=*/false));
    std::vector<NodeId> all = std::move(before_);
    for (NodeId n : out) {
      if (!std::holds_alternative<Map>(s_.nodes[n].body)) {
        all.push_back(n);
        continue;
      }
      const std::vector<NodeId> pieces = SplitWrites(&s_, &names_, n);
      if (whole_ && pieces.size() > 1)
        return UnsupportedError("E0807", "a map that exchanges elements of an array, and reads others at several places, has no gradient",
                                "write the new elements to an array of their own, and copy them back in a statement after it");
      for (NodeId piece : pieces)
        for (NodeId part : SplitProducts(&s_, piece)) all.push_back(part);
    }
    ShareSums(&s_, &names_, &all);
    all.insert(all.end(), after_.begin(), after_.end());
    return all;
  }

 private:
  // Accumulations by *=, max= and min= that meet each element once are ordinary assignments. False: nothing is active here.
  bool PlainWrites(NodeId n) {
    bool any = false;
    std::vector<Range> ranges;
    std::function<void(NodeId)> walk = [&](NodeId id) {
      Body& b = s_.nodes.Mutable(id).body;
      if (auto* m = std::get_if<Map>(&b)) {
        ranges.insert(ranges.end(), m->ranges.begin(), m->ranges.end());
        size_t added = m->ranges.size();
        for (NodeId c : std::vector<NodeId>(m->body)) walk(c);
        ranges.resize(ranges.size() - added);
        return;
      }
      auto* t = std::get_if<Tasklet>(&b);
      if (!t) return;
      any |= c_.active(t->target) || IsRegister(s_, t->target);
      if (t->op == WriteOp::kAssign || t->op == WriteOp::kAdd || IsRegister(s_, t->target)) return;
      if (!ranges.empty() && (t->flat || IsInjective(ranges, t->index, s_.assumptions) != Truth::kYes)) return;
      Expr old = ReadExpr(t->target, t->index, {}, t->flat);
      t->value = t->op == WriteOp::kMul ? BinaryExpr(Op::kMul, old, t->value)
                                        : CallExpr(t->op == WriteOp::kMax ? "max" : "min", {old, t->value});
      t->op = WriteOp::kAssign;
    };
    walk(n);
    return any;
  }

  bool Active(Name n) const { return IsRegister(s_, n) ? active_registers_.count(n) > 0 : c_.active(n); }

  // The adjoint of a register, made on first use; its home map clears it.
  Name GradientOf(Name n) {
    if (!IsRegister(s_, n)) return c_.gradient(n);
    auto it = gradients_.find(n);
    if (it != gradients_.end()) return it->second;
    Container c = s_.Get(n);
    c.name = names_("grad_" + n.str());
    gradients_[n] = c.name;
    Name g = c.name;
    s_.Add(std::move(c));
    return g;
  }
  Name Register(std::string_view stem, DType t) {
    Container c;
    c.name = names_(stem);
    c.dtype = t;
    c.storage = Storage::kRegister;
    Name n = c.name;
    s_.Add(std::move(c));
    return n;
  }

  // ---- *=, max=, min= over several elements ----
  Status Helpers(NodeId root) {
    MarkActiveRegisters(root);
    Status status;
    std::vector<std::pair<NodeId, Tasklet>> found;
    ForEachTasklet(s_, root, [&](NodeId id, const Tasklet& t) {
      if (t.op != WriteOp::kAssign && t.op != WriteOp::kAdd && Active(t.target)) found.push_back({id, t});
    });
    for (auto& [id, t] : found) {
      if (IsRegister(s_, t.target)) continue;  // made where the register lives, see RegisterHelper
      HR_RETURN_IF_ERROR(ArrayHelper(root, id, t));
    }
    return status;
  }

  // Registers that depend on something active (an over-approximation without order).
  void MarkActiveRegisters(NodeId root) {
    for (bool changed = true; changed;) {
      changed = false;
      ForEachTasklet(s_, root, [&](NodeId, const Tasklet& t) {
        if (!IsRegister(s_, t.target) || active_registers_.count(t.target)) return;
        DType d = s_.Get(t.target).dtype;
        if (!IsFloat(d) && !IsComplex(d)) return;
        for (Name r : ReadContainers(t.value))
          if (Active(r)) changed |= active_registers_.insert(t.target).second;
      });
    }
  }

  Status ArrayHelper(NodeId root, NodeId leaf, const Tasklet& t) {
    const Container array = s_.Get(t.target);  // a copy: what follows adds containers
    Helper h;
    auto transient = [&](const char* stem) {
      Container c;
      c.name = names_(stem);
      c.dtype = array.dtype;
      c.shape = array.shape;
      Name n = c.name;
      s_.Add(std::move(c));
      return n;
    };
    const bool product = t.op == WriteOp::kMul;
    h.value = transient(product ? "factors" : "extreme");
    h.count = transient(product ? "zeros" : "ties");
    // The element's value before: what the statement itself assigned first, else what the array held.
    NodeId init;
    ForEachTasklet(s_, root, [&](NodeId id, const Tasklet& x) {
      if (x.target == t.target && x.op == WriteOp::kAssign && x.index == t.index) init = id;
    });
    std::vector<Expr> index;
    std::vector<Range> ranges = IndexRanges(&names_, array.shape, &index);
    auto over_array = [&](std::vector<NodeId> body, std::vector<NodeId>* out) { AddMap(&s_, ranges, body, out); };
    Expr old = ReadExpr(t.target, index);
    auto zero_test = [&](const Expr& e) { return BinaryExpr(Op::kEq, e, FloatExpr(0)); };
    auto clone = [&](Name to, const std::function<std::optional<Tasklet>(const Tasklet&, bool is_init)>& f) {
      NodeId n = CloneStatement(&s_, root, OwnRegisters(&s_, &names_, root), [&](NodeId id, Tasklet x) {
        std::vector<Tasklet> out;
        if (IsRegister(s_, x.target)) out.push_back(x);
        else if (id == leaf || id == init) {
          if (auto y = f(x, id == init)) {
            y->target = to;
            out.push_back(*y);
          }
        }
        return out;
      });
      if (n.valid()) before_.push_back(n);
    };
    auto with = [](Tasklet x, WriteOp op, Expr value) { return x.op = op, x.value = std::move(value), x; };
    if (product) {
      over_array(
          {AddTasklet(&s_, h.value, index,
                      init.valid() ? Expr(FloatExpr(1)) : SelectExpr(zero_test(old), FloatExpr(1), old)),
           AddTasklet(&s_, h.count, index,
                      init.valid() ? Expr(FloatExpr(0)) : SelectExpr(zero_test(old), FloatExpr(1), FloatExpr(0)))},
          &before_);
      clone(h.value, [&](const Tasklet& x, bool) {
        return with(x, WriteOp::kMul, SelectExpr(zero_test(x.value), FloatExpr(1), x.value));
      });
      clone(h.count, [&](const Tasklet& x, bool) {
        return with(x, WriteOp::kAdd, SelectExpr(zero_test(x.value), FloatExpr(1), FloatExpr(0)));
      });
    } else {
      if (!init.valid()) over_array({AddTasklet(&s_, h.value, index, old)}, &before_);
      clone(h.value, [&](const Tasklet& x, bool) { return std::optional<Tasklet>(x); });
      auto equal = [&](const Expr& e, const std::vector<Expr>& at) {
        return SelectExpr(BinaryExpr(Op::kEq, e, ReadExpr(h.value, at)), FloatExpr(1), FloatExpr(0));
      };
      over_array({AddTasklet(&s_, h.count, index, init.valid() ? Expr(FloatExpr(0)) : equal(old, index))}, &before_);
      clone(h.count, [&](const Tasklet& x, bool) { return with(x, WriteOp::kAdd, equal(x.value, x.index)); });
    }
    helpers_[t.target] = h;
    if (!init.valid()) {  // what came before gets its share
      Name g = c_.gradient(t.target);
      over_array({AddTasklet(&s_, g, index, Share(t.op, h, index, old, ReadExpr(g, index)))}, &after_);
    }
    return {};
  }

  // For a register: counted again right before the reversal of statement `c`, which holds the accumulation.
  Status RegisterHelper(const std::vector<NodeId>& body, NodeId c, NodeId leaf, const Tasklet& t,
                        std::vector<NodeId>* out) {
    const bool product = t.op == WriteOp::kMul;
    const DType type = s_.Get(t.target).dtype;
    if (!s_.Get(t.target).shape.empty())
      return UnsupportedError("E0807", 
          "the gradient of an array of registers accumulated by " + std::string(WriteOpToken(t.op)) + " is not known",
          "keep '" + t.target.str() + "' in an ordinary transient");
    Helper h;
    h.count = Register(product ? "zeros" : "ties", type);
    h.value = product ? Register("factors", type) : t.target;
    Expr init;
    for (NodeId n : body)
      if (auto* x = std::get_if<Tasklet>(&s_.nodes[n].body); x && x->target == t.target && x->op == WriteOp::kAssign)
        init = x->value;
    if (!init)
      return UnsupportedError("E0807",
                              "register '" + t.target.str() + "' is accumulated by " + std::string(WriteOpToken(t.op)) +
                                  " without being assigned first in the same map",
                              "assign it before");
    auto one_if = [&](const Expr& cond) { return SelectExpr(cond, FloatExpr(1), FloatExpr(0)); };
    auto zero_test = [&](const Expr& e) { return BinaryExpr(Op::kEq, e, FloatExpr(0)); };
    bool init_active = false;
    for (Name r : ReadContainers(init)) init_active |= Active(r);
    auto clone = [&](Name to, WriteOp op, const std::function<Expr(const Expr&)>& f) {
      NodeId n = CloneStatement(&s_, c, std::holds_alternative<Map>(s_.nodes[c].body) ? InnerRegisters(c) : Renames(),
                                [&](NodeId id, Tasklet x) {
                                  std::vector<Tasklet> v;
                                  if (id == leaf) {
                                    x.value = f(x.value), x.target = to, x.op = op;
                                    v.push_back(x);
                                  } else if (IsRegister(s_, x.target)) {
                                    v.push_back(x);
                                  }
                                  return v;
                                });
      out->push_back(n);
    };
    if (product) {
      out->push_back(AddTasklet(&s_, h.value, {}, SelectExpr(zero_test(init), FloatExpr(1), init)));
      out->push_back(AddTasklet(&s_, h.count, {}, one_if(zero_test(init))));
      clone(h.value, WriteOp::kMul, [&](const Expr& e) { return SelectExpr(zero_test(e), FloatExpr(1), e); });
      clone(h.count, WriteOp::kAdd, [&](const Expr& e) { return one_if(zero_test(e)); });
    } else {
      Expr now = ReadExpr(t.target, {});
      out->push_back(AddTasklet(&s_, h.count, {}, init_active ? one_if(BinaryExpr(Op::kEq, init, now)) : FloatExpr(0)));
      clone(h.count, WriteOp::kAdd, [&](const Expr& e) { return one_if(BinaryExpr(Op::kEq, e, now)); });
    }
    helpers_[t.target] = h;
    return {};
  }
  // Registers used only inside `c` get copies; those of outer maps stay.
  Renames InnerRegisters(NodeId c) {
    std::unordered_map<Name, int> inside;
    CountRegisters(s_, c, &inside);
    Renames out;
    std::vector<Name> names;
    for (const auto& x : inside)
      if (total_.count(x.first) && total_[x.first] == x.second) names.push_back(x.first);
    std::sort(names.begin(), names.end());
    for (Name r : names) {
      Container copy = s_.Get(r);
      copy.name = names_(r.view());
      out.push_back({r, copy.name});
      s_.Add(std::move(copy));
    }
    return out;
  }

  // The share of one element with value e in the gradient g of what the accumulation gave.
  static Expr Share(WriteOp op, const Helper& h, const std::vector<Expr>& at, const Expr& e, const Expr& g) {
    Expr value = ReadExpr(h.value, at), count = ReadExpr(h.count, at);
    if (op == WriteOp::kMul) {
      auto is = [](const Expr& a, double v) { return BinaryExpr(Op::kEq, a, FloatExpr(v)); };
      return SelectExpr(
          is(count, 0), BinaryExpr(Op::kMul, g, BinaryExpr(Op::kDiv, value, e)),
          SelectExpr(BinaryExpr(Op::kAnd, is(count, 1), is(e, 0)), BinaryExpr(Op::kMul, g, value), FloatExpr(0)));
    }
    return SelectExpr(BinaryExpr(Op::kEq, e, value), BinaryExpr(Op::kDiv, g, count), FloatExpr(0));
  }

  // ---- statements ----
  Status Statement(NodeId n, std::vector<NodeId>* out, bool in_map) {
    const Body body = s_.nodes[n].body;
    if (auto* t = std::get_if<Tasklet>(&body)) {
      Status st = Leaf(*t, out, in_map);
      return st.ok() ? st : WithNode(st, s_.nodes[n].origin.Label());
    }
    if (auto* m = std::get_if<Map>(&body)) return ReverseOneMap(n, *m, out);
    std::string what = std::holds_alternative<Nested>(body) ? "a call inside a map" : "a library node inside a map";
    return UnsupportedError("E0807", what + " has no gradient", "expand or inline it before the backward pass");
  }

  Status ReverseOneMap(NodeId id, const Map& m, std::vector<NodeId>* out) {
    if (total_.empty()) CountRegisters(s_, id, &total_);
    // Registers that live in an iteration of this map.
    std::unordered_map<Name, int> inside;
    CountRegisters(s_, id, &inside);
    std::vector<std::unordered_map<Name, int>> per_child(m.body.size());
    for (size_t k = 0; k < m.body.size(); ++k) CountRegisters(s_, m.body[k], &per_child[k]);
    std::vector<Name> home;
    for (const auto& [name, uses] : inside) {
      bool in_one_map = false;
      for (size_t k = 0; k < m.body.size(); ++k)
        in_one_map |= std::holds_alternative<Map>(s_.nodes[m.body[k]].body) && per_child[k].count(name) &&
                      per_child[k][name] == uses;
      if (total_[name] == uses && !in_one_map) home.push_back(name);
    }
    std::sort(home.begin(), home.end());
    auto is_home = [&](Name n) { return std::find(home.begin(), home.end(), n) != home.end(); };
    std::vector<NodeId> body;
    for (size_t k = 0; k < m.body.size(); ++k) {
      bool writes_home = false;
      ForEachTasklet(s_, m.body[k], [&](NodeId, const Tasklet& t) { writes_home |= is_home(t.target); });
      if (!writes_home) continue;
      Renames inner = std::holds_alternative<Map>(s_.nodes[m.body[k]].body) ? InnerRegisters(m.body[k]) : Renames();
      NodeId copy = CloneStatement(&s_, m.body[k], inner, [&](NodeId, Tasklet t) {
        return IsRegister(s_, t.target) ? std::vector<Tasklet>{t} : std::vector<Tasklet>();
      });
      if (copy.valid()) body.push_back(copy);
    }
    size_t prologue = body.size();
    around_.insert(around_.end(), m.ranges.begin(), m.ranges.end());
    for (size_t k = m.body.size(); k-- > 0;) {
      NodeId c = m.body[k];
      std::vector<std::pair<NodeId, Tasklet>> reduced;
      ForEachTasklet(s_, c, [&](NodeId leaf, const Tasklet& t) {
        if (is_home(t.target) && Active(t.target) && t.op != WriteOp::kAssign && t.op != WriteOp::kAdd)
          reduced.push_back({leaf, t});
      });
      for (auto& [leaf, t] : reduced) HR_RETURN_IF_ERROR(RegisterHelper(m.body, c, leaf, t, &body));
      HR_RETURN_IF_ERROR(Statement(c, &body, true));
    }
    around_.resize(around_.size() - m.ranges.size());
    std::vector<NodeId> clear;
    for (Name r : home)
      if (gradients_.count(r)) ClearRegister(gradients_[r], &clear);
    body.insert(body.begin() + prologue, clear.begin(), clear.end());
    // A body that only recomputes contributes nothing.
    bool writes = false;
    for (size_t k = prologue; k < body.size(); ++k)
      ForEachTasklet(s_, body[k],
                     [&](NodeId, const Tasklet& t) { writes |= !IsRegister(s_, t.target) || !is_home(t.target); });
    if (writes) AddMap(&s_, m.ranges, body, out);
    return {};
  }
  void ClearRegister(Name g, std::vector<NodeId>* out) {
    std::vector<Expr> index;
    std::vector<Range> ranges = IndexRanges(&names_, s_.Get(g).shape, &index);
    AddMap(&s_, ranges, {AddTasklet(&s_, g, index, FloatExpr(0))}, out);
  }

  // One assignment: g = dT[t]; dT[t] = 0; dR[r] += g · ∂e/∂R[r].
  Status Leaf(const Tasklet& t, std::vector<NodeId>* out, bool in_map) {
    if (!Active(t.target)) return {};
    if (IsRegister(s_, t.target) && !gradients_.count(t.target)) return {};  // what reads it gave nothing
    HR_ASSIGN_OR_RETURN(Expr value, TypedValue(s_, ChosenByResult(t)));
    const Container target = s_.Get(t.target);  // a copy: what follows adds containers
    const bool is_register = IsRegister(s_, t.target);
    Name g = GradientOf(t.target);
    Expr given = ReadExpr(g, t.index, t.guarded ? FloatExpr(0) : Expr(), t.flat);
    const Name root = RootOf(s_, t.target);
    const bool clears = t.op == WriteOp::kAssign && !is_register && (touches_[root] > 1 || c_.zero(root));
    std::vector<NodeId> own;
    // The gradient in a scalar of its own: it is used several times, and the element it comes from may change meanwhile.
    Name held = Scalar(in_map, "given", target.dtype);
    own.push_back(AddTasklet(&s_, held, {}, given));
    if (clears) {
      Tasklet zero;
      zero.target = g, zero.index = t.index, zero.flat = t.flat, zero.guarded = t.guarded, zero.value = FloatExpr(0);
      own.push_back(s_.AddNode(std::move(zero)));
    }
    Expr seed = ReadExpr(held, {});
    auto helper = helpers_.find(t.target);
    bool combined = helper != helpers_.end() && (t.op == WriteOp::kMul || t.op == WriteOp::kMax ||
                                                 t.op == WriteOp::kMin || t.op == WriteOp::kAssign);
    if (t.op != WriteOp::kAssign && t.op != WriteOp::kAdd && !combined)
      return InternalError("no helper for an accumulation by " + std::string(WriteOpToken(t.op)));
    if (combined) {
      WriteOp op = ops_of_.count(t.target) ? ops_of_[t.target] : t.op;
      if (t.op != WriteOp::kAssign) ops_of_[t.target] = op = t.op;
      Name share = Scalar(in_map, "share", target.dtype);
      own.push_back(AddTasklet(&s_, share, {},
                               Share(op, helper->second, is_register ? std::vector<Expr>() : t.index, t.value, seed)));
      seed = ReadExpr(share, {});
    }
    HR_ASSIGN_OR_RETURN(seed, InferTypes(s_, seed, target.dtype));
    auto fresh = [&](std::string_view stem) { return names_(stem); };
    HR_ASSIGN_OR_RETURN(Derivative d, Differentiate(
                                          s_, value, seed, [&](Name n) { return Active(n); }, fresh));
    for (Shared& x : d.shared) {
      Container c;
      c.name = x.name;
      c.dtype = x.dtype;
      if (in_map) c.storage = Storage::kRegister;
      s_.Add(std::move(c));
      own.push_back(AddTasklet(&s_, x.name, {}, x.value));
    }
    for (Contribution& x : d.contributions) {
      Tasklet a;
      a.target = GradientOf(x.read->name);
      a.index = IndexOf(x.read);
      a.flat = x.read->flat;
      a.guarded = x.guarded || x.read->has_default;
      a.op = WriteOp::kAdd;
      a.value = x.value;
      own.push_back(s_.AddNode(std::move(a)));
    }
    if (d.contributions.empty() && !clears) return {};
    if (d.contributions.empty()) own.erase(own.begin(), own.begin() + 1), own.resize(1);
    out->insert(out->end(), own.begin(), own.end());
    return {};
  }
  // Whether a positive part was taken is asked of the result where what it was made of comes from several arrays: the result is one, and
  // what is read after it needs it, too.
  //   t = a[i] + b[i] ; Y[i] = t <= 0 ? 0 : t   →   Y[i] = Y[i] <= 0 ? 0 : t
  Tasklet ChosenByResult(const Tasklet& t) const {
    const Name root = RootOf(s_, t.target);
    const auto touched = touches_.find(root);
    if (!c_.result || touched == touches_.end() || touched->second != 1 || !IsPositivePartOfSeveral(s_, root_, t, around_)) return t;
    c_.result(root);
    Tasklet chosen = t;
    const Expr& zero = t.value->args[0]->args[1];
    chosen.value = SelectExpr(BinaryExpr(Op::kLe, ReadExpr(t.target, t.index), zero), t.value->args[1], t.value->args[2]);
    return chosen;
  }
  Name Scalar(bool in_map, std::string_view stem, DType t) {
    if (in_map) return Register(stem, t);
    Container c;
    c.name = names_(stem);
    c.dtype = t;
    Name n = c.name;
    s_.Add(std::move(c));
    return n;
  }

  const MapContext& c_;
  Sdfg& s_;
  FreshNames& names_;
  std::unordered_set<Name> active_registers_;
  std::unordered_map<Name, Name> gradients_;
  std::unordered_map<Name, Helper> helpers_;
  std::unordered_map<Name, WriteOp> ops_of_;
  std::unordered_map<Name, int> total_, touches_;
  std::vector<NodeId> before_, after_;
  NodeId root_;                // the statement
  std::vector<Range> around_;  // what is being reversed
  bool whole_;
};

}  // namespace

Result<std::vector<NodeId>> ReverseMap(const MapContext& c, NodeId statement) {
  const std::unordered_map<Name, int> touches = CountTouches(*c.s, statement);
  int groups;
  const std::unordered_map<uint32_t, int> group = GroupsOf(*c.s, statement, &groups);
  const bool whole = groups > 1 && ReadsBeforeOtherGroups(*c.s, statement, group);
  if (whole) groups = 1;
  std::vector<NodeId> all;
  for (int g = groups; g-- > 0;) {
    NodeId part = statement;
    if (groups > 1)
      part = CloneStatement(c.s, statement, {}, [&](NodeId id, Tasklet t) {
        auto it = group.find(id.value);
        return it == group.end() || it->second == g ? std::vector<Tasklet>{t} : std::vector<Tasklet>();
      });
    HR_ASSIGN_OR_RETURN(std::vector<NodeId> adjoint, MapReverser(c, touches, whole).Run(part));
    all.insert(all.end(), adjoint.begin(), adjoint.end());
  }
  std::vector<NodeId> out;
  for (NodeId n : all) {
    if (std::holds_alternative<Map>(c.s->nodes[n].body)) DropUnreadRegisters(c.s, &n);
    if (n.valid()) out.push_back(n);
  }
  return out;
}

}  // namespace headrace::autodiff
