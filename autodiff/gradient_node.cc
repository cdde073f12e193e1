#include "autodiff/gradient_node.h"

#include <algorithm>
#include <unordered_map>

#include "autodiff/emit.h"
#include "ir/text/parser.h"

namespace headrace::autodiff {
namespace {

bool StartsWith(std::string_view s, std::string_view prefix) { return s.substr(0, prefix.size()) == prefix; }
// Attributes that say which forward node is meant.
bool IsStructural(std::string_view n) {
  return n == "domain" || n == "ports" || StartsWith(n, "like.") || StartsWith(n, "of.");
}
bool IsGradientDomain(std::string_view d) { return d == "grad" || StartsWith(d, "grad."); }

void SortAttributes(Attributes* a) {
  std::sort(a->begin(), a->end(), [](const auto& x, const auto& y) { return x.first < y.first; });
}

// The forward's attributes as a gradient node carries them, and back.
Attributes Wrap(const Attributes& forward, bool of_gradient) {
  Attributes out;
  for (const auto& [name, value] : forward)
    out.emplace_back(of_gradient && IsStructural(name.view()) ? Name("of." + name.str()) : name, value);
  return out;
}
Attributes Unwrap(const Attributes& gradient) {
  Attributes out;
  for (const auto& [name, value] : gradient) {
    if (StartsWith(name.view(), "of.")) out.emplace_back(Name(name.str().substr(3)), value);
    else if (!IsStructural(name.view())) out.emplace_back(name, value);
  }
  SortAttributes(&out);
  return out;
}

Attribute LikeOf(const Container& c) {
  std::vector<std::string> text{std::string(DTypeName(c.dtype))};
  for (const Expr& d : c.shape) text.push_back(ToString(d));
  return Attribute{std::move(text)};
}
Result<Container> FromLike(const Attribute& a, const std::string& port) {
  Container c;
  auto* text = std::get_if<std::vector<std::string>>(&a.value);
  auto dtype = text && !text->empty() ? ParseDType((*text)[0]) : std::nullopt;
  if (!dtype)
    return InvalidError("E0805", "attribute like." + port +
                        " must be a type followed by sizes, such as [\"f32\", \"N\", \"3\"]");
  c.dtype = *dtype;
  for (size_t i = 1; i < text->size(); ++i) {
    HR_ASSIGN_OR_RETURN(Expr d, ParseExpr((*text)[i]));
    c.shape.push_back(Simplify(d));
  }
  return c;
}

// A container of another SDFG as a parameter (constants stay constants, views become what they show).
Container AsParameter(const Container& from, Name name) {
  Container c;
  c.name = name;
  c.kind = from.kind == ContainerKind::kConstant   ? ContainerKind::kConstant
           : from.kind == ContainerKind::kSequence ? ContainerKind::kSequence
                                                   : ContainerKind::kParameter;
  c.dtype = from.dtype;
  c.shape = from.shape;
  c.type = from.type;
  if (c.kind == ContainerKind::kConstant) c.data = from.data;
  return c;
}
void AddOnce(Sdfg* s, Container c) {
  if (s->Find(c.name)) return;
  if (c.kind == ContainerKind::kParameter) s->parameters.push_back(c.name);
  s->Add(std::move(c));
}

std::vector<std::string> ListedPorts(const Library& l, bool outputs) {
  std::vector<std::string> out;
  bool after = false;
  if (const Attribute* a = FindAttribute(l.attributes, Name("ports")))
    if (auto* names = std::get_if<std::vector<std::string>>(&a->value))
      for (const std::string& n : *names) {
        if (n == "->") after = true;
        else if (after == outputs) out.push_back(n);
      }
  return out;
}

}  // namespace

Name GradientName(const std::string& port) { return Name("grad_" + port); }
bool IsGradientName(std::string_view n) { return StartsWith(n, "grad_"); }

std::vector<FlatPort> FlatPorts(const std::vector<Port>& ports, const std::vector<PortSignature>* declared) {
  std::unordered_map<Name, int> count, seen;
  for (const Port& p : ports) ++count[p.name];
  std::vector<FlatPort> out;
  for (const Port& p : ports) {
    bool variadic = count[p.name] > 1;
    if (declared)
      for (const PortSignature& d : *declared)
        if (p.name.view() == d.name) variadic = d.variadic;
    const int k = seen[p.name]++;
    if (p.container.empty()) continue;
    out.push_back({variadic ? p.name.str() + "_" + std::to_string(k) : p.name.str(), p.name.str(), p.container});
  }
  return out;
}

Result<std::unique_ptr<GradientNode>> MakeGradientNode(const Registry& r, const Sdfg& s, const NodeView& forward,
                                                       const std::vector<std::string>& given,
                                                       const std::vector<std::string>& required,
                                                       const std::unordered_set<std::string>* read) {
  const Library& l = *forward.node;
  auto g = std::make_unique<GradientNode>();
  Sdfg scratch;
  scratch.name = Name("gradient");
  scratch.assumptions = s.assumptions;
  const bool of_gradient = IsGradientDomain(l.domain.view());
  Library& n = g->node;
  n.domain = Name(of_gradient ? "grad." + l.domain.str() : "grad");
  n.op = l.op;
  n.version = l.version;
  n.attributes = Wrap(l.attributes, of_gradient);
  n.attributes.emplace_back(Name("domain"), Attribute{l.domain.str()});
  const OpSignature* sig = forward.signature;
  const std::vector<FlatPort> inputs = FlatPorts(l.inputs, sig ? &sig->inputs : nullptr);
  const std::vector<FlatPort> outputs = FlatPorts(l.outputs, sig ? &sig->outputs : nullptr);
  if (!sig) {
    std::vector<std::string> names;
    for (const FlatPort& p : inputs) names.push_back(p.name);
    names.push_back("->");
    for (const FlatPort& p : outputs) names.push_back(p.name);
    n.attributes.emplace_back(Name("ports"), Attribute{std::move(names)});
  }
  auto has = [](const std::vector<std::string>& list, const std::string& x) {
    return std::find(list.begin(), list.end(), x) != list.end();
  };
  std::unordered_set<std::string> wired;
  auto value = [&](const FlatPort& p, bool gradient) -> Status {
    const Container& c = s.Get(p.container);
    if (gradient && c.kind == ContainerKind::kSequence)
      return UnsupportedError("E0806", 
          "gradients do not pass through sequences and optionals (port " + p.name + " of " + l.op.str() + ")",
          "differentiate with respect to tensors");
    const bool small = c.kind == ContainerKind::kConstant && c.data.elements() <= kSmallConstant;
    if (!read || read->count(p.name) || small) {
      if (!wired.insert(p.name).second)
        return UnsupportedError("E0805", "an input and an output of " + l.op.str() + " are both named '" + p.name + "'",
                                "use a newer version of the op");
      AddOnce(&scratch, AsParameter(c, p.container));
      n.inputs.push_back({Name(p.name), p.container});
    } else if (!gradient && c.kind != ContainerKind::kSequence) {
      n.attributes.emplace_back(Name("like." + p.name), LikeOf(c));
    }
    return {};
  };
  for (const FlatPort& p : inputs) HR_RETURN_IF_ERROR(value(p, has(required, p.name)));
  for (const FlatPort& p : outputs) HR_RETURN_IF_ERROR(value(p, has(given, p.name)));
  FreshNames fresh(scratch);
  auto gradient = [&](const std::vector<FlatPort>& ports, const std::vector<std::string>& wanted,
                      std::vector<Port>* list) -> Status {
    for (const std::string& w : wanted) {
      auto it = std::find_if(ports.begin(), ports.end(), [&](const FlatPort& p) { return p.name == w; });
      if (it == ports.end())
        return InternalError("the gradient of '" + w + "' is asked of " + l.op.str() + ", which has no such port here");
      Container c = AsParameter(s.Get(it->container), fresh("grad_" + w));
      c.kind = ContainerKind::kParameter;
      c.data = Tensor();
      list->push_back({GradientName(w), c.name});
      AddOnce(&scratch, std::move(c));
    }
    return {};
  };
  HR_RETURN_IF_ERROR(gradient(outputs, given, &n.inputs));
  HR_RETURN_IF_ERROR(gradient(inputs, required, &n.outputs));
  SortAttributes(&n.attributes);
  const NodeId id = scratch.AddNode(n, Origin{Name(forward.name), Name()});
  scratch.body = {scratch.AddBlock(State{Name(), {id}})};
  g->program.entry = scratch.name;
  g->program.Add(std::move(scratch));
  HR_ASSIGN_OR_RETURN(g->view, ViewOf(r, g->program, g->program.Entry(), id));
  return g;
}

Result<std::unique_ptr<Forward>> ForwardOf(const Registry& r, const NodeView& gradient) {
  const Library& g = *gradient.node;
  const Sdfg& from = *gradient.sdfg;
  const Attribute* domain = FindAttribute(g.attributes, Name("domain"));
  if (!domain || !std::get_if<std::string>(&domain->value))
    return InvalidError("E0805",
                        "a gradient node needs the forward op's domain: grad." + g.op.str() + "{domain = \"onnx\"}");
  auto f = std::make_unique<Forward>();
  Library l;
  l.domain = Name(std::get<std::string>(domain->value));
  l.op = g.op;
  l.version = g.version;
  l.attributes = Unwrap(g.attributes);
  Sdfg s;
  s.name = Name("forward");
  s.assumptions = from.assumptions;

  auto find = [&](const std::vector<Port>& ports, Name n) -> const Container* {
    for (const Port& p : ports)
      if (p.name == n && !p.container.empty()) return from.Find(p.container);
    return nullptr;
  };
  std::unordered_set<Name> used;
  // The forward's port `flat` as a container: from the value, the gradient or like.PORT.
  auto port = [&](const std::string& flat, const std::string& name, bool output, bool* found) -> Status {
    *found = false;
    // Before version 14 BatchNormalization gives its outputs names of inputs: a value of that name is the input's.
    const bool also_input = output && std::any_of(l.inputs.begin(), l.inputs.end(),
                                                  [&](const Port& p) { return p.container == Name(flat); });
    const Container* value = also_input ? nullptr : find(g.inputs, Name(flat));
    const Container* grad = find(output ? g.inputs : g.outputs, GradientName(flat));
    const Attribute* like = also_input ? nullptr : FindAttribute(g.attributes, Name("like." + flat));
    Container c;
    if (value) c = AsParameter(*value, Name(flat));
    else if (grad) c = AsParameter(*grad, Name(flat));
    else if (like) {
      HR_ASSIGN_OR_RETURN(c, FromLike(*like, flat));
      c.kind = ContainerKind::kParameter;
      c.name = Name(flat);
    } else {
      return {};
    }
    *found = true;
    if (value) used.insert(Name(flat));
    if (grad) used.insert(GradientName(flat));
    if (grad) (output ? f->given : f->required).push_back(flat);
    (output ? f->outputs : f->inputs).push_back({flat, name, Name(flat)});
    (output ? l.outputs : l.inputs).push_back({Name(name), Name(flat)});
    AddOnce(&s, std::move(c));
    return {};
  };
  const OpSignature* sig = r.FindOp(l.domain.str(), l.op.str(), l.version);
  for (bool output : {false, true}) {  // inputs first
    bool found = false;
    if (!sig) {
      for (const std::string& name : ListedPorts(g, output)) HR_RETURN_IF_ERROR(port(name, name, output, &found));
      continue;
    }
    for (const PortSignature& d : output ? sig->outputs : sig->inputs) {
      if (!d.variadic) {
        HR_RETURN_IF_ERROR(port(d.name, d.name, output, &found));
        continue;
      }
      found = true;
      for (int k = 0; found; ++k) HR_RETURN_IF_ERROR(port(d.name + "_" + std::to_string(k), d.name, output, &found));
    }
  }
  for (const auto* ports : {&g.inputs, &g.outputs})
    for (const Port& p : *ports)
      if (!p.container.empty() && !used.count(p.name))
        return InvalidError("E0805", 
            "port '" + p.name.str() + "' of grad." + g.op.str() + " belongs to no port of " + l.domain.str() + "." +
                l.op.str(),
            "gradients are named grad_PORT; ports of ops that declare none are listed by ports = [\"X\", \"->\", \"Y\"]");
  f->id = s.AddNode(std::move(l), Origin{Name(gradient.name), Name()});
  s.body = {s.AddBlock(State{Name(), {f->id}})};
  f->program.entry = s.name;
  f->program.Add(std::move(s));
  HR_ASSIGN_OR_RETURN(f->view, ViewOf(r, f->program, f->program.Entry(), f->id));
  return f;
}

std::string PrintKey(const Attributes& attributes) {
  std::string key;
  auto bytes = [&](const void* data, size_t n) { key.append(static_cast<const char*>(data), n); };
  for (const auto& [name, a] : attributes) {
    key += name.str() + "=" + std::to_string(a.value.index()) + ":";
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) bytes(&v, sizeof v);
          else if constexpr (std::is_same_v<T, std::string>) key += v;
          else if constexpr (std::is_same_v<T, std::vector<std::string>>)
            for (const std::string& x : v) key += x + '\1';
          else if constexpr (std::is_same_v<T, Tensor>) {
            key += std::string(DTypeName(v.dtype));
            for (int64_t d : v.shape) key += "," + std::to_string(d);
            if (v.data) bytes(v.data->data(), v.bytes());
          } else if constexpr (std::is_same_v<T, Name>) key += v.str();
          else bytes(v.data(), v.size() * sizeof v[0]);
        },
        a.value);
    key += '\2';
  }
  return key;
}

