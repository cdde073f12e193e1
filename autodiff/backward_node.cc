#include "autodiff/backward_node.h"

#include <algorithm>
#include <unordered_set>

#include "autodiff/backward.h"
#include "autodiff/emit.h"
#include "ir/analysis/dataflow.h"

namespace headrace::autodiff {
namespace {

bool IsBackwardNode(const Sdfg& s, NodeId n) {
  auto* l = std::get_if<Library>(&s.nodes[n].body);
  return l && l->domain == Name("autodiff") && l->op == Name("Backward");
}

Status Refuse(const Sdfg& s, NodeId n, const std::string& message, const std::string& hint) {
  Diagnostic d;
  d.kind = ErrorKind::kUnsupported;
  d.code = "E0802";
  d.message = message;
  d.hint = hint;
  d.op = "autodiff.Backward";
  d.node = s.nodes[n].origin.Label();
  return Status(d);
}

// Where the first node stands in the body of an SDFG: before it, the program that is differentiated.
struct Site {
  NodeId node;
  size_t block = 0, statement = 0;
};
Result<std::optional<Site>> FindNode(const Sdfg& s) {
  std::optional<Site> site;
  for (size_t b = 0; b < s.body.size() && !site; ++b)
    if (auto* st = std::get_if<State>(&s.blocks[s.body[b]].control))
      for (size_t k = 0; k < st->statements.size() && !site; ++k)
        if (IsBackwardNode(s, st->statements[k])) site = Site{st->statements[k], b, k};
  NodeId inside;
  ForEachNode(s, [&](NodeId n) {
    if (!IsBackwardNode(s, n)) return;
    bool top = false;
    for (BlockId b : s.body)
      if (auto* st = std::get_if<State>(&s.blocks[b].control))
        top |= std::find(st->statements.begin(), st->statements.end(), n) != st->statements.end();
    if (!top) inside = n;
  });
  if (inside.valid())
    return Refuse(s, inside, "autodiff.Backward stands inside a loop, a branch or a map",
                  "move it to the top level of its sdfg");
  return site;
}

struct Roots {
  std::unordered_set<Name> read, written;
};
void Add(const std::vector<Touched>& touched, Roots* r) {
  for (const Touched& t : touched) {
    if (t.read) r->read.insert(t.root);
    if (t.write) r->written.insert(t.root);
  }
}

class Expansion {
 public:
  Expansion(Program* p, const Registry& r, Name sdfg, const Site& site, std::unordered_set<Name>* accumulated)
      : p_(p), r_(r), name_(sdfg), site_(site), accumulated_(accumulated) {}

  Status Run() {
    const Sdfg& s = *p_->Find(name_);
    node_ = std::get<Library>(s.nodes[site_.node].body);
    for (const Port& port : node_.inputs) {
      if (port.container.empty()) continue;
      if (port.name == Name("outputs")) outputs_.push_back(port.container);
      else if (port.name == Name("inputs")) inputs_.push_back(port.container);
      else if (port.name == Name("output_gradients")) given_.push_back(port.container);
      else
        return Refuse(s, site_.node, "it has no input '" + port.name.str() + "'",
                      "inputs: outputs, output_gradients, inputs");
    }
    for (const Port& port : node_.outputs) gradients_.push_back(port.container);
    if (outputs_.empty() || inputs_.empty() || gradients_.size() != inputs_.size())
      return Refuse(s, site_.node, "it wants at least one output, and one gradient for each input",
                    "(outputs = L, inputs = X) -> (gradients = DX)");
    if (!given_.empty() && given_.size() != outputs_.size())
      return Refuse(s, site_.node, "output_gradients must be given for all outputs or for none", "");
    HR_RETURN_IF_ERROR(Cut(s));
    return Splice();
  }

