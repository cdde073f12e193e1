#include "transforms/schedule/winograd_transform.h"

namespace headrace::schedule {

const SmallMatrix kDataTransform = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}};
const SmallMatrix kWeightsTransform = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
const SmallMatrix kResultsTransform = {{1, 1, 1, 0}, {0, 1, -1, -1}};
const SmallMatrix kTurnedDataTransform = {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}};
const SmallMatrix kGradientTransform = {{1, 0}, {1, 1}, {1, -1}, {0, 1}};
const SmallMatrix kTurnedResultsTransform = {{1, 0.5, 0.5, 0}, {0, 0.5, -0.5, 0}, {0, 0.5, 0.5, 1}};

namespace {

// Those of one size together: x + 0.5 * (y - z). The first of each is positive.
Expr Combination(const std::vector<double>& row, const std::vector<Expr>& x) {
  Expr all;
  for (const double factor : {1.0, 0.5}) {
    Expr sum;
    for (const double sign : {1.0, -1.0})
      for (size_t k = 0; k < row.size(); ++k)
        if (row[k] == sign * factor) sum = !sum ? x[k] : BinaryExpr(sign > 0 ? Op::kAdd : Op::kSub, sum, x[k]);
    if (sum && factor != 1) sum = BinaryExpr(Op::kMul, FloatExpr(factor), sum);
    if (sum) all = !all ? sum : BinaryExpr(Op::kAdd, all, sum);
  }
  return all;
}

}  // namespace

std::vector<NodeId> TransformBothSides(Sdfg* s, const SmallMatrix& m, const SmallRead& read, const SmallPut& put) {
  const size_t n = m.front().size();
  std::vector<NodeId> out;
  const auto held = [&](const char* stem, const Expr& value) {
    if (value.Is(ExprKind::kRead) && s->Get(value->name).storage == Storage::kRegister) return value;
    const Name name = Local(s, stem, DType::kF32, {}, Storage::kRegister);
    out.push_back(Put(s, name, {}, WriteOp::kAssign, value));
    return ReadExpr(name, {});
  };
  std::vector<std::vector<Expr>> between(m.size());  // M X
  for (size_t j = 0; j < n; ++j) {
    std::vector<Expr> column;
    for (size_t i = 0; i < n; ++i) column.push_back(held("d", read(static_cast<int64_t>(i), static_cast<int64_t>(j))));
    for (size_t i = 0; i < m.size(); ++i) between[i].push_back(held("e", Combination(m[i], column)));
  }
  for (size_t i = 0; i < m.size(); ++i)
    for (size_t j = 0; j < m.size(); ++j) out.push_back(put(static_cast<int64_t>(i), static_cast<int64_t>(j), Combination(m[j], between[i])));
  return out;
}

// G's left inverse has rows 1 0 0 0, 0 1 -1 0 and 0 0 0 1.
Expr WeightsOf(const std::function<Expr(int64_t e)>& transformed, const Expr& k, const Expr& l) {
  const auto of_line = [&](int64_t i) {
    const auto at = [&](int64_t j) { return transformed(4 * i + j); };
    const Expr rest = SelectExpr(BinaryExpr(Op::kEq, l, Expr(1)), BinaryExpr(Op::kSub, at(1), at(2)), at(3));
    return SelectExpr(BinaryExpr(Op::kEq, l, Expr(0)), at(0), rest);
  };
  const Expr rest = SelectExpr(BinaryExpr(Op::kEq, k, Expr(1)), BinaryExpr(Op::kSub, of_line(1), of_line(2)), of_line(3));
  return SelectExpr(BinaryExpr(Op::kEq, k, Expr(0)), of_line(0), rest);
}

}  // namespace headrace::schedule
