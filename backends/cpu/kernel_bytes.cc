// Bytes that lie side by side, as numbers of 32 bits in registers, and back, are one call of the prelude (hr_dot.h): compilers make
// short vectors of such lanes, from which long ones can't be read at once. Where they are copied or filled compilers have functions of
// their own; for a byte may be a part of whatever decides where the next one goes, and such loops would take them one by one.
//   map u in 0:32 @vector { w[u] = i32(X[i, u]) }   →   hr_widen_lanes<32>(&w[0], &X[32 * i]);
#include "backends/cpu/ctypes.h"
#include "backends/cpu/kernel_printer_internal.h"
#include "ir/analysis/layout.h"

namespace headrace::cpu {
namespace {

constexpr int64_t kLanes = 16, kMostLanes = 256,
                  kMostCopied = 4096;  // of the narrowest vectors in use, and what is written out at most

bool IsByte(DType t) { return t == DType::kU8 || t == DType::kI8; }

bool WalksByOne(const Expr& linear, Name lane) { return AsInt(Coefficient(linear, lane).value_or(Expr(0))) == 1; }

}  // namespace

Result<bool> KernelPrinter::Bytes(const Map& m, Writer& w) {
  const auto* t = m.body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m.body[0]].body) : nullptr;
  const LoopDim d = m.ranges.size() == 1 ? DimOf(m.ranges[0]) : LoopDim();
  const int64_t lanes = d.simple ? AsInt(d.end).value_or(0) : 0;
  if (!t || t->guarded || t->op != WriteOp::kAssign || lanes < kLanes) return false;
  HR_ASSIGN_OR_RETURN(const LoweredStmt stmt, lowerer_.Lower(*t));
  if (stmt.condition || !WalksByOne(stmt.linear, d.index)) return false;
  const DType to = s_.Get(t->target).dtype;
  const Expr& value = stmt.value;
  const bool cast = value.Is(ExprKind::kCast) && !value->saturate && value->dtype == to;
  const Expr& read = cast ? value->args[0] : value;
  const bool filled = IsByte(to) && value.Is(ExprKind::kInt),
             reads = read.Is(ExprKind::kRead) && WalksByOne(read->args[0], d.index);
  const DType from = reads ? read->dtype : DType::kNone;
  const bool copied = reads && !cast && IsByte(to) && from == to && read->name != stmt.base && lanes <= kMostCopied;
  const bool few = lanes <= kMostLanes && lanes % kLanes == 0;
  const bool widened = reads && cast && few && IsByte(from) && to == DType::kI32,
             narrowed = reads && cast && few && from == DType::kI32 && IsByte(to);
  if (!filled && !copied && !widened && !narrowed) return false;
  const NameMap begin = {{d.index, Expr(0)}};
  const Expr target = Substitute(stmt.linear, begin), source = filled ? Expr(0) : Substitute(read->args[0], begin);
  w.Open("{");
  ExprCode code(env_, w);
  code.Use(target);
  code.Use(source);
  const std::string at = "&" + env_.Element(stmt.base, Bare(code.Index(target))), count = std::to_string(lanes);
  if (filled) {
    w.Line("__builtin_memset(" + at + ", (" + StorageType(to) + ")" + std::to_string(*AsInt(value)) + ", " + count +
           ");");
  } else {
    const std::string of = "&" + env_.Element(read->name, Bare(code.Index(source)));
    if (copied) w.Line("__builtin_memcpy(" + at + ", " + of + ", " + count + ");");
    else w.Line(std::string(widened ? "hr_widen_lanes<" : "hr_narrow_lanes<") + count + ">(" + at + ", " + of + ");");
  }
  w.Close();
  return true;
}

}  // namespace headrace::cpu
