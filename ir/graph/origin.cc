// The table of origins, and what they say.
#include "ir/graph/origin.h"

#include <functional>
#include <mutex>
#include <set>
#include <unordered_set>
#include <utility>

namespace headrace {

struct Origin::Node {
  Name source, pass, op, file;
  int line = 0, column = 0;
  std::vector<Origin> inputs;
  bool gradient = false, named = false;

  bool operator==(const Node& o) const {
    return source == o.source && pass == o.pass && op == o.op && file == o.file && line == o.line && column == o.column &&
           gradient == o.gradient && inputs == o.inputs;
  }
  struct Hash {
    size_t operator()(const Node& n) const {
      size_t h = n.gradient;
      auto mix = [&](size_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull; };
      for (Name name : {n.source, n.pass, n.op, n.file}) mix(name.id());
      mix(static_cast<size_t>(n.line));
      mix(static_cast<size_t>(n.column));
      for (const Origin& o : n.inputs) mix(std::hash<const Node*>()(o.node_));
      return h ^ (h >> 29);
    }
  };
};

// Shards, each with its own lock: parsers on many threads put an origin per statement.
struct Origin::Table {
  struct Shard {
    std::mutex mutex;
    std::unordered_set<Node, Node::Hash> nodes;  // its elements never move
  };
  Shard shards[16];
  static Table& Get() {
    static Table* const table = new Table();  // never destroyed: origins outlive static destructors
    return *table;
  }
};

Origin Origin::Made(Node n) {
  Table::Shard& shard = Table::Get().shards[Node::Hash()(n) % 16];
  const std::lock_guard<std::mutex> lock(shard.mutex);
  return Origin(&*shard.nodes.insert(std::move(n)).first);
}

Origin::Origin(Name source) {
  static const Node* const unknown = Made(Node()).node_;
  if (source.empty()) {
    node_ = unknown;
    return;
  }
  Node n;
  n.source = source;
  n.named = true;
  node_ = Made(std::move(n)).node_;
}

Origin Origin::By(Name pass) const {
  if (pass.empty() || (pass == node_->pass && !node_->gradient)) return *this;
  Node n = *node_;
  n.source = Name();
  n.gradient = false;
  n.pass = pass;
  n.inputs.clear();
  if (known() || !node_->op.empty()) n.inputs.push_back(*this);
  return Made(std::move(n));
}

Origin Origin::Gradient(Name pass) const {
  Node n = *node_;
  n.source = Name();
  n.pass = pass;
  n.gradient = true;
  n.inputs = {*this};
  return Made(std::move(n));
}

Origin Origin::Merged(const std::vector<Origin>& of, Name pass) {
  std::vector<Origin> distinct;
  for (const Origin& o : of) {
    bool seen = !o.known();
    for (const Origin& d : distinct) seen |= d == o;
    if (!seen) distinct.push_back(o);
  }
  if (distinct.size() < 2) return (distinct.empty() ? Origin() : distinct[0]).By(pass);
  Node n = *distinct[0].node_;
  n.source = Name();
  n.gradient = false;
  n.pass = pass;
  for (const Origin& d : distinct) {
    if (d.op() != n.op) n.op = Name();
    n.named |= d.named();
  }
  n.inputs = std::move(distinct);
  return Made(std::move(n));
}

Origin Origin::WithOp(Name op) const {
  if (op.empty() || !node_->op.empty()) return *this;
  Node n = *node_;
  n.op = op;
  return Made(std::move(n));
}

Origin Origin::At(Name file, int line, int column) const {
  if (line == 0) return *this;
  Node n = *node_;
  n.file = file;
  n.line = line;
  n.column = column;
  return Made(std::move(n));
}

bool Origin::named() const { return node_->named; }
Name Origin::pass() const { return node_->pass; }
Name Origin::op() const { return node_->op; }
Name Origin::file() const { return node_->file; }
int Origin::line() const { return node_->line; }
int Origin::column() const { return node_->column; }
Name Origin::source() const { return node_->source; }
const std::vector<Origin>& Origin::inputs() const { return node_->inputs; }
bool Origin::is_gradient() const { return node_->gradient; }

// Chains are as long as a program has statements that were merged one after the other: no recursion.
std::vector<Origin::Source> Origin::Sources() const {
  std::vector<Source> out;
  std::set<std::pair<const Node*, int>> seen;
  std::set<std::pair<Name, int>> names;
  std::vector<std::pair<const Node*, int>> open = {{node_, 0}};
  while (!open.empty()) {
    const auto [n, depth] = open.back();
    open.pop_back();
    if (!n->named || !seen.insert({n, depth}).second) continue;
    if (!n->source.empty() && names.insert({n->source, depth}).second) out.push_back({n->source, depth});
    for (size_t k = n->inputs.size(); k-- > 0;) open.emplace_back(n->inputs[k].node_, depth + n->gradient);
  }
  return out;
}

std::string Origin::Label() const {
  constexpr size_t kMost = 3;
  std::vector<Name> names, forward;
  for (const Source& s : Sources()) (s.gradients > 0 ? forward : names).push_back(s.name);
  auto joined = [](const std::vector<Name>& list) {
    std::string text;
    for (size_t k = 0; k < list.size() && k < kMost; ++k) text += (k ? "+" : "") + list[k].str();
    return list.size() > kMost ? text + " and " + std::to_string(list.size() - kMost) + " more" : text;
  };
  std::string text = joined(names);
  if (!forward.empty()) text += (text.empty() ? "" : ", ") + ("gradient of " + joined(forward));
  return text;
}

std::vector<Origin> ForwardOf(const Origin& o) {
  std::vector<Origin> out, open = {o};
  std::unordered_set<const void*> seen;
  while (!open.empty()) {
    const Origin at = open.back();
    open.pop_back();
    if (!seen.insert(at.identity()).second) continue;
    if (at.is_gradient()) {
      out.push_back(at.inputs()[0]);
      continue;
    }
    for (size_t k = at.inputs().size(); k-- > 0;) open.push_back(at.inputs()[k]);
  }
  return out;
}

Status WithOrigin(Status s, const Origin& o) {
  if (s.ok()) return s;
  std::vector<Diagnostic> all = s.diagnostics();
  for (Diagnostic& d : all) {
    if (d.node.empty()) d.node = o.Label();
    if (d.op.empty()) d.op = o.op().str();
    if (d.line > 0 || o.line() == 0) continue;
    d.file = o.file().str();
    d.line = o.line();
    d.column = o.column();
  }
  return Status(std::move(all));
}

}  // namespace headrace
