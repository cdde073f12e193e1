// Panels of weights that memory runs across, by squares that are turned in registers: terms that follow each other in memory, and evenly in
// the panels, are one run of numbers.
//   W[j, c, k, l]  for c in 0:512, k in 0:7, l in 0:7, columns j
//     →  view w: f32[4096, 25088] of W
//        for j1 in 0:4096:32, j2 in 0:32:16, at in 0:25088:16 {
//          map line in 0:16 @unroll { map u in 0:16 @vector { b[j1 // 32, at + line, j2 + u] = w[j1 + j2 + u, at + line] } }
//        }
#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/steps.h"
#include "transforms/schedule/turned.h"

namespace headrace::schedule {
namespace {

class Squares {
 public:
  Squares(Sdfg* s, const Panel& p, const Expr& weights, const std::vector<Range>& terms, int64_t side)
      : s_(s), p_(p), weights_(weights), terms_(terms), side_(side), place_(p.Read()->args[1]) {}

  bool Apply() {
    if (side_ < 2 || p_.group != 1 || p_.width % side_ != 0 || p_.count < p_.width || !IsRead()) return false;
    const Offset at = OffsetOf(*s_, weights_->name, weights_->args, weights_->flat);
    if (!at.elements || Step(at.elements, p_.columns) == 1) return false;
    FindRun(at.elements);
    return run_ < terms_.size() && count_ >= side_ && Flatten();
  }

  // Of the columns of one panel, all of which are there.
  std::vector<NodeId> Fill() {
    const Name first = FreshIn(*s_, p_.columns.str() + "_2"), at = FreshIn(*s_, "at"), r = FreshIn(*s_, "line");
    const Expr u = SymbolExpr(p_.u), begin = SymbolExpr(first), f = SymbolExpr(at);
    const Level lanes{{UpTo(p_.u, side_)}, Schedule::kVector};
    std::vector<NodeId> square = Wrap(s_, {{{UpTo(r, side_)}, Schedule::kUnroll}, lanes}, {Copy(begin + u, f + SymbolExpr(r))});
    if (count_ % side_ != 0 || !AsInt(length_)) {
      const Name one = FreshIn(*s_, "one");
      const Range rest{one, f, Min(f + Expr(side_), length_), Expr(1)};
      const std::vector<NodeId> lines = Wrap(s_, {{{rest}, Schedule::kSequential}, lanes}, {Copy(begin + u, SymbolExpr(one))});
      square = {s_->AddNode(If{BinaryExpr(Op::kLe, f + Expr(side_), length_), square, lines})};
    }
    std::vector<Range> loops = {UpTo(first, p_.width, side_)};
    loops.insert(loops.end(), terms_.begin(), terms_.begin() + static_cast<long>(run_));
    loops.push_back({at, Expr(0), length_, Expr(side_)});
    return Wrap(s_, {{loops, Schedule::kSequential}}, square);
  }

