#include "autodiff/statement_node.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <set>

#include "autodiff/statement_access.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace::autodiff {
namespace {

const Nested* CallOf(const Sdfg& s, NodeId n) { return std::get_if<Nested>(&s.nodes[n].body); }

// The SDFGs that `from` calls, directly or not, in order.
void AddReachable(const Program& p, const std::vector<Name>& from, Program* out) {
  for (Name n : from) {
    const auto it = std::find_if(p.sdfgs.begin(), p.sdfgs.end(), [&](const auto& s) { return s->name == n; });
    if (it == p.sdfgs.end() || out->Find(n)) continue;
    out->sdfgs.push_back(*it);
    const std::shared_ptr<Sdfg> s = *it;
    for (BlockId b : s->body)
      ForEachBlock(*s, {b}, [&](BlockId x) {
        if (auto* st = std::get_if<State>(&s->blocks[x].control))
          for (NodeId statement : st->statements) AddReachable(p, AccessesOf(p, *s, statement).callees, out);
      });
  }
}

// Names of ports: what a rule in any language can have as a parameter, and gradients d… beside it.
class PortNames {
 public:
  explicit PortNames(std::set<Name> taken) : taken_(std::move(taken)) {}
  Name operator()(const std::string& wanted) {
    std::string name;
    for (char c : wanted) name += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "v" + name;
    while (!Free(name)) name = "v_" + name;
    taken_.insert(Name(name));
    return Name(name);
  }

 private:
  bool Free(const std::string& n) const {
    if (taken_.count(Name(n)) || taken_.count(Name("d" + n)) || n.rfind("grad_", 0) == 0) return false;
    return n[0] != 'd' || !taken_.count(Name(n.substr(1)));
  }
  std::set<Name> taken_;
};

class Maker {
 public:
  Maker(const Program& p, const Sdfg& s, NodeId n, FreshNames* names, const std::function<bool(Name)>& fixed)
      : p_(p), s_(s), n_(n), fixed_(fixed), accesses_(AccessesOf(p, s, n)), around_(*names) {}

  Result<StatementNode> Run() {
    out_.refused = WhyRefused();
    out_.node.domain = Name("node");
    out_.node.op = Name(KindOf(s_, n_));
    NameBody();
    Ports();
    Symbols();
    Fill();
    HR_RETURN_IF_ERROR(Attributes());
    return std::move(out_);
  }

 private:
  std::string WhyRefused() const {
    if (accesses_.defines) return "it finds sizes of its own";
    for (const Access& a : accesses_.containers) {
      const Container& c = s_.Get(a.container);
      const std::string name = "'" + a.container.str() + "'";
      if (c.kind == ContainerKind::kSequence) return name + " is a sequence or optional";
      if (s_.Get(RootOf(s_, a.container)).kind == ContainerKind::kState) return name + " is persistent";
      if (c.optional) return name + " may be absent";
      for (const Expr& e : c.shape)
        for (Name x : FreeSymbols(e))
          if (!fixed_(x)) return "the size " + x.str() + " of " + name + " changes while the program runs";
    }
    return CalleeState();
  }
  std::string CalleeState() const {
    Program called;
    AddReachable(p_, accesses_.callees, &called);
    for (const auto& s : called.sdfgs)
      for (Name n : s->order)
        if (s->Get(n).kind == ContainerKind::kState) return "'" + n.str() + "' in " + s->name.str() + " is persistent";
    return "";
  }

  // The body may not be called as one of the SDFGs that it brings.
  void NameBody() {
    std::string name = KindOf(s_, n_);
    if (const Nested* call = CallOf(s_, n_)) name += "_" + call->callee.str();
    while (p_.Find(Name(name))) name += "_body";
    body_.name = Name(name);
  }

