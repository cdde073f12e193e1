#include "transforms/share_kernels.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/text/printer.h"
#include "ir/verify/verify.h"
#include "transforms/kernel_numbers.h"
#include "transforms/number_relations.h"

namespace headrace {
namespace {

using transforms::Column;
using transforms::Related;

struct Member {
  std::shared_ptr<Sdfg> kernel;
  std::vector<int64_t> numbers;
};

// Kernels of one structure, in the order of the program.
std::vector<std::vector<Member>> Structures(const Program& p) {
  std::vector<std::vector<Member>> out;
  std::unordered_map<std::string, size_t> known;
  for (const auto& s : p.sdfgs) {
    if (!s->kernel || s->device.empty() || s->name == p.entry) continue;
    Member m{s, {}};
    Sdfg structure = transforms::WithNumbers(*s, [&](int64_t v) {
      m.numbers.push_back(v);
      return SymbolExpr(Name("#"));
    });
    structure.name = Name("k");
    const auto [it, fresh] = known.try_emplace(Print(structure, {/*origins=*/false}), out.size());
    if (fresh) out.emplace_back();
    out[it->second].push_back(std::move(m));
  }
  return out;
}

// Names of symbols that the kernel doesn't have: n3, n4 …
std::vector<Name> FreshSymbols(const Sdfg& s, size_t count) {
  std::unordered_set<Name> taken(s.symbol_params.begin(), s.symbol_params.end());
  std::vector<Name> out;
  for (size_t k = 0; out.size() < count; ++k)
    if (const Name n("n" + std::to_string(k)); !taken.count(n) && !s.Find(n)) out.push_back(n);
  return out;
}

Expr Simplified(const Expr& e) { return e ? Simplify(e) : e; }

// Sums and products in the order that is theirs.
void SimplifyIn(Sdfg* s) {
  for (Name n : s->order) {
    Container& c = s->Mutable(n);
    for (Expr& e : c.shape) e = Simplified(e);
    for (Expr& e : c.strides) e = Simplified(e);
    c.offset = Simplified(c.offset);
  }
  for (BlockId b : s->body)
    if (std::holds_alternative<Assign>(s->blocks[b].control)) {
      Expr& value = std::get<Assign>(s->blocks.Mutable(b).control).value;
      value = Simplified(value);
    }
  std::vector<NodeId> all;
  ForEachNode(*s, [&](NodeId n) { all.push_back(n); });
  for (NodeId n : all) {
    Body& body = s->nodes.Mutable(n).body;
    if (auto* t = std::get_if<Tasklet>(&body)) {
      for (Expr& e : t->index) e = Simplified(e);
      t->value = Simplified(t->value);
    } else if (auto* m = std::get_if<Map>(&body)) {
      for (Range& r : m->ranges) r.begin = Simplified(r.begin), r.end = Simplified(r.end), r.step = Simplified(r.step);
    } else if (auto* i = std::get_if<If>(&body)) {
      i->condition = Simplified(i->condition);
    } else if (auto* k = std::get_if<Touch>(&body)) {
      for (Expr& e : k->index) e = Simplified(e);
    }
  }
}

struct Shared {
  Sdfg kernel;
  std::vector<Related::Symbol> symbols;
};

Shared Merge(const std::vector<Member>& members) {
  const size_t count = members[0].numbers.size();
  std::vector<Column> columns(count);
  for (size_t k = 0; k < count; ++k)
    for (const Member& m : members) columns[k].push_back(m.numbers[k]);
  Related related = transforms::Relate(columns, FreshSymbols(*members[0].kernel, count));
  size_t next = 0;
  Shared out{transforms::WithNumbers(*members[0].kernel, [&](int64_t) { return related.values[next++]; }), {}};
  SimplifyIn(&out.kernel);
  for (const Related::Symbol& s : related.symbols) {
    const auto [least, most] = std::minmax_element(s.values.begin(), s.values.end());
    out.kernel.symbol_params.push_back(s.name);
    out.kernel.assumptions.bounds.push_back({s.name, Interval{*least, *most}});
  }
  out.symbols = std::move(related.symbols);
  return out;
}

class Sharing {
 public:
  Sharing(Program& p, const Ask& ask) : p_(p), ask_(ask) {}

  bool Run() {
    for (const std::vector<Member>& members : Structures(p_)) Try(members);
    if (instead_.empty()) return false;
    Call();
    p_.sdfgs.erase(std::remove_if(p_.sdfgs.begin(), p_.sdfgs.end(), [&](const auto& s) {
      const auto it = instead_.find(s->name);
      return it != instead_.end() && it->second.kernel != s->name;
    }), p_.sdfgs.end());
    return true;
  }

 private:
  struct Instead {
    Name kernel;
    std::vector<std::pair<Name, Expr>> symbols;
  };

  // All of them in one; or each half, where less can be shown of all.
  void Try(const std::vector<Member>& members) {
    if (members.size() < 2) return;
    Shared shared = Merge(members);
    if (!Verify(p_, shared.kernel).ok()) {
      if (members.size() == 2) return;
      const auto half = members.begin() + static_cast<long>((members.size() + 1) / 2);
      Try({members.begin(), half});
      return Try({half, members.end()});
    }
    Match m;
    m.sdfg = shared.kernel.name;
    ForEachNode(shared.kernel, [&](NodeId n) { m.statements.push_back(n); }, /*into_maps=*/false);
    if (!ask_(m)) return;
    for (size_t i = 0; i < members.size(); ++i) {
      Instead& to = instead_[members[i].kernel->name];
      to.kernel = shared.kernel.name;
      for (const Related::Symbol& symbol : shared.symbols) to.symbols.emplace_back(symbol.name, Expr(symbol.values[i]));
    }
    p_.Mutable(shared.kernel.name) = std::move(shared.kernel);
  }

  void Call() {
    for (size_t i = 0; i < p_.sdfgs.size(); ++i) {
      const std::shared_ptr<Sdfg> s = p_.sdfgs[i];
      std::vector<NodeId> calls;
      ForEachNode(*s, [&](NodeId n) {
        const auto* call = std::get_if<Nested>(&s->nodes[n].body);
        if (call && instead_.count(call->callee)) calls.push_back(n);
      });
      for (NodeId n : calls) {
        Nested& call = std::get<Nested>(p_.Mutable(s->name).nodes.Mutable(n).body);
        const Instead& to = instead_.at(call.callee);
        call.callee = to.kernel;
        call.symbols.insert(call.symbols.end(), to.symbols.begin(), to.symbols.end());
      }
    }
  }

  Program& p_;
  const Ask& ask_;
  std::unordered_map<Name, Instead> instead_;
};

}  // namespace

Result<bool> ShareKernels(Program& p, const Ask& ask) { return Sharing(p, ask).Run(); }

}  // namespace headrace
