#include "python/extension/rewrite.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "driver/compile.h"
#include "ir/dataflow.h"
#include "ir/printer.h"
#include "ir/verify.h"

namespace headrace::python {
namespace {

Status NoParameter(const Sdfg& s, Name n) {
  std::vector<std::string> known;
  for (Name q : s.parameters) known.push_back(q.str());
  const std::string close = ClosestWord(n.str(), known);
  return UsageError("E0447", "the program has no parameter '" + n.str() + "'", close.empty() ? "" : "did you mean '" + close + "'?");
}

bool IsParameter(const Sdfg& s, Name n) { return std::find(s.parameters.begin(), s.parameters.end(), n) != s.parameters.end(); }

// `n` is a parameter no longer: what it is now, `kind` says. Sizes that only its shape told are symbols of the program.
void Demote(Sdfg* s, Name n, ContainerKind kind) {
  s->parameters.erase(std::find(s->parameters.begin(), s->parameters.end(), n));
  Container& c = s->Mutable(n);
  c.kind = kind;
  c.inout = c.output = c.optional = false;
  std::stable_partition(s->order.begin(), s->order.end(),
                        [&](Name q) { return s->Get(q).kind == ContainerKind::kParameter; });
  DeclareSymbols(s);
}

// ---- constants ----

// How often each container is written, by any statement of the sdfg.
std::unordered_map<Name, int> Writes(const Program& p, const Sdfg& s) {
  std::unordered_map<Name, int> count;
  ForEachBlock(s, s.body, [&](BlockId b) {
    if (auto* state = std::get_if<State>(&s.blocks[b].control))
      for (NodeId n : state->statements)
        for (const Touched& t : TouchedBy(p, s, n))
          if (t.write) ++count[t.root];
  });
  return count;
}

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
  CompileRequest q;
  q.backend = "interpreter";
  HR_ASSIGN_OR_RETURN(std::unique_ptr<Executable> e, CompileProgram(r, std::move(p), q));
  return e->Run({});
}

// ---- patterns ----

bool Reads(const Expr& e, Name n) {
  if (!e) return false;
  if (e.Is(ExprKind::kRead) && e->name == n) return true;
  return std::any_of(e->args.begin(), e->args.end(), [&](const Expr& a) { return Reads(a, n); });
}

struct Match {
  std::vector<size_t> positions;      // of the pattern's nodes, in the state
  std::unordered_map<Name, Name> is;  // the pattern's container → the program's
};

std::string AttributesText(const Library& l, const Attributes& all) {
  Library bare;
  bare.domain = l.domain, bare.op = l.op;
  bare.attributes = all;
  Sdfg s;
  s.name = "x";
  return PrintNode(s, s.AddNode(bare));
}

// Those that the pattern says must be equal.
bool SameAttributes(const Library& pattern, const Library& found) {
  Attributes same;
  for (const auto& [name, value] : pattern.attributes) {
    const Attribute* a = FindAttribute(found.attributes, name);
    if (!a) return false;
    same.emplace_back(name, *a);
  }
  return AttributesText(pattern, pattern.attributes) == AttributesText(pattern, same);
}

class Matcher {
 public:
  Matcher(const Registry& r, const Program& pattern, const Program& program)
      : registry_(r), pattern_(pattern.Entry()), program_(program), s_(program.Entry()) {
    for (NodeId n : StateOf(pattern_).statements) nodes_.push_back(&std::get<Library>(pattern_.nodes[n].body));
    writes_ = Writes(program_, s_);
    for (const Library* l : nodes_)
      for (const Port& q : l->outputs) made_.insert(q.container);
  }

  // The first match in the state.
  bool Find(const State& state, Match* m) const { return Extend(state, 0, m); }

  static const State& StateOf(const Sdfg& s) { return std::get<State>(s.blocks[s.body[0]].control); }

 private:
  // Node `k` of the pattern and those after it, wherever they stand behind the ones before.
  bool Extend(const State& state, size_t k, Match* m) const {
    if (k == nodes_.size()) return Replaceable(state, *m);
    for (size_t at = k == 0 ? 0 : m->positions.back() + 1; at < state.statements.size(); ++at) {
      Match longer = *m;
      if (!Fits(state.statements[at], *nodes_[k], &longer)) continue;
      longer.positions.push_back(at);
      if (Extend(state, k + 1, &longer)) {
        *m = std::move(longer);
        return true;
      }
    }
    return false;
  }

