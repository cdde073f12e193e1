#include "transforms/autocast.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "transforms/autocast_ops.h"
#include "transforms/uses.h"

namespace headrace {
namespace transforms {
namespace {

class Autocaster {
 public:
  Autocaster(const Program& p, Sdfg* s, DType to, const Precisions& ops, const Registry& r)
      : s_(*s), to_(to), ops_(ops), r_(r), uses_(p, *s) {}

  bool Run() {
    s_.body = Blocks(s_.body);
    return changed_;
  }

 private:
  using Copies = std::map<std::pair<Name, DType>, Name>;

  std::vector<BlockId> Blocks(const std::vector<BlockId>& body) {
    scopes_.emplace_back();
    std::vector<BlockId> out;
    for (BlockId b : body) {
      if (const auto* given = std::get_if<State>(&s_.blocks[b].control)) {
        State state = *given;
        statements_.clear();
        for (NodeId n : state.statements) Statement(n);
        if (statements_ != state.statements) {
          state.statements = std::move(statements_);
          s_.blocks.Mutable(b).control = std::move(state);
        }
      } else {
        Inner(b);
        if (scopes_.size() == 1 && !before_.empty()) {
          out.push_back(s_.AddBlock(State{{}, std::move(before_)}));
          before_.clear();
        }
      }
      out.push_back(b);
    }
    scopes_.pop_back();
    return out;
  }
  void Inner(BlockId b) {
    Control c = s_.blocks[b].control;
    if (auto* loop = std::get_if<Loop>(&c)) loop->body = Blocks(loop->body);
    else if (auto* choice = std::get_if<Conditional>(&c))
      for (Branch& branch : choice->branches) branch.body = Blocks(branch.body);
    else return;
    s_.blocks.Mutable(b).control = std::move(c);
  }

  void Statement(NodeId n) {
    const auto* given = std::get_if<Library>(&s_.nodes[n].body);
    if (!given) return statements_.push_back(n);
    Library l = *given;
    origin_ = s_.nodes[n].origin.By("autocast");
    const Precision precision = PrecisionOf(l);
    std::vector<DType> inputs(l.inputs.size(), DType::kF32), outputs(l.outputs.size(), DType::kF32);
    if (precision == Precision::kNarrow || precision == Precision::kFollow)
      for (const TypeGroup& g : TypeGroups(r_, l)) {
        if (!IsNarrow(g, l, precision)) continue;
        for (size_t i : g.inputs) inputs[i] = to_;
        for (size_t i : g.outputs) outputs[i] = to_;
      }
    const Library before = l;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (Floats(l.inputs[i].container)) l.inputs[i].container = As(l.inputs[i].container, inputs[i], &statements_);
    std::vector<NodeId> after;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] == to_ && Floats(l.outputs[i].container)) Narrow(&l.outputs[i].container, &after);
    Remember(before, precision);
    statements_.push_back(n);
    statements_.insert(statements_.end(), after.begin(), after.end());
    s_.nodes.Mutable(n).body = std::move(l);
  }

  // What is dequantised is computed with as it is.
  Precision PrecisionOf(const Library& l) const {
    const Precision p = ops_.Of(l);
    if (p != Precision::kNarrow) return p;
    for (const Port& q : l.inputs)
      if (exact_.count(q.container)) return Precision::kWide;
    return p;
  }
  void Remember(const Library& l, Precision p) {
    const auto any = [&](const std::unordered_set<Name>& set) {
      return std::any_of(l.inputs.begin(), l.inputs.end(), [&](const Port& q) { return set.count(q.container) > 0; });
    };
    const auto settled = [&](const Port& q) { return !Floats(q.container) || IsSettled(q.container); };
    const bool exact = p == Precision::kExact || (p == Precision::kFollow && any(exact_));
    const bool still = p == Precision::kFollow && std::all_of(l.inputs.begin(), l.inputs.end(), settled);
    for (const Port& q : l.outputs) {
      if (exact) exact_.insert(q.container);
      if (still) still_.insert(q.container);
    }
  }

