#include "transforms/fuse_rows.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "ir/analysis/arena.h"
#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/graph/homes.h"
#include "transforms/each_sdfg.h"
#include "transforms/inline.h"
#include "transforms/kernel.h"
#include "transforms/outer_group.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

using transforms::Kernel;
using transforms::KernelAccess;
using Index = std::vector<Expr>;

bool IsSymbol(const Expr& e, Name n) { return e.Is(ExprKind::kSymbol) && e->name == n; }
bool Moves(const KernelAccess& a, Name row) {
  return std::any_of(a.index.begin(), a.index.end(), [&](const Expr& e) { return Mentions(e, row); });
}
bool IsOwn(const KernelAccess& a, Name row) {
  return !a.flat && std::any_of(a.index.begin(), a.index.end(), [&](const Expr& e) { return IsSymbol(e, row); });
}
std::optional<int64_t> LengthOf(const Range& r) {
  const auto begin = AsInt(r.begin), end = AsInt(r.end);
  if (!begin || !end || (r.step && AsInt(r.step) != 1)) return std::nullopt;
  return std::max<int64_t>(0, *end - *begin);
}

// Statements of one state that walk the same matrix.
struct Walk {
  int64_t rows = 0, bytes = 0;       // of the matrix
  std::map<uint32_t, Name> members;  // positions, and what each calls the row
  std::set<Name> sums;               // arrays that are added to in each row
  transforms::Between aside;
  int64_t parts = 1;
};

// The divisor of `rows` that is nearest to `wanted`, of those that are not far from it; 1: there is none.
int64_t PartsOf(int64_t rows, int64_t wanted) {
  int64_t best = 1;
  for (int64_t d = std::max<int64_t>(2, wanted / 2); d <= 2 * wanted && d <= rows; ++d)
    if (rows % d == 0 && (best == 1 || std::abs(d - wanted) < std::abs(best - wanted))) best = d;
  return best;
}

// Known sizes, many rows, and more than stays near from one statement to the next.
bool IsMatrix(const Container& c, const RowLimits& limits) {
  return c.kind != ContainerKind::kView && c.shape.size() > 1 && c.row_major() && !IsScoped(c.storage) &&
         AsInt(c.shape[0]).value_or(0) >= static_cast<int64_t>(limits.rows) &&
         AsInt(BytesOf(c)).value_or(0) >= static_cast<int64_t>(limits.bytes);
}

class Fuser {
 public:
  Fuser(const Program& p, Sdfg* s, const RowLimits& limits, const Ask& ask)
      : s_(*s), limits_(limits), ask_(ask), callees_(p), uses_(p, *s), program_(p) {}

  // At most one walk: positions are others then.
  bool Run() {
    const std::vector<Name> matrices = Matrices();
    for (Name matrix : matrices)
      for (const Walk& w : WalksOver(matrix)) {
        Match m;
        m.sdfg = s_.name, m.containers = {matrix};
        for (const auto& [at, row] : w.members) m.statements.push_back(uses_.positions()[at].statement);
        if (!ask_(m)) continue;
        Merge(w);
        return true;
      }
    return false;
  }

 private:
  // Large ones first.
  std::vector<Name> Matrices() const {
    std::vector<Name> out;
    for (Name n : s_.order)
      if (IsMatrix(s_.Get(n), limits_)) out.push_back(n);
    std::stable_sort(out.begin(), out.end(), [&](Name a, Name b) { return Bytes(a) > Bytes(b); });
    return out;
  }
  int64_t Bytes(Name n) const { return AsInt(BytesOf(s_.Get(n))).value_or(0); }

  const Kernel& KernelAt(uint32_t at) {
    const auto [it, fresh] = kernels_.try_emplace(at);
    if (fresh) it->second = transforms::MakeKernel(program_, s_, uses_.positions()[at].statement);
    return it->second;
  }

