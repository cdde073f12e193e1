// Structured control flow: no break, no continue, no do-while, and conditions that read scalars only.
#include <unordered_set>

#include "autodiff/emit.h"
#include "autodiff/normalize.h"
#include "ir/analysis/type_inference.h"

namespace headrace::autodiff {
namespace {

// How a list of blocks may be left other than at its end.
enum class Exit { kNever, kMaybe, kAlways };
struct Lowered {
  std::vector<BlockId> blocks;
  Exit exit = Exit::kNever;
};

class Structurer {
 public:
  explicit Structurer(Sdfg* s) : s_(*s), fresh_(*s) {}

  bool Run() {
    s_.body = Blocks(s_.body);
    return changed_;
  }

 private:
  // What is inside first: exits belong to the innermost loop, so that afterwards inner loops are plain blocks.
  std::vector<BlockId> Blocks(const std::vector<BlockId>& body) {
    BlockList out(&s_);
    for (BlockId b : body) {
      Control c = s_.blocks[b].control;
      if (auto* l = std::get_if<Loop>(&c)) {
        LoopBlock(b, *l, &out);
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        ConditionalBlock(b, *d, &out);
      } else {
        out.Block(b);
      }
    }
    return out.Take();
  }

  // ---- conditionals ----
  void ConditionalBlock(BlockId b, Conditional d, BlockList* out) {
    bool inner_changed = false;
    for (Branch& br : d.branches) {
      std::vector<BlockId> body = Blocks(br.body);
      inner_changed |= !(body == br.body);
      br.body = std::move(body);
    }
    // A later condition may only be evaluated when the earlier ones failed.
    for (size_t k = d.branches.size(); k-- > 1;) {
      Branch& br = d.branches[k];
      if (!br.condition || IsSimple(br.condition)) continue;
      Conditional rest{{d.branches.begin() + static_cast<std::ptrdiff_t>(k), d.branches.end()}};
      d.branches.resize(k);
      BlockList otherwise(&s_);
      Hoisted(&rest, &otherwise);
      otherwise.Block(s_.AddBlock(std::move(rest), s_.blocks[b].origin));
      d.branches.push_back({Expr(), otherwise.Take()});
      inner_changed = true;
    }
    if (!IsSimple(d.branches[0].condition)) {
      Hoisted(&d, out);
      inner_changed = true;
    }
    changed_ |= inner_changed;
    out->Block(inner_changed ? s_.AddBlock(std::move(d), s_.blocks[b].origin) : b);
  }
  void Hoisted(Conditional* d, BlockList* out) {
    Name c = Scalar("taken", DType::kBool);
    out->Statement(AddTasklet(&s_, c, {}, Truth(d->branches[0].condition)));
    d->branches[0].condition = ReadExpr(c, {});
  }

