#include "transforms/phases.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "transforms/each_sdfg.h"
#include "transforms/uses.h"
#include "transforms/whole.h"

namespace headrace {
namespace {

constexpr int64_t kMostPhases = 8;  // of a statement: each becomes one

int64_t FloorOf(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t CeilOf(int64_t a, int64_t b) { return -FloorOf(-a, b); }

// How an index of the array of phases follows from an index `q` of the statement that reads it.
struct Part {
  enum Kind { kWhole, kPhase, kPlace } kind = kWhole;  // q, (q + shift) % step, (q + shift) // step - first
  Name q;                                              // "": 0, of the one element there is
  int64_t step = 1, shift = 0, first = 0;
};

// q + shift
bool IsShifted(const Expr& e, Part* out) {
  const std::vector<Name> symbols = FreeSymbols(e);
  if (!IsIndexExpr(e) || symbols.size() != 1) return false;
  const auto by = Coefficient(e, symbols[0]);
  const auto shift = AsInt(Substitute(e, {{symbols[0], Expr(0)}}));
  if (!by || AsInt(*by) != 1 || !shift) return false;
  out->q = symbols[0], out->shift = *shift;
  return true;
}

std::optional<Part> PartOf(const Expr& e) {
  Part out;
  if (AsInt(e) == 0) return out;
  if (e.Is(ExprKind::kSymbol)) return out.q = e->name, out;
  if (!e.Is(ExprKind::kBinary)) return {};
  if (e->op == Op::kAdd || e->op == Op::kSub) {  // a quotient, and a number
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const auto number = AsInt(e->args[1 - i]);
      if (!number || (e->op == Op::kSub && i == 1)) continue;
      std::optional<Part> quotient = PartOf(e->args[i]);
      if (!quotient || quotient->kind != Part::kPlace) return {};
      quotient->first -= e->op == Op::kSub ? -*number : *number;
      return quotient;
    }
    return {};
  }
  if (e->op != Op::kMod && e->op != Op::kFloorDiv) return {};
  const auto step = AsInt(e->args[1]);
  if (!step || *step < 2 || !IsShifted(e->args[0], &out)) return {};
  out.kind = e->op == Op::kMod ? Part::kPhase : Part::kPlace;
  out.step = *step;
  return out;
}

// A dimension of the result that is divided: its element at step * (place + first) + …, of the phase.
struct Divided {
  size_t dim;             // of the result
  size_t phase, place;    // dimensions of the array of phases
  int64_t step, first;    // of the place
  int64_t turn;           // phase + turn, modulo step, is how far the element lies behind a multiple of the step, less `shift`
  int64_t shift, extent;
};

// A statement that writes the array of phases, and at which elements.
struct Product {
  NodeId statement;
  std::vector<Expr> index;
  bool begins = false;  // what was there before is gone
  bool reads = false;   // arrays: it stays where it is
};

struct Phases {
  NodeId copy;
  Name array, result;
  std::vector<int> dims;  // of the array, for each of the result: whole ones; -1
  std::vector<Divided> divided;
  std::vector<Product> products = {};  // the last one first
};

// A map that only copies, whole, what an array of phases holds: `index` of each of its elements, and of the array's.
std::optional<Phases> CopyOf(const Sdfg& s, NodeId n) {
  const auto* m = std::get_if<Map>(&s.nodes[n].body);
  const auto* t = m && m->schedule == Schedule::kDefault && m->body.size() == 1 ? std::get_if<Tasklet>(&s.nodes[m->body[0]].body) : nullptr;
  if (!t || t->op != WriteOp::kAssign || t->flat || t->guarded || !t->value.Is(ExprKind::kRead)) return {};
  if (t->value->flat || t->value->has_default) return {};
  const Container &from = s.Get(t->value->name), &to = s.Get(t->target);
  if (from.kind != ContainerKind::kTransient || from.storage != Storage::kArena || to.kind == ContainerKind::kView) return {};
  if (from.dtype != to.dtype || from.name == to.name || to.storage != Storage::kArena || !transforms::HasOneEach(to, *m, t->index)) return {};
  Phases out{n, from.name, to.name, std::vector<int>(to.shape.size(), -1), {}};
  std::vector<Part> parts;
  for (const Expr& e : t->value->args) {
    const auto part = PartOf(e);
    if (!part) return {};
    parts.push_back(*part);
  }
  for (size_t d = 0; d < to.shape.size(); ++d) {
    const Expr& at = t->index[d];
    std::vector<size_t> of;
    for (size_t k = 0; k < parts.size() && at.Is(ExprKind::kSymbol); ++k)
      if (parts[k].q == at->name) of.push_back(k);
    if (of.empty() && AsInt(to.shape[d]) == 1) continue;
    if (of.size() == 1 && parts[of[0]].kind == Part::kWhole) {
      out.dims[d] = static_cast<int>(of[0]);
      continue;
    }
    if (of.size() != 2) return {};
    if (parts[of[0]].kind == Part::kPlace) std::swap(of[0], of[1]);
    const Part &phase = parts[of[0]], &place = parts[of[1]];
    const auto extent = AsInt(to.shape[d]);
    const bool fits = phase.kind == Part::kPhase && place.kind == Part::kPlace && phase.step == place.step && extent &&
                      AsInt(from.shape[of[0]]) == phase.step;
    if (!fits) return {};
    out.divided.push_back({d, of[0], of[1], place.step, place.first, place.shift - phase.shift, place.shift, *extent});
  }
  return out.divided.empty() ? std::nullopt : std::optional<Phases>(std::move(out));
}

class Splitter {
 public:
  Splitter(const Program& p, Sdfg* s, const Ask& ask) : s_(*s), callees_(p), uses_(p, *s), ask_(ask) {}

