// Shapes of ai.onnx.ml, whose schemas mostly say none.
#include <algorithm>

#include "importers/onnx/shapes.h"

namespace headrace::onnx_import {
namespace {

int64_t Length(const NodeCall& c, const char* name) {
  const onnx::AttributeProto* a = c.Attr(name);
  return a ? std::max({a->ints_size(), a->floats_size(), a->strings_size()}) : 0;
}
Expr Rows(const NodeCall& c) { return c.In(0)->shape.size() == 2 ? c.In(0)->shape[0] : IntExpr(1); }
void SetType(std::vector<Inferred>* out, size_t i, DType t) {
  if (i >= out->size() || (*out)[i].typed) return;
  (*out)[i].typed = true;
  (*out)[i].type = ValueType();
  (*out)[i].type.dtype = t;
}

Status Like(const NodeCall& c, std::vector<Inferred>* out) {
  SetShape(out, 0, c.In(0)->shape);
  return {};
}

Status Regressor(const NodeCall& c, std::vector<Inferred>* out) {
  SetType(out, 0, DType::kF32);
  const int64_t targets =
      c.op() == "SVMRegressor" ? 1 : c.Int(c.op() == "LinearRegressor" ? "targets" : "n_targets", 1);
  SetShape(out, 0, {Rows(c), IntExpr(targets)});
  return {};
}

// Labels, one per row, and scores: one per class, or for SVMs as many as there are pairs of classes.
Status Classifier(const NodeCall& c, std::vector<Inferred>* out) {
  const int64_t classes =
      std::max({Length(c, "classlabels_ints"), Length(c, "classlabels_int64s"), Length(c, "classlabels_strings")});
  SetType(out, 0, Length(c, "classlabels_strings") > 0 ? DType::kString : DType::kI64);
  SetShape(out, 0, {Rows(c)});
  SetType(out, 1, DType::kF32);
  if (classes > 1) SetShape(out, 1, {Rows(c), c.op() == "SVMClassifier" && classes > 2 ? Expr() : IntExpr(classes)});
  return {};
}

Status OneHot(const NodeCall& c, std::vector<Inferred>* out) {
  Shape s = c.In(0)->shape;
  s.push_back(IntExpr(std::max(Length(c, "cats_int64s"), Length(c, "cats_strings"))));
  SetShape(out, 0, std::move(s));
  return {};
}

Status Features(const NodeCall& c, std::vector<Inferred>* out) {
  int64_t width = 0;
  for (int64_t n : c.Ints("inputdimensions").value_or(std::vector<int64_t>())) width += n;
  SetType(out, 0, DType::kF32);
  if (!c.In(0)->shape.empty()) SetShape(out, 0, {c.In(0)->shape[0], IntExpr(width)});
  return {};
}

Status ArrayFeatureExtractor(const NodeCall& c, std::vector<Inferred>* out) {
  Shape s = c.In(0)->shape;
  if (s.empty()) return ShapeError("a scalar has no columns");
  s.back() = Product(c.In(1)->shape);
  if (s.size() == 1) s.insert(s.begin(), IntExpr(1));
  SetShape(out, 0, std::move(s));
  return {};
}

}  // namespace

void AddMlRules(ShapeRules* rules) {
  for (const char* op : {"Scaler", "Normalizer", "Imputer", "Binarizer", "LabelEncoder", "CategoryMapper"})
    (*rules)[op] = Like;
  for (const char* op : {"LinearClassifier", "TreeEnsembleClassifier", "SVMClassifier"}) (*rules)[op] = Classifier;
  for (const char* op : {"LinearRegressor", "TreeEnsembleRegressor", "SVMRegressor"}) (*rules)[op] = Regressor;
  (*rules)["ArrayFeatureExtractor"] = ArrayFeatureExtractor;
  (*rules)["OneHotEncoder"] = OneHot;
  (*rules)["FeatureVectorizer"] = Features;
}

}  // namespace headrace::onnx_import
