#include "autodiff/backward.h"

#include <algorithm>

#include "autodiff/gather_adjoints.h"
#include "autodiff/layers.h"
#include "autodiff/normalize.h"
#include "autodiff/plan.h"
#include "autodiff/predict.h"
#include "autodiff/reverse.h"
#include "autodiff/statement_rules.h"
#include "autodiff/widen_sums.h"

namespace headrace::autodiff {
namespace {

// `given`: outputs whose gradient is passed in.
Status CheckNames(const Program& p, const std::vector<Name>& outputs, const std::vector<Name>& inputs, const std::vector<Name>& given = {}) {
  const Sdfg& s = p.Entry();
  std::vector<Diagnostic> errors;
  auto fail = [&](const std::string& message, const std::string& hint, Name n, ErrorKind kind = ErrorKind::kUsage) {
    Diagnostic d;
    d.kind = kind;
    d.code = "E0810";
    d.message = message;
    d.hint = hint;
    d.node = n.str();
    errors.push_back(d);
  };
  auto known = [&](Name n, const char* what) -> const Container* {
    const Container* c = s.Find(n);
    if (c && c->kind == ContainerKind::kParameter) return c;
    std::vector<std::string> names;
    for (Name q : s.parameters) names.push_back(q.str());
    std::string close = ClosestWord(n.str(), names), all;
    for (const std::string& q : names) all += (all.empty() ? "" : ", ") + q;
    fail("the program has no parameter '" + n.str() + "' to be the " + what + " of a derivative",
         close.empty() ? "parameters: " + all : "did you mean '" + close + "'?", n);
    return nullptr;
  };
  auto differentiable = [&](const Container* c, const char* what) {
    if (!c) return;
    if (c->kind == ContainerKind::kSequence || c->type.kind != ValueType::kTensor)
      fail(std::string(what) + " '" + c->name.str() + "' is a sequence or optional, which have no gradient",
           "differentiate with respect to tensors", c->name, ErrorKind::kUnsupported);
    else if (!IsFloat(c->dtype) && !IsComplex(c->dtype))
      fail(std::string(what) + " '" + c->name.str() + "' is " + std::string(DTypeName(c->dtype)) +
               ", which has no derivative",
           "choose a float", c->name);
  };
  std::vector<Name> written = Outputs(p, s), read = Inputs(p, s);
  for (Name n : outputs) {
    const Container* c = known(n, "output");
    differentiable(c, "output");
    if (c && std::find(written.begin(), written.end(), n) == written.end())
      fail("'" + n.str() + "' is not an output: nothing writes it", "name an output", n);
  }
  for (Name n : inputs) {
    const Container* c = known(n, "input");
    differentiable(c, "input");
    if (c && std::find(read.begin(), read.end(), n) == read.end())
      fail("'" + n.str() + "' is not an input", "name an input", n);
  }
  if (outputs.empty()) fail("no output to differentiate", "name at least one", {});
  for (Name n : given) {
    if (std::find(outputs.begin(), outputs.end(), n) != outputs.end()) continue;
    std::string all;
    for (Name o : outputs) all += (all.empty() ? "" : ", ") + o.str();
    fail("a gradient is given for '" + n.str() + "', which is none of the outputs that are differentiated",
         "gradients are given for some of these: " + all, n);
  }
  return Status(std::move(errors));
}

// Only what gradients need stays: outputs nobody asked for are no longer parameters.
void DropOutputs(Program* p, const std::vector<Name>& keep) {
  Sdfg& s = p->MutableEntry();
  std::vector<Name> written = Outputs(*p, s), parameters;
  for (Name n : s.parameters) {
    bool output = std::find(written.begin(), written.end(), n) != written.end();
    if (!output || std::find(keep.begin(), keep.end(), n) != keep.end() || s.Get(n).inout) parameters.push_back(n);
    else s.Mutable(n).kind = ContainerKind::kTransient;
  }
  s.parameters = parameters;
  std::stable_partition(s.order.begin(), s.order.end(),
                        [&](Name n) { return s.Get(n).kind == ContainerKind::kParameter; });
}

std::vector<Name> RootsTouched(const Program& p, const Sdfg& s, const std::vector<BlockId>& blocks, bool writes) {
  std::vector<Name> out;
  std::unordered_set<Name> seen;
  Callees callees(p);
  for (BlockId b : blocks)
    for (const Touched& t : TouchedBy(s, b, callees))
      if ((writes ? t.write : (t.read || t.write)) && seen.insert(t.root).second) out.push_back(t.root);
  return out;
}

// Symbols that both parts see: those of inner `let`s are on tapes.
void DefinedSymbols(const Sdfg& s, const std::vector<BlockId>& body, std::vector<Name>* out) {
  auto add = [&](Name n) {
    if (std::find(out->begin(), out->end(), n) == out->end()) out->push_back(n);
  };
  for (BlockId b : body)
    if (auto* a = std::get_if<Assign>(&s.blocks[b].control)) add(a->symbol);
  ForEachBlock(s, body, [&](BlockId b) {
    if (auto* st = std::get_if<State>(&s.blocks[b].control))
      for (NodeId n : st->statements)
        if (auto* l = std::get_if<Library>(&s.nodes[n].body))
          for (Name d : l->defines) add(d);
  });
}

// Sizes of what is kept that have a value only where a branch was taken, which is 0 elsewhere: nothing of that size is used there.
std::vector<Name> SizesOfBranches(const Sdfg& s, const std::vector<BlockId>& forward, const std::vector<Name>& kept,
                                  const std::vector<Name>& known) {
  std::unordered_set<Name> inside, seen(known.begin(), known.end());
  ForEachBlock(s, forward, [&](BlockId b) {
    if (auto* a = std::get_if<Assign>(&s.blocks[b].control)) inside.insert(a->symbol);
  });
  std::vector<Name> out;
  for (Name n : kept)
    for (const Expr& dim : s.Get(n).shape)
      for (Name x : FreeSymbols(dim))
        if (inside.count(x) && seen.insert(x).second) out.push_back(x);
  return out;
}

// The combined program cut in two: what the backward part needs from the forward one becomes an output of it.
void Separate(const Combined& c, BackwardPrograms* out) {
  const Sdfg& s = c.program.Entry();
  std::vector<BlockId> forward(s.body.begin(), s.body.begin() + c.forward_blocks),
      backward(s.body.begin() + c.forward_blocks, s.body.end());
  std::vector<Name> made = RootsTouched(c.program, s, forward, true),
                    used = RootsTouched(c.program, s, backward, false),
                    changed = RootsTouched(c.program, s, backward, true), symbols;
  DefinedSymbols(s, forward, &symbols);
  auto in = [](const std::vector<Name>& list, Name n) { return std::find(list.begin(), list.end(), n) != list.end(); };
  out->forward = c.program;
  out->program = c.program;
  Sdfg &f = out->forward.MutableEntry(), &b = out->program.MutableEntry();
  std::vector<Name> passed;
  std::copy_if(made.begin(), made.end(), std::back_inserter(passed), [&](Name n) { return in(used, n); });
  BlockList none(&f);
  for (Name n : SizesOfBranches(s, forward, passed, symbols)) none.Let(n, Expr(0)), symbols.push_back(n);
  f.body = none.Take();
  f.body.insert(f.body.end(), forward.begin(), forward.end());
  b.body = {};
  b.name = s.name.str() + "_backward";
  out->program.entry = b.name;
  FreshNames names(s);
  BlockList start(&b);
  auto is_gradient = [&](Name n) {
    for (const auto* list : {&out->input_gradients, &out->output_gradients})
      for (const auto& g : *list)
        if (g.second == n) return true;
    return false;
  };
  // Gradients belong to the backward program, the rest of the parameters to the forward one.
  f.parameters.clear(), b.parameters.clear();
  for (Name n : s.parameters)
    if (!is_gradient(n)) f.parameters.push_back(n);
  for (Name n : s.parameters) {
    if (is_gradient(n)) continue;
    // Outputs that the backward part puts back to what they were are copied below.
    const bool copied = in(made, n) && in(changed, n);
    if (in(used, n) && !copied) b.parameters.push_back(n);
    else b.Mutable(n).kind = ContainerKind::kTransient, b.Mutable(n).inout = false;
    if (in(made, n) && in(used, n) && !copied) out->kept.push_back(n);
  }
  for (Name n : symbols) {
    Container c1;
    c1.name = names("kept_" + n.str());
    c1.kind = ContainerKind::kParameter;
    c1.dtype = DType::kI64;
    f.Add(c1), b.Add(c1);
    BlockList store(&f);
    store.Statement(AddTasklet(&f, c1.name, {}, SymbolExpr(n)));
    for (BlockId x : store.Take()) f.body.push_back(x);
    f.parameters.push_back(c1.name), b.parameters.push_back(c1.name);
    out->kept.push_back(c1.name);
    start.Let(n, ReadExpr(c1.name, {}));
  }
  for (Name n : made) {
    const Container& container = s.Get(n);
    if (!in(used, n) || (container.kind == ContainerKind::kParameter && !in(changed, n))) continue;
    Container kept = container;
    kept.kind = ContainerKind::kParameter;
    kept.storage = Storage::kArena;
    kept.inout = false;
    // Sizes that the program itself defines stand alone in what it gives, and are set before.
    bool own_size = false;
    for (Expr& dim : kept.shape) {
      const std::vector<Name> free = FreeSymbols(dim);
      if (std::none_of(free.begin(), free.end(), [&](Name x) { return in(symbols, x); })) continue;
      own_size = true;
      const Name alone = names("size_of_" + n.str());
      BlockList let(&f);
      let.Let(alone, dim);
      for (BlockId x : let.Take()) f.body.push_back(x);
      dim = SymbolExpr(alone);
    }
    if (own_size || in(changed, n)) {  // the backward program works on a copy
      kept.name = names("kept_" + n.str());
      if (own_size) kept.MakeRowMajor();
      f.Add(kept), b.Add(kept);
      BlockList copy(&f);
      copy.Statement(CopyWhole(&f, &names, kept.name, n));
      for (BlockId x : copy.Take()) f.body.push_back(x);
      start.Statement(CopyWhole(&b, &names, n, kept.name));
    } else {
      f.Mutable(n) = kept, b.Mutable(n) = kept;
    }
    f.parameters.push_back(kept.name), b.parameters.push_back(kept.name);
    out->kept.push_back(kept.name);
  }
  for (Name n : s.parameters)
    if (is_gradient(n)) b.parameters.push_back(n), f.Mutable(n).kind = ContainerKind::kTransient, f.Mutable(n).inout = false;
  for (BlockId x : backward) start.Block(x);
  b.body = start.Take();
  for (Sdfg* g : {&f, &b}) {
    std::vector<Name> order = g->parameters;
    for (Name n : g->order)
      if (g->Get(n).kind != ContainerKind::kParameter) order.push_back(n);
    g->order = order;
  }
  for (Name n : FreeSymbols(s)) {
    if (in(symbols, n)) continue;  // kept
    auto bound = FreeSymbols(b);
    if (std::find(bound.begin(), bound.end(), n) == bound.end()) b.symbol_params.push_back(n);
  }
}

Status CleanUp(Program* p, const Registry& r) {
  DeclareSymbols(&p->MutableEntry());  // a size that only a parameter had which is no longer one
  const bool there = r.FindPass("eliminate-dead-code") != nullptr;
  return there ? RunPipeline(r, "eliminate-dead-code", *p) : Status();
}

// What is kept in f32 and read rounded to halves is kept rounded.
Status RoundKept(Program* p, const Registry& r) {
  const bool there = r.FindPass("round-early") != nullptr;
  return there ? RunPipeline(r, "round-early", *p) : Status();
}

// Parameters that the backward program takes and, after clean-up, does not read: the forward one needn't keep them.
// `own`: the parameters of the program that was differentiated.
void DropUnread(const std::vector<Name>& own, BackwardPrograms* out) {
  Sdfg &b = out->program.MutableEntry(), &f = out->forward.MutableEntry();
  auto in = [](const std::vector<Name>& list, Name n) { return std::find(list.begin(), list.end(), n) != list.end(); };
  auto erase = [](std::vector<Name>* list, Name n) { list->erase(std::remove(list->begin(), list->end(), n), list->end()); };
  std::vector<Name> needed = RootsTouched(out->program, b, {b.body.begin(), b.body.end()}, false);
  for (const auto* list : {&out->input_gradients, &out->output_gradients})
    for (const auto& g : *list) needed.push_back(g.second);
  for (Name n : std::vector<Name>(b.parameters)) {
    if (in(needed, n)) continue;
    b.Remove(n);
    if (in(out->kept, n) && !in(own, n)) {
      erase(&f.parameters, n), erase(&f.order, n);
      f.Mutable(n).kind = ContainerKind::kTransient, f.order.push_back(n);
    }
    erase(&out->kept, n);
  }
}

// From the reversal to the programs that the caller gets, for one limit.
struct Attempt {
  const Combined& combined;
  const BackwardPrograms& start;
  const std::vector<Name>& own;  // parameters of the program that was differentiated
  const bool nodes;              // statements became nodes
  const Registry& r;

