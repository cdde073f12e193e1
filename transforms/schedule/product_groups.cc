// The depth of a product in groups, where the device multiplies some factors and adds them up at once: what is packed has a group's
// factors side by side, and a last group that is not full has zeros.
//   for k in 0:K { t[r, u] = fma(A[i, k], b[k, u], t[r, u]) }
//     →  for d in 0:K // 2 { t[r, u] = dot2(A[i, 2*d], b[d, u, 0], A[i, 2*d + 1], b[d, u, 1], t[r, u]) }
#include "ir/analysis/denormals.h"
#include "ir/analysis/layout.h"
#include "transforms/schedule/factor.h"
#include "transforms/schedule/product_schedule.h"
#include "transforms/schedule/steps.h"

namespace headrace::schedule {
// Where denormals count products of bf16 stay those of f32.
void ProductScheduler::ChooseGroup() {
  row_type_ = column_type_ = p_.type;
  const auto choose = [&](int64_t group, DType rows, DType columns, const auto& factor) {
    const Expr row = factor(*s_, p_.row_operand, rows, p_.type), column = factor(*s_, p_.column_operand, columns, p_.type);
    if (group == 1 || !row || !column) return;
    p_.row_operand = row, p_.column_operand = column;
    row_type_ = rows, column_type_ = columns, group_ = group;
  };
  if (p_.type == DType::kF32 && !NeedsDenormals(*s_)) choose(d_.bf16_dot == 2 ? 2 : 1, DType::kBF16, DType::kBF16, Factor);
  if (p_.type == DType::kI32) choose(d_.byte_dot == 4 ? 4 : 1, DType::kU8, DType::kI8, ByteFactor);
}

// Of a tile; null: they are no panels.
Expr ProductScheduler::PackedColumns(int64_t k) const {
  const Name column = p_.columns[0].index, term = p_.depth[0].index;
  const Expr first = SymbolExpr(j1_), u = SymbolExpr(u_), d = SymbolExpr(d1_);
  if (group_ == 1) {
    const Expr read = ReadPacked(*s_, p_.column_operand, column_type_, column, tile_columns_, first, u);
    return read ? Substitute(read, {{term, d}}) : Expr();
  }
  const Expr place = AsInt(depth_.part) == 0 ? d : FloorDiv(depth_.first(), Expr(group_)) + d;
  return ReadPacked(*s_, p_.column_operand, column_type_, column, tile_columns_, first, u, {term, group_, place}, k);
}

Expr ProductScheduler::LengthOfBlock() const {
  return AsInt(depth_.part) == 0 ? depth_.count : Min(depth_.part, depth_.count - depth_.first());
}

// Groups of a block are counted from its begin; elements that are no groups from that of the depth.
Range ProductScheduler::GroupsOfBlock() const {
  if (group_ == 1) return depth_.Within(d1_, Expr(1));
  return {d1_, Expr(0), FloorDiv(LengthOfBlock() + Expr(group_ - 1), Expr(group_)), Expr(1)};
}

// Where the group of index d1_ lies in what is packed.
Expr ProductScheduler::PlaceOfGroup() const { return SymbolExpr(d1_) - (group_ == 1 ? depth_.first() : Expr(0)); }

std::vector<Expr> ProductScheduler::PlaceIn(const std::vector<Expr>& before, const Expr& group, const Expr& slot, const Expr& element) const {
  std::vector<Expr> at = before;
  at.push_back(group), at.push_back(slot);
  if (group_ > 1) at.push_back(element);
  return at;
}

std::vector<Expr> ProductScheduler::PlaceInRows(const std::vector<Expr>& before, const Expr& group, const Expr& slot,
                                                const Expr& element) const {
  return lines_ ? PlaceIn(before, slot, group, element) : PlaceIn(before, group, slot, element);
}

// Whole groups where they lie along the innermost index, then what is left, one by one.
std::vector<ProductScheduler::Stretch> ProductScheduler::Stretches() const {
  std::vector<Range> all = DepthLoops(), groups = all;
  const Name index = p_.depth.back().index;
  const Expr one = SymbolExpr(index), g(group_);
  if (group_ == 1 || (all.size() > 1 && !IsMultiple(all.back().end, group_))) return {{all, one, 1}};
  const Expr begin = all.back().begin;
  const Expr count = all.size() > 1 ? FloorDiv(all.back().end, g) : FloorDiv(LengthOfBlock(), g);
  groups.back() = {FreshIn(*s_, index.str() + "_2"), Expr(0), count, Expr(1)};
  std::vector<Stretch> out = {{groups, begin + g * SymbolExpr(groups.back().index), group_}};
  if (all.size() > 1 || IsMultiple(depth_.count, group_)) return out;
  all.back().begin = begin + g * count;
  out.push_back({all, one, 1});
  return out;
}

// Into what is packed, at `slot` of a row of it.
ProductScheduler::Statements ProductScheduler::Copies(const Stretch& x, const Expr& operand, Name to, const std::vector<Expr>& before,
                                                      const Expr& slot) {
  Expr flat(0);
  for (const Range& r : p_.depth) flat = flat * r.end + SymbolExpr(r.index);
  const Name index = p_.depth.back().index;
  const Expr first = Substitute(flat, {{index, x.last}}) - depth_.first();
  Statements out;
  for (int64_t k = 0; k < x.elements; ++k) {
    const Expr element = x.elements == 1 ? Mod(first, Expr(group_)) : Expr(k);
    const Expr value = x.last == SymbolExpr(index) ? operand : Substitute(operand, {{index, x.last + Expr(k)}});
    const Expr group = FloorDiv(first, Expr(group_));
    const std::vector<Expr> at = to == packed_rows_ ? PlaceInRows(before, group, slot, element) : PlaceIn(before, group, slot, element);
    out.push_back(Put(to, at, WriteOp::kAssign, value));
  }
  return out;
}

// The rest of a last group: zero.
ProductScheduler::Statements ProductScheduler::PadGroups(const std::vector<Expr>& before, Name to, const Range& slots) {
  if (group_ == 1 || IsMultiple(depth_.count, group_)) return {};
  const Expr length = LengthOfBlock(), g(group_), e = SymbolExpr(d1_);
  const NodeId zero = Put(to, PlaceIn(before, FloorDiv(e, g), SymbolExpr(slots.index), Mod(e, g)), WriteOp::kAssign, Zero());
  const Range rest{d1_, length, FloorDiv(length + g - Expr(1), g) * g, Expr(1)};
  return Wrap(s_, {{{rest}, Schedule::kSequential}, {{slots}, Schedule::kVector}}, {zero});
}

// Rows that are read where they lie; `depth`: the loops around the step.
ProductScheduler::Factors ProductScheduler::InPlace(const Expr& row, std::vector<Range>* depth) const {
  const Expr d = SymbolExpr(d1_), g(group_);
  std::vector<Expr> index = Outer(in_place_outer_);
  index.push_back(row);
  Factors out{{}, PlaceOfGroup()};
  Expr first = group_ == 1 ? d : depth_.first() + g * d;
  if (in_steps_) {
    const Range step = DepthLoops()[0];
    const Expr length = CountOf({p_.depth.begin() + 1, p_.depth.end()});
    *depth = {step, {d1_, Expr(0), FloorDiv(length, g), Expr(1)}};
    out.group = FloorDiv(SymbolExpr(step.index) * length - depth_.first(), g) + d;
    index.push_back(SymbolExpr(step.index));
    first = g * d;
  }
  for (int64_t k = 0; k < group_; ++k) {
    std::vector<Expr> at = index;
    at.push_back(first + Expr(k));
    out.rows.push_back(ReadExpr(in_place_, at));
  }
  return out;
}

ProductScheduler::Factors ProductScheduler::FromStrips(const Expr& slot) const {
  Factors out{{}, PlaceOfGroup()};
  for (int64_t k = 0; k < group_; ++k) out.rows.push_back(ReadExpr(packed_rows_, PlaceInRows(PlaceOfStrip(), out.group, slot, Expr(k))));
  return out;
}

// One group is added to the sums of a tile.
NodeId ProductScheduler::Step(Name tile, const Factors& f) {
  const Expr u = SymbolExpr(u_);
  const Place column = PlaceOfColumn(SymbolExpr(j1_), u);
  const std::vector<Expr> at = {SymbolExpr(tile_row_), u};
  const Expr sum = ReadExpr(tile, at);
  std::vector<Expr> factors;
  for (int64_t k = 0; k < group_; ++k) {
    factors.push_back(f.rows[static_cast<size_t>(k)]);
    factors.push_back(packed_ ? PackedColumns(k) : ReadExpr(packed_columns_, PlaceIn(column.before, f.group, column.slot, Expr(k))));
  }
  if (group_ == 1 && !IsFloat(p_.type)) return Put(tile, at, WriteOp::kAdd, BinaryExpr(Op::kMul, factors[0], factors[1]));
  factors.push_back(sum);
  return Put(tile, at, WriteOp::kAssign, CallExpr(group_ == 1 ? "fma" : "dot" + std::to_string(group_), factors));
}

}  // namespace headrace::schedule
