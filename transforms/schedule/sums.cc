// Sums, products and extrema: how many partial results there are, and the order in which they are combined. Both depend on
// types and shapes alone, so the bits are the same on every machine.
#include <algorithm>

#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {

Expr IdentityOf(WriteOp op, DType t) {
  if (IsComplex(t) || t == DType::kBool) return {};
  if (op == WriteOp::kAdd) return IsFloat(t) ? FloatExpr(0) : IntExpr(0);
  if (op == WriteOp::kMul) return IsFloat(t) ? FloatExpr(1) : IntExpr(1);
  if (IsFloat(t)) return FloatExpr(op == WriteOp::kMax ? -__builtin_inf() : __builtin_inf());
  if (t < DType::kU8 || t > DType::kI64) return {};
  const bool is_signed = t == DType::kI8 || t == DType::kI16 || t == DType::kI32 || t == DType::kI64;
  const int64_t bits = 8 * ByteSize(t), most = INT64_MAX >> (64 - bits);  // of a signed one
  if (op == WriteOp::kMax) return !is_signed ? IntExpr(0) : bits == 64 ? Expr() : IntExpr(-most - 1);
  return is_signed ? IntExpr(most) : bits == 64 ? Expr() : IntExpr(2 * most + 1);
}

Expr Combined(WriteOp op, const Expr& a, const Expr& b) {
  switch (op) {
    case WriteOp::kMul: return BinaryExpr(Op::kMul, a, b);
    case WriteOp::kMax: return CallExpr("max", {a, b});
    case WriteOp::kMin: return CallExpr("min", {a, b});
    default: return BinaryExpr(Op::kAdd, a, b);
  }
}

namespace {

// Choices whose condition mentions `index`, where one is given.
bool HasChoices(const Expr& value, std::optional<Name> index = {}) {
  bool found = false;
  Visit(value, [&](const Expr& e) {
    return found |= e.Is(ExprKind::kSelect) && (!index || Mentions(e->args[0], *index)), !found;
  });
  return found;
}

bool ReadsItsTarget(const Sdfg& s, NodeId n, Name root) {
  for (const ElementAccess& a : AccessesOf(s, n))
    if (!a.write && a.op == WriteOp::kAssign && a.root == root) return true;
  return false;
}

int64_t Times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

int64_t Known(const std::vector<Range>& ranges, int64_t otherwise) {
  int64_t product = 1;
  for (const Range& r : ranges) product = Times(product, std::max<int64_t>(0, AsInt(r.end).value_or(otherwise)));
  return product;
}

int64_t ForEachOf(int64_t terms) {  // as many, or the next power of two
  int64_t partials = 1;
  while (partials < terms) partials *= 2;
  return partials;
}

bool AllKnown(const std::vector<Range>& ranges) {
  return std::all_of(ranges.begin(), ranges.end(), [](const Range& r) { return AsInt(r.end).has_value(); });
}

}  // namespace

// Ranges of one role that walk memory as one.
void Scheduler::CollapseWithin(Nest* n, std::vector<bool>* apart) {
  for (size_t a = 0; a < n->ranges.size(); ++a)
    for (size_t b = 0; b < n->ranges.size(); ++b) {
      if (a == b || (*apart)[a] != (*apart)[b] || !MayCollapse(*n, a, b)) continue;
      Merge(n, a, b);
      apart->erase(apart->begin() + static_cast<long>(b));
      return CollapseWithin(n, apart);
    }
}

// How many results are accumulated side by side along `lane`, in all its walks; 0: the terms are few, one will do. Walks that are short
// but many have a result for each of their terms.
int64_t Scheduler::Partials(DType t, const Range& lane, const std::vector<Range>& around) const {
  const int64_t trips = AsInt(lane.end).value_or(INT64_MAX);
  if (!IsFloat(t)) return 0;
  if (trips < d_.short_sum) {
    if (trips < d_.short_row || Times(Known(around, d_.short_sum), trips) < d_.long_sum) return 0;
    return ForEachOf(trips);
  }
  const int64_t bytes = trips >= d_.long_sum     ? d_.long_partial_bytes
                        : trips >= d_.middle_sum ? d_.partial_bytes
                                                 : d_.short_partial_bytes;
  return std::max<int64_t>(1, bytes / ByteSize(t));
}

