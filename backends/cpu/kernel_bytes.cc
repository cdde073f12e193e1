// Bytes that lie side by side, as numbers of 32 bits in registers, and back, are one call of the prelude (hr_dot.h): compilers make
// short vectors of such lanes, from which long ones can't be read at once. Where they are copied or filled compilers have functions of
// their own; for a byte may be a part of whatever decides where the next one goes, and such loops would take them one by one.
//   map u in 0:32 @vector { w[u] = i32(X[i, u]) }                     →   hr_widen_lanes<32>(&w[0], &X[32 * i]);
//   map u in 0:32 @vector { Y[i, u] = sat(rint(v[u]) + f32(z), u8) }   →   hr_round_lanes<32>(&Y[32 * i], &v[0], z);
#include "backends/cpu/ctypes.h"
#include "backends/cpu/kernel_printer_internal.h"
#include "ir/analysis/layout.h"

namespace headrace::cpu {
namespace {

constexpr int64_t kLanes = 16, kMostLanes = 256,
                  kMostCopied = 4096;  // of the narrowest vectors in use, and what is written out at most

bool IsByte(DType t) { return t == DType::kU8 || t == DType::kI8; }

bool WalksByOne(const Expr& linear, Name lane) { return AsInt(Coefficient(linear, lane).value_or(Expr(0))) == 1; }

// Floats in lanes that are rounded to bytes, sat(rint(v[u]) + f32(z), u8): what they are read from, and the byte z, if there is one.
struct Rounded {
  Expr from, zero;
};
std::optional<Rounded> RoundedOf(const Expr& value, Name lane) {
  if (!value.Is(ExprKind::kCast) || !value->saturate || !IsByte(value->dtype)) return std::nullopt;
  Rounded out;
  Expr rint = value->args[0];
  if (rint.Is(ExprKind::kBinary) && rint->op == Op::kAdd) {
    const Expr& zero = rint->args[1];
    if (!zero.Is(ExprKind::kCast) || zero->dtype != DType::kF32 || !zero->args[0].Is(ExprKind::kRead) || !IsByte(zero->args[0]->dtype) ||
        Mentions(zero, lane))
      return std::nullopt;
    out.zero = zero->args[0], rint = rint->args[0];
  }
  if (!rint.Is(ExprKind::kCall) || rint->name != Name("rint")) return std::nullopt;
  out.from = rint->args[0];
  const bool floats = out.from.Is(ExprKind::kRead) && out.from->dtype == DType::kF32 && WalksByOne(out.from->args[0], lane);
  return floats ? std::optional<Rounded>(out) : std::nullopt;
}

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
  const auto rounded = few && IsByte(to) && value->dtype == to ? RoundedOf(value, d.index) : std::nullopt;
  if (!filled && !copied && !widened && !narrowed && !rounded) return false;
  const NameMap begin = {{d.index, Expr(0)}};
  const Expr& from_lanes = rounded ? rounded->from : read;
  const Expr target = Substitute(stmt.linear, begin), source = filled ? Expr(0) : Substitute(from_lanes->args[0], begin);
  w.Open("{");
  ExprCode code(env_, w);
  code.Use(target);
  code.Use(source);
  if (rounded && rounded->zero) code.Use(rounded->zero->args[0]);
  const std::string at = "&" + env_.Element(stmt.base, Bare(code.Index(target))), count = std::to_string(lanes);
  if (filled) {
    w.Line("__builtin_memset(" + at + ", (" + StorageType(to) + ")" + std::to_string(*AsInt(value)) + ", " + count +
           ");");
  } else {
    const std::string of = "&" + env_.Element(from_lanes->name, Bare(code.Index(source)));
    const auto zero = [&] { return rounded->zero ? env_.Element(rounded->zero->name, Bare(code.Index(rounded->zero->args[0]))) : "0"; };
    if (rounded) w.Line("hr_round_lanes<" + count + ">(" + at + ", " + of + ", " + zero() + ");");
    else if (copied) w.Line("__builtin_memcpy(" + at + ", " + of + ", " + count + ");");
    else w.Line(std::string(widened ? "hr_widen_lanes<" : "hr_narrow_lanes<") + count + ">(" + at + ", " + of + ");");
  }
  w.Close();
  return true;
}

// Bytes of four rows as groups of four:
//   map e in 0:4 @unroll { map u in 0:32 @vector { d[u, e] = a[32 * e + u] } }   →   hr_group_lanes<32>(&d[0], &a[0], 32);
Result<bool> KernelPrinter::Grouped(const Map& m, Writer& w) {
  const auto* lanes_map = m.body.size() == 1 ? std::get_if<Map>(&s_.nodes[m.body[0]].body) : nullptr;
  if (!lanes_map || lanes_map->schedule != Schedule::kVector || lanes_map->ranges.size() != 1 || m.ranges.size() != 1) return false;
  const auto* t = lanes_map->body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[lanes_map->body[0]].body) : nullptr;
  const LoopDim row = DimOf(m.ranges[0]), d = DimOf(lanes_map->ranges[0]);
  const int64_t lanes = d.simple ? AsInt(d.end).value_or(0) : 0;
  if (!t || t->guarded || t->op != WriteOp::kAssign || !row.simple || AsInt(row.end) != 4 || lanes < kLanes || lanes > kMostLanes || lanes % kLanes != 0)
    return false;
  HR_ASSIGN_OR_RETURN(const LoweredStmt stmt, lowerer_.Lower(*t));
  const Expr& read = stmt.value;
  const bool bytes = !stmt.condition && s_.Get(t->target).dtype == DType::kU8 && read.Is(ExprKind::kRead) && read->dtype == DType::kU8 && read->name != stmt.base;
  if (!bytes || AsInt(Coefficient(stmt.linear, d.index).value_or(Expr(0))) != 4 || !WalksByOne(stmt.linear, row.index)) return false;
  const auto step = Coefficient(read->args[0], row.index);
  if (!step || !AsInt(*step) || !WalksByOne(read->args[0], d.index)) return false;
  const NameMap begin = {{d.index, Expr(0)}, {row.index, Expr(0)}};
  const Expr target = Substitute(stmt.linear, begin), source = Substitute(read->args[0], begin);
  w.Open("{");
  ExprCode code(env_, w);
  code.Use(target);
  code.Use(source);
  w.Line("hr_group_lanes<" + std::to_string(lanes) + ">(&" + env_.Element(stmt.base, Bare(code.Index(target))) + ", &" +
         env_.Element(read->name, Bare(code.Index(source))) + ", " + std::to_string(*AsInt(*step)) + ");");
  w.Close();
  return true;
}

}  // namespace headrace::cpu
