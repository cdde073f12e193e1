#include "transforms/narrow_arrays.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/analysis/dataflow.h"
#include "transforms/each_sdfg.h"
#include "transforms/halves.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

using transforms::IsHalf;
using transforms::IsLiteral;
using transforms::IsZero;

class Narrower {
 public:
  Narrower(const Program& p, Sdfg* s, const Ask& ask) : s_(*s), ask_(ask), callees_(p), uses_(p, *s) {}

  bool Run() {
    Find();
    std::unordered_map<Name, DType> narrow;  // arrays and their views
    for (Name n : s_.order) {
      const auto it = halves_.find(n);
      if (it == halves_.end() || others_.count(n) || !ask_(Match{s_.name, {}, {}, {n}, "", true})) continue;
      narrow.emplace(n, it->second);
    }
    if (narrow.empty()) return false;
    for (Name n : std::vector<Name>(s_.order.begin(), s_.order.end()))
      if (const auto it = narrow.find(RootOf(s_, n)); it != narrow.end()) s_.Mutable(n).dtype = it->second;
    for (NodeId n : tasklets_) Rewrite(n, narrow);
    return true;
  }

 private:
  // What each array gets, and which ones are used in other ways.
  void Find() {
    for (Name n : s_.order) {
      const Container& c = s_.Get(n);
      const bool own = c.kind == ContainerKind::kTransient && c.storage == Storage::kArena;
      if (!own && c.kind != ContainerKind::kView) others_.insert(n);
      if (c.dtype != DType::kF32) others_.insert(RootOf(s_, n));
    }
    ForEachNode(s_, [&](NodeId n) {
      const Body& body = s_.nodes[n].body;
      if (const auto* t = std::get_if<Tasklet>(&body)) {
        tasklets_.push_back(n);
        Write(*t);
        Reads(t->value);
        for (const Expr& e : t->index) Other(e);
      } else if (!std::holds_alternative<Map>(body)) {
        for (const Touched& t : TouchedBy(s_, n, callees_)) others_.insert(t.root);
      }
    });
    for (const auto& [n, half] : halves_) {
      const std::vector<uint32_t>& reads = uses_.Of(n).reads;
      const bool decides = std::any_of(reads.begin(), reads.end(), [&](uint32_t at) { return !uses_.positions()[at].statement.valid(); });
      if (decides) others_.insert(n);
    }
  }
  void Other(const Expr& e) {
    if (!e) return;
    for (Name n : ReadContainers(e)) others_.insert(RootOf(s_, n));
  }
  void Reads(const Expr& value) {
    Visit(value, [&](const Expr& e) {
      if (e.Is(ExprKind::kRead) && e->has_default && !IsLiteral(e->args.back())) others_.insert(RootOf(s_, e->name));
      return true;
    });
  }
  void Write(const Tasklet& t) {
    const Name root = RootOf(s_, t.target);
    const DType half = HalfOf(t.value);
    if (t.op != WriteOp::kAssign || (half == DType::kNone && !IsZero(t.value))) others_.insert(root);
    else if (half != DType::kNone && halves_.emplace(root, half).first->second != half) others_.insert(root);
  }
  // Of what a cast to f32 widens; none: it is something else.
  DType HalfOf(const Expr& value) const {
    if (!value.Is(ExprKind::kCast) || value->dtype != DType::kF32) return DType::kNone;
    const Expr& from = value->args[0];
    const DType type = from.Is(ExprKind::kCast) ? from->dtype : from.Is(ExprKind::kRead) ? s_.Get(from->name).dtype : DType::kNone;
    return IsHalf(type) ? type : DType::kNone;
  }

  void Rewrite(NodeId n, const std::unordered_map<Name, DType>& narrow) {
    const Tasklet& before = std::get<Tasklet>(s_.nodes[n].body);
    Expr value = before.value;
    if (narrow.count(RootOf(s_, before.target)) && value.Is(ExprKind::kCast)) value = value->args[0];
    value = Transform(value, [&](const Expr& e) -> Expr {
      return e.Is(ExprKind::kRead) && narrow.count(RootOf(s_, e->name)) ? CastExpr(DType::kF32, e) : e;
    });
    if (value != before.value) std::get<Tasklet>(s_.nodes.Mutable(n).body).value = value;
  }

  Sdfg& s_;
  const Ask& ask_;
  Callees callees_;
  const transforms::UseIndex uses_;
  std::vector<NodeId> tasklets_;
  std::unordered_map<Name, DType> halves_;  // by root
  std::unordered_set<Name> others_;
};

}  // namespace

Result<bool> NarrowArrays(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return transforms::HasHalves(*s) && Narrower(p, s, ask).Run(); });
}

}  // namespace headrace
