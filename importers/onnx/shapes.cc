// Symbolic shape rules: broadcasting, contraction, and the helpers.
#include "importers/onnx/shapes.h"

#include <algorithm>
#include <numeric>

#include "ir/expr/broadcast.h"

namespace headrace::onnx_import {

Status ShapeError(const std::string& message, std::string got, std::string expected) {
  Diagnostic d;
  d.code = "E0541";
  d.message = message;
  d.got = std::move(got);
  d.expected = std::move(expected);
  return Status(d);
}

std::string ToString(const Shape& s) {
  std::string out = "[";
  for (size_t i = 0; i < s.size(); ++i) out += (i ? ", " : "") + (s[i] ? headrace::ToString(s[i]) : "?");
  return out + "]";
}

Result<Expr> BroadcastDim(const Expr& a, const Expr& b) {
  auto x = AsInt(a), y = AsInt(b);
  if (x && y && *x != *y && *x != 1 && *y != 1)
    return ShapeError("shapes don't broadcast: " + std::to_string(*x) + " meets " + std::to_string(*y));
  return BroadcastSize(a, b);
}

Result<Shape> Broadcast(const std::vector<const Shape*>& shapes) {
  size_t rank = 0;
  for (const Shape* s : shapes) rank = std::max(rank, s->size());
  Shape out(rank, IntExpr(1));
  for (const Shape* s : shapes)
    for (size_t d = 0; d < s->size(); ++d) {
      Expr& o = out[rank - s->size() + d];
      Result<Expr> merged = BroadcastDim(o, (*s)[d]);
      if (!merged.ok()) {
        std::string all;
        for (const Shape* t : shapes) all += (all.empty() ? "" : " and ") + ToString(*t);
        return ShapeError("the shapes " + all + " don't broadcast");
      }
      o = *merged;
    }
  return out;
}

Expr Product(const Shape& s, size_t begin, size_t end) {
  Expr p = IntExpr(1);
  for (size_t i = begin; i < std::min(end, s.size()); ++i) p = p * s[i];
  return p;
}

namespace {

void Factors(const Expr& e, std::vector<Expr>* factors, int64_t* coefficient) {
  if (auto c = AsInt(e)) {
    int64_t product;
    if (__builtin_mul_overflow(*coefficient, *c, &product)) factors->push_back(e);
    else *coefficient = product;
  } else if (e.Is(ExprKind::kBinary) && e->op == Op::kMul) {
    for (const Expr& a : e->args) Factors(a, factors, coefficient);
  } else {
    factors->push_back(e);
  }
}

}  // namespace

Expr ExactDiv(const Shape& a, const Shape& b) {
  std::vector<Expr> top, bottom, left;
  int64_t x = 1, y = 1;
  for (const Expr& e : a) Factors(e, &top, &x);
  for (const Expr& e : b) Factors(e, &bottom, &y);
  for (const Expr& e : bottom) {
    auto it = std::find(top.begin(), top.end(), e);
    if (it != top.end()) top.erase(it);
    else left.push_back(e);
  }
  if (y == 0) return {};
  const int64_t g = std::gcd(x, y);
  if (g > 1) x /= g, y /= g;
  Expr num = IntExpr(x), den = IntExpr(y);
  for (const Expr& e : top) num = num * e;
  for (const Expr& e : left) den = den * e;
  return AsInt(den) && *AsInt(den) == 1 ? num : FloorDiv(num, den);
}

Result<int64_t> Axis(int64_t axis, size_t rank) {
  const int64_t r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r)
    return ShapeError("the axis is out of range", std::to_string(axis),
                      "within [" + std::to_string(-r) + ", " + std::to_string(r - 1) + "]");
  return axis < 0 ? axis + r : axis;
}

void SetShape(std::vector<Inferred>* out, size_t i, Shape shape) {
  if (i >= out->size() || ((*out)[i].typed && (*out)[i].type.kind != ValueType::kTensor)) return;
  (*out)[i].has_rank = true;
  (*out)[i].shape = std::move(shape);
}

std::optional<std::vector<int64_t>> AxesOf(const NodeCall& call, size_t input) {
  if (auto a = call.Ints("axes")) return a;
  return call.KnownInts(input);
}

