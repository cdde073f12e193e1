#include "transforms/compute_constants.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "transforms/each_sdfg.h"
#include "transforms/long_calls.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

// A statement that depends on nothing, and what it computes.
struct Known {
  NodeId statement;
  std::vector<Name> arrays;
};

class Finder {
 public:
  Finder(const Program& p, const Sdfg& s, const ConstantLimits& limits) : p_(p), s_(s), limits_(limits), uses_(p, s) {
    for (Name n : s.order)
      if (const Container& c = s.Get(n); c.kind == ContainerKind::kConstant && c.data.data) bytes_ += static_cast<size_t>(c.data.bytes());
  }

  std::vector<Known> Run(const Ask& ask) {
    std::vector<Known> found;
    for (BlockId b : s_.body)  // what certainly runs: in no loop and no branch
      if (const auto* state = std::get_if<State>(&s_.blocks[b].control))
        for (NodeId n : state->statements)
          if (std::optional<Known> known = In(n); known && ask(Match{s_.name, {n}, {}, {}, "", true})) found.push_back(std::move(*known));
    return found;
  }

 private:
  std::optional<Known> In(NodeId n) {
    const auto* m = std::get_if<Map>(&s_.nodes[n].body);
    if (!m || m->schedule != Schedule::kDefault) return {};
    for (const Range& r : m->ranges)
      if (!AsInt(r.begin) || !AsInt(r.end) || (r.step && AsInt(r.step) != 1)) return {};
    Known known{n, {}};
    bool dear = false, many = false;
    for (NodeId c : m->body) {
      const auto* t = std::get_if<Tasklet>(&s_.nodes[c].body);
      if (!t || t->flat || t->guarded || !OfNumbers(t->value, *m)) return {};
      for (const Expr& e : t->index)
        if (!OfNumbers(e, *m)) return {};
      Visit(t->value, [&](const Expr& e) { return dear |= transforms::TakesLong(e), !dear; });
      many |= transforms::HasManySteps(t->value);
      const Container& target = s_.Get(t->target);
      if (target.storage != Storage::kRegister && std::find(known.arrays.begin(), known.arrays.end(), t->target) == known.arrays.end())
        known.arrays.push_back(t->target);
    }
    if ((!dear && !many) || known.arrays.empty()) return {};
    size_t bytes = 0;
    for (Name array : known.arrays) {
      const std::optional<size_t> own = MayBeKept(array, n);
      if (!own) return {};
      bytes += *own;
    }
    if (bytes_ + bytes > limits_.program_bytes || (!dear && bytes > limits_.short_bytes)) return {};
    bytes_ += bytes;
    return known;
  }

  // Of indices of the map, numbers, constants and registers.
  bool OfNumbers(const Expr& e, const Map& m) const {
    for (Name n : FreeSymbols(e))
      if (std::none_of(m.ranges.begin(), m.ranges.end(), [&](const Range& r) { return r.index == n; })) return false;
    for (Name n : ReadContainers(e)) {
      const Container& c = s_.Get(RootOf(s_, n));
      const bool constant = c.kind == ContainerKind::kConstant && c.data.data;
      if (!constant && c.storage != Storage::kRegister) return false;
    }
    return true;
  }

  // Its bytes, where the statement writes all of it and nothing else any.
  std::optional<size_t> MayBeKept(Name n, NodeId statement) {
    const Container& c = s_.Get(n);
    if (c.kind != ContainerKind::kTransient || c.storage != Storage::kArena || !c.row_major() || c.dtype == DType::kString) return {};
    const auto elements = AsInt(NumElements(c));
    if (!elements || *elements < 1 || static_cast<size_t>(*elements) > limits_.array_bytes / static_cast<size_t>(ByteSize(c.dtype))) return {};
    if (uses_.Of(n).writes.size() != 1) return {};
    for (const Memlet& x : MemletsOf(s_, statement, callees_)) {
      const bool whole = x.container == n && x.write && x.full && x.op == WriteOp::kAssign;
      if (whole && Covers(x.subset, FullSubset(c.shape), s_.assumptions) == Truth::kYes)
        return static_cast<size_t>(*elements) * static_cast<size_t>(ByteSize(c.dtype));
    }
    return {};
  }