  Result<BackwardPrograms> Plan(const Options& o, Report* report) const {
    Combined c = combined;
    BackwardPrograms out = start;
    HR_RETURN_IF_ERROR(PlanMemory(&c, o, r, report));
    HR_RETURN_IF_ERROR(RoundKept(&c.program, r));
    if (o.separate) Separate(c, &out);
    else out.program = std::move(c.program);
    if (nodes) HR_RETURN_IF_ERROR(NodesToStatements(&out.program, r));
    if (nodes && o.separate) HR_RETURN_IF_ERROR(NodesToStatements(&out.forward, r));
    HR_RETURN_IF_ERROR(CleanUp(&out.program, r));
    if (o.separate) {
      DropUnread(own, &out);
      HR_RETURN_IF_ERROR(CleanUp(&out.program, r));
      HR_RETURN_IF_ERROR(CleanUp(&out.forward, r));
    } else if (const auto bytes = PredictedArena(out.program, o.sizes, r)) {
      report->predicted_peak = *bytes;
    }
    out.report = *report;
    return out;
  }
};

// A plan within a limit. The planner weighs arrays as they are before expansion and fusion; what counts is what a backend
// allocates after.
class Within {
 public:
  Within(int64_t limit, const Attempt& attempt, const Options& o) : limit_(limit), attempt_(attempt), o_(o) {}

