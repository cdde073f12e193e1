#include "ir/analysis/sets_isl.h"

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <unordered_map>

namespace headrace::isl_sets {
namespace {

constexpr unsigned long kMaxOperations = 200000;  // of isl, per question: some milliseconds
constexpr size_t kMostAnswers = 1 << 15;          // remembered by a thread: some megabytes

struct ThreadContext {
  isl_ctx* ctx = isl_ctx_alloc();
  ThreadContext() {
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx, kMaxOperations);
  }
  ~ThreadContext() { isl_ctx_free(ctx); }
};

// One question: the indices are the dimensions of a set space, everything else that is constant is a parameter.
// A non-affine term without indices (N*M) becomes a parameter of its own: right for every value, so certain answers hold.
class Problem {
 public:
  Problem(std::vector<Name> indices, const Assumptions& as) : indices_(std::move(indices)), as_(as) {
    thread_local ThreadContext context;
    ctx_ = context.ctx;
    isl_ctx_reset_error(ctx_);
    isl_ctx_reset_operations(ctx_);
  }

  // First pass: finds the parameters; false when `e` can't be expressed.
  bool Collect(const Expr& e) {
    if (!e) return false;
    if (e.Is(ExprKind::kInt)) return true;
    if (e.Is(ExprKind::kSymbol)) return IndexOf(e->name) >= 0 || AddParameter(e);
    if (Structured(e)) {
      size_t mark = parameters_.size();
      bool ok = true;
      for (const Expr& a : e->args) ok = ok && Collect(a);
      if (ok) return true;
      parameters_.resize(mark);
    }
    return !MentionsIndex(e) && IsIndexExpr(e) && AddParameter(e);
  }

  // The answer to a question that follows from `question` and the bounds of the parameters. Equal statements, and a statement
  // that is scheduled in several ways, ask the same again and again: a thread remembers its answers.
  template <typename Ask>
  Truth Answer(std::string question, const Ask& ask) {
    std::vector<Interval> bounds;
    for (const Expr& e : parameters_) {
      bounds.push_back(BoundsOf(e, as_));
      question += " | " + ToString(e) + " in " + Text(bounds.back().lo) + ".." + Text(bounds.back().hi);
    }
    thread_local std::unordered_map<std::string, Truth> answers;
    if (const auto known = answers.find(question); known != answers.end()) return known->second;
    Finish(bounds);
    const Truth answer = ask();
    if (answers.size() >= kMostAnswers) answers.clear();
    answers.emplace(std::move(question), answer);
    return answer;
  }

  ~Problem() {
    if (space_) isl_space_free(space_);
    if (context_) isl_set_free(context_);
  }

  isl_pw_aff* Build(const Expr& e) const {
    if (e.Is(ExprKind::kInt)) return Constant(e->ivalue);
    if (e.Is(ExprKind::kSymbol)) {
      int i = IndexOf(e->name);
      if (i >= 0) return Variable(isl_dim_set, i);
    }
    auto it = std::find(parameters_.begin(), parameters_.end(), e);
    if (it != parameters_.end()) return Variable(isl_dim_param, it - parameters_.begin());
    if (e.Is(ExprKind::kUnary)) return isl_pw_aff_neg(Build(e->args[0]));
    if (e.Is(ExprKind::kBinary)) {
      isl_pw_aff *a = Build(e->args[0]), *b = Build(e->args[1]);
      switch (e->op) {
        case Op::kAdd: return isl_pw_aff_add(a, b);
        case Op::kSub: return isl_pw_aff_sub(a, b);
        case Op::kMul: return isl_pw_aff_mul(a, b);
        case Op::kFloorDiv: return isl_pw_aff_floor(isl_pw_aff_div(a, b));
        default: {  // a % b = a - b*floor(a/b): sign of the divisor
          isl_pw_aff* q = isl_pw_aff_floor(isl_pw_aff_div(isl_pw_aff_copy(a), isl_pw_aff_copy(b)));
          return isl_pw_aff_sub(a, isl_pw_aff_mul(b, q));
        }
      }
    }
    HR_CHECK(e.Is(ExprKind::kCall), "unexpected expression in an index set");
    isl_pw_aff* r = Build(e->args[0]);
    bool is_min = e->name == Name("min");
    for (size_t i = 1; i < e->args.size(); ++i) {
      isl_pw_aff* x = Build(e->args[i]);
      r = is_min ? isl_pw_aff_min(r, x) : isl_pw_aff_max(r, x);
    }
    return r;
  }