  const Program& p_;
  const Sdfg& s_;
  const ConstantLimits& limits_;
  const transforms::UseIndex uses_;
  Callees callees_{p_};
  size_t bytes_ = 0;
};

// A program of these statements alone.
Program Alone(const Sdfg& s, const std::vector<Known>& known) {
  Sdfg alone = s;
  std::unordered_set<Name> used;
  State state;
  alone.parameters.clear();
  for (const Known& k : known) {
    state.statements.push_back(k.statement);
    for (Name n : k.arrays) {
      Container& c = alone.Mutable(n);
      c.kind = ContainerKind::kParameter, c.output = true;
      alone.parameters.push_back(n);
    }
    for (NodeId t : std::get<Map>(s.nodes[k.statement].body).body) {
      const Tasklet& tasklet = std::get<Tasklet>(s.nodes[t].body);
      used.insert(tasklet.target);
      for (Name n : ReadContainers(tasklet.value)) used.insert({n, RootOf(s, n)});
      for (const Expr& e : tasklet.index)
        for (Name n : ReadContainers(e)) used.insert({n, RootOf(s, n)});
    }
  }
  std::unordered_set<Name> unused;
  for (Name n : s.order)
    if (!used.count(n)) unused.insert(n);
  transforms::RemoveContainers(&alone, unused);
  std::stable_partition(alone.order.begin(), alone.order.end(), [&](Name n) { return alone.Get(n).kind == ContainerKind::kParameter; });
  alone.symbol_params.clear(), alone.assumptions = {}, alone.given.clear();
  alone.body = {alone.AddBlock(std::move(state))};
  Program p;
  p.entry = alone.name;
  p.Add(std::move(alone));
  return p;
}

Result<std::vector<Value>> Values(const Registry& r, Program p) {
  HR_RETURN_IF_ERROR(RunPipeline(r, "compile-interpreter", p));
  HR_ASSIGN_OR_RETURN(const std::unique_ptr<Executable> e, r.FindBackend("interpreter")->compile(p, {}, r));
  return e->Run({});
}

bool Same(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && std::memcmp(a.data->data(), b.data->data(), static_cast<size_t>(a.bytes())) == 0;
}

// The constants in place of what computed them; equal ones are one.
void Keep(Sdfg* s, const std::vector<Known>& known, const std::vector<Value>& values) {
  std::unordered_set<Name> bases, again;
  for (Name n : s->order)
    if (const Container& c = s->Get(n); !c.base.empty()) bases.insert(c.base);
  std::unordered_map<Name, Name> renamed;
  std::vector<Name> kept;
  size_t k = 0;
  for (const Known& one : known) {
    for (Name n : one.arrays) {
      const Tensor& value = values[k++].tensor;
      const auto same = std::find_if(kept.begin(), kept.end(), [&](Name other) { return Same(s->Get(other).data, value); });
      if (same != kept.end() && !bases.count(n)) {
        renamed.emplace(n, *same);
        again.insert(n);
        continue;
      }
      Container& c = s->Mutable(n);
      c.kind = ContainerKind::kConstant;
      c.data = value;
      kept.push_back(n);
    }
    s->nodes.Mutable(one.statement).body = std::monostate();
  }
  transforms::RemoveEmptied(s);
  transforms::RenameUses(s, renamed);
  transforms::RemoveContainers(s, again);
}

}  // namespace

Result<bool> ComputeConstants(Program& p, const ConstantLimits& limits, const Registry& r, const Ask& ask) {
  if (!r.FindBackend("interpreter")) return false;
  return transforms::ChangeEach(p, [&](Sdfg* s) {
    const std::vector<Known> known = Finder(p, *s, limits).Run(ask);
    if (known.empty()) return false;
    const Result<std::vector<Value>> values = Values(r, Alone(*s, known));
    if (!values.ok()) return false;  // what fails does so when it runs
    Keep(s, known, *values);
    return true;
  });
}

}  // namespace headrace
