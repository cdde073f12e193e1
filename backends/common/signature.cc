#include "backends/common/signature.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/registry/registry.h"
#include "runtime/hr_scalar.h"

namespace headrace {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + "]";
}
std::string ShapeText(const std::vector<Expr>& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + ToString(shape[i]);
  return s + "]";
}

std::string TypeText(const ValueType& t) {
  if (t.kind == ValueType::kTensor) return std::string(DTypeName(t.dtype));
  return (t.kind == ValueType::kSequence ? "seq(" : "optional(") + (t.element ? TypeText(*t.element) : "") + ")";
}

Diagnostic Wrong(const char* code, std::string message, std::string got, std::string expected, std::string hint = "") {
  Diagnostic d;
  d.code = code;
  d.message = std::move(message);
  d.got = std::move(got);
  d.expected = std::move(expected);
  d.hint = std::move(hint);
  return d;
}

// Where a symbol got its value, for messages about a second one that disagrees.
struct Origin_ {
  int64_t value;
  std::string from;
};

}  // namespace

std::optional<int64_t> BoundArguments::Find(Name symbol) const {
  for (const auto& [n, v] : symbols)
    if (n == symbol) return v;
  return std::nullopt;
}

std::string Declaration(const Container& c) {
  if (c.kind == ContainerKind::kSequence || c.type.kind != ValueType::kTensor)
    return c.name.str() + ": " + TypeText(c.type);
  return c.name.str() + ": " + std::string(DTypeName(c.dtype)) + (c.shape.empty() ? "" : ShapeText(c.shape));
}

namespace {

bool Overflows(Op op, int64_t a, int64_t b) {
  int64_t ignored;
  return op == Op::kAdd   ? __builtin_add_overflow(a, b, &ignored)
         : op == Op::kSub ? __builtin_sub_overflow(a, b, &ignored)
                          : op == Op::kMul && __builtin_mul_overflow(a, b, &ignored);
}

}  // namespace

std::optional<int64_t> EvalSize(const Expr& e, const std::function<std::optional<int64_t>(Name)>& symbol, bool* overflow) {
  if (!e) return std::nullopt;
  if (e.Is(ExprKind::kInt) || e.Is(ExprKind::kBool)) return e->ivalue;
  if (e.Is(ExprKind::kSymbol)) return symbol(e->name);
  if (e.Is(ExprKind::kSelect)) {  // the branch not taken may have any value, or none
    const auto first = EvalSize(e->args[0], symbol, overflow);
    return first ? EvalSize(e->args[*first ? 1 : 2], symbol, overflow) : std::nullopt;
  }
  std::vector<int64_t> a;
  for (const Expr& x : e->args) {
    const auto v = EvalSize(x, symbol, overflow);
    if (!v) return std::nullopt;
    a.push_back(*v);
  }
  if (e.Is(ExprKind::kCast)) return a[0];
  if (e.Is(ExprKind::kUnary)) return e->op == Op::kNeg ? hr_neg(a[0]) : e->op == Op::kNot ? int64_t{!a[0]} : ~a[0];
  if (e.Is(ExprKind::kCall)) {
    const auto fn = e->name.view();
    if (fn == "min" && a.size() == 2) return std::min(a[0], a[1]);
    if (fn == "max" && a.size() == 2) return std::max(a[0], a[1]);
    if (fn == "wrap" && a.size() == 2) return hr_wrap(a[0], a[1]);
    if (fn == "reflect" && a.size() == 2) return hr_reflect(a[0], a[1]);
    if (fn == "abs") return hr_abs(a[0]);
    if (fn == "clamp" && a.size() == 3) return std::min(std::max(a[0], a[1]), a[2]);
    return std::nullopt;
  }
  if (!e.Is(ExprKind::kBinary)) return std::nullopt;
  if (overflow && Overflows(e->op, a[0], a[1])) *overflow = true;
  switch (e->op) {
    case Op::kAdd: return hr_add(a[0], a[1]);
    case Op::kSub: return hr_sub(a[0], a[1]);
    case Op::kMul: return hr_mul(a[0], a[1]);
    case Op::kDiv: return a[1] != 0 && a[0] % a[1] == 0 ? std::optional<int64_t>(a[0] / a[1]) : std::nullopt;
    case Op::kFloorDiv: return hr_floor_div(a[0], a[1]);
    case Op::kMod: return hr_floor_mod(a[0], a[1]);
    case Op::kEq: return a[0] == a[1];
    case Op::kNe: return a[0] != a[1];
    case Op::kLt: return a[0] < a[1];
    case Op::kLe: return a[0] <= a[1];
    case Op::kGt: return a[0] > a[1];
    case Op::kGe: return a[0] >= a[1];
    case Op::kAnd: return a[0] && a[1];
    case Op::kOr: return a[0] || a[1];
    default: return std::nullopt;
  }
}

