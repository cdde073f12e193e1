// A square of numbers that is read along one of its indices and written along the other is one call of the prelude (hr_transpose.h):
//   map r in 0:16 @unroll { map u in 0:16 @vector { b[d + r, u] = W[j + u, d + r] } }   →   hr_transpose<16>(&b[32 * d], 32, &W[K * j + d], K);
// One of pairs of halves is another: b[d + r, u, 0] = W[j + u, 2 * d + 2 * r], and b[d + r, u, 1] = W[j + u, 2 * d + 2 * r + 1].
#include "backends/cpu/ctypes.h"
#include "backends/cpu/kernel_printer_internal.h"
#include "ir/analysis/layout.h"

namespace headrace::cpu {
namespace {

// Those that hr_transpose has.
bool IsSquare(int64_t side, DType to, DType from) {
  if (to == DType::kF32 && from == DType::kBF16) return side == 8 || side == 16;
  const int64_t bytes = ByteSize(to);
  return to == from && (bytes == 8 ? side == 4 || side == 8 : (bytes == 2 || bytes == 4) && (side == 8 || side == 16));
}

// The read that is stored, as it is or wider.
Expr Stored(const Expr& value) {
  if (value.Is(ExprKind::kCast) && value->dtype == DType::kF32 && !value->saturate && value->args[0]->dtype == DType::kBF16) return value->args[0];
  return value;
}

}  // namespace

Result<bool> KernelPrinter::Squared(const Map& m, Writer& w) {
  const auto* lanes_map = m.body.size() == 1 ? std::get_if<Map>(&s_.nodes[m.body[0]].body) : nullptr;
  if (!lanes_map || lanes_map->schedule != Schedule::kVector || lanes_map->ranges.size() != 1 || m.ranges.size() != 1) return false;
  const LoopDim row = DimOf(m.ranges[0]), lane = DimOf(lanes_map->ranges[0]);
  const int64_t side = row.simple ? AsInt(row.end).value_or(0) : 0, group = static_cast<int64_t>(lanes_map->body.size());
  if (group > 2 || !lane.simple || AsInt(lane.end) != side) return false;
  std::vector<LoweredStmt> stored;
  for (NodeId n : lanes_map->body) {
    const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
    if (!t || t->guarded || t->op != WriteOp::kAssign) return false;
    HR_ASSIGN_OR_RETURN(LoweredStmt stmt, lowerer_.Lower(*t));
    stmt.value = group == 1 ? Stored(stmt.value) : stmt.value;
    const DType to = s_.Get(t->target).dtype, from = stmt.value->dtype;
    const bool fits = group == 1 ? IsSquare(side, to, from) : to == DType::kBF16 && from == DType::kBF16 && (side == 8 || side == 16);
    if (stmt.condition || !fits || !stmt.value.Is(ExprKind::kRead) || stmt.value->name == stmt.base) return false;
    stored.push_back(std::move(stmt));
  }
  const LoweredStmt& first = stored[0];
  const Expr& read = first.value;
  const auto walks = [&](const Expr& linear, Name index) { return AsInt(Coefficient(linear, index).value_or(Expr(0))) == group; };
  const auto to_step = Coefficient(first.linear, row.index), from_step = Coefficient(read->args[0], lane.index);
  if (!to_step || !from_step || !walks(first.linear, lane.index) || !walks(read->args[0], row.index)) return false;
  const auto is_next = [](const Expr& a, const Expr& b) { return AsInt(Simplify(b - a)) == 1; };
  if (group == 2 && !(stored[1].base == first.base && stored[1].value->name == read->name && is_next(first.linear, stored[1].linear) &&
                      is_next(read->args[0], stored[1].value->args[0])))
    return false;
  const NameMap begin = {{row.index, Expr(0)}, {lane.index, Expr(0)}};
  const Expr to = Substitute(first.linear, begin), from = Substitute(read->args[0], begin);
  w.Open("{");
  ExprCode code(env_, w);
  for (const Expr& e : {to, from, *to_step, *from_step}) code.Use(e);
  const auto at = [&](Name n, const Expr& e) { return "&" + env_.Element(n, Bare(code.Index(e))); };
  w.Line((group == 1 ? "hr_transpose<" : "hr_transpose_pairs<") + std::to_string(side) + ">(" + at(first.base, to) + ", " + Bare(code.Index(*to_step)) +
         ", " + at(read->name, from) + ", " + Bare(code.Index(*from_step)) + ");");
  w.Close();
  return true;
}

}  // namespace headrace::cpu
