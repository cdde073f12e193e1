#include "transforms/expand_library_nodes.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "ir/analysis/dataflow.h"
#include "transforms/inline.h"
#include "transforms/requires.h"
#include "transforms/statement_key.h"

namespace headrace {
namespace transforms {
namespace {

constexpr int kMaxDepth = 64;  // expansions that contain library nodes that contain …
constexpr size_t kMaxReported = 100;

// An expansion ready for use: its entry, the SDFGs it calls already added to the program under `callees`.
struct Expansion {
  std::shared_ptr<const Sdfg> entry;
  std::vector<std::pair<Name, Name>> callees;
  std::vector<Name> symbols;  // of `called`
  Name called;                // the entry's own name in the program, once a node inside a map needed to call it
};

// Tasklets in maps that write every element at the indices of the maps, from elements at some of these indices, in their order.
bool IsElementwise(const Program& p) {
  const Sdfg& s = p.Entry();
  size_t states = 0;
  for (BlockId b : s.body) states += !std::holds_alternative<Require>(s.blocks[b].control);
  bool ok = p.sdfgs.size() == 1 && states <= 1;
  std::vector<Name> indices;
  std::function<void(NodeId)> check = [&](NodeId id) {
    const Body& b = s.nodes[id].body;
    if (auto* m = std::get_if<Map>(&b)) {
      for (const Range& r : m->ranges) indices.push_back(r.index);
      for (NodeId n : m->body) check(n);
      indices.resize(indices.size() - m->ranges.size());
      return;
    }
    auto* t = std::get_if<Tasklet>(&b);
    if (!t || t->op != WriteOp::kAssign || t->flat || t->guarded || t->index.size() != indices.size())
      return void(ok = false);
    // Bare indices from left to right; a 0 stands still.
    auto aligned = [&](const std::vector<Expr>& index, size_t end, bool all) {
      size_t next = 0;
      for (size_t k = 0; k < end; ++k) {
        if (AsInt(index[k]) == 0 && !all) continue;
        size_t at = next;
        while (at < indices.size() && !(index[k].Is(ExprKind::kSymbol) && index[k]->name == indices[at])) ++at;
        if (at == indices.size() || (all && at != next)) return false;
        next = at + 1;
      }
      return true;
    };
    ok &= aligned(t->index, t->index.size(), true);
    Visit(t->value, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) ok &= !x->flat && !x->has_default && aligned(x->args, x->args.size(), false);
      return ok;
    });
  };
  for (BlockId b : s.body) {
    if (std::holds_alternative<Require>(s.blocks[b].control)) continue;
    auto* st = std::get_if<State>(&s.blocks[b].control);
    if (!st) return false;
    for (NodeId n : st->statements)
      if (ok) check(n);
  }
  return ok;
}

// A gradient that the program asks for.
bool IsGradient(const Library& l) { return l.domain == Name("autodiff") && l.op == Name("Backward"); }

class Expander {
 public:
  Expander(Program& p, const Registry& r, const ExpandOptions& o, const Ask& ask) : p_(p), r_(r), o_(o), ask_(ask) {}

  Result<bool> Run() {
    for (size_t i = 0; i < p_.sdfgs.size(); ++i) {  // grows: expansions bring SDFGs of their own
      Name name = p_.sdfgs[i]->name;
      if (!HasWork(*p_.sdfgs[i])) continue;
      One(name);
    }
    if (!errors_.empty()) return Status(std::move(errors_));
    return changed_;
  }

 private:
  bool Wanted(const Library& l) const {
    if (l.domain == Name("call") || IsGradient(l)) return false;
    return o_.only.empty() || o_.only == l.op.view() || o_.only == l.domain.str() + "." + l.op.str() ||
           o_.only == l.domain.str() + ".*";
  }
  bool Take(NodeId id) const { return ask_(Match{s_->name, {id}, {}, {}, "", true}); }
  bool HasWork(const Sdfg& s) const {
    bool found = false;
    ForEachNode(s, [&](NodeId id) {
      auto* l = std::get_if<Library>(&s.nodes[id].body);
      found |= l && Wanted(*l);
    });
    return found;
  }

  void One(Name name) {
    Sdfg& s = p_.Mutable(name);
    NameTable names(s);
    s_ = &s;
    names_ = &names;
    BlockRewriter rewriter(&s);
    rewriter.Run([&](BlockRewriter& w, NodeId id) { return Statement(w, id, 0); });
    HoistRequires(&s);
    memo_.clear();  // keys name containers' constants and symbols of this SDFG
  }

