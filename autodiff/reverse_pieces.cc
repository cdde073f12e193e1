#include "autodiff/reverse_pieces.h"

#include <algorithm>
#include <unordered_set>

namespace headrace::autodiff {
namespace {

// Elements of one container whose indices differ in a literal: X[i, 0] and X[j, 1]. The container is the last of each.
bool Apart(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  if (a.size() != b.size() || a.back() != b.back()) return false;
  for (size_t d = 0; d + 1 < a.size(); ++d)
    if (const auto x = AsInt(a[d]), y = AsInt(b[d]); x && y && *x != *y) return true;
  return false;
}

}  // namespace

bool IsRegister(const Sdfg& s, Name n) {
  const Container* c = s.Find(n);
  return c && c->storage == Storage::kRegister;
}

void CountRegisters(const Sdfg& s, NodeId n, std::unordered_map<Name, int>* count) {
  ForEachTasklet(s, n, [&](NodeId, const Tasklet& t) {
    auto reads = [&](const Expr& e) {
      Visit(e, [&](const Expr& x) {
        if (x.Is(ExprKind::kRead) && IsRegister(s, x->name)) ++(*count)[x->name];
        return true;
      });
    };
    if (IsRegister(s, t.target)) ++(*count)[t.target];
    reads(t.value);
    for (const Expr& e : t.index) reads(e);
  });
}

Renames OwnRegisters(Sdfg* s, FreshNames* names, NodeId n) {
  std::unordered_map<Name, int> count;
  CountRegisters(*s, n, &count);
  std::vector<Name> registers;
  for (const auto& c : count) registers.push_back(c.first);
  std::sort(registers.begin(), registers.end());
  Renames renames;
  for (Name r : registers) {
    Container c = s->Get(r);
    c.name = (*names)(r.view());
    renames.push_back({r, c.name});
    s->Add(std::move(c));
  }
  return renames;
}

void DropUnreadRegisters(Sdfg* s, NodeId* n) {
  for (bool changed = true; changed && n->valid();) {
    changed = false;
    std::unordered_set<Name> read;
    ForEachTasklet(*s, *n, [&](NodeId, const Tasklet& t) {
      for (Name r : ReadContainers(t.value)) read.insert(r);
      for (const Expr& e : t.index)
        for (Name r : ReadContainers(e)) read.insert(r);
    });
    NodeId kept = CloneStatement(s, *n, {}, [&](NodeId, Tasklet t) {
      if (!IsRegister(*s, t.target) || read.count(t.target)) return std::vector<Tasklet>{t};
      changed = true;
      return std::vector<Tasklet>();
    });
    if (changed) *n = kept;
  }
}

std::unordered_map<Name, int> CountTouches(const Sdfg& s, NodeId root) {
  std::unordered_map<Name, int> touches;
  ForEachTasklet(s, root, [&](NodeId, const Tasklet& t) {
    std::unordered_set<Name> here = {RootOf(s, t.target)};
    for (Name n : ReadContainers(t.value)) here.insert(RootOf(s, n));
    for (Name n : here) ++touches[n];
  });
  return touches;
}

std::unordered_map<uint32_t, int> GroupsOf(const Sdfg& s, NodeId statement, int* count) {
  std::unordered_map<uint32_t, int> group;
  std::unordered_set<Name> written;
  *count = 1;
  ForEachTasklet(s, statement, [&](NodeId id, const Tasklet& t) {
    if (IsRegister(s, t.target)) return;
    const Name root = RootOf(s, t.target);
    if (t.op == WriteOp::kAssign && written.count(root)) ++*count, written.clear();
    written.insert(root);
    group[id.value] = *count - 1;
  });
  return group;
}

bool ReadsBeforeOtherGroups(const Sdfg& s, NodeId statement, const std::unordered_map<uint32_t, int>& group) {
  struct Place {
    Name root;
    int at;
    int group;
  };
  std::unordered_map<Name, std::vector<Place>> sources;  // of a register: the arrays it was made of, and where
  std::vector<Place> writes;
  int at = 0;
  bool found = false;
  ForEachTasklet(s, statement, [&](NodeId id, const Tasklet& t) {
    ++at;
    std::vector<Place> read;
    for (Name n : ReadContainers(t.value)) {
      if (IsRegister(s, n)) {
        read.insert(read.end(), sources[n].begin(), sources[n].end());
      } else if (IsRegister(s, t.target)) {
        read.push_back({RootOf(s, n), at, 0});
      }
    }
    if (IsRegister(s, t.target)) {
      std::vector<Place>& of = sources[t.target];
      of.insert(of.end(), read.begin(), read.end());
      return;
    }
    const int own = group.at(id.value);
    for (const Place& r : read)
      for (const Place& w : writes) found |= w.root == r.root && w.at > r.at && w.group < own;
    writes.push_back({RootOf(s, t.target), at, own});
  });
  return found;
}

std::vector<NodeId> SplitWrites(Sdfg* s, FreshNames* names, NodeId map) {
  struct Write {
    NodeId leaf;
    Tasklet t;
  };
  std::vector<Write> writes;
  ForEachTasklet(*s, map, [&](NodeId id, const Tasklet& t) {
    if (!IsRegister(*s, t.target)) writes.push_back({id, t});
  });
  std::unordered_map<uint32_t, int> group;  // leaf → piece; −1 = the last one
  std::unordered_map<Name, std::vector<std::pair<std::vector<Expr>, int>>> patterns;
  std::unordered_set<Name> cleared;
  for (const Write& w : writes)
    if (w.t.op == WriteOp::kAssign) cleared.insert(RootOf(*s, w.t.target));
  int pieces = 0;
  bool split = false;
  std::unordered_map<Name, std::vector<Expr>> first;
  for (const Write& w : writes) {
    Name root = RootOf(*s, w.t.target);
    if (cleared.count(root)) {
      group[w.leaf.value] = -1;
      continue;
    }
    std::vector<Expr> key = w.t.index;
    key.push_back(Expr(w.t.target));
    auto& seen = patterns[root];
    auto it = std::find_if(seen.begin(), seen.end(), [&](const auto& x) { return x.first == key; });
    int piece = 0;  // patterns of different arrays share pieces
    if (it != seen.end()) {
      piece = it->second;
    } else {
      auto meets = [&](const auto& x) { return x.second == piece && !Apart(x.first, key); };
      while (std::any_of(seen.begin(), seen.end(), meets)) ++piece;
      seen.push_back({key, piece});
      split |= piece > 0;
    }
    pieces = std::max(pieces, piece + 1);
    group[w.leaf.value] = piece;
  }
  if (!split) return {map};
  bool last_needed = false;
  for (const auto& g : group) last_needed |= g.second == -1;
  std::vector<NodeId> out;
  for (int k = 0; k < pieces + (last_needed ? 1 : 0); ++k) {
    int want = k < pieces ? k : -1;
    NodeId n = CloneStatement(s, map, OwnRegisters(s, names, map), [&](NodeId id, Tasklet t) {
      auto it = group.find(id.value);
      return it == group.end() || it->second == want ? std::vector<Tasklet>{t} : std::vector<Tasklet>();
    });
    if (n.valid()) out.push_back(n);
  }
  return out;
}

}  // namespace headrace::autodiff