 private:
  // The program up to the node: what is used afterwards becomes parameters.
  Status Cut(const Sdfg& s) {
    Roots before, after;
    for (size_t b = 0; b < s.body.size(); ++b) {
      if (b != site_.block) {
        Add(TouchedBy(*p_, s, s.body[b]), b < site_.block ? &before : &after);
        continue;
      }
      const State& st = std::get<State>(s.blocks[s.body[b]].control);
      for (size_t k = 0; k < st.statements.size(); ++k)
        Add(TouchedBy(*p_, s, st.statements[k]), k < site_.statement ? &before : &after);
    }
    used_before_ = before.read;
    used_before_.insert(before.written.begin(), before.written.end());
    for (Name x : inputs_) after.read.insert(RootOf(s, x));
    for (Name y : outputs_) after.read.insert(RootOf(s, y));
    program_ = *p_;
    program_.entry = name_;
    Sdfg& f = program_.MutableEntry();
    std::vector<BlockId> body(f.body.begin(), f.body.begin() + site_.block);
    State head = std::get<State>(f.blocks[f.body[site_.block]].control);
    head.statements.resize(site_.statement);
    if (!head.statements.empty()) body.push_back(f.AddBlock(head));
    f.body = body;
    auto parameter = [&](Name n) {
      Container& c = f.Mutable(n);
      if (c.kind == ContainerKind::kParameter) return;
      c.kind = ContainerKind::kParameter;
      c.data = Tensor();
      f.parameters.push_back(n);
    };
    const std::vector<Name> order = f.order;
    for (Name n : order) {
      const Container c = f.Get(n);
      const bool used_before = before.read.count(n) || before.written.count(n),
                 used_after = after.read.count(n) || after.written.count(n);
      if (!used_before) continue;
      if (c.kind == ContainerKind::kState)
        return Refuse(s, site_.node, "persistent '" + n.str() + "' is used before the node",
                      "differentiate a part of the program without state");
      if (used_after && c.kind == ContainerKind::kSequence &&
          std::find(f.parameters.begin(), f.parameters.end(), n) == f.parameters.end())
        return Refuse(s, site_.node, "sequence '" + n.str() + "' is used before and after the node",
                      "gradients do not pass through sequences");
      if (used_after && c.kind == ContainerKind::kTransient) parameter(n);
    }
    for (Name y : outputs_)
      if (f.Get(y).kind != ContainerKind::kParameter || !before.written.count(y))
        return Refuse(s, site_.node, "output '" + y.str() + "' is not computed before the node",
                      "place the node after its outputs");
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Name x = inputs_[i];
      if (f.Get(x).kind == ContainerKind::kView)
        return Refuse(s, site_.node, "input '" + x.str() + "' is a view",
                      "differentiate with respect to " + RootOf(s, x).str());
      if (before.written.count(x)) {
        HR_RETURN_IF_ERROR(Shift(&f, x));
      } else {
        parameter(x);
        independent_.push_back(x);
      }
    }
    return {};
  }

  // d/dX of a value that is computed is d/dE at 0 after `X += E`.
  Status Shift(Sdfg* f, Name x) {
    for (size_t b = f->body.size(); b-- > 0;) {
      std::vector<NodeId> head, tail;
      if (auto* st = std::get_if<State>(&f->blocks[f->body[b]].control)) {
        head = st->statements;
        auto writes = [&](NodeId n) {
          for (const Touched& t : TouchedBy(program_, *f, n))
            if (t.root == x && t.write) return true;
          return false;
        };
        while (!head.empty() && !writes(head.back())) tail.insert(tail.begin(), head.back()), head.pop_back();
        if (head.empty()) continue;
      } else {
        bool writes = false;
        for (const Touched& t : TouchedBy(program_, *f, f->body[b])) writes |= t.root == x && t.write;
        if (!writes) continue;
      }
      FreshNames fresh(*f);
      Container shift = f->Get(x);
      shift.name = fresh(x.str() + "_shift");
      shift.kind = ContainerKind::kParameter;
      shift.MakeRowMajor();
      f->Add(shift);
      f->parameters.push_back(shift.name);
      shifts_.push_back(shift.name);
      independent_.push_back(shift.name);
      const NodeId add = CopyWhole(f, &fresh, x, shift.name, WriteOp::kAdd);
      std::vector<BlockId> blocks;
      if (head.empty()) {
        blocks = {f->body[b], f->AddBlock(State{Name(), {add}})};
      } else {
        head.push_back(add);
        head.insert(head.end(), tail.begin(), tail.end());
        blocks = {f->AddBlock(State{Name(), head})};
      }
      f->body.erase(f->body.begin() + b);
      f->body.insert(f->body.begin() + b, blocks.begin(), blocks.end());
      return {};
    }
    return InternalError("no statement writes " + x.str());
  }

  Name FreshSdfg(const std::string& stem) const {
    std::string name = stem;
    for (int k = 1; p_->Find(Name(name)); ++k) name = stem + "_" + std::to_string(k);
    return Name(name);
  }