  std::string Wanted(Name container) const {
    if (const Nested* call = CallOf(s_, n_))
      for (const Argument& a : call->arguments)
        if (a.container == container) return a.port.str();
    return container.str();
  }
  void Ports() {
    std::set<Name> taken(accesses_.indices.begin(), accesses_.indices.end());
    taken.insert(accesses_.symbols.begin(), accesses_.symbols.end());
    for (const Access& a : accesses_.containers)
      for (const Expr& e : s_.Get(a.container).shape)
        for (Name x : FreeSymbols(e)) taken.insert(x);
    for (const auto* own : {&accesses_.local, &accesses_.views}) taken.insert(own->begin(), own->end());
    reserved_ = taken;
    PortNames names(std::move(taken));
    for (const Access& a : accesses_.containers) {
      const Name port = names(Wanted(a.container));
      const bool before = !a.write || !a.whole;
      Name result = port;
      if (before) AddPort(a.container, port, a.write ? Copied(a.container) : a.container, false);
      if (before && a.write) result = names("out_" + port.str());
      if (a.write) AddPort(a.container, result, a.container, true);
      if (before && a.write) kept_.push_back({result, port});
      renames_.push_back({a.container, result});
    }
    for (Name r : accesses_.local) body_.Add(s_.Get(r));
    for (Name v : accesses_.views) {
      Container c = s_.Get(v);
      for (const auto& r : renames_)
        if (r.first == c.base) c.base = r.second;
      body_.Add(std::move(c));
    }
    names_ = std::make_unique<PortNames>(std::move(names));
  }
  Name Copied(Name container) {
    Container c = s_.Get(container);
    c.kind = ContainerKind::kTransient, c.storage = Storage::kArena;
    c.name = around_(container.str() + "_before");
    c.base = Name(), c.offset = Expr(), c.MakeRowMajor();
    c.inout = c.output = c.optional = false;
    out_.added.push_back(c);
    out_.before.push_back({c.name, container, Name()});
    return c.name;
  }
  void AddPort(Name original, Name port, Name wired, bool output) {
    const Container& from = s_.Get(original);
    Container c;
    c.name = port, c.kind = ContainerKind::kParameter, c.dtype = from.dtype;
    for (const Expr& e : from.shape) c.shape.push_back(SizeOf(e));
    body_.parameters.push_back(port);
    body_.Add(std::move(c));
    (output ? out_.node.outputs : out_.node.inputs).push_back({port, wired});
  }
  // Sizes that are names are bound by the ports; others get one, the same for the same size.
  Expr SizeOf(const Expr& e) {
    if (AsInt(e)) return e;
    if (e.Is(ExprKind::kSymbol)) {
      bound_.insert(e->name);
      return e;
    }
    for (const auto& [known, name] : sizes_)
      if (known == e) return SymbolExpr(name);
    Name name;
    for (size_t k = sizes_.size();; ++k)
      if (name = Name("size_" + std::to_string(k)); reserved_.insert(name).second) break;
    sizes_.emplace_back(e, name);
    return SymbolExpr(name);
  }

  // Symbols that no port's size tells are inputs.
  void Symbols() {
    for (Name x : accesses_.symbols) {
      if (bound_.count(x)) continue;
      const Name port = (*names_)("v_" + x.str());
      Container c;
      c.name = port, c.kind = ContainerKind::kParameter, c.dtype = DType::kI64;
      body_.parameters.push_back(port);
      body_.Add(c);
      c.name = around_("v_" + x.str()), c.kind = ContainerKind::kTransient;
      out_.node.inputs.push_back({port, c.name});
      out_.before.push_back({c.name, Name(), x});
      out_.added.push_back(c);
      lets_.push_back({x, port});
    }
    for (const auto& [name, range] : s_.assumptions.bounds)
      if (bound_.count(name)) body_.assumptions.bounds.emplace_back(name, range);
  }

  NodeId Copy(NodeId n) {
    Body b = s_.nodes[n].body;
    if (auto* m = std::get_if<Map>(&b)) {
      for (Range& r : m->ranges)
        for (Expr* e : {&r.begin, &r.end, &r.step})
          if (*e) *e = RenameContainers(*e, renames_);
      for (NodeId& c : m->body) c = Copy(c);
    }
    return body_.AddNode(std::move(b));
  }
  void Fill() {
    const NodeId main = Copy(n_);
    RenameEverywhere(&body_, renames_);
    BlockList list(&body_);
    for (const auto& [symbol, port] : lets_) list.Let(symbol, ReadExpr(port, {}));
    FreshNames fresh(body_);
    for (const auto& [to, from] : kept_) list.Statement(CopyWhole(&body_, &fresh, to, from));
    list.Statement(main);
    body_.body = list.Take();
    std::stable_partition(body_.order.begin(), body_.order.end(),
                          [&](Name n) { return body_.Get(n).kind == ContainerKind::kParameter; });
  }
  Status Attributes() {
    Program program;
    program.entry = body_.name;
    program.Add(std::move(body_));
    AddReachable(p_, accesses_.callees, &program);
    PrintOptions o;
    o.origins = false;
    const std::string text = Print(program, o);
    if (Status parsed = ParseProgram(text).status(); !parsed.ok())
      return InternalError("a " + KindOf(s_, n_) + " alone is no program: " + parsed.ToString() + "\n" + text);
    out_.node.attributes.emplace_back(Name("body"), Attribute{text});
    if (const Nested* call = CallOf(s_, n_)) out_.node.attributes.emplace_back(Name("callee"), Attribute{call->callee.str()});
    return {};
  }