namespace {

// Sizes of containers that don't fit in 64 bits would come out as others.
void CheckProducts(const Sdfg& s, const std::function<std::optional<int64_t>(Name)>& symbol, std::vector<Diagnostic>* wrong) {
  for (Name n : s.order) {
    const Container& c = s.Get(n);
    for (const Expr& d : c.shape) {
      if (!d || d.Is(ExprKind::kSymbol) || d.Is(ExprKind::kInt)) continue;
      bool overflow = false;
      (void)EvalSize(d, symbol, &overflow);
      if (!overflow) continue;
      wrong->push_back(Wrong("E0661", "size " + ToString(d) + " of " + n.str() + " does not fit in 64 bits", "", "",
                             "give smaller sizes"));
      break;
    }
  }
}

}  // namespace

Result<BoundArguments> BindArguments(const Program& p, const Sdfg& s,
                                     const std::vector<std::pair<Name, Value>>& arguments,
                                     const std::vector<std::pair<Name, int64_t>>& symbols) {
  std::vector<Diagnostic> wrong;
  BoundArguments r;
  r.values.resize(s.parameters.size());
  const std::vector<Name> inputs = Inputs(p, s);
  std::vector<std::string> names;
  for (Name n : inputs) names.push_back(n.str());
  const std::unordered_set<Name> is_input(inputs.begin(), inputs.end());
  std::unordered_map<Name, size_t> position;
  for (size_t k = 0; k < s.parameters.size(); ++k) position.emplace(s.parameters[k], k);
  auto list = [](const std::vector<std::string>& all) {
    std::string text;
    for (size_t i = 0; i < all.size() && i < 20; ++i) text += (i ? ", " : "") + all[i];
    return text + (all.size() > 20 ? ", …" : "");
  };

  for (const auto& [name, value] : arguments) {
    if (!is_input.count(name)) {
      const std::string close = ClosestWord(name.str(), names);
      wrong.push_back(Wrong("E0671", "no input named " + name.str(), "", "",
                            close.empty()
                                ? names.empty() ? "the program takes no inputs" : "the inputs are " + list(names)
                                : "did you mean " + close + "?"));
      continue;
    }
    const size_t k = position.at(name);
    if (r.values[k] != nullptr) wrong.push_back(Wrong("E0677", "input " + name.str() + " is given twice", "", ""));
    r.values[k] = &value;
  }

  std::unordered_map<Name, Origin_> bound;
  std::vector<std::string> symbol_names;
  for (Name n : FreeSymbols(s)) symbol_names.push_back(n.str());
  for (const auto& [name, value] : symbols) {
    if (std::find(symbol_names.begin(), symbol_names.end(), name.str()) == symbol_names.end()) {
      const std::string close = ClosestWord(name.str(), symbol_names);
      wrong.push_back(Wrong("E0671", "no size named " + name.str(), "", "",
                            !close.empty()         ? "did you mean " + close + "?"
                            : symbol_names.empty() ? "the program has no sizes"
                                                   : "the sizes are " + list(symbol_names)));
      continue;
    }
    bound[name] = {value, "given by name"};
  }

  // Names and kinds first, then bare dimensions (which give sizes their values), then every dimension expression.
  auto checked = [&](size_t k) -> const Tensor* {
    const Container& c = s.Get(s.parameters[k]);
    const Value* v = r.values[k];
    return v != nullptr && v->kind == Value::kTensor && c.type.kind == ValueType::kTensor &&
                   v->tensor.dtype == c.dtype && v->tensor.shape.size() == c.shape.size()
               ? &v->tensor
               : nullptr;
  };
  for (size_t k = 0; k < s.parameters.size(); ++k) {
    const Container& c = s.Get(s.parameters[k]);
    const Value* v = r.values[k];
    const std::string what = "input " + c.name.str();
    if (v == nullptr) {
      if (is_input.count(c.name) && !c.optional && c.type.kind != ValueType::kOptional) {
        wrong.push_back(Wrong("E0670", "missing " + what, "", Declaration(c)));
      }
      continue;
    }
    if (c.type.kind == ValueType::kTensor) {
      if (v->kind == Value::kAbsent && c.optional) {
        r.values[k] = nullptr;
        continue;
      }
      if (v->kind != Value::kTensor) {
        wrong.push_back(
            Wrong("E0672",
                  what + " must be a tensor", v->kind == Value::kSequence ? "a sequence" : "nothing", Declaration(c)));
      } else if (v->tensor.dtype != c.dtype) {
        wrong.push_back(Wrong("E0672", what + " has the wrong type", std::string(DTypeName(v->tensor.dtype)),
                              std::string(DTypeName(c.dtype)), "convert it first: types are never changed silently"));
      } else if (v->tensor.shape.size() != c.shape.size()) {
        wrong.push_back(
            Wrong("E0673",
                  what + " has the wrong number of dimensions", ShapeText(v->tensor.shape), ShapeText(c.shape)));
      }
    } else if (c.type.kind == ValueType::kSequence && v->kind != Value::kSequence) {
      wrong.push_back(
          Wrong("E0672",
                what + " must be a sequence", v->kind == Value::kTensor ? "a tensor" : "nothing", Declaration(c)));
    }
  }
  for (size_t k = 0; k < s.parameters.size(); ++k) {
    const Tensor* t = checked(k);
    if (t == nullptr) continue;
    const Container& c = s.Get(s.parameters[k]);
    for (size_t d = 0; d < c.shape.size(); ++d) {
      if (!c.shape[d].Is(ExprKind::kSymbol)) continue;
      const std::string from = "input " + c.name.str() + ", dimension " + std::to_string(d);
      auto [it, fresh] = bound.emplace(c.shape[d]->name, Origin_{t->shape[d], from});
      if (!fresh && it->second.value != t->shape[d]) {
        wrong.push_back(Wrong("E0674",
                              "sizes disagree: " + c.shape[d]->name.str() + " is " + std::to_string(it->second.value) +
                                  " (" + it->second.from + ") and " + std::to_string(t->shape[d]) + " (" + from + ")",
                              ShapeText(t->shape), Declaration(c)));
      }
    }
  }
  auto lookup = [&](Name n) -> std::optional<int64_t> {
    auto it = bound.find(n);
    return it == bound.end() ? std::nullopt : std::optional<int64_t>(it->second.value);
  };
  for (size_t k = 0; k < s.parameters.size(); ++k) {
    const Tensor* t = checked(k);
    if (t == nullptr) continue;
    const Container& c = s.Get(s.parameters[k]);
    for (size_t d = 0; d < c.shape.size(); ++d) {
      if (c.shape[d].Is(ExprKind::kSymbol)) continue;
      const auto want = EvalSize(c.shape[d], lookup);
      if (!want) {
        wrong.push_back(Wrong("E0674", "input " + c.name.str() + ": dimension " + std::to_string(d) + " is " +
                                  ToString(c.shape[d]) + ", which the arguments don't determine",
                              ShapeText(t->shape), Declaration(c), "give the size by name"));
      } else if (*want != t->shape[d]) {
        const std::string text = ToString(c.shape[d]);
        const std::string value = std::to_string(*want);
        wrong.push_back(Wrong("E0674", "input " + c.name.str() + ": dimension " + std::to_string(d) + " is " +
                                  std::to_string(t->shape[d]) + ", not " +
                                  (text == value ? value : text + " = " + value),
                              ShapeText(t->shape), ShapeText(c.shape)));
      }
    }
  }
  for (Name n : s.symbol_params) {
    if (!bound.count(n))
      wrong.push_back(Wrong("E0670", "missing size " + n.str(), "", "", "give it by name: --dim " + n.str() + "=…"));
  }
  for (const auto& [n, interval] : s.assumptions.bounds) {
    const auto v = lookup(n);
    if (v && ((interval.lo && *v < *interval.lo) || (interval.hi && *v > *interval.hi))) {
      wrong.push_back(Wrong("E0675",
                            "size " + n.str() + " = " + std::to_string(*v) + " is outside what the program assumes",
                            std::to_string(*v),
                            (interval.lo ? std::to_string(*interval.lo) + " <= " : "") + n.str() +
                                (interval.hi ? " <= " + std::to_string(*interval.hi) : "")));
    }
  }
  CheckProducts(s, lookup, &wrong);
  if (!wrong.empty()) return Status(std::move(wrong));
  for (const auto& [n, o] : bound) r.symbols.emplace_back(n, o.value);
  std::sort(r.symbols.begin(), r.symbols.end());
  return r;
}

}  // namespace headrace