  // True when the statement was replaced.
  bool Statement(BlockRewriter& w, NodeId id, int depth) {
    if (std::holds_alternative<Map>(s_->nodes[id].body)) {
      std::vector<Name> around;
      if (o_.where != ExpandOptions::kElementwise) InMap(id, &around, depth);
      w.AppendBlocks(requires_);  // what the nodes in the map require, before it
      requires_.clear();
      return false;
    }
    auto* l = std::get_if<Library>(&s_->nodes[id].body);
    if (!l || !Wanted(*l)) return false;
    if (o_.where == ExpandOptions::kMaps || !Take(id)) return false;
    Library node = *l;
    Origin origin = s_->nodes[id].origin;
    Expansion* e = ExpansionOf(id, node, depth);
    if (!e) return false;
    std::vector<NodeId> copies_after;
    InlineRequest q = RequestFor(*e, node, origin, &copies_after);
    Result<std::vector<BlockId>> blocks = InlineBody(s_, names_, q);
    if (!blocks.ok()) {
      Fail(WithNode(blocks.status(), origin.Label(), Label(node)));
      return false;
    }
    changed_ = true;
    Append(w, *blocks, depth + 1);
    for (NodeId c : copies_after) w.AppendStatement(c);
    return true;
  }

  // What an expansion brought may hold library nodes itself.
  void Append(BlockRewriter& w, const std::vector<BlockId>& blocks, int depth) {
    for (BlockId b : blocks) {
      if (auto* st = std::get_if<State>(&s_->blocks[b].control)) {
        for (NodeId n : std::vector<NodeId>(st->statements))
          if (!Statement(w, n, depth)) w.AppendStatement(n);
        continue;
      }
      bool work = false;
      ForEachBlock(*s_, {b}, [&](BlockId x) {
        if (auto* st = std::get_if<State>(&s_->blocks[x].control))
          for (NodeId n : st->statements) work |= !std::holds_alternative<Tasklet>(s_->nodes[n].body);
      });
      if (work) {
        auto visit = [&](BlockRewriter& inner, NodeId n) { return Statement(inner, n, depth); };
        w.RunOn(b, visit);
      } else {
        w.AppendBlocks({b});
      }
    }
  }