  bool Fits(NodeId n, const Library& wanted, Match* m) const {
    const auto* l = std::get_if<Library>(&s_.nodes[n].body);
    if (!l || l->domain != wanted.domain || l->op != wanted.op || (wanted.version != 0 && Signature(*l) != Signature(wanted))) return false;
    return SameAttributes(wanted, *l) && SamePorts(wanted.inputs, l->inputs, m) && SamePorts(wanted.outputs, l->outputs, m);
  }

  const OpSignature* Signature(const Library& l) const { return registry_.FindOp(l.domain.str(), l.op.str(), l.version); }

  bool SamePorts(const std::vector<Port>& wanted, const std::vector<Port>& found, Match* m) const {
    std::vector<Port> a, b;
    for (const Port& q : wanted)
      if (!q.container.empty()) a.push_back(q);
    for (const Port& q : found)
      if (!q.container.empty()) b.push_back(q);
    if (a.size() != b.size()) return false;
    for (size_t k = 0; k < a.size(); ++k)
      if (a[k].name != b[k].name || !SameContainer(a[k].container, b[k].container, m)) return false;
    return true;
  }

  bool SameContainer(Name wanted, Name found, Match* m) const {
    const auto [it, is_new] = m->is.emplace(wanted, found);
    if (!is_new) return it->second == found;
    const Container &w = pattern_.Get(wanted), &f = s_.Get(found);
    if (w.dtype != f.dtype || w.shape.size() != f.shape.size()) return false;
    for (size_t d = 0; d < w.shape.size(); ++d)
      if (const auto size = AsInt(w.shape[d]); size && AsInt(f.shape[d]) != size) return false;
    return true;
  }

  // The call stands where the last node stood: until there nothing may read what the others made, or change what they read; and
  // what is inside of the pattern is read by nobody else.
  bool Replaceable(const State& state, const Match& m) const {
    std::unordered_map<Name, Name> back;
    for (const auto& [wanted, found] : m.is)
      if (!back.emplace(RootOf(s_, found), wanted).second && made_.count(wanted)) return false;
    for (Name made : made_) {
      const Container& c = s_.Get(m.is.at(made));
      const bool inside = pattern_.Get(made).kind == ContainerKind::kTransient;
      if (inside && (c.kind != ContainerKind::kTransient || UsedElsewhere(c.name, state, m))) return false;
      if (c.kind == ContainerKind::kView || writes_.at(c.name) != 1) return false;
    }
    for (size_t at = m.positions.front(); at < m.positions.back(); ++at) {
      if (std::find(m.positions.begin(), m.positions.end(), at) != m.positions.end()) continue;
      for (const Touched& t : TouchedBy(program_, s_, state.statements[at])) {
        const auto it = back.find(t.root);
        if (it != back.end() && (made_.count(it->second) || t.write)) return false;
      }
    }
    return true;
  }

  bool UsedElsewhere(Name n, const State& state, const Match& m) const {
    std::set<uint32_t> own;
    for (size_t at : m.positions) own.insert(state.statements[at].value);
    bool used = false;
    for (Name c : s_.order) used |= s_.Get(c).kind == ContainerKind::kView && RootOf(s_, c) == n;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      const Control& control = s_.blocks[b].control;
      if (auto* inner = std::get_if<State>(&control)) {
        for (NodeId id : inner->statements)
          if (!own.count(id.value))
            for (const Touched& t : TouchedBy(program_, s_, id)) used |= t.root == n;
      } else if (auto* loop = std::get_if<Loop>(&control)) {
        used |= Reads(loop->init, n) || Reads(loop->condition, n) || Reads(loop->update, n);
      } else if (auto* conditional = std::get_if<Conditional>(&control)) {
        for (const Branch& branch : conditional->branches) used |= Reads(branch.condition, n);
      } else if (auto* assign = std::get_if<Assign>(&control)) {
        used |= Reads(assign->value, n);
      }
    });
    return used;
  }

  const Registry& registry_;
  const Sdfg& pattern_;
  const Program& program_;
  const Sdfg& s_;
  std::vector<const Library*> nodes_;
  std::unordered_map<Name, int> writes_;
  std::set<Name> made_;
};

Status NotAPattern(const std::string& why) {
  return InvalidError("E0447", "no pattern of library nodes: " + why, "a pattern is one state of library nodes over parameters and transients");
}

