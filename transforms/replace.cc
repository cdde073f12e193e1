#include "transforms/replace.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "ir/analysis/dataflow.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"
#include "transforms/uses.h"

namespace headrace {
namespace {

bool IsParameter(const Sdfg& s, Name n) {
  return std::find(s.parameters.begin(), s.parameters.end(), n) != s.parameters.end();
}

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
    writes_ = transforms::CountWrites(program_, s_);
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
      for (const Touched& t : TouchedBy(s_, state.statements[at], callees_)) {
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
            for (const Touched& t : TouchedBy(s_, id, callees_)) used |= t.root == n;
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
  mutable Callees callees_{program_};
  const Sdfg& s_;
  std::vector<const Library*> nodes_;
  std::unordered_map<Name, int> writes_;
  std::set<Name> made_;
};

Status NotAPattern(const std::string& why) {
  return InvalidError("E0361", "no pattern of library nodes: " + why, "a pattern is one state of library nodes over parameters and transients");
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
  auto refuse = [](const std::string& what) { return InvalidError("E0361", "the replacement does not fit the pattern: " + what); };
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
  std::vector<Origin> origins;
  for (size_t k : m.positions) origins.push_back(s->nodes[state.statements[k]].origin);
  const NodeId made = s->AddNode(std::move(call), Origin::Merged(origins, "replace"));
  for (size_t k : m.positions) s->nodes.Mutable(state.statements[k]).body = std::monostate();
  state.statements[m.positions.back()] = made;
  for (size_t k = m.positions.size() - 1; k-- > 0;) state.statements.erase(state.statements.begin() + static_cast<long>(m.positions[k]));
  std::get<State>(s->blocks.Mutable(at).control) = std::move(state);
  for (const auto& [wanted, found] : m.is)
    if (pattern.Entry().Get(wanted).kind == ContainerKind::kTransient) s->Remove(found);
}

}  // namespace

Result<int> Replace(Program& p, const Program& pattern, const Program& replacement, const Registry& r) {
  HR_RETURN_IF_ERROR(CheckPattern(pattern));
  HR_RETURN_IF_ERROR(CheckReplacement(pattern, replacement));
  std::vector<BlockId> states;
  const Sdfg& entry = p.Entry();
  ForEachBlock(entry, entry.body, [&](BlockId b) {
    if (std::holds_alternative<State>(entry.blocks[b].control)) states.push_back(b);
  });
  Program changed = p;
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
  if (count == 0) return 0;
  HR_RETURN_IF_ERROR(Verify(changed));
  p = std::move(changed);
  return count;
}

}  // namespace headrace
