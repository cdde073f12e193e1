#include "autodiff/plan_cost.h"

#include <algorithm>
#include <map>

#include "ir/analysis/dataflow.h"

namespace headrace::autodiff {
namespace {

constexpr double kTranscendental = 16, kDivision = 4;
constexpr double kElementwiseWork = 256;  // operations per element that still count as cheap
constexpr int kMaxDepth = 4;              // expansions of expansions

double WorkOf(const Expr& e) {
  double work = 0;
  std::unordered_set<const void*> seen;  // shared subtrees are computed once
  Visit(e, [&](const Expr& x) {
    if (!seen.insert(x.id()).second) return false;
    if (x.Is(ExprKind::kBinary))
      work += x->op == Op::kDiv || x->op == Op::kFloorDiv || x->op == Op::kMod ? kDivision : 1;
    else if (x.Is(ExprKind::kCall)) work += x->args.size() > 1 || x->name == Name("abs") ? 2 : kTranscendental;
    else if (x.Is(ExprKind::kUnary) || x.Is(ExprKind::kSelect) || x.Is(ExprKind::kCast) || x.Is(ExprKind::kRead))
      work += 1;
    return true;
  });
  return std::max(work, 1.0);
}

// By value where it is small: others of the kind may come to lie in the same place.
void AppendTensor(const Tensor& t, std::string* key) {
  constexpr int64_t kSmall = 4096;
  *key += '=' + std::to_string(static_cast<int>(t.dtype));
  for (int64_t n : t.shape) *key += 'x' + std::to_string(n);
  if (!t.data) return;
  *key += ':';
  if (t.bytes() <= kSmall) key->append(reinterpret_cast<const char*>(t.data->data()), static_cast<size_t>(t.bytes()));
  else *key += std::to_string(reinterpret_cast<uintptr_t>(t.data.get()));
}

void AppendValue(const Attribute& a, std::string* key) {
  auto number = [&](auto v) { *key += std::to_string(v) + ","; };
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) number(v);
        else if constexpr (std::is_same_v<T, std::string>) *key += v;
        else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<double>>)
          for (auto x : v) number(x);
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          for (const auto& x : v) *key += x + '\1';
        else if constexpr (std::is_same_v<T, Tensor>) AppendTensor(v, key);
        else *key += v.str();
        *key += '\2';
      },
      a.value);
}

// Most bytes of transients alive at once in the entry, each living from its first to its last use.
int64_t PeakOfTransients(const Program& p, Sizes* sizes) {
  const Sdfg& s = p.Entry();
  std::map<Name, std::pair<int64_t, int64_t>> life;
  int64_t now = 0;
  Callees callees(p);
  auto use = [&](const std::vector<Touched>& touched) {
    for (const Touched& t : touched) {
      auto [it, fresh] = life.emplace(t.root, std::make_pair(now, now));
      it->second.second = now;
    }
    ++now;
  };
  for (BlockId b : s.body) {
    const auto* st = std::get_if<State>(&s.blocks[b].control);
    if (!st) use(TouchedBy(s, b, callees));
    else
      for (NodeId n : st->statements) use(TouchedBy(s, n, callees));
  }
  std::vector<int64_t> change(now + 1, 0);
  for (const auto& [name, span] : life) {
    const Container& c = s.Get(name);
    if (c.kind != ContainerKind::kTransient || c.storage == Storage::kRegister) continue;
    const int64_t bytes = sizes->BytesOf(c);
    change[span.first] += bytes;
    change[span.second + 1] -= bytes;
  }
  int64_t live = 0, peak = 0;
  for (int64_t d : change) peak = std::max(peak, live += d);
  return peak;
}

}  // namespace

Sizes::Sizes(const Sdfg& s, const std::vector<std::pair<Name, int64_t>>& given) : assumptions_(s.assumptions) {
  for (const auto& [name, value] : given) values_[name] = value;
}

