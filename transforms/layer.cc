#include "transforms/layer.h"

#include <algorithm>
#include <unordered_set>

namespace headrace::transforms {
namespace {

constexpr int64_t kFewElements = 64;

// Sizes that are computed: what they come to is seen where they are computed alone.
bool MayBeSizes(const Container& c) {
  if (c.kind != ContainerKind::kTransient || IsFloat(c.dtype) || IsComplex(c.dtype) || c.shape.size() > 1) return false;
  const auto n = AsInt(NumElements(c));
  return !n || *n <= kFewElements;
}

NodeId Copied(const Sdfg& from, NodeId n, Sdfg* to) {
  Node node = from.nodes[n];
  if (auto* m = std::get_if<Map>(&node.body))
    for (NodeId& c : m->body) c = Copied(from, c, to);
  return to->AddNode(std::move(node.body), node.origin);
}

}  // namespace

struct LayerMaker::Run {
  std::vector<NodeId> statements;
  std::vector<Name> names;  // containers as the statements name them, with repetitions
  std::unordered_set<Name> written;
  uint32_t from = 0, until = 0;              // positions of its first and last statement
  std::unordered_map<Name, Name> counterpart;  // of a container of the first run
};

LayerMaker::LayerMaker(const Program& p, const Sdfg& s) : s_(s), uses_(p, s) {
  for (uint32_t k = 0; k < uses_.positions().size(); ++k)
    if (const NodeId n = uses_.positions()[k].statement; n.valid()) position_[n.value] = k;
}

LayerMaker::Run LayerMaker::RunAt(const std::vector<LayerStatement>& statements, size_t begin, size_t size) const {
  Run out;
  for (size_t i = begin; i < begin + size; ++i) {
    const LayerStatement& x = statements[i];
    out.statements.push_back(x.id);
    out.names.insert(out.names.end(), x.containers.begin(), x.containers.end());
    for (const Touched& t : x.touched)
      if (t.write) out.written.insert(t.root);
  }
  out.from = position_.at(out.statements.front().value);
  out.until = position_.at(out.statements.back().value);
  return out;
}

// Finds what stands in `run` for each container of `base`. False where one stands for two, or two for one that is written, or
// where what is written held values before in one of the two only.
bool LayerMaker::Bind(const Run& base, Run* run) const {
  const auto held = [&](Name n, const Run& r) {
    const Container& c = s_.Get(n);
    const Usage& u = uses_.Of(n);
    return c.inout || (!u.writes.empty() && u.writes.front() < r.from);
  };
  std::unordered_map<Name, Name> back;
  for (size_t k = 0; k < base.names.size(); ++k) {
    const Name of = base.names[k], is = run->names[k];
    if (IsByValue(s_.Get(of)) != IsByValue(s_.Get(is))) return false;
    if (IsByValue(s_.Get(of))) continue;
    const auto [it, fresh] = run->counterpart.emplace(of, is);
    if (!fresh && it->second != is) return false;
    const auto [reverse, first] = back.emplace(is, of);
    if (!first && reverse->second != of && run->written.count(is)) return false;
    if (base.written.count(of) != run->written.count(is)) return false;
    if (base.written.count(of) && held(of, base) != held(is, *run)) return false;
  }
  return true;
}

Sdfg LayerMaker::CalleeOf(const Run& base, const std::vector<Name>& arguments) const {
  Sdfg out;
  out.flush = s_.flush;
  for (Name n : arguments) {
    Container c = s_.Get(n);
    const Usage& u = uses_.Of(n);
    c.inout = base.written.count(n) && (c.inout || u.writes.front() < base.from);
    c.kind = ContainerKind::kParameter;
    c.output = false;
    c.data = {};
    out.parameters.push_back(n);
    out.Add(std::move(c));
  }
  for (Name n : base.names)
    if (!out.Find(n)) out.Add(s_.Get(n));
  std::vector<NodeId> statements;
  for (NodeId n : base.statements) statements.push_back(Copied(s_, n, &out));
  out.body = {out.AddBlock(State{{}, std::move(statements)})};
  DeclareSymbols(&out);
  const std::vector<Name> symbols = FreeSymbols(out);
  for (const auto& [symbol, bounds] : s_.assumptions.bounds)
    if (std::find(symbols.begin(), symbols.end(), symbol) != symbols.end()) out.assumptions.bounds.emplace_back(symbol, bounds);
  Renumber(&out);
  return out;
}

std::optional<Layer> LayerMaker::Of(const std::vector<LayerStatement>& statements, const Repeat& r, size_t first) const {
  std::vector<Run> runs;
  for (size_t k = first; k < r.count; ++k) {
    Run run = RunAt(statements, r.begin + k * r.period, r.period);
    const bool same = runs.empty() ? Bind(run, &run) : Bind(runs[0], &run);
    if (!same) break;
    runs.push_back(std::move(run));
  }
  if (runs.size() < 2) return std::nullopt;
  const auto is_inside = [&](Name n, const Run& run) {
    const Usage& u = uses_.Of(n);
    return s_.Get(n).kind == ContainerKind::kTransient && u.First() >= run.from && u.Last() <= run.until;
  };
  Layer out;
  std::vector<Name> arguments;
  std::unordered_set<Name> seen;
  for (Name n : runs[0].names) {
    if (IsByValue(s_.Get(n)) || !seen.insert(n).second) continue;
    if (std::all_of(runs.begin(), runs.end(), [&](const Run& x) { return is_inside(x.counterpart.at(n), x); })) {
      for (const Run& x : runs) out.inside.push_back(x.counterpart.at(n));
      continue;
    }
    if (MayBeSizes(s_.Get(n))) return std::nullopt;
    arguments.push_back(n);
  }
  out.callee = CalleeOf(runs[0], arguments);
  for (const Run& run : runs) {
    Nested call;
    for (Name n : arguments) call.arguments.push_back({n, run.counterpart.at(n), {}});
    for (Name symbol : out.callee.symbol_params) call.symbols.emplace_back(symbol, Expr(symbol));
    out.calls.push_back(std::move(call));
  }
  return out;
}

}  // namespace headrace::transforms
