// The body of one SDFG: its control flow; names (verify_scope.h) and statements (verify_statements.h) in their order.
#include <utility>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/denormals.h"
#include "ir/analysis/facts.h"
#include "ir/text/printer.h"
#include "ir/verify/verify_statements.h"

namespace headrace::verify {
namespace {

class SdfgVerifier {
 public:
  SdfgVerifier(const Program* p, const Sdfg& s, std::vector<Diagnostic>* out)
      : s_(s), r_(s, out), writers_(p, s), scope_(s, &writers_, &r_), statements_(p, s, &writers_, &scope_, &r_) {}

  void Run() {
    scope_.ListContainers();
    CheckDeclarations(s_, &r_);
    if (r_.Full()) return;
    scope_.Symbols();
    scope_.NoteWrites();
    sizes_ = AboutSizes();
    if (IsScheduled(s_)) CheckSchedule(s_, &r_);
    Blocks(s_.body, 0);
    r_.InBlock(nullptr);
    scope_.Unwritten();
    statements_.Registers();
    if (IsScheduled(s_) && r_.None()) CheckValues(s_, &r_);
    if (scope_.HasPlaces() && r_.None()) CheckArena(s_, &r_);
  }

 private:
  void Blocks(const std::vector<BlockId>& body, int loops) {
    for (size_t i = 0; i < body.size() && !r_.Full(); ++i) {
      const Control& c = s_.blocks[body[i]].control;
      r_.InBlock(&s_.blocks[body[i]].origin);
      if (auto* st = std::get_if<State>(&c)) {
        for (NodeId n : st->statements) {
          if (r_.Full()) return;
          statements_.Check(n, reached_);
        }
      } else if (auto* l = std::get_if<Loop>(&c)) {
        LoopBlock(*l, loops);
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        if (d->branches.empty()) r_.Add("E0216", "a conditional has no branch", {}, "", "remove it");
        bool taken = false;  // surely
        for (size_t k = 0; k < d->branches.size(); ++k) {
          r_.InBlock(&s_.blocks[body[i]].origin);
          const Branch& br = d->branches[k];
          if (br.condition) scope_.Condition(br.condition, "the condition of an if");
          else if (k + 1 < d->branches.size())
            r_.Add("E0217", "an else is followed by another branch", {}, "", "else comes last");
          const auto holds = Decide(br.condition, sizes_);
          Within(br.body, loops, !taken && holds != false);
          taken |= holds == true;
        }
      } else if (std::holds_alternative<Break>(c) || std::holds_alternative<Continue>(c)) {
        if (loops == 0) r_.Add("E0218", "break or continue outside of a loop", {}, "", "it belongs in a for or while");
      } else if (auto* a = std::get_if<Assign>(&c)) {
        (void)scope_.Typed(a->value, {}, "the value of " + Quoted(a->symbol));
        if (!scope_.IsDefined(a->symbol)) scope_.Define(a->symbol, {}, "symbol");
      } else if (auto* r = std::get_if<Require>(&c)) {
        Requirement(*r);
      }
    }
  }
  void Requirement(const Require& r) {
    scope_.Condition(r.condition, "the condition of a require");
    bool reads = !ReadContainers(r.condition).empty();
    for (const Expr& e : r.values) reads |= !scope_.Typed(e, {}, "a value of a require").ok() || !IsIndexExpr(e);
    if (reads)
      r_.Add("E0253", "a require speaks of more than sizes: " + ToString(r.condition), {}, "",
             "give data-dependent sizes a name: let n = …");
    size_t places = 0;
    for (size_t at = r.message.find("{}"); at != std::string::npos; at = r.message.find("{}", at + 2)) ++places;
    if (places == r.values.size()) return;
    Diagnostic& d = r_.Add("E0254", "the message of a require has as many {} as there are values", {}, "",
                           "write one {} for each value: require n == m else \"{} and {}\", n, m");
    d.got = std::to_string(places) + " and " + std::to_string(r.values.size());
  }
  void LoopBlock(const Loop& l, int loops) {
    std::unordered_set<Name> inside;
    writers_.Roots(l.body, &inside);  // a later iteration may read what an earlier one wrote
    for (Name n : inside) scope_.MarkWritten(n);
    if (l.init) (void)scope_.Typed(l.init, {}, "the start of a loop");
    if (!l.var.empty()) {
      if (!l.init || !l.update)
        r_.Add("E0219", "loop over " + Quoted(l.var) + " has no start or no step", {}, l.var.str(),
               "for v = start; condition; update");
      scope_.Define(l.var, {}, "loop variable");
    }
    if (l.condition) scope_.Condition(l.condition, "the condition of a loop");
    else if (!HasExit(s_, l.body))
      r_.Add("E0220", "a loop without a condition has no break", {}, l.var.str(), "add a condition or a break");
    if (l.update) (void)scope_.Typed(l.update, {}, "the step of a loop");
    Within(l.body, loops + 1, l.do_while || !NeverBegins(l));
    if (!l.var.empty()) scope_.Undefine(l.var);
  }
  // What sizes show never to run is outside of nothing: `for t in 0:0 { Y[t] = 0 }`.
  void Within(const std::vector<BlockId>& body, int loops, bool reached) {
    const bool outside = std::exchange(reached_, reached_ && reached);
    Blocks(body, loops);
    reached_ = outside;
  }
  bool NeverBegins(const Loop& l) const {
    if (!l.condition || (!l.var.empty() && !l.init)) return false;
    return Decide(l.var.empty() ? l.condition : Substitute(l.condition, {{l.var, l.init}}), sizes_) == false;
  }
  // Loop variables and computed symbols may be negative, unlike sizes.
  Assumptions AboutSizes() const {
    Assumptions as = s_.assumptions;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      const Control& c = s_.blocks[b].control;
      if (auto* l = std::get_if<Loop>(&c); l && !l->var.empty()) as.bounds.push_back({l->var, Interval{}});
      if (auto* a = std::get_if<Assign>(&c)) as.bounds.push_back({a->symbol, Interval{}});
    });
    return as;
  }

  const Sdfg& s_;
  Report r_;
  Writers writers_;
  Scope scope_;
  Statements statements_;
  bool reached_ = true;
  Assumptions sizes_;
};

}  // namespace

void CheckBody(const Program& p, const Sdfg& s, std::vector<Diagnostic>* out) {
  SdfgVerifier(&p, s, out).Run();
  if (s.flush && NeedsDenormals(s))
    Report(s, out).Add("E0258", "'" + s.name.str() + "' is marked @flush and computes in f64, c128 or f8e8m0, which keep denormals",
                       {}, s.name.str(), "drop @flush, or let the pass `denormals` put it");
}

}  // namespace headrace::verify