  // As many neighbours in each as can be in one. One alone where it has sums along the rows and over them, which no lanes suit both of.
  std::vector<Walk> WalksOver(Name matrix) {
    const transforms::Usage& u = uses_.Of(matrix);
    std::set<uint32_t> users(u.reads.begin(), u.reads.end());
    users.insert(u.writes.begin(), u.writes.end());
    std::vector<Walk> out;
    std::optional<Walk> open;
    const auto close = [&] {
      if (open && (open->members.size() > 1 || (SumsBothWays(*open) && IsLegal(&*open)))) out.push_back(*open);
      open.reset();
    };
    for (uint32_t at : users) {
      Walk alone;
      alone.rows = *AsInt(s_.Get(matrix).shape[0]), alone.bytes = Bytes(matrix);
      if (!Joins(at, matrix, &alone)) {
        close();
        continue;
      }
      if (open) {
        Walk both = *open;
        both.members.insert(alone.members.begin(), alone.members.end());
        both.sums.insert(alone.sums.begin(), alone.sums.end());
        if (InOneState(both) && IsLegal(&both)) {
          open = std::move(both);
          continue;
        }
      }
      close();
      open = std::move(alone);
    }
    close();
    return out;
  }

  bool SumsBothWays(const Walk& w) {
    const auto& [at, row] = *w.members.begin();
    const Kernel& k = KernelAt(at);
    const auto along = [&, own = row](const KernelAccess& a) {
      return a.write && a.op != WriteOp::kAssign && !IsScoped(s_.Get(a.root).storage) && IsOwn(a, own) &&
             std::any_of(k.ranges.begin(), k.ranges.end(), [&](const Range& r) { return !Moves(a, r.index); });
    };
    return !w.sums.empty() && std::any_of(k.accesses.begin(), k.accesses.end(), along);
  }

  bool InOneState(const Walk& w) const {
    const BlockId block = uses_.positions()[w.members.begin()->first].block;
    return std::all_of(w.members.begin(), w.members.end(), [&](const auto& m) { return uses_.positions()[m.first].block == block; });
  }

  // A map over all rows of the matrix, with no more iterations than it has elements.
  bool Joins(uint32_t at, Name matrix, Walk* w) {
    const NodeId n = uses_.positions()[at].statement;
    if (!n.valid() || !std::holds_alternative<Map>(s_.nodes[n].body)) return false;
    const Kernel& k = KernelAt(at);
    if (!k.fusable || k.schedule != Schedule::kDefault) return false;
    const std::vector<uint32_t> of = k.of(matrix);
    const auto row = std::find_if(k.ranges.begin(), k.ranges.end(), [&](const Range& r) {
      return AsInt(r.begin) == 0 && LengthOf(r) == w->rows && std::all_of(of.begin(), of.end(), [&](uint32_t i) {
               const KernelAccess& a = k.accesses[i];
               return a.container == matrix && !a.flat && !a.whole && IsSymbol(a.index[0], r.index);
             });
    });
    if (of.empty() || row == k.ranges.end()) return false;
    const auto iterations = Iterations(k.body, Product(k.ranges));
    if (!iterations || *iterations > w->bytes / ByteSize(s_.Get(matrix).dtype)) return false;
    w->members.emplace(at, row->index);
    return std::all_of(k.accesses.begin(), k.accesses.end(), [&](const KernelAccess& a) { return IsTaken(a, k, row->index, w); });
  }

  // The most often that a tasklet runs.
  std::optional<int64_t> Iterations(const std::vector<NodeId>& body, std::optional<int64_t> around) const {
    std::optional<int64_t> most = around;
    for (NodeId n : body)
      if (const auto* m = std::get_if<Map>(&s_.nodes[n].body)) {
        const auto own = Product(m->ranges);
        const auto inside = around && own ? Iterations(m->body, *around * *own) : std::nullopt;
        if (!inside) return std::nullopt;
        most = std::max(*most, *inside);
      }
    return most;
  }
  static std::optional<int64_t> Product(const std::vector<Range>& ranges) {
    int64_t product = 1;
    for (const Range& r : ranges) {
      const auto length = LengthOf(r);
      if (!length || *length > (int64_t{1} << 40) / std::max<int64_t>(1, product)) return std::nullopt;
      product *= *length;
    }
    return product;
  }

