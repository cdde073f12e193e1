#include "transforms/profile.h"

#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "ir/analysis/cost.h"
#include "plugins/api/headrace_plugin.h"

namespace headrace {
namespace {

constexpr const char* kClock = "headrace_clock";

int32_t Clock(hr_call* call) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  static_cast<int64_t*>(call->outputs[0].data)[0] = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return 0;
}

class Profiler {
 public:
  explicit Profiler(Program& p) : p_(p) {}

  bool Run() {
    for (const auto& s : p_.sdfgs) FindCallsInMaps(*s);
    Visit(p_.entry);
    int64_t rows = 0;
    for (Name n : visited_) rows += CountStatements(*p_.Find(n));
    if (rows == 0) return false;
    for (Name n : visited_) Instrument(p_.Mutable(n), rows);
    return true;
  }

 private:
  void FindCallsInMaps(const Sdfg& s) {
    std::set<uint32_t> outside;
    ForEachNode(s, [&](NodeId n) { outside.insert(n.value); }, /*into_maps=*/false);
    ForEachNode(s, [&](NodeId n) {
      if (auto* call = std::get_if<Nested>(&s.nodes[n].body); call && !outside.count(n.value)) in_maps_.insert(call->callee);
    });
  }
  // Callees first, each once.
  void Visit(Name name) {
    if (!seen_.insert(name).second) return;
    ForEachNode(*p_.Find(name), [&](NodeId n) {
      if (const Nested* call = Followed(*p_.Find(name), n)) Visit(call->callee);
    }, false);
    visited_.push_back(name);
  }
  const Nested* Followed(const Sdfg& s, NodeId n) const {
    auto* call = std::get_if<Nested>(&s.nodes[n].body);
    return call && !in_maps_.count(call->callee) && !p_.Find(call->callee)->kernel ? call : nullptr;
  }
  bool IsMeasured(const Sdfg& s, NodeId n) const {
    return !std::holds_alternative<std::monostate>(s.nodes[n].body) && !Followed(s, n);
  }
  int64_t CountStatements(const Sdfg& s) const {
    int64_t count = 0;
    ForEachNode(s, [&](NodeId n) { count += IsMeasured(s, n); }, false);
    return count;
  }

  void Instrument(Sdfg& s, int64_t rows) {
    const Name table = Added(&s, "profile", DType::kF64, {Expr(rows), Expr(4)}), begin = Added(&s, "profile_begin", DType::kI64, {}),
               end = Added(&s, "profile_end", DType::kI64, {});
    Container& parameter = s.Mutable(table);
    parameter.kind = ContainerKind::kParameter;
    parameter.inout = true;
    s.flush = false;  // it has f64 now; the kernels that it calls stay as they are
    s.parameters.push_back(table);
    table_.emplace(s.name, table);
    std::vector<BlockId> states;
    ForEachBlock(s, s.body, [&](BlockId b) {
      if (std::holds_alternative<State>(s.blocks[b].control)) states.push_back(b);
    });
    for (BlockId b : states) {
      std::vector<NodeId> list;
      for (NodeId n : std::vector<NodeId>(std::get<State>(s.blocks[b].control).statements)) {
        if (const Nested* call = Followed(s, n)) {
          const Argument argument{table_.at(call->callee), table, {}};
          std::get<Nested>(s.nodes.Mutable(n).body).arguments.push_back(argument);
        }
        if (IsMeasured(s, n)) Measure(&s, n, table, begin, end, &list);
        else list.push_back(n);
      }
      std::get<State>(s.blocks.Mutable(b).control).statements = std::move(list);
    }
  }
  static Name Added(Sdfg* s, const char* stem, DType type, std::vector<Expr> shape) {
    Container c;
    c.name = s->FreshName(stem);
    c.dtype = type;
    c.shape = std::move(shape);
    s->Add(c);
    return c.name;
  }

  void Measure(Sdfg* s, NodeId n, Name table, Name begin, Name end, std::vector<NodeId>* list) {
    const Cost cost = CostOf(p_, *s, n);
    const auto clock = [&](Name into) {
      Library l;
      l.domain = "call";
      l.op = kClock;
      l.outputs = {{"T", into}};
      list->push_back(s->AddNode(std::move(l)));
    };
    const auto add = [&](int column, Expr value, Origin origin) {
      Tasklet t;
      t.target = table;
      t.index = {Expr(row_), Expr(column)};
      t.op = WriteOp::kAdd;
      t.value = std::move(value);
      list->push_back(s->AddNode(std::move(t), origin));
    };
    const auto known = [](const Expr& e) { return e ? CastExpr(DType::kF64, e) : FloatExpr(std::nan("")); };
    clock(begin);
    list->push_back(n);
    clock(end);
    add(0, Expr(1), s->nodes[n].origin.By("profile"));
    add(1, CastExpr(DType::kF64, BinaryExpr(Op::kSub, ReadExpr(end, {}), ReadExpr(begin, {}))), {});
    add(2, known(cost.operations), {});
    add(3, known(cost.bytes), {});
    ++row_;
  }

  Program& p_;
  std::set<Name> seen_, in_maps_;
  std::vector<Name> visited_;
  std::map<Name, Name> table_;  // by program
  int64_t row_ = 0;
};

}  // namespace

Result<bool> Profile(Program& p) { return Profiler(p).Run(); }

Status AddClock(Registry& r) {
  ExternalFunction f;
  f.name = f.symbol = kClock;
  f.address = reinterpret_cast<void*>(&Clock);
  return r.Add(std::move(f));
}

}  // namespace headrace
