#include "transforms/forward_quantised.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ir/analysis/dataflow.h"
#include "transforms/each_sdfg.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

using namespace transforms;

constexpr double kLeastScale = 1e-30;  // with less, products would be denormal

// Ops that give each element of theirs as it was, and the port of what they move.
struct Movement {
  const char *op, *port;
  bool keeps_order;  // of values: they may be compared
};
constexpr Movement kMovements[] = {
    {"Reshape", "data", false},   {"Transpose", "data", false}, {"Flatten", "input", false}, {"Squeeze", "data", false},
    {"Unsqueeze", "data", false}, {"Identity", "input", false}, {"MaxPool", "X", true}};

class Forwarder {
 public:
  Forwarder(const Program& p, Sdfg* s, const Ask& ask) : s_(*s), ask_(ask), writes_(CountWrites(p, *s)) {}

  bool Run() {
    bool changed = false;
    std::vector<BlockId> states;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      if (std::holds_alternative<State>(s_.blocks[b].control)) states.push_back(b);
    });
    for (BlockId b : states) changed |= InState(b);
    return changed;
  }

 private:
  bool InState(BlockId block) {
    State state = std::get<State>(s_.blocks[block].control);
    writer_.clear();
    std::vector<NodeId> out;
    bool changed = false;
    for (NodeId n : state.statements) {
      const auto* op = std::get_if<Library>(&s_.nodes[n].body);
      if (op && Is(*op, "QuantizeLinear")) changed |= Forward(n, &out);
      out.push_back(n);
      if (const auto* now = std::get_if<Library>(&s_.nodes[n].body))
        for (const Port& port : now->outputs) writer_[port.container] = n;
    }
    if (!changed) return false;
    state.statements = std::move(out);
    s_.blocks.Mutable(block).control = std::move(state);
    return true;
  }

  static bool Is(const Library& op, const char* name) { return op.domain == Name("onnx") && op.op == Name(name); }
  static Name PortOf(const std::vector<Port>& ports, const char* name) {
    for (const Port& p : ports)
      if (p.name == Name(name)) return p.container;
    return {};
  }
  static const Movement* MovementOf(const Library& op) {
    for (const Movement& m : kMovements)
      if (Is(op, m.op) && op.outputs.size() == 1) return &m;
    return nullptr;
  }

  // The operator of this state that gives all of a container that is written once; null: none does.
  const Library* WriterOf(Name n) const {
    const auto it = writer_.find(n);
    const Container* c = n.empty() ? nullptr : s_.Find(n);
    const auto count = writes_.find(n);
    if (it == writer_.end() || !c || c->kind != ContainerKind::kTransient || count == writes_.end() ||
        count->second != 1)
      return nullptr;
    return std::get_if<Library>(&s_.nodes[it->second].body);
  }

  // One number, 0 where there is no port; nullopt: nobody knows.
  std::optional<double> NumberOf(Name n) const {
    if (n.empty()) return 0;
    const Container& c = s_.Get(n);
    if (c.kind != ContainerKind::kConstant || !c.data.data || c.data.elements() != 1) return std::nullopt;
    return c.data.GetDouble(0);
  }

  // The element type is known, so that both ends can be compared.
  bool AreAlike(const Library& to, const Library& from, bool ordered) const {
    const auto scale = NumberOf(PortOf(to.inputs, "y_scale")), other = NumberOf(PortOf(from.inputs, "x_scale"));
    const auto zero = NumberOf(PortOf(to.inputs, "y_zero_point")),
               other_zero = NumberOf(PortOf(from.inputs, "x_zero_point"));
    if (!scale || !other || *scale != *other || !zero || !other_zero || *zero != *other_zero) return false;
    if (!(std::abs(*scale) >= kLeastScale && std::abs(*scale) <= 1 / kLeastScale) || (ordered && *scale < 0))
      return false;
    const DType stored = s_.Get(PortOf(from.inputs, "x")).dtype;
    return (stored == DType::kU8 || stored == DType::kI8) && stored == s_.Get(PortOf(to.outputs, "y")).dtype;
  }

  // `out`: statements before it, to which what is moved on the way is added.
  bool Forward(NodeId quantise, std::vector<NodeId>* out) {
    const Library to = std::get<Library>(s_.nodes[quantise].body);
    std::vector<Library> moved;  // the last one first
    bool ordered = false;
    const Library* at = WriterOf(PortOf(to.inputs, "x"));
    while (at && !Is(*at, "DequantizeLinear")) {
      const Movement* m = MovementOf(*at);
      if (!m || at->outputs[0].container.empty() || !at->defines.empty()) return false;
      ordered |= m->keeps_order;
      moved.push_back(*at);
      at = WriterOf(PortOf(at->inputs, m->port));
    }
    if (!at || s_.Get(PortOf(at->outputs, "y")).dtype != DType::kF32 || !AreAlike(to, *at, ordered)) return false;
    Name from = PortOf(at->inputs, "x");
    const bool written =
        writer_.count(from) > 0 || s_.Get(RootOf(s_, from)).kind == ContainerKind::kTransient;  // before this statement
    const auto count = writes_.find(from);
    if ((count != writes_.end() ? count->second : 0) > (written ? 1 : 0)) return false;
    if (!ask_(Match{s_.name, {quantise}, {}, {PortOf(to.outputs, "y")}, "", true})) return false;
    const Origin origin = s_.nodes[quantise].origin.By("forward-quantised");
    std::reverse(moved.begin(), moved.end());
    if (moved.empty())
      moved.push_back(
          {Name("onnx"), Name("Identity"), 0, {}, {{Name("input"), from}}, {{Name("output"), Name()}}, {}, {}});
    for (size_t k = 0; k < moved.size(); ++k) {
      Library op = moved[k];
      const Movement* m = MovementOf(op);
      for (Port& port : op.inputs)
        if (port.name == Name(m->port)) port.container = from;
      from = k + 1 == moved.size() ? PortOf(to.outputs, "y") : Narrow(op.outputs[0].container, s_.Get(from).dtype);
      op.outputs[0].container = from;
      if (k + 1 == moved.size()) {
        s_.nodes.Mutable(quantise).body = std::move(op), s_.nodes.Mutable(quantise).origin = origin;
        break;
      }
      out->push_back(s_.AddNode(std::move(op), origin));
      writer_[from] = out->back(), writes_[from] = 1;
    }
    return true;
  }

  // One like it, of 8 bits.
  Name Narrow(Name like, DType type) {
    Container c;
    c.name = s_.FreshName(like.str() + "_quantised");
    c.dtype = type, c.shape = s_.Get(like).shape;
    const Name name = c.name;
    s_.Add(std::move(c));
    return name;
  }

  Sdfg& s_;
  const Ask& ask_;
  std::unordered_map<Name, int> writes_;
  std::unordered_map<Name, NodeId> writer_;  // library nodes of this state so far
};

bool Quantises(const Sdfg& s) {
  static const Name quantise("QuantizeLinear");
  bool any = false;
  ForEachNode(s, [&](NodeId n) {
    const auto* op = std::get_if<Library>(&s.nodes[n].body);
    any |= op && op->op == quantise;
  });
  return any;
}

}  // namespace

Result<bool> ForwardQuantised(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return Quantises(*s) && Forwarder(p, s, ask).Run(); });
}

}  // namespace headrace