 private:
  bool IsRead() const {
    if (!weights_.Is(ExprKind::kRead) || weights_->flat || weights_->has_default) return false;
    const DType stored = s_->Get(weights_->name).dtype;
    return s_->Get(p_.buffer).dtype == DType::kF32 && (stored == DType::kF32 || stored == DType::kBF16);
  }
  static int64_t Step(const Expr& e, Name index) {
    const auto by = Coefficient(e, index);
    return by ? AsInt(*by).value_or(0) : 0;
  }
  // Outermost first: from which term on they are one run. Terms of the run but its first are whole.
  void FindRun(const Expr& elements) {
    run_ = terms_.size();
    int64_t next = 0, place = 0;
    for (size_t k = terms_.size(); k-- > 0;) {
      const Range& r = terms_[k];
      const int64_t by = Step(elements, r.index), to = Step(place_, r.index);
      if (to == 0 || (next == 0 ? std::abs(by) != 1 : by != next || to != place)) return;
      const auto known = Known(r);
      const Expr length = known ? Expr(*known) : r.end - r.begin;
      if (!known && by < 0) return;
      if (next == 0) sign_ = by, slope_ = to * by;
      run_ = k, length_ = length * Expr(count_), count_ *= known.value_or(LengthOfTerm(r.index));
      if (!known) return;
      next = by * *known, place = to * *known;
    }
  }
  // The length of a term, or of all its parts, where the dimension that it goes along is so many of them.
  std::optional<int64_t> Known(const Range& r) const {
    if (const auto length = AsInt(r.end - r.begin)) return length;
    const int64_t part = LengthOfTerm(r.index);
    const Container& c = s_->Get(weights_->name);
    for (size_t d = 0; d < c.shape.size(); ++d) {
      const auto all = AsInt(c.shape[d]);
      if (weights_->args[d] == SymbolExpr(r.index) && all && *all % part == 0) return part;
    }
    return std::nullopt;
  }
  int64_t LengthOfTerm(Name index) const {
    for (const Term& t : p_.terms)
      if (t.range.index == index) return t.length;
    return 1;
  }
  bool InRun(const Expr& e) const {
    return std::any_of(terms_.begin() + static_cast<long>(run_), terms_.end(), [&](const Range& r) { return Mentions(e, r.index); });
  }
  // The dimensions that the run goes through as one.
  bool Flatten() {
    const Container& c = s_->Get(weights_->name);
    size_t d = 0;
    while (d < c.shape.size() && !InRun(weights_->args[d])) ++d;
    const bool one = d + 1 == c.shape.size();
    if (d == 0 || (!one && !c.row_major())) return false;
    Container view;
    view.kind = ContainerKind::kView, view.base = weights_->name, view.dtype = c.dtype;
    view.shape.assign(c.shape.begin(), c.shape.begin() + static_cast<long>(d));
    index_.assign(weights_->args.begin(), weights_->args.begin() + static_cast<long>(d));
    Expr size(1), at(0);
    for (size_t k = d; k < c.shape.size(); ++k) {
      if (Mentions(weights_->args[k], p_.columns)) return false;
      size = size * c.shape[k], at = at * c.shape[k] + weights_->args[k];
    }
    NameMap begin;
    for (size_t k = run_; k < terms_.size(); ++k) begin.emplace_back(terms_[k].index, sign_ > 0 ? terms_[k].begin : terms_[k].end - Expr(1));
    index_.push_back(Substitute(at, begin));
    place_ = Substitute(place_, begin);
    if (one) return from_ = weights_->name, true;
    view.shape.push_back(size);
    view.name = from_ = FreshIn(*s_, "w");
    s_->Add(std::move(view));
    return true;
  }
  NodeId Copy(const Expr& column, const Expr& f) {
    std::vector<Expr> from;
    for (const Expr& e : index_) from.push_back(Substitute(e, {{p_.columns, SymbolExpr(p_.parts.index) + column}}));
    from.back() = from.back() + f;
    const Expr panel = p_.Read()->args[0];
    return Put(s_, p_.buffer, {panel, place_ + Expr(slope_) * f, column}, WriteOp::kAssign, ReadExpr(from_, from));
  }

  Sdfg* s_;
  const Panel& p_;
  const Expr weights_;
  const std::vector<Range> terms_;
  const int64_t side_;
  size_t run_ = 0;
  int64_t count_ = 1, sign_ = 1, slope_ = 1;  // numbers of the run at most; which way its terms go in memory; places from one to the next
  Expr length_{1}, place_;                    // numbers of the run; the place of its first
  std::vector<Expr> index_;                   // of the first, in `from_`
  Name from_;
};

}  // namespace

std::optional<std::vector<NodeId>> PanelBySquares(Sdfg* s, const Panel& p, const Expr& weights, const std::vector<Range>& terms, int64_t side) {
  Squares squares(s, p, weights, terms, side);
  if (!squares.Apply()) return std::nullopt;
  return squares.Fill();
}

}  // namespace headrace::schedule