  bool Run() {
    std::vector<BlockId> states;
    ForEachBlock(s_, s_.body, [&](BlockId b) {
      if (std::holds_alternative<State>(s_.blocks[b].control)) states.push_back(b);
    });
    std::unordered_set<Name> gone;
    for (BlockId b : states) {
      std::vector<NodeId> statements = std::get<State>(s_.blocks[b].control).statements;
      const size_t before = gone.size();
      for (size_t k = 0; k < statements.size(); ++k) {
        std::optional<Phases> found = CopyOf(s_, statements[k]);
        if (!found || !Fits(statements, k, &*found) || !ask_(Match{s_.name, {found->copy}, {}, {found->array}, "", true})) continue;
        k += Split(*found, &statements) - found->products.size() - 1;
        gone.insert(found->array);
      }
      if (gone.size() > before) std::get<State>(s_.blocks.Mutable(b).control).statements = std::move(statements);
    }
    transforms::RemoveContainers(&s_, gone);
    return !gone.empty();
  }

 private:
  bool Fits(const std::vector<NodeId>& statements, size_t copy, Phases* f) {
    const Container &array = s_.Get(f->array), &result = s_.Get(f->result);
    int64_t phases = 1;
    for (const Divided& d : f->divided) phases *= d.step;
    const transforms::Usage& uses = uses_.Of(f->array);
    const auto others = std::count_if(uses.reads.begin(), uses.reads.end(),
                                      [&](uint32_t at) { return !std::binary_search(uses.writes.begin(), uses.writes.end(), at); });
    if (phases > kMostPhases || uses.viewed || others != 1) return false;
    const int inner = transforms::Innermost(array), last = transforms::Innermost(result);
    if (last < 0 || f->dims[static_cast<size_t>(last)] != inner || !result.strides.empty()) return false;
    // All that writes it stands before the copy, and what lies between doesn't look at the result.
    for (size_t k = copy; k-- > 0 && f->products.size() < uses.writes.size();) {
      const std::vector<Touched> touched = TouchedBy(s_, statements[k], callees_);
      const auto touches = [&](Name root) {
        return std::any_of(touched.begin(), touched.end(), [&](const Touched& t) { return t.root == root; });
      };
      if (touches(f->result) || (touches(f->array) && !IsProduct(statements[k], f))) return false;
    }
    const auto stays = [](const Product& p) { return p.reads; };
    return !f->products.empty() && f->products.size() == uses.writes.size() && f->products.back().begins &&
           std::none_of(f->products.begin() + 1, f->products.end(), stays);
  }
  // A map that goes over all elements of the array, and writes nothing else.
  bool IsProduct(NodeId n, Phases* f) const {
    const auto* m = std::get_if<Map>(&s_.nodes[n].body);
    Product product{n, {}, false, false};
    if (!m || m->schedule != Schedule::kDefault || !WritesOnly(m->body, f->array, &product)) return false;
    Map own{{}, {}};  // without the ranges of a sum
    for (const Range& r : m->ranges)
      if (IsOwn(product, r)) own.ranges.push_back(r);
    const bool all = transforms::HasOneEach(s_.Get(f->array), own, product.index);
    f->products.push_back(std::move(product));
    return all;
  }
  static bool IsOwn(const Product& p, const Range& r) {
    return std::any_of(p.index.begin(), p.index.end(), [&](const Expr& e) { return e.Is(ExprKind::kSymbol) && e->name == r.index; });
  }
  // Always the same element in an iteration; nobody reads it there.
  bool WritesOnly(const std::vector<NodeId>& body, Name array, Product* p) const {
    for (NodeId n : body) {
      if (const auto* m = std::get_if<Map>(&s_.nodes[n].body)) {
        if (m->schedule != Schedule::kDefault || !WritesOnly(m->body, array, p)) return false;
        continue;
      }
      const auto* t = std::get_if<Tasklet>(&s_.nodes[n].body);
      if (!t || t->target != array || t->flat || t->guarded) return false;
      if (p->index.empty()) p->index = t->index, p->begins = t->op == WriteOp::kAssign;
      const std::vector<Name> read = ReadContainers(t->value);
      p->reads |= !read.empty();
      if (t->index != p->index || std::find(read.begin(), read.end(), array) != read.end()) return false;
    }
    return true;
  }

