// Evaluation of a form's expressions: names, lets, lists and choices vanish; what depends on data or indices remains.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/base/closest_word.h"
#include "ir/elaborate/elaborate_internal.h"

namespace headrace {
namespace elaborate {

const Binding* Elaborator::Find(Name n, const Env& env) const {
  for (const Binding* b = env.get(); b; b = b->next.get())
    if (b->name == n) return b;
  return nullptr;
}

Elaborator::Resolved Elaborator::Resolve(Name n, const Env& env, std::shared_ptr<const Binding>* binding) const {
  for (const Env* b = &env; *b; b = &(*b)->next) {
    if ((*b)->name != n) continue;
    if (binding) *binding = *b;
    return Resolved::kEnv;
  }
  if (containers_.count(n)) return Resolved::kContainer;
  if (variadic_.count(n)) return Resolved::kVariadic;
  if (attributes_.count(n)) return Resolved::kAttribute;
  if (absent_.count(n)) return Resolved::kAbsent;
  if (n == Name("pi") || n == Name("inf") || n == Name("nan")) return Resolved::kConstant;
  return groups_.count(n) ? Resolved::kGroup : Resolved::kIndex;
}

Name Elaborator::ContainerOf(Name n, const Env& env) const {
  if (const Binding* b = Find(n, env)) {
    if (b->kind == Binding::kContainer) return b->container;
    if (b->kind == Binding::kLet && b->parameters.empty() && b->body.Is(ExprKind::kSymbol))
      return ContainerOf(b->body->name, b->scope ? b->scope : b->next);
    return {};
  }
  auto it = containers_.find(n);
  return it == containers_.end() ? Name() : it->second;
}

std::string Elaborator::KnownNames() const {
  std::string out;
  for (const auto& [n, c] : containers_) out += (out.empty() ? "" : ", ") + n.str();
  for (const auto& [n, v] : variadic_) out += (out.empty() ? "" : ", ") + n.str();
  return "known here: " + out;
}

// A name before `?:` that is nothing here: fine when it may be there elsewhere, else a typo.
void Elaborator::MustBeDeclared(const Expr& name) const {
  const std::vector<Name>& elsewhere = context_.elsewhere;
  if (!context_.declared || std::find(elsewhere.begin(), elsewhere.end(), name->name) != elsewhere.end()) return;
  std::vector<std::string> names;
  for (const auto& [n, c] : containers_) names.push_back(n.str());
  for (const auto& [n, v] : attributes_) names.push_back(n.str());
  for (Name n : absent_) names.push_back(n.str());
  const std::string close = ClosestWord(name->name.str(), names);
  Fail(At(name), "'" + name->name.str() + "' is no port or attribute of this op",
       close.empty() ? "what stands before ?: must be declared" : "did you mean '" + close + "'?");
}

Val Elaborator::EvalAttribute(const Attribute& a, Name n, Place at) {
  struct Visitor {
    Name n;
    Place at;
    Val operator()(int64_t v) const { return Val::Scalar(IntExpr(v)); }
    Val operator()(double v) const { return Val::Scalar(FloatExpr(v)); }
    Val operator()(const std::string& v) const { return Val::String(v); }
    Val operator()(const std::vector<int64_t>& v) const {
      std::vector<Expr> items;
      for (int64_t x : v) items.push_back(IntExpr(x));
      return Val::List(std::move(items));
    }
    Val operator()(const std::vector<double>& v) const {
      std::vector<Expr> items;
      for (double x : v) items.push_back(FloatExpr(x));
      return Val::List(std::move(items));
    }
    Val operator()(const std::vector<std::string>& v) const {
      Val out;
      out.kind = Val::kStrings;
      out.texts = v;
      return out;
    }
    Val operator()(const Tensor&) const { return Val(); }
    Val operator()(const Name&) const { Fail(at, "attribute '" + n.str() + "' is a graph; a form can't use it"); }
  };
  return std::visit(Visitor{n, at}, a.value);
}

Val Elaborator::EvalBare(Name container, Context c) {
  const Container& k = s_.Get(container);
  const size_t rank = k.shape.size();
  if (c.list && rank == 1 && inputs_.count(container)) {
    if (has_known_.count(container)) return Val::List(known_[container]);
    std::optional<int64_t> n = AsInt(k.shape[0]);
    constexpr int64_t kMaxListed = 1 << 16;  // longer ones are data, not lists of sizes
    if (n && *n <= kMaxListed) {
      std::vector<Expr> items;
      for (int64_t i = 0; i < *n; ++i) items.push_back(ReadExpr(container, {IntExpr(i)}));
      return Val::List(std::move(items));
    }
  }
  if (c.list && rank == 0 && has_known_.count(container)) return Val::Scalar(known_[container].at(0));
  std::vector<Expr> index;
  for (size_t i = rank; i > 0; --i) index.push_back(SymbolExpr("%." + std::to_string(i - 1)));
  ellipsis_rank_ = std::max(ellipsis_rank_, static_cast<int>(rank));
  std::vector<Slot> slots;
  for (const Expr& e : index) slots.push_back({e, 0, 0, true});
  RecordWalks(container, slots, false, false);
  return Val::Scalar(ReadExpr(container, std::move(index)));
}

Val Elaborator::EvalLet(const std::shared_ptr<const Binding>& b, const std::vector<Val>& args, Place at) {
  if (b->parameters.size() != args.size())
    Fail(at, "'" + b->name.str() + "' takes " + std::to_string(b->parameters.size()) + " arguments, got " +
                 std::to_string(args.size()));
  if (b->parameters.empty()) {
    auto it = let_cache_.find(b.get());
    if (it != let_cache_.end()) return it->second;
    Val v = Eval(b->body, b->scope ? b->scope : b->next, {true});
    if (!v.unsolved()) let_cache_[b.get()] = v;
    return v;
  }
  Env env = b->scope ? b->scope : b->next;
  for (size_t i = 0; i < args.size(); ++i) {
    Binding p;
    p.name = b->parameters[i];
    p.kind = Binding::kValue;
    p.value = args[i];
    p.next = env;
    env = std::make_shared<Binding>(std::move(p));
  }
  return Eval(b->body, env, {true});
}

Val Elaborator::EvalName(const Expr& e, const Env& env, Context c) {
  std::shared_ptr<const Binding> b;
  switch (Resolve(e->name, env, &b)) {
    case Resolved::kEnv:
      for (const Walk& w : b->walks) AddWalk(w);
      if (b->kind == Binding::kValue) return b->value;
      if (b->kind == Binding::kContainer) return EvalBare(b->container, c);
      return EvalLet(b, {}, At(e));
    case Resolved::kContainer: return EvalBare(containers_.at(e->name), c);
    case Resolved::kVariadic:
      Fail(At(e), "'" + e->name.str() + "' is a list of tensors", "use: each T in " + e->name.str() + " { … }");
    case Resolved::kAttribute: return attributes_.at(e->name);
    case Resolved::kAbsent: return Val();
    case Resolved::kConstant:
      if (e->name == Name("pi")) return Val::Scalar(FloatExpr(M_PI));
      if (e->name == Name("inf")) return Val::Scalar(FloatExpr(std::numeric_limits<double>::infinity()));
      return Val::Scalar(FloatExpr(std::numeric_limits<double>::quiet_NaN()));
    case Resolved::kGroup: return Group(e->name);
    case Resolved::kIndex: {
      if (std::optional<DType> type = ParseDType(e->name.view())) return Val::Type(*type);
      const Name index("%" + e->name.str());
      Unbounded(index);
      return Val::Scalar(SymbolExpr(index));
    }
  }
  return Val();
}

// The default of an absent float port is a real, whatever it looks like: `B[o] ?: 0`.
Val Elaborator::DefaultOf(const Expr& what, Val v) const {
  if (!what.Is(ExprKind::kSymbol) && !what.Is(ExprKind::kRead)) return v;
  auto it = absent_type_.find(what->name);
  if (it == absent_type_.end() || !IsFloat(it->second) || v.kind != Val::kScalar || !v.e.Is(ExprKind::kInt)) return v;
  return Val::Scalar(FloatExpr(static_cast<double>(v.e->ivalue)));
}

Val Elaborator::EvalRead(const Expr& e, const Env& env, Context c) {
  std::vector<Expr> args = e->args;
  if (e->has_default) args.pop_back();
  Name container;
  std::shared_ptr<const Binding> b;
  switch (Resolve(e->name, env, &b)) {
    case Resolved::kEnv:
      if (b->kind == Binding::kContainer) {
        container = b->container;
        break;
      }
      if (b->kind == Binding::kLet && (container = ContainerOf(e->name, env), !container.empty())) break;
      {
        for (const Walk& w : b->walks) AddWalk(w);
        Val v = b->kind == Binding::kValue ? b->value : EvalLet(b, {}, At(e));
        return v.nothing() ? v : IndexVal(v, args, env, At(e));
      }
    case Resolved::kContainer: container = containers_.at(e->name); break;
    case Resolved::kAttribute: return IndexVal(attributes_.at(e->name), args, env, At(e));
    case Resolved::kAbsent: return Val();  // which is not outside: see kAbsent
    case Resolved::kVariadic: {
      const auto& list = variadic_.at(e->name);
      const int64_t i = args.size() == 1 ? EvalInt(args[0], env, "the number of a port") : -1;
      if (i < 0 || i >= static_cast<int64_t>(list.size())) Fail(At(e), "'" + e->name.str() + "' has no such tensor");
      return EvalBare(list[i], c);
    }
    default:
      Fail(At(e), "'" + e->name.str() + "' is not a tensor, list or attribute", KnownNames());
  }
  const Container& k = s_.Get(container);
  Val dflt;
  if (e->has_default) {
    dflt = Eval(e->args.back(), env, c);
    if (dflt.unsolved()) {
      if (!e->flat) (void)EvalPlace(args, env, static_cast<int>(k.shape.size()), e->name.str(), &k.shape, At(e));
      return dflt;
    }
    if (dflt.kind != Val::kScalar && !dflt.nothing()) Fail(At(e), "the value after ?? must be one number");
  }
  std::optional<std::vector<Slot>> slots =
      e->flat ? EvalPlace(args, env, 1, e->name.str() + ".flat", nullptr, At(e))
              : EvalPlace(args, env, static_cast<int>(k.shape.size()), e->name.str(), &k.shape, At(e));
  if (!slots) return Val::Unsolved();
  RecordWalks(container, *slots, e->flat, e->has_default);
  return ReadSlots(container, *slots, dflt, e->flat, c);
}

// Applies fn elementwise: scalars spread over lists, lists must have one length.
Val Elaborator::MapVals(const std::vector<Val>& v, Place at, const std::function<Expr(const std::vector<Expr>&)>& fn) {
  size_t length = 0;
  bool list = false;
  for (const Val& x : v) {
    if (x.unsolved()) return x;
    if (x.nothing()) Fail(at, "there is nothing here: an absent port or unset attribute", "give a default with ?:");
    if (x.kind != Val::kScalar && x.kind != Val::kList) Fail(at, "a number is needed here, found a string or type");
    if (x.kind != Val::kList) continue;
    if (list && x.items.size() != length)
      Fail(at, "lists of " + std::to_string(length) + " and " + std::to_string(x.items.size()) + " elements meet");
    list = true;
    length = x.items.size();
  }
  std::vector<Expr> args(v.size());
  auto at_position = [&](size_t i) {
    for (size_t j = 0; j < v.size(); ++j) args[j] = v[j].kind == Val::kList ? v[j].items[i] : v[j].e;
    return fn(args);
  };
  if (!list) return Val::Scalar(at_position(0));
  std::vector<Expr> items;
  for (size_t i = 0; i < length; ++i) items.push_back(at_position(i));
  return Val::List(std::move(items));
}

Val Elaborator::BinaryVal(Op op, const Val& a, const Val& b, Place at) {
  if (a.unsolved() || b.unsolved()) return Val::Unsolved();
  if (op == Op::kEq || op == Op::kNe) {
    if (a.kind == Val::kString && b.kind == Val::kString)
      return Val::Scalar(BoolExpr((a.text == b.text) == (op == Op::kEq)));
    if (a.kind == Val::kType && b.kind == Val::kType)
      return Val::Scalar(BoolExpr((a.type == b.type) == (op == Op::kEq)));
    // An unset string attribute equals no string.
    if ((a.nothing() && b.kind == Val::kString) || (b.nothing() && a.kind == Val::kString))
      return Val::Scalar(BoolExpr(op == Op::kNe));
  }
  return MapVals({a, b}, at, [&](const std::vector<Expr>& x) { return FoldBinary(op, x[0], x[1], assumptions_); });
}

std::optional<bool> Elaborator::Truth(const Val& v, Place at) {
  if (v.nothing()) Fail(at, "a condition on something absent or unset", "write has(…) or give a default with ?:");
  if (v.kind == Val::kScalar) return AsTruth(v.e);
  if (v.kind == Val::kString || v.kind == Val::kType) Fail(at, "a condition must be a number or bool");
  return std::nullopt;
}

Val Elaborator::SelectVal(const Val& c, const Expr& e, const Env& env, Context ctx) {
  if (std::optional<bool> t = Truth(c, At(e))) return Eval(e->args[*t ? 1 : 2], env, ctx);
  Val a = Eval(e->args[1], env, ctx), b = Eval(e->args[2], env, ctx);
  return MapVals({c, a, b}, At(e), [](const std::vector<Expr>& x) { return FoldSelect(x[0], x[1], x[2]); });
}

Val Elaborator::IndexVal(const Val& v, const std::vector<Expr>& args, const Env& env, Place at) {
  if (v.unsolved()) return v;
  if (args.size() != 1) Fail(at, "a list takes one index");
  if (args[0].Is(ExprKind::kColon)) {
    if (v.kind == Val::kScalar || args[0]->args.empty()) return v;  // a scalar is a list of any length
    if (v.kind != Val::kList) Fail(at, "only lists can be sliced");
    const int64_t n = static_cast<int64_t>(v.items.size());
    Val b = Eval(args[0]->args[0], env, {true}), e = Eval(args[0]->args[1], env, {true});
    if (b.unsolved() || e.unsolved()) return Val::Unsolved();
    const int64_t begin = EvalInt(args[0]->args[0], env, "a slice's begin"),
                  end = EvalInt(args[0]->args[1], env, "a slice's end");
    if (begin < 0 || end > n || begin > end)
      Fail(at, "slice " + std::to_string(begin) + ":" + std::to_string(end) + " of a list of " + std::to_string(n));
    return Val::List(std::vector<Expr>(v.items.begin() + begin, v.items.begin() + end));
  }
  Val i = Eval(args[0], env, {true});
  if (i.unsolved()) return i;
  if (v.kind == Val::kScalar) return v;
  if (i.kind != Val::kScalar) Fail(at, "the index of a list must be one number");
  std::optional<int64_t> k = AsInt(AsIndexLiteral(i.e));
  if (v.kind == Val::kStrings) {
    if (!k || *k < 0 || *k >= static_cast<int64_t>(v.texts.size())) Fail(at, "no such element in a list of strings");
    return Val::String(v.texts[*k]);
  }
  if (v.kind != Val::kList) Fail(at, "only lists can be indexed");
  const int64_t n = static_cast<int64_t>(v.items.size());
  if (k) {
    const int64_t j = *k < 0 ? *k + n : *k;
    if (j < 0 || j >= n) Fail(at, "element " + std::to_string(*k) + " of a list of " + std::to_string(n));
    return Val::Scalar(v.items[j]);
  }
  if (n == 0) return Val::Scalar(IntExpr(0));
  Expr out = v.items.back();
  for (int64_t j = n - 2; j >= 0; --j)
    out = FoldSelect(FoldBinary(Op::kEq, i.e, IntExpr(j), assumptions_), v.items[j], out);
  return Val::Scalar(out);
}

int64_t Elaborator::EvalInt(const Expr& e, const Env& env, const char* what) {
  Val v = Eval(e, env, {true});
  std::optional<int64_t> i = v.kind == Val::kScalar ? AsInt(AsIndexLiteral(v.e)) : std::nullopt;
  if (!i)
    Fail(At(e),
         std::string(what) + " must be an integer known before the run: " + ToString(e) +
             (v.kind == Val::kScalar ? " = " + ToString(v.e) : ""),
         "", ErrorKind::kUnsupported);
  return *i;
}

Val Elaborator::Eval(const Expr& e, const Env& env, Context c) {
  switch (e->kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat:
    case ExprKind::kBool: return Val::Scalar(e);
    case ExprKind::kString: return Val::String(e->text);
    case ExprKind::kSymbol: return EvalName(e, env, c);
    case ExprKind::kGroup: {
      Expr symbol = SymbolExpr(e->name);
      return EvalName(symbol, env, {true});
    }
    case ExprKind::kSplice: return Eval(e->args[0], env, {true});
    case ExprKind::kRead: return EvalRead(e, env, c);
    case ExprKind::kUnary:
      return MapVals({Eval(e->args[0], env, c)}, At(e),
                     [&](const std::vector<Expr>& x) { return FoldUnary(e->op, x[0]); });
    case ExprKind::kBinary: {
      Val a = Eval(e->args[0], env, c);
      if ((e->op == Op::kAnd || e->op == Op::kOr) && a.kind == Val::kScalar) {
        std::optional<bool> t = AsTruth(a.e);
        if (t && *t == (e->op == Op::kOr)) return Val::Scalar(BoolExpr(*t));
      }
      return BinaryVal(e->op, a, Eval(e->args[1], env, c), At(e));
    }
    case ExprKind::kSelect: {
      Val cond = Eval(e->args[0], env, c);
      if (cond.unsolved()) {  // look into the branches for what fixes group lengths
        (void)Eval(e->args[1], env, c);
        (void)Eval(e->args[2], env, c);
        return cond;
      }
      return SelectVal(cond, e, env, c);
    }
    case ExprKind::kGuard:
      Fail(At(e), "'" + ToString(e) + "': ?? follows a read whose indices may be outside, X[i - 1] ?? 0",
           "what may be absent or unset has its default after ?: as in " + ToString(e->args[0]) + " ?: " +
               ToString(e->args[1]));
    case ExprKind::kAbsent: {
      const Expr& first = e->args[0];
      // Without a signature, an unknown name is as good as unset.
      const bool name = first.Is(ExprKind::kSymbol) || first.Is(ExprKind::kRead);
      const bool unknown = name && Resolve(first->name, env, nullptr) == Resolved::kIndex;
      if (unknown) MustBeDeclared(first);
      Val v = unknown ? Val() : Eval(first, env, c);
      return v.nothing() ? DefaultOf(first, Eval(e->args[1], env, c)) : v;
    }
    case ExprKind::kIndex: {
      Val v = Eval(e->args[0], env, {true});
      return v.nothing() ? v : IndexVal(v, {e->args.begin() + 1, e->args.end()}, env, At(e));
    }
    case ExprKind::kCall: return EvalCall(e, env, c);
    case ExprKind::kCast: return CastVal(Eval(e->args[0], env, c), e->dtype, e->saturate, At(e));
    case ExprKind::kList: {
      std::vector<Expr> items;
      Val strings;
      strings.kind = Val::kStrings;
      for (const Expr& a : e->args) {
        Val v = Eval(a, env, c);
        if (v.unsolved()) return v;
        if (v.kind == Val::kString) strings.texts.push_back(v.text);
        else if (v.kind == Val::kScalar) items.push_back(v.e);
        else if (v.kind == Val::kList) items.insert(items.end(), v.items.begin(), v.items.end());
        else Fail(At(a), "a list holds numbers or strings");
      }
      if (!strings.texts.empty() && items.empty()) return strings;
      return Val::List(std::move(items));
    }
    case ExprKind::kPlaced:
    case ExprKind::kColon:
    case ExprKind::kEllipsis: break;
  }
  Fail(At(e), "'" + ToString(e) + "' can stand between brackets only");
}

}  // namespace elaborate
}  // namespace headrace
