// What lives in a body of a scheduled kernel, and what it gives, has no value at first: what is read there was written there before. Shown
// wrong are reads of elements that no write reaches, as far as ranges are numbers, and of registers that are written under a condition alone.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/sets.h"
#include "ir/graph/homes.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {
namespace {

struct Step {  // into a body
  NodeId node;
  bool otherwise = false;
  bool operator==(const Step& o) const { return node == o.node && otherwise == o.otherwise; }
};

struct Reach {  // of one dimension
  int64_t begin, end;
};
using Reaches = std::vector<std::optional<Reach>>;  // nothing: not known

struct Access {
  NodeId node;
  std::vector<Expr> index;
  bool whole = false;  // of elements that the text doesn't tell
  bool write = false, chosen = false;  // by an operator of choice: maybe not at all
  std::vector<Step> path;
  std::optional<Reaches> reach;  // nothing where it is in a range without iterations
};

class Values {
 public:
  Values(const Sdfg& s, Report* r) : s_(s), r_(r) {}

  void Run() {
    for (BlockId b : s_.body)
      if (const auto* state = std::get_if<State>(&s_.blocks[b].control)) List(state->statements);
    for (Name n : s_.order)
      if (const auto it = accesses_.find(n); it != accesses_.end()) OneContainer(n, &it->second);
  }

 private:
  void List(const std::vector<NodeId>& statements) {
    for (NodeId n : statements) Statement(n);
  }

  void Statement(NodeId n) {
    const Body& body = s_.nodes[n].body;
    if (const auto* t = std::get_if<Tasklet>(&body)) {
      for (const Expr& e : t->index) Reads(n, e, false);
      Reads(n, t->value, false);
      Note(n, t->target, t->index, t->flat, t->op == WriteOp::kAssign, t->guarded);
    } else if (const auto* k = std::get_if<Touch>(&body)) {
      for (const Expr& e : k->index) Reads(n, e, false);
    } else if (const auto* i = std::get_if<If>(&body)) {
      Reads(n, i->condition, false);
      Inside({n, false}, i->body);
      Inside({n, true}, i->otherwise);
    } else if (const auto* m = std::get_if<Map>(&body)) {
      Inside({n, false}, m->body);
    }
  }

  void Inside(Step step, const std::vector<NodeId>& body) {
    path_.push_back(step);
    List(body);
    path_.pop_back();
  }

  void Reads(NodeId n, const Expr& e, bool chosen) {
    if (!e) return;
    if (e.Is(ExprKind::kRead)) Note(n, e->name, e->args, e->flat, false, chosen || e->has_default);
    const bool choice = e.Is(ExprKind::kSelect) || (e.Is(ExprKind::kBinary) && (e->op == Op::kAnd || e->op == Op::kOr));
    for (size_t i = 0; i < e->args.size(); ++i) Reads(n, e->args[i], chosen || (choice && i > 0));
  }

  void Note(NodeId n, Name container, const std::vector<Expr>& index, bool flat, bool write, bool chosen) {
    const Container* c = s_.Find(container);
    const Name root = c ? RootOf(s_, container) : Name();
    if (!c || !(IsScoped(s_.Get(root).storage) || IsGiven(s_.Get(root)))) return;
    accesses_[root].push_back({n, index, flat || root != container, write, chosen, path_, {}});
  }

  // A parameter that may have no value before; one that is read alone has.
  static bool IsGiven(const Container& c) { return c.kind == ContainerKind::kParameter && !c.inout; }

  static size_t Common(const std::vector<Step>& a, const std::vector<Step>& b) {
    size_t n = 0;
    while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
    return n;
  }

  bool Holds(const std::vector<Step>& path, size_t from, size_t to, const std::function<bool(const Body&)>& what) const {
    for (size_t k = from; k < to; ++k)
      if (what(s_.nodes[path[k].node].body)) return true;
    return false;
  }
  static bool IsIf(const Body& b) { return std::holds_alternative<If>(b); }
  static bool IsFor(const Body& b) {
    const auto* m = std::get_if<Map>(&b);
    return m && m->schedule == Schedule::kSequential;
  }

  void OneContainer(Name name, std::vector<Access>* accesses) {
    const std::vector<Access>& all = *accesses;
    size_t home = all[0].path.size();
    for (const Access& a : all) home = std::min(home, Common(a.path, all[0].path));
    for (Access& a : *accesses) a.reach = ReachOf(name, a, home);
    for (size_t i = 0; i < all.size(); ++i) {
      const Access& read = all[i];
      if (read.write || read.chosen || Holds(read.path, home, read.path.size(), IsIf)) continue;
      const auto writes = [&](const Access& a) { return a.write; };
      if (std::none_of(all.begin(), all.begin() + static_cast<long>(i), writes)) return;  // E0230, which the statements give
      if (Outside(name, all, i, home) || UnderCondition(name, all, i, home)) return;
    }
  }

