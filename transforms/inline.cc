#include "transforms/inline.h"

#include <algorithm>
#include <optional>

#include "ir/analysis/dataflow.h"
#include "transforms/call_origins.h"

namespace headrace::transforms {

// ---- names ----

NameTable::NameTable(const Sdfg& s) {
  fixed_.insert(s.order.begin(), s.order.end());
  auto symbols = [&](const Expr& e) {
    for (Name n : FreeSymbols(e)) fixed_.insert(n);
  };
  for (Name n : s.symbol_params) fixed_.insert(n);
  for (Name n : s.order) {
    const Container* c = s.Find(n);
    if (!c) continue;
    for (const Expr& d : c->shape) symbols(d);
  }
  ForEachBlock(s, s.body, [&](BlockId b) {
    const Control& c = s.blocks[b].control;
    if (auto* l = std::get_if<Loop>(&c)) fixed_.insert(l->var);
    if (auto* a = std::get_if<Assign>(&c)) fixed_.insert(a->symbol);
  });
  ForEachNode(s, [&](NodeId id) {
    const Body& b = s.nodes[id].body;
    if (auto* m = std::get_if<Map>(&b))
      for (const Range& r : m->ranges) indices_.insert(r.index);
    if (auto* l = std::get_if<Library>(&b)) fixed_.insert(l->defines.begin(), l->defines.end());
  });
}

Name NameTable::Fresh(Name stem) {
  if (stem.empty()) stem = "t";
  auto taken = [&](Name n) { return fixed_.count(n) || indices_.count(n); };
  Name n = stem;
  if (taken(n)) {
    int& k = next_[stem];
    do n = Name(stem.str() + "_" + std::to_string(++k));
    while (taken(n));
  }
  fixed_.insert(n);
  return n;
}

Name NameTable::FreshIndex(Name stem, const std::vector<Name>& around) {
  Name n = stem;
  for (int k = 1; fixed_.count(n) || std::find(around.begin(), around.end(), n) != around.end(); ++k)
    n = Name(stem.str() + "_" + std::to_string(k));
  indices_.insert(n);
  return n;
}

// ---- copying ----
namespace {

constexpr int64_t kMaxRegisterElements = 256;

class Copier {
 public:
  Copier(Sdfg* caller, NameTable* names, const InlineRequest& q)
      : to_(*caller), from_(*q.callee), names_(*names), q_(q), around_(q.indices_around) {}

  Result<std::vector<BlockId>> Run() {
    bool in_map = !q_.indices_around.empty() && !q_.spread;
    if (in_map) HR_RETURN_IF_ERROR(CheckInsideMap());
    for (const auto& s : q_.symbols) symbols_[s.first] = s.second;
    for (const Argument& a : q_.arguments) Bind(a);
    for (Name p : from_.parameters)
      if (!bound_.count(p)) absent_.insert(p);
    LocalSymbols();
    for (Name n : from_.order) HR_RETURN_IF_ERROR(Declare(n, in_map));
    std::vector<BlockId> out = Blocks(from_.body);
    if (!trouble_.empty()) return UnsupportedError("E0359", trouble_);
    return out;
  }

 private:
  Status CheckInsideMap() {
    for (BlockId b : from_.body) {
      const Control& c = from_.blocks[b].control;
      if (!std::holds_alternative<State>(c) && !std::holds_alternative<Require>(c))
        return UnsupportedError("E0359", "it has control flow");
    }
    Status st;
    ForEachNode(from_, [&](NodeId id) {
      const Body& b = from_.nodes[id].body;
      if (std::holds_alternative<Library>(b) || std::holds_alternative<Nested>(b))
        st = UnsupportedError("E0359", "it has calls or library nodes");
    });
    return st;
  }

  void Bind(const Argument& a) {
    const Container* formal = from_.Find(a.port);
    const Container* actual = to_.Find(a.container);
    if (!formal || !actual) return;
    bound_[a.port] = a;
    // An output that the callee never writes: nothing else will say so of the caller's.
    if (Name root = RootOf(to_, a.container);
        formal->output && to_.Get(root).kind == ContainerKind::kParameter && !to_.Get(root).inout)
      to_.Mutable(root).output = true;
    for (size_t i = 0; i < formal->shape.size(); ++i) {
      const Expr& d = formal->shape[i];
      if (d.Is(ExprKind::kSymbol) && i + a.index.size() < actual->shape.size())
        symbols_.emplace(d->name, actual->shape[i + a.index.size()]);
    }
  }