  isl_set* Le(const Expr& a, const Expr& b) const { return isl_pw_aff_le_set(Build(a), Build(b)); }
  isl_set* Lt(const Expr& a, const Expr& b) const { return isl_pw_aff_lt_set(Build(a), Build(b)); }
  // Points of dimension `name` in begin:end:step.
  isl_set* InRange(Name name, const Range& r, int64_t step) const {
    Expr x(name);
    isl_set* s =
        step > 0 ? isl_set_intersect(Le(r.begin, x), Lt(x, r.end)) : isl_set_intersect(Le(x, r.begin), Lt(r.end, x));
    if (step == 1 || step == -1) return s;
    isl_pw_aff* d = isl_pw_aff_sub(Build(x), Build(r.begin));
    d = isl_pw_aff_mod_val(d, isl_val_int_from_si(ctx_, step > 0 ? step : -step));
    return isl_set_intersect(s, isl_pw_aff_eq_set(d, Constant(0)));
  }
  isl_set* Context() const { return isl_set_copy(context_); }
  isl_pw_aff* Constant(int64_t v) const {
    return isl_pw_aff_from_aff(
        isl_aff_val_on_domain(isl_local_space_from_space(isl_space_copy(space_)), isl_val_int_from_si(ctx_, v)));
  }

 private:
  static std::string Text(const std::optional<int64_t>& bound) { return bound ? std::to_string(*bound) : "?"; }

  void Finish(const std::vector<Interval>& bounds) {
    space_ = isl_space_set_alloc(ctx_, parameters_.size(), indices_.size());
    for (size_t i = 0; i < parameters_.size(); ++i)
      space_ = isl_space_set_dim_id(space_, isl_dim_param, i,
                                    isl_id_alloc(ctx_, ("p" + std::to_string(i)).c_str(), nullptr));
    context_ = isl_set_universe(isl_space_copy(space_));
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Interval& b = bounds[i];
      if (b.lo)
        context_ = isl_set_lower_bound_si(context_, isl_dim_param, i,
                                          static_cast<int>(std::clamp<int64_t>(*b.lo, -(1 << 30), 1 << 30)));
      if (b.hi && *b.hi < (1 << 30))
        context_ =
            isl_set_upper_bound_si(context_, isl_dim_param, i, static_cast<int>(std::max<int64_t>(*b.hi, -(1 << 30))));
    }
  }

  static bool Structured(const Expr& e) {
    if (e.Is(ExprKind::kUnary)) return e->op == Op::kNeg;
    if (e.Is(ExprKind::kCall)) return (e->name == Name("min") || e->name == Name("max")) && !e->args.empty();
    if (!e.Is(ExprKind::kBinary)) return false;
    switch (e->op) {
      case Op::kAdd:
      case Op::kSub: return true;
      case Op::kMul: return AsInt(e->args[0]) || AsInt(e->args[1]);
      case Op::kFloorDiv:
      case Op::kMod: return AsInt(e->args[1]).value_or(0) > 0;
      default: return false;
    }
  }
  int IndexOf(Name n) const {
    auto it = std::find(indices_.begin(), indices_.end(), n);
    return it == indices_.end() ? -1 : static_cast<int>(it - indices_.begin());
  }
  bool MentionsIndex(const Expr& e) const {
    bool found = false;
    Visit(e, [&](const Expr& x) {
      found |= x.Is(ExprKind::kSymbol) && IndexOf(x->name) >= 0;
      return !found;
    });
    return found;
  }
  bool AddParameter(const Expr& e) {
    if (std::find(parameters_.begin(), parameters_.end(), e) == parameters_.end()) parameters_.push_back(e);
    return parameters_.size() < 24;
  }
  isl_pw_aff* Variable(isl_dim_type t, int i) const {
    return isl_pw_aff_from_aff(isl_aff_var_on_domain(isl_local_space_from_space(isl_space_copy(space_)), t, i));
  }

  isl_ctx* ctx_ = nullptr;
  std::vector<Name> indices_;
  const Assumptions& as_;
  std::vector<Expr> parameters_;
  isl_space* space_ = nullptr;
  isl_set* context_ = nullptr;
};

Truth FromBool(isl_bool certainly, Truth otherwise) {
  if (certainly == isl_bool_error) return Truth::kUnknown;
  return certainly == isl_bool_true ? Truth::kYes : otherwise;
}

// Is a ⊆ b (kYes), or does a have a point outside b whenever a has any point (kNo)? Consumes both.
Truth Subseteq(isl_set* a, isl_set* b) {
  Truth t = FromBool(isl_set_is_subset(a, b), Truth::kNo);
  if (t == Truth::kNo) {
    isl_set* violated = isl_set_params(isl_set_subtract(isl_set_copy(a), isl_set_copy(b)));
    isl_set* any = isl_set_params(isl_set_copy(a));
    t = isl_set_is_subset(any, violated) == isl_bool_true ? Truth::kNo : Truth::kUnknown;
    isl_set_free(any);
    isl_set_free(violated);
  }
  isl_set_free(a);
  isl_set_free(b);
  return t;
}

// Everything that a question says, in a form that tells different ones apart.
std::string TextOf(const std::vector<Range>& ranges, bool named) {
  std::string out;
  for (const Range& r : ranges) {
    out += "; ";
    if (named) out += r.index.str() + " in ";
    out += ToString(r.begin) + ":" + ToString(r.end) + ":" + (r.step ? ToString(r.step) : "1");
  }
  return out;
}
std::string TextOf(const std::vector<Expr>& list) {
  std::string out;
  for (const Expr& e : list) out += ", " + ToString(e);
  return out;
}