void RenameContainers(Sdfg* s, const std::vector<std::pair<Name, Name>>& names) {
  Renames changes;
  for (const auto& n : names)
    if (n.first != n.second) changes.push_back(n);
  if (changes.empty()) return;
  // A name that is taken by something else moves away first.
  FreshNames fresh(*s);
  Renames away;
  for (const auto& c : changes)
    if (s->Find(c.second) &&
        std::none_of(changes.begin(), changes.end(), [&](const auto& x) { return x.first == c.second; }))
      away.push_back({c.second, fresh(c.second.str())});
  auto apply = [&](const Renames& list) {
    auto renamed = [&](Name n) {
      for (const auto& c : list)
        if (c.first == n) return c.second;
      return n;
    };
    RenameEverywhere(s, list);
    std::vector<Container> all;
    const std::vector<Name> order = s->order;
    for (Name n : order) {
      Container c = s->Get(n);
      c.name = renamed(c.name);
      if (!c.base.empty()) c.base = renamed(c.base);
      all.push_back(std::move(c));
    }
    s->containers = {};
    s->order.clear();
    for (Container& c : all) s->Add(std::move(c));
    for (Name& n : s->parameters) n = renamed(n);
  };
  if (!away.empty()) apply(away);
  apply(changes);
}

Status KeepPorts(Program* p, const Forward& f) {
  Sdfg& s = p->MutableEntry();
  std::vector<Name> keep;
  const std::vector<Name> parameters = s.parameters;
  const std::vector<Direction> directions = Directions(*p, s);
  for (size_t k = 0; k < parameters.size(); ++k) {
    const Name n = parameters[k];
    const Direction d = directions[k];
    const bool asked = IsGradientName(n.view()) &&
                       std::find(f.required.begin(), f.required.end(), n.str().substr(5)) != f.required.end();
    if (asked && d != Direction::kOut && d != Direction::kInOut)
      return InternalError("the gradient of " + f.node().op.str() + " never writes " + n.str());
    if (d != Direction::kUnused) {
      keep.push_back(n);
      continue;
    }
    bool named = false;  // by a view, or by a call whose callee does not use it
    for (Name other : s.order) named |= s.Get(other).base == n;
    ForEachNode(s, [&](NodeId id) {
      if (auto* call = std::get_if<Nested>(&s.nodes[id].body))
        for (const Argument& a : call->arguments) named |= a.container == n;
    });
    if (named) s.Mutable(n).kind = ContainerKind::kTransient;
    else s.Remove(n);
  }
  s.parameters = std::move(keep);
  return {};
}

}  // namespace headrace::autodiff