namespace {

Status Elementwise(const NodeCall& c, std::vector<Inferred>* out) {
  std::vector<const Shape*> shapes;
  for (const Val& v : c.inputs)
    if (v) shapes.push_back(&v->shape);
  // Before opset 7 broadcasting was asked for by attributes and the first input decided.
  if (c.schema && c.schema->attributes().count("broadcast")) shapes.resize(1);
  HR_ASSIGN_OR_RETURN(Shape s, Broadcast(shapes));
  SetShape(out, 0, std::move(s));
  return {};
}

Status LikeFirst(const NodeCall& c, std::vector<Inferred>* out) {
  SetShape(out, 0, c.In(0)->shape);
  return {};
}

Status Clip(const NodeCall& c, std::vector<Inferred>* out) {
  for (size_t i = 1; i < c.inputs.size(); ++i)
    if (const ValueInfo* v = c.In(i))
      for (const Expr& d : v->shape)
        if (AsInt(d) && *AsInt(d) != 1) return ShapeError("a bound of Clip must be one number", ToString(v->shape));
  return LikeFirst(c, out);
}

Status MatMul(const NodeCall& c, std::vector<Inferred>* out) {
  // MatMulInteger(A, B), QLinearMatMul(a, a_scale, a_zero_point, b, …)
  const ValueInfo *a = c.In(0), *b = c.In(c.op() == "QLinearMatMul" ? 3 : 1);
  if (!a || !b || a->shape.empty() || b->shape.empty()) return {};
  Shape x = a->shape, y = b->shape;
  const bool row = x.size() == 1, column = y.size() == 1;
  if (row) x.insert(x.begin(), IntExpr(1));
  if (column) y.push_back(IntExpr(1));
  const Expr &k = x.back(), &l = y[y.size() - 2];
  if (AsInt(k) && AsInt(l) && *AsInt(k) != *AsInt(l))
    return ShapeError("the inner dimensions differ", ToString(a->shape) + " times " + ToString(b->shape), "equal ones");
  Shape xb(x.begin(), x.end() - 2), yb(y.begin(), y.end() - 2);
  HR_ASSIGN_OR_RETURN(Shape s, Broadcast({&xb, &yb}));
  if (!row) s.push_back(x[x.size() - 2]);
  if (!column) s.push_back(y.back());
  SetShape(out, 0, std::move(s));
  return {};
}

Status Expand(const NodeCall& c, std::vector<Inferred>* out) {
  const ValueInfo *x = c.In(0), *shape = c.In(1);
  if (const auto* k = c.Known(1)) {
    HR_ASSIGN_OR_RETURN(Shape s, Broadcast({&x->shape, k}));
    SetShape(out, 0, std::move(s));
  } else if (shape && shape->shape.size() == 1 && AsInt(shape->shape[0])) {
    size_t rank = std::max(x->shape.size(), static_cast<size_t>(*AsInt(shape->shape[0])));
    SetShape(out, 0, Shape(std::min<size_t>(rank, 64)));
  }
  return {};
}

Status Einsum(const NodeCall& c, std::vector<Inferred>* out) {
  std::string eq = c.Str("equation", ""), text;
  for (char ch : eq)
    if (ch != ' ') text += ch;
  size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow), right = arrow == std::string::npos ? "" : text.substr(arrow + 2);
  std::unordered_map<char, Expr> size;
  std::unordered_map<char, int> count;
  Shape dots;  // what `...` stands for, broadcast
  size_t input = 0;
  for (size_t begin = 0; begin <= left.size(); ++input) {
    const size_t end = std::min(left.find(',', begin), left.size());
    const std::string term = left.substr(begin, end - begin);
    begin = end + 1;
    const ValueInfo* v = c.In(input);
    const size_t ellipsis = term.find("..."), letters = ellipsis == std::string::npos ? term.size() : term.size() - 3;
    if (!v || letters > v->shape.size() || (ellipsis == std::string::npos && letters < v->shape.size())) return {};
    const size_t rest = v->shape.size() - letters;
    size_t dim = 0;
    for (size_t i = 0; i < term.size(); ++i) {
      if (i == ellipsis) {
        const Shape mine(v->shape.begin() + static_cast<int64_t>(dim), v->shape.begin() + static_cast<int64_t>(dim + rest));
        HR_ASSIGN_OR_RETURN(dots, Broadcast({&dots, &mine}));
        dim += rest, i += 2;
        continue;
      }
      auto it = size.emplace(term[i], v->shape[dim]).first;
      HR_ASSIGN_OR_RETURN(it->second, BroadcastDim(it->second, v->shape[dim]));
      ++count[term[i]], ++dim;
    }
  }
  if (arrow == std::string::npos) {
    if (left.find("...") != std::string::npos) right = "...";
    for (char ch = 'A'; ch <= 'z'; ++ch)
      if (count.count(ch) && count[ch] == 1) right += ch;
  }
  Shape s;
  for (size_t i = 0; i < right.size(); ++i) {
    if (right.compare(i, 3, "...") == 0) {
      s.insert(s.end(), dots.begin(), dots.end());
      i += 2;
      continue;
    }
    if (!size.count(right[i])) return ShapeError("the equation '" + eq + "' has an output index without a size");
    s.push_back(size[right[i]]);
  }
  SetShape(out, 0, std::move(s));
  return {};
}

}  // namespace

void AddBroadcastRules(ShapeRules* rules) {
  for (const char* op : {"Add",        "Sub",     "Mul",   "Div",  "Mod",         "Pow",        "And",
                         "Or",         "Xor",     "Equal", "Less", "LessOrEqual", "Greater",    "GreaterOrEqual",
                         "Where",      "Max",     "Min",   "Mean", "Sum",         "BitwiseAnd", "BitwiseOr",
                         "BitwiseXor", "BitShift"})
    (*rules)[op] = Elementwise;
  for (const char* op :
       {"PRelu", "GroupNormalization", "MeanVarianceNormalization", "LpNormalization", "LRN", "InstanceNormalization"})
    (*rules)[op] = LikeFirst;
  for (const char* op : {"MatMul", "MatMulInteger", "QLinearMatMul"}) (*rules)[op] = MatMul;
  (*rules)["Clip"] = Clip;
  (*rules)["Expand"] = Expand;
  (*rules)["Einsum"] = Einsum;
}

Status SharpenShapes(const NodeCall& call, std::vector<Inferred>* outputs) {
  static const ShapeRules* const rules = [] {
    auto* r = new ShapeRules;
    AddBroadcastRules(r);
    AddMovementRules(r);
    AddWindowRules(r);
    AddStateRules(r);
    AddSignalRules(r);
    AddFirstVersionRules(r);
    return r;
  }();
  static const ShapeRules* const ml_rules = [] {
    auto* r = new ShapeRules;
    AddMlRules(r);
    return r;
  }();
  const std::string& domain = call.node->domain();
  if (!domain.empty() && domain != "ai.onnx" && domain != "ai.onnx.ml") return {};
  const ShapeRules* table = domain == "ai.onnx.ml" ? ml_rules : rules;
  auto it = table->find(call.op());
  if (it == table->end() || !call.In(0)) return {};
  return it->second(call, outputs);
}

}  // namespace headrace::onnx_import
