// Functions that exist in forms only: about ports, on lists, casts, activations by name. They fold away.
#include <algorithm>
#include <cmath>
#include <set>

#include "ir/elaborate/elaborate_internal.h"

namespace headrace {
namespace elaborate {
namespace {

bool IsOneOf(const std::string& s, std::initializer_list<const char*> list) {
  return std::any_of(list.begin(), list.end(), [&](const char* x) { return s == x; });
}

std::vector<Expr> ItemsOf(const Val& v) { return v.kind == Val::kList ? v.items : std::vector<Expr>{v.e}; }

}  // namespace

DType Elaborator::TypeArgument(const Val& v, Place at) {
  if (v.kind == Val::kType) return v.type;
  std::optional<int64_t> n = v.kind == Val::kScalar ? AsInt(v.e) : std::nullopt;
  std::optional<DType> t = n ? TypeFromOnnx(*n) : std::nullopt;
  if (!t) Fail(at, "a type is needed here: f32, dtype(X) or an ONNX type number");
  return *t;
}

Val Elaborator::CastVal(const Val& v, DType t, bool saturate, Place at) {
  return MapVals({v}, at, [&](const std::vector<Expr>& x) { return FoldCast(t, x[0], saturate); });
}

Val Elaborator::LengthOf(const Expr& arg, const Env& env, Place at) {
  if (arg.Is(ExprKind::kSymbol)) {
    const Name n = arg->name;
    switch (Resolve(n, env, nullptr)) {
      case Resolved::kVariadic: return Val::Scalar(IntExpr(static_cast<int64_t>(variadic_.at(n).size())));
      case Resolved::kIndex: return Val::Scalar(SymbolExpr("%len:%" + n.str()));
      case Resolved::kGroup: {
        Val g = Group(n);
        if (g.unsolved()) return g;
        Expr product = IntExpr(1);
        for (const Expr& i : g.items) product = product * SymbolExpr("%len:" + i->name.str());
        return Val::Scalar(product);
      }
      default: break;
    }
    if (Name c = ContainerOf(n, env); !c.empty()) {
      if (has_known_.count(c)) return Val::Scalar(IntExpr(static_cast<int64_t>(known_[c].size())));
      return Val::Scalar(NumElements(s_.Get(c)));
    }
  }
  Val v = Eval(arg, env, {true});
  if (v.unsolved()) return v;
  if (v.kind == Val::kList) return Val::Scalar(IntExpr(static_cast<int64_t>(v.items.size())));
  if (v.kind == Val::kStrings) return Val::Scalar(IntExpr(static_cast<int64_t>(v.texts.size())));
  if (v.nothing()) return Val::Scalar(IntExpr(0));
  Fail(at, "len(…) needs a list, an index or a tensor: " + ToString(arg));
}

Val Elaborator::EvalPortFunction(const std::string& fn, const Expr& e, const Env& env) {
  if (e->args.empty()) Fail(At(e), "'" + fn + "' needs the name of a port");
  const Expr& first = e->args[0];
  const Name n = first.Is(ExprKind::kSymbol) ? first->name : Name();
  if (fn == "has") {
    std::shared_ptr<const Binding> b;
    switch (Resolve(n, env, &b)) {
      case Resolved::kEnv: return Val::Scalar(BoolExpr(b->kind != Binding::kLet || !EvalLet(b, {}, At(e)).nothing()));
      case Resolved::kContainer: return Val::Scalar(BoolExpr(!absent_outputs_.count(n)));
      case Resolved::kAttribute:
      case Resolved::kVariadic: return Val::Scalar(BoolExpr(true));
      default: return Val::Scalar(BoolExpr(false));
    }
  }
  if (fn == "rank" && groups_.count(n) && Resolve(n, env, nullptr) == Resolved::kGroup) {
    std::optional<int> length = GroupLength(n);
    return length ? Val::Scalar(IntExpr(*length)) : Val::Unsolved();
  }
  const Name c = n.empty() ? Name() : ContainerOf(n, env);
  if (IsOneOf(fn, {"dtype", "is_int", "is_bool", "is_fp8", "is_float"})) {
    DType t;
    if (!c.empty()) {
      t = s_.Get(c).dtype;
      for (const auto& [port, acc] : shadow_)
        if (acc == c) t = s_.Get(port).dtype;
    } else if (absent_type_.count(n)) {
      t = absent_type_.at(n);
    } else {
      t = TypeArgument(Eval(first, env, {true}), At(e));
    }
    if (fn == "dtype") return Val::Type(t);
    return Val::Scalar(BoolExpr(fn == "is_int"    ? IsInteger(t)
                                : fn == "is_bool" ? t == DType::kBool
                                : fn == "is_fp8"  ? IsFp8(t)
                                                  : IsFloat(t)));
  }
  if (c.empty()) {
    if (fn == "rank" || fn == "dims") {
      Val v = Eval(first, env, {true});
      if (v.unsolved()) return v;
      if (v.nothing()) Fail(At(e), "'" + ToString(first) + "' is absent here", "guard it: has(…) ? … : …");
      if (fn == "rank") return Val::Scalar(IntExpr(v.kind == Val::kList ? 1 : 0));
    }
    Fail(At(e), "'" + fn + "' needs the name of a present port, found " + ToString(first), KnownNames());
  }
  const std::vector<Expr>& shape = s_.Get(c).shape;
  if (fn == "rank") return Val::Scalar(IntExpr(static_cast<int64_t>(shape.size())));
  if (fn == "dims") return Val::List(shape);
  std::vector<Expr> list = fn == "stride" ? RowMajorStrides(shape) : shape;
  if (e->args.size() != 2) Fail(At(e), "'" + fn + "' takes a port and an axis");
  Val axis = Eval(e->args[1], env, {true});
  if (axis.unsolved()) return axis;
  const int64_t rank = static_cast<int64_t>(list.size());
  return MapVals({axis}, At(e), [&](const std::vector<Expr>& x) -> Expr {
    std::optional<int64_t> k = AsInt(AsIndexLiteral(x[0]));
    if (!k) {  // by a variable axis: a choice among the dimensions
      if (list.empty()) return IntExpr(1);
      Expr out = list.back();
      for (int64_t j = rank - 2; j >= 0; --j)
        out = FoldSelect(FoldBinary(Op::kEq, x[0], IntExpr(j), assumptions_), list[j], out);
      return out;
    }
    if (*k < -rank || *k >= rank)
      Fail(At(e), "axis " + std::to_string(*k) + " is out of range: '" + n.str() + "' has " + std::to_string(rank) +
                      " dimensions");
    return list[*k < 0 ? *k + rank : *k];
  });
}

Val Elaborator::EvalListFunction(const std::string& fn, const std::vector<Val>& a, Place at) {
  for (const Val& v : a) {
    if (v.unsolved()) return v;
    if (v.nothing()) Fail(at, "'" + fn + "' of something absent or unset", "give a default with ?:");
  }
  auto fold = [&](auto&& join, Expr empty) {
    std::vector<Expr> items = ItemsOf(a.at(0));
    Expr out = items.empty() ? empty : items[0];
    for (size_t i = 1; i < items.size(); ++i) out = join(out, items[i]);
    return Val::Scalar(out);
  };
  auto op = [&](Op o) { return [this, o](const Expr& x, const Expr& y) { return FoldBinary(o, x, y, assumptions_); }; };
  auto call = [&](const char* f) {
    return [this, f](const Expr& x, const Expr& y) { return FoldCall(f, {x, y}, assumptions_); };
  };
  if (fn == "prod") return fold(op(Op::kMul), IntExpr(1));
  if (fn == "sum") return fold(op(Op::kAdd), IntExpr(0));
  if (fn == "all") return fold(op(Op::kAnd), BoolExpr(true));
  if (fn == "any") return fold(op(Op::kOr), BoolExpr(false));
  if (fn == "least") return fold(call("min"), IntExpr(0));
  if (fn == "most") return fold(call("max"), IntExpr(0));
  if (fn == "reverse") {
    std::vector<Expr> items = ItemsOf(a.at(0));
    std::reverse(items.begin(), items.end());
    return Val::List(std::move(items));
  }
  if (fn == "concat") {
    std::vector<Expr> items;
    for (const Val& v : a)
      for (const Expr& e : ItemsOf(v)) items.push_back(e);
    return Val::List(std::move(items));
  }
  if (fn == "fold") {  // coordinates → flat offset, row-major
    std::vector<Expr> at_list = ItemsOf(a.at(0)), dims = ItemsOf(a.at(1));
    if (at_list.size() != dims.size())
      Fail(at, "fold of " + std::to_string(at_list.size()) + " coordinates in " + std::to_string(dims.size()) +
                   " dimensions");
    Expr out = IntExpr(0);
    for (size_t i = 0; i < dims.size(); ++i)
      out = FoldBinary(Op::kAdd, FoldBinary(Op::kMul, out, dims[i], assumptions_), at_list[i], assumptions_);
    return Val::Scalar(out);
  }
  if (fn == "unfold") {  // flat offset → coordinates
    std::vector<Expr> dims = ItemsOf(a.at(1)), items(dims.size());
    Expr rest = a.at(0).e;
    for (size_t i = dims.size(); i-- > 0;) {
      items[i] = i == 0 ? rest : FoldBinary(Op::kMod, rest, dims[i], assumptions_);
      rest = FoldBinary(Op::kFloorDiv, rest, dims[i], assumptions_);
    }
    return Val::List(std::move(items));
  }
  if (fn == "surely") {  // what can't be decided before the run is not sure
    if (a.size() != 1 || a[0].kind != Val::kScalar) Fail(at, "surely takes one condition");
    return Val::Scalar(BoolExpr(AsTruth(a[0].e).value_or(false)));
  }
  if (fn == "keep") {  // the elements whose condition holds or can't be decided
    if (a.size() != 2) Fail(at, "keep takes a list and conditions");
    std::vector<Expr> items = ItemsOf(a[0]), out;
    std::vector<Expr> conditions = a[1].kind == Val::kList ? a[1].items : std::vector<Expr>(items.size(), a[1].e);
    if (items.size() != conditions.size())
      Fail(at, "keep of " + std::to_string(items.size()) + " elements by " + std::to_string(conditions.size()) +
                   " conditions");
    for (size_t i = 0; i < items.size(); ++i)
      if (AsTruth(conditions[i]).value_or(true)) out.push_back(items[i]);
    return Val::List(std::move(out));
  }
  // range(n), range(begin, end), range(begin, end, step)
  int64_t v[3] = {0, 0, 1};
  if (a.empty() || a.size() > 3) Fail(at, "range takes one to three integers");
  for (size_t i = 0; i < a.size(); ++i) {
    std::optional<int64_t> k = a[i].kind == Val::kScalar ? AsInt(AsIndexLiteral(a[i].e)) : std::nullopt;
    if (!k) Fail(at, "the bounds of range(…) must be known before the run");
    v[a.size() == 1 ? 1 : i] = *k;
  }
  std::vector<Expr> items;
  for (int64_t i = v[0]; v[2] > 0 ? i < v[1] : i > v[1]; i += v[2]) items.push_back(IntExpr(i));
  return Val::List(std::move(items));
}

// ONNX's activation functions of recurrent ops (RNN-22, "activations"), with their default alpha and beta.
Val Elaborator::Activation(const std::string& given, const std::vector<Val>& a, Place at) {
  std::string name = given;
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  static const std::map<std::string, std::pair<double, double>> kDefaults = {
      {"relu", {0, 0}},         {"tanh", {0, 0}},
      {"sigmoid", {0, 0}},      {"softsign", {0, 0}},
      {"softplus", {0, 0}},     {"affine", {1, 0}},
      {"leakyrelu", {0.01, 0}}, {"thresholdedrelu", {1, 0}},
      {"scaledtanh", {1, 1}},   {"hardsigmoid", {0.2, 0.5}},
      {"elu", {1, 0}}};
  auto it = kDefaults.find(name);
  if (it == kDefaults.end()) Fail(at, "there is no activation '" + given + "'", "", ErrorKind::kUnsupported);
  const Val alpha = a.size() > 1 && !a[1].nothing() ? a[1] : Val::Scalar(FloatExpr(it->second.first));
  const Val beta = a.size() > 2 && !a[2].nothing() ? a[2] : Val::Scalar(FloatExpr(it->second.second));
  auto call = [](const char* f, std::vector<Expr> args) { return CallExpr(f, std::move(args)); };
  return MapVals({a.at(0), alpha, beta}, at, [&](const std::vector<Expr>& v) -> Expr {
    const Expr &x = v[0], &al = v[1], &be = v[2], zero = IntExpr(0), one = IntExpr(1);
    auto mul = [](const Expr& p, const Expr& q) { return BinaryExpr(Op::kMul, p, q); };
    auto add = [](const Expr& p, const Expr& q) { return BinaryExpr(Op::kAdd, p, q); };
    auto negative = BinaryExpr(Op::kLt, x, zero);
    if (name == "relu") return call("max", {x, zero});
    if (name == "tanh") return call("tanh", {x});
    if (name == "sigmoid") return BinaryExpr(Op::kDiv, one, add(one, call("exp", {UnaryExpr(Op::kNeg, x)})));
    if (name == "softsign") return BinaryExpr(Op::kDiv, x, add(one, call("abs", {x})));
    if (name == "softplus")
      return add(call("max", {x, zero}), call("log1p", {call("exp", {UnaryExpr(Op::kNeg, call("abs", {x}))})}));
    if (name == "affine") return add(mul(al, x), be);
    if (name == "leakyrelu") return SelectExpr(negative, mul(al, x), x);
    if (name == "thresholdedrelu") return SelectExpr(BinaryExpr(Op::kGe, x, al), x, zero);
    if (name == "scaledtanh") return mul(al, call("tanh", {mul(be, x)}));
    if (name == "hardsigmoid") return call("clamp", {add(mul(al, x), be), zero, one});
    return SelectExpr(negative, mul(al, call("expm1", {x})), x);
  });
}

Val Elaborator::EvalCall(const Expr& e, const Env& env, Context c) {
  const std::string fn = e->name.str();
  std::shared_ptr<const Binding> b;
  if (Resolve(e->name, env, &b) == Resolved::kEnv && b->kind == Binding::kLet && !b->parameters.empty()) {
    std::vector<Val> args;
    for (const Expr& a : e->args) args.push_back(Eval(a, env, c));
    return EvalLet(b, args, At(e));
  }
  if (IsOneOf(fn, {"rank", "dim", "dims", "stride", "has", "dtype", "is_int", "is_bool", "is_fp8", "is_float"}))
    return EvalPortFunction(fn, e, env);
  if (fn == "len") {
    if (e->args.size() != 1) Fail(At(e), "len takes one argument");
    return LengthOf(e->args[0], env, At(e));
  }
  if (fn == "lowest" || fn == "highest") return Val::Scalar(CallExpr(e->name, {}));
  const bool list_function = IsOneOf(fn, {"prod", "sum", "all", "any", "least", "most", "reverse", "concat", "fold",
                                          "unfold", "range", "keep", "surely"});
  std::vector<Val> args;
  bool unsolved = false;
  for (const Expr& a : e->args) {
    args.push_back(Eval(a, env, list_function ? Context{true} : c));
    unsolved = unsolved || args.back().unsolved();
  }
  if (unsolved) return Val::Unsolved();
  if (list_function) return EvalListFunction(fn, args, At(e));
  if (fn == "cast" || fn == "sat") {
    if (args.empty() || args.size() > 2) Fail(At(e), "'" + fn + "' takes a value and perhaps a type");
    if (args.size() == 2 && !args[1].nothing())
      return CastVal(args[0], TypeArgument(args[1], At(e)), fn == "sat", At(e));
    if (target_type_ == DType::kNone)
      Fail(At(e), "'" + fn + "' without a type needs a target of known type", "write " + fn + "(x, f32)");
    // A conversion to the target's type is what assignment does to an untyped value.
    return MapVals({args[0]}, At(e), [&](const std::vector<Expr>& x) {
      return fn == "cast" && AsNumber(x[0]) ? x[0] : CastExpr(target_type_, x[0], fn == "sat");
    });
  }
  if (fn == "wide") {  // to i32, i64, f32 or f64: where a difference of small types is exact
    TypeScope scope{&s_, has_f64_};
    return MapVals({args.at(0)}, At(e), [&](const std::vector<Expr>& x) -> Expr {
      if (AsNumber(x[0]) || IsIndexExpr(x[0])) return x[0];
      const DType t = TemporaryType(scope, x[0], WriteOp::kMax, At(e));
      if (t == DType::kF64 || t == DType::kF32) return x[0];
      return CastExpr(IsFloat(t) ? DType::kF32 : ByteSize(t) == 1 ? DType::kI32 : DType::kI64, x[0]);
    });
  }
  if (fn == "call") {
    // call(activations, k, x): the k-th of a list. activation_alpha and activation_beta are consumed in the list's order,
    // each by those activations only that have such a parameter.
    if (args.size() == 3 && args[0].kind == Val::kStrings) {
      auto k = args[1].kind == Val::kScalar ? AsInt(args[1].e) : std::nullopt;
      const std::vector<std::string>& names = args[0].texts;
      if (!k || *k < 0 || *k >= static_cast<int64_t>(names.size()))
        Fail(At(e), "there are fewer activations than the layer has functions");
      auto scale = [&](const char* attribute, const std::set<std::string>& users) {
        auto it = attributes_.find(Name(attribute));
        if (it == attributes_.end() || it->second.kind != Val::kList) return Val();
        size_t at = 0;
        auto uses = [&](std::string name) {
          for (char& ch : name) ch = static_cast<char>(std::tolower(ch));
          return users.count(name) != 0;
        };
        for (int64_t i = 0; i < *k; ++i) at += uses(names[static_cast<size_t>(i)]);
        return uses(names[static_cast<size_t>(*k)]) && at < it->second.items.size() ? Val::Scalar(it->second.items[at])
                                                                                    : Val();
      };
      return Activation(
          names[static_cast<size_t>(*k)],
          {args[2],
           scale("activation_alpha", {"affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu"}),
           scale("activation_beta", {"affine", "scaledtanh", "hardsigmoid"})},
          At(e));
    }
    if (args.size() < 2 || args[0].kind != Val::kString) Fail(At(e), "call takes an activation's name and a value");
    return Activation(args[0].text, {args.begin() + 1, args.end()}, At(e));
  }
  const FunctionInfo* info = FindFunction(fn);
  if (!info) Fail(At(e), "there is no function '" + fn + "'");
  const int n = static_cast<int>(args.size());
  if (n < info->min_arity || n > info->max_arity)
    Fail(At(e), "'" + fn + "' takes " + std::to_string(info->min_arity) + " arguments, got " + std::to_string(n));
  return MapVals(args, At(e), [&](const std::vector<Expr>& x) { return FoldCall(e->name, x, assumptions_); });
}

}  // namespace elaborate

const std::vector<std::string>& FormFunctions() {  // those of EvalCall
  static const std::vector<std::string> all = {"rank", "dim",  "dims",  "stride", "has",     "dtype",  "is_int", "is_bool", "is_fp8", "is_float",
                                               "len",  "prod", "sum",   "all",    "any",     "least",  "most",   "reverse", "concat", "fold",
                                               "unfold", "range", "keep", "surely", "lowest", "highest", "cast",  "sat",     "wide",   "call"};
  return all;
}

}  // namespace headrace
