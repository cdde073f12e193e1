#include "transforms/epilogue_steps.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace headrace::transforms {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::optional<double> NumberIn(const Expr& e) {
  if (e.Is(ExprKind::kInt)) return static_cast<double>(e->ivalue);
  if (e.Is(ExprKind::kFloat)) return e->fvalue;
  if (e.Is(ExprKind::kUnary) && e->op == Op::kNeg)
    if (const auto inner = NumberIn(e->args[0])) return -*inner;
  return std::nullopt;
}

class Peeler {
 public:
  Peeler(const Sdfg& s, Name result, const std::vector<Expr>& index) : s_(s), result_(result), index_(index) {}

  bool Peel(const Expr& e) {
    if (e.Is(ExprKind::kRead)) return e->name == result_ && !e->flat && !e->has_default && e->args == index_;
    if (IsSigmoid(e)) return Peel(e->args[1]->args[1]->args[0]->args[0]) && Add("sigmoid");
    if (IsCall(e, "tanh")) return Peel(e->args[0]) && Add("tanh");
    if (e.Is(ExprKind::kUnary) && e->op == Op::kNeg) return Peel(e->args[0]) && Linear(-1, 0);
    if (e.Is(ExprKind::kSelect)) return Select(e->args[0], e->args[1], e->args[2]);
    if (e->args.size() != 2) return false;
    const bool left = Holds(e->args[0]), right = Holds(e->args[1]);
    if (left == right) return false;
    const Expr &inner = e->args[left ? 0 : 1], &other = e->args[left ? 1 : 0];
    return Peel(inner) && Binary(e, other, left);
  }
  std::vector<EpilogueStep> steps() const { return steps_; }

 private:
  bool Holds(const Expr& e) const {
    bool found = false;
    Visit(e, [&](const Expr& x) {
      found |= x.Is(ExprKind::kRead) && x->name == result_;
      return !found;
    });
    return found;
  }
  // What activations are written as; a NaN stays one. v <= 0 ? 0 : v, v > b ? b : v, v > 0 ? v : a * v, and the sigmoid's two sides.
  bool Select(const Expr& condition, const Expr& yes, const Expr& no) {
    if (!condition.Is(ExprKind::kBinary)) return false;
    const Expr& v = condition->args[0];
    const auto bound = NumberIn(condition->args[1]);
    const bool below = condition->op == Op::kLt || condition->op == Op::kLe, above = condition->op == Op::kGt || condition->op == Op::kGe;
    if (!bound || below == above) return false;
    if (no == v && NumberIn(yes) == bound) return Peel(v) && (below ? AtLeast(*bound) : AtMost(*bound));
    if (above && *bound == 0 && yes == v && no.Is(ExprKind::kBinary) && no->op == Op::kMul && no->args[1] == v)
      if (const auto slope = NumberIn(no->args[0])) return Peel(v) && Add("leaky", {*slope});
    if (!below || *bound != 0 || !IsSigmoid(no) || !IsSigmoidBelow(yes, v)) return false;
    return no->args[1]->args[1]->args[0]->args[0] == v && Peel(v) && Add("sigmoid");
  }
  // exp(v) / (1 + exp(v))
  static bool IsSigmoidBelow(const Expr& e, const Expr& v) {
    if (!e.Is(ExprKind::kBinary) || e->op != Op::kDiv || !IsCall(e->args[0], "exp") || e->args[0]->args[0] != v) return false;
    const Expr& sum = e->args[1];
    return sum.Is(ExprKind::kBinary) && sum->op == Op::kAdd && NumberIn(sum->args[0]) == 1.0 && sum->args[1] == e->args[0];
  }
  // 1 / (1 + exp(-v))
  static bool IsSigmoid(const Expr& e) {
    if (!e.Is(ExprKind::kBinary) || e->op != Op::kDiv || NumberIn(e->args[0]) != 1.0) return false;
    const Expr& sum = e->args[1];
    if (!sum.Is(ExprKind::kBinary) || sum->op != Op::kAdd || NumberIn(sum->args[0]) != 1.0) return false;
    const Expr& call = sum->args[1];
    return IsCall(call, "exp") && call->args[0].Is(ExprKind::kUnary) && call->args[0]->op == Op::kNeg;
  }
  bool Binary(const Expr& e, const Expr& other, bool left) {
    const auto number = NumberIn(other);
    if (e.Is(ExprKind::kBinary) && e->op == Op::kAdd) return number ? Linear(1, *number) : Operand("bias", "add", other);
    if (e.Is(ExprKind::kBinary) && e->op == Op::kMul) return number ? Linear(*number, 0) : Operand("scale", "mul", other);
    if (e.Is(ExprKind::kBinary) && e->op == Op::kSub && number) return left ? Linear(1, -*number) : Linear(-1, *number);
    const bool most = IsCall(e, "min"), least = IsCall(e, "max");
    if (!number || most == least) return false;
    return least ? AtLeast(*number) : AtMost(*number);
  }
  bool AtLeast(double number) { return number == 0 ? Add("relu") : Add("clip", {number, kInfinity}); }
  bool AtMost(double number) {
    EpilogueStep* last = steps_.empty() ? nullptr : &steps_.back();  // min(max(v, a), b)
    if (last && last->op == "clip" && last->numbers[1] == kInfinity && last->numbers[0] <= number) return last->numbers[1] = number, true;
    if (last && last->op == "relu" && number >= 0) return *last = {"clip", {}, -1, {0, number}}, true;
    return Add("clip", {-kInfinity, number});
  }
  static bool IsCall(const Expr& e, std::string_view name) { return e.Is(ExprKind::kCall) && e->name.view() == name; }
  bool Add(const char* op, std::vector<double> numbers = {}) {
    steps_.push_back({op, {}, -1, std::move(numbers)});
    return true;
  }
  bool Linear(double factor, double more) { return Add("linear", {factor, more}); }

