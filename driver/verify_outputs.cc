#include "driver/verify_outputs.h"

namespace headrace {
namespace {

std::string TypeText(DType t, const std::vector<Expr>& shape) {
  std::string out = std::string(DTypeName(t)) + "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + (shape[i] ? ToString(shape[i]) : "?");
  return out + "]";
}

bool CanBe(const PortView& declared, const InferredOutput& o, const Assumptions& as) {
  if (!o.typed || o.type.kind != ValueType::kTensor || declared.type.kind != ValueType::kTensor) return true;
  if (declared.dtype != o.type.dtype) return false;
  if (!o.has_shape) return true;
  if (declared.shape.size() != o.shape.size()) return false;
  for (size_t d = 0; d < o.shape.size(); ++d)
    if (o.shape[d] && IsIndexExpr(o.shape[d]) && ProveEq(declared.shape[d], o.shape[d], as) == Truth::kNo) return false;
  return true;
}

Status VerifyNode(const Registry& r, const Program& p, const Sdfg& s, NodeId id) {
  HR_ASSIGN_OR_RETURN(NodeView v, ViewOf(r, p, s, id));
  if (!v.signature) return {};
  HR_ASSIGN_OR_RETURN(std::vector<InferredOutput> found, r.InferOutputs(v));
  for (size_t i = 0; i < found.size(); ++i) {
    const PortView& declared = v.outputs[i];
    if (!declared.present || CanBe(declared, found[i], s.assumptions)) continue;
    Diagnostic d;
    d.code = "E0316";
    d.message = "output '" + declared.name + "' is declared with another type or size than it has";
    d.got = TypeText(declared.dtype, declared.shape);
    d.expected = TypeText(found[i].type.dtype, found[i].has_shape ? found[i].shape : declared.shape);
    d.node = v.name;
    d.op = v.node->domain.str() + "." + v.node->op.str();
    return Status(d);
  }
  return {};
}

}  // namespace

Status VerifyOutputs(const Registry& r, const Program& p) {
  std::vector<Diagnostic> all;
  for (const auto& s : p.sdfgs)
    ForEachNode(*s, [&](NodeId id) {
      if (!std::holds_alternative<Library>(s->nodes[id].body)) return;
      const Status found = VerifyNode(r, p, *s, id);
      all.insert(all.end(), found.diagnostics().begin(), found.diagnostics().end());
    });
  return all.empty() ? Status() : Status(std::move(all));
}

}  // namespace headrace