Status CheckPattern(const Program& pattern) {
  const Sdfg& s = pattern.Entry();
  if (s.body.size() != 1 || !std::holds_alternative<State>(s.blocks[s.body[0]].control)) return NotAPattern("it has control flow or several states");
  const State& state = Matcher::StateOf(s);
  if (state.statements.empty()) return NotAPattern("it is empty");
  for (NodeId n : state.statements)
    if (!std::holds_alternative<Library>(s.nodes[n].body)) return NotAPattern("it has the statement " + PrintNode(s, n));
  for (Name n : s.order)
    if (const ContainerKind k = s.Get(n).kind; k != ContainerKind::kParameter && k != ContainerKind::kTransient)
      return NotAPattern("container '" + n.str() + "' is neither a parameter nor a transient");
  return {};
}

Status CheckReplacement(const Program& pattern, const Program& replacement) {
  const Sdfg &a = pattern.Entry(), &b = replacement.Entry();
  auto refuse = [](const std::string& what) { return InvalidError("E0447", "the replacement does not fit the pattern: " + what); };
  if (!b.symbol_params.empty()) return refuse("no argument tells its size " + b.symbol_params[0].str());
  for (Name n : b.parameters) {
    if (!IsParameter(a, n)) return refuse("the pattern has no parameter '" + n.str() + "'");
    if (a.Get(n).dtype != b.Get(n).dtype || a.Get(n).shape.size() != b.Get(n).shape.size())
      return refuse("parameter '" + n.str() + "' has another type or number of dimensions");
    const Direction d = DirectionOf(pattern, a, n), e = DirectionOf(replacement, b, n);
    if (e != Direction::kUnused && d != e) return refuse("parameter '" + n.str() + "' is not read or written as there");
  }
  for (Name n : Outputs(pattern, a))
    if (!IsParameter(b, n)) return refuse("it does not give '" + n.str() + "'");
  return {};
}

// The sdfgs of `from` in `p`, under names that are free; gives that of its entry.
Name AddAll(const Program& from, Program* p) {
  std::map<Name, Name> names;
  for (const auto& s : from.sdfgs) {
    Name fresh = s->name;
    auto taken = [&](Name n) {
      return p->Find(n) || std::any_of(names.begin(), names.end(), [&](const auto& known) { return known.second == n; });
    };
    for (int k = 1; taken(fresh); ++k) fresh = Name(s->name.str() + "_" + std::to_string(k));
    names[s->name] = fresh;
  }
  for (const auto& s : from.sdfgs) {
    Sdfg copy = *s;
    copy.name = names.at(s->name);
    ForEachNode(*s, [&](NodeId n) {
      Node node = copy.nodes[n];
      if (auto* call = std::get_if<Nested>(&node.body)) call->callee = names.at(call->callee);
      else if (auto* l = std::get_if<Library>(&node.body))
        for (auto& [name, a] : l->attributes)
          if (auto* graph = std::get_if<Name>(&a.value)) *graph = names.at(*graph);
      copy.nodes.Mutable(n) = std::move(node);
    });
    p->Add(std::move(copy));
  }
  return names.at(from.entry);
}

void Apply(const Match& m, const Program& pattern, const Program& replacement, Name callee, BlockId at, Sdfg* s) {
  Nested call;
  call.callee = callee;
  for (Name n : replacement.Entry().parameters) call.arguments.push_back({n, m.is.at(n), {}});
  State state = std::get<State>(s->blocks[at].control);
  Origin origin;
  std::string sources;
  for (size_t k : m.positions)
    if (const Name source = s->nodes[state.statements[k]].origin.source; !source.empty()) sources += (sources.empty() ? "" : "+") + source.str();
  origin.source = Name(sources);
  origin.pass = Name("replace");
  const NodeId made = s->AddNode(std::move(call), origin);
  for (size_t k : m.positions) s->nodes.Mutable(state.statements[k]).body = std::monostate();
  state.statements[m.positions.back()] = made;
  for (size_t k = m.positions.size() - 1; k-- > 0;) state.statements.erase(state.statements.begin() + static_cast<long>(m.positions[k]));
  std::get<State>(s->blocks.Mutable(at).control) = std::move(state);
  for (const auto& [wanted, found] : m.is)
    if (pattern.Entry().Get(wanted).kind == ContainerKind::kTransient) s->Remove(found);
}

}  // namespace

