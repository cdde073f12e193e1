#include "transforms/fold_scales.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/type_inference.h"
#include "transforms/affine.h"
#include "transforms/each_sdfg.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

using namespace transforms;

class Folder {
 public:
  Folder(Sdfg* s, const Ask& ask) : s_(*s), ask_(ask) {}

  Result<bool> Run() {
    if (!MayFold()) return false;
    ForEachNode(s_, [&](NodeId id) {
      if (std::holds_alternative<Map>(s_.nodes[id].body)) maps_.push_back(id);
      else if (const auto* t = std::get_if<Tasklet>(&s_.nodes[id].body)) writers_[t->target].push_back(id);
      else Others(s_.nodes[id].body);
    });
    bool changed = false;
    for (NodeId map : maps_) {
      HR_ASSIGN_OR_RETURN(const bool some, Fold(map));
      changed |= some;
    }
    if (changed) DropRegisters();
    return changed;
  }

 private:
  bool MayFold() const {
    bool rounds = false;
    ForEachNode(s_, [&](NodeId id) {
      const auto* t = rounds ? nullptr : std::get_if<Tasklet>(&s_.nodes[id].body);
      rounds |= t && Rounded(t->value);
    });
    return rounds;
  }
  bool IsRegister(Name n) const {
    const Container* c = s_.Find(n);
    return c && c->storage == Storage::kRegister && c->shape.empty();
  }

  // What calls use stays as it is.
  void Others(const Body& body) {
    if (const auto* call = std::get_if<Nested>(&body))
      for (const Argument& a : call->arguments) calls_.insert(a.container);
    if (const auto* op = std::get_if<Library>(&body))
      for (const auto* ports : {&op->inputs, &op->outputs})
        for (const Port& port : *ports) calls_.insert(port.container);
  }

