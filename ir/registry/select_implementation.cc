// The choice among the implementations of a node.
#include <algorithm>

#include "ir/analysis/cost.h"
#include "ir/base/log.h"
#include "ir/registry/inference.h"
#include "ir/registry/registry.h"

namespace headrace {

std::string WhyNot(const ForwardImplementation& i, const NodeView& v) {
  const int version = v.node->version > 0 ? v.node->version : v.signature ? v.signature->since_version : 1 << 29;
  if (version < i.since_version || version > i.until_version)
    return "serves versions " + std::to_string(i.since_version) + " to " +
           (i.until_version >= 1 << 29 ? std::string("newest") : std::to_string(i.until_version));
  return i.can_be_applied ? i.can_be_applied(v) : "";
}

namespace {

Diagnostic NoImplementation(const Library& l, const NodeView& v) {
  Diagnostic d;
  d.kind = ErrorKind::kUnsupported;
  d.code = "E0320";
  d.op = LabelOf(l, v.signature ? v.signature->since_version : l.version);
  d.node = v.name;
  return d;
}

// The node itself names its implementation: an order. Null where it names none.
Result<const ForwardImplementation*> Ordered(const Registry& r, const NodeView& v) {
  const std::string name = v.node->implementation.str();
  if (name.empty()) return static_cast<const ForwardImplementation*>(nullptr);
  Diagnostic d = NoImplementation(*v.node, v);
  d.code = "E0322";
  std::vector<std::string> names;
  std::string other, reasons, own;
  const std::vector<const ForwardImplementation*> all = r.Implementations(v.node->domain.str(), v.node->op.str());
  if (all.empty()) return static_cast<const ForwardImplementation*>(nullptr);  // that is what is wrong
  for (const ForwardImplementation* i : all) {
    const std::string why = WhyNot(*i, v);
    if (i->name == name && why.empty()) return i;
    if (i->name == name) own = why;
    else if (why.empty() && other.empty()) other = i->name;
    names.push_back(i->name);
    reasons += (reasons.empty() ? "" : "; ") + i->name + ": " + (why.empty() ? "applies" : why);
  }
  const std::string close = own.empty() ? ClosestWord(name, names) : "";
  d.message = own.empty() ? "there is no implementation '" + name + "'" : "implementation '" + name + "' does not apply: " + own;
  d.expected = reasons;
  d.hint = !close.empty()   ? "did you mean '" + close + "'?"
           : !other.empty() ? "where no implementation is named, '" + other + "' is taken"
                            : "no other applies, either";
  return Status(d);
}

// The operations of the node's pure form, or -1.
double PureOperations(const std::vector<const ForwardImplementation*>& all, const NodeView& v) {
  for (const ForwardImplementation* i : all) {
    if (i->name != "pure" || !WhyNot(*i, v).empty()) continue;
    const Result<Program> body = i->expand(v);
    if (!body.ok()) return -1;
    const Sdfg& s = body->Entry();
    Expr sum(0);
    bool known = true;
    ForEachNode(s, [&](NodeId n) {
      const Expr e = CostOf(*body, s, n).operations;
      known &= static_cast<bool>(e);
      if (known) sum = sum + e;
    }, /*into_maps=*/false);
    const auto number = known ? AsInt(sum) : std::nullopt;
    return number ? static_cast<double>(*number) : -1;
  }
  return -1;
}

// The cheapest of those that say what they cost, where it is cheaper than `otherwise`, which is taken without them; null: none.
const ForwardImplementation* ByCost(const std::vector<const ForwardImplementation*>& order, const ForwardImplementation* otherwise,
                                    const NodeView& v, std::string* reasons) {
  const ForwardImplementation* best = nullptr;
  double least = 0, operations = -2;
  for (const ForwardImplementation* i : order) {
    if (!i->cost || i->priority < 0 || !WhyNot(*i, v).empty()) continue;
    if (operations < -1) operations = PureOperations(order, v);
    const double cost = i->cost(v, operations);
    const bool dear = otherwise && (otherwise->name != "pure" || operations < 0 || cost < 0 || cost >= operations);
    if (dear) *reasons += (reasons->empty() ? "" : "; ") + i->name + ": it is not the cheapest";
    else if (!best || (cost >= 0 && (least < 0 || cost < least))) best = i, least = cost;
  }
  return best;
}

}  // namespace

Result<const ForwardImplementation*> SelectImplementation(const Registry& r, const NodeView& v,
                                                          const CompileOptions& o) {
  const Library& l = *v.node;
  std::string domain = l.domain.str(), op = l.op.str(), full = domain + "." + op;
  if (!v.signature && l.version > 0 && r.FindOp(domain, op)) {
    Diagnostic d = NoImplementation(l, v);
    d.message = full + " does not exist in opset " + std::to_string(l.version);
    d.hint = op + " since " + std::to_string(r.Versions(domain, op).front()->since_version);
    return Status(d);
  }
  HR_ASSIGN_OR_RETURN(const ForwardImplementation* ordered, Ordered(r, v));
  if (ordered) {
    Log(LogTopic::kChoice, full + (v.name.empty() ? "" : " '" + v.name + "'") + ": " + ordered->name + ", as the node says");
    return ordered;
  }
  // Names the user put first, for this node, this op, or everything.
  std::vector<std::string> wanted;
  for (const auto& [where, name] : o.implementations)
    if (where == "*" || where == full || where == op || where == v.name) wanted.push_back(name);
  std::vector<const ForwardImplementation*> order = r.Implementations(domain, op);
  std::stable_sort(order.begin(), order.end(), [&](const auto* a, const auto* b) {
    auto rank = [&](const ForwardImplementation* i) {
      return std::find(wanted.begin(), wanted.end(), i->name) - wanted.begin();
    };
    return rank(a) < rank(b);
  });
  std::string reasons;
  const auto asked_for = [&](const ForwardImplementation* i) { return std::find(wanted.begin(), wanted.end(), i->name) != wanted.end(); };
  const bool weighed = std::any_of(order.begin(), order.end(), [](const auto* i) { return i->cost != nullptr; });
  for (const ForwardImplementation* i : order) {
    if (i->cost && !asked_for(i)) continue;  // by cost, below
    const std::string why = WhyNot(*i, v);
    if (why.empty()) {
      const ForwardImplementation* cheaper = weighed && !asked_for(i) ? ByCost(order, i, v, &reasons) : nullptr;
      if (cheaper) i = cheaper;
      Log(LogTopic::kChoice, full + (v.name.empty() ? "" : " '" + v.name + "'") + ": " + i->name +
                                 (reasons.empty() ? "" : " (not " + reasons + ")"));
      return i;
    }
    reasons += (reasons.empty() ? "" : "; ") + i->name + ": " + why;
  }
  if (const ForwardImplementation* only = weighed ? ByCost(order, nullptr, v, &reasons) : nullptr) return only;
  for (const ForwardImplementation* i : order)
    if (i->cost && !asked_for(i)) reasons += (reasons.empty() ? "" : "; ") + i->name + ": " + WhyNot(*i, v);
  Diagnostic d = NoImplementation(l, v);
  std::string types;
  for (const PortView& p : v.inputs)
    if (p.present) types += (types.empty() ? "" : ", ") + p.name + ": " + std::string(DTypeName(p.dtype));
  if (!v.signature && order.empty()) {
    d.message = "unknown op " + full;
    std::vector<std::string> names;
    for (const OpSignature* s : r.Ops()) names.push_back(s->domain + "." + s->name);
    std::string close = ClosestWord(full, names);
    d.hint = close.empty() ? "load the plugin that brings it with --plugin" : "did you mean '" + close + "'?";
  } else {
    d.message = "no implementation of " + full + " applies" + (types.empty() ? "" : " for (" + types + ")");
    d.got = reasons.empty() ? "none is registered" : reasons;
    d.hint = "`headrace ops " + full + "` lists implementations; a plugin may add one";
  }
  return Status(d);
}

}  // namespace headrace