  // Symbols that the body defines. One that sizes a parameter is the caller's symbol there; others are renamed when taken.
  void LocalSymbols() {
    auto local = [&](Name n) {
      if (n.empty() || symbols_.count(n)) return;
      Name fresh = names_.Fresh(n);
      symbols_[n] = Expr(fresh);
    };
    ForEachBlock(from_, from_.body, [&](BlockId b) {
      const Control& c = from_.blocks[b].control;
      if (auto* l = std::get_if<Loop>(&c)) local(l->var);
      if (auto* a = std::get_if<Assign>(&c)) local(a->symbol);
    });
    ForEachNode(from_, [&](NodeId id) {
      if (auto* l = std::get_if<Library>(&from_.nodes[id].body))
        for (Name d : l->defines) local(d);
    });
    for (auto it = symbols_.begin(); it != symbols_.end();)
      it = it->second.Is(ExprKind::kSymbol) && it->second->name == it->first ? symbols_.erase(it) : std::next(it);
  }
  Name Symbol(Name n) {
    auto it = symbols_.find(n);
    if (it == symbols_.end()) return n;
    if (!it->second.Is(ExprKind::kSymbol)) {
      trouble_ = "size '" + n.str() + "' is defined inside but is " + ToString(it->second) + " for the caller";
      return n;
    }
    return it->second->name;
  }

  // A view's base first: it may be declared after it.
  Status Declare(Name n, bool in_map) {
    const Container* c = from_.Find(n);
    if (!c || bound_.count(n) || absent_.count(n)) return {};
    if (c->kind == ContainerKind::kView) HR_RETURN_IF_ERROR(Declare(c->base, in_map));
    return Local(*c, in_map);
  }
  Status Local(const Container& c, bool in_map) {
    Container copy = c;
    copy.name = names_.Fresh(c.name);
    if (copy.kind == ContainerKind::kParameter) copy.kind = ContainerKind::kTransient;
    copy.inout = copy.optional = false;
    for (Expr& d : copy.shape) d = Rewrite(d);
    for (Expr& d : copy.strides) d = Rewrite(d);
    if (copy.offset) copy.offset = Rewrite(copy.offset);
    if (copy.kind == ContainerKind::kView) {
      auto it = bound_.find(c.base);
      if (it != bound_.end() && !it->second.index.empty()) return UnsupportedError("E0359",
                                                                                   "a view of a part of an array");
      if (it != bound_.end() && !to_.Get(it->second.container).order.row_major())
        return UnsupportedError("E0359", "a view of an array whose elements lie in another order");
      copy.base = Rename(c.base);
    }
    Argument bound{c.name, copy.name, {}};
    if ((in_map || q_.spread) && copy.kind == ContainerKind::kTransient && copy.storage != Storage::kRegister) {
      auto n = AsInt(NumElements(copy));
      if (in_map && n && *n <= kMaxRegisterElements) copy.storage = Storage::kRegister;
      else HR_RETURN_IF_ERROR(PerIteration(&copy, &bound.index));
    }
    if (q_.spread && (copy.kind == ContainerKind::kSequence || copy.kind == ContainerKind::kState))
      return UnsupportedError("E0359", "it has a container that can't be one per iteration");
    copy.origin = copy.origin.named() ? WithSources(copy.origin, q_.sources, &origins_) : q_.origin;
    bound_[c.name] = bound;
    to_.Add(std::move(copy));
    return {};
  }

  // An element for every iteration of the maps around: leading dimensions, and the indices to put there.
  Status PerIteration(Container* c, std::vector<Expr>* index) {
    if (q_.ranges_around.empty() || !c->row_major()) return UnsupportedError("E0359",
                                                                                 "it needs an array per iteration");
    std::vector<Expr> shape;
    for (const Range& r : q_.ranges_around) {
      int64_t by = r.step ? AsInt(r.step).value_or(0) : 1;
      for (const Expr* e : {&r.begin, &r.end})
        for (Name n : FreeSymbols(*e))
          if (std::find(q_.indices_around.begin(), q_.indices_around.end(), n) != q_.indices_around.end()) by = 0;
      if (by == 0) return UnsupportedError("E0359",
                                           "it needs an array per iteration of a map whose bounds are not sizes");
      const int64_t stride = by > 0 ? by : -by;
      Expr span = by > 0 ? r.end - r.begin : r.begin - r.end;
      if (stride != 1) span = FloorDiv(span + Expr(stride - 1), Expr(stride));
      shape.push_back(ProveLe(Expr(0), span, to_.assumptions) == Truth::kYes ? span : Max(Expr(0), span));
      Expr at = Expr(r.index) - r.begin;
      index->push_back(by == 1 ? at : FloorDiv(at, Expr(by)));
    }
    shape.insert(shape.end(), c->shape.begin(), c->shape.end());
    c->shape = std::move(shape);
    return {};
  }