  // Library nodes in the body of a map: spliced into it, or called.
  void InMap(NodeId map_id, std::vector<Name>* around, int depth) {
    size_t level = around->size();
    std::vector<NodeId> body = std::get<Map>(s_->nodes[map_id].body).body, out;
    for (const Range& r : std::get<Map>(s_->nodes[map_id].body).ranges) around->push_back(r.index);
    bool changed = false;
    for (NodeId id : body) {
      if (std::holds_alternative<Map>(s_->nodes[id].body)) InMap(id, around, depth);
      auto* l = std::get_if<Library>(&s_->nodes[id].body);
      if (!l || !Wanted(*l) || !Take(id)) {
        out.push_back(id);
        continue;
      }
      Library node = *l;
      Origin origin = s_->nodes[id].origin;
      Expansion* e = ExpansionOf(id, node, depth);
      if (!e) {
        out.push_back(id);
        continue;
      }
      changed = changed_ = true;
      InlineRequest q = RequestFor(*e, node, origin, nullptr);
      q.indices_around = *around;
      Result<std::vector<BlockId>> blocks = InlineBody(s_, names_, q);
      if (blocks.ok()) {
        for (BlockId b : *blocks) {
          if (std::holds_alternative<Require>(s_->blocks[b].control)) {
            requires_.push_back(b);
            continue;
          }
          for (NodeId n : std::get<State>(s_->blocks[b].control).statements) out.push_back(n);
        }
      } else {
        out.push_back(s_->AddNode(CallOf(*e, q), origin));
      }
    }
    around->resize(level);
    if (changed) std::get<Map>(s_->nodes.Mutable(map_id).body).body = std::move(out);
  }
  Nested CallOf(Expansion& e, const InlineRequest& q) {
    if (e.called.empty()) {
      Sdfg copy = *e.entry;
      copy.name = FreshSdfg(copy.name);
      RenameCallees(&copy, e.callees);
      DeclareSymbols(&copy);  // an expansion speaks of the caller's sizes as they are
      e.called = copy.name;
      e.symbols = copy.symbol_params;
      p_.Add(std::move(copy));
    }
    Nested n;
    n.callee = e.called;
    n.arguments = q.arguments;
    for (Name sym : e.symbols) n.symbols.push_back({sym, Expr(sym)});
    return n;
  }
  InlineRequest RequestFor(const Expansion& e, const Library& node, const Origin& origin,
                           std::vector<NodeId>* copies_after) {
    InlineRequest q;
    q.callee = e.entry.get();
    q.callees = e.callees;
    q.origin = origin.WithOp(Label(node)).By("expand-library-nodes");
    std::unordered_map<Name, int> seen;
    auto bind = [&](const std::vector<Port>& ports, bool output) {
      std::unordered_map<Name, int> count;
      for (const Port& p : ports) ++count[p.name];
      for (const Port& p : ports) {
        int k = seen[p.name]++;
        if (p.container.empty()) continue;
        // A variadic port's parameters are name_0, name_1, …; others have the port's name.
        Name formal = p.name;
        if (!e.entry->Find(formal) || count[p.name] > 1) formal = Name(p.name.str() + "_" + std::to_string(k));
        // An output named like an input (BatchNormalization up to version 13) is out_PORT.
        const Name twin("out_" + p.name.str());
        if (output &&
            std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Port& i) { return i.name == p.name; }) &&
            e.entry->Find(twin))
          formal = twin;
        if (!e.entry->Find(formal)) continue;
        Name actual = p.container;
        if (output && copies_after && IsAlsoRead(actual, node)) actual = Detour(actual, q.origin, copies_after);
        q.arguments.push_back({formal, actual, {}});
      }
    };
    bind(node.inputs, false);
    seen.clear();
    bind(node.outputs, true);
    return q;
  }
  bool IsAlsoRead(Name output, const Library& node) const {
    Name root = RootOf(*s_, output);
    for (const Port& p : node.inputs)
      if (!p.container.empty() && RootOf(*s_, p.container) == root) return true;
    return false;
  }
  // An expansion may write its output before it has read its inputs: in-place nodes go through a copy.
  Name Detour(Name output, const Origin& origin, std::vector<NodeId>* copies_after) {
    Container c = s_->Get(output);
    if (c.kind == ContainerKind::kSequence) return output;
    c.kind = ContainerKind::kTransient;
    c.name = names_->Fresh(Name(output.str() + "_new"));
    c.base = Name();
    c.offset = Expr();
    c.MakeRowMajor();
    c.inout = c.optional = false;
    c.data = Tensor();
    Name temporary = c.name;
    std::vector<Expr> shape = c.shape;
    s_->Add(std::move(c));
    Tasklet t;
    Map m;
    t.target = output;
    for (size_t i = 0; i < shape.size(); ++i) {
      Name index = names_->FreshIndex(Name("i" + std::to_string(i)), {});
      m.ranges.push_back({index, Expr(0), shape[i], Expr(1)});
      t.index.push_back(Expr(index));
    }
    t.value = ReadExpr(temporary, t.index);
    NodeId id = s_->AddNode(std::move(t), origin);
    if (!m.ranges.empty()) {
      m.body = {id};
      id = s_->AddNode(std::move(m), origin);
    }
    copies_after->push_back(id);
    return temporary;
  }

  // ---- expansions, one per kind of node ----
  Expansion* ExpansionOf(NodeId id, const Library& l, int depth) {
    if (depth > kMaxDepth)
      return Fail(WithNode(InvalidError("E0342", "the expansion of " + Label(l) + " does not end: it contains itself",
                                        "let the implementation say what it computes by other nodes, maps or calls"),
                           s_->nodes[id].origin.Label(), Label(l)));
    std::string key = KeyOf(l);
    auto it = memo_.find(key);
    if (it != memo_.end()) return &it->second;
    Result<NodeView> view = ViewOf(r_, p_, *s_, id);
    if (!view.ok()) return Fail(view.status());
    if (o_.where == ExpandOptions::kElementwise) {
      if (!l.implementation.empty() && l.implementation != Name("pure")) return nullptr;
      if (!r_.BackwardImplementations(l.domain.str(), l.op.str()).empty()) return nullptr;
    }
    CompileOptions choice;
    if (o_.where == ExpandOptions::kElementwise) choice.implementations = {{"*", "pure"}};
    Result<const ForwardImplementation*> impl = SelectImplementation(r_, *view, choice);
    if (!impl.ok()) return o_.where == ExpandOptions::kElementwise ? nullptr : Fail(WithOrigin(impl.status(), s_->nodes[id].origin));
    Result<Program> body = (*impl)->expand(*view);
    if (o_.where == ExpandOptions::kElementwise && (!body.ok() || !IsElementwise(*body))) return nullptr;
    if (!body.ok()) return Fail(OutOfTheForm(WithNode(body.status(), view->name, Label(l)), l, s_->nodes[id].origin));
    if (const Status fits = CheckPorts(*body, l, (*impl)->name); !fits.ok())
      return Fail(WithOrigin(WithNode(fits, view->name, Label(l)), s_->nodes[id].origin));
    Expansion e;
    for (const auto& s : body->sdfgs)
      if (s->name != body->entry) e.callees.push_back({s->name, FreshSdfg(s->name)});
    for (const auto& s : body->sdfgs) {
      if (s->name == body->entry) {
        e.entry = s;
        continue;
      }
      Sdfg copy = *s;
      for (const auto& c : e.callees)
        if (c.first == s->name) copy.name = c.second;
      RenameCallees(&copy, e.callees);
      p_.Add(std::move(copy));
    }
    s_ = &p_.Mutable(s_->name);
    return &memo_.emplace(std::move(key), std::move(e)).first->second;
  }
  // The parameters of an expansion are the node's ports, of their types, and it writes the outputs.
  Status CheckPorts(const Program& body, const Library& l, const std::string& implementation) {
    Expansion e;
    for (const auto& s : body.sdfgs)
      if (s->name == body.entry) e.entry = s;
    std::unordered_set<Name> outputs;
    for (const Port& p : l.outputs) outputs.insert(p.container);
    for (const Port& p : l.inputs) outputs.erase(p.container);  // in place: its first argument is the input
    std::unordered_map<Name, Direction> ways;
    const std::vector<Direction> directions = Directions(body, *e.entry);
    for (size_t k = 0; k < directions.size(); ++k) ways.emplace(e.entry->parameters[k], directions[k]);
    const auto wrong = [&](const std::string& what, std::string got, std::string expected) {
      Diagnostic d;
      d.code = "E0342";
      d.message = "implementation '" + implementation + "' failed: its expansion " + what;
      d.got = std::move(got), d.expected = std::move(expected);
      return Status(std::move(d));
    };
    const std::vector<Argument> arguments = RequestFor(e, l, {}, nullptr).arguments;
    for (Name n : e.entry->parameters) {
      const bool bound = std::any_of(arguments.begin(), arguments.end(), [&](const Argument& a) { return a.port == n; });
      if (!bound && !e.entry->Get(n).optional) return wrong("has a parameter that is no port of the node", n.str(), PortNames(l));
    }
    for (const Port& p : l.outputs) {
      const bool bound = std::any_of(arguments.begin(), arguments.end(), [&](const Argument& a) { return a.container == p.container; });
      if (!bound && !p.container.empty()) return wrong("does not write '" + p.name.str() + "'", "", "");
    }
    for (const Argument& a : arguments) {
      const Container &formal = e.entry->Get(a.port), &actual = s_->Get(a.container);
      if (formal.kind == ContainerKind::kSequence || actual.kind == ContainerKind::kSequence) continue;
      const std::string port = "'" + a.port.str() + "'";
      if (formal.dtype != actual.dtype)
        return wrong("has " + port + " of another type", std::string(DTypeName(formal.dtype)), std::string(DTypeName(actual.dtype)));
      if (formal.shape.size() != actual.shape.size())
        return wrong("has " + port + " of another rank", std::to_string(formal.shape.size()), std::to_string(actual.shape.size()));
      const auto way = ways.find(a.port);
      const bool written = way != ways.end() && (way->second == Direction::kOut || way->second == Direction::kInOut);
      if (outputs.count(a.container) && !written && !IsEmpty(actual))
        return wrong("does not write " + port, "", "");
      for (size_t d = 0; d < formal.shape.size(); ++d)
        if (const auto has = AsInt(formal.shape[d]), wants = AsInt(actual.shape[d]); has && wants && *has != *wants)
          return wrong("has " + port + " of another size", ToString(formal.shape[d]), ToString(actual.shape[d]));
      const auto gives = [&](const Port& p) { return p.container == a.container; };
      if (written && std::none_of(l.outputs.begin(), l.outputs.end(), gives)) return wrong("writes " + port + ", which the node only reads", "", "");
    }
    return {};
  }
  static std::string PortNames(const Library& l) {
    std::string out;
    for (const auto* ports : {&l.inputs, &l.outputs})
      for (const Port& p : *ports)
        if (!p.container.empty()) out += (out.empty() ? "" : ", ") + p.name.str();
    return out;
  }
  static bool IsEmpty(const Container& c) {
    return std::any_of(c.shape.begin(), c.shape.end(), [](const Expr& n) { return AsInt(n) == 0; });
  }
  Name FreshSdfg(Name stem) {
    Name n = stem;
    for (int k = 1; p_.Find(n) || reserved_.count(n); ++k) n = Name(stem.str() + "_" + std::to_string(k));
    reserved_.insert(n);
    return n;
  }
  static void RenameCallees(Sdfg* s, const std::vector<std::pair<Name, Name>>& names) {
    for (uint32_t i = 0; i < s->nodes.size(); ++i) {
      auto* n = std::get_if<Nested>(&s->nodes[NodeId{i}].body);
      if (!n) continue;
      for (const auto& r : names)
        if (r.first == n->callee) {
          std::get<Nested>(s->nodes.Mutable(NodeId{i}).body).callee = r.second;
          break;
        }
    }
  }
  std::string KeyOf(const Library& l) const {
    std::string key =
        l.domain.str() + "." + l.op.str() + "@" + l.implementation.str() + "#" + std::to_string(l.version);
    for (const auto& a : l.attributes) {
      key += ";" + a.first.str() + "=";
      AppendAttribute(a.second, &key);
    }
    for (const auto* ports : {&l.inputs, &l.outputs}) {
      key += "|";
      for (const Port& p : *ports) {
        key += p.name.str() + ":";
        const Container* c = p.container.empty() ? nullptr : s_->Find(p.container);
        if (!c) continue;
        key += std::to_string(int(c->dtype)) + "/" + std::to_string(int(c->type.dtype)) + "/" +
               std::to_string(int(c->type.kind)) + "[";
        for (const Expr& d : c->shape) key += ToString(d) + ",";
        key += "]";
        if (c->kind == ContainerKind::kConstant) key += p.container.str();
      }
    }
    return key;
  }
  static std::string Label(const Library& l) {
    std::string label = l.domain.str() + "." + l.op.str();
    return l.version > 0 ? label + " (opset " + std::to_string(l.version) + ")" : label;
  }
  // A place in the op's form is none in the user's file: it is named as what it is, and where the node stands in text,
  // that is the place.
  static Status OutOfTheForm(const Status& s, const Library& l, const Origin& origin) {
    std::vector<Diagnostic> all = s.diagnostics();
    for (Diagnostic& d : all) {
      if (d.line == 0 || !d.file.empty()) continue;
      d.file = "<form of " + l.domain.str() + "." + l.op.str() + ">";
      if (origin.line() == 0) continue;
      const size_t begin = d.source_line.find_first_not_of(' ');
      if (begin != std::string::npos) d.message += ", in its form: " + d.source_line.substr(begin);
      d.line = d.column = 0;
      d.source_line.clear();
    }
    return WithOrigin(Status(std::move(all)), origin);
  }
  Expansion* Fail(const Status& s) {
    for (const Diagnostic& d : s.diagnostics())
      if (errors_.size() < kMaxReported) errors_.push_back(d);
    return nullptr;
  }

  Program& p_;
  const Registry& r_;
  const ExpandOptions& o_;
  const Ask& ask_;
  Sdfg* s_ = nullptr;
  NameTable* names_ = nullptr;
  std::unordered_map<std::string, Expansion> memo_;
  std::unordered_set<Name> reserved_;
  std::vector<BlockId> requires_;  // of nodes in the map being visited
  std::vector<Diagnostic> errors_;
  bool changed_ = false;
};

}  // namespace
}  // namespace transforms

Result<bool> ExpandLibraryNodes(Program& p, const Registry& r, const ExpandOptions& o, const Ask& ask) {
  // Gradients that a program asks for by a node are computed from the program as it stands.
  std::optional<Match> gradient;
  for (const auto& s : p.sdfgs)
    ForEachNode(*s, [&](NodeId n) {
      auto* l = std::get_if<Library>(&s->nodes[n].body);
      if (!gradient && l && transforms::IsGradient(*l)) gradient = Match{s->name, {n}, {}, {}, "", true};
    });
  if (gradient && ask(*gradient)) {
    const Pass* pass = r.FindPass("expand-gradients");
    if (!pass) return UnsupportedError("E0358",
                                       "the program asks for gradients (autodiff.Backward)", "load libautodiff.so");
    HR_RETURN_IF_ERROR(pass->run(p, {}, r).status());
    HR_RETURN_IF_ERROR(transforms::Expander(p, r, o, ask).Run().status());
    return true;
  }
  return transforms::Expander(p, r, o, ask).Run();
}

}  // namespace headrace
