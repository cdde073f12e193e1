// The terms of a sum over channels in groups, where the device multiplies some small factors and adds them up at once.
//   for k in 0:3, c in 0:64 { t[q, r, u] += i32(a[…, c]) * i32(W[k, c, j + u]) }
//     →  for k in 0:3, g in 0:16 { t[q, r, u] = dot4(a[…, 4*g], b[j // 32, 16*k + g, u, 0], a[…, 4*g + 1], …, t[q, r, u]) }
// Of a gradient of weights, whose terms are places, in pairs of these: each element of the data has the next one's beside it (strip.h).
//   for y in 0:14, x in 0:14 { t[q, r, u] += f32(a[y, x + l, c + r]) * f32(dY[y, x, j + u]) }
//     →  for y in 0:14, g in 0:7 { t[q, r, u] = dot2(a[y, 2*g + l, c + r, 0], b[…, g, u, 0], a[y, 2*g + l, c + r, 1], b[…, g, u, 1], t[q, r, u]) }
#include <algorithm>

#include "ir/analysis/denormals.h"
#include "ir/analysis/layout.h"
#include "transforms/schedule/channels_schedule.h"
#include "transforms/schedule/factor.h"

namespace headrace::schedule {

// Where denormals count products of bf16 stay those of f32.
void ChannelsScheduler::ChooseGroup() {
  data_type_ = weight_type_ = c_.type;
  if (c_.type == DType::kF32 && d_.bf16_dot == 2 && !NeedsDenormals(*s_)) TakePairs();
  if (c_.type == DType::kI32 && d_.byte_dot == 4 && !c_.turned) TakeFours();
}

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

// Of bf16, where whole pairs lie side by side in memory, or can be laid beside each other.
void ChannelsScheduler::TakePairs() {
  const Expr weights = Factor(*s_, c_.weights, DType::kBF16, c_.type);
  const Expr& outside = c_.data.outside;
  const bool zero = !outside || AsInt(outside) == 0 || (outside.Is(ExprKind::kFloat) && outside->fvalue == 0);
  const bool beside = c_.turned && LengthOf(c_.terms.back()) % 2 == 0 && StepsForward();
  if (!(beside || LieInMemory(2)) || s_->Get(c_.data.container).dtype != DType::kBF16 || c_.data.more != 0 || !weights || !zero) return;
  TakeGroups(2, DType::kBF16, weights, DType::kBF16);
  beside_ = beside;
}

// Unsigned data by signed weights, in groups of channels, which become the last term: whole groups of the data lie side by side, in
// memory or where they are laid out.
void ChannelsScheduler::TakeFours() {
  const Expr weights = Factor(*s_, c_.weights, DType::kI8, c_.type);
  const DType stored = s_->Get(c_.data.container).dtype;
  const bool is_unsigned = (stored == DType::kU8 && c_.data.more == 0) || (stored == DType::kI8 && c_.data.more == 128);
  const auto channel = ChannelTerm();
  if (!weights || !is_unsigned || !channel) return;
  const auto at = c_.terms.begin() + static_cast<long>(*channel);
  std::rotate(at, at + 1, c_.terms.end());
  TakeGroups(4, DType::kU8, weights, DType::kI8);
}

void ChannelsScheduler::TakeGroups(int64_t size, DType data, const Expr& weights, DType weight_type) {
  c_.weights = weights;
  if (s_->Get(c_.data.container).dtype == data) c_.data.cast = DType::kNone;
  data_type_ = data, weight_type_ = weight_type, panel_.group = size;
  panel_.groups = FreshIn(*s_, c_.terms.back().index.str() + "_" + std::to_string(size));
}

// The last term, in one dimension of the data.
bool ChannelsScheduler::StepsForward() const {
  const Name term = c_.terms.back().index;
  int64_t dimensions = 0;
  for (const Expr& e : c_.data.index) {
    if (!Mentions(e, term)) continue;
    const auto step = Coefficient(e, term);
    if (!step || AsInt(*step).value_or(0) < 1) return false;
    ++dimensions;
  }
  return dimensions == 1;
}

// Groups of so many.
bool ChannelsScheduler::LieInMemory(int64_t size) const {
  if (size == 1) return true;
  const Offset at = OffsetOf(*s_, c_.data.container, c_.data.index);
  const auto step = at.elements ? Coefficient(at.elements, c_.terms.back().index) : std::nullopt;
  return step && AsInt(*step) == 1 && LengthOf(c_.terms.back()) % size == 0;
}

// Of the points of a tile, this element of a group of terms.
Expr ChannelsScheduler::Data(int64_t element) const {
  if (!in_place_) return beside_ ? strip_->Read(Here(0), element) : strip_->Read(Here(element));
  std::vector<Expr> index = c_.data.index;
  for (Expr& e : index) e = Substitute(e, Here(element));
  const Expr read = ReadExpr(c_.data.container, index);
  return c_.data.cast == DType::kNone ? read : CastExpr(c_.data.cast, read);
}

// Null: they are no panels yet.
Expr ChannelsScheduler::PackedWeights(int64_t element) const {
  const Expr first = SymbolExpr(j1_), u = SymbolExpr(u_), size(panel_.group);
  if (panel_.group == 1) return ReadPacked(*s_, c_.weights, weight_type_, c_.columns.index, width_, first, u);
  const PackedGroup group{c_.terms.back().index, panel_.group, FloorDiv(panel_.Innermost(0), size)};
  return ReadPacked(*s_, c_.weights, weight_type_, c_.columns.index, width_, first, u, group, element);
}

// A term, or group of terms, is added to the sums of a tile.
NodeId ChannelsScheduler::Step(Name tile) {
  const std::vector<Expr> at = {SymbolExpr(q_), SymbolExpr(r_), SymbolExpr(u_)};
  std::vector<Expr> factors;
  for (int64_t k = 0; k < panel_.group; ++k) {
    factors.push_back(Data(k));
    factors.push_back(packed_ ? PackedWeights(k) : panel_.Read(k));
  }
  if (panel_.group == 1 && !IsFloat(c_.type)) return Put(tile, at, WriteOp::kAdd, BinaryExpr(Op::kMul, factors[0], factors[1]));
  factors.push_back(ReadExpr(tile, at));
  return Put(tile, at, WriteOp::kAssign, CallExpr(panel_.group == 1 ? "fma" : "dot" + std::to_string(panel_.group), factors));
}

}  // namespace headrace::schedule
