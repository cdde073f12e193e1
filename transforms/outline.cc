#include "transforms/outline.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/graph/homes.h"
#include "ir/verify/verify.h"
#include "transforms/loop_groups.h"
#include "transforms/loop_statement.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

using transforms::StatementKey;

bool IsParameter(const Container& c) { return c.kind != ContainerKind::kView && !IsScoped(c.storage); }

// Whether an access of the statement may be outside its container: then a run may stop with an error that names it.
bool MayReport(const Sdfg& s, NodeId n, std::vector<Range> ranges) {
  bool may = false;
  const auto access = [&](Name container, const std::vector<Expr>& index, bool flat, bool guarded) {
    if (may || guarded) return;
    const Container& c = s.Get(container);
    const std::vector<Expr> shape = flat ? std::vector<Expr>{NumElements(c)} : c.shape;
    for (size_t d = 0; d < index.size() && !may; ++d)
      may = !UnprovenSides(ranges, index[d], shape[d], s.assumptions).none();
  };
  const auto reads = [&](const Expr& e) {
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead))
        access(x->name, {x->args.begin(), x->args.end() - x->has_default}, x->flat, x->has_default);
      return !may;
    });
  };
  const std::function<void(NodeId)> visit = [&](NodeId id) {
    if (const auto* t = std::get_if<Tasklet>(&s.nodes[id].body)) {
      reads(t->value);
      for (const Expr& e : t->index) reads(e);
      access(t->target, t->index, t->flat, t->guarded);
    } else if (const auto* m = std::get_if<Map>(&s.nodes[id].body)) {
      ranges.insert(ranges.end(), m->ranges.begin(), m->ranges.end());
      for (NodeId c : m->body) visit(c);
      ranges.resize(ranges.size() - m->ranges.size());
    }
  };
  visit(n);
  return may;
}

// A new kernel from a statement: everything under canonical names.
class KernelMaker {
 public:
  KernelMaker(const Sdfg& s, const StatementKey& key, const std::unordered_set<Name>& written)
      : s_(s), key_(key), written_(written) {}

  // `reported`: parameters keep the names that an error about them tells.
  Sdfg Make(Name name, NodeId statement, const std::vector<Range>& given, bool reported) {
    out_.name = name, out_.kernel = true;
    if (reported)
      for (Name n : key_.containers)
        if (IsParameter(s_.Get(n))) kept_.insert(n);
    for (size_t k = 0; k < key_.symbols.size(); ++k) {
      const Name n = Canonical('n', k);
      symbols_.emplace(key_.symbols[k], n);
      out_.symbol_params.push_back(n);
    }
    int next[3] = {0, 0, 0};
    for (Name n : key_.containers) {
      const Container& c = s_.Get(n);
      const int kind = c.kind == ContainerKind::kView ? 1 : IsScoped(c.storage) ? 2 : 0;
      const Name canonical = Canonical("pvr"[kind], next[kind]++);
      containers_.emplace(n, kept_.count(n) ? n : canonical);
    }
    const NodeId copy = Copy(statement);
    for (Name n : key_.containers) Declare(n);
    for (const auto& [symbol, bounds] : s_.assumptions.bounds)
      if (auto it = symbols_.find(symbol); it != symbols_.end()) out_.assumptions.bounds.emplace_back(it->second, bounds);
    for (const Range& r : given)
      if (auto it = symbols_.find(r.index); it != symbols_.end())
        out_.given.push_back({it->second, Renamed(r.begin), Renamed(r.end), Renamed(r.step)});
    out_.body = {out_.AddBlock(State{{}, {copy}})};
    Renumber(&out_);
    return std::move(out_);
  }

 private:
  // A name by number that no parameter has kept.
  Name Canonical(char kind, size_t number) const {
    std::string text = kind + std::to_string(number);
    while (kept_.count(Name(text))) text += '_';
    return Name(text);
  }