Result<int> Replace(const Registry& r, const Program& pattern, const Program& replacement, Program* p) {
  HR_RETURN_IF_ERROR(CheckPattern(pattern));
  HR_RETURN_IF_ERROR(CheckReplacement(pattern, replacement));
  std::vector<BlockId> states;
  const Sdfg& entry = p->Entry();
  ForEachBlock(entry, entry.body, [&](BlockId b) {
    if (std::holds_alternative<State>(entry.blocks[b].control)) states.push_back(b);
  });
  Program changed = *p;
  Name callee;
  int count = 0;
  for (BlockId b : states) {
    while (true) {
      Match m;
      if (!Matcher(r, pattern, changed).Find(std::get<State>(changed.Entry().blocks[b].control), &m)) break;
      if (count++ == 0) callee = AddAll(replacement, &changed);
      Apply(m, pattern, replacement, callee, b, &changed.MutableEntry());
    }
  }
  HR_RETURN_IF_ERROR(Verify(changed));
  *p = std::move(changed);
  return count;
}

Status ParameterToTransient(const std::vector<Name>& names, Program* p) {
  Program changed = *p;
  for (Name n : names) {
    const Sdfg& s = changed.Entry();
    if (!IsParameter(s, n)) return NoParameter(s, n);
    if (DirectionOf(changed, s, n) != Direction::kOut)
      return InvalidError("E0447", "parameter '" + n.str() + "' is an input: nothing else tells its value",
                          "input_to_constant makes its value a part of the program");
    Demote(&changed.MutableEntry(), n, ContainerKind::kTransient);
  }
  HR_RETURN_IF_ERROR(Verify(changed));
  *p = std::move(changed);
  return {};
}

Status InputToConstant(Name n, Tensor value, Program* p) {
  const Sdfg& s = p->Entry();
  if (!IsParameter(s, n)) return NoParameter(s, n);
  const Container& c = s.Get(n);
  const Direction d = DirectionOf(*p, s, n);
  if (d == Direction::kOut || d == Direction::kInOut)
    return InvalidError("E0447", "parameter '" + n.str() + "' is written, and a constant is not");
  Diagnostic wrong;
  wrong.code = "E0447";
  wrong.message = "the value does not fit input '" + n.str() + "'";
  if (c.dtype != value.dtype) {
    wrong.got = std::string(DTypeName(value.dtype)), wrong.expected = std::string(DTypeName(c.dtype));
    return Status(wrong);
  }
  std::string got, expected;
  bool fits = value.shape.size() == c.shape.size();
  for (int64_t size : value.shape) got += (got.empty() ? "" : ", ") + std::to_string(size);
  for (size_t k = 0; k < c.shape.size(); ++k) {
    expected += (k ? ", " : "") + ToString(c.shape[k]);
    fits = fits && AsInt(c.shape[k]) == value.shape[k];
  }
  if (!fits) {
    wrong.got = "[" + got + "]", wrong.expected = "[" + expected + "]";
    wrong.hint = "sizes that are symbols are fixed before: a constant has numbers";
    return Status(wrong);
  }
  Program changed = *p;
  Sdfg& to = changed.MutableEntry();
  to.Mutable(n).data = std::move(value);
  Demote(&to, n, ContainerKind::kConstant);
  HR_RETURN_IF_ERROR(Verify(changed));
  *p = std::move(changed);
  return {};
}

Result<int> FoldConstants(const Registry& r, int64_t max_bytes, Program* p) {
  Program changed = *p;
  const std::unordered_map<Name, int> writes = Writes(changed, changed.Entry());
  int count = 0;
  std::vector<BlockId> states;  // those that certainly run: in no loop and no branch
  for (BlockId b : changed.Entry().body)
    if (std::holds_alternative<State>(changed.Entry().blocks[b].control)) states.push_back(b);
  for (BlockId b : states) {
    State left = std::get<State>(changed.Entry().blocks[b].control);
    left.statements.clear();
    for (NodeId n : std::vector<NodeId>(std::get<State>(changed.Entry().blocks[b].control).statements)) {
      const Sdfg& s = changed.Entry();
      const auto* l = std::get_if<Library>(&s.nodes[n].body);
      if (!l || IsRandom(r, *l) || !Foldable(s, *l, writes, max_bytes)) {
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
      ++count;
    }
    std::get<State>(changed.MutableEntry().blocks.Mutable(b).control) = std::move(left);
  }
  if (count == 0) return 0;
  HR_RETURN_IF_ERROR(Verify(changed));
  *p = std::move(changed);
  return count;
}

}  // namespace headrace::python