  // One phase: which, and the elements that it has.
  struct Phase {
    std::vector<int64_t> which;                 // of each divided dimension
    std::vector<int64_t> begin, count;          // of its places
    Name view;
  };

  // How many statements it has become.
  size_t Split(const Phases& f, std::vector<NodeId>* statements) {
    std::vector<NodeId> made;
    for (const Phase& phase : All(f))
      for (auto p = f.products.rbegin(); p != f.products.rend(); ++p)
        if (std::optional<Map> m = MapOf(f, *p, phase)) made.push_back(s_.AddNode(std::move(*m), s_.nodes[p->statement].origin));
    statements->insert(std::find(statements->begin(), statements->end(), f.products.front().statement), made.begin(), made.end());
    for (const Product& p : f.products) Drop(p.statement, statements);
    Drop(f.copy, statements);
    return made.size();
  }
  void Drop(NodeId n, std::vector<NodeId>* statements) {
    statements->erase(std::find(statements->begin(), statements->end(), n));
    s_.nodes.Mutable(n).body = std::monostate();
  }

  std::vector<Phase> All(const Phases& f) {
    std::vector<Phase> out;
    std::vector<int64_t> which(f.divided.size(), 0);
    for (size_t i = 0; i < which.size();) {
      if (std::optional<Phase> phase = PhaseAt(f, which)) out.push_back(std::move(*phase));
      for (i = 0; i < which.size() && ++which[i] == f.divided[i].step; ++i) which[i] = 0;
      if (i < which.size()) i = 0;
    }
    return out;
  }
  // Its elements, as a view; nullopt: there is none.
  std::optional<Phase> PhaseAt(const Phases& f, const std::vector<int64_t>& which) {
    const Container& result = s_.Get(f.result);
    Phase out{which, {}, {}, {}};
    Container view;
    view.kind = ContainerKind::kView;
    view.dtype = result.dtype;
    view.base = f.result;
    view.shape = result.shape;
    view.strides = StridesOf(result);
    view.offset = Expr(0);
    view.origin = result.origin;
    for (size_t i = 0; i < f.divided.size(); ++i) {
      const Divided& d = f.divided[i];
      const int64_t behind = which[i] + d.turn - d.step * FloorOf(which[i] + d.turn, d.step);
      const int64_t zero = d.step * d.first - d.shift + behind;  // the element of place 0
      const int64_t begin = CeilOf(-zero, d.step), end = FloorOf(d.extent - 1 - zero, d.step) + 1;
      if (end <= begin) return {};
      out.begin.push_back(begin), out.count.push_back(end - begin);
      view.shape[d.dim] = Expr(end - begin);
      view.offset = view.offset + view.strides[d.dim] * Expr(zero + d.step * begin);
      view.strides[d.dim] = view.strides[d.dim] * Expr(d.step);
    }
    if (AsInt(view.offset) == 0) view.offset = Expr();
    view.name = out.view = s_.FreshName(f.result.str() + "_phase");
    s_.Add(std::move(view));
    return out;
  }

