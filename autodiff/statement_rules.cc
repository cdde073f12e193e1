#include "autodiff/statement_rules.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "autodiff/changing_symbols.h"
#include "autodiff/emit.h"
#include "autodiff/statement_node.h"
#include "ir/base/log.h"

namespace headrace::autodiff {
namespace {

thread_local int ordinary = 0;

const char* const kKinds[] = {"map", "tasklet", "call"};

// Symbols that have one value in the whole run: not those of callees whose sizes come from data, or from what changes, at some
// call.
class FixedSymbols {
 public:
  explicit FixedSymbols(const Program& p) : p_(p) {
    changing_ = ChangingSymbols(p.Entry()).all();
    for (const auto& s : p.sdfgs)
      for (const auto& b : Loops(*s)) loops_[s->name].insert(b);
    steady_[p.entry] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& s : p.sdfgs)
        if (steady_.count(s->name)) changed |= Calls(*s);
    }
  }
  bool operator()(const Sdfg& s, Name symbol) const {
    if (s.name == p_.entry) {
      const auto loops = loops_.find(s.name);
      return !changing_.count(symbol) && (loops == loops_.end() || !loops->second.count(symbol));
    }
    const std::vector<Name> given = FreeSymbols(s);
    const auto steady = steady_.find(s.name);
    return steady != steady_.end() && steady->second && std::find(given.begin(), given.end(), symbol) != given.end();
  }

 private:
  static std::vector<Name> Loops(const Sdfg& s) {
    std::vector<Name> out;
    ForEachBlock(s, s.body, [&](BlockId b) {
      if (auto* l = std::get_if<Loop>(&s.blocks[b].control); l && !l->var.empty()) out.push_back(l->var);
    });
    return out;
  }
  bool Calls(const Sdfg& s) {
    bool changed = false;
    ForEachNode(s, [&](NodeId n) {
      auto* call = std::get_if<Nested>(&s.nodes[n].body);
      if (!call || !p_.Find(call->callee)) return;
      bool steady = true;
      auto look = [&](const Expr& e) {
        steady &= ReadContainers(e).empty();
        for (Name x : FreeSymbols(e)) steady &= (*this)(s, x);
      };
      for (const Argument& a : call->arguments)
        if (const Container* c = s.Find(a.container))
          for (const Expr& e : c->shape) look(e);
      for (const auto& x : call->symbols) look(x.second);
      const auto [it, fresh] = steady_.emplace(call->callee, steady);
      changed |= fresh || (it->second && !steady);
      it->second &= steady;
    });
    return changed;
  }

  const Program& p_;
  std::set<Name> changing_;
  std::map<Name, std::set<Name>> loops_;
  std::map<Name, bool> steady_;
};

bool AnyFloat(const std::vector<PortView>& ports) {
  return std::any_of(ports.begin(), ports.end(), [](const PortView& p) { return IsFloat(p.dtype) || IsComplex(p.dtype); });
}

class Taker {
 public:
  Taker(Program* p, const Registry& r) : p_(*p), original_(*p), r_(r), fixed_(original_) {}

  // Calls of the entry and of what it still calls.
  Result<bool> Calls() {
    std::vector<Name> todo{original_.entry};
    for (size_t k = 0; k < todo.size(); ++k) {
      HR_RETURN_IF_ERROR(All(todo[k], {"call"}));
      const Sdfg& s = *p_.Find(todo[k]);
      ForEachNode(
          s,
          [&](NodeId n) {
            auto* call = std::get_if<Nested>(&s.nodes[n].body);
            if (call && p_.Find(call->callee) && std::find(todo.begin(), todo.end(), call->callee) == todo.end())
              todo.push_back(call->callee);
          },
          /*into_maps=*/false);
    }
    return taken_;
  }
  Result<bool> MapsAndTasklets() {
    HR_RETURN_IF_ERROR(All(original_.entry, {"map", "tasklet"}));
    return taken_;
  }

 private:
  Status All(Name name, const std::set<std::string>& kinds) {
    written_.clear();
    const Sdfg& s = *original_.Find(name);
    names_ = std::make_unique<FreshNames>(s);
    std::vector<BlockId> body;
    for (BlockId top : s.body) {
      fill_.clear();
      Status status;
      ForEachBlock(s, {top}, [&](BlockId b) {
        if (status.ok() && std::holds_alternative<State>(s.blocks[b].control)) status = InState(s, b, kinds);
      });
      HR_RETURN_IF_ERROR(status);
      if (!fill_.empty()) body.push_back(p_.Mutable(name).AddBlock(State{Name(), Fills(&p_.Mutable(name))}));
      body.push_back(top);
    }
    if (body.size() != s.body.size()) p_.Mutable(name).body = std::move(body);
    return {};
  }

  Status InState(const Sdfg& s, BlockId b, const std::set<std::string>& kinds) {
    std::vector<NodeId> statements;
    bool more = false;
    for (NodeId n : std::get<State>(s.blocks[b].control).statements) {
      const size_t before = statements.size();
      if (kinds.count(KindOf(s, n))) HR_RETURN_IF_ERROR(One(s, n, &statements));
      more |= statements.size() != before;
      statements.push_back(n);
      for (const Touched& t : TouchedBy(original_, s, n))
        if (t.write) written_.insert(t.root);
    }
    if (more) std::get<State>(p_.Mutable(s.name).blocks.Mutable(b).control).statements = std::move(statements);
    return {};
  }

