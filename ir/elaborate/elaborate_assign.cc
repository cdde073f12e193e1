// An assignment becomes one map around one tasklet; the first reducing write of a container is preceded by its
// initialisation, unless each element is written once (then it is an assignment).
#include <algorithm>

#include "ir/elaborate/elaborate_internal.h"

namespace headrace {
namespace elaborate {

void Elaborator::RunAssign(const FormStmt& s) {
  const Place at{s.line, s.column};
  Target t;
  t.name = s.name;
  t.op = s.op;
  t.flat = s.flat;
  t.guarded = s.guarded;
  std::shared_ptr<const Binding> b;
  switch (Resolve(s.name, env_, &b)) {
    case Resolved::kAbsent:
      if (absent_outputs_.count(s.name)) return;
      if (absent_.count(s.name)) Fail(at, "'" + s.name.str() + "' is an input or attribute; it can't be written");
      break;
    case Resolved::kEnv:
      t.container = b->kind == Binding::kContainer ? b->container : ContainerOf(s.name, env_);
      if (t.container.empty()) Fail(at, "'" + s.name.str() + "' is a let; it can't be written");
      break;
    case Resolved::kContainer: t.container = containers_.at(s.name); break;
    case Resolved::kVariadic: {  // outputs[2]: one of its tensors, whole
      const std::vector<Name>& list = variadic_.at(s.name);
      use_remembered_ = true;
      let_cache_.clear();
      const int64_t i = s.index.size() == 1 ? EvalInt(s.index[0], env_, "the number of a tensor") : -1;
      if (i < 0 || i >= static_cast<int64_t>(list.size()))
        Fail(at, "'" + s.name.str() + "' is a list of " + std::to_string(list.size()) + " tensors",
             "use: each T in " + s.name.str() + " { … }");
      t.container = list[i];
      t.whole = true;
      break;
    }
    case Resolved::kAttribute:
      // An attribute and a temporary may share a name (`p`); from here on it is the temporary.
      Fail(at, "'" + s.name.str() + "' is an attribute; it can't be written");
    default: break;
  }
  if (!t.container.empty()) {
    if (inputs_.count(t.container)) Fail(at, "'" + s.name.str() + "' is an input; it can't be written");
    if (s_.Get(t.container).kind == ContainerKind::kConstant)
      Fail(at, "'" + s.name.str() + "' is a constant; it can't be written");
  }
  target_type_ = DType::kNone;
  if (!t.container.empty()) {
    target_type_ = s_.Get(t.container).dtype;
    for (const auto& [port, sum] : shadow_)
      if (sum == t.container) target_type_ = s_.Get(port).dtype;
  }
  walks_.clear();
  length_.clear();
  let_cache_.clear();
  use_remembered_ = false;
  ellipsis_rank_ = 0;
  for (bool solved = false; !solved;) {
    progress_ = false;
    solved = EvalAssign(s, &t);
    if (solved || progress_) continue;
    if (use_remembered_)
      Fail(at, "the number of dimensions of a group is not determined here", "give it: let rank(p) = …");
    use_remembered_ = true;
    let_cache_.clear();
  }
  for (const auto& [n, length] : length_) remembered_length_[n] = length;
  SolveRanges(&t, at);
  RequireWalks(t, at);
  if (t.container.empty()) DeclareTemporary(&t, at);
  EmitAssign(&t, at);
}

// One attempt; false while a group's length is unknown (each attempt may solve some).
bool Elaborator::EvalAssign(const FormStmt& s, Target* t) {
  const Place at{s.line, s.column};
  bool solved = EvalOver(s, t);
  Val v = Eval(s.value, env_, {});
  solved = solved && !v.unsolved();
  const bool temporary = t->container.empty();
  std::optional<std::vector<Slot>> slots;
  if (!s.has_index || t->whole) {
    const int rank = temporary ? ellipsis_rank_ : static_cast<int>(s_.Get(t->container).shape.size());
    slots.emplace();
    ellipsis_rank_ = std::max(ellipsis_rank_, rank);
    for (int i = rank - 1; i >= 0; --i) slots->push_back({SymbolExpr("%." + std::to_string(i)), 0, 0, true});
  } else if (temporary) {
    slots = EvalPlace(s.index, env_, -1, s.name.str(), nullptr, at);
  } else {
    const std::vector<Expr>& shape = s_.Get(t->container).shape;
    slots = s.flat ? EvalPlace(s.index, env_, 1, s.name.str() + ".flat", nullptr, at)
                   : EvalPlace(s.index, env_, static_cast<int>(shape.size()), s.name.str(), &shape, at);
  }
  if (!solved || !slots) return false;
  if (v.nothing()) Fail(at, "there is nothing to assign: an absent port or unset attribute", "give a default with ?:");
  if (v.kind == Val::kList && v.items.size() == 1) v = Val::Scalar(v.items[0]);
  if (v.kind == Val::kList)
    Fail(at, "the value is a list of " + std::to_string(v.items.size()) + " numbers",
         "index it with one of the target's indices");
  if (v.kind != Val::kScalar) Fail(at, "the value must be a number");
  if (!temporary) RecordWalks(t->container, *slots, s.flat, s.guarded);
  t->value = v.e;
  t->index.clear();
  for (const Slot& slot : *slots) {
    if (!slot.e) Fail(at, "':' can't stand in a target");
    t->index.push_back(slot.e);
  }
  return true;
}

void Elaborator::DeclareTemporary(Target* t, Place at) {
  TypeScope scope{&s_, has_f64_};
  Container c;
  c.name = FreshName(t->name.str());
  for (Expr& e : t->index) {
    if (AsInt(e) == 0) {
      c.shape.push_back(IntExpr(1));
      continue;
    }
    const Interval2* r = e.Is(ExprKind::kSymbol) ? FindRange(t->ranges, e->name) : nullptr;
    if (!r || AsInt(r->begin) != 0)
      Fail(at,
           "'" + t->name.str() + "' is a new temporary: its sizes are the ranges of bare indices, found " + ToString(e),
           "if an output was meant, check its name; " + KnownNames());
    c.shape.push_back(r->end);
  }
  c.dtype = TemporaryType(scope, t->value, t->op, at);
  t->container = c.name;
  containers_[t->name] = c.name;
  s_.Add(std::move(c));
}

NodeId Elaborator::Wrap(std::vector<Range> ranges, Tasklet t) {
  NodeId body = s_.AddNode(std::move(t));
  if (ranges.empty()) return body;
  Map m;
  m.ranges = std::move(ranges);
  m.body = {body};
  return s_.AddNode(std::move(m));
}

namespace {

std::vector<Range> FullRanges(const Container& c, const std::function<Name(size_t)>& name, std::vector<Expr>* index) {
  std::vector<Range> ranges;
  for (size_t i = 0; i < c.shape.size(); ++i) {
    const Name n = name(i);
    ranges.push_back({n, IntExpr(0), c.shape[i], IntExpr(1)});
    index->push_back(SymbolExpr(n));
  }
  return ranges;
}

}  // namespace

void Elaborator::EmitInitialisation(Name container, WriteOp op) {
  const Container& c = s_.Get(container);
  Tasklet t;
  t.target = container;
  t.value = Identity(op, c.dtype);
  std::set<Name> taken;
  std::vector<Range> ranges = FullRanges(
      c, [&](size_t i) { return FreshIndex("i" + std::to_string(i), &taken); }, &t.index);
  NodeId n = Wrap(std::move(ranges), std::move(t));
  if (loop_depth_ > 0) EmitBefore(n);
  else Emit(n);
}

void Elaborator::EmitCopy(Name to, Name from) {
  Tasklet t;
  t.target = to;
  std::set<Name> taken;
  std::vector<Range> ranges = FullRanges(
      s_.Get(to), [&](size_t i) { return FreshIndex("i" + std::to_string(i), &taken); }, &t.index);
  t.value = ReadExpr(from, t.index);
  Emit(Wrap(std::move(ranges), std::move(t)));
}

void Elaborator::EmitAssign(Target* t, Place at) {
  const bool reducing = t->op != WriteOp::kAssign;
  const Container target = s_.Get(t->container);
  const auto empty = [](const auto& named) { return AsInt(named.second.end - named.second.begin) == 0; };
  const bool nothing = std::any_of(t->ranges.begin(), t->ranges.end(), empty);
  if (!reducing && !nothing && t->ranges.size() > t->target_ranges)
    Fail(at, "'=' can't reduce over " + t->ranges[t->target_ranges].first.str().substr(1),
         "use +=, *=, max= or min=, or index the target with it");
  TypeScope scope{&s_, has_f64_};
  Ranges inside = t->ranges;
  inside.insert(inside.end(), loops_.begin(), loops_.end());
  t->value = Simplify(Refine(s_, t->value, inside, assumptions_));
  for (Expr& e : t->index) e = Simplify(Refine(s_, e, inside, assumptions_));
  if (t->guarded && !t->flat && InsideBounds(t->index, target.shape, inside, assumptions_)) t->guarded = false;

  WriteOp op = t->op;
  if (reducing && !written_.count(t->container)) {
    // Every element once, and nothing reduced: the identity would only be overwritten.
    bool once = loop_depth_ == 0 && !t->guarded && !t->flat && t->ranges.size() == t->target_ranges;
    std::set<Name> seen;
    for (size_t i = 0; i < t->index.size() && once; ++i) {
      const Expr& e = t->index[i];
      if (AsInt(e) == 0 && AsInt(target.shape[i]) == 1) continue;
      const Interval2* r = e.Is(ExprKind::kSymbol) ? FindRange(t->ranges, e->name) : nullptr;
      once = r && AsInt(r->begin) == 0 && r->end == target.shape[i] && seen.insert(e->name).second;
    }
    once = once && seen.size() == t->ranges.size();
    if (once) op = WriteOp::kAssign;
    else EmitInitialisation(t->container, op);
  }
  written_.insert(t->container);

  // Printed names: n stays n, the indices of p.. become p0, p1 (p when alone), those of `..` i0, i1 …
  NameMap rename;
  std::set<Name> taken;
  int dots = 0;
  for (const auto& [n, r] : t->ranges) dots += IsEllipsisIndex(n);
  auto stem = [&](Name n) -> std::string {
    std::string s = n.str().substr(1);
    const size_t dot = s.find('.');
    if (dot == std::string::npos) return s;
    const int k = std::stoi(s.substr(dot + 1));
    if (dot == 0) return "i" + std::to_string(std::max(0, ellipsis_rank_ - 1 - k));
    const Name group = s.substr(0, dot);
    std::optional<int> length = GroupLength(group);
    return length && *length == 1 ? group.str() : group.str() + std::to_string(k);
  };
  std::vector<Range> ranges;
  for (const auto& [n, r] : t->ranges) {
    const Name name = FreshIndex(stem(n), &taken);
    rename.push_back({n, SymbolExpr(name)});
    ranges.push_back({name, r.begin, r.end, IntExpr(1)});
  }
  for (Range& r : ranges) {
    r.begin = TypeIndex(scope, Substitute(r.begin, rename), at);
    r.end = TypeIndex(scope, Substitute(r.end, rename), at);
  }
  Tasklet out;
  out.target = t->container;
  out.flat = t->flat;
  out.guarded = t->guarded;
  out.op = op;
  for (const Expr& e : t->index) out.index.push_back(Simplify(TypeIndex(scope, Substitute(e, rename), at)));
  out.value = Simplify(TypeValue(scope, Substitute(t->value, rename), target.dtype, at));
  Emit(Wrap(std::move(ranges), std::move(out)));
}

}  // namespace elaborate
}  // namespace headrace
