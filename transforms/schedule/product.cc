#include "transforms/schedule/product.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"

namespace headrace::schedule {
namespace {

int64_t Extent(const Range& r) { return AsInt(r.end).value_or(1 << 16); }

int64_t Extent(const std::vector<Range>& ranges) {
  int64_t product = 1;
  for (const Range& r : ranges) product = std::min<int64_t>(int64_t{1} << 40, product * std::max<int64_t>(1, Extent(r)));
  return product;
}

// Whether the sum's factors are of the type that it is computed in.
bool ComputesIn(const Sdfg& s, const Tasklet& t, DType type) {
  const Result<Expr> typed = InferTypes(s, t.value, s.Get(t.target).dtype);
  if (!typed.ok() || ComputeType((*typed)->dtype) != type) return false;
  for (const Expr& factor : (*typed)->args)
    if (ComputeType(factor->dtype) != type) return false;
  return true;
}

// Columns are the side that walks the target by one.
bool Walks(const std::vector<Range>& ranges, const Expr& target) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) {
    const Expr stride = StrideOf(target, r.index);
    return stride && AsInt(stride) == 1;
  });
}

// The column that walks the target by the smallest step, and those that go on where it ends, as long as they are short.
std::vector<Range> TakeColumns(std::vector<Range>* from, const Expr& target, int64_t most) {
  const auto larger = [](const Range& x, const Range& y) { return Extent(x) < Extent(y); };
  auto first = std::find_if(from->begin(), from->end(), [&](const Range& r) { return AsInt(StrideOf(target, r.index)) == 1; });
  if (first == from->end()) first = std::max_element(from->begin(), from->end(), larger);
  std::vector<Range> columns = {*first};
  const Expr stride = StrideOf(target, first->index);
  from->erase(first);
  for (Expr width = columns[0].end; Extent(columns) <= most;) {
    const auto next = std::find_if(from->begin(), from->end(),
                                   [&](const Range& r) { return StrideOf(target, r.index) == stride * width; });
    if (next == from->end()) return columns;
    width = width * next->end;
    columns.insert(columns.begin(), *next);
    from->erase(next);
  }
  return columns;
}

// The value's factors, a sign being one's.
void Factors(const Expr& e, std::vector<Expr>* out, bool* negative) {
  if (e.Is(ExprKind::kUnary) && e->op == Op::kNeg) {
    *negative = !*negative;
    return Factors(e->args[0], out, negative);
  }
  if (!e.Is(ExprKind::kBinary) || e->op != Op::kMul) return out->push_back(e);
  Factors(e->args[0], out, negative);
  Factors(e->args[1], out, negative);
}

// More than two factors, or a sign, as two operands: those that share a range of the target, and others; what speaks of no such range goes
// to the others.
std::optional<std::pair<Expr, Expr>> Gathered(const Expr& value, const std::vector<Range>& ranges, const Expr& target) {
  std::vector<Expr> factors;
  bool negative = false;
  Factors(value, &factors, &negative);
  std::vector<Expr> sides[2];
  const auto shares = [&](const Expr& e, const std::vector<Expr>& side) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) {
      const auto speaks = [&](const Expr& f) { return Mentions(f, r.index); };
      return speaks(target) && speaks(e) && std::any_of(side.begin(), side.end(), speaks);
    });
  };
  for (const Expr& f : factors) {
    const bool kept = shares(f, {f});
    sides[!kept || !(sides[0].empty() || shares(f, sides[0]))].push_back(f);
  }
  if (sides[0].empty() || sides[1].empty()) return std::nullopt;
  Expr operands[2];
  for (int k = 0; k < 2; ++k)
    for (const Expr& f : sides[k]) operands[k] = operands[k] ? BinaryExpr(Op::kMul, operands[k], f) : f;
  if (negative) operands[1] = UnaryExpr(Op::kNeg, operands[1]);
  return std::pair(operands[0], operands[1]);
}

std::optional<Product> ProductOfTwo(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::pair<Expr, Expr>& operands,
                                    const std::vector<bool>& apart, DType type, const Device& d) {
  const Tasklet* const t = &sum;
  Product p;
  p.sum = *t;
  p.type = type;
  const bool real = p.type == DType::kF32 || p.type == DType::kF64 || p.type == DType::kI32;
  if ((!real && !IsComplex(p.type)) || !ComputesIn(s, *t, p.type)) return std::nullopt;
  const Offset target = OffsetOf(s, t->target, t->index, t->flat);
  if (!target.elements) return std::nullopt;
  p.row_operand = operands.first, p.column_operand = operands.second;
  for (Name r : ReadContainers(t->value))
    if (RootOf(s, r) == target.root) return std::nullopt;
  std::vector<Range> rows, columns;
  for (size_t i = 0; i < n.ranges.size(); ++i) {
    const Range& r = n.ranges[i];
    const bool a = Mentions(p.row_operand, r.index), b = Mentions(p.column_operand, r.index),
               kept = Mentions(target.elements, r.index);
    if (kept && (!apart[i] || !StrideOf(target.elements, r.index))) return std::nullopt;
    if (kept && a && b) p.outer.push_back(r);
    else if (kept && a) rows.push_back(r);
    else if (kept && b) columns.push_back(r);
    else if (a && b) p.depth.push_back(r);
    else return std::nullopt;
  }
  if (rows.empty() || columns.empty() || p.depth.empty()) return std::nullopt;
  if (Walks(rows, target.elements) && !Walks(columns, target.elements)) {
    std::swap(rows, columns);
    std::swap(p.row_operand, p.column_operand);
  }
  // Of those that nobody knows the inner one: batches are often of one.
  const auto row = std::max_element(rows.begin(), rows.end(), [](const Range& x, const Range& y) { return Extent(x) <= Extent(y); });
  p.row = *row;
  rows.erase(row);
  p.columns = TakeColumns(&columns, target.elements, d.block_columns);
  for (const auto* rest : {&rows, &columns}) p.outer.insert(p.outer.end(), rest->begin(), rest->end());
  // Too thin for a tile of sums to pay.
  const int64_t wide = Extent(p.columns);
  if (Extent(p.row) < kLeastRows || 2 * wide < d.few_columns || Extent(p.depth) < kLeastDepth || (wide < d.few_columns && Extent(p.row) < d.few_columns * d.few_columns)) return std::nullopt;
  return p;
}

}  // namespace

Expr StrideOf(const Expr& elements, Name index) {
  const auto c = Coefficient(elements, index);
  return c ? *c : Expr();
}

Expr CountOf(const std::vector<Range>& ranges) {
  Expr n(1);
  for (const Range& r : ranges) n = n * r.end;
  return n;
}

std::optional<Product> ProductOf(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::vector<bool>& apart, DType type, const Device& d) {
  const Expr& value = sum.value;
  if (sum.op != WriteOp::kAdd) return std::nullopt;
  if (value.Is(ExprKind::kBinary) && value->op == Op::kMul)
    if (auto p = ProductOfTwo(s, n, sum, {value->args[0], value->args[1]}, apart, type, d)) return p;
  const Expr target = OffsetOf(s, sum.target, sum.index, sum.flat).elements;
  const auto operands = type == DType::kI32 || !target ? std::nullopt : Gathered(value, n.ranges, target);
  return operands ? ProductOfTwo(s, n, sum, *operands, apart, type, d) : std::nullopt;
}

}  // namespace headrace::schedule