  // What is written is the row's own, or a sum over all rows that nothing of the statement reads.
  bool IsTaken(const KernelAccess& a, const Kernel& k, Name row, Walk* w) const {
    const Container& c = s_.Get(a.root);
    if (a.whole) return false;
    if (IsScoped(c.storage)) return k.accesses[k.of(a.root).front()].write;  // an iteration's own
    if (!a.write || IsOwn(a, row)) return true;
    const std::vector<uint32_t> of = k.of(a.root);
    const bool sums = std::all_of(of.begin(), of.end(), [&](uint32_t i) {
      const KernelAccess& x = k.accesses[i];
      return x.write && x.op == WriteOp::kAdd && !x.flat && !Moves(x, row);
    });
    const bool plain = a.container == a.root && c.row_major() && Bytes(a.root) > 0;
    const bool exact = ByteSize(c.dtype) >= 4;  // halves are added up in wider sums, by whoever does it
    const bool looked_up = std::any_of(a.index.begin(), a.index.end(), [](const Expr& e) { return !ReadContainers(e).empty(); });
    if (!sums || !plain || !exact || looked_up) return false;
    w->sums.insert(a.root);
    return true;
  }
  bool IsLegal(Walk* w) {
    std::unordered_map<Name, std::vector<std::pair<const KernelAccess*, Name>>> roots;
    std::unordered_map<Name, std::set<uint32_t>> where;
    for (const auto& [at, row] : w->members)
      for (const KernelAccess& a : KernelAt(at).accesses) {
        if (IsScoped(s_.Get(a.root).storage)) continue;
        roots[a.root].emplace_back(&a, row);
        where[a.root].insert(at);
      }
    int64_t row_bytes = 0;
    for (const auto& [root, accesses] : roots) {
      const bool written = std::any_of(accesses.begin(), accesses.end(), [](const auto& a) { return a.first->write; });
      const bool apart = IsApart(accesses);
      if (written && where[root].size() > 1 && !apart) return false;
      row_bytes += apart ? Bytes(root) / w->rows : Bytes(root);
    }
    if (row_bytes > static_cast<int64_t>(limits_.row_bytes)) return false;
    if (!w->sums.empty()) {
      w->parts = PartsOf(w->rows, static_cast<int64_t>(limits_.parts));
      int64_t bytes = 0;
      for (Name n : w->sums) bytes += w->parts * Bytes(n);
      if (w->parts == 1 || bytes > w->bytes / 4) return false;
    }
    auto aside = transforms::StandAside(s_, uses_, callees_, w->members);
    if (!aside) return false;
    w->aside = std::move(*aside);
    return true;
  }

  // All of them are at the place of their row, in one dimension.
  bool IsApart(const std::vector<std::pair<const KernelAccess*, Name>>& accesses) const {
    const KernelAccess& first = *accesses[0].first;
    for (size_t d = 0; d < first.index.size(); ++d)
      if (std::all_of(accesses.begin(), accesses.end(), [&](const auto& a) {
            return a.first->container == a.first->root && !a.first->flat && IsSymbol(a.first->index[d], a.second);
          }))
        return true;
    return false;
  }

  void Merge(const Walk& w) {
    transforms::NameTable names(s_);
    const uint32_t first = w.members.begin()->first, last = w.members.rbegin()->first;
    const Name row = names.Fresh(Name("row")), part = names.Fresh(Name("part"));
    const int64_t length = w.rows / w.parts;
    const Expr at = w.parts > 1 ? Expr(length) * Expr(part) + Expr(row) : Expr(row);
    std::vector<Origin> origins;
    for (const auto& [position, index] : w.members) origins.push_back(s_.nodes[uses_.positions()[position].statement].origin);
    origin_ = Origin::Merged(origins, Name("fuse-rows"));
    std::map<Name, Name> partial;
    for (Name n : w.sums) partial.emplace(n, AddPartial(n, w.parts, &names));

    Map rows;
    rows.ranges = {{row, Expr(0), Expr(length), Expr(1)}};
    for (const auto& [position, index] : w.members) {
      const NodeId n = uses_.positions()[position].statement;
      Map m = std::get<Map>(s_.nodes[n].body);
      for (NodeId c : m.body) Rewrite(c, {{index, at}}, partial, part);
      m.ranges.erase(std::find_if(m.ranges.begin(), m.ranges.end(), [&, own = index](const Range& r) { return r.index == own; }));
      if (m.ranges.empty()) rows.body.insert(rows.body.end(), m.body.begin(), m.body.end());
      else rows.body.push_back(s_.AddNode(std::move(m), s_.nodes[n].origin));
    }
    std::vector<NodeId> becomes;
    for (uint32_t p : w.aside.before) becomes.push_back(uses_.positions()[p].statement);
    if (w.sums.empty()) {
      becomes.push_back(s_.AddNode(std::move(rows), origin_));
    } else {
      Map parts;
      parts.ranges = {{part, Expr(0), Expr(w.parts), Expr(1)}};
      for (const auto& [n, own] : partial)
        parts.body.push_back(OverAll(n, &names, [&, to = own](const Index& at) { return Zero(to, part, at); }));
      parts.body.push_back(s_.AddNode(std::move(rows), origin_));
      becomes.push_back(s_.AddNode(std::move(parts), origin_));
      for (const auto& [n, own] : partial)
        becomes.push_back(OverAll(n, &names, [&, n = n, from = own](const Index& at) { return AddUp(n, from, w.parts, part, at); }));
    }
    for (uint32_t p : w.aside.after) becomes.push_back(uses_.positions()[p].statement);

    const BlockId block = uses_.positions()[first].block;
    std::vector<NodeId> statements = std::get<State>(s_.blocks[block].control).statements;
    const auto begin = std::find(statements.begin(), statements.end(), uses_.positions()[first].statement);
    const auto end = std::find(statements.begin(), statements.end(), uses_.positions()[last].statement) + 1;
    statements.insert(statements.erase(begin, end), becomes.begin(), becomes.end());
    std::get<State>(s_.blocks.Mutable(block).control).statements = std::move(statements);
  }

