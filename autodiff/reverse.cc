// Regions run backwards: lists in reverse order, loops over the same iterations from the last to the first, conditionals by
// the branch that was taken.
#include "autodiff/reverse.h"

#include <algorithm>

namespace headrace::autodiff {
namespace {

bool ReadsContainers(const Expr& e) { return e && !ReadContainers(e).empty(); }

// `for v = a; v <= b; …` and `v >= b` as a range; what AsRange knows besides.
std::optional<Range> RangeOf(const Loop& l) {
  if (auto r = AsRange(l)) return AsInt(r->step) ? r : std::nullopt;
  if (l.var.empty() || l.do_while || !l.condition.Is(ExprKind::kBinary) || l.condition->args[0] != SymbolExpr(l.var))
    return std::nullopt;
  Loop strict = l;
  Op op = l.condition->op;
  if (op != Op::kLe && op != Op::kGe) return std::nullopt;
  const Expr& bound = l.condition->args[1];
  if (ReadsContainers(bound)) return std::nullopt;
  strict.condition =
      BinaryExpr(op == Op::kLe ? Op::kLt : Op::kGt, l.condition->args[0], bound + Expr(op == Op::kLe ? 1 : -1));
  auto r = AsRange(strict);
  return r && AsInt(r->step) ? r : std::nullopt;
}

}  // namespace

bool Reversal::WrittenIn(const std::vector<BlockId>& body, const Expr& e) const {
  if (!e) return false;
  std::unordered_set<Name> written, lets;
  ForEachBlock(s_, body, [&](BlockId b) {
    if (auto* a = std::get_if<Assign>(&s_.blocks[b].control)) lets.insert(a->symbol);
    if (auto* st = std::get_if<State>(&s_.blocks[b].control))
      for (NodeId n : st->statements)
        for (const Touched& t : TouchedBy(s_, n, callees_))
          if (t.write) written.insert(t.root);
  });
  for (Name n : ReadContainers(e))
    if (written.count(RootOf(s_, n))) return true;
  for (Name n : FreeSymbols(e))
    if (lets.count(n)) return true;
  return false;
}

Status Reversal::VisitState(const State& st, const std::vector<Frame>& frames, BlockList* forward,
                            std::vector<std::vector<BlockId>>* backward) {
  for (NodeId n : st.statements) {
    HR_ASSIGN_OR_RETURN(const Adjoint* adjoint, AdjointOf(n));
    BlockList restore(&s_), b(&s_);
    if (auto it = pushes_.find(n.value); it != pushes_.end()) {
      for (const Push& push : it->second) {
        for (const Use& u : adjoint->after)
          if (u.root == push.root && !adjoint->before.empty())
            for (const Use& v : adjoint->before)
              if (v.root == push.root)
                return WithNode(UnsupportedError("E0813", "the gradient of a node needs '" + push.root.str() +
                                                     "' as it was before and after the node overwrote it",
                                                 "let it write to another container"),
                                s_.nodes[n].origin.Label());
        HR_RETURN_IF_ERROR(EmitPush(push, frames, forward, &restore));
      }
    }
    forward->Statement(n);
    if (adjoint->after.empty()) {
      b.Blocks(restore.Take());
      b.Statements(adjoint->statements);
    } else {
      b.Statements(adjoint->statements);
      b.Blocks(restore.Take());
    }
    backward->push_back(b.Take());
  }
  return {};
}

// A size from data: in the backward sweep it has the value it had, so blocks after it see theirs again: found anew where it is the
// same again, otherwise from a tape.
Status Reversal::VisitLet(BlockId b, const std::vector<Frame>& frames, BlockList* forward,
                          std::vector<std::vector<BlockId>>* backward, std::map<Name, Expr>* lets) {
  const Assign a = std::get<Assign>(s_.blocks[b].control);
  forward->Block(b);
  // In a branch it has no value where another one was taken.
  const bool nested = !frames.empty() || depth_ > 1;
  const bool repeated = nested || lets->count(a.symbol) || let_count_[a.symbol] > 1;
  if (!repeated) return {};
  if (let_count_[a.symbol] == 1 && IsTheSameAgain(a.value)) {
    backward->emplace_back();
    (*lets)[a.symbol] = a.value;
    return {};
  }
  HR_ASSIGN_OR_RETURN(Name tape, Tape("tape_" + a.symbol.str(), DType::kI64, {}, frames));
  forward->Statement(AddTasklet(&s_, tape, Slot(frames), SymbolExpr(a.symbol)));
  BlockList again(&s_);
  if (auto previous = lets->find(a.symbol); previous != lets->end()) again.Let(a.symbol, previous->second);
  backward->push_back(again.Take());
  (*lets)[a.symbol] = ReadExpr(tape, Slot(frames));
  return {};
}

Result<Reversal::Sides> Reversal::VisitLoop(BlockId id, std::vector<Frame>* frames) {
  const Loop l = std::get<Loop>(s_.blocks[id].control);
  const Origin origin = s_.blocks[id].origin;
  if (l.do_while) return InternalError("a do-while loop reached the reversal");
  Frame f;
  f.loop = l;
  f.block = id;
  BlockList before(&s_), relet(&s_);
  std::optional<Range> range = RangeOf(l);
  if (range && (WrittenIn(l.body, l.condition) || WrittenIn(l.body, l.update))) range = std::nullopt;
  if (range && ProveLe(*AsInt(range->step) > 0 ? range->end - range->begin : range->begin - range->end, Expr(0),
                       s_.assumptions) == Truth::kYes) {
    Sides never;  // a tape for it would have no slots
    never.forward = {id};
    return never;
  }
  Name trips, step_of;
  std::vector<Expr> slot = Slot(*frames);
  if (range) {
    // Bounds from data get names, so that both sweeps see the same.
    for (Expr* e : {&range->begin, &range->end}) {
      if (!ReadsContainers(*e)) continue;
      Name n = names_("bound");
      before.Let(n, *e);
      if (!frames->empty() || depth_ > 1) {
        inner_lets_.insert(n);
        if (IsTheSameAgain(*e)) {
          relet.Let(n, *e);
          *e = SymbolExpr(n);
          continue;
        }
        HR_ASSIGN_OR_RETURN(Name tape, Tape("tape_" + n.str(), DType::kI64, {}, *frames));
        before.Statement(AddTasklet(&s_, tape, slot, SymbolExpr(n)));
        relet.Let(n, ReadExpr(tape, slot));
      }
      *e = SymbolExpr(n);
    }
    f.range = range;
    f.loop = RangeLoop(l.var, range->begin, range->end, range->step);
    int64_t step = *AsInt(range->step);
    Expr v = SymbolExpr(l.var);
    f.iteration = step > 0 ? FloorDiv(v - range->begin, Expr(step)) : FloorDiv(range->begin - v, Expr(-step));
  } else {
    if (l.var.empty()) {  // while: count in a loop variable
      f.loop.var = names_("round");
      f.loop.init = Expr(0);
      f.loop.update = BinaryExpr(Op::kAdd, SymbolExpr(f.loop.var), Expr(1));
      f.iteration = SymbolExpr(f.loop.var);
    } else {  // any other update: the variable's values are recorded
      Container c;
      c.name = names_("round");
      c.dtype = DType::kI64;
      f.iteration = ReadExpr(c.name, {});
      s_.Add(std::move(c));
    }
  }
  frames->push_back(f);
  Result<Sides> inner = Visit(l.body, frames);
  if (!inner.ok()) return inner.status();
  Sides out;
  if (inner->backward.empty()) {
    frames->pop_back();
    // Nothing to undo: the loop stays as it is (pushes would have put something in the backward sweep).
    out.forward = {id};
    return out;
  }
  if (!range && !l.var.empty()) {  // the variable's value in each iteration
    HR_ASSIGN_OR_RETURN(step_of, Tape("tape_" + l.var.str(), DType::kI64, {}, *frames));
  }
  std::vector<Expr> inner_slot = Slot(*frames);
  frames->pop_back();
  if (!range) { HR_ASSIGN_OR_RETURN(trips, Tape("trip_count", DType::kI64, {}, *frames)); }

  BlockList forward(&s_), backward(&s_);
  forward.Blocks(before.Take());
  backward.Blocks(relet.Take());
  if (range) {
    Loop again = f.loop;
    again.body = inner->forward;
    forward.Block(s_.AddBlock(again, origin));
    const int64_t step = *AsInt(range->step);
    Expr last = step == 1    ? range->end - Expr(1)
                : step == -1 ? range->end + Expr(1)
                             : range->begin + (TripCount(*range) - Expr(1)) * Expr(step);
    Loop reversed = RangeLoop(l.var, last, range->begin - Expr(step), Expr(-step));
    reversed.body = inner->backward;
    backward.Block(s_.AddBlock(reversed, origin));
  } else {
    const bool own_var = !l.var.empty();
    Name round = own_var ? f.iteration->name : Name();
    BlockList body(&s_);
    if (own_var) {
      forward.Statement(AddTasklet(&s_, round, {}, Expr(0)));
      body.Statement(AddTasklet(&s_, step_of, inner_slot, SymbolExpr(l.var)));
    }
    forward.Statement(AddTasklet(&s_, trips, slot, Expr(0)));
    body.Blocks(inner->forward);
    Expr next = BinaryExpr(Op::kAdd, f.iteration, Expr(1));
    body.Statement(AddTasklet(&s_, trips, slot, next));
    if (own_var) body.Statement(AddTasklet(&s_, round, {}, next));
    Loop again = f.loop;
    again.body = body.Take();
    forward.Block(s_.AddBlock(again, origin));

    Expr count = ReadExpr(trips, slot), last = BinaryExpr(Op::kSub, count, Expr(1));
    Loop reversed;
    reversed.body = inner->backward;
    if (own_var) {
      backward.Statement(AddTasklet(&s_, round, {}, last));
      Expr value = ReadExpr(step_of, inner_slot, Expr(0));
      reversed.var = l.var, reversed.init = value, reversed.update = value;
      reversed.condition = BinaryExpr(Op::kGe, ReadExpr(round, {}), Expr(0));
      BlockList more(&s_);
      more.Blocks(reversed.body);
      more.Statement(AddTasklet(&s_, round, {}, BinaryExpr(Op::kSub, ReadExpr(round, {}), Expr(1))));
      reversed.body = more.Take();
    } else {
      reversed = RangeLoop(f.loop.var, last, Expr(-1), Expr(-1));
      reversed.body = inner->backward;
    }
    backward.Block(s_.AddBlock(reversed, origin));
  }
  out.forward = forward.Take();
  out.backward = backward.Take();
  return out;
}

Result<Reversal::Sides> Reversal::VisitConditional(BlockId id, std::vector<Frame>* frames) {
  const Conditional c = std::get<Conditional>(s_.blocks[id].control);
  std::vector<Sides> branches;
  bool any = false, data = false;
  for (const Branch& br : c.branches) {
    HR_ASSIGN_OR_RETURN(Sides s, Visit(br.body, frames));
    any |= !s.backward.empty();
    data |= br.condition && ReadsContainers(br.condition);
    if (br.condition)
      for (Name n : FreeSymbols(br.condition)) data |= let_count_.count(n) > 0;
    branches.push_back(std::move(s));
  }
  Sides out;
  if (!any) {
    out.forward = {id};
    return out;
  }
  BlockList forward(&s_), backward(&s_);
  Conditional again = c, reversed = c;
  if (data) {  // record which branch was taken
    HR_ASSIGN_OR_RETURN(Name taken, Tape("taken", DType::kI64, {}, *frames));
    std::vector<Expr> slot = Slot(*frames);
    Expr value = Expr(static_cast<int64_t>(c.branches.size()));
    for (size_t k = c.branches.size(); k-- > 0;) {
      Expr number(static_cast<int64_t>(k));
      value = c.branches[k].condition ? SelectExpr(c.branches[k].condition, number, value) : number;
    }
    forward.Statement(AddTasklet(&s_, taken, slot, value));
    for (size_t k = 0; k < c.branches.size(); ++k)
      if (c.branches[k].condition)
        again.branches[k].condition = reversed.branches[k].condition =
            BinaryExpr(Op::kEq, ReadExpr(taken, slot), Expr(static_cast<int64_t>(k)));
  }
  for (size_t k = 0; k < branches.size(); ++k) {
    again.branches[k].body = branches[k].forward;
    reversed.branches[k].body = branches[k].backward;
  }
  forward.Block(s_.AddBlock(again, s_.blocks[id].origin));
  backward.Block(s_.AddBlock(reversed, s_.blocks[id].origin));
  out.forward = forward.Take();
  out.backward = backward.Take();
  return out;
}

Result<Reversal::Sides> Reversal::Visit(const std::vector<BlockId>& body, std::vector<Frame>* frames) {
  BlockList forward(&s_);
  std::vector<std::vector<BlockId>> backward;
  std::map<Name, Expr> lets;  // symbol → its last value, of a tape or found anew
  for (BlockId b : body) {
    const bool outermost = frames->empty() && depth_ == 0;
    if (outermost) {
      top_ = b;
      trip_bounds_.clear();
      inner_lets_.clear();
      ForEachBlock(s_, {b}, [&](BlockId x) {
        if (auto* a = std::get_if<Assign>(&s_.blocks[x].control); a && x.value != b.value)
          inner_lets_.insert(a->symbol);
      });
    }
    const Control c = s_.blocks[b].control;
    BlockList own(&s_);
    ++depth_;
    Status status;
    if (auto* st = std::get_if<State>(&c)) {
      status = VisitState(*st, *frames, &own, &backward);
    } else if (std::holds_alternative<Assign>(c)) {
      status = VisitLet(b, *frames, &own, &backward, &lets);
    } else if (std::holds_alternative<Require>(c)) {
      own.Block(b);  // what held on the way forward holds on the way back
    } else if (std::holds_alternative<Loop>(c) || std::holds_alternative<Conditional>(c)) {
      Result<Sides> sides = std::holds_alternative<Loop>(c) ? VisitLoop(b, frames) : VisitConditional(b, frames);
      status = sides.status();
      if (sides.ok()) {
        own.Blocks(sides->forward);
        backward.push_back(sides->backward);
      }
    } else {
      status = InternalError("break or continue reached the reversal");
    }
    --depth_;
    HR_RETURN_IF_ERROR(status);
    if (outermost) {
      BlockList prologue(&s_);
      CountTrips(b, &prologue);
      forward.Blocks(prologue.Take());
    }
    forward.Blocks(own.Take());
  }
  BlockList all(&s_);
  bool any = false;
  for (const auto& b : backward) any |= !b.empty();
  if (any)
    for (const auto& [symbol, value] : lets) all.Let(symbol, value);
  if (any && depth_ > 0) ClearSizedHere(body, &all);
  for (size_t k = backward.size(); k-- > 0;) all.Blocks(backward[k]);
  Sides out;
  out.forward = forward.Take();
  if (any) out.backward = all.Take();
  return out;
}

Result<Combined> Reversal::Run(const std::vector<Name>& outputs, const std::vector<Name>& inputs,
                               BackwardPrograms* out) {
  active_.emplace(*p_, s_, r_, outputs, inputs);
  for (Name n : outputs) {  // first, so that they get the plain names
    const bool given =
        o_.all_given || std::find(o_.given_gradients.begin(), o_.given_gradients.end(), n) != o_.given_gradients.end();
    if (given) out->output_gradients.push_back({n, Parameter(n, "grad_" + n.str())});
  }
  for (Name n : inputs) GradientOfContainer(n);
  for (Name n : inputs) keep_zero_.insert(RootOf(s_, n));
  Order(s_.body, false);
  ForEachBlock(s_, s_.body, [&](BlockId b) {
    if (auto* a = std::get_if<Assign>(&s_.blocks[b].control)) ++let_count_[a->symbol];
    for (const Touched& t : TouchedBy(s_, b, callees_))
      if (t.write) written_.insert(t.root);
  });
  ForEachNode(s_, [&](NodeId n) {
    if (auto* l = std::get_if<Library>(&s_.nodes[n].body)) defined_.insert(l->defines.begin(), l->defines.end());
  });
  Needed needed;
  HR_RETURN_IF_ERROR(Analyse(s_.body, &needed));
  HR_RETURN_IF_ERROR(CheckSizes());
  std::vector<Frame> frames;
  HR_ASSIGN_OR_RETURN(Sides sides, Visit(s_.body, &frames));
  BlockList before(&s_), after(&s_), start(&s_);
  HR_RETURN_IF_ERROR(Interface(outputs, inputs, out, &before, &after, &start, sides.backward));
  before.Blocks(sides.forward);
  before.Blocks(after.Take());
  std::vector<BlockId> body = before.Take();
  Combined c;
  c.forward_blocks = body.size();
  start.Blocks(sides.backward);
  for (BlockId b : start.Take()) body.push_back(b);
  s_.body = std::move(body);
  c.program = *p_;
  c.tapes = tapes_;
  return c;
}

// A container whose size changes while the program runs loses its value each time: nothing could be put back.
Status Reversal::CheckSizes() {
  std::unordered_set<Name> in_loops;
  std::function<void(const std::vector<BlockId>&, bool)> walk = [&](const std::vector<BlockId>& body, bool looped) {
    for (BlockId b : body) {
      const Control& c = s_.blocks[b].control;
      if (auto* a = std::get_if<Assign>(&c); a && (looped || let_count_[a->symbol] > 1)) in_loops.insert(a->symbol);
      if (auto* st = std::get_if<State>(&c); st && looped)
        for (NodeId n : st->statements)
          if (auto* l = std::get_if<Library>(&s_.nodes[n].body)) in_loops.insert(l->defines.begin(), l->defines.end());
      if (auto* l = std::get_if<Loop>(&c)) walk(l->body, true);
      if (auto* d = std::get_if<Conditional>(&c))
        for (const Branch& br : d->branches) walk(br.body, looped);
    }
  };
  walk(s_.body, false);
  std::vector<Diagnostic> errors;
  for (Name n : s_.order) {
    const Container& c = s_.Get(n);
    if (c.kind == ContainerKind::kView || !(*active_)(n)) continue;
    bool changes = false;
    for (const Expr& d : c.shape)
      for (Name symbol : FreeSymbols(d)) changes |= in_loops.count(symbol) > 0;
    if (!changes) continue;
    const std::string name = !c.origin.named() ? n.str() : c.origin.Label();
    errors.push_back(
        UnsupportedError("E0804", 
            "the size of '" + name + "' is found again in every iteration of a loop, so its gradient has no fixed size",
            "choose among all elements, or find the size outside of the loop")
            .diagnostics()[0]);
  }
  return Status(std::move(errors));
}

// A new parameter of the type and shape of another container.
Name Reversal::Parameter(Name like, std::string_view stem) {
  Container c = s_.Get(like);
  c.name = names_(stem);
  c.kind = ContainerKind::kParameter;
  c.storage = Storage::kArena;
  c.MakeRowMajor(), c.offset = Expr(), c.base = Name();
  c.inout = c.optional = false;
  c.data = Tensor();
  Name n = c.name;
  s_.Add(std::move(c));
  return n;
}

// Parameters of the combined program: gradients in and out; outputs that the sweep would overwrite get copies.
Status Reversal::Interface(const std::vector<Name>& outputs, const std::vector<Name>& inputs, BackwardPrograms* out,
                           BlockList* before, BlockList* after, BlockList* start,
                           const std::vector<BlockId>& backward) {
  // Parameters that are put back while the sweep runs live in a transient of their own.
  std::unordered_set<Name> restored;
  for (const auto& p : pushes_)
    for (const Push& push : p.second) restored.insert(push.root);
  // So do those that only the gradients need: what they become is nobody's, and the work for it dead.
  const bool only_gradients = !o_.keep_outputs && !o_.separate;
  Renames renames;
  for (Name n : s_.parameters) {
    Container c = s_.Get(n);
    const bool in = c.inout, dropped = in && only_gradients;
    if (!restored.count(n) && !dropped) continue;
    c.name = names_("own_" + n.str());
    c.kind = ContainerKind::kTransient;
    c.inout = c.optional = false;
    renames.push_back({n, c.name});
    s_.Add(c);
    if (in) before->Statement(CopyWhole(&s_, &names_, c.name, n));
    if (dropped) s_.Mutable(n).inout = false;
    else after->Statement(CopyWhole(&s_, &names_, n, c.name));
  }
  if (!renames.empty()) {
    // The copies made above name the parameter itself: rename around them.
    std::vector<BlockId> in_copies = before->Take(), out_copies = after->Take();
    std::vector<std::pair<NodeId, Node>> kept;
    for (const auto* list : {&in_copies, &out_copies})
      for (BlockId b : *list)
        for (NodeId n : std::get<State>(s_.blocks[b].control).statements)
          for (NodeId leaf :
               std::get_if<Map>(&s_.nodes[n].body) ? std::get<Map>(s_.nodes[n].body).body : std::vector<NodeId>{n})
            kept.push_back({leaf, s_.nodes[leaf]});
    RenameEverywhere(&s_, renames);
    for (auto& k : kept) s_.nodes.Mutable(k.first) = k.second;
    for (Name n : std::vector<Name>(s_.order)) {
      if (s_.Get(n).kind != ContainerKind::kView) continue;
      for (const auto& r : renames)
        if (s_.Get(n).base == r.first) s_.Mutable(n).base = r.second;
    }
    before->Blocks(in_copies);
    after->Blocks(out_copies);
  }

  for (Name n : outputs) GradientOfContainer(n);
  std::unordered_set<Name> passed_in;
  for (Name n : inputs)
    if (added_.count(n)) passed_in.insert(gradients_[n]);
  StartAdjoints(outputs, passed_in, *out, backward, start);
  // Gradients of inputs are parameters themselves.
  for (Name n : inputs) {
    Name g = gradients_[n];
    Container& c = s_.Mutable(g);
    c.kind = ContainerKind::kParameter;
    c.storage = Storage::kArena;
    c.inout = passed_in.count(g) > 0;
    out->input_gradients.push_back({n, g});
  }
  s_.parameters.clear();
  std::vector<Name> order, others;
  for (Name n : s_.order) (s_.Get(n).kind == ContainerKind::kParameter ? order : others).push_back(n);
  s_.parameters = order;
  order.insert(order.end(), others.begin(), others.end());
  s_.order = order;
  return {};
}

}  // namespace headrace::autodiff