  // A read of the same element, or of a vector along one dimension, dimensions of 1 beside it.
  bool Operand(const char* vector, const char* whole, const Expr& e) {
    if (!e.Is(ExprKind::kRead) || e->flat || e->has_default) return false;
    const Container* c = s_.Find(e->name);
    const Container& r = s_.Get(result_);
    if (!c || c->dtype != r.dtype || c->storage != Storage::kArena || !c->row_major()) return false;
    if (e->args == index_ && c->shape == r.shape) return steps_.push_back({whole, e->name, -1, {}}), true;
    int dim = -1;
    for (size_t k = 0; k < e->args.size(); ++k) {
      if (AsInt(e->args[k]) == 0 && AsInt(c->shape[k]) == 1) continue;
      const auto at = std::find(index_.begin(), index_.end(), e->args[k]);
      if (at == index_.end() || dim >= 0) return false;
      dim = static_cast<int>(at - index_.begin());
      if (c->shape[k] != r.shape[dim]) return false;
    }
    if (dim < 0) return false;
    steps_.push_back({vector, e->name, dim, {}});
    return true;
  }

  const Sdfg& s_;
  const Name result_;
  const std::vector<Expr>& index_;
  std::vector<EpilogueStep> steps_;
};

}  // namespace

std::string EpilogueStep::Text(const std::string& port) const {
  std::string text = op;
  if (!operand.empty()) text += " " + port;
  if (dim >= 0) text += " " + std::to_string(dim);
  for (double v : numbers) {
    char number[40];
    std::snprintf(number, sizeof number, " %.17g", v);
    text += number;
  }
  return text;
}

std::optional<std::vector<EpilogueStep>> StepsOf(const Sdfg& s, const Expr& value, Name result, const std::vector<Expr>& index) {
  Peeler p(s, result, index);
  if (!p.Peel(value) || p.steps().empty()) return std::nullopt;
  return p.steps();
}

}  // namespace headrace::transforms
