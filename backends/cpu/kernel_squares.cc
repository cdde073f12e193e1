// A square of numbers that is read along one of its indices and written along the other is one call of the prelude (hr_transpose.h):
//   map r in 0:16 @unroll { map u in 0:16 @vector { b[d + r, u] = W[j + u, d + r] } }   →   hr_transpose<16>(&b[32 * d], 32, &W[K * j + d], K);
#include "backends/cpu/ctypes.h"
#include "backends/cpu/kernel_printer_internal.h"
#include "ir/analysis/layout.h"

namespace headrace::cpu {
namespace {

bool IsSide(int64_t n) { return n == 8 || n == 16; }  // that hr_transpose has

// The read that is stored, as it is or wider.
Expr Stored(const Expr& value) {
  if (value.Is(ExprKind::kCast) && value->dtype == DType::kF32 && !value->saturate && value->args[0]->dtype == DType::kBF16) return value->args[0];
  return value;
}

}  // namespace

Result<bool> KernelPrinter::Squared(const Map& m, Writer& w) {
  const auto* lanes_map = m.body.size() == 1 ? std::get_if<Map>(&s_.nodes[m.body[0]].body) : nullptr;
  if (!lanes_map || lanes_map->schedule != Schedule::kVector || lanes_map->ranges.size() != 1 || m.ranges.size() != 1) return false;
  const auto* t = lanes_map->body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[lanes_map->body[0]].body) : nullptr;
  const LoopDim row = DimOf(m.ranges[0]), lane = DimOf(lanes_map->ranges[0]);
  const int64_t side = row.simple ? AsInt(row.end).value_or(0) : 0;
  if (!t || t->guarded || t->op != WriteOp::kAssign || !lane.simple || !IsSide(side) || AsInt(lane.end) != side) return false;
  HR_ASSIGN_OR_RETURN(const LoweredStmt stmt, lowerer_.Lower(*t));
  const Expr read = Stored(stmt.value);
  const bool numbers = !stmt.condition && s_.Get(t->target).dtype == DType::kF32 && read.Is(ExprKind::kRead) && read->name != stmt.base &&
                       (read->dtype == DType::kF32 || read->dtype == DType::kBF16);
  if (!numbers) return false;
  const auto walks = [](const Expr& linear, Name index) { return AsInt(Coefficient(linear, index).value_or(Expr(0))) == 1; };
  const auto to_step = Coefficient(stmt.linear, row.index), from_step = Coefficient(read->args[0], lane.index);
  if (!to_step || !from_step || !walks(stmt.linear, lane.index) || !walks(read->args[0], row.index)) return false;
  const NameMap begin = {{row.index, Expr(0)}, {lane.index, Expr(0)}};
  const Expr to = Substitute(stmt.linear, begin), from = Substitute(read->args[0], begin);
  w.Open("{");
  ExprCode code(env_, w);
  for (const Expr& e : {to, from, *to_step, *from_step}) code.Use(e);
  const auto at = [&](Name n, const Expr& e) { return "&" + env_.Element(n, Bare(code.Index(e))); };
  w.Line("hr_transpose<" + std::to_string(side) + ">(" + at(stmt.base, to) + ", " + Bare(code.Index(*to_step)) + ", " + at(read->name, from) + ", " +
         Bare(code.Index(*from_step)) + ");");
  w.Close();
  return true;
}

}  // namespace headrace::cpu
