#include "transforms/assume_signs.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace headrace {
namespace {

class Signs {
 public:
  explicit Signs(const Sdfg& s) : s_(s), assumptions_(s.assumptions) {
    for (const Range& r : s.given) sizes_.insert(r.index);  // their ranges say it
    for (Name n : s.order)
      for (const Expr& d : s.Get(n).shape)
        if (d.Is(ExprKind::kSymbol)) sizes_.insert(d->name);
    for (Name n : s.symbol_params) Candidate(n);
    ForEachBlock(s, s.body, [&](BlockId b) {
      const Control& c = s.blocks[b].control;
      if (auto* a = std::get_if<Assign>(&c)) Value(a->symbol, a->value);
      if (auto* l = std::get_if<Loop>(&c)) Variable(*l);
    });
  }

  // What is 0 or more while all the others are, and they while it is: what fails leaves, until nothing does.
  std::vector<Name> Unknown() {
    std::vector<Name> out;
    for (bool changed = true; changed;) {
      changed = false;
      for (auto it = least_.begin(); it != least_.end();) {
        if (std::all_of(it->second.begin(), it->second.end(), [&](const Expr& e) { return NotNegative(e); })) {
          ++it;
          continue;
        }
        out.push_back(it->first);
        assumptions_.bounds.emplace_back(it->first, Interval{});
        it = least_.erase(it);
        changed = true;
      }
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  void Candidate(Name n) {
    if (!sizes_.count(n) && !assumptions_.Find(n)) least_[n].push_back(Expr());
  }
  void Value(Name n, const Expr& value) {
    if (!sizes_.count(n) && !assumptions_.Find(n)) least_[n].push_back(value);
  }
  void Variable(const Loop& l) {
    if (l.var.empty()) return;  // a `while`
    const std::optional<Range> r = AsRange(l);
    const std::optional<int64_t> step = !r ? std::nullopt : r->step ? AsInt(r->step) : 1;
    if (!step || *step == 0) return Value(l.var, Expr());
    Value(l.var, *step > 0 ? r->begin : r->end + 1);
  }
  // Null: nothing is known.
  bool NotNegative(const Expr& e) const {
    return e && IsIndexExpr(e) && ProveLe(IntExpr(0), e, assumptions_) == Truth::kYes;
  }

  const Sdfg& s_;
  Assumptions assumptions_;
  std::set<Name> sizes_;
  std::map<Name, std::vector<Expr>> least_;  // symbol → values that it is never below
};

}  // namespace

bool AssumeSigns(Program& p) {
  bool changed = false;
  for (const auto& shared : std::vector<std::shared_ptr<Sdfg>>(p.sdfgs)) {
    if (shared->kernel) continue;
    const std::vector<Name> unknown = Signs(*shared).Unknown();
    if (unknown.empty()) continue;
    Sdfg& s = p.Mutable(shared->name);
    for (Name n : unknown) s.assumptions.bounds.emplace_back(n, Interval{INT64_MIN, std::nullopt});
    changed = true;
  }
  return changed;
}

}  // namespace headrace
