#include "transforms/schedule/elements.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

bool IsRegister(const Sdfg& s, Name n) { return s.Get(RootOf(s, n)).storage == Storage::kRegister; }

bool ReadsRoot(const Sdfg& s, const Expr& e, Name root) {
  const auto reads = ReadContainers(e);
  return std::any_of(reads.begin(), reads.end(), [&](Name r) { return RootOf(s, r) == root; });
}

// The place of the results: where they are written, the last time.
const Tasklet* ResultOf(const Sdfg& s, const std::vector<NodeId>& body, size_t after) {
  for (size_t k = body.size(); k-- > after;)
    if (const auto& t = std::get<Tasklet>(s.nodes[body[k]].body); !IsRegister(s, t.target)) return &t;
  return nullptr;
}

}  // namespace

std::optional<Elements> ElementsOf(Sdfg* s, const Nest& n) {
  Elements out;
  out.nest.ranges = n.ranges;
  out.nest.owner = n.owner;
  std::optional<size_t> sum;
  for (NodeId id : n.body) {
    if (std::holds_alternative<Tasklet>(s->nodes[id].body)) {
      out.nest.body.push_back(id);
      continue;
    }
    if (sum || !std::holds_alternative<Map>(s->nodes[id].body)) return std::nullopt;
    const Nest terms = NestOf(*s, id);
    if (terms.body.size() != 1 || !std::holds_alternative<Tasklet>(s->nodes[terms.body[0]].body)) return std::nullopt;
    sum = out.nest.body.size();
    out.nest.body.push_back(terms.body[0]);
    out.nest.ranges.insert(out.nest.ranges.end(), terms.ranges.begin(), terms.ranges.end());
  }
  if (!sum || *sum == 0) return std::nullopt;
  out.sum = *sum, out.initial = *sum - 1;
  const std::vector<NodeId>& body = out.nest.body;
  Tasklet adds = std::get<Tasklet>(s->nodes[body[out.sum]].body);
  const auto& first = std::get<Tasklet>(s->nodes[body[out.initial]].body);
  if (adds.op == WriteOp::kAssign || adds.guarded || first.op != WriteOp::kAssign || first.target != adds.target ||
      first.index != adds.index || first.flat != adds.flat || ReadsRoot(*s, first.value, RootOf(*s, first.target)))
    return std::nullopt;
  for (size_t k = 0; k < body.size(); ++k) {  // the terms depend on nothing that is done around them
    const auto& t = std::get<Tasklet>(s->nodes[body[k]].body);
    if (t.guarded || ReadsRoot(*s, adds.value, RootOf(*s, t.target))) return std::nullopt;
    if (k < out.initial && RootOf(*s, t.target) == RootOf(*s, adds.target)) return std::nullopt;
  }
  if (IsRegister(*s, adds.target)) {
    const Tasklet* result = ResultOf(*s, body, out.sum + 1);
    if (!result || !adds.index.empty()) return std::nullopt;
    out.held = adds.target;
    adds.target = result->target, adds.index = result->index, adds.flat = result->flat;
    s->nodes.Mutable(body[out.sum]).body = std::move(adds);
  }
  return out;
}

Completion CompletionOf(const Sdfg& s, const Elements& e) {
  Completion f;
  f.initial = e.initial, f.sum = e.sum;
  for (NodeId id : e.nest.body) f.statements.push_back(std::get<Tasklet>(s.nodes[id].body));
  Tasklet& sum = f.statements[f.sum];
  sum.value = f.statements[f.initial].value;
  if (e.held) sum.target = *e.held, sum.index.clear(), sum.flat = false;
  return f;
}

Completion CompletionOf(const Tasklet& sum) {
  Completion c{{sum}, 1, 0};
  c.statements[0].value = FloatExpr(0);
  return c;
}

DType SumTypeOf(const Sdfg& s, const Completion& f) { return ComputeType(s.Get(f.statements[f.sum].target).dtype); }

std::vector<NodeId> CompletedAt(Sdfg* s, const Completion& f, const NameMap& place, const Expr& sum) {
  std::vector<std::pair<Name, Name>> own;
  std::vector<NodeId> out;
  for (size_t k = 0; k < f.statements.size(); ++k) {
    if (k == f.initial) continue;
    Tasklet t = f.statements[k];
    t.value = Substitute(t.value, place);
    if (k == f.sum && f.initial < f.sum) {
      const DType type = ComputeType(s->Get(t.target).dtype);
      const bool adds_zero = t.op == WriteOp::kAdd && AsInt(t.value) == 0;
      t.value = adds_zero || t.value == IdentityOf(t.op, type) ? sum : Combined(t.op, Widened(*s, t.value, type), sum);
      t.op = WriteOp::kAssign;
    } else if (k == f.sum) {
      t.value = sum;
    }
    t.value = RenameContainers(t.value, own);
    for (Expr& e : t.index) e = RenameContainers(Substitute(e, place), own);
    const auto known = std::find_if(own.begin(), own.end(), [&](const auto& r) { return r.first == t.target; });
    if (known != own.end()) {
      t.target = known->second;
    } else if (IsRegister(*s, t.target)) {
      Container fresh = s->Get(t.target);
      fresh.name = FreshIn(*s, t.target.str() + "_at");  // like no index, of which there may be no map yet
      own.emplace_back(t.target, fresh.name);
      t.target = fresh.name;
      s->Add(std::move(fresh));
    }
    out.push_back(s->AddNode(std::move(t)));
  }
  return out;
}

Expr Widened(const Sdfg& s, const Expr& factor, DType sum) {
  const Result<Expr> typed = InferTypes(s, factor);
  if (!typed.ok()) return factor;
  const DType type = (*typed)->dtype;
  return IsFloat(type) && type != sum && ComputeType(type) == sum ? CastExpr(sum, factor) : factor;
}

int64_t OperationsOf(Sdfg* s, const Completion& f) {
  std::vector<NodeId> nodes;
  for (const Tasklet& t : f.statements) nodes.push_back(s->AddNode(t));
  return OperationsOf(*s, nodes);
}

}  // namespace headrace::schedule