  Name Rename(Name n) const {
    auto it = bound_.find(n);
    return it == bound_.end() ? n : it->second.container;
  }

  Expr Rewrite(const Expr& e) {
    if (!e) return e;
    bool substituted = false;
    const auto renamed = [&](const Expr& x) -> Expr {
      if (x.Is(ExprKind::kSymbol)) {
        auto i = indices_.find(x->name);
        if (i != indices_.end()) return i->second;
        auto it = symbols_.find(x->name);
        if (it == symbols_.end()) return x;
        substituted = true;
        return it->second;
      }
      if (!x.Is(ExprKind::kRead)) return x;
      if (absent_.count(x->name)) {
        if (x->has_default) return x->args.back();
        trouble_ = "absent argument '" + x->name.str() + "' is read";
        return x;
      }
      auto it = bound_.find(x->name);
      if (it == bound_.end()) return x;
      const Argument& a = it->second;
      if (a.index.empty() && a.container == x->name) return x;
      std::vector<Expr> args(x->args.begin(), x->args.end() - (x->has_default ? 1 : 0));
      Prefix(a, x->flat, &args);
      Expr r = ReadExpr(a.container, std::move(args), x->has_default ? x->args.back() : Expr(), x->flat);
      return x->dtype == DType::kNone ? r : WithType(r, x->dtype);
    };
    const Expr out = e->args.empty() ? renamed(e) : Transform(e, renamed);  // most are one symbol or number
    return substituted ? Simplify(out) : out;
  }
  void Prefix(const Argument& a, bool flat, std::vector<Expr>* args) {
    if (a.index.empty()) return;
    if (!flat) {
      args->insert(args->begin(), a.index.begin(), a.index.end());
      return;
    }
    std::vector<Expr> strides = RowMajorStrides(to_.Get(a.container).shape);
    for (size_t i = 0; i < a.index.size(); ++i) {
      if (!IsIndexExpr(a.index[i]) || !IsIndexExpr((*args)[0])) {
        trouble_ = "a flat access at a data-dependent index";
        return;
      }
      (*args)[0] = (*args)[0] + a.index[i] * strides[i];
    }
  }

  // What has no name takes the caller's, but keeps its own place.
  Origin OriginOf(const Origin& own) {
    return own.named() ? WithSources(own, q_.sources, &origins_) : q_.origin.At(own.file(), own.line(), own.column());
  }

  NodeId Statement(NodeId id) {
    const Node& node = from_.nodes[id];
    Origin origin = OriginOf(node.origin);
    if (auto* t = std::get_if<Tasklet>(&node.body)) {
      Tasklet n = *t;
      for (Expr& e : n.index) e = Rewrite(e);
      n.value = Rewrite(n.value);
      auto it = bound_.find(n.target);
      if (it != bound_.end()) {
        Prefix(it->second, n.flat, &n.index);
        n.target = it->second.container;
      }
      return to_.AddNode(std::move(n), origin);
    }
    if (auto* m = std::get_if<Map>(&node.body)) {
      Map n = *m;
      std::vector<std::pair<Name, Expr>> saved;
      size_t depth = around_.size();
      for (Range& r : n.ranges) {
        r.begin = Rewrite(r.begin);
        r.end = Rewrite(r.end);
        if (r.step) r.step = Rewrite(r.step);
      }
      for (Range& r : n.ranges) {
        Name fresh = names_.FreshIndex(r.index, around_);
        auto it = indices_.find(r.index);
        saved.push_back({r.index, it == indices_.end() ? Expr() : it->second});
        indices_[r.index] = Expr(fresh);
        around_.push_back(fresh);
        r.index = fresh;
      }
      for (NodeId& b : n.body) b = Statement(b);
      around_.resize(depth);
      for (auto& s : saved)
        if (s.second) indices_[s.first] = s.second;
        else indices_.erase(s.first);
      return to_.AddNode(std::move(n), origin);
    }
    if (auto* l = std::get_if<Library>(&node.body)) {
      Library n = *l;
      for (auto* ports : {&n.inputs, &n.outputs})
        for (Port& p : *ports) {
          if (absent_.count(p.container)) {
            p.container = Name();
            continue;
          }
          auto it = bound_.find(p.container);
          if (it != bound_.end() && !it->second.index.empty()) trouble_ = "a library node on a part of an array";
          p.container = Rename(p.container);
        }
      for (Name& d : n.defines) d = Symbol(d);
      for (auto& a : n.attributes)
        if (auto* g = std::get_if<Name>(&a.second.value)) *g = Callee(*g);
      return to_.AddNode(std::move(n), origin);
    }
    if (auto* c = std::get_if<Nested>(&node.body)) {
      Nested n = *c;
      n.callee = Callee(n.callee);
      std::vector<Argument> kept;
      for (Argument a : n.arguments) {
        if (absent_.count(a.container)) continue;
        for (Expr& e : a.index) e = Rewrite(e);
        auto it = bound_.find(a.container);
        if (it != bound_.end()) {
          a.index.insert(a.index.begin(), it->second.index.begin(), it->second.index.end());
          a.container = it->second.container;
        }
        kept.push_back(std::move(a));
      }
      n.arguments = std::move(kept);
      for (auto& s : n.symbols) s.second = Rewrite(s.second);
      return to_.AddNode(std::move(n), origin);
    }
    return to_.AddNode(Body{}, origin);
  }
  Name Callee(Name n) const {
    for (const auto& r : q_.callees)
      if (r.first == n) return r.second;
    return n;
  }