std::optional<int64_t> StepOf(const Range& r) { return r.step ? AsInt(r.step) : std::optional<int64_t>(1); }

std::vector<Name> DimNames(size_t n) {
  std::vector<Name> names;
  for (size_t i = 0; i < n; ++i) names.push_back(Name("$" + std::to_string(i)));
  return names;
}

bool CollectRange(Problem& p, const Range& r) {
  return StepOf(r).value_or(0) != 0 && p.Collect(r.begin) && p.Collect(r.end);
}

isl_set* BoxOf(const Problem& p, const Subset& s, const std::vector<Name>& names) {
  isl_set* out = p.Context();
  for (size_t i = 0; i < s.dims.size(); ++i)
    out = isl_set_intersect(out, p.InRange(names[i], s.dims[i], *StepOf(s.dims[i])));
  return out;
}
isl_set* DomainOf(const Problem& p, const std::vector<Range>& ranges) {
  isl_set* out = p.Context();
  for (const Range& r : ranges) out = isl_set_intersect(out, p.InRange(r.index, r, *StepOf(r)));
  return out;
}

std::vector<Name> IndexNames(const std::vector<Range>& ranges) {
  std::vector<Name> names;
  for (const Range& r : ranges) names.push_back(r.index);
  return names;
}

}  // namespace

Truth Overlaps(const Subset& a, const Subset& b, const Assumptions& as) {
  std::vector<Name> names = DimNames(a.dims.size());
  Problem p(names, as);
  for (const Subset* s : {&a, &b})
    for (const Range& r : s->dims)
      if (!CollectRange(p, r)) return Truth::kUnknown;
  return p.Answer("overlap" + TextOf(a.dims, false) + " with" + TextOf(b.dims, false), [&] {
    isl_set* both = isl_set_intersect(BoxOf(p, a, names), BoxOf(p, b, names));
    isl_bool empty = isl_set_is_empty(both);
    Truth t = Truth::kUnknown;
    if (empty == isl_bool_true) {
      t = Truth::kNo;
    } else if (empty == isl_bool_false) {
      isl_set *context = isl_set_params(p.Context()), *where = isl_set_params(isl_set_copy(both));
      t = FromBool(isl_set_is_subset(context, where), Truth::kUnknown);
      isl_set_free(context);
      isl_set_free(where);
    }
    isl_set_free(both);
    return t;
  });
}

Truth Covers(const Subset& outer, const Subset& inner, const Assumptions& as) {
  std::vector<Name> names = DimNames(outer.dims.size());
  Problem p(names, as);
  for (const Subset* s : {&outer, &inner})
    for (const Range& r : s->dims)
      if (!CollectRange(p, r)) return Truth::kUnknown;
  return p.Answer("covered" + TextOf(inner.dims, false) + " by" + TextOf(outer.dims, false),
                  [&] { return Subseteq(BoxOf(p, inner, names), BoxOf(p, outer, names)); });
}

Truth IsInjective(const std::vector<Range>& ranges, const std::vector<Expr>& index, const Assumptions& as) {
  Problem p(IndexNames(ranges), as);
  for (const Range& r : ranges)
    if (!CollectRange(p, r)) return Truth::kUnknown;
  for (const Expr& e : index)
    if (!p.Collect(e)) return Truth::kUnknown;
  return p.Answer("injective" + TextOf(ranges, true) + " to" + TextOf(index), [&] {
    isl_set* domain = DomainOf(p, ranges);
    isl_map* m = isl_map_from_domain(domain);
    m = isl_map_add_dims(m, isl_dim_out, 0);
    for (const Expr& e : index) m = isl_map_flat_range_product(m, isl_map_from_pw_aff(p.Build(e)));
    Truth t = FromBool(isl_map_is_injective(m), Truth::kUnknown);
    isl_map_free(m);
    return t;
  });
}

Truth WithinBounds(const std::vector<Range>& ranges, const std::vector<Expr>& index, const std::vector<Expr>& shape,
                   const Assumptions& as) {
  Problem p(IndexNames(ranges), as);
  for (const Range& r : ranges)
    if (!CollectRange(p, r)) return Truth::kUnknown;
  for (const auto* list : {&index, &shape})
    for (const Expr& e : *list)
      if (!p.Collect(e)) return Truth::kUnknown;
  return p.Answer("within" + TextOf(ranges, true) + " at" + TextOf(index) + " of" + TextOf(shape), [&] {
    isl_set* inside = p.Context();
    for (size_t i = 0; i < index.size(); ++i) {
      inside = isl_set_intersect(inside, p.Le(IntExpr(0), index[i]));
      inside = isl_set_intersect(inside, p.Lt(index[i], shape[i]));
    }
    return Subseteq(DomainOf(p, ranges), inside);
  });
}

}  // namespace headrace::isl_sets