int64_t Sizes::Of(const Expr& e) {
  if (!e) return 1;
  const auto arg = [&](size_t i) { return Of(e->args[i]); };
  switch (e->kind) {
    case ExprKind::kInt: return e->ivalue;
    case ExprKind::kSymbol: {
      auto it = values_.find(e->name);
      if (it != values_.end()) {
        if (guesses_.count(e->name)) guessed_.insert(e->name);
        return it->second;
      }
      const auto known = assumptions_.Find(e->name);
      guesses_.insert(e->name);
      guessed_.insert(e->name);
      return values_[e->name] = std::max<int64_t>(1, known && known->lo ? *known->lo : 1);
    }
    case ExprKind::kUnary: return e->op == Op::kNeg ? -arg(0) : arg(0);
    case ExprKind::kSelect: return std::max(arg(1), arg(2));
    case ExprKind::kCast: return arg(0);
    case ExprKind::kCall:
      if (e->args.size() == 2 && e->name == Name("min")) return std::min(arg(0), arg(1));
      if (e->args.size() == 2 && e->name == Name("max")) return std::max(arg(0), arg(1));
      return e->args.empty() ? 1 : arg(0);
    case ExprKind::kBinary: {
      const int64_t a = arg(0), b = arg(1);
      switch (e->op) {
        case Op::kAdd: return a + b;
        case Op::kSub: return a - b;
        case Op::kMul: return a * b;
        case Op::kDiv:
        case Op::kFloorDiv: return b == 0 ? 0 : (a - ((a % b + b) % b)) / b;
        case Op::kMod: return b == 0 ? 0 : (a % b + b) % b;
        default: return 1;
      }
    }
    default: return 1;  // decided by data
  }
}

int64_t Sizes::BytesOf(const Container& c) {
  int64_t elements = 1;
  for (const Expr& d : c.shape) elements *= std::max<int64_t>(0, Of(d));
  return (std::max<int64_t>(1, elements * ByteSize(c.dtype)) + 63) / 64 * 64;
}

Cost CostModel::Of(const Program& p, const Sdfg& s, NodeId statement) {
  Cost c;
  Add(p, s, statement, 1, &c);
  return c;
}

Cost CostModel::Of(const Program& p, const Sdfg& s, BlockId block) {
  Cost c;
  Add(p, s, std::vector<BlockId>{block}, 1, &c);
  c.elementwise = false;
  return c;
}

void CostModel::Add(const Program& p, const Sdfg& s, NodeId n, double times, Cost* c) {
  const Body& body = s.nodes[n].body;
  if (const auto* t = std::get_if<Tasklet>(&body)) {
    const double work = WorkOf(t->value);
    c->work += times * work;
    if (t->op != WriteOp::kAssign || work > kElementwiseWork) c->elementwise = false;
  } else if (const auto* m = std::get_if<Map>(&body)) {
    for (const Range& r : m->ranges) {
      const int64_t begin = sizes_.Of(r.begin), end = sizes_.Of(r.end), step = sizes_.Of(r.step);
      times *= std::max<double>(0, step == 0 ? 0 : (static_cast<double>(end) - begin) / step);
      sizes_.Set(r.index, (begin + end) / 2);  // bounds of inner maps may depend on it
    }
    for (NodeId inner : m->body) {
      Add(p, s, inner, times, c);
      // A map that writes fewer elements than it has iterations computes more than its result.
      const auto* t = std::get_if<Tasklet>(&s.nodes[inner].body);
      const Container* target = t ? s.Find(t->target) : nullptr;
      if (!target || target->storage == Storage::kRegister) continue;
      double elements = 1;
      for (const Expr& d : target->shape) elements *= static_cast<double>(sizes_.Of(d));
      if (times > 2 * elements) c->elementwise = false;
    }
  } else if (const auto* call = std::get_if<Nested>(&body)) {
    c->elementwise = false;
    Call(p, *call, times, c);
  } else if (std::holds_alternative<Library>(body)) {
    const Cost one = Library_(p, s, n);
    c->work += times * one.work;
    c->workspace = std::max(c->workspace, one.workspace);
    c->elementwise &= one.elementwise;
  }
}