  std::vector<BlockId> Blocks(const std::vector<BlockId>& body) {
    std::vector<BlockId> out;
    for (BlockId b : body) {
      const Block& block = from_.blocks[b];
      Control c = block.control;
      if (auto* st = std::get_if<State>(&c)) {
        for (NodeId& n : st->statements) n = Statement(n);
      } else if (auto* l = std::get_if<Loop>(&c)) {
        if (!l->var.empty()) l->var = Symbol(l->var);
        l->init = Rewrite(l->init);
        l->condition = Rewrite(l->condition);
        l->update = Rewrite(l->update);
        l->body = Blocks(l->body);
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        for (Branch& br : d->branches) {
          br.condition = Rewrite(br.condition);
          br.body = Blocks(br.body);
        }
      } else if (auto* a = std::get_if<Assign>(&c)) {
        a->symbol = Symbol(a->symbol);
        a->value = Rewrite(a->value);
      } else if (auto* r = std::get_if<Require>(&c)) {
        r->condition = Rewrite(r->condition);
        for (Expr& e : r->values) e = Rewrite(e);
        if (!q_.indices_around.empty())
          for (Name n : FreeSymbols(r->condition))
            if (std::find(q_.indices_around.begin(), q_.indices_around.end(), n) != q_.indices_around.end())
              trouble_ = "it requires something of every iteration";
      }
      out.push_back(to_.AddBlock(std::move(c), OriginOf(block.origin)));
    }
    return out;
  }

  Sdfg& to_;
  const Sdfg& from_;
  NameTable& names_;
  const InlineRequest& q_;
  std::unordered_map<Name, Argument> bound_;
  std::unordered_map<Name, Expr> symbols_, indices_;
  std::unordered_set<Name> absent_;
  std::vector<Name> around_;
  KnownOrigins origins_;
  std::string trouble_;
};

}  // namespace

Result<std::vector<BlockId>> InlineBody(Sdfg* caller, NameTable* names, const InlineRequest& request) {
  return Copier(caller, names, request).Run();
}

// ---- block lists ----

void BlockRewriter::AppendBlocks(const std::vector<BlockId>& blocks) {
  for (BlockId b : blocks) {
    if (auto* st = std::get_if<State>(&s_->blocks[b].control)) {
      open_.insert(open_.end(), st->statements.begin(), st->statements.end());
      continue;
    }
    Flush();
    out_.push_back(b);
  }
}

void BlockRewriter::Flush(Name label, Origin origin) {
  if (open_.empty()) return;
  out_.push_back(s_->AddBlock(State{label, std::move(open_)}, origin));
  open_.clear();
}

std::vector<BlockId> BlockRewriter::End() {
  Flush();
  std::vector<BlockId> result = std::move(out_);
  out_ = std::move(stack_.back().first);
  open_ = std::move(stack_.back().second);
  stack_.pop_back();
  return result;
}

}  // namespace headrace::transforms
