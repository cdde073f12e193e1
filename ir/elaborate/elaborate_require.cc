// Sizes that a form takes to be equal. An index that stands bare in several places has one range, and walks each of these
// dimensions from end to end: they are equal. Where the context can't prove it, a `require` at the front of the SDFG does;
// where it proves the opposite, that is an error.
//
// Arithmetic walks nothing: `X[n, p * st + k]` is a window, `B[d, j + 0]` a part. Nor does a guarded read whose indices all
// stand bare, since then it is one of them that may be outside; of others the bare ones do.
#include <algorithm>

#include "ir/elaborate/elaborate_internal.h"

namespace headrace {
namespace elaborate {

void Elaborator::AddWalk(Walk w) {
  const bool known = std::any_of(walks_.begin(), walks_.end(), [&](const Walk& x) {
    return x.index == w.index && x.container == w.container && x.dim == w.dim;
  });
  if (!known) walks_.push_back(std::move(w));
}

void Elaborator::RecordWalks(Name container, const std::vector<Slot>& slots, bool flat, bool guarded) {
  const Container& c = s_.Get(container);
  const bool all_bare = std::all_of(slots.begin(), slots.end(), [](const Slot& s) { return s.bare || AsInt(s.e); });
  if (shapes_ || (guarded && all_bare)) return;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].bare || !slots[i].e.Is(ExprKind::kSymbol)) continue;
    const Name index = slots[i].e->name;
    const int dim = flat ? -1 : static_cast<int>(i);
    const Expr extent = flat ? NumElements(c) : c.shape[i];
    AddWalk({index, container, dim, extent, c.kind != ContainerKind::kParameter});
  }
}

// As the form calls it.
std::string Elaborator::PortName(Name container) const {
  for (const auto& [port, sum] : shadow_)
    if (sum == container) return port.str();
  return container.str();
}

void Elaborator::RequireWalks(const Target& t, Place at) {
  const auto place = [&](const Walk& w) { return w.dim < 0 ? " elements" : " in dimension " + std::to_string(w.dim); };
  for (const Walk& w : walks_) {
    const Interval2* range = FindRange(t.ranges, w.index);
    if (!range) range = FindRange(t.over, w.index);  // of one element: no map
    if (!range || AsInt(range->begin) != 0 || !IsIndexExpr(range->end) || !IsIndexExpr(w.extent)) continue;
    const bool broadcast = IsEllipsisIndex(w.index);
    // Of what the form made, `over` may take a part.
    const auto over = [&](const auto& named) { return named.first == w.index; };
    if (w.temporary && !broadcast && std::any_of(t.over.begin(), t.over.end(), over)) continue;
    if (broadcast && AsInt(w.extent) == 1) continue;
    Expr condition = FoldBinary(Op::kEq, w.extent, range->end, assumptions_);
    if (broadcast && AsTruth(condition) != true && AsInt(range->end) != 1) {
      const Expr one = FoldBinary(Op::kEq, w.extent, IntExpr(1), assumptions_);
      condition = FoldBinary(Op::kOr, condition, one, assumptions_);
    }
    if (AsTruth(condition) == true) continue;
    // The place that the range comes from, if it is a place.
    const auto from = std::find_if(walks_.begin(), walks_.end(), [&](const Walk& x) {
      return x.index == w.index && x.extent == range->end && !(x.container == w.container && x.dim == w.dim);
    });
    std::string message = PortName(w.container) + " has {}" + place(w);
    if (from == walks_.end()) message += " where {} " + std::string(w.dim < 0 ? "are" : "is") + " needed";
    else message += " and " + PortName(from->container) + " has {}" + place(*from);
    AddRequirement(condition, message + (broadcast ? ", which don't broadcast" : ", which must be equal"),
                   {w.extent, range->end}, at);
  }
}

void Elaborator::RunRequire(const FormStmt& s) {
  const Place at{s.line, s.column};
  use_remembered_ = true;
  let_cache_.clear();
  const Val c = Eval(s.value, env_, {true});
  // Of lists, every element.
  if (c.kind != Val::kScalar && c.kind != Val::kList) Fail(at, "what is required must be a condition on sizes");
  std::vector<Expr> values;
  for (const Expr& e : s.index) {
    const Val v = Eval(e, env_, {true});
    if (v.kind != Val::kScalar) Fail(At(e), "a value of a requirement must be one number");
    values.push_back(AsIndexLiteral(v.e));
  }
  for (const Expr& e : c.kind == Val::kScalar ? std::vector<Expr>{c.e} : c.items) {
    for (Name n : FreeSymbols(e))
      if (IsReserved(n)) Fail(at, "a requirement can't depend on the index '" + n.str().substr(1) + "'");
    AddRequirement(e, s.message, values, at);
  }
}

void Elaborator::AddRequirement(Expr condition, std::string message, std::vector<Expr> values, Place at) {
  const TypeScope scope{&s_, has_f64_};
  const std::optional<bool> truth = AsTruth(condition);
  if (truth == true) return;
  if (truth == false) {
    for (const Expr& v : values)
      if (const size_t place = message.find("{}"); place != std::string::npos) message.replace(place, 2, ToString(v));
    Diagnostic d;
    d.code = "E0570";
    d.message = std::move(message);
    d.line = at.line, d.column = at.column;
    throw FormError{std::move(d)};
  }
  if (!ReadContainers(condition).empty()) return;  // data is checked where it is used as an index
  condition = TypeCondition(scope, condition, at);
  for (const BlockId b : held_.back())
    if (std::get<Require>(s_.blocks[b].control).condition == condition) return;
  for (const BlockId b : held_.front())
    if (std::get<Require>(s_.blocks[b].control).condition == condition) return;
  held_.back().push_back(s_.AddBlock(Require{std::move(condition), std::move(message), std::move(values)}));
}

}  // namespace elaborate
}  // namespace headrace
