// Dots of lanes that lie side by side are one call of the prelude (hr_dot.h), however they are computed there:
//   map u in 0:32 @vector { t[r, u] = dot2(x[d], b[d, u, 0], x[d + 1], b[d, u, 1], t[r, u]) }
//     →  hr_dot2_lanes<32>(&t[32 * r], hr_group(x[d], x[d + 1]), &b[64 * d]);
#include "backends/cpu/ctypes.h"
#include "backends/cpu/kernel_printer_internal.h"
#include "ir/analysis/layout.h"

namespace headrace::cpu {
namespace {

constexpr int64_t kLanes = 16, kMostLanes = 256;  // of the narrowest vectors in use, and what is written out at most

bool IsRead(const Expr& e, Name base, const Expr& linear) {
  return e.Is(ExprKind::kRead) && e->name == base && e->args.size() == 1 && e->args[0] == linear;
}

// What all lanes share is one group as it lies in memory.
bool LieSideBySide(const std::vector<Expr>& args) {
  for (size_t k = 0; k + 1 < args.size(); k += 2)
    if (!args[0].Is(ExprKind::kRead) || !IsRead(args[k], args[0]->name, args[0]->args[0] + Expr(static_cast<int64_t>(k / 2)))) return false;
  return true;
}

// The first of the groups' elements, where they lie one after the other, as the lanes do, behind `less` zeros each; null where they don't.
Expr FirstOfGroups(const std::vector<Expr>& args, Name lane, int64_t less = 0) {
  const int64_t group = static_cast<int64_t>(args.size() / 2);
  const auto own = [&](int64_t k) { return args[static_cast<size_t>(2 * k + 1)]; };
  if (less >= group) return {};
  const Expr first = own(less);
  if (!first.Is(ExprKind::kRead) || AsInt(Coefficient(first->args[0], lane).value_or(Expr(0))) != group) return {};
  for (int64_t k = 0; k < group; ++k)
    if (k < less ? AsInt(own(k)) != 0 : !IsRead(own(k), first->name, first->args[0] + Expr(k - less))) return {};
  return first;
}

// Groups of their own on the other side, too, where they lie one after the other.
Expr FirstOfData(const std::vector<Expr>& args, Name lane) {
  const Expr& first = args[0];
  if (!first.Is(ExprKind::kRead) || AsInt(Coefficient(first->args[0], lane).value_or(Expr(0))) != static_cast<int64_t>(args.size() / 2)) return {};
  return LieSideBySide(args) ? first : Expr();
}

}  // namespace

// Of lanes with groups of their own on both sides:
//   map u in 0:32 @vector { t[u] = dot4(d[u, 0], 0, d[u, 1], b[u, 0], d[u, 2], b[u, 1], d[u, 3], b[u, 2], t[u]) }
//     →  hr_dot4_lanes_both<32, 1>(&t[0], &d[0], &b[0]);
Result<bool> KernelPrinter::DotsOfBoth(const LoweredStmt& stmt, Name lane, int64_t lanes, Writer& w) {
  const std::vector<Expr>& args = stmt.value->args;
  const Expr data = stmt.value->name == Name("dot4") ? FirstOfData(args, lane) : Expr();
  if (!data || data->dtype != DType::kU8) return false;
  int64_t less = 0;
  while (2 * less + 1 < static_cast<int64_t>(args.size()) && AsInt(args[static_cast<size_t>(2 * less + 1)]) == 0) ++less;
  const Expr own = FirstOfGroups(args, lane, less);
  if (!own || own->dtype != DType::kI8) return false;
  const NameMap begin = {{lane, Expr(0)}};
  const Expr sums = Substitute(stmt.linear, begin), a = Substitute(data->args[0], begin), b = Substitute(own->args[0], begin);
  w.Open("{");
  ExprCode code(env_, w);
  for (const Expr& e : {sums, a, b}) code.Use(e);
  const auto at = [&](Name n, const Expr& e) { return "&" + env_.Element(n, Bare(code.Index(e))); };
  w.Line("hr_dot4_lanes_both<" + std::to_string(lanes) + ", " + std::to_string(less) + ">(" + at(stmt.base, sums) + ", " + at(data->name, a) +
         ", " + at(own->name, b) + ");");
  w.Close();
  return true;
}

Result<bool> KernelPrinter::Dots(const Map& m, Writer& w) {
  const auto* t = m.body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m.body[0]].body) : nullptr;
  const LoopDim d = m.ranges.size() == 1 ? DimOf(m.ranges[0]) : LoopDim();
  const int64_t lanes = d.simple ? AsInt(d.end).value_or(0) : 0;
  if (!t || t->guarded || t->op != WriteOp::kAssign || lanes < kLanes || lanes > kMostLanes || lanes % kLanes != 0) return false;
  if (!t->value.Is(ExprKind::kCall) || (t->value->name != Name("dot2") && t->value->name != Name("dot4"))) return false;
  HR_ASSIGN_OR_RETURN(const LoweredStmt stmt, lowerer_.Lower(*t));
  const std::vector<Expr>& args = stmt.value->args;
  if (stmt.condition || !IsRead(args.back(), stmt.base, stmt.linear)) return false;
  if (AsInt(Coefficient(stmt.linear, d.index).value_or(Expr(0))) != 1) return false;
  HR_ASSIGN_OR_RETURN(const bool both, DotsOfBoth(stmt, d.index, lanes, w));
  if (both) return true;
  const Expr own = FirstOfGroups(args, d.index);
  if (!own) return false;
  const bool floats = t->value->name == Name("dot2");
  for (size_t k = 0; k + 1 < args.size(); k += 2)  // of dot4 u8 by i8, as processors have it
    if (Mentions(args[k], d.index) || (!floats && (args[k]->dtype != DType::kU8 || own->dtype != DType::kI8))) return false;
  const NameMap begin = {{d.index, Expr(0)}};
  const Expr sums = Substitute(stmt.linear, begin), groups = Substitute(own->args[0], begin);
  w.Open("{");
  ExprCode code(env_, w);
  code.Use(sums);
  code.Use(groups);
  for (size_t k = 0; k + 1 < args.size(); k += 2) code.Use(args[k].Is(ExprKind::kRead) ? args[k]->args[0] : args[k]);
  const bool side_by_side = LieSideBySide(args);
  std::string same;
  for (size_t k = 0; k + 1 < args.size() && !side_by_side; k += 2) {
    const Expr& a = args[k];
    same += (k == 0 ? "" : ", ") + (a.Is(ExprKind::kRead) ? env_.Element(a->name, Bare(code.Index(a->args[0])))
                                                           : StoreCode(a->dtype, code.Value(a), code.TypeOf(a)));
  }
  const std::string at = env_.Element(stmt.base, Bare(code.Index(sums))), of = env_.Element(own->name, Bare(code.Index(groups)));
  w.Line("hr_" + t->value->name.str() + "_lanes" + (floats && !s_.flush ? "_exact<" : "<") + std::to_string(lanes) + ">(&" + at +
         (side_by_side ? ", hr_group_at(&" + env_.Element(args[0]->name, Bare(code.Index(args[0]->args[0]))) : ", hr_group(" + same) + "), &" + of + ");");
  w.Close();
  return true;
}

}  // namespace headrace::cpu