  void Declare(Name n) {
    Container c = s_.Get(n);
    c.name = containers_.at(n);
    c.origin = {};
    for (Expr& e : c.shape) e = Renamed(e);
    for (Expr& e : c.strides) e = Renamed(e);
    if (c.kind == ContainerKind::kView) {
      c.base = containers_.at(c.base);
      if (c.offset) c.offset = Renamed(c.offset);
    } else if (!IsScoped(c.storage)) {
      c.kind = ContainerKind::kParameter;
      c.storage = Storage::kArena;
      c.place = {};
      c.data = {};
      c.output = false;
      c.inout = reads_.count(n) && writes_.count(n) && written_.count(n);
      out_.parameters.push_back(c.name);
    }
    out_.Add(std::move(c));
  }

  Expr Renamed(const Expr& e) {
    if (!e) return e;
    const Expr out = Transform(e, [&](const Expr& x) -> Expr {
      if (x.Is(ExprKind::kSymbol)) {
        for (size_t i = indices_.size(); i-- > 0;)
          if (indices_[i].first == x->name) return SymbolExpr(indices_[i].second);
        return SymbolExpr(symbols_.at(x->name));
      }
      if (!x.Is(ExprKind::kRead)) return x;
      reads_.insert(RootOf(s_, x->name));
      ExprNode read = *x;
      read.name = containers_.at(x->name);
      return Expr(std::move(read));
    });
    return Simplify(out);
  }

  NodeId Copy(NodeId n) {
    Body body = s_.nodes[n].body;
    if (auto* t = std::get_if<Tasklet>(&body)) {
      const Name root = RootOf(s_, t->target);
      if (t->op != WriteOp::kAssign) reads_.insert(root);
      writes_.insert(root);
      for (Expr& e : t->index) e = Renamed(e);
      t->value = Renamed(t->value);
      t->target = containers_.at(t->target);
    } else if (auto* m = std::get_if<Map>(&body)) {
      const size_t outer = indices_.size();
      for (Range& r : m->ranges) {
        r.begin = Renamed(r.begin), r.end = Renamed(r.end), r.step = Renamed(r.step);
        indices_.emplace_back(r.index, Canonical('i', indices_.size()));
        r.index = indices_.back().second;
      }
      std::vector<NodeId> inside;
      for (NodeId c : m->body)
        if (s_.nodes[c].body.index() != 0) inside.push_back(Copy(c));
      m->body = std::move(inside);
      indices_.resize(outer);
    }
    return out_.AddNode(std::move(body));
  }

  const Sdfg& s_;
  const StatementKey& key_;
  const std::unordered_set<Name>& written_;
  Sdfg out_;
  std::unordered_map<Name, Name> symbols_, containers_;
  std::unordered_set<Name> kept_;            // names that an error tells
  std::unordered_set<Name> reads_, writes_;  // roots
  std::vector<std::pair<Name, Name>> indices_;
};

// The kernels of a program, by what they compute.
class Kernels {
 public:
  explicit Kernels(Program& p) : program_(p) {
    for (const auto& s : p.sdfgs) names_.insert(s->name);
  }

  struct Known {
    Name name;
    std::vector<std::pair<Name, size_t>> parameters;  // by which container of a key each is bound,
    std::vector<std::pair<Name, size_t>> symbols;     // and by which symbol
  };
  const Known& Of(const Sdfg& s, NodeId n, const StatementKey& key, const std::vector<Range>& given,
                  const std::unordered_set<Name>& written) {
    const auto [it, fresh] = by_key_.try_emplace(key.text);
    Same& same = it->second;
    if (fresh) same.reported = MayReport(s, n, given);
    if (!same.reported) {
      if (fresh) same.kernel = Make(s, n, key, given, written, false);
      return same.kernel;
    }
    std::string text = key.text;  // an error tells the containers' names
    for (Name c : key.containers) text += '/' + std::to_string(c.id());
    const auto [named, first] = named_.try_emplace(std::move(text));
    if (first) named->second = Make(s, n, key, given, written, true);
    return named->second;
  }