  // A container that is f32, or was before this pass.
  bool Floats(Name n) const {
    const Container* c = n.empty() ? nullptr : s_.Find(n);
    return c && c->kind != ContainerKind::kSequence && (c->dtype == DType::kF32 || narrowed_.count(n));
  }
  bool IsNarrow(const TypeGroup& g, const Library& l, Precision p) const {
    bool floats = false, narrow = false, wide = false;
    for (size_t i : g.inputs) {
      const Name n = l.inputs[i].container;
      floats |= Floats(n);
      narrow |= narrowed_.count(n) > 0;
      wide |= Floats(n) && !narrowed_.count(n) && Decides(n, g, l);
    }
    return g.narrows && (p == Precision::kNarrow ? floats : narrow && !wide);
  }
  // Weights that are broadcast over the other operands take their type.
  bool Decides(Name n, const TypeGroup& g, const Library& l) const {
    if (!IsSettled(n)) return true;
    return std::any_of(g.outputs.begin(), g.outputs.end(), [&](size_t i) {
      const Container* c = l.outputs[i].container.empty() ? nullptr : s_.Find(l.outputs[i].container);
      return c && c->shape == s_.Get(n).shape;
    });
  }
  // Given to the program, or made of such values alone by ops without a precision of their own.
  bool IsSettled(Name n) const { return IsGiven(n) || still_.count(n); }
  bool IsGiven(Name n) const {
    const Name root = RootOf(s_, n);
    const ContainerKind kind = s_.Get(root).kind;
    return (kind == ContainerKind::kParameter || kind == ContainerKind::kConstant) && uses_.Of(root).writes.empty();
  }
  // Holds one value, in a run or in each iteration of the loops around its writer.
  bool IsWrittenOnce(Name n) const {
    const Name root = RootOf(s_, n);
    const Usage& u = uses_.Of(root);
    const ContainerKind kind = s_.Get(root).kind;
    return (kind == ContainerKind::kTransient || kind == ContainerKind::kParameter) && !s_.Get(root).inout && u.writes.size() == 1 &&
           (u.reads.empty() || u.reads.front() > u.writes.front());
  }
  // Only library nodes read it, and one writes it, all of it.
  bool CanChange(Name n) const {
    const Container& c = s_.Get(n);
    const Usage& u = uses_.Of(n);
    if (c.kind != ContainerKind::kTransient || c.storage != Storage::kArena || u.viewed || !IsWrittenOnce(n)) return false;
    const auto by_node = [&](uint32_t at) {
      const NodeId id = uses_.positions()[at].statement;
      return id.valid() && std::holds_alternative<Library>(s_.nodes[id].body);
    };
    return by_node(u.writes.front()) && std::all_of(u.reads.begin(), u.reads.end(), by_node);
  }

  // The container's value in that type.
  Name As(Name n, DType type, std::vector<NodeId>* here) {
    const Container c = s_.Get(n);
    if (c.dtype == type) return n;
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto it = scope->find({n, type}); it != scope->end()) return it->second;
    changed_ = true;
    if (c.kind == ContainerKind::kConstant) return scopes_.front()[{n, type}] = ConstantAs(c, type);
    const Name made = Fresh(c, type);
    const bool everywhere = IsGiven(n);  // it may as well be made before the loops and branches around
    const NodeId cast = Cast(made, n, type);
    (everywhere && scopes_.size() > 1 ? before_ : *here).push_back(cast);
    if (everywhere) scopes_.front()[{n, type}] = made;
    else if (IsWrittenOnce(n)) scopes_.back()[{n, type}] = made;
    return made;
  }
  // An output becomes narrow; where the program wants it as it was, it is cast after the node.
  void Narrow(Name* container, std::vector<NodeId>* after) {
    changed_ = true;
    const Name n = *container;
    if (CanChange(n)) {
      s_.Mutable(n).dtype = to_;
      narrowed_.insert(n);
      return;
    }
    *container = Fresh(s_.Get(n), to_);
    narrowed_.insert(*container);
    after->push_back(Cast(n, *container, DType::kF32));
    if (IsWrittenOnce(n)) scopes_.back()[{n, to_}] = *container;
  }

  std::string NameIn(Name n, DType type) const { return n.str() + "_" + std::string(DTypeName(type)); }
  Name Fresh(const Container& like, DType type) {
    Container c;
    c.name = s_.FreshName(NameIn(like.name, type));
    c.dtype = type;
    c.shape = like.shape;
    c.origin = origin_;
    const Name name = c.name;
    s_.Add(std::move(c));
    return name;
  }
  Name ConstantAs(const Container& given, DType type) {
    Container c = given;
    c.name = s_.FreshName(NameIn(given.name, type));
    c.dtype = type;
    c.data = Tensor::Create(type, given.data.shape).value();
    for (int64_t i = 0; i < c.data.elements(); ++i) c.data.SetDouble(i, given.data.GetDouble(i));
    const Name name = c.name;
    s_.Add(std::move(c));
    return name;
  }
  NodeId Cast(Name target, Name source, DType type) {
    const std::vector<Expr> shape = s_.Get(target).shape;
    Tasklet t;
    Map m;
    t.target = target;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Name index = s_.FreshName("i" + std::to_string(d));
      m.ranges.push_back({index, Expr(0), shape[d], Expr(1)});
      t.index.push_back(Expr(index));
    }
    t.value = CastExpr(type, ReadExpr(source, t.index));
    const NodeId cast = s_.AddNode(std::move(t), origin_);
    if (shape.empty()) return cast;
    m.body = {cast};
    return s_.AddNode(std::move(m), origin_);
  }

  Sdfg& s_;
  const DType to_;
  const Precisions& ops_;
  const Registry& r_;
  const UseIndex uses_;
  std::vector<Copies> scopes_;          // of the lists of blocks around, from outside: what is there in another type
  std::vector<NodeId> statements_;      // of the state being rewritten
  std::vector<NodeId> before_;          // casts for the loop or branch being rewritten, before it
  std::unordered_set<Name> narrowed_;   // containers that are narrow now
  std::unordered_set<Name> exact_, still_;
  Origin origin_;
  bool changed_ = false;
};

}  // namespace
}  // namespace transforms

Result<bool> Autocast(Program& p, DType to, const Registry& r) {
  const transforms::Precisions ops(r);
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    if (p.sdfgs[i]->kernel) continue;
    const Program before = p;
    changed |= transforms::Autocaster(before, &p.Mutable(before.sdfgs[i]->name), to, ops, r).Run();
  }
  return changed;
}

}  // namespace headrace
