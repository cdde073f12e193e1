// Symbolic shapes of attention and of ops with state.
#include "importers/onnx/shapes.h"

namespace headrace::onnx_import {
namespace {

Status Attention(const NodeCall& c, std::vector<Inferred>* out) {
  const ValueInfo *q = c.In(0), *k = c.In(1), *v = c.In(2), *past = c.In(4);
  if (!k || !v || q->shape.size() != k->shape.size() || q->shape.size() != v->shape.size()) return {};
  const bool flat = q->shape.size() == 3;
  if (!flat && q->shape.size() != 4) return {};
  const int64_t q_heads = c.Int("q_num_heads", 0), kv_heads = c.Int("kv_num_heads", 0);
  if (flat && (q_heads <= 0 || kv_heads <= 0))
    return ShapeError("three-dimensional inputs need q_num_heads and kv_num_heads");
  const Expr heads = flat ? IntExpr(q_heads) : q->shape[1], groups = flat ? IntExpr(kv_heads) : k->shape[1];
  const Expr length = q->shape[flat ? 1 : 2];
  const Expr head_size = flat ? ExactDiv({q->shape[2]}, {heads}) : q->shape[3];
  const Expr value_size = flat ? ExactDiv({v->shape[2]}, {groups}) : v->shape[3];
  Expr total = k->shape[flat ? 1 : 2];
  if (past && past->shape.size() == 4) total = past->shape[2] + total;
  if (flat) SetShape(out, 0, {q->shape[0], length, heads * value_size});
  else SetShape(out, 0, {q->shape[0], heads, length, value_size});
  SetShape(out, 1, {q->shape[0], groups, total, head_size});
  SetShape(out, 2, {q->shape[0], groups, total, value_size});
  SetShape(out, 3, {q->shape[0], heads, length, total});
  return {};
}

Status CausalConv(const NodeCall& c, std::vector<Inferred>* out) {
  const ValueInfo *x = c.In(0), *w = c.In(1);
  if (!w || x->shape.size() != 3 || w->shape.size() != 3) return {};
  SetShape(out, 0, x->shape);
  SetShape(out, 1, {x->shape[0], x->shape[1], w->shape[2] - 1});
  return {};
}

Status LinearAttention(const NodeCall& c, std::vector<Inferred>* out) {
  const ValueInfo *q = c.In(0), *k = c.In(1), *v = c.In(2);
  const int64_t heads = c.Int("q_num_heads", 0), groups = c.Int("kv_num_heads", 0);
  if (!k || !v || q->shape.size() != 3 || k->shape.size() != 3 || v->shape.size() != 3 || heads <= 0 || groups <= 0) return {};
  const Expr key_size = ExactDiv({k->shape[2]}, {IntExpr(groups)}), value_size = ExactDiv({v->shape[2]}, {IntExpr(groups)});
  SetShape(out, 0, {q->shape[0], q->shape[1], IntExpr(heads) * value_size});
  SetShape(out, 1, {q->shape[0], IntExpr(groups), key_size, value_size});
  return {};
}

Status Dropout(const NodeCall& c, std::vector<Inferred>* out) {
  SetShape(out, 0, c.In(0)->shape);
  SetShape(out, 1, c.In(0)->shape);
  return {};
}

}  // namespace

void AddStateRules(ShapeRules* rules) {
  (*rules)["Attention"] = Attention;
  (*rules)["CausalConvWithState"] = CausalConv;
  (*rules)["Dropout"] = Dropout;
  (*rules)["LinearAttention"] = LinearAttention;
}

}  // namespace headrace::onnx_import