  Status One(const Sdfg& s, NodeId n, std::vector<NodeId>* before) {
    const std::string kind = KindOf(s, n);
    const std::vector<const BackwardImplementation*> rules = r_.BackwardImplementations("node", kind);
    if (rules.empty()) return {};
    HR_ASSIGN_OR_RETURN(StatementNode node,
                        MakeStatementNode(original_, s, n, names_.get(), [&](Name x) { return fixed_(s, x); }));
    const Sdfg alone = Alone(s, node, s.nodes[n].origin);
    HR_ASSIGN_OR_RETURN(NodeView v, ViewOf(r_, original_, alone, std::get<State>(alone.blocks[alone.body[0]].control).statements[0]));
    if (!AnyFloat(v.inputs) || !AnyFloat(v.outputs)) return {};
    const std::set<Name> undefined = Undefined(s, node);
    const BackwardImplementation* rule = Asked(v, kind, rules);
    if (!rule) return {};
    for (Name c : undefined)
      if (node.refused.empty() && s.name != original_.entry && s.Get(c).kind == ContainerKind::kParameter)
        node.refused = "'" + c.str() + "' of " + s.name.str() + " is written in part, and is not inout";
    if (!node.refused.empty())
      return WithOrigin(UnsupportedError("E0816",
                                         "backward rule '" + rule->name + "' can be applied to a " + kind +
                                             " that no rule can have: " + node.refused,
                                         "change the program, or let backward_can_be_applied decline this " + kind),
                        s.nodes[n].origin);
    fill_.insert(undefined.begin(), undefined.end());
    for (NodeId first : PutStatementNode(&p_.Mutable(s.name), n, names_.get(), node)) before->push_back(first);
    taken_ = true;
    return {};
  }

  const BackwardImplementation* Asked(const NodeView& v, const std::string& kind,
                                      const std::vector<const BackwardImplementation*>& rules) const {
    const BackwardImplementation* rule = nullptr;
    std::string reasons;
    for (const BackwardImplementation* b : rules) {
      const std::string why = b->backward_can_be_applied ? b->backward_can_be_applied(v) : "";
      if (why.empty()) {
        rule = b;
        break;
      }
      reasons += (reasons.empty() ? "" : "; ") + b->name + ": " + why;
    }
    Log(LogTopic::kChoice, kind + (v.name.empty() ? "" : " '" + v.name + "'") + ": backward rule " +
                               (rule ? rule->name : "none") + (reasons.empty() ? "" : " (not " + reasons + ")"));
    return rule;
  }

  // Arrays of which the node takes the value from before, and that may not have one yet.
  std::set<Name> Undefined(const Sdfg& s, const StatementNode& node) const {
    std::set<Name> out;
    for (const StatementNode::Input& i : node.before) {
      if (i.container.empty()) continue;
      const Name root = RootOf(s, i.container);
      const Container& c = s.Get(root);
      const bool has_value = written_.count(root) || c.inout || c.kind == ContainerKind::kState;
      if (!has_value) out.insert(root);
    }
    return out;
  }
  std::vector<NodeId> Fills(Sdfg* s) const {
    std::vector<NodeId> out;
    for (Name n : fill_) {
      const DType t = s->Get(n).dtype;
      const Expr zero = t == DType::kBool ? BoolExpr(false) : IsFloat(t) || IsComplex(t) ? FloatExpr(0) : IntExpr(0);
      out.push_back(FillWith(s, names_.get(), n, zero));
    }
    return out;
  }

  Program& p_;
  const Program original_;
  const Registry& r_;
  FixedSymbols fixed_;
  std::unique_ptr<FreshNames> names_;  // of the SDFG that is looked at
  bool taken_ = false;
  std::set<Name> written_, fill_;  // in the text before; to be filled before the block that is looked at
};

bool HasRules(const Registry& r, const char* kind) { return !r.BackwardImplementations("node", kind).empty(); }

}  // namespace

Result<bool> StatementsToNodes(Program* p, const Registry& r) {
  if (ordinary > 0) return false;
  bool taken = false;
  if (HasRules(r, "call")) {
    HR_ASSIGN_OR_RETURN(taken, Taker(p, r).Calls());
  }
  if (HasRules(r, "map") || HasRules(r, "tasklet")) {
    HR_RETURN_IF_ERROR(RunPipeline(r, "inline-nested{everywhere=true}", *p));
    HR_ASSIGN_OR_RETURN(const bool more, Taker(p, r).MapsAndTasklets());
    taken |= more;
  }
  return taken;
}

Status NodesToStatements(Program* p, const Registry& r) {
  for (const char* kind : kKinds)
    HR_RETURN_IF_ERROR(RunPipeline(r, std::string("expand-library-nodes{only=node.") + kind + "}", *p));
  return {};
}

OrdinaryDerivatives::OrdinaryDerivatives() { ++ordinary; }
OrdinaryDerivatives::~OrdinaryDerivatives() { --ordinary; }
bool OrdinaryDerivatives::Now() { return ordinary > 0; }

Status RegisterStatementNodes(Registry& r) {
  for (const char* kind : kKinds) {
    ForwardImplementation i;
    i.domain = "node", i.op = kind, i.name = "pure", i.expand = ExpandStatementNode;
    HR_RETURN_IF_ERROR(r.Add(std::move(i)));
  }
  return {};
}

}  // namespace headrace::autodiff