  // Of the ranges in the body that it lives in; nothing where one has no iteration.
  std::optional<Reaches> ReachOf(Name name, const Access& a, size_t home) const {
    const std::vector<Expr>& shape = s_.Get(name).shape;
    Reaches out(shape.size());
    if (a.whole || a.index.size() < shape.size()) return out;
    std::vector<Range> ranges;
    std::set<Name> open;  // what is no number
    for (size_t k = home; k < a.path.size(); ++k)
      if (const auto* m = std::get_if<Map>(&s_.nodes[a.path[k].node].body))
        for (const Range& r : m->ranges) {
          const auto begin = AsInt(r.begin), end = AsInt(r.end), step = r.step ? AsInt(r.step) : std::optional<int64_t>(1);
          if (!begin || !end || !step || *step < 1) {
            open.insert(r.index);
            continue;
          }
          if (*begin >= *end) return std::nullopt;
          ranges.push_back({r.index, r.begin, Expr(*end - (*end - 1 - *begin) % *step), r.step});  // to its last point
        }
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!IsIndexExpr(a.index[d])) continue;
      const std::vector<Name> names = FreeSymbols(a.index[d]);
      if (std::any_of(names.begin(), names.end(), [&](Name n) { return open.count(n) > 0; })) continue;
      const Box box = ImageBox(ranges, {a.index[d]}, {shape[d]}, s_.assumptions);
      if (box.subset.dims.size() != 1) continue;
      const auto begin = AsInt(box.subset.dims[0].begin), end = AsInt(box.subset.dims[0].end);
      if (begin && end) out[d] = Reach{*begin, *end};
    }
    return out;
  }

  // Some write is before it: textually, or in a round before of a loop that both are in.
  bool MayPrecede(const std::vector<Access>& all, size_t w, size_t read, size_t home) const {
    return all[w].write && (w < read || Holds(all[w].path, home, Common(all[w].path, all[read].path), IsFor));
  }

  // Integers of a buffer are let be: groups of bytes whose last ones are none have factors of zero for what lies there.
  bool Outside(Name name, const std::vector<Access>& all, size_t read, size_t home) {
    const std::optional<Reaches>& asked = all[read].reach;
    const Container& c = s_.Get(name);
    if (!asked || (c.storage == Storage::kWorker && IsInteger(c.dtype))) return false;
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    std::vector<Reach> hull(asked->size(), {kMost, -kMost});
    bool any = false;
    for (size_t w = 0; w < all.size(); ++w) {
      const std::optional<Reaches>& there = all[w].reach;
      if (!there || !MayPrecede(all, w, read, home)) continue;
      any = true;
      for (size_t d = 0; d < hull.size(); ++d) {
        const Reach r = (*there)[d].value_or(Reach{-kMost, kMost});
        hull[d] = {std::min(hull[d].begin, r.begin), std::max(hull[d].end, r.end)};
      }
    }
    std::string where;
    for (size_t d = 0; any && d < hull.size() && where.empty(); ++d)
      if ((*asked)[d] && ((*asked)[d]->begin < hull[d].begin || (*asked)[d]->end > hull[d].end))
        where = ": dimension " + std::to_string(d) + " was, in " + std::to_string(hull[d].begin) + ":" + std::to_string(hull[d].end);
    if (any && where.empty()) return false;
    r_->Add("E0230", Quoted(name) + " is read where nothing was written before" + where, all[read].node, name.str(),
            "it has no value at first: write all of what is read in an earlier statement");
    return true;
  }

  // A first round may write what the others take on; else a register has a value on both sides of a condition.
  bool UnderCondition(Name name, const std::vector<Access>& all, size_t read, size_t home) {
    if (s_.Get(name).storage != Storage::kRegister) return false;
    std::map<uint32_t, std::set<bool>> sides;
    for (size_t w = 0; w < read; ++w) {
      if (!all[w].write) continue;
      size_t at = Common(all[w].path, all[read].path);
      while (at < all[w].path.size() && !IsIf(s_.nodes[all[w].path[at].node].body)) ++at;
      if (at == all[w].path.size() || Holds(all[w].path, home, at, IsFor)) return false;
      std::set<bool>& seen = sides[all[w].path[at].node.value];
      seen.insert(all[w].path[at].otherwise);
      if (seen.size() == 2) return false;
    }
    r_->Add("E0230", Quoted(name) + " is read where it may have no value: it is written under a condition", all[read].node, name.str(),
            "give it a value before the condition, or on the other side, too");
    return true;
  }

  const Sdfg& s_;
  Report* r_;
  std::vector<Step> path_;
  std::map<Name, std::vector<Access>> accesses_;
};

}  // namespace

void CheckValues(const Sdfg& kernel, Report* report) { Values(kernel, report).Run(); }

}  // namespace headrace::verify
