#include "transforms/parameters.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

Status NoParameter(const Sdfg& s, Name n) {
  std::vector<std::string> known;
  for (Name q : s.parameters) known.push_back(q.str());
  const std::string close = ClosestWord(n.str(), known);
  return UsageError("E0360", "the program has no parameter '" + n.str() + "'", close.empty() ? "" : "did you mean '" + close + "'?");
}

bool IsParameter(const Sdfg& s, Name n) {
  return std::find(s.parameters.begin(), s.parameters.end(), n) != s.parameters.end();
}

// `n` is a parameter no longer: what it is now, `kind` says. Sizes that only its shape told are symbols of the program.
void Demote(Sdfg* s, Name n, ContainerKind kind) {
  s->parameters.erase(std::find(s->parameters.begin(), s->parameters.end(), n));
  Container& c = s->Mutable(n);
  c.kind = kind;
  c.inout = c.output = c.optional = false;
  std::stable_partition(s->order.begin(), s->order.end(),
                        [&](Name q) { return s->Get(q).kind == ContainerKind::kParameter; });
  DeclareSymbols(s);
}

// The elements, as the declaration of a constant has them.
Result<Tensor> ReadValue(const Container& c, const std::string& value) {
  std::string shape;
  for (const Expr& e : c.shape) shape += (shape.empty() ? "" : ", ") + ToString(e);
  const std::string type = std::string(DTypeName(c.dtype)) + (shape.empty() ? "" : "[" + shape + "]");
  HR_ASSIGN_OR_RETURN(Program p, ParseProgram("sdfg value() { constant value: " + type + " = " + value + " }", "<value of " + c.name.str() + ">"));
  return p.Entry().Get(Name("value")).data;
}

}  // namespace

Result<bool> ParameterToTransient(Program& p, const std::vector<Name>& names) {
  Program changed = p;
  for (Name n : names) {
    const Sdfg& s = changed.Entry();
    if (!IsParameter(s, n)) return NoParameter(s, n);
    if (DirectionOf(changed, s, n) != Direction::kOut)
      return InvalidError("E0360", "parameter '" + n.str() + "' is an input: nothing else tells its value",
                          "input-to-constant makes its value a part of the program");
    Demote(&changed.MutableEntry(), n, ContainerKind::kTransient);
  }
  HR_RETURN_IF_ERROR(Verify(changed));
  p = std::move(changed);
  return !names.empty();
}

Result<bool> InputToConstant(Program& p, Name input, const std::string& value) {
  const Sdfg& s = p.Entry();
  if (!IsParameter(s, input)) return NoParameter(s, input);
  const Container& c = s.Get(input);
  const Direction d = DirectionOf(p, s, input);
  if (d == Direction::kOut || d == Direction::kInOut)
    return InvalidError("E0360", "parameter '" + input.str() + "' is written, and a constant is not");
  for (const Expr& size : c.shape)
    if (!AsInt(size))
      return InvalidError("E0362", "input '" + input.str() + "' has the size " + ToString(size) + ", and a constant has numbers",
                          "sizes that are symbols are fixed before");
  HR_ASSIGN_OR_RETURN(Tensor data, ReadValue(c, value));
  Program changed = p;
  Sdfg& to = changed.MutableEntry();
  to.Mutable(input).data = std::move(data);
  Demote(&to, input, ContainerKind::kConstant);
  HR_RETURN_IF_ERROR(Verify(changed));
  p = std::move(changed);
  return true;
}

Result<bool> ParameterInnermost(Program& p, const std::vector<Name>& names) {
  Program changed = p;
  Sdfg& s = changed.MutableEntry();
  for (Name n : names) {
    if (!IsParameter(s, n)) return NoParameter(s, n);
    Container view = s.Get(n), held = view;
    const bool seen = std::any_of(s.order.begin(), s.order.end(), [&](Name v) { return s.Get(v).kind == ContainerKind::kView && s.Get(v).base == n; });
    const Name name(n.str() + "_innermost");
    if (view.shape.size() < 3 || !view.row_major() || view.optional || seen || s.Find(name))
      return InvalidError("E0360", "parameter '" + n.str() + "' can't have its channels innermost",
                          "such are arrays [batch, channels, space…] without views, which callers may not leave out");
    held.name = name;
    held.shape.erase(held.shape.begin() + 1), held.shape.push_back(view.shape[1]);
    view.kind = ContainerKind::kView, view.inout = view.output = false, view.base = name, view.offset = Expr(0);
    const std::vector<Expr> strides = StridesOf(held);
    view.strides = {strides[0], strides.back()};
    view.strides.insert(view.strides.end(), strides.begin() + 1, strides.end() - 1);
    std::replace(s.parameters.begin(), s.parameters.end(), n, name);
    s.Mutable(n) = view;
    s.Add(std::move(held));
  }
  std::vector<Name> order = s.parameters;
  for (Name n : names) order.push_back(n);
  for (Name n : s.order)
    if (std::find(order.begin(), order.end(), n) == order.end()) order.push_back(n);
  s.order = std::move(order);
  HR_RETURN_IF_ERROR(Verify(changed));
  p = std::move(changed);
  return !names.empty();
}

}  // namespace headrace