 private:
  // Statements with one key: a kernel for all of them, or, where an error may tell their containers, one for each list of these.
  struct Same {
    bool reported = false;
    Known kernel;
  };
  Known Make(const Sdfg& s, NodeId n, const StatementKey& key, const std::vector<Range>& given,
             const std::unordered_set<Name>& written, bool reported) {
    Sdfg kernel = KernelMaker(s, key, written).Make(Fresh(), n, given, reported);
    Known known;
    known.name = kernel.name;
    size_t next = 0;
    for (size_t k = 0; k < key.containers.size(); ++k)
      if (IsParameter(s.Get(key.containers[k]))) known.parameters.emplace_back(kernel.parameters[next++], k);
    for (size_t k = 0; k < key.symbols.size(); ++k) known.symbols.emplace_back(kernel.symbol_params[k], k);
    program_.sdfgs.push_back(std::make_shared<Sdfg>(std::move(kernel)));
    return known;
  }

  Name Fresh() {
    for (;;)
      if (Name n("k" + std::to_string(next_++)); names_.insert(n).second) return n;
  }

  Program& program_;
  std::unordered_set<Name> names_;
  std::unordered_map<std::string, Same> by_key_;
  std::unordered_map<std::string, Known> named_;
  int next_ = 0;
};

class Outliner {
 public:
  Outliner(Program& p, Kernels& kernels, Sdfg& s, const Ask& ask, const LoopKernels& loops)
      : p_(p), kernels_(kernels), s_(s), ask_(ask), thread_operations_(loops.thread_operations), groups_(loops.groups) {
    for (Name n : s.order) {
      const Container& c = s.Get(n);
      if (c.kind == ContainerKind::kView && !LiesInside(s, c)) loose_.insert(n);
      if (c.inout || c.kind == ContainerKind::kState) written_.insert(n);
    }
  }

  bool Run() {
    if (groups_) JoinLoops();
    Blocks(s_.body);
    if (!changed_) return false;
    std::unordered_set<Name> dead, used;
    for (const Home& h : HomesOf(s_, AllStatements())) used.insert(h.container);
    for (Name n : s_.order)
      if (IsScoped(s_.Get(n).storage) && !used.count(n)) dead.insert(n);
    transforms::RemoveContainers(&s_, dead);
    return true;
  }

 private:
  std::vector<NodeId> AllStatements() const {
    std::vector<NodeId> all;
    ForEachNode(s_, [&](NodeId n) { all.push_back(n); }, /*into_maps=*/false);
    return all;
  }

  std::vector<Name> Written(const std::vector<BlockId>& body) const {
    std::vector<Name> out;
    for (BlockId b : body)
      for (const Touched& t : TouchedBy(s_, b, callees_))
        if (t.write) out.push_back(t.root);
    return out;
  }

  void Blocks(const std::vector<BlockId>& body) {
    for (BlockId b : body) {
      const Control& c = s_.blocks[b].control;
      if (std::holds_alternative<State>(c)) {
        if (loops_around_ > 0 && thread_operations_ > 0) Group(b);
        const std::vector<NodeId> statements = std::get<State>(s_.blocks[b].control).statements;
        for (NodeId n : statements) Statement(n);
      } else if (const auto* l = std::get_if<Loop>(&c)) {
        if (AsKernel(b)) continue;
        const std::vector<BlockId> inside = l->body;
        for (Name n : Written(inside)) written_.insert(n);  // by a round before
        const std::optional<Range> range = AsRange(*l);
        const bool known = range && IsIndexExpr(range->begin) && IsIndexExpr(range->end) && IsIndexExpr(range->step);
        if (known) given_.push_back(*range);
        ++loops_around_;
        Blocks(inside);
        --loops_around_;
        if (known) given_.pop_back();
      } else if (const auto* d = std::get_if<Conditional>(&c)) {
        const std::vector<Branch> branches = d->branches;
        for (const Branch& br : branches) Blocks(br.body);
      }
    }
  }

