// Rows that are shorter than vectors, with several things to do for each: lanes lie across them, some rows side by side, each of which adds
// up in its own order.
//   map i in 0:N { m = -inf; map j in 0:10 { m max= X[i, j] }; map j in 0:10 { Y[i, j] = X[i, j] - m } }
//     →  map i0 in 0:16 * (N // 16):16 @parallel {
//          local m: f32[16]
//          map u in 0:16 @vector { m[u] = -inf }
//          for j in 0:10 { map u in 0:16 @vector { m[u] max= X[i0 + u, j] } }
//          for j in 0:10 { map u in 0:16 @vector { Y[i0 + u, j] = X[i0 + u, j] - m[u] } }
//        }
//        … and the same of the rows that are left, fewer than 16
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

// What stands for a register: another one, or what holds those of some rows side by side, at `slot` of its last dimension.
struct OfRow {
  Name name;
  std::vector<Expr> slot;
};

// A new copy of statements: of row `row` in place of `index`, with other registers.
class RowCopy {
 public:
  RowCopy(Sdfg* s, Name index, Expr row, std::unordered_map<Name, OfRow> registers)
      : s_(s), index_{{index, std::move(row)}}, registers_(std::move(registers)) {}

  NodeId Of(NodeId tasklet) const {
    Tasklet t = std::get<Tasklet>(s_->nodes[tasklet].body);
    t.value = Of(t.value);
    for (Expr& e : t.index) e = Of(e);
    if (const auto it = registers_.find(t.target); it != registers_.end()) {
      t.target = it->second.name;
      t.index.insert(t.index.end(), it->second.slot.begin(), it->second.slot.end());
    }
    return s_->AddNode(std::move(t));
  }

 private:
  Expr Of(const Expr& value) const {
    return Transform(Substitute(value, index_), [&](const Expr& e) -> Expr {
      const auto it = e.Is(ExprKind::kRead) ? registers_.find(e->name) : registers_.end();
      if (it == registers_.end()) return e;
      std::vector<Expr> index = e->args;
      index.insert(index.end(), it->second.slot.begin(), it->second.slot.end());
      return ReadExpr(it->second.name, std::move(index));
    });
  }

  Sdfg* s_;
  const NameMap index_;
  const std::unordered_map<Name, OfRow> registers_;
};

}  // namespace

std::optional<Scheduler::Statements> Scheduler::ShortRows(const Nest& n) {
  if (OfTasklets(n) || d_.block_threads > 1) return std::nullopt;
  return Try([&] { return TryShortRows(n); });
}

// Tasklets, and maps of tasklets over few elements, all of which lanes can do, which ask for nothing, and have registers under their names.
bool Scheduler::IsShortRow(const Nest& n) const {
  const auto simple = [&](const Statements& body) {
    return TakesLanes(*s_, body) && std::all_of(body.begin(), body.end(), [&](NodeId id) {
      const std::vector<ElementAccess> all = AccessesOf(*s_, id);
      const auto otherwise = [&](const ElementAccess& a) { return homes_.count(a.root) && (a.flat || a.container != a.root); };
      return std::none_of(all.begin(), all.end(), otherwise) && Questions(std::get<Tasklet>(s_->nodes[id].body)).empty();
    });
  };
  return std::all_of(n.body.begin(), n.body.end(), [&](NodeId id) {
    const auto* m = std::get_if<Map>(&s_->nodes[id].body);
    if (!m) return simple({id});
    const auto trips = AsInt(TripsOf(m->ranges));
    return m->schedule == Schedule::kDefault && trips && *trips < d_.short_sum && simple(m->body);
  });
}