// Of one sum: many walks have a result for each of their terms also where these are more, if registers hold them; its additions don't
// wait for each other.
int64_t Scheduler::PartialsOfOne(DType t, const Range& lane, const std::vector<Range>& around) const {
  const int64_t partials = Partials(t, lane, around), trips = AsInt(lane.end).value_or(INT64_MAX);
  if (partials == 0 || trips >= d_.long_sum || Known(around, d_.short_sum) < d_.short_sum) return partials;
  return trips * ByteSize(t) <= d_.tile_sums * d_.vector_bytes ? ForEachOf(trips) : partials;
}

// One accumulation whose terms may come in any order, into elements that the ranges which keep iterations apart name.
bool Scheduler::IsSum(const Nest& n, const std::vector<bool>& apart) const {
  const auto& t = std::get<Tasklet>(s_->nodes[n.body[0]].body);
  const DType type = ComputeType(s_->Get(t.target).dtype);
  const Name root = AccessesOf(*s_, n.body[0]).back().root;
  if (t.op == WriteOp::kAssign || !IdentityOf(t.op, type) || ReadsItsTarget(*s_, n.body[0], root)) return false;
  for (size_t i = 0; i < n.ranges.size(); ++i)  // scattered
    for (const Expr& e : t.index)
      if (!IsIndexExpr(e) || (!apart[i] && Mentions(e, n.ranges[i].index))) return false;
  return true;
}

std::optional<Scheduler::Statements> Scheduler::Sum(Nest n, const std::vector<bool>& apart, bool share, const Ending& ending) {
  if (!IsSum(n, apart)) return std::nullopt;
  std::vector<bool> roles = apart;
  if (!ending.initial) CollapseWithin(&n, &roles);
  const int lane = LaneRange(*s_, n);
  if (lane < 0 || (ending.initial && !roles[lane])) return Declined("no range walks memory");
  return roles[lane] ? SumSideBySide(std::move(n), roles, lane, share, ending) : SumAlong(std::move(n), roles, lane, share, ending);
}

DType Scheduler::TypeOf(const Tasklet& sum, const Ending& ending) const {
  return ending.completion ? SumTypeOf(*s_, *ending.completion) : ComputeType(s_->Get(sum.target).dtype);
}

// What a sum starts at is combined with it, or what its element holds.
Scheduler::Statements Scheduler::Result(const Tasklet& t, const Expr& sum, const Ending& ending) {
  if (ending.completion) return CompletedAt(s_, *ending.completion, {}, sum);
  if (!ending.initial) return {Put(t.target, t.index, t.op, sum)};
  const DType type = ComputeType(s_->Get(t.target).dtype);
  const bool nothing = ending.initial == IdentityOf(t.op, type);
  return {Put(t.target, t.index, WriteOp::kAssign, nothing ? sum : Combined(t.op, Widened(*s_, ending.initial, type), sum))};
}

// What all lanes read goes before them: compilers make no vectors of lanes that read one element under a condition.
Expr Scheduler::ReadOnce(const Expr& value, Name lane, Statements* before) {
  std::vector<std::pair<Expr, Name>> known;
  return Transform(value, [&](const Expr& e) {
    if (!e.Is(ExprKind::kRead) || e->args.empty() || e->has_default || e->flat || Mentions(e, lane)) return e;
    for (const auto& [read, name] : known)
      if (read == e) return ReadExpr(name, {});
    const Name once = Local("once", s_->Get(e->name).dtype);
    known.emplace_back(e, once);
    before->push_back(Put(once, {}, WriteOp::kAssign, e));
    return ReadExpr(once, {});
  });
}