  Result<BackwardPrograms> Run() {
    HR_RETURN_IF_ERROR(AskForLess());
    // The rest does not depend on the limit: the least of it is what an error may promise.
    for (const Keep keep : {Keep::kSolve, Keep::kStoreAll, Keep::kRecomputeAll})
      if (!found_) HR_RETURN_IF_ERROR(Try(With(keep, std::nullopt)));
    if (!found_) HR_RETURN_IF_ERROR(Try(With(Keep::kSolve, 1)));
    if (!found_) HR_RETURN_IF_ERROR(Try(With(Keep::kSolve, report_.minimum_peak)));
    if (!found_) return LimitTooSmall(limit_, least_);
    return std::move(*found_);
  }

 private:
  Options With(Keep keep, std::optional<int64_t> limit) const {
    Options o = o_;
    o.keep = keep, o.memory_limit = limit;
    return o;
  }
  // A plan that was refused for its size is no error yet.
  Status Try(const Options& o) {
    report_ = {};
    Result<BackwardPrograms> out = attempt_.Plan(o, &report_);
    planned_ = out.ok();
    if (!out.ok()) return out.status().diagnostics()[0].code == "E0815" ? Status() : out.status();
    const int64_t bytes = report_.predicted_peak;
    if (bytes <= limit_) found_ = std::move(*out);
    least_ = std::min(least_, bytes);
    return {};
  }
  Status AskForLess() {
    constexpr int kRounds = 4;
    Options o = o_;
    HR_RETURN_IF_ERROR(Try(o));
    for (int round = 0; round < kRounds && !found_ && planned_; ++round) {
      *o.memory_limit -= report_.predicted_peak - limit_;
      if (*o.memory_limit <= 0) break;
      HR_RETURN_IF_ERROR(Try(o));
    }
    least_ = INT64_MAX;
    return {};
  }

