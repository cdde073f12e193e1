#include <algorithm>
#include <unordered_set>

#include "training/step_internal.h"

namespace headrace::training {

Name AddParameter(Sdfg* s, const std::string& stem, DType t, std::vector<Expr> shape, bool first) {
  Container c;
  c.name = s->FreshName(stem);
  c.kind = ContainerKind::kParameter;
  c.dtype = t;
  c.shape = std::move(shape);
  const Name name = c.name;
  s->Add(std::move(c));
  s->parameters.insert(first ? s->parameters.begin() : s->parameters.end(), name);
  SortContainers(s);
  return name;
}

Name AddTransient(Sdfg* s, const std::string& stem, DType t, std::vector<Expr> shape) {
  Container c;
  c.name = s->FreshName(stem);
  c.dtype = t;
  c.shape = std::move(shape);
  const Name name = c.name;
  s->Add(std::move(c));
  return name;
}

void AppendStatement(Sdfg* s, Body body, const std::string& origin) {
  const NodeId n = s->AddNode(std::move(body), {Name(origin), Name()});
  s->body.push_back(s->AddBlock(State{{}, {n}}));
}

void AppendCopy(Sdfg* s, Name target, Name source, const std::string& origin, Name go) {
  const std::vector<Expr> shape = s->Get(target).shape;
  Tasklet t;
  Map m;
  t.target = target;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Name index("i" + std::to_string(d));
    m.ranges.push_back({index, Expr(0), shape[d], Expr(1)});
    t.index.push_back(Expr(index));
  }
  t.value = ReadExpr(source, t.index);
  if (!go.empty()) t.value = SelectExpr(ReadExpr(go, {}), t.value, ReadExpr(target, t.index));
  if (shape.empty()) return AppendStatement(s, std::move(t), origin);
  m.body = {s->AddNode(std::move(t), {Name(origin), Name()})};
  AppendStatement(s, std::move(m), origin);
}

void MakeTransient(Sdfg* s, Name parameter) {
  Container& c = s->Mutable(parameter);
  if (c.kind == ContainerKind::kParameter) c.kind = ContainerKind::kTransient;  // a sequence stays one
  c.output = c.inout = false;
  s->parameters.erase(std::find(s->parameters.begin(), s->parameters.end(), parameter));
  SortContainers(s);
}

Tensor MakeParameter(Sdfg* s, Name constant) {
  Container& c = s->Mutable(constant);
  Tensor data = c.data;
  c.kind = ContainerKind::kParameter;
  c.data = Tensor();
  s->parameters.push_back(constant);
  SortContainers(s);
  return data;
}

void SortContainers(Sdfg* s) {
  std::vector<Name> order = s->parameters;
  const std::unordered_set<Name> parameters(order.begin(), order.end());
  for (Name n : s->order)
    if (!parameters.count(n)) order.push_back(n);
  s->order = std::move(order);
}

std::string Quoted(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  std::string out;
  const size_t shown = names.size() <= kShown + 1 ? names.size() : kShown;
  for (size_t i = 0; i < shown; ++i) out += (i ? ", '" : "'") + names[i] + "'";
  return shown < names.size() ? out + " and " + std::to_string(names.size() - shown) + " more" : out;
}

// Text tells no initializers from other constants.
bool IsText(const ImportedModel& m) { return m.kind.empty() || m.kind == "IR text"; }

std::string InitializerName(const ImportedModel& m, const Container& c) {
  if (c.kind != ContainerKind::kConstant) return "";
  return !c.origin.named() && IsText(m) ? c.name.str() : c.origin.Label();
}

Status StepError(const std::string& code, ErrorKind kind, const std::string& message, const std::string& hint,
                 const std::string& node) {
  Diagnostic d;
  d.code = code;
  d.kind = kind;
  d.message = message;
  d.hint = hint;
  d.node = node;
  return Status(d);
}

}  // namespace headrace::training