// Results that lie side by side are accumulated together: by the last statement, others fill its registers.
std::optional<Scheduler::Statements> Scheduler::SumSideBySide(Nest n, const std::vector<bool>& apart, size_t lane,
                                                              bool share, const Ending& ending) {
  const Tasklet t = std::get<Tasklet>(s_->nodes[n.body.back()].body);
  const DType type = TypeOf(t, ending);
  Range lanes = n.ranges[lane];
  std::vector<Range> outer, terms;
  for (size_t i = 0; i < n.ranges.size(); ++i)
    if (i != lane) (apart[i] ? outer : terms).push_back(n.ranges[i]);
  const auto length = AsInt(lanes.end);
  const int64_t cost = OperationsOf(*s_, n.body);
  if (share && length && !ending.few_terms && (AllKnown(outer) || AllKnown(terms))) {  // few results, long sums: shared out by their terms
    const int64_t count = Times(Known(outer, 1), *length), each = Known(terms, 1 << 16);
    if (count > 0 && count < d_.few_results && each >= 4 * count / d_.most_parts && Times(each, Times(cost, count)) >= 8 * d_.chunk_operations)
      if (auto phases = TwoPhases(n, apart, lane, ending)) return phases;
  }
  const int64_t whole = d_.vector_bytes / ByteSize(type);
  // Rows a little shorter than vectors are summed in whole ones, whose last lanes add nothing.
  const bool shorter = length && *length < 2 * whole && *length % whole != 0 && IsFloat(type);
  const bool whole_lanes = !HasChoices(t.value, lanes.index) && LiesSideBySide(n.body, lanes.index);
  if (shorter && !whole_lanes) {
    if (ending.initial || ending.completion) return Declined("rows shorter than vectors, with borders or steps");
  }
  const bool one = n.body.size() == 1 && !HasChoices(t.value) && Questions(t).empty();
  const bool masked = shorter && *length <= d_.sum_elements && whole_lanes && one && *length >= d_.short_row;
  const int64_t side = length ? std::min(*length, d_.sum_elements) : d_.sum_elements;
  const Expr work = Expr(cost) * TripsOf(terms) * (length ? Expr(side) : Min(Expr(side), lanes.end));
  std::optional<Name> parts;
  if (!length || *length > side) {
    const Cut cut = Split(*s_, lanes, Expr(side));
    parts = cut.parts.index;
    outer.push_back(cut.parts);
  }
  Shared shared = share ? ShareOut(*s_, outer, work, d_) : Shared{{}, outer};
  for (const auto* list : {&shared.units, &shared.within})
    for (const Range& r : *list)
      if (parts && r.index == *parts) lanes = Within(r, lanes.index);
  const int64_t slots = masked ? (side + whole - 1) / whole * whole : side;
  const Name sums = Local("sums", type, {Expr(slots)});
  const Expr slot = SymbolExpr(lanes.index) - lanes.begin;
  Range summed = lanes;
  Expr value = t.value;
  Statements before;
  if (masked) {
    summed.end = Expr(slots);
    value = SelectExpr(BinaryExpr(Op::kLt, SymbolExpr(lanes.index), lanes.end), ReadOnce(value, lanes.index, &before), IdentityOf(t.op, type));
  }
  Statements body = Wrap(s_, {{{summed}, Schedule::kVector}}, {Put(sums, {slot}, WriteOp::kAssign, IdentityOf(t.op, type))});
  const auto add = [&](Statements more) { body.insert(body.end(), more.begin(), more.end()); };
  Statements term = n.body;
  term.back() = Put(sums, {slot}, t.op, value);
  Statements each = masked ? Wrap(s_, {{{summed}, Schedule::kVector}}, term) : Walk(lanes, term, true, /*whole_rows=*/false);
  each.insert(each.begin(), before.begin(), before.end());
  add(Wrap(s_, {{terms, Schedule::kSequential}}, each));
  const Expr result = ReadExpr(sums, {slot});
  add(Wrap(s_, {{{lanes}, Schedule::kVector}}, Result(t, result, ending)));
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

// The terms of a result lie side by side: partial results, combined by halves.
std::optional<Scheduler::Statements> Scheduler::SumAlong(Nest n, const std::vector<bool>& apart, size_t lane, bool share,
                                                         const Ending& ending) {
  const Tasklet t = std::get<Tasklet>(s_->nodes[n.body[0]].body);
  const DType type = TypeOf(t, ending);
  const Range lanes = n.ranges[lane];
  std::vector<Range> outer, terms;
  for (size_t i = 0; i < n.ranges.size(); ++i)
    if (i != lane) (apart[i] ? outer : terms).push_back(n.ranges[i]);
  const int64_t cost = OperationsOf(*s_, n.body), each = Times(Known(terms, 1 << 20), AsInt(lanes.end).value_or(1 << 20));
  if (share && !ending.few_terms && AllKnown(outer) && Known(outer, 1) < 8 && Times(each, cost) >= 4 * d_.chunk_operations)
    if (auto phases = TwoPhases(n, apart, lane, ending)) return phases;
  const Name sum = Local("sum", type);
  Statements body = {Put(sum, {}, WriteOp::kAssign, IdentityOf(t.op, type))};
  const NodeId term = Put(sum, {}, t.op, t.value);
  const int64_t partials = Questions(t).empty() && !ending.few_terms ? PartialsOfOne(type, lanes, terms) : 0;
  if (partials == 0) {
    std::vector<Range> all = terms;
    all.push_back(lanes);
    for (NodeId id : Wrap(s_, {{all, Schedule::kSequential}}, WithChecks({term}))) body.push_back(id);
  } else {
    for (NodeId id : InParts(n, terms, lanes, {term}, partials)) body.push_back(id);
  }
  for (NodeId id : Result(t, ReadExpr(sum, {}), ending)) body.push_back(id);
  const Expr work = Expr(cost) * TripsOf(terms) * lanes.end;
  const Shared shared = share ? ShareOut(*s_, outer, work, d_) : Shared{{}, outer};
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

// `body` over `lane`, and over `around` outside of it, where some statements accumulate into one element: lane u of `partials`
// accumulates every partials-th term into a result of its own; these are combined by halves, then with the target.
Scheduler::Statements Scheduler::InParts(const Nest& n, const std::vector<Range>& around, const Range& lane,
                                         const Statements& body, int64_t partials) {
  const Name u = FreshIn(*s_, "u"), c(FreshIn(*s_, lane.index.str() + "_0"));
  const Expr whole = FloorDiv(lane.end, Expr(partials)) * Expr(partials);
  const Range all{u, Expr(0), Expr(partials), Expr(1)}, blocks{c, Expr(0), whole, Expr(partials)},
      rest{lane.index, whole, lane.end, Expr(1)};
  Statements before, main, tail, after;
  std::vector<std::pair<Name, Name>> renamed;  // registers of one iteration of `n`: the rest has its own
  const auto fresh = [&](Name of) {
    const Container& local = s_->Get(of);
    renamed.emplace_back(of, Local(of.str(), local.dtype, local.shape));
    return renamed.back().second;
  };
  std::vector<std::pair<Name, Name>> partial;
  for (NodeId id : body) {
    const Tasklet t = std::get<Tasklet>(s_->nodes[id].body);
    const bool meets = t.op != WriteOp::kAssign && std::none_of(t.index.begin(), t.index.end(), [&](const Expr& e) {
      return Mentions(e, lane.index);
    }) && !IsWrittenFirst(body, t.target);
    Tasklet first = t, last = t;
    if (meets) {
      const DType type = ComputeType(s_->Get(t.target).dtype);
      const Name part = Local("partial", type, {Expr(partials)});
      for (NodeId m : Wrap(s_, {{{all}, Schedule::kVector}}, {Put(part, {SymbolExpr(u)}, WriteOp::kAssign, IdentityOf(t.op, type))}))
        before.push_back(m);
      for (NodeId m : Wrap(s_, {{{all}, Schedule::kHalves}}, {Put(t.target, t.index, t.op, ReadExpr(part, {SymbolExpr(u)}))}))
        after.push_back(m);
      first.target = last.target = part;
      first.index = {SymbolExpr(u)};
      last.index = {SymbolExpr(lane.index) - whole};
    }
    const NameMap to = {{lane.index, SymbolExpr(c) + SymbolExpr(u)}};
    first.value = Substitute(first.value, to);
    if (!meets)
      for (Expr& e : first.index) e = Substitute(e, to);
    if (!meets && s_->Get(t.target).storage == Storage::kRegister && IsPrivate(t.target, n)) {
      const auto known = std::find_if(renamed.begin(), renamed.end(), [&](const auto& r) { return r.first == t.target; });
      last.target = known != renamed.end() ? known->second : fresh(t.target);
    }
    last.value = RenameContainers(last.value, renamed);
    if (!meets)
      for (Expr& e : last.index) e = RenameContainers(e, renamed);
    main.push_back(s_->AddNode(first));
    tail.push_back(s_->AddNode(last));
  }
  const auto length = AsInt(lane.end);
  Statements both;
  if (!length || *length >= partials) both = Wrap(s_, {{{blocks}, Schedule::kSequential}, {{all}, Schedule::kVector}}, main);
  if (!length || *length % partials != 0)
    for (NodeId id : Wrap(s_, {{{rest}, Schedule::kVector}}, tail)) both.push_back(id);
  Statements out = before;
  for (NodeId id : Wrap(s_, {{around, Schedule::kSequential}}, both)) out.push_back(id);
  out.insert(out.end(), after.begin(), after.end());
  return out;
}

// A register that the body itself sets before it accumulates into it is one iteration's own.
bool Scheduler::IsWrittenFirst(const Statements& body, Name target) const {
  for (NodeId id : body) {
    const auto& t = std::get<Tasklet>(s_->nodes[id].body);
    if (t.target == target) return t.op == WriteOp::kAssign;
  }
  return false;
}

// All walks along the lane share their partial results, with what is the same for all of them before it. Where some of that is the
// same for one walk only, it is computed again and again: only if it `must` be, else nullopt.
std::optional<Scheduler::Statements> Scheduler::InPartsOfAll(const Nest& n, const std::vector<Range>& around, const Range& lane,
                                                             int64_t partials, bool must) {
  const Sdfg before = *s_;
  Statements body = n.body, out = Hoist(lane.index, &body);
  const bool of_one = std::any_of(out.begin(), out.end(), [&](NodeId id) {
    const Expr& value = std::get<Tasklet>(s_->nodes[id].body).value;
    return std::any_of(around.begin(), around.end(), [&](const Range& r) { return Mentions(value, r.index); });
  });
  if (of_one) {
    *s_ = before;
    if (!must) return std::nullopt;
    body = n.body, out.clear();
  }
  const Statements parts = InParts(n, around, lane, body, partials);
  out.insert(out.end(), parts.begin(), parts.end());
  return out;
}

std::optional<Scheduler::Statements> Scheduler::SumsWithin(Nest n) {
  if (!OfTasklets(n)) {
    if (auto sum = InitialisedSum(n, /*share=*/false)) return sum;
    Statements body;
    for (NodeId id : n.body) {
      auto inside = Inside(id);
      if (!inside) return std::nullopt;
      body.insert(body.end(), inside->begin(), inside->end());
    }
    return Wrap(s_, {{n.ranges, Schedule::kSequential}}, body);
  }
  if (n.ranges.empty()) return n.body;
  // Images whose lines follow each other are walked as one line.
  while (n.ranges.size() > 1 && MayCollapse(n, n.ranges.size() - 2, n.ranges.size() - 1)) Merge(&n, n.ranges.size() - 2, n.ranges.size() - 1);
  const Range lane = n.ranges.back();
  const std::vector<Range> around(n.ranges.begin(), n.ranges.end() - 1);
  const auto in_order = [&] { return Wrap(s_, {{n.ranges, Schedule::kSequential}}, WithChecks(n.body)); };
  Nest others = n;
  others.body.clear();
  std::vector<Name> summed;
  int64_t partials = INT64_MAX, of_all = INT64_MAX;  // of one walk along the lane, of all of them
  bool one_result = true;                            // of all walks, for each sum
  for (NodeId id : n.body) {
    const auto& t = std::get<Tasklet>(s_->nodes[id].body);
    const bool meets = t.op != WriteOp::kAssign && !IsWrittenFirst(n.body, t.target) &&
                       std::none_of(t.index.begin(), t.index.end(), [&](const Expr& e) { return Mentions(e, lane.index); });
    if (!meets) {
      others.body.push_back(id);
      continue;
    }
    const DType type = ComputeType(s_->Get(t.target).dtype);
    if (!IdentityOf(t.op, type) || !std::all_of(t.index.begin(), t.index.end(), IsIndexExpr)) return in_order();
    partials = std::min(partials, Partials(type, lane, {}));
    of_all = std::min(of_all, Partials(type, lane, around));
    for (const Range& r : around)
      for (const Expr& e : t.index) one_result = one_result && !Mentions(e, r.index);
    summed.push_back(AccessesOf(*s_, id).back().root);
  }
  for (NodeId id : n.body)
    if (!Questions(std::get<Tasklet>(s_->nodes[id].body)).empty()) return in_order();
  for (NodeId id : n.body)  // a running sum, read as it grows, keeps its order
    for (const ElementAccess& a : AccessesOf(*s_, id))
      if (a.op == WriteOp::kAssign && std::find(summed.begin(), summed.end(), a.root) != summed.end()) return in_order();
  std::sort(summed.begin(), summed.end(), [](Name a, Name b) { return a.id() < b.id(); });
  const bool twice = std::adjacent_find(summed.begin(), summed.end()) != summed.end();
  if (!one_result) of_all = 0;
  if (twice || summed.empty() || (partials == 0 && of_all == 0)) return in_order();
  if (!ApartRanges(others).back() || !TakesLanes(*s_, n.body)) return in_order();
  // Short rows: what is not summed has its lanes for itself, so that little of it is left over.
  const bool split = partials > 0 && AsInt(lane.end).value_or(INT64_MAX) < d_.middle_sum &&
                     std::none_of(others.body.begin(), others.body.end(),
                                  [&](NodeId id) { return IsPrivate(std::get<Tasklet>(s_->nodes[id].body).target, n); });
  std::vector<bool> plain;
  for (NodeId id : n.body) plain.push_back(std::find(others.body.begin(), others.body.end(), id) != others.body.end());
  if (of_all > 0 && !split)
    if (auto all = InPartsOfAll(n, around, lane, of_all, partials == 0)) return all;
  Statements body = Hoist(lane.index, &n.body);
  const auto add = [&](const Statements& more) { body.insert(body.end(), more.begin(), more.end()); };
  if (!split) add(InParts(n, {}, lane, n.body, partials));
  for (size_t k = 0; split && k < n.body.size(); ++k)
    add(plain[k] ? Lanes(lane, {n.body[k]}, false) : InParts(n, {}, lane, {n.body[k]}, partials));
  return Wrap(s_, {{around, Schedule::kSequential}}, body);
}

}  // namespace headrace::schedule
