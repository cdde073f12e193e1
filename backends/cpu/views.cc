#include "backends/cpu/views.h"

#include "backends/cpu/codegen_sdfg_internal.h"

namespace headrace::cpu {
namespace {

// The offset of the last element from the first one, where no stride is negative.
Expr LastElement(const Container& c) {
  const std::vector<Expr> strides = StridesOf(c);
  Expr last(0);
  for (size_t d = 0; d < c.shape.size(); ++d) last = IndexAdd(last, IndexMul(strides[d], c.shape[d] - IntExpr(1)));
  return last;
}

bool LiesWithin(const Sdfg& s, const Container& view) {
  const Expr extent = MemoryExtent(s.Get(view.base));
  auto le = [&](const Expr& a, const Expr& b) { return a == b || ProveLe(a, b, s.assumptions) == Truth::kYes; };
  if (!view.offset && view.strides.empty()) return le(NumElements(view), extent);
  if (view.offset && !le(IntExpr(0), view.offset)) return false;
  for (const Expr& stride : view.strides)
    if (!le(IntExpr(0), stride)) return false;
  const Expr last = LastElement(view);
  return le(IndexAdd(view.offset ? IndexAdd(view.offset, last) : last, IntExpr(1)), extent);
}

}  // namespace

Expr MemoryExtent(const Container& c) {
  return c.strides.empty() || IsContiguous(c) ? NumElements(c) : IndexAdd(LastElement(c), IntExpr(1));
}

std::set<Name> LooseViews(const Sdfg& s) {
  std::set<Name> out;
  for (Name n : s.order)
    if (const Container& c = s.Get(n); c.kind == ContainerKind::kView && !LiesWithin(s, c)) out.insert(n);
  return out;
}

void SdfgGen::CheckViews(const std::vector<RawAccess>& accesses, Writer& w) {
  if (loose_.empty()) return;
  std::set<Name> seen;
  for (const RawAccess& a : accesses)
    for (Name n = a.container; s_.Get(n).kind == ContainerKind::kView && seen.insert(n).second; n = s_.Get(n).base) {
      if (!loose_.count(n)) continue;
      const Container &view = s_.Get(n), &base = s_.Get(view.base);
      const Name root = BaseOf(s_, n);
      w.Open(s_.Get(root).optional ? "if (" + Pointer(root) + ") {" : "{");
      w.Line("const int64_t shape[] = {" + Shape(view, w) + "};");
      std::string strides;
      for (const Expr& e : StridesOf(view))
        strides += (strides.empty() ? "" : ", ") + Text(e, DType::kIndex, w);
      w.Line("const int64_t strides[] = {" + (strides.empty() ? "0" : strides) + "};");
      w.Line("if (!hr_view_fits(x, " + StringLiteral(n.str()) + ", " + StringLiteral(view.base.str()) + ", " +
             (view.offset ? Text(view.offset, DType::kIndex, w) : "0") + ", " + std::to_string(view.shape.size()) +
             ", shape, strides, " + Text(MemoryExtent(base), DType::kIndex, w) + ")) " + Leave());
      w.Close();
    }
}

void SdfgGen::CheckViews(const Expr& e, Writer& w) {
  if (loose_.empty() || !e) return;
  std::vector<RawAccess> reads;
  CollectReads(e, &reads);
  CheckViews(reads, w);
}

}  // namespace headrace::cpu
