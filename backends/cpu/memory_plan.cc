#include "backends/cpu/memory_plan.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "backends/cpu/access.h"

namespace headrace::cpu {

std::set<Name> DefinedInside(const Sdfg& s) {
  std::set<Name> out;
  ForEachBlock(s, s.body, [&](BlockId b) {
    const Control& c = s.blocks[b].control;
    if (const auto* l = std::get_if<Loop>(&c); l && !l->var.empty()) out.insert(l->var);
    if (const auto* a = std::get_if<Assign>(&c)) out.insert(a->symbol);
  });
  ForEachNode(s, [&](NodeId n) {
    if (const auto* l = std::get_if<Library>(&s.nodes[n].body)) out.insert(l->defines.begin(), l->defines.end());
  });
  return out;
}

namespace {

struct Life {
  int64_t begin = -1, end = -1;
};

// First and last position of every transient, in text order; a loop counts as one position for what it uses.
class Lifetimes {
 public:
  explicit Lifetimes(const Sdfg& s) : s_(s) { Blocks(s.body); }
  std::unordered_map<Name, Life> life;
  std::vector<Name> order;  // by first use

 private:
  void Use(Name container) {
    const Name base = BaseOf(s_, container);
    auto [it, fresh] = life.emplace(base, Life{now_, now_});
    if (fresh) order.push_back(base);
    it->second.end = now_;
  }
  void UseExpr(const Expr& e) {
    if (!e) return;
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) Use(x->name);
      return true;
    });
  }
  void Statement(NodeId n) {
    const auto& body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      UseExpr(t->value);
      for (const Expr& i : t->index) UseExpr(i);
      Use(t->target);
    } else if (const auto* m = std::get_if<Map>(&body)) {
      for (NodeId c : m->body) Statement(c);
    } else if (const auto* call = std::get_if<Nested>(&body)) {
      for (const Argument& a : call->arguments) Use(a.container);
      for (const auto& [name, e] : call->symbols) UseExpr(e);
    } else if (const auto* l = std::get_if<Library>(&body)) {
      for (const Port& p : l->inputs)
        if (!p.container.empty()) Use(p.container);
      for (const Port& p : l->outputs)
        if (!p.container.empty()) Use(p.container);
    }
  }
  void Blocks(const std::vector<BlockId>& body) {
    for (BlockId b : body) {
      const Control& c = s_.blocks[b].control;
      if (const auto* st = std::get_if<State>(&c)) {
        for (NodeId n : st->statements) {
          if (!frozen_) ++now_;
          Statement(n);
        }
      } else if (const auto* l = std::get_if<Loop>(&c)) {
        const bool outermost = !frozen_;
        if (outermost) ++now_;
        frozen_ = true;
        for (const Expr& e : {l->init, l->condition, l->update}) UseExpr(e);
        Blocks(l->body);
        if (outermost) frozen_ = false;
      } else if (const auto* i = std::get_if<Conditional>(&c)) {
        for (const Branch& branch : i->branches) {
          if (!frozen_) ++now_;
          UseExpr(branch.condition);
          Blocks(branch.body);
        }
      } else if (const auto* a = std::get_if<Assign>(&c)) {
        if (!frozen_) ++now_;
        UseExpr(a->value);
      }
    }
  }
  const Sdfg& s_;
  int64_t now_ = 0;
  bool frozen_ = false;
};

// Best-fit over free byte ranges, neighbours merged.
class FreeList {
 public:
  int64_t Take(int64_t bytes) {
    auto it = by_size_.lower_bound({bytes, 0});
    if (it == by_size_.end()) {
      int64_t at = top_;
      if (!by_offset_.empty() &&
          by_offset_.rbegin()->first + by_offset_.rbegin()->second == top_) {  // grow the last hole
        at = by_offset_.rbegin()->first;
        Erase(at);
      }
      top_ = at + bytes;
      return at;
    }
    const int64_t size = it->first, at = it->second;
    Erase(at);
    if (size > bytes) Insert(at + bytes, size - bytes);
    return at;
  }
  void Give(int64_t at, int64_t bytes) {
    auto next = by_offset_.lower_bound(at);
    if (next != by_offset_.end() && next->first == at + bytes) {
      bytes += next->second;
      Erase(next->first);
    }
    auto prev = by_offset_.lower_bound(at);
    if (prev != by_offset_.begin()) {
      --prev;
      if (prev->first + prev->second == at) {
        at = prev->first;
        bytes += prev->second;
        Erase(at);
      }
    }
    Insert(at, bytes);
  }
  int64_t top() const { return top_; }