  // ---- loops ----
  void LoopBlock(BlockId b, Loop l, BlockList* out) {
    const Origin origin = s_.blocks[b].origin;
    std::vector<BlockId> body = Blocks(l.body);
    const std::unordered_set<Name> written = Written(body);
    bool changed = !(body == l.body);

    if (l.init && !IsSymbolic(l.init)) {
      l.init = Hoist(l.init, "from", out);
      changed = true;
    }
    bool head_check = l.condition && !IsSimple(l.condition);
    if (l.condition && !l.do_while) {
      if (std::optional<Range> r = AsRange(l)) {
        // Such a loop is taken to know its bounds at the start.
        bool fixed = true;
        for (const Expr* e : {&r->end, &r->step}) fixed &= !Depends(*e, written);
        if (!fixed) {
          head_check = true;
        } else if (!IsSymbolic(r->end) || !IsSymbolic(r->step)) {
          Expr end = IsSymbolic(r->end) ? r->end : Hoist(r->end, "until", out);
          Expr step = IsSymbolic(r->step) ? r->step : Hoist(r->step, "by", out);
          const Loop same = RangeLoop(l.var, r->begin, end, step);
          l.condition = same.condition;
          l.update = same.update;
          head_check = false;
          changed = true;
        }
      }
    }

    // do { B } while c  →  first = true; while first || c { first = false; B }
    Expr first;
    Name first_name;
    if (l.do_while) {
      if (l.condition) {
        first_name = Scalar("first", DType::kI64);
        out->Statement(AddTasklet(&s_, first_name, {}, Expr(1)));
        first = BinaryExpr(Op::kEq, ReadExpr(first_name, {}), Expr(1));
      }
      l.do_while = false;
      changed = true;
    }
    Expr condition = l.condition;
    if (first && condition) condition = BinaryExpr(Op::kOr, first, condition);
    if (head_check) {
      // The condition is evaluated at one place, the head of the body: `if !c { break }`.
      Name go = Scalar("go", DType::kBool);
      BlockList head(&s_);
      head.Statement(AddTasklet(&s_, go, {}, Truth(condition)));
      Conditional leave;
      leave.branches.push_back({UnaryExpr(Op::kNot, ReadExpr(go, {})), {s_.AddBlock(Break{})}});
      head.Block(s_.AddBlock(std::move(leave), origin));
      if (first_name.empty()) {
        head.Blocks(body);
      } else {
        head.Statement(AddTasklet(&s_, first_name, {}, Expr(0)));
        head.Blocks(body);
      }
      body = head.Take();
      condition = Expr();
    } else if (!first_name.empty()) {
      BlockList head(&s_);
      head.Statement(AddTasklet(&s_, first_name, {}, Expr(0)));
      head.Blocks(body);
      body = head.Take();
    }

    flag_ = Name();
    left_ = Name();
    flag_needed_ = break_seen_ = exits_seen_ = false;
    Lowered lowered = Lower(body, 0);
    if (exits_seen_) {
      changed = true;
      if (break_seen_) left_ = Scalar("left", DType::kI64);
      if (flag_needed_) flag_ = Scalar("done", DType::kI64);
      if (break_seen_ || flag_needed_) lowered = Lower(body, 0);  // once more, with the flags
      body = std::move(lowered.blocks);
      if (!flag_.empty()) {
        BlockList head(&s_);
        head.Statement(AddTasklet(&s_, flag_, {}, Expr(0)));
        head.Blocks(body);
        body = head.Take();
      }
      if (!left_.empty()) {
        out->Statement(AddTasklet(&s_, left_, {}, Expr(0)));
        Expr stay = BinaryExpr(Op::kEq, ReadExpr(left_, {}), Expr(0));
        condition = condition ? BinaryExpr(Op::kAnd, stay, condition) : stay;
      }
    }
    if (l.update && !IsSimple(l.update)) {
      // The next value is looked up in the body, unless the loop is left.
      Name next = Scalar("next", DType::kI64);
      BlockList tail(&s_);
      tail.Blocks(body);
      std::vector<BlockId> state = {s_.AddBlock(State{{}, {AddTasklet(&s_, next, {}, Integer(l.update))}}, origin)};
      if (left_.empty()) {
        tail.Blocks(state);
      } else {
        out->Statement(AddTasklet(&s_, next, {}, Expr(0)));
        Conditional c;
        c.branches.push_back({BinaryExpr(Op::kEq, ReadExpr(left_, {}), Expr(0)), state});
        tail.Block(s_.AddBlock(std::move(c), origin));
      }
      body = tail.Take();
      l.update = ReadExpr(next, {});
      changed = true;
    }
    if (!changed) return out->Block(b);
    changed_ = true;
    l.condition = condition;
    l.body = std::move(body);
    out->Block(s_.AddBlock(std::move(l), origin));
  }

  // blocks[at…] of a loop's body without exits. Where one way only goes on after a conditional, the rest moves into it;
  // else a flag says whether to go on.
  Lowered Lower(const std::vector<BlockId>& blocks, size_t at) {
    Lowered out;
    for (size_t i = at; i < blocks.size(); ++i) {
      const Block& block = s_.blocks[blocks[i]];
      const bool is_break = std::holds_alternative<Break>(block.control);
      if (is_break || std::holds_alternative<Continue>(block.control)) {
        exits_seen_ = true;
        break_seen_ |= is_break;
        std::vector<NodeId> set;
        if (is_break && !left_.empty()) set.push_back(AddTasklet(&s_, left_, {}, Expr(1)));
        if (!flag_.empty()) set.push_back(AddTasklet(&s_, flag_, {}, Expr(1)));
        if (!set.empty()) out.blocks.push_back(s_.AddBlock(State{{}, set}, block.origin));
        out.exit = Exit::kAlways;
        return out;
      }
      auto* d = std::get_if<Conditional>(&block.control);
      if (!d) {
        out.blocks.push_back(blocks[i]);
        continue;
      }
      Conditional c = *d;
      const Origin origin = block.origin;
      std::vector<Exit> exits;
      int falls = 0, maybes = 0, leaves = 0;
      size_t falling = 0;
      for (size_t k = 0; k < c.branches.size(); ++k) {
        Lowered inner = Lower(c.branches[k].body, 0);
        c.branches[k].body = std::move(inner.blocks);
        exits.push_back(inner.exit);
        if (inner.exit == Exit::kNever) ++falls, falling = k;
        maybes += inner.exit == Exit::kMaybe;
        leaves += inner.exit == Exit::kAlways;
      }
      if (maybes == 0 && leaves == 0) {
        out.blocks.push_back(blocks[i]);
        continue;
      }
      const bool total = !c.branches.back().condition;
      if (!total) ++falls, falling = c.branches.size();
      if (falls == 0 && maybes == 0) {  // every way leaves
        Add(std::move(c), origin, &out.blocks);
        out.exit = Exit::kAlways;
        return out;
      }
      out.exit = Exit::kMaybe;
      if (i + 1 == blocks.size()) {
        Add(std::move(c), origin, &out.blocks);
        return out;
      }
      Lowered rest = Lower(blocks, i + 1);
      if (rest.exit == Exit::kAlways && maybes == 0) out.exit = Exit::kAlways;
      if (falls == 1 && maybes == 0) {
        if (falling == c.branches.size()) c.branches.push_back({Expr(), {}});
        std::vector<BlockId>& into = c.branches[falling].body;
        into.insert(into.end(), rest.blocks.begin(), rest.blocks.end());
        Add(std::move(c), origin, &out.blocks);
        return out;
      }
      flag_needed_ = true;
      Add(std::move(c), origin, &out.blocks);
      if (!flag_.empty()) {
        Conditional guard;
        guard.branches.push_back({BinaryExpr(Op::kEq, ReadExpr(flag_, {}), Expr(0)), std::move(rest.blocks)});
        out.blocks.push_back(s_.AddBlock(std::move(guard), origin));
      }
      return out;
    }
    return out;
  }
  // `if c { } else { R }` is `if !c { R }`.
  void Add(Conditional c, const Origin& origin, std::vector<BlockId>* out) {
    while (!c.branches.empty() && c.branches.back().body.empty()) c.branches.pop_back();
    if (c.branches.empty()) return;
    if (c.branches.size() == 2 && c.branches[0].body.empty() && !c.branches[1].condition) {
      c.branches[1].condition = Negated(c.branches[0].condition);
      c.branches.erase(c.branches.begin());
    }
    out->push_back(s_.AddBlock(std::move(c), origin));
  }
  static Expr Negated(const Expr& e) {
    return e.Is(ExprKind::kUnary) && e->op == Op::kNot ? e->args[0] : UnaryExpr(Op::kNot, e);
  }

