// Template parts of expr.h.
#pragma once
#include <unordered_map>

namespace headrace {

template <typename Fn>
Expr Transform(const Expr& e, Fn&& fn) {
  std::unordered_map<const void*, Expr> memo;
  auto go = [&](auto&& self, const Expr& x) -> Expr {
    if (!x) return x;
    auto it = memo.find(x.id());
    if (it != memo.end()) return it->second;
    std::vector<Expr> args;
    args.reserve(x->args.size());
    bool changed = false;
    for (const Expr& a : x->args) {
      args.push_back(self(self, a));
      changed |= args.back().id() != a.id();
    }
    Expr out = fn(changed ? WithArgs(x, std::move(args)) : x);
    memo.emplace(x.id(), out);
    return out;
  };
  return go(go, e);
}

}  // namespace headrace