  Name AddPartial(Name n, int64_t parts, transforms::NameTable* names) {
    Container c;
    c.name = names->Fresh(Name("partial"));
    c.dtype = s_.Get(n).dtype;
    c.shape = s_.Get(n).shape;
    c.shape.insert(c.shape.begin(), Expr(parts));
    c.origin = s_.Get(n).origin;
    s_.Add(c);
    return c.name;
  }

  // A map over all elements of an array around what `make` makes for one; of a number that alone.
  template <typename Make>
  NodeId OverAll(Name n, transforms::NameTable* names, const Make& make) {
    Map m;
    Index index;
    const std::vector<Expr> shape = s_.Get(n).shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const Name i = names->Fresh(Name("d" + std::to_string(d)));
      m.ranges.push_back({i, Expr(0), shape[d], Expr(1)});
      index.push_back(Expr(i));
    }
    const NodeId one = make(index);
    if (m.ranges.empty()) return one;
    m.body = {one};
    return s_.AddNode(std::move(m), origin_);
  }
  NodeId Zero(Name partial, Name part, Index index) {
    Tasklet t;
    t.target = partial;
    t.value = IsFloat(s_.Get(partial).dtype) || IsComplex(s_.Get(partial).dtype) ? FloatExpr(0) : IntExpr(0);
    index.insert(index.begin(), Expr(part));
    t.index = std::move(index);
    return s_.AddNode(std::move(t), origin_);
  }
  NodeId AddUp(Name n, Name partial, int64_t parts, Name part, const Index& index) {
    Tasklet t;
    t.target = n, t.index = index, t.op = WriteOp::kAdd;
    Index from = index;
    from.insert(from.begin(), Expr(part));
    t.value = ReadExpr(partial, std::move(from));
    Map m;
    m.ranges = {{part, Expr(0), Expr(parts), Expr(1)}};
    m.body = {s_.AddNode(std::move(t), origin_)};
    return s_.AddNode(std::move(m), origin_);
  }

  void Rewrite(NodeId n, const NameMap& row, const std::map<Name, Name>& partial, Name part) {
    Body& body = s_.nodes.Mutable(n).body;
    if (auto* t = std::get_if<Tasklet>(&body)) {
      t->value = Substitute(t->value, row);
      for (Expr& e : t->index) e = Substitute(e, row);
      if (const auto it = partial.find(t->target); it != partial.end()) {
        t->target = it->second;
        t->index.insert(t->index.begin(), Expr(part));
      }
      return;
    }
    Map& m = std::get<Map>(body);
    for (Range& r : m.ranges)
      for (Expr* e : {&r.begin, &r.end, &r.step})
        if (*e) *e = Substitute(*e, row);
    for (NodeId c : std::vector<NodeId>(m.body)) Rewrite(c, row, partial, part);
  }

  Sdfg& s_;
  const RowLimits& limits_;
  const Ask& ask_;
  Callees callees_;
  const transforms::UseIndex uses_;
  const Program& program_;
  std::unordered_map<uint32_t, Kernel> kernels_;  // by position
  Origin origin_;
};

}  // namespace

Result<bool> FuseRows(Program& p, const RowLimits& limits, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) {
    if (std::none_of(s->order.begin(), s->order.end(), [&](Name n) { return IsMatrix(s->Get(n), limits); })) return false;
    bool any = false;
    while (Fuser(p, s, limits, ask).Run()) any = true;
    return any;
  });
}

}  // namespace headrace
