#include "transforms/forward_operands.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/type_inference.h"
#include "transforms/each_sdfg.h"
#include "transforms/outline.h"
#include "transforms/schedule/choose_schedule.h"
#include "transforms/uses.h"
#include "transforms/whole.h"

namespace headrace {
namespace {

constexpr int kMostParts = 64;  // of a value: it is computed once for each time that it is laid out
// Products that an element is a factor of: fewer have no tiles, and more take longer than the walk, and lay it out several times.
constexpr int64_t kLeastUses = 8, kMostUses = 128;

// What an array holds at `indices`, and which statement writes it.
struct Formula {
  Name array;
  std::vector<Name> indices;
  Expr value;
};

// A product that reads the array as one of its factors, and nothing else does.
struct Reader {
  NodeId tasklet;
  Expr read;
};

bool IsCheap(const Expr& value) {
  int parts = 0;
  bool cheap = true;
  Visit(value, [&](const Expr& e) {
    const bool divides = e.Is(ExprKind::kBinary) && (e->op == Op::kDiv || e->op == Op::kFloorDiv || e->op == Op::kMod);
    const bool calls = e.Is(ExprKind::kCall) && e->name != Name("min") && e->name != Name("max") && e->name != Name("abs");
    const bool reads_plainly = !e.Is(ExprKind::kRead) || (!e->flat && !e->has_default);
    cheap &= ++parts <= kMostParts && !divides && !calls && !e.Is(ExprKind::kCast) && reads_plainly;
    return cheap && !e.Is(ExprKind::kRead);
  });
  return cheap;
}

class Forwarder {
 public:
  Forwarder(const Program& p, Sdfg* s, const schedule::Device& device, const Ask& ask)
      : p_(p), s_(*s), device_(device), ask_(ask), uses_(p, *s), callees_(p) {}

  bool Run() {
    std::unordered_set<Name> gone;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      const auto* state = std::get_if<State>(&s_.blocks[b].control);
      if (!state) return;
      for (size_t k = 0; k < state->statements.size(); ++k)
        if (const std::optional<Formula> f = FormulaOf(state->statements[k]); f && Forward(state->statements, k, *f)) gone.insert(f->array);
    });
    if (gone.empty()) return false;
    transforms::RemoveEmptied(&s_);
    transforms::RemoveContainers(&s_, gone);
    return true;
  }