  // ---- expressions ----
  // Reads scalars only.
  bool IsSimple(const Expr& e) const {
    bool simple = true;
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) simple &= s_.Get(x->name).shape.empty();
      return simple;
    });
    return simple;
  }
  static bool IsSymbolic(const Expr& e) { return ReadContainers(e).empty(); }
  bool Depends(const Expr& e, const std::unordered_set<Name>& written) const {
    bool found = false;
    Visit(e, [&](const Expr& x) {
      if (x.Is(ExprKind::kRead)) found |= written.count(RootOf(s_, x->name)) > 0;
      if (x.Is(ExprKind::kSymbol)) found |= written.count(x->name) > 0;
      return !found;
    });
    return found;
  }
  // Roots of containers that blocks write, and the sizes that they define.
  std::unordered_set<Name> Written(const std::vector<BlockId>& body) const {
    std::unordered_set<Name> out;
    ForEachBlock(s_, body, [&](BlockId b) {
      const Control& c = s_.blocks[b].control;
      if (auto* a = std::get_if<Assign>(&c)) out.insert(a->symbol);
      auto* st = std::get_if<State>(&c);
      if (!st) return;
      for (NodeId n : st->statements) WrittenByNode(n, &out);
    });
    return out;
  }
  void WrittenByNode(NodeId id, std::unordered_set<Name>* out) const {
    const Body& b = s_.nodes[id].body;
    if (auto* t = std::get_if<Tasklet>(&b)) out->insert(RootOf(s_, t->target));
    if (auto* m = std::get_if<Map>(&b))
      for (NodeId n : m->body) WrittenByNode(n, out);
    if (auto* l = std::get_if<Library>(&b)) {
      for (const Port& p : l->outputs) out->insert(RootOf(s_, p.container));
      for (Name d : l->defines) out->insert(d);
    }
    if (auto* n = std::get_if<Nested>(&b))  // any argument may be written
      for (const Argument& a : n->arguments) out->insert(RootOf(s_, a.container));
  }
  Name Scalar(std::string_view stem, DType t) {
    Container c;
    c.name = fresh_(stem);
    c.dtype = t;
    s_.Add(c);
    return c.name;
  }
  // The value at this point, as a symbol: bounds of loops are sizes to whoever asks for trip counts.
  Expr Hoist(const Expr& e, std::string_view stem, BlockList* out) {
    Name n = fresh_(stem);
    out->Let(n, Integer(e));
    return SymbolExpr(n);
  }
  DType TypeOf(const Expr& e, DType expected) const {
    Result<Expr> t = InferTypes(s_, e, expected);
    return t.ok() ? (*t)->dtype : DType::kNone;
  }
  Expr Integer(const Expr& e) const {
    DType t = TypeOf(e, DType::kI64);
    return t == DType::kI64 || t == DType::kIndex ? e : CastExpr(DType::kI64, e);
  }
  Expr Truth(const Expr& e) const {
    return TypeOf(e, DType::kNone) == DType::kBool ? e : BinaryExpr(Op::kNe, e, Expr(0));
  }

  Sdfg& s_;
  FreshNames fresh_;
  bool changed_ = false;
  // Of the loop that is being lowered: set on the way out, when they are named.
  Name flag_, left_;
  bool flag_needed_ = false, break_seen_ = false, exits_seen_ = false;
};

}  // namespace

Result<bool> StructureExits(Program& p) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) changed |= Structurer(&p.Mutable(p.sdfgs[i]->name)).Run();
  return changed;
}

}  // namespace headrace::autodiff
