// The terms of a sum over channels in groups, where the device multiplies some small integers and adds them up at once.
//   for k in 0:3, c in 0:64 { t[q, r, u] += i32(a[…, c]) * i32(W[k, c, j + u]) }
//     →  for k in 0:3, g in 0:16 { t[q, r, u] = dot4(a[…, 4*g], b[j // 32, 16*k + g, u, 0], a[…, 4*g + 1], …, t[q, r, u]) }
#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/channels_schedule.h"

namespace headrace::schedule {
namespace {

// What is converted to the type of the sum, where that is a read of this type; null where it isn't.
Expr AsRead(const Sdfg& s, Expr e, DType type) {
  while (e.Is(ExprKind::kCast) && !e->saturate && e->dtype == DType::kI32) e = e->args[0];
  return e.Is(ExprKind::kRead) && !e->has_default && s.Get(e->name).dtype == type ? e : Expr();
}

}  // namespace

// The term that is a dimension of the data by itself, if one is: the channel.
std::optional<size_t> ChannelsScheduler::ChannelTerm() const {
  for (size_t k = c_.terms.size(); k-- > 0;) {
    const Name t = c_.terms[k].index;
    const auto mentions = std::count_if(c_.data.index.begin(), c_.data.index.end(), [&](const Expr& e) { return Mentions(e, t); });
    const bool alone = std::find(c_.data.index.begin(), c_.data.index.end(), SymbolExpr(t)) != c_.data.index.end();
    if (mentions == 1 && alone && LengthOf(c_.terms[k]) > 2) return k;
  }
  return std::nullopt;
}

// Unsigned data by signed weights, in groups of channels, which become the last term: whole groups of the data lie side by side, in
// memory or where they are laid out.
void ChannelsScheduler::ChooseGroup() {
  data_type_ = weight_type_ = c_.type;
  if (d_.int8_dot != 4 || c_.type != DType::kI32 || c_.turned) return;
  const Expr weights = AsRead(*s_, c_.weights, DType::kI8);
  const DType stored = s_->Get(c_.data.container).dtype;
  const bool unsigned_data = (stored == DType::kU8 && c_.data.more == 0) || (stored == DType::kI8 && c_.data.more == 128);
  const auto channel = ChannelTerm();
  if (!weights || !unsigned_data || !channel) return;
  std::rotate(c_.terms.begin() + static_cast<long>(*channel), c_.terms.begin() + static_cast<long>(*channel) + 1, c_.terms.end());
  c_.weights = weights;
  if (stored == DType::kU8) c_.data.cast = DType::kNone;
  data_type_ = DType::kU8, weight_type_ = DType::kI8, group_ = 4;
  g_ = FreshIn(*s_, c_.terms.back().index.str() + "_g");
}

bool ChannelsScheduler::GroupsLieInMemory() const {
  if (group_ == 1) return true;
  const Range& last = c_.terms.back();
  const auto at = std::find(c_.data.index.begin(), c_.data.index.end(), SymbolExpr(last.index));
  return LengthOf(last) % group_ == 0 && StrideIn(*s_, c_.data.container, static_cast<size_t>(at - c_.data.index.begin())) == 1;
}

// Of the points of a tile, where terms have these values.
Expr ChannelsScheduler::Data(const NameMap& place) const {
  NameMap here = Here();
  here.insert(here.end(), place.begin(), place.end());
  if (!in_place_) return strip_->Read(here);
  std::vector<Expr> index = c_.data.index;
  for (Expr& e : index) e = Substitute(e, here);
  const Expr read = ReadExpr(c_.data.container, index);
  return c_.data.cast == DType::kNone ? read : CastExpr(c_.data.cast, read);
}

// Null: they are no panels yet.
Expr ChannelsScheduler::PackedWeights(int64_t k) {
  const Expr first = SymbolExpr(j1_), u = SymbolExpr(u_);
  if (group_ == 1) return ReadPacked(*s_, c_.weights, weight_type_, c_.columns.index, width_, first, u);
  return ReadPacked(*s_, c_.weights, weight_type_, c_.columns.index, width_, first, u, {c_.terms.back().index, group_, SymbolExpr(g_)}, k);
}

// One term, or group of terms, is added to the sums of a tile; `terms`: the loops around.
NodeId ChannelsScheduler::Step(Name tile, std::vector<Range>* terms) {
  const std::vector<Expr> at = {SymbolExpr(q_), SymbolExpr(r_), SymbolExpr(u_)};
  const Expr sum = ReadExpr(tile, at);
  if (group_ == 1) {
    const Expr left = Data({}), right = packed_ ? packed_ : panel_.Read();
    return IsFloat(c_.type) ? Put(tile, at, WriteOp::kAssign, CallExpr("fma", {left, right, sum}))
                            : Put(tile, at, WriteOp::kAdd, BinaryExpr(Op::kMul, left, right));
  }
  const Range last = terms->back();
  terms->back() = {g_, Expr(0), Expr((LengthOf(last) + group_ - 1) / group_), Expr(1)};
  std::vector<Expr> factors;
  for (int64_t k = 0; k < group_; ++k) {
    factors.push_back(Data({{last.index, Expr(group_) * SymbolExpr(g_) + Expr(k)}}));
    factors.push_back(packed_ ? PackedWeights(k) : panel_.Read(g_, k));
  }
  factors.push_back(sum);
  return Put(tile, at, WriteOp::kAssign, CallExpr(Name("dot" + std::to_string(group_)), factors));
}

}  // namespace headrace::schedule
