// One fusion at a time: which two statements of a list can become one, and making them one.
#include <algorithm>
#include <unordered_map>

#include "transforms/fuse_maps.h"

namespace headrace {
namespace transforms {
namespace {

// The statements of a state or of a map's body, as kernels, with what each directly depends on.
class StatementList {
 public:
  StatementList(const Program& p, const Sdfg& s, const std::vector<NodeId>& statements) {
    for (NodeId n : statements) kernels_.push_back(MakeKernel(p, s, n));
    std::unordered_map<Name, size_t> writer, definer;
    std::unordered_map<Name, std::vector<size_t>> readers;
    before_.resize(kernels_.size());
    for (size_t i = 0; i < kernels_.size(); ++i) {
      auto after = [&](size_t d) { before_[i].push_back(d); };
      for (const KernelAccess& a : kernels_[i].accesses) {
        if (auto w = writer.find(a.root); w != writer.end()) after(w->second);
        if (a.write)
          for (size_t r : readers[a.root]) after(r);
      }
      if (!definer.empty())
        for (Name n : SymbolsOf(s, kernels_[i]))
          if (auto d = definer.find(n); d != definer.end()) after(d->second);
      for (const KernelAccess& a : kernels_[i].accesses) {
        if (a.write) writer[a.root] = i, readers[a.root].clear();
        else readers[a.root].push_back(i);
      }
      if (auto* l = std::get_if<Library>(&s.nodes[kernels_[i].statement].body))
        for (Name d : l->defines) definer[d] = i;
      std::sort(before_[i].begin(), before_[i].end());
      before_[i].erase(std::unique(before_[i].begin(), before_[i].end()), before_[i].end());
      before_[i].erase(std::remove(before_[i].begin(), before_[i].end(), i), before_[i].end());
    }
  }
  const std::vector<Kernel>& kernels() const { return kernels_; }
  // Pairs of which one can move to the other: to the last that it depends on, or to the first that depends on it.
  std::vector<std::pair<size_t, size_t>> Neighbours() const {
    std::vector<std::pair<size_t, size_t>> out;
    std::vector<bool> met(kernels_.size());
    for (size_t j = 0; j < kernels_.size(); ++j)
      for (size_t i : before_[j]) {
        if (i == before_[j].back() || !met[i]) out.push_back({i, j});
        met[i] = true;
      }
    return out;
  }
  // Whether `to` and what stands between keep their order when `to` moves up to `from`.
  bool MovesUp(size_t from, size_t to) const { return !before_[to].empty() && before_[to].back() == from; }

 private:
  std::vector<Kernel> kernels_;
  std::vector<std::vector<size_t>> before_;  // ascending
};

// Calls fn(list, indices around) for each state, and each map's body of tasklets and maps.
template <typename Fn>
void ForEachList(const Sdfg& s, Fn&& fn) {
  auto maps = [&](auto&& self, const std::vector<NodeId>& list, const std::vector<Name>& around) -> void {
    for (NodeId n : list) {
      auto* m = std::get_if<Map>(&s.nodes[n].body);
      if (!m) continue;
      std::vector<Name> inside = around;
      for (const Range& r : m->ranges) inside.push_back(r.index);
      // What calls do to registers is not tracked.
      const bool plain = std::all_of(m->body.begin(), m->body.end(), [&](NodeId c) {
        return std::holds_alternative<Map>(s.nodes[c].body) || std::holds_alternative<Tasklet>(s.nodes[c].body);
      });
      if (plain) fn(m->body, inside);
      self(self, m->body, inside);
    }
  };
  ForEachBlock(s, s.body, [&](BlockId b) {
    auto* st = std::get_if<State>(&s.blocks[b].control);
    if (!st) return;
    fn(st->statements, std::vector<Name>());
    maps(maps, st->statements, {});
  });
}

// Puts `made` where one of the two stood, in whatever list that was.
void PutInstead(Sdfg* s, NodeId made, NodeId stays, NodeId goes) {
  auto put = [&](std::vector<NodeId> list) {
    std::replace(list.begin(), list.end(), stays, made);
    list.erase(std::remove(list.begin(), list.end(), goes), list.end());
    return list;
  };
  auto holds = [&](const std::vector<NodeId>& list) { return std::find(list.begin(), list.end(), stays) != list.end(); };
  std::vector<BlockId> blocks;
  ForEachBlock(*s, s->body, [&](BlockId b) {
    auto* st = std::get_if<State>(&s->blocks[b].control);
    if (st && holds(st->statements)) blocks.push_back(b);
  });
  for (BlockId b : blocks) {
    std::vector<NodeId>& list = std::get<State>(s->blocks.Mutable(b).control).statements;
    list = put(list);
  }
  std::vector<NodeId> maps;
  ForEachNode(*s, [&](NodeId n) {
    auto* m = std::get_if<Map>(&s->nodes[n].body);
    if (m && holds(m->body)) maps.push_back(n);
  });
  for (NodeId n : maps) {
    std::vector<NodeId>& list = std::get<Map>(s->nodes.Mutable(n).body).body;
    list = put(list);
  }
  for (NodeId n : {stays, goes}) s->nodes.Mutable(n).body = std::monostate{};
}

}  // namespace
}  // namespace transforms

std::vector<Match> FindFusions(const Program& p, const transforms::FusionLimits& limits) {
  using namespace transforms;
  std::vector<Match> found;
  for (const auto& s : p.sdfgs) {
    if (s->kernel) continue;
    NameTable names(*s);
    ForEachList(*s, [&](const std::vector<NodeId>& list, const std::vector<Name>& around) {
      const StatementList statements(p, *s, list);
      for (const auto& [i, j] : statements.Neighbours()) {
        const Kernel &a = statements.kernels()[i], &b = statements.kernels()[j];
        const auto fusion = FindFusion(*s, a, b);
        if (!fusion) continue;
        Match m;
        m.sdfg = s->name;
        m.statements = {a.statement, b.statement};
        m.note = WhyNotFuse(*s, &names, around, a, b, *fusion, limits);
        m.advised = m.note.empty();
        if (limits.product && !m.advised) continue;
        found.push_back(std::move(m));
      }
    });
  }
  return found;
}

Status FuseAt(Program& p, const Match& m) {
  using namespace transforms;
  Sdfg* s = &p.Mutable(m.sdfg);
  const NodeId first = m.statements.at(0), second = m.statements.at(1);
  std::vector<NodeId> statements;
  std::vector<Name> around;
  ForEachList(*s, [&](const std::vector<NodeId>& list, const std::vector<Name>& indices) {
    if (std::find(list.begin(), list.end(), first) != list.end()) statements = list, around = indices;
  });
  const StatementList list(p, *s, statements);
  const auto at = [&](NodeId n) {
    return static_cast<size_t>(std::find(statements.begin(), statements.end(), n) - statements.begin());
  };
  Kernel a = list.kernels().at(at(first));
  const Kernel& b = list.kernels().at(at(second));
  const auto fusion = FindFusion(*s, a, b);
  if (!fusion) return InternalError("fuse-maps was asked for what it did not find");
  NameTable names(*s);
  Fuse(s, &names, around, *fusion, &a, b);
  const bool up = list.MovesUp(at(first), at(second));
  PutInstead(s, Emit(s, a), up ? first : second, up ? second : first);
  return {};
}

}  // namespace headrace
