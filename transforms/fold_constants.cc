#include "transforms/fold_constants.h"

#include <memory>
#include <unordered_map>

#include "ir/analysis/dataflow.h"
#include "ir/verify/verify.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

bool IsConstant(const Sdfg& s, Name n) {
  const Container* c = s.Find(n);
  return c && c->kind == ContainerKind::kConstant;
}

// A node whose value is known: every input a constant, every output a transient of known size that nothing else writes.
bool Foldable(const Sdfg& s, const Library& l, const std::unordered_map<Name, int>& writes, int64_t max_bytes) {
  if (l.domain == Name("call") || !l.defines.empty() || l.outputs.empty() || l.inputs.empty()) return false;
  for (const auto& [name, a] : l.attributes)
    if (std::holds_alternative<Name>(a.value)) return false;
  for (const Port& q : l.inputs)
    if (!q.container.empty() && !IsConstant(s, q.container)) return false;
  for (const Port& q : l.outputs) {
    if (q.container.empty()) continue;
    const Container& c = s.Get(q.container);
    if (c.kind != ContainerKind::kTransient || c.dtype == DType::kString) return false;
    const auto elements = AsInt(NumElements(c));
    if (!elements || *elements * ByteSize(c.dtype) > max_bytes) return false;
    const auto it = writes.find(q.container);
    if (it == writes.end() || it->second != 1) return false;
  }
  return true;
}

// Random ops give another value in each run.
bool IsRandom(const Registry& r, const Library& l) {
  const OpSignature* op = r.FindOp(l.domain.str(), l.op.str(), l.version);
  if (!op) return true;
  for (const AttributeSignature& a : op->attributes)
    if (a.name == "seed") return true;
  return false;
}

Result<std::vector<Value>> Compute(const Registry& r, const Sdfg& s, const Library& l) {
  Sdfg alone;
  alone.name = "folded";
  std::vector<Name> outputs;
  for (const auto* ports : {&l.outputs, &l.inputs})
    for (const Port& q : *ports) {
      if (q.container.empty() || alone.Find(q.container)) continue;
      Container c = s.Get(q.container);
      if (ports == &l.outputs) {
        c.kind = ContainerKind::kParameter;
        c.output = true;
        c.storage = Storage::kArena;
        alone.parameters.push_back(c.name);
      }
      alone.Add(std::move(c));
    }
  State state;
  state.statements.push_back(alone.AddNode(l));
  alone.body.push_back(alone.AddBlock(std::move(state)));
  Program p;
  p.entry = alone.name;
  p.Add(std::move(alone));
  const Backend* interpreter = r.FindBackend("interpreter");
  if (!interpreter) return UnsupportedError("E0363", "constants are folded by the backend interpreter, which no loaded plugin has");
  HR_RETURN_IF_ERROR(RunPipeline(r, "compile-interpreter", p));
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> e, interpreter->compile(p, {}, r));
  return e->Run({});
}

}  // namespace

Result<bool> FoldConstants(Program& p, int64_t max_bytes, const Registry& r, const Ask& ask) {
  Program changed = p;
  const std::unordered_map<Name, int> writes = transforms::CountWrites(changed, changed.Entry());
  bool found = false;
  std::vector<BlockId> states;  // those that certainly run: in no loop and no branch
  for (BlockId b : changed.Entry().body)
    if (std::holds_alternative<State>(changed.Entry().blocks[b].control)) states.push_back(b);
  for (BlockId b : states) {
    State left = std::get<State>(changed.Entry().blocks[b].control);
    left.statements.clear();
    for (NodeId n : std::vector<NodeId>(std::get<State>(changed.Entry().blocks[b].control).statements)) {
      const Sdfg& s = changed.Entry();
      const auto* l = std::get_if<Library>(&s.nodes[n].body);
      if (!l || IsRandom(r, *l) || !Foldable(s, *l, writes, max_bytes) || !ask(Match{s.name, {n}, {}, {}, "", true})) {
        left.statements.push_back(n);
        continue;
      }
      HR_ASSIGN_OR_RETURN(std::vector<Value> values, Compute(r, s, *l));
      const std::vector<Port> outputs = l->outputs;
      Sdfg& to = changed.MutableEntry();
      size_t k = 0;
      for (const Port& q : outputs) {
        if (q.container.empty()) continue;
        Container& c = to.Mutable(q.container);
        c.kind = ContainerKind::kConstant;
        c.storage = Storage::kArena;
        c.data = values[k++].tensor;
      }
      to.nodes.Mutable(n).body = std::monostate();
      found = true;
    }
    std::get<State>(changed.MutableEntry().blocks.Mutable(b).control) = std::move(left);
  }
  if (!found) return false;
  HR_RETURN_IF_ERROR(Verify(changed));
  p = std::move(changed);
  return true;
}

}  // namespace headrace
