// Containers whose strides have two elements in one place of memory: iterations that write different elements may meet there.
#include <algorithm>

#include "ir/analysis/sets.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {
namespace {

// Do different indices have different places? Each stride goes beyond all that those below it reach, or sets of numbers show it.
Truth ElementsApart(const Sdfg& s, const Container& c) {
  std::vector<std::pair<Expr, Expr>> open;  // stride, size
  for (size_t d = 0; d < c.shape.size(); ++d) {
    const bool down = ProveLe(c.strides[d], Expr(-1), s.assumptions) == Truth::kYes;
    if (AsInt(c.shape[d]) != 1) open.push_back({down ? Expr(0) - c.strides[d] : c.strides[d], c.shape[d]});
  }
  for (Expr reach(1); !open.empty();) {
    const auto next = std::find_if(open.begin(), open.end(), [&](const auto& d) {
      return ProveLe(reach, d.first, s.assumptions) == Truth::kYes && std::all_of(open.begin(), open.end(), [&](const auto& o) {
               return &o == &d || ProveLe(d.first, o.first, s.assumptions) == Truth::kYes;
             });
    });
    if (next == open.end()) break;
    reach = next->first * next->second;
    open.erase(next);
  }
  if (open.empty()) return Truth::kYes;
  std::vector<Range> ranges;
  Expr place(0);
  bool numbers = true;
  for (size_t d = 0; d < c.shape.size(); ++d) {
    ranges.push_back({Name("$" + std::to_string(d)), Expr(0), c.shape[d], Expr(1)});
    place = place + c.strides[d] * SymbolExpr(ranges.back().index);
    numbers &= AsInt(c.shape[d]) && AsInt(c.strides[d]);
  }
  const Truth apart = IsInjective(ranges, {place}, s.assumptions);
  return apart == Truth::kUnknown && numbers ? Truth::kNo : apart;
}

}  // namespace

std::vector<Use> InMemory(const Sdfg& s, const std::vector<Use>& uses) {
  std::vector<Use> out;
  for (size_t i = 0; i < uses.size(); ++i) {
    const Use& u = uses[i];
    const Container& c = s.Get(u.container);
    if (u.flat || u.whole || c.strides.empty() || c.strides.size() != c.shape.size() || u.index.size() != c.shape.size()) continue;
    if (ElementsApart(s, c) != Truth::kNo) continue;
    if (out.empty()) out = uses;
    Expr place(0);
    for (size_t d = 0; d < u.index.size(); ++d) place = place + c.strides[d] * u.index[d];
    out[i].index = {place};
    out[i].flat = true;
  }
  return out;
}

}  // namespace headrace::verify