// Equal layers cost the same for the same sizes.
void CostModel::Call(const Program& p, const Nested& call, double times, Cost* c) {
  const Sdfg* callee = p.Find(call.callee);
  if (!callee) return;
  for (const auto& [name, value] : call.symbols) sizes_.Set(name, sizes_.Of(value));
  if (depth_ > 0) return Add(p, *callee, callee->body, times, c);
  const auto [it, fresh] = callees_.try_emplace(call.callee);
  Callee& known = it->second;
  if (fresh) {
    known.symbols = FreeSymbols(*callee);
    known.plain = std::all_of(callee->body.begin(), callee->body.end(), [&](BlockId b) {
      return std::holds_alternative<State>(callee->blocks[b].control);
    });
  }
  if (!known.plain) return Add(p, *callee, callee->body, times, c);
  std::vector<int64_t> values;
  for (Name n : known.symbols) values.push_back(sizes_.Of(n));
  const auto [cost, first] = known.costs.try_emplace(std::move(values));
  if (first) {
    Cost one;
    Add(p, *callee, callee->body, 1, &one);
    cost->second = one;
  }
  c->work += times * cost->second.work;
  c->workspace = std::max(c->workspace, cost->second.workspace);
}

void CostModel::Add(const Program& p, const Sdfg& s, const std::vector<BlockId>& body, double times, Cost* c) {
  for (BlockId b : body) {
    const Control& control = s.blocks[b].control;
    if (const auto* st = std::get_if<State>(&control)) {
      for (NodeId n : st->statements) Add(p, s, n, times, c);
    } else if (const auto* l = std::get_if<Loop>(&control)) {
      c->elementwise = false;
      double trips = 1;
      if (const auto range = AsRange(*l)) {
        const int64_t begin = sizes_.Of(range->begin), end = sizes_.Of(range->end), step = sizes_.Of(range->step);
        trips = std::max<double>(0, step == 0 ? 0 : (static_cast<double>(end) - begin) / step);
        sizes_.Set(range->index, (begin + end) / 2);
      }
      Add(p, s, l->body, times * trips, c);
    } else if (const auto* d = std::get_if<Conditional>(&control)) {
      c->elementwise = false;
      for (const Branch& br : d->branches) Add(p, s, br.body, times, c);
    }
  }
}

Cost CostModel::Library_(const Program& p, const Sdfg& s, NodeId n) {
  const auto& l = std::get<Library>(s.nodes[n].body);
  std::string key = l.domain.str() + "." + l.op.str() + ":" + std::to_string(l.version) + l.implementation.str();
  for (const auto& [name, value] : l.attributes) key += name.str() + "=", AppendValue(value, &key);
  double elements = 0;
  for (const auto* ports : {&l.inputs, &l.outputs})
    for (const Port& port : *ports) {
      key += ";" + port.name.str();
      const Container* c = port.container.empty() ? nullptr : s.Find(port.container);
      if (!c) continue;
      double size = 1;
      for (const Expr& d : c->shape) {
        const int64_t extent = sizes_.Of(d);
        key += "," + std::to_string(extent);
        size *= static_cast<double>(extent);
      }
      elements += size;
      if (c->kind == ContainerKind::kConstant && size <= 64)  // may decide shapes
        AppendTensor(c->data, &key);
    }
  auto it = known_->of.find(key);
  if (it != known_->of.end()) return it->second;
  Cost c;
  c.work = elements * kTranscendental;  // when there is nothing to look into
  c.elementwise = false;
  if (l.domain != Name("call") && depth_ < kMaxDepth) {
    ++depth_;
    Result<NodeView> view = ViewOf(r_, p, s, n);
    Result<const ForwardImplementation*> how = view.ok() ? SelectImplementation(r_, *view, {}) : view.status();
    Result<Program> expanded = how.ok() ? (*how)->expand(*view) : how.status();
    if (expanded.ok()) {
      Program inside = std::move(*expanded);
      c = {};
      Add(inside, inside.Entry(), inside.Entry().body, 1, &c);
      // What fusion leaves of the transients is what a backend allocates.
      for (const char* pipeline : {"expand-library-nodes", "simplify", "fuse"}) {
        if (!r_.FindPipeline(pipeline) && !r_.FindPass(pipeline)) continue;
        Program fused = inside;
        if (RunPipeline(r_, pipeline, fused).ok()) inside = std::move(fused);
      }
      c.workspace = std::max<int64_t>(c.workspace, PeakOfTransients(inside, &sizes_));
    }
    --depth_;
  }
  return known_->of[key] = c;
}

}  // namespace headrace::autodiff