  // Whether the loop's variables say how large something is that its body touches: outside of the loop, in a kernel's arguments, they are
  // not there.
  bool DecidesSizes(BlockId loop) const {
    std::unordered_set<Name> variables;
    ForEachBlock(s_, {loop}, [&](BlockId b) {
      if (const auto* l = std::get_if<Loop>(&s_.blocks[b].control)) variables.insert(l->var);
    });
    const auto varies = [&](const Expr& e) {
      const std::vector<Name> names = FreeSymbols(e);
      return std::any_of(names.begin(), names.end(), [&](Name n) { return variables.count(n) > 0; });
    };
    const std::vector<Touched> touched = TouchedBy(s_, loop, callees_);
    return std::any_of(touched.begin(), touched.end(), [&](const Touched& t) {
      const std::vector<Expr>& shape = s_.Get(t.root).shape;
      return std::any_of(shape.begin(), shape.end(), varies);
    });
  }

  bool AsKernel(BlockId loop) {
    if (thread_operations_ == 0 || DecidesSizes(loop)) return false;
    if (!loops_) loops_.emplace(p_, &s_);
    const auto may = [&](NodeId n) { return CanBeKernel(n, TouchedBy(s_, n, callees_)); };
    if (!loops_->Fits(loop, given_, thread_operations_, may) && !loops_->GoInBlocks({{{}, loop}}, may)) return false;
    Match m;
    m.sdfg = s_.name, m.blocks = {loop};
    if (!ask_(m)) return false;
    const std::vector<Name> written = Written({loop});
    const NodeId statement = loops_->Make(loop);
    Replace(statement);
    s_.blocks.Mutable(loop).control = State{{}, {statement}};
    written_.insert(written.begin(), written.end());
    return true;
  }

  // The loops that no other one is around, with what stands beside them.
  void JoinLoops() {
    const auto is_loop = [&](BlockId b) { return std::holds_alternative<Loop>(s_.blocks[b].control); };
    if (std::none_of(s_.body.begin(), s_.body.end(), is_loop)) return;
    if (!loops_) loops_.emplace(p_, &s_);
    transforms::LoopGroups groups(&s_, *loops_, callees_, {[&](NodeId n) { return CanBeKernel(n, TouchedBy(s_, n, callees_)); },
                                                           [&](BlockId b) { return !DecidesSizes(b); },
                                                           [&](const std::vector<transforms::Part>& g) { return Join(g); }});
    s_.body = groups.Joined(s_.body);
  }

  // One statement of them. Arrays that blocks can have for themselves are a worker's, as far as all that is read was written.
  NodeId Join(const std::vector<transforms::Part>& group) {
    Match m;
    m.sdfg = s_.name;
    for (const transforms::Part& p : group) {
      if (p.loop.valid()) m.blocks.push_back(p.loop);
      else m.statements.push_back(p.statement);
    }
    if (!ask_(m)) return {};
    const std::vector<Name> own = loops_->OfBlocks(group);
    const NodeId joined = loops_->Make(group);
    if (own.empty()) return joined;
    const Sdfg in_memory = s_;
    for (Name n : own) s_.Mutable(n).storage = Storage::kWorker, s_.Mutable(n).MakeRowMajor();
    const std::unordered_set<Name> all(s_.order.begin(), s_.order.end());
    const Sdfg kernel = KernelOf(s_, joined, transforms::KeyOf(s_, joined, {}, all), all);
    if (!Verify(p_, kernel).ok()) s_ = in_memory;
    return joined;
  }

  // Small statements of a loop's body that stand one after the other become one.
  void Group(BlockId state) {
    constexpr size_t kMostStatements = 64;
    if (!loops_) loops_.emplace(p_, &s_);
    std::vector<NodeId> out, run;
    const auto end_run = [&] {
      Match m;
      m.sdfg = s_.name, m.statements = run;
      std::vector<transforms::Part> parts;
      for (NodeId n : run) parts.push_back({n, {}});
      if (run.size() > 1 && ask_(m)) out.push_back(loops_->Make(parts));
      else out.insert(out.end(), run.begin(), run.end());
      run.clear();
    };
    const std::vector<NodeId> statements = std::get<State>(s_.blocks[state].control).statements;
    for (NodeId n : statements) {
      const bool small = CanBeKernel(n, TouchedBy(s_, n, callees_)) && loops_->IsSmall(n, given_, thread_operations_);
      if (!small || run.size() == kMostStatements) end_run();
      (small ? run : out).push_back(n);
    }
    end_run();
    if (out != statements) std::get<State>(s_.blocks.Mutable(state).control).statements = std::move(out);
  }