 private:
  void Insert(int64_t at, int64_t size) { by_offset_[at] = size, by_size_.insert({size, at}); }
  void Erase(int64_t at) {
    auto it = by_offset_.find(at);
    by_size_.erase({it->second, at});
    by_offset_.erase(it);
  }
  std::map<int64_t, int64_t> by_offset_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t top_ = 0;
};

struct Item {
  Name name;
  Life life;
  int64_t bytes;
};

// No plan takes less.
int64_t MostAlive(const std::vector<Item>& items) {
  std::map<int64_t, int64_t> change;
  for (const Item& i : items) change[i.life.begin] += i.bytes, change[i.life.end + 1] -= i.bytes;
  int64_t alive = 0, most = 0;
  for (const auto& [at, bytes] : change) most = std::max(most, alive += bytes);
  return most;
}

// By first use, with everything that died before given back. Gives the bytes in all.
int64_t InOrder(const std::vector<Item>& items, std::map<Name, int64_t>* places) {
  FreeList free_list;
  std::multimap<int64_t, std::pair<int64_t, int64_t>> alive;  // end → (offset, bytes)
  for (const Item& i : items) {
    while (!alive.empty() && alive.begin()->first < i.life.begin) {
      free_list.Give(alive.begin()->second.first, alive.begin()->second.second);
      alive.erase(alive.begin());
    }
    const int64_t at = free_list.Take(i.bytes);
    (*places)[i.name] = at;
    alive.insert({i.life.end, {at, i.bytes}});
  }
  return free_list.top();
}

// Largest first, each at the lowest place that is free all its life: leaves fewer holes.
constexpr size_t kMostItems = 6000;
int64_t LargestFirst(std::vector<Item> items, std::map<Name, int64_t>* places) {
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.bytes > b.bytes; });
  struct Placed {
    int64_t at, bytes;
    Life life;
  };
  std::vector<Placed> placed;  // by place
  int64_t top = 0;
  for (const Item& i : items) {
    int64_t at = 0;
    for (const Placed& p : placed) {
      if (p.life.begin > i.life.end || i.life.begin > p.life.end) continue;
      if (p.at - at >= i.bytes) break;
      at = std::max(at, p.at + p.bytes);
    }
    const Placed here{at, i.bytes, i.life};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), here,
                                   [](const Placed& a, const Placed& b) { return a.at < b.at; }),
                  here);
    (*places)[i.name] = at;
    top = std::max(top, at + i.bytes);
  }
  return top;
}

}  // namespace

MemoryPlan PlanMemory(const Sdfg& s) {
  MemoryPlan plan;
  const std::set<Name> inside = DefinedInside(s);
  const Lifetimes lifetimes(s);
  std::vector<Item> items;
  std::vector<std::pair<Name, Life>> symbolic;
  for (Name n : lifetimes.order) {
    const Container& c = s.Get(n);
    if (c.kind != ContainerKind::kTransient || c.storage == Storage::kRegister || c.dtype == DType::kString) continue;
    const Life life = lifetimes.life.at(n);
    const Expr count = NumElements(c);
    int64_t bytes = 0;
    const auto k = AsInt(count);
    if (k && !__builtin_mul_overflow(*k, ByteSize(c.dtype), &bytes) && bytes < int64_t{1} << 60) {
      items.push_back({n, life, (std::max<int64_t>(1, bytes) + 63) / 64 * 64});
      continue;
    }
    bool dynamic = false;
    for (Name f : FreeSymbols(count)) dynamic |= inside.count(f) > 0;
    if (dynamic) plan.dynamic.push_back(n);
    else symbolic.push_back({n, life});
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.life.begin < b.life.begin; });
  plan.fixed_bytes = InOrder(items, &plan.fixed);
  if (plan.fixed_bytes > MostAlive(items) && items.size() <= kMostItems) {
    std::map<Name, int64_t> other;
    const int64_t bytes = LargestFirst(items, &other);
    if (bytes < plan.fixed_bytes) plan.fixed = std::move(other), plan.fixed_bytes = bytes;
  }
  // Symbolic sizes share a block when the sizes are equal and the lifetimes apart.
  std::vector<int64_t> busy_until;
  for (const auto& [name, life] : symbolic) {
    const Container& c = s.Get(name);
    const Expr count = NumElements(c);
    size_t b = 0;
    while (b < busy_until.size() &&
           !(busy_until[b] < life.begin && plan.block_width[b] == ByteSize(c.dtype) && plan.block_elements[b] == count))
      ++b;
    if (b == busy_until.size()) {
      busy_until.push_back(0);
      plan.block_elements.push_back(count);
      plan.block_width.push_back(ByteSize(c.dtype));
    }
    busy_until[b] = life.end;
    plan.block[name] = static_cast<int>(b);
  }
  return plan;
}

}  // namespace headrace::cpu