  // What an index of a product is in a phase.
  struct Changes {
    NameMap symbols;
    std::vector<Range> places;
    std::vector<Name> fixed;
    Name view;
    std::vector<Expr> index;
  };
  // nullopt: it has no terms in this phase.
  std::optional<Map> MapOf(const Phases& f, const Product& p, const Phase& phase) {
    Changes changes;
    changes.view = phase.view;
    for (const int d : f.dims) changes.index.push_back(d < 0 ? Expr(0) : p.index[static_cast<size_t>(d)]);
    for (size_t i = 0; i < f.divided.size(); ++i) {
      const Divided& d = f.divided[i];
      const Name place = p.index[d.place].Is(ExprKind::kSymbol) ? p.index[d.place]->name : Name();
      changes.index[d.dim] = place == Name() ? Expr(0) : SymbolExpr(place);
      changes.fixed.push_back(p.index[d.phase]->name);
      changes.symbols.push_back({changes.fixed.back(), Expr(phase.which[i])});
      if (place == Name()) continue;
      changes.symbols.push_back({place, SymbolExpr(place) + Expr(phase.begin[i])});
      changes.places.push_back({place, Expr(0), Expr(phase.count[i]), {}});
    }
    Map m = std::get<Map>(s_.nodes[p.statement].body);
    return Change(&m, changes, p) ? std::optional<Map>(std::move(m)) : std::nullopt;
  }
  // False: without terms.
  bool Change(Map* m, const Changes& changes, const Product& own) {
    std::vector<Range> ranges;
    for (Range r : m->ranges) {
      if (std::find(changes.fixed.begin(), changes.fixed.end(), r.index) != changes.fixed.end()) continue;
      const auto place = std::find_if(changes.places.begin(), changes.places.end(), [&](const Range& x) { return x.index == r.index; });
      if (place != changes.places.end()) r = *place;
      for (Expr* e : {&r.begin, &r.end, &r.step})
        if (*e) *e = Substitute(*e, changes.symbols);
      ranges.push_back(std::move(r));
    }
    m->ranges = std::move(ranges);
    std::vector<NodeId> body;
    for (NodeId n : m->body) {
      const Origin origin = s_.nodes[n].origin;
      if (const auto* inner = std::get_if<Map>(&s_.nodes[n].body)) {
        Map copy = *inner;
        if (Change(&copy, changes, own)) body.push_back(s_.AddNode(std::move(copy), origin));
        continue;
      }
      Tasklet t = std::get<Tasklet>(s_.nodes[n].body);
      t.target = changes.view;
      t.index = changes.index;
      t.value = Substitute(t.value, changes.symbols);
      body.push_back(s_.AddNode(std::move(t), origin));
    }
    m->body = std::move(body);
    return LeaveZerosOut(m, own);
  }

  // Terms with a factor outside of its array, which is zero there. False: there is no other term.
  bool LeaveZerosOut(Map* m, const Product& own) const {
    const auto* t = m->body.size() == 1 ? std::get_if<Tasklet>(&s_.nodes[m->body[0]].body) : nullptr;
    if (!t || t->op != WriteOp::kAdd) return true;
    for (Range& r : m->ranges)
      if (!IsOwn(own, r) && !Narrow(t->value, &r)) return false;
    return true;
  }
  bool Narrow(const Expr& product, Range* r) const {
    if (product.Is(ExprKind::kBinary) && product->op == Op::kMul) return Narrow(product->args[0], r) && Narrow(product->args[1], r);
    if (!product.Is(ExprKind::kRead) || !product->has_default || product->flat || !IsZero(product->args.back())) return true;
    const Container& c = s_.Get(product->name);
    for (size_t d = 0; d < c.shape.size(); ++d) {
      const Expr& e = product->args[d];
      const auto begin = AsInt(r->begin), end = AsInt(r->end), extent = AsInt(c.shape[d]);
      const auto by = IsIndexExpr(e) ? Coefficient(e, r->index) : std::nullopt;
      if (!begin || !end || (r->step && AsInt(r->step) != 1) || !extent || !by) continue;
      const auto step = AsInt(*by), at = AsInt(Substitute(e, {{r->index, Expr(0)}}));
      if (!step || *step < 1 || !at) continue;
      r->begin = Expr(std::max(*begin, CeilOf(-*at, *step)));
      r->end = Expr(std::min(*end, FloorOf(*extent - 1 - *at, *step) + 1));
      if (*AsInt(r->end) <= *AsInt(r->begin)) return false;
    }
    return true;
  }
  static bool IsZero(const Expr& e) { return AsInt(e) == 0 || (e.Is(ExprKind::kFloat) && e->fvalue == 0); }

  Sdfg& s_;
  Callees callees_;
  transforms::UseIndex uses_;
  const Ask& ask_;
};

}  // namespace

Result<bool> SplitPhases(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) { return Splitter(p, s, ask).Run(); });
}

}  // namespace headrace