  void Statement(NodeId n) {
    const std::vector<Touched> touched = TouchedBy(s_, n, callees_);
    if (CanBeKernel(n, touched)) {
      Match m;
      m.sdfg = s_.name, m.statements = {n};
      if (ask_(m)) Replace(n);
    }
    for (const Touched& t : touched)
      if (t.write) written_.insert(t.root);
  }

  bool CanBeKernel(NodeId n, const std::vector<Touched>& touched) const {
    for (const Touched& t : touched) {
      const Container& c = s_.Get(t.root);
      if (c.kind == ContainerKind::kSequence || c.dtype == DType::kString) return false;
    }
    return s_.nodes[n].body.index() != 0 && OfTasklets(n);
  }

  bool OfTasklets(NodeId n) const {
    const Body& body = s_.nodes[n].body;
    if (const auto* m = std::get_if<Map>(&body))
      return std::all_of(m->body.begin(), m->body.end(), [&](NodeId c) { return OfTasklets(c); });
    const auto* t = std::get_if<Tasklet>(&body);
    if (!t) return std::holds_alternative<std::monostate>(body);
    if (loose_.empty()) return true;
    bool firm = !IsLoose(t->target);
    const auto look = [&](const Expr& e) {
      for (Name r : ReadContainers(e)) firm &= !IsLoose(r);
    };
    look(t->value);
    for (const Expr& e : t->index) look(e);
    return firm;
  }

  bool IsLoose(Name n) const {
    for (const Container* c = s_.Find(n); c && c->kind == ContainerKind::kView; c = s_.Find(c->base))
      if (loose_.count(c->name)) return true;
    return false;
  }

  void Replace(NodeId n) {
    const StatementKey key = transforms::KeyOf(s_, n, given_, written_);
    const Kernels::Known& kernel = kernels_.Of(s_, n, key, given_, written_);
    Nested call;
    call.callee = kernel.name;
    for (const auto& [port, k] : kernel.parameters) call.arguments.push_back({port, key.containers[k], {}});
    for (const auto& [port, k] : kernel.symbols) call.symbols.emplace_back(port, SymbolExpr(key.symbols[k]));
    s_.nodes.Mutable(n).body = std::move(call);
    changed_ = true;
  }

  Program& p_;
  mutable Callees callees_{p_};
  Kernels& kernels_;
  Sdfg& s_;
  const Ask& ask_;
  const int64_t thread_operations_;
  const bool groups_;
  std::optional<transforms::LoopStatements> loops_;
  std::unordered_set<Name> loose_, written_;  // written: what may hold values that a statement changes
  std::vector<Range> given_;
  int loops_around_ = 0;
  bool changed_ = false;
};

}  // namespace

Sdfg KernelOf(const Sdfg& s, NodeId statement, const StatementKey& key, const std::unordered_set<Name>& written) {
  return KernelMaker(s, key, written).Make(Name("k"), statement, {}, false);
}

Result<bool> Outline(Program& p, const Ask& ask, const LoopKernels& loops) {
  Kernels kernels(p);
  bool changed = false;
  const size_t count = p.sdfgs.size();
  for (size_t i = 0; i < count; ++i) {
    if (p.sdfgs[i]->kernel) continue;
    Sdfg copy = *p.sdfgs[i];
    if (!Outliner(p, kernels, copy, ask, loops).Run()) continue;
    p.sdfgs[i] = std::make_shared<Sdfg>(std::move(copy));
    changed = true;
  }
  return changed;
}

}  // namespace headrace
