// Dequantised elements are computed where they are read, if each reader takes each of them once: memory holds 8 bits an element.
//   map i in 0:N { D[i] = f32(i32(Q[i]) - 7) * s }
//   map i in 0:N { Y[i] = max(D[i], 0) }             →  map i in 0:N { Y[i] = max(f32(i32(Q[i]) - 7) * s, 0) }
#include <algorithm>
#include <map>

#include "ir/analysis/layout.h"
#include "transforms/quantised.h"

namespace headrace::transforms {
namespace {

class Reader {
 public:
  Reader(const Program& p, Sdfg* s, const Ask& ask) : s_(*s), ask_(ask), uses_(p, *s), quantisation_(*s, uses_) {}

  bool Run() {
    for (uint32_t at = 0; at < uses_.positions().size(); ++at)
      if (const NodeId n = uses_.positions()[at].statement; n.valid()) Walk(n, at, {});
    bool changed = false;
    for (const auto& [name, found] : found_) {
      const Usage& u = uses_.Of(name);
      if (found.other || found.positions != u.reads || u.reads.empty()) continue;
      if (!ask_(Match{s_.name, {uses_.positions()[u.writes[0]].statement}, {}, {name}, "", true})) continue;
      for (const NodeId n : found.tasklets) Replace(n, found);
      changed = true;
    }
    return changed;
  }

 private:
  struct Found {
    bool other = false;  // somebody reads it otherwise
    std::vector<uint32_t> positions;
    std::vector<NodeId> tasklets;
    std::vector<std::pair<Expr, Expr>> values;  // of reads
  };

  void Walk(NodeId n, uint32_t at, std::vector<Range> ranges) {
    const Body& body = s_.nodes[n].body;
    if (const auto* m = std::get_if<Map>(&body)) {
      ranges.insert(ranges.end(), m->ranges.begin(), m->ranges.end());
      for (NodeId inner : m->body) Walk(inner, at, ranges);
    }
    const auto* t = std::get_if<Tasklet>(&body);
    if (!t) return;
    for (const Expr& e : t->index)
      for (Name r : ReadContainers(e)) found_[r].other = true;
    Visit(t->value, [&](const Expr& e) {
      if (e.Is(ExprKind::kRead)) Note(e, n, at, ranges);
      return true;
    });
  }

  void Note(const Expr& e, NodeId n, uint32_t at, const std::vector<Range>& ranges) {
    Found& f = found_[e->name];
    if (f.other) return;
    const bool once = !e->has_default && std::all_of(ranges.begin(), ranges.end(), [&](const Range& r) {
      return std::find(e->args.begin(), e->args.end(), SymbolExpr(r.index)) != e->args.end();
    });
    const auto written = once ? quantisation_.WrittenTo(e, at) : std::nullopt;
    const auto q = written ? quantisation_.Of(e, at) : std::nullopt;
    if (!q || q->scales.empty()) return f.other = true, void();
    if (f.positions.empty() || f.positions.back() != at) f.positions.push_back(at);
    f.tasklets.push_back(n);
    f.values.emplace_back(e, written->value);
  }

  void Replace(NodeId n, const Found& f) {
    Tasklet t = std::get<Tasklet>(s_.nodes[n].body);
    t.value = Transform(t.value, [&](const Expr& e) -> Expr {
      for (const auto& [read, value] : f.values)
        if (e == read) return value;
      return e;
    });
    s_.nodes.Mutable(n).body = std::move(t);
  }

  Sdfg& s_;
  const Ask& ask_;
  UseIndex uses_;
  Quantisation quantisation_;
  std::map<Name, Found> found_;
};

}  // namespace

bool ReadQuantised(const Program& p, Sdfg* s, const Ask& ask) { return Reader(p, s, ask).Run(); }

}  // namespace headrace::transforms
