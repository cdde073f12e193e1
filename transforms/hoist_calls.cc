#include "transforms/hoist_calls.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/each_sdfg.h"
#include "transforms/long_calls.h"

namespace headrace {
namespace {

constexpr int64_t kWorth = 16;  // so many iterations share a call

// One map.
class Hoister {
 public:
  Hoister(Sdfg* s, const Map& m) : s_(*s), m_(m) {}

  bool Finds() {
    only_looks_ = true;
    if (Known()) Values();
    return found_;
  }
  // The statements that compute the calls first.
  std::vector<NodeId> Run() {
    if (!Known()) return {};
    const std::vector<std::pair<NodeId, Expr>> values = Values();
    for (const auto& [n, value] : values) std::get<Tasklet>(s_.nodes.Mutable(n).body).value = value;
    return before_;
  }

 private:
  std::vector<std::pair<NodeId, Expr>> Values() {
    for (NodeId n : m_.body) Note(std::get<Tasklet>(s_.nodes[n].body));
    std::vector<std::pair<NodeId, Expr>> values;
    for (NodeId n : m_.body) {
      const Tasklet t = std::get<Tasklet>(s_.nodes[n].body);
      const Expr value = Of(t.value);
      if (value != t.value) values.emplace_back(n, value);
      if (IsRegister(t.target) && t.op == WriteOp::kAssign && written_[t.target] == 1) held_[t.target] = Inlined(t.value);
    }
    return values;
  }

  bool Known() {
    if (m_.schedule != Schedule::kDefault) return false;
    bool some = false;
    for (NodeId n : m_.body) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
      if (!t) return false;
      Visit(t->value, [&](const Expr& e) { return some |= transforms::TakesLong(e), !some; });
    }
    if (!some) return false;
    for (const Range& r : m_.ranges) {
      const auto begin = AsInt(r.begin), end = AsInt(r.end);
      if (!begin || !end || *end <= *begin || (r.step && AsInt(r.step) != 1)) return false;
      if (__builtin_mul_overflow(total_, *end - *begin, &total_)) return false;
    }
    return total_ >= kWorth;
  }
  bool IsRegister(Name n) const { return s_.Get(n).storage == Storage::kRegister; }

  void Note(const Tasklet& t) {
    ++written_[RootOf(s_, t.target)];
    Always(t.value);
    for (const Expr& e : t.index) Always(e);
  }
  // What is read whatever choices choose.
  void Always(const Expr& e) {
    if (!e) return;
    if (e.Is(ExprKind::kRead) && !e->has_default) always_.push_back(e);
    const bool decides = e.Is(ExprKind::kSelect) || (e.Is(ExprKind::kBinary) && (e->op == Op::kAnd || e->op == Op::kOr)) ||
                         (e.Is(ExprKind::kRead) && e->has_default);
    for (size_t i = 0; i < (decides ? std::min<size_t>(1, e->args.size()) : e->args.size()); ++i) Always(e->args[i]);
  }

  Expr Inlined(const Expr& e) const {
    return Transform(e, [&](const Expr& x) -> Expr {
      const auto it = x.Is(ExprKind::kRead) ? held_.find(x->name) : held_.end();
      return it == held_.end() ? x : it->second;
    });
  }

  Expr Of(const Expr& e) {
    if (!e || e->args.empty()) return e;
    if (transforms::TakesLong(e))
      if (const Expr once = Once(Inlined(e))) return once;
    std::vector<Expr> args = e->args;
    for (Expr& a : args) a = Of(a);
    return WithArgs(e, std::move(args));
  }

  // The element that holds it; null where it stays where it is.
  Expr Once(const Expr& e) {
    for (const auto& [known, read] : known_)
      if (known == e) return read;
    bool fits = true;
    Visit(e, [&](const Expr& x) {
      if (!x.Is(ExprKind::kRead)) return fits;
      fits &= !x->has_default && !written_.count(RootOf(s_, x->name)) && std::find(always_.begin(), always_.end(), x) != always_.end();
      for (const Range& r : m_.ranges)
        for (const Expr& i : x->args) fits &= !Mentions(i, r.index);
      return fits;
    });
    std::vector<Range> over;
    std::vector<Expr> index;
    int64_t trips = 1;
    for (const Range& r : m_.ranges) {
      if (!Mentions(e, r.index)) continue;
      trips *= *AsInt(r.end) - *AsInt(r.begin);
      over.push_back(r);
      index.push_back(SymbolExpr(r.index) - r.begin);
    }
    if (!fits || trips > total_ / kWorth) return {};
    const Result<Expr> typed = InferTypes(s_, e);
    if (!typed.ok() || (*typed)->dtype == DType::kNone) return {};
    found_ = true;
    if (only_looks_) return {};
    Container c;
    c.name = s_.FreshName("once");
    c.dtype = (*typed)->dtype;
    for (const Range& r : over) c.shape.push_back(r.end - r.begin);
    const Name name = c.name;
    s_.Add(std::move(c));
    NodeId first = s_.AddNode(Tasklet{name, index, false, false, WriteOp::kAssign, e});
    if (!over.empty()) first = s_.AddNode(Map{over, {first}});
    before_.push_back(first);
    known_.emplace_back(e, ReadExpr(name, index));
    return known_.back().second;
  }

  Sdfg& s_;
  const Map m_;
  bool only_looks_ = false, found_ = false;
  int64_t total_ = 1;
  std::unordered_map<Name, int> written_;  // roots
  std::unordered_map<Name, Expr> held_;    // by registers
  std::vector<Expr> always_;
  std::vector<std::pair<Expr, Expr>> known_;
  std::vector<NodeId> before_;
};

bool InStates(Sdfg* s, const Ask& ask) {
  std::vector<BlockId> states;
  ForEachBlock(*s, s->body, [&](BlockId b) {
    if (std::holds_alternative<State>(s->blocks[b].control)) states.push_back(b);
  });
  bool changed = false;
  for (BlockId b : states) {
    const std::vector<NodeId> statements = std::get<State>(s->blocks[b].control).statements;
    std::vector<NodeId> out;
    for (NodeId n : statements) {
      const auto* found = std::get_if<Map>(&s->nodes[n].body);
      if (found && Hoister(s, *found).Finds() && ask(Match{s->name, {n}, {}, {}, "", true})) {
        const Map m = *found;
        for (NodeId first : Hoister(s, m).Run()) {
          s->nodes.Mutable(first).origin = s->nodes[n].origin;
          out.push_back(first);
        }
      }
      out.push_back(n);
    }
    if (out.size() == statements.size()) continue;
    std::get<State>(s->blocks.Mutable(b).control).statements = std::move(out);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> HoistCalls(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return InStates(s, ask); });
}

}  // namespace headrace