  const int64_t limit_;
  const Attempt& attempt_;
  const Options& o_;
  Report report_;
  bool planned_ = false;
  int64_t least_ = INT64_MAX;
  std::optional<BackwardPrograms> found_;
};

// A program in normal form, and what is known of it.
struct Normal {
  Program program;
  bool nodes = false;  // statements became nodes
  std::shared_ptr<KnownCosts> costs = std::make_shared<KnownCosts>();
  ReversedLayers layers;
  std::unordered_set<Name> added;  // inputs whose gradients are added to what is passed in
};

Result<BackwardPrograms> Reversed(Normal n, const std::vector<Name>& own, const std::vector<Name>& outputs,
                                  const std::vector<Name>& inputs, const Options& o, const Registry& r) {
  BackwardPrograms out;
  HR_ASSIGN_OR_RETURN(Combined c, Reversal(&n.program, r, o, n.layers, n.added).Run(outputs, inputs, &out));
  c.costs = n.costs;
  if (!o.keep_outputs && !o.separate) {
    std::vector<Name> keep;
    for (const auto& g : out.input_gradients) keep.push_back(g.second);
    DropOutputs(&c.program, keep);
  }
  {
    const Program before = c.program;
    GatherAdjoints(before, &c.program.MutableEntry(), c.forward_blocks);
  }
  WidenSums(&c.program, c.forward_blocks);
  const Attempt attempt{c, out, own, n.nodes, r};
  if (o.memory_limit && o.keep == Keep::kSolve && !o.separate) return Within(*o.memory_limit, attempt, o).Run();
  Report report;
  HR_ASSIGN_OR_RETURN(out, attempt.Plan(o, &report));
  if (const auto limit = o.memory_limit; limit && !o.separate && report.predicted_peak > *limit)
    return LimitTooSmall(*limit, report.predicted_peak);
  return out;
}

// The normal form with equal layers reversed; nothing where there are none. What goes wrong in one is an error of the statements
// themselves, which say where they stand.
Result<std::optional<Normal>> WithLayers(Program p, const std::vector<Name>& outputs, const std::vector<Name>& inputs,
                                         const Options& o, const Registry& r) {
  const std::optional<Normal> none;
  HR_ASSIGN_OR_RETURN(const std::vector<Name> layers, ShareLayers(&p, r));
  if (layers.empty()) return none;
  HR_RETURN_IF_ERROR(Normalize(p, r, o.fuse, layers));
  Normal n;
  Result<std::optional<ReversedLayers>> reversed = ReverseLayers(&p, layers, outputs, inputs, o, n.costs, r);
  if (!reversed.ok() || !*reversed) return none;
  n.program = std::move(p);
  n.layers = std::move(**reversed);
  return std::optional<Normal>(std::move(n));
}

}  // namespace

Result<BackwardPrograms> BackwardOfLayer(Program layer, const std::vector<Name>& outputs, const std::vector<Name>& inputs,
                                         const std::unordered_set<Name>& added, const Options& o,
                                         const std::shared_ptr<KnownCosts>& costs, const Registry& r) {
  const std::vector<Name> own = layer.Entry().parameters;
  Options parts;
  parts.separate = parts.all_given = true;
  parts.fuse = o.fuse, parts.keep = o.keep, parts.sizes = o.sizes;
  Normal n;
  n.added = added;
  n.costs = costs;
  HR_RETURN_IF_ERROR(CheckNames(layer, outputs, inputs));
  n.program = std::move(layer);
  HR_RETURN_IF_ERROR(Normalize(n.program, r, o.fuse));
  return Reversed(std::move(n), own, outputs, inputs, parts, r);
}

Result<BackwardPrograms> Backward(const Program& p, const std::vector<Name>& outputs, const std::vector<Name>& inputs,
                                  const Options& o, const Registry& r) {
  HR_RETURN_IF_ERROR(CheckNames(p, outputs, inputs, o.given_gradients));
  const std::vector<Name>& own = p.Entry().parameters;
  Normal n;
  n.program = p;
  HR_RETURN_IF_ERROR(ToRowMajor(&n.program));
  HR_ASSIGN_OR_RETURN(n.nodes, StatementsToNodes(&n.program, r));
  if (!n.nodes && MayShareLayers(p, o, r)) {
    HR_ASSIGN_OR_RETURN(std::optional<Normal> shared, WithLayers(n.program, outputs, inputs, o, r));
    if (shared) return Reversed(std::move(*shared), own, outputs, inputs, o, r);
  }
  HR_RETURN_IF_ERROR(Normalize(n.program, r, o.fuse));
  return Reversed(std::move(n), own, outputs, inputs, o, r);
}

Result<std::vector<std::pair<Name, Name>>> AddBackwardPass(Program& p, const std::vector<Name>& outputs,
                                                           const std::vector<Name>& inputs, const Registry& r,
                                                           const Options& o) {
  if (o.separate) return UsageError("E0812", "AddBackwardPass makes one program", "use Backward() for two");
  HR_ASSIGN_OR_RETURN(BackwardPrograms b, Backward(p, outputs, inputs, o, r));
  p = std::move(b.program);
  return b.input_gradients;
}

Result<BackwardPrograms> MakeBackwardFunction(const Program& p, const std::vector<Name>& inputs, const Registry& r,
                                              Options o) {
  o.separate = o.all_given = true;
  std::vector<Name> outputs;
  for (Name n : Outputs(p, p.Entry())) {
    const Container& c = p.Entry().Get(n);
    if (c.kind == ContainerKind::kParameter && (IsFloat(c.dtype) || IsComplex(c.dtype))) outputs.push_back(n);
  }
  return Backward(p, outputs, inputs, o, r);
}

}  // namespace headrace::autodiff