  // The statements of one iteration, in their order.
  Result<bool> Fold(NodeId map) {
    const std::vector<NodeId> body = std::get<Map>(s_.nodes[map].body).body;
    bool changed = false;
    for (size_t k = 0; k < body.size(); ++k) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[body[k]].body);
      if (!t) continue;
      const auto rounded = Rounded(t->value);
      const auto folded = rounded ? Scaled(body, k, *rounded) : std::nullopt;
      if (!folded || !ask_(Match{s_.name, {body[k]}, {}, {t->target}, "", true})) continue;
      HR_ASSIGN_OR_RETURN(const Expr value, ValueOfAffine(*folded, t->target));
      if (!value) continue;
      Tasklet to = *t;
      to.value = Transform(to.value, [&](const Expr& e) { return IsRint(e) ? CallExpr("rint", {value}) : e; });
      s_.nodes.Mutable(body[k]).body = std::move(to);
      changed = true;
    }
    return changed;
  }

  static bool IsRint(const Expr& e) { return e.Is(ExprKind::kCall) && e->name == Name("rint"); }

  // Of `sat(rint(x) + z, u8)`: x.
  static std::optional<Expr> Rounded(const Expr& e) {
    if (!e.Is(ExprKind::kCast) || !e->saturate || (e->dtype != DType::kU8 && e->dtype != DType::kI8))
      return std::nullopt;
    Expr rint = e->args[0];
    if (rint.Is(ExprKind::kBinary) && rint->op == Op::kAdd) rint = rint->args[0];
    return IsRint(rint) ? std::optional<Expr>(rint->args[0]) : std::nullopt;
  }

  // Integers times constants, over a constant.
  std::optional<Affine> Scaled(const std::vector<NodeId>& body, size_t at, const Expr& x) const {
    const Registers registers = {[&](Name n) { return Held(body, at, n); }, [&](Name n) { return IsWholeSum(n); }};
    Expr division = x;
    if (x.Is(ExprKind::kRead) && x->args.empty()) division = registers.value(x->name);
    if (!division || !division.Is(ExprKind::kBinary) || division->op != Op::kDiv) return std::nullopt;
    const Result<Expr> typed = InferTypes(s_, division, DType::kF32);
    if (!typed.ok() || (*typed)->dtype != DType::kF32) return std::nullopt;
    const auto by = NumbersOf(s_, division->args[1]);
    const auto sum = by ? AffineOf(s_, division->args[0], registers) : std::nullopt;
    return sum && !sum->terms.empty() ? Over(*sum, *by) : std::nullopt;
  }

  bool HasOneWriter(Name n) const {
    const auto writers = writers_.find(n);
    return writers != writers_.end() && writers->second.size() == 1 && !calls_.count(n);
  }
  // A sum of integers that floats hold.
  bool IsWholeSum(Name n) const {
    const auto writers = writers_.find(n);
    if (!IsRegister(n) || s_.Get(n).dtype != DType::kF32 || writers == writers_.end() || writers->second.size() < 2 ||
        calls_.count(n))
      return false;
    return std::all_of(writers->second.begin(), writers->second.end(), [&](NodeId id) {
      const auto& t = std::get<Tasklet>(s_.nodes[id].body);
      return (t.op == WriteOp::kAssign || t.op == WriteOp::kAdd) && IsWhole(s_, t.value);
    });
  }

  // What a register was given by a statement of this iteration; nothing that it was made of has been written since.
  Expr Held(const std::vector<NodeId>& body, size_t at, Name n) const {
    if (!IsRegister(n) || s_.Get(n).dtype != DType::kF32 || !HasOneWriter(n)) return {};
    std::unordered_set<Name> written;
    for (size_t k = at; k-- > 0;) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[body[k]].body);
      if (t && t->target == n) {
        if (t->op != WriteOp::kAssign || t->guarded) return {};
        for (Name r : ReadContainers(t->value))
          if (written.count(RootOf(s_, r))) return {};
        return t->value;
      }
      Written(body[k], &written);
    }
    return {};
  }
  void Written(NodeId id, std::unordered_set<Name>* out) const {
    const Body& body = s_.nodes[id].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) out->insert(RootOf(s_, t->target));
    if (const auto* m = std::get_if<Map>(&body))
      for (NodeId n : m->body) Written(n, out);
  }

  // Null where a constant is too large for f32.
  Result<Expr> ValueOfAffine(const Affine& a, Name target) {
    HR_ASSIGN_OR_RETURN(Expr value, Constant(a.more, target.str() + "_offset"));
    if (!value) return value;
    for (const Affine::Term& t : a.terms) {
      HR_ASSIGN_OR_RETURN(const Expr times, Constant(t.times, target.str() + "_scale"));
      if (!times) return times;
      value = CallExpr("fma", {t.integer, times, value});
    }
    return value;
  }

  // Rounded to f32, where it is read.
  Result<Expr> Constant(const Numbers& n, const std::string& stem) {
    for (double v : n.values)
      if (!std::isfinite(static_cast<float>(v))) return Expr();
    Container c;
    c.name = s_.FreshName(stem);
    c.kind = ContainerKind::kConstant, c.dtype = DType::kF32;
    std::vector<int64_t> shape;
    if (n.index) shape.push_back(static_cast<int64_t>(n.values.size())), c.shape.push_back(Expr(shape[0]));
    HR_ASSIGN_OR_RETURN(c.data, Tensor::Create(DType::kF32, shape));
    for (size_t i = 0; i < n.values.size(); ++i) c.data.as<float>()[i] = static_cast<float>(n.values[i]);
    const Expr read = ReadExpr(c.name, n.index ? std::vector<Expr>{n.index} : std::vector<Expr>());
    s_.Add(std::move(c));
    return read;
  }

  // That nobody reads any more.
  void DropRegisters() {
    for (bool dropped = true; dropped;) {
      dropped = false;
      std::unordered_set<Name> read;
      ForEachNode(s_, [&](NodeId id) {
        if (const auto* t = std::get_if<Tasklet>(&s_.nodes[id].body)) {
          for (Name r : ReadContainers(t->value)) read.insert(r);
          for (const Expr& e : t->index)
            for (Name r : ReadContainers(e)) read.insert(r);
        }
      });
      std::vector<NodeId> dead;
      ForEachNode(s_, [&](NodeId id) {
        const auto* t = std::get_if<Tasklet>(&s_.nodes[id].body);
        if (t && IsRegister(t->target) && HasOneWriter(t->target) && t->op == WriteOp::kAssign &&
            !read.count(t->target))
          dead.push_back(id);
      });
      for (NodeId id : dead) s_.nodes.Mutable(id).body = std::monostate{}, dropped = true;
    }
    RemoveEmptied(&s_);
  }

  Sdfg& s_;
  const Ask& ask_;
  std::vector<NodeId> maps_;
  std::unordered_map<Name, std::vector<NodeId>> writers_;  // tasklets, by what they write
  std::unordered_set<Name> calls_;                         // what calls and library nodes use
};

}  // namespace

Result<bool> FoldScales(Program& p, const Ask& ask) {
  return transforms::TryChangeEach(p, [&](Sdfg* s) { return Folder(s, ask).Run(); });
}

}  // namespace headrace
