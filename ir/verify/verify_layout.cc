// Layouts: orders of dimensions in memory, where they may stand and who must agree.
#include "ir/graph/homes.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {
namespace {

std::string Text(const MemoryOrder& order, size_t rank) {
  std::string out;
  if (order.row_major())
    for (size_t d = 0; d < rank; ++d) out += (d ? ", d" : "d") + std::to_string(d);
  for (size_t d = 0; d < order.dims().size(); ++d) out += (d ? ", d" : "d") + std::to_string(order.dims()[d]);
  return "[" + out + "]";
}

bool MayHaveOrder(const Sdfg& s, const Container& c) {
  if (c.dtype == DType::kString || IsScoped(c.storage)) return false;
  return c.kind == ContainerKind::kTransient || c.kind == ContainerKind::kConstant ||
         (c.kind == ContainerKind::kParameter && s.kernel);
}

}  // namespace

void CheckLayout(const Sdfg& s, const Container& c, Report* r) {
  if (c.kind == ContainerKind::kView) {
    const Container* base = s.Find(c.base);
    if (!base || base->order.row_major() || !c.strides.empty() || !c.order.row_major()) return;
    Diagnostic& d = r->Add("E0365", "view " + Quoted(c.name) + " is row-major, but its base " + Quoted(c.base) + " has a layout", {},
                           c.name.str(), "give it strides in memory, or copy the base into a row-major transient first");
    d.got = Text(base->order, base->shape.size()), d.expected = Text({}, base->shape.size());
    return;
  }
  if (c.order.row_major()) return;
  const auto refuse = [&](std::string message, std::string expected, std::string hint) {
    Diagnostic& d = r->Add("E0365", std::move(message), {}, c.name.str(), std::move(hint));
    d.got = "layout " + Text(c.order, 0), d.expected = std::move(expected);
  };
  if (!MayHaveOrder(s, c))
    return refuse(Quoted(c.name) + " can't have a layout", "row-major: what a program takes and gives, keeps or has in registers",
                  "leave it row-major, and copy it into a transient with a layout");
  if (!c.order.Fits(c.shape.size()))
    return refuse("the layout of " + Quoted(c.name) + " is no order of its " + std::to_string(c.shape.size()) + " dimensions",
                  "each of " + Text({}, c.shape.size()) + " once, outermost first", "write each dimension once");
  if (!c.strides.empty())
    refuse(Quoted(c.name) + " has a layout and strides", "one of them", "strides follow from the layout: leave them out");
}

// Statements of the callee walk memory as its parameter says.
void CheckArgumentLayout(const Sdfg& caller, const Container& c, const Sdfg& f, const Argument& a, const NameMap& sizes,
                         NodeId id, Report* report) {
  const Container* formal = f.Find(a.port);
  const size_t fixed = a.index.size();
  if (!formal || formal->order.row_major() || !formal->order.Fits(formal->shape.size()) || !c.order.Fits(c.shape.size()) ||
      c.shape.size() != formal->shape.size() + fixed)
    return;
  const std::vector<Expr> have = StridesOf(c), want = StridesOf(*formal);
  if (have.size() != c.shape.size()) return;
  for (size_t d = 0; d < want.size(); ++d) {
    if (AsInt(c.shape[fixed + d]) == 1) continue;
    if (ProveEq(Substitute(want[d], sizes), have[fixed + d], caller.assumptions) == Truth::kYes) continue;
    Diagnostic& e = report->Add("E0365", "argument " + Quoted(a.port) + " of " + Quoted(f.name) + " lies in memory in another order", id,
                                f.name.str(), "give " + Quoted(a.container) + " the layout of the parameter, or copy it");
    e.got = c.strides.empty() ? "layout " + Text(c.order, c.shape.size()) : "strides";
    e.expected = "layout " + Text(formal->order, formal->shape.size());
    return;
  }
}

}  // namespace headrace::verify