// Functions of a row's own numbers are computed once for it.
void Scheduler::HoistInRow(Nest* n) {
  Statements body;
  for (NodeId id : n->body) {
    if (std::holds_alternative<Map>(s_->nodes[id].body)) {
      Map m = std::get<Map>(s_->nodes[id].body);
      for (NodeId once : Hoist(m.ranges.back().index, &m.body)) {
        homes_[std::get<Tasklet>(s_->nodes[once].body).target] = n->owner.value;
        body.push_back(once);
      }
      s_->nodes.Mutable(id).body = std::move(m);
    }
    body.push_back(id);
  }
  n->body = std::move(body);
}

// What is done for the rows of `lane`: `row` is one of them, `slot` its place among their registers, which are `side` each.
Scheduler::Statements Scheduler::RowsAcross(const Nest& n, const Range& lane, const Expr& row, const Expr& slot, int64_t side) {
  std::unordered_map<Name, OfRow> registers;
  for (NodeId id : n.body)
    for (const ElementAccess& a : AccessesOf(*s_, id)) {
      const auto home = homes_.find(a.container);
      if (home == homes_.end() || registers.count(a.container)) continue;
      const Container c = s_->Get(a.container);
      std::vector<Expr> shape = c.shape;
      OfRow own;
      if (home->second == n.owner.value) shape.push_back(Expr(side)), own.slot = {slot};
      own.name = Local(c.name.str(), c.dtype, shape);
      registers[a.container] = own;
    }
  const RowCopy copy(s_, n.ranges.back().index, row, std::move(registers));
  Statements out, together;
  const auto across = [&](const std::vector<Range>& along, const Statements& body) {
    Add(&out, Wrap(s_, {{along, Schedule::kSequential}, {{lane}, Schedule::kVector}}, body));
  };
  for (NodeId id : n.body) {
    const auto* m = std::get_if<Map>(&s_->nodes[id].body);
    if (!m) {
      together.push_back(copy.Of(id));
      continue;
    }
    const Map map = *m;
    if (!together.empty()) across({}, std::exchange(together, {}));
    for (NodeId c : map.body) together.push_back(copy.Of(c));
    across(map.ranges, std::exchange(together, {}));
  }
  if (!together.empty()) across({}, together);
  return out;
}

std::optional<Scheduler::Statements> Scheduler::TryShortRows(Nest n) {
  if (!IsShortRow(n)) return std::nullopt;
  while (n.ranges.size() > 1 && MayCollapse(n, n.ranges.size() - 2, n.ranges.size() - 1)) Merge(&n, n.ranges.size() - 2, n.ranges.size() - 1);
  HoistInRow(&n);
  const Range rows = n.ranges.back();
  const int64_t side = d_.vector_bytes / ByteSize(DType::kF32);
  if (AsInt(rows.end).value_or(2 * side) < 2 * side) return std::nullopt;
  const Expr whole = Expr(side) * FloorDiv(rows.end, Expr(side));
  const Range blocks{FreshIn(*s_, rows.index.str()), Expr(0), whole, Expr(side)};
  const Range lane{FreshIn(*s_, "u"), Expr(0), Expr(side), Expr(1)}, rest{FreshIn(*s_, rows.index.str() + "_rest"), whole, rows.end, Expr(1)};
  const Statements block = RowsAcross(n, lane, SymbolExpr(blocks.index) + SymbolExpr(lane.index), SymbolExpr(lane.index), side);
  Statements left;
  if (rows.end != whole) left = RowsAcross(n, rest, SymbolExpr(rest.index), SymbolExpr(rest.index) - whole, side);
  const std::vector<Range> outer(n.ranges.begin(), n.ranges.end() - 1);
  const Expr work = WorkOf(n.body) * Expr(side);
  if (outer.empty()) {
    const Shared shared = ShareOut(*s_, {blocks}, work, d_);
    Statements out = Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, block);
    Add(&out, left);
    return out;
  }
  Statements body = Wrap(s_, {{{blocks}, Schedule::kSequential}}, block);
  Add(&body, left);
  const Shared shared = ShareOut(*s_, outer, work * TripsOf(std::vector<Range>{blocks}), d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

}  // namespace headrace::schedule