 private:
  // Of a map that fills an array of the program's own, with registers on the way.
  std::optional<Formula> FormulaOf(NodeId statement) const {
    const auto* m = std::get_if<Map>(&s_.nodes[statement].body);
    if (!m || m->schedule != Schedule::kDefault || m->body.empty()) return {};
    std::unordered_map<Name, Expr> registers;
    const auto held = [&](const Expr& e) {
      return Transform(e, [&](const Expr& x) {
        const auto it = x.Is(ExprKind::kRead) ? registers.find(x->name) : registers.end();
        return it == registers.end() ? x : it->second;
      });
    };
    for (size_t i = 0; i < m->body.size(); ++i) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[m->body[i]].body);
      if (!t || t->op != WriteOp::kAssign || t->guarded || t->flat) return {};
      const Container& c = s_.Get(t->target);
      const Expr value = held(t->value);
      const Result<Expr> typed = InferTypes(s_, value);
      if (!IsFloat(c.dtype) || !typed.ok() || (*typed)->dtype != c.dtype || !IsCheap(value)) return {};
      if (i + 1 < m->body.size()) {
        if (c.storage != Storage::kRegister || !c.shape.empty() || !registers.emplace(t->target, value).second) return {};
        continue;
      }
      const transforms::Usage& u = uses_.Of(t->target);
      const bool own = c.kind == ContainerKind::kTransient && c.storage == Storage::kArena && !u.viewed && u.writes.size() == 1 &&
                       u.reads.size() == 1;
      if (!own || m->ranges.size() != t->index.size() || !transforms::HasOneEach(c, *m, t->index)) return {};
      Formula out{t->target, {}, value};
      for (const Expr& e : t->index) out.indices.push_back(e->name);
      return out;
    }
    return {};
  }

  bool Forward(const std::vector<NodeId>& statements, size_t at, const Formula& f) {
    const NodeId user = uses_.positions()[uses_.Of(f.array).reads[0]].statement;
    const auto end = std::find(statements.begin() + static_cast<ptrdiff_t>(at) + 1, statements.end(), user);
    if (!user.valid() || end == statements.end()) return false;
    std::unordered_set<Name> roots;
    for (Name n : ReadContainers(f.value)) roots.insert(RootOf(s_, n));
    for (auto it = statements.begin() + static_cast<ptrdiff_t>(at) + 1; it <= end; ++it)  // what it is made of stays as it is
      for (const Touched& t : TouchedBy(s_, *it, callees_))
        if (t.write && roots.count(t.root)) return false;
    const std::optional<Reader> reader = ReaderIn(user, f.array);
    if (!reader || !IsOperand(*reader, user)) return false;
    NameMap indices;
    for (size_t d = 0; d < f.indices.size(); ++d) indices.emplace_back(f.indices[d], reader->read->args[d]);
    const Expr value = Substitute(f.value, indices);
    const Expr old = std::get<Tasklet>(s_.nodes[reader->tasklet].body).value;
    std::get<Tasklet>(s_.nodes.Mutable(reader->tasklet).body).value =
        Transform(old, [&](const Expr& x) { return x.Is(ExprKind::kRead) && x->name == f.array ? value : x; });
    const bool pays = UsesOf(*reader, user) == 1 ? GoesAlongTerms(reader->tasklet) : HasTiles(user);
    if (!pays || !ask_(Match{s_.name, {statements[at]}, {}, {f.array}, "", true})) {
      std::get<Tasklet>(s_.nodes.Mutable(reader->tasklet).body).value = old;
      return false;
    }
    s_.nodes.Mutable(statements[at]).body = std::monostate();
    return true;
  }

  // The only tasklet that reads it, and that once.
  std::optional<Reader> ReaderIn(NodeId statement, Name array) const {
    Reader out;
    int count = 0;
    const std::function<void(NodeId)> look = [&](NodeId n) {
      ForEachBody(s_.nodes[n].body, [&](const std::vector<NodeId>& body) {
        for (NodeId c : body) look(c);
      });
      const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
      if (!t) return;
      const auto note = [&](const Expr& e) {
        Visit(e, [&](const Expr& x) {
          if (x.Is(ExprKind::kRead) && x->name == array) ++count, out = {n, x};
          return true;
        });
      };
      note(t->value);
      for (const Expr& e : t->index) note(e);
    };
    look(statement);
    return count == 1 ? std::optional<Reader>(out) : std::nullopt;
  }

  // A factor of a term whose elements are those of the other's, each time of several results; neighbours are of different ones.
  bool IsOperand(const Reader& r, NodeId statement) const {
    const auto& t = std::get<Tasklet>(s_.nodes[r.tasklet].body);
    const bool product = t.op == WriteOp::kAdd && t.value.Is(ExprKind::kBinary) && t.value->op == Op::kMul;
    if (!product || (t.value->args[0] != r.read && t.value->args[1] != r.read) || r.read->flat || r.read->has_default) return false;
    const auto has = [](const std::vector<Expr>& index, const Expr& e) { return std::find(index.begin(), index.end(), e) != index.end(); };
    const auto plain = [](const Expr& e) { return e.Is(ExprKind::kSymbol); };
    if (!std::all_of(r.read->args.begin(), r.read->args.end(), plain)) return false;
    const Expr& nearest = r.read->args[static_cast<size_t>(transforms::Innermost(s_.Get(r.read->name)))];
    const bool sums = std::any_of(r.read->args.begin(), r.read->args.end(), [&](const Expr& e) { return !has(t.index, e); });
    const int64_t uses = UsesOf(r, statement);
    return sums && (uses == 1 || (has(t.index, nearest) && uses >= kLeastUses && uses <= kMostUses));
  }
  // Whether all that it reads lies side by side along one index, which the target has not.
  bool GoesAlongTerms(NodeId tasklet) const {
    const auto& t = std::get<Tasklet>(s_.nodes[tasklet].body);
    std::vector<Expr> nearest;
    Visit(t.value, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead) && !x->args.empty()) nearest.push_back(x->args[static_cast<size_t>(transforms::Innermost(s_.Get(x->name)))]);
      return true;
    });
    // One number for all is read anywhere.
    nearest.erase(std::remove_if(nearest.begin(), nearest.end(), [](const Expr& e) { return AsInt(e).has_value(); }), nearest.end());
    const bool one = !nearest.empty() && std::all_of(nearest.begin(), nearest.end(), [&](const Expr& e) { return e == nearest[0]; });
    return one && std::find(t.index.begin(), t.index.end(), nearest[0]) == t.index.end();
  }
  // How many results an element goes into; many where that is not known.
  int64_t UsesOf(const Reader& r, NodeId statement) const {
    const auto& t = std::get<Tasklet>(s_.nodes[r.tasklet].body);
    int64_t uses = 1;
    const std::function<void(NodeId)> look = [&](NodeId n) {
      const auto* m = std::get_if<Map>(&s_.nodes[n].body);
      if (!m) return;
      for (const Range& x : m->ranges) {
        const Expr index = SymbolExpr(x.index);
        const bool others = std::find(t.index.begin(), t.index.end(), index) != t.index.end() &&
                            std::find(r.read->args.begin(), r.read->args.end(), index) == r.read->args.end();
        if (others) uses = std::min<int64_t>(1 << 20, uses * std::max<int64_t>(1, AsInt(x.end).value_or(kMostUses + 1)));
      }
      for (NodeId c : m->body) look(c);
    };
    look(statement);
    return uses;
  }

  bool HasTiles(NodeId statement) {
    const std::unordered_set<Name> written(s_.order.begin(), s_.order.end());  // what a sum starts at
    const transforms::StatementKey key = transforms::KeyOf(s_, statement, {}, written);
    const auto [it, fresh] = tiles_.try_emplace(key.text, false);
    if (fresh) it->second = schedule::TilesOf(p_, KernelOf(s_, statement, key, written), device_).has_value();
    return it->second;
  }

  const Program& p_;
  Sdfg& s_;
  const schedule::Device& device_;
  const Ask& ask_;
  transforms::UseIndex uses_;
  Callees callees_;
  std::unordered_map<std::string, bool> tiles_;  // by what a statement computes
};

}  // namespace

Result<bool> ForwardOperands(Program& p, const schedule::Device& device, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return Forwarder(p, s, device, ask).Run(); });
}

}  // namespace headrace