  const Program& p_;
  const Sdfg& s_;
  NodeId n_;
  const std::function<bool(Name)>& fixed_;
  Accesses accesses_;
  FreshNames& around_;
  Sdfg body_;
  StatementNode out_;
  Renames renames_;
  std::vector<std::pair<Name, Name>> kept_, lets_;  // output ← input; symbol ← port
  std::set<Name> reserved_, bound_;
  std::vector<std::pair<Expr, Name>> sizes_;
  std::unique_ptr<PortNames> names_;
};

Status Malformed(const NodeView& v, const std::string& what) {
  return WithNode(InvalidError("E0805", "the statement node " + what,
                               "node.map{body = \"sdfg …\"}: an SDFG whose parameters are the node's ports"),
                  v.name, "node." + v.node->op.str());
}

}  // namespace

std::string KindOf(const Sdfg& s, NodeId n) {
  const Body& b = s.nodes[n].body;
  return std::holds_alternative<Map>(b)       ? "map"
         : std::holds_alternative<Tasklet>(b) ? "tasklet"
         : std::holds_alternative<Nested>(b)  ? "call"
                                              : "";
}

Result<StatementNode> MakeStatementNode(const Program& p, const Sdfg& s, NodeId n, FreshNames* names,
                                        const std::function<bool(Name)>& fixed) {
  return Maker(p, s, n, names, fixed).Run();
}

Sdfg Alone(const Sdfg& s, const StatementNode& node, const Origin& origin) {
  Sdfg out;
  out.name = s.name;
  out.assumptions = s.assumptions;
  auto add = [&](Container c) {
    if (out.Find(c.name)) return;
    if (c.kind == ContainerKind::kView || c.kind == ContainerKind::kTransient) c.kind = ContainerKind::kParameter, c.order = {};
    out.Add(std::move(c));
  };
  for (const Container& c : node.added) add(c);
  for (const auto* ports : {&node.node.inputs, &node.node.outputs})
    for (const Port& port : *ports)
      if (const Container* c = s.Find(port.container)) add(*c);
  out.body = {out.AddBlock(State{Name(), {out.AddNode(node.node, origin)}})};
  return out;
}

std::vector<NodeId> PutStatementNode(Sdfg* s, NodeId n, FreshNames* names, const StatementNode& node) {
  for (const Container& c : node.added) s->Add(c);
  std::vector<NodeId> before;
  for (const StatementNode::Input& i : node.before)
    before.push_back(i.symbol.empty() ? CopyWhole(s, names, i.to, i.container) : AddTasklet(s, i.to, {}, SymbolExpr(i.symbol)));
  s->nodes.Mutable(n).body = node.node;
  return before;
}

Result<Program> ExpandStatementNode(const NodeView& v) {
  const Attribute* a = FindAttribute(v.attributes, Name("body"));
  const std::string* text = a ? std::get_if<std::string>(&a->value) : nullptr;
  if (!text) return Malformed(v, "has no body");
  Result<Program> body = ParseProgram(*text, "<body of node." + v.node->op.str() + ">");
  if (!body.ok()) return body.status();
  Program p = std::move(*body);
  Sdfg outer;
  outer.name = Name(p.entry.str() + "_node");
  while (p.Find(outer.name)) outer.name = Name(outer.name.str() + "_");
  if (v.sdfg) outer.assumptions = v.sdfg->assumptions;
  Nested call;
  call.callee = p.entry;
  for (const auto* ports : {&v.inputs, &v.outputs})
    for (const PortView& port : *ports) {
      const Name name(port.name);
      const auto& known = p.Entry().parameters;
      if (outer.Find(name) || std::find(known.begin(), known.end(), name) == known.end())
        return Malformed(v, "has a port " + port.name + ", which its body has no parameter of its own for");
      Container c;
      c.name = name, c.kind = ContainerKind::kParameter, c.dtype = port.dtype, c.shape = port.shape;
      outer.parameters.push_back(name);
      outer.Add(std::move(c));
      call.arguments.push_back({name, name, {}});
    }
  if (call.arguments.size() != p.Entry().parameters.size()) return Malformed(v, "lacks ports that its body has as parameters");
  outer.body = {outer.AddBlock(State{Name(), {outer.AddNode(std::move(call))}})};
  p.entry = outer.name;
  p.sdfgs.insert(p.sdfgs.begin(), std::make_shared<Sdfg>(std::move(outer)));
  HR_RETURN_IF_ERROR(RunPipeline(*v.registry, "inline-nested{everywhere=true}", p));
  return p;
}

}  // namespace headrace::autodiff