  Status Splice() {
    Options o;
    if (!given_.empty()) o.all_given = true;
    HR_ASSIGN_OR_RETURN(BackwardPrograms b, Backward(program_, outputs_, independent_, o, r_));
    Sdfg entry = b.program.Entry();
    // Values that were shifted by nothing.
    for (Name n : shifts_) {
      entry.parameters.erase(std::remove(entry.parameters.begin(), entry.parameters.end(), n), entry.parameters.end());
      if (!entry.Find(n)) continue;
      entry.Mutable(n).kind = ContainerKind::kTransient;
      FreshNames fresh(entry);
      const NodeId zero = FillWith(&entry, &fresh, n, FloatExpr(0));
      entry.body.insert(entry.body.begin(), entry.AddBlock(State{Name(), {zero}}));
    }
    const std::vector<Name> parameters = entry.parameters;
    const std::vector<Direction> directions = Directions(b.program, entry);
    entry.parameters.clear();
    for (size_t k = 0; k < parameters.size(); ++k) {
      if (directions[k] != Direction::kUnused) entry.parameters.push_back(parameters[k]);
      else entry.Mutable(parameters[k]).kind = ContainerKind::kTransient;
    }
    // SDFGs that the gradient program brings; those of the program itself are shared.
    std::vector<std::pair<Name, Name>> renamed;
    entry.name = FreshSdfg(name_.str() + "_gradients");
    for (const auto& other : b.program.sdfgs)
      if (other->name != b.program.entry && p_->Find(other->name) != other.get())
        renamed.push_back({other->name, FreshSdfg(other->name.str())});
    auto callees = [&](Sdfg* x) {
      for (uint32_t i = 0; i < x->nodes.size(); ++i)
        if (auto* call = std::get_if<Nested>(&x->nodes[NodeId{i}].body))
          for (const auto& r : renamed)
            if (r.first == call->callee) {
              std::get<Nested>(x->nodes.Mutable(NodeId{i}).body).callee = r.second;
              break;
            }
    };
    for (const auto& r : renamed) {
      Sdfg copy = *b.program.Find(r.first);
      copy.name = r.second;
      callees(&copy);
      p_->Add(std::move(copy));
    }
    callees(&entry);

    Sdfg& s = p_->Mutable(name_);
    const Origin origin = s.nodes[site_.node].origin.By("expand-gradients");
    Nested call;
    call.callee = entry.name;
    std::vector<NodeId> after;
    FreshNames fresh(s);
    for (Name q : entry.parameters) {
      Name actual = q;
      for (size_t i = 0; i < independent_.size(); ++i)
        for (const auto& [input, gradient] : b.input_gradients)
          if (gradient == q && input == independent_[i]) actual = Gradient(&s, &fresh, i, &after);
      for (size_t i = 0; i < outputs_.size() && !given_.empty(); ++i)
        for (const auto& [output, gradient] : b.output_gradients)
          if (gradient == q && output == outputs_[i]) actual = given_[i];
      call.arguments.push_back({q, actual, {}});
    }
    for (Name symbol : entry.symbol_params) call.symbols.push_back({symbol, Expr(symbol)});
    p_->Add(std::move(entry));

    State rest = std::get<State>(s.blocks[s.body[site_.block]].control);
    rest.statements.erase(rest.statements.begin(), rest.statements.begin() + site_.statement + 1);
    std::vector<NodeId> first{s.AddNode(std::move(call), origin)};
    first.insert(first.end(), after.begin(), after.end());
    std::vector<BlockId> body{s.AddBlock(State{Name(), first})};
    if (!rest.statements.empty()) body.push_back(s.AddBlock(rest));
    body.insert(body.end(), s.body.begin() + site_.block + 1, s.body.end());
    s.body = std::move(body);
    return {};
  }

  // The container for the i-th gradient: its own, or a new one that is copied or, when an earlier node wrote it, added.
  Name Gradient(Sdfg* s, FreshNames* fresh, size_t i, std::vector<NodeId>* after) {
    const Name target = gradients_[i], root = RootOf(*s, target);
    const bool first = accumulated_->insert(target).second;
    if (first && !used_before_.count(root)) return target;
    Container c = s->Get(target);
    c.name = (*fresh)(target.str() + "_more");
    c.kind = ContainerKind::kTransient;
    c.base = Name();
    c.offset = Expr();
    c.MakeRowMajor();
    const Name more = c.name;
    s->Add(std::move(c));
    after->push_back(CopyWhole(s, fresh, target, more, first ? WriteOp::kAssign : WriteOp::kAdd));
    return more;
  }

  Program* p_;
  const Registry& r_;
  Name name_;
  Site site_;
  std::unordered_set<Name>* accumulated_;
  Library node_;
  std::vector<Name> outputs_, inputs_, given_, gradients_;
  std::unordered_set<Name> used_before_;
  std::vector<Name> independent_, shifts_;  // inputs of the program that is differentiated
  Program program_;
};

}  // namespace

Result<bool> ExpandBackwardNodes(Program& p, const Registry& r) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    const Name name = p.sdfgs[i]->name;
    std::unordered_set<Name> accumulated;
    for (;;) {
      HR_ASSIGN_OR_RETURN(std::optional<Site> site, FindNode(*p.Find(name)));
      if (!site) break;
      changed = true;
      HR_RETURN_IF_ERROR(Expansion(&p, r, name, *site, &accumulated).Run());
    }
  }
  return changed;
}

Status RegisterBackwardNode(Registry& r) {
  OpSignature s;
  s.domain = "autodiff", s.name = "Backward";
  s.doc =
      "Gradients of what stands before the node: of `outputs` (or of their sum with `output_gradients`) by `inputs`.";
  auto port = [](const char* name, int min) {
    PortSignature p;
    p.name = name, p.type = "T", p.variadic = true, p.homogeneous = false, p.min_count = min, p.optional = min == 0;
    return p;
  };
  s.inputs = {port("outputs", 1), port("output_gradients", 0), port("inputs", 1)};
  s.outputs = {port("gradients", 1)};
  s.types["T"] = {"f16", "bf16", "f32", "f64", "c64", "c128"};
  HR_RETURN_IF_ERROR(r.Add(std::move(s)));
  Pass pass;
  pass.name = "expand-gradients";
  pass.doc = "Puts gradient programs in the place of autodiff.Backward nodes.";
  pass.run = [](Program& p, const PassOptions&, const Registry& registry) { return ExpandBackwardNodes(p, registry); };
  return r.Add(std::move(pass));
}

}  // namespace headrace::autodiff
