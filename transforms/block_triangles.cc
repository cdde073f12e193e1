#include "transforms/block_triangles.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "ir/analysis/layout.h"
#include "transforms/each_sdfg.h"

namespace headrace {
namespace {

constexpr int64_t kBlock = 64;          // rows, at most,
constexpr int64_t kLeast = 8;           // and at least
constexpr int64_t kLeastOther = 64;     // iterations over the other ranges,
constexpr int64_t kLeastAll = 1 << 20;  // and all of them together

// A map over x in first:first + rows, among others, and y in x + edge:end (upper) or begin:x + edge.
struct Triangle {
  Map map;
  Tasklet sum;
  bool moved = false;  // y + x has taken the place of y
  size_t x = 0, y = 0;
  bool upper = false;
  int64_t first = 0, rows = 0, edge = 0, other_end = 0;  // other_end: of y, the bound that does not move
};

// c of x + c or c - x.
std::optional<int64_t> Moved(const Expr& e, Name x, int64_t sign) {
  const auto by = Coefficient(e, x);
  return by && AsInt(*by) == sign ? AsInt(Simplify(e - Expr(sign) * SymbolExpr(x))) : std::nullopt;
}

bool IsPlainSum(const Sdfg& s, const Tasklet& t) {
  const Container* c = s.Find(t.target);
  const bool real = c && c->storage != Storage::kRegister && (c->dtype == DType::kF32 || c->dtype == DType::kF64);
  return real && t.op == WriteOp::kAdd && !t.guarded && !t.flat && t.value.Is(ExprKind::kBinary) && t.value->op == Op::kMul &&
         std::all_of(t.index.begin(), t.index.end(), IsIndexExpr);
}

// Where y ends with -x, y + x takes its place: then it begins with x.
void TakeSum(Triangle* t) {
  Range& y = t->map.ranges[t->y];
  const Expr x = SymbolExpr(t->map.ranges[t->x].index);
  const NameMap moved = {{y.index, SymbolExpr(y.index) - x}};
  t->sum.value = Substitute(t->sum.value, moved);
  for (Expr& e : t->sum.index) e = Simplify(Substitute(e, moved));
  y.begin = Simplify(y.begin + x), y.end = Simplify(y.end + x);
  t->moved = true;
}

// Finds which range moves with which; false where that is no triangle.
bool FindSides(Triangle* t) {
  const std::vector<Range>& ranges = t->map.ranges;
  int moving = 0;
  for (size_t k = 0; k < ranges.size(); ++k) {
    if (ranges[k].step && AsInt(ranges[k].step) != 1) return false;
    if (!AsInt(ranges[k].begin) || !AsInt(ranges[k].end)) t->y = k, ++moving;
  }
  if (moving != 1) return false;
  for (size_t k = 0; k < t->y; ++k)
    if (Mentions(ranges[t->y].begin, ranges[k].index) || Mentions(ranges[t->y].end, ranges[k].index)) t->x = k, ++moving;
  if (moving != 2) return false;
  const Name x = ranges[t->x].index;
  const Range& y = ranges[t->y];
  if (Moved(y.end, x, -1) || Moved(y.begin, x, -1)) TakeSum(t);
  const Range& now = t->map.ranges[t->y];
  const auto begins = Moved(now.begin, x, 1), ends = Moved(now.end, x, 1);
  const auto begin = AsInt(now.begin), end = AsInt(now.end);
  if (!(begins && end) && !(ends && begin)) return false;
  t->upper = begins.has_value();
  t->edge = t->upper ? *begins : *ends;
  t->other_end = t->upper ? *end : *begin;
  t->first = *AsInt(ranges[t->x].begin);
  t->rows = *AsInt(ranges[t->x].end) - t->first;
  // Every row has some of it, so that no rectangle ends before it begins.
  return t->upper ? t->other_end >= t->first + t->rows - 1 + t->edge : t->other_end <= t->first + t->edge;
}

std::optional<Triangle> TriangleOf(const Sdfg& s, NodeId n) {
  const auto* m = std::get_if<Map>(&s.nodes[n].body);
  if (!m || m->schedule != Schedule::kDefault || m->ranges.size() < 3 || m->body.size() != 1) return std::nullopt;
  const auto* sum = std::get_if<Tasklet>(&s.nodes[m->body[0]].body);
  if (!sum || !IsPlainSum(s, *sum)) return std::nullopt;
  Triangle t;
  t.map = *m, t.sum = *sum;
  if (!FindSides(&t) || t.rows < 2 * kBlock) return std::nullopt;
  int64_t others = 1;
  for (size_t k = 0; k < t.map.ranges.size(); ++k)
    if (k != t.x && k != t.y) others *= std::clamp<int64_t>(*AsInt(t.map.ranges[k].end) - *AsInt(t.map.ranges[k].begin), 0, 1 << 20);
  if (others < kLeastOther || others > (1 << 20) || t.rows / 2 * t.rows * others < kLeastAll) return std::nullopt;
  return t;
}

class Blocks {
 public:
  Blocks(Sdfg* s, const Ask& ask) : s_(*s), ask_(ask) {}

  bool Run() {
    s_.body = List(std::vector<BlockId>(s_.body));
    return changed_;
  }

 private:
  std::vector<BlockId> List(const std::vector<BlockId>& body) {
    std::vector<BlockId> out;
    for (BlockId b : body) {
      const Control c = s_.blocks[b].control;
      if (const auto* l = std::get_if<Loop>(&c)) {
        std::vector<BlockId> inner = List(l->body);
        if (!(inner == l->body)) std::get<Loop>(s_.blocks.Mutable(b).control).body = std::move(inner);
      } else if (const auto* d = std::get_if<Conditional>(&c)) {
        for (size_t k = 0; k < d->branches.size(); ++k) {
          std::vector<BlockId> inner = List(d->branches[k].body);
          if (!(inner == d->branches[k].body)) std::get<Conditional>(s_.blocks.Mutable(b).control).branches[k].body = std::move(inner);
        }
      } else if (const auto* state = std::get_if<State>(&c)) {
        StateOf(b, *state, &out);
        continue;
      }
      out.push_back(b);
    }
    return out;
  }

  // The state up to a triangle, loops, the state from there on …
  void StateOf(BlockId b, const State& state, std::vector<BlockId>* out) {
    std::vector<NodeId> run;
    bool cut = false;
    const auto close = [&] {
      if (!run.empty()) out->push_back(s_.AddBlock(State{cut ? Name() : state.label, run}, s_.blocks[b].origin));
      run.clear();
    };
    for (NodeId n : state.statements) {
      const std::optional<Triangle> t = TriangleOf(s_, n);
      Match m;
      m.sdfg = s_.name, m.statements = {n};
      if (!t || !ask_(m)) {
        run.push_back(n);
        continue;
      }
      close();
      cut = changed_ = true;
      All(*t, s_.nodes[n].origin, out, &run);
    }
    if (!cut) return out->push_back(b);
    close();
  }

  // Where rectangles begin or end, from the first of their rows on: at whole blocks if they can, for the sake of tiles.
  static int64_t UpperBegin(const Triangle& t, int64_t rows) {
    return t.edge == 0 && t.other_end >= t.first + t.rows ? rows : t.edge + rows - 1;
  }
  static int64_t LowerEnd(const Triangle& t) { return t.edge == 1 && t.other_end <= t.first ? 0 : t.edge; }

  static Expr Between(const Triangle& t, const Expr& first, int64_t rows) {
    return Simplify(first + Expr(t.upper ? UpperBegin(t, rows) : LowerEnd(t)));
  }

  // Rectangles of blocks of rows in a loop, and those of what is left; then all the small triangles, in one map.
  void All(const Triangle& t, const Origin& origin, std::vector<BlockId>* out, std::vector<NodeId>* rest) {
    const int64_t blocks = t.rows / kBlock, smallest = t.rows / kLeast, left = t.rows % kLeast;
    const Expr first(t.first), second(t.first + kBlock * blocks), last(t.first + kLeast * smallest);
    Repeat(blocks, first, kBlock, origin, out, [&](const Expr& from, std::vector<BlockId>* inside) {
      Outer(t, from, kBlock, origin, inside);
      Halve(t, from, kBlock, origin, inside);
    });
    Repeat(smallest - blocks * (kBlock / kLeast), second, kLeast, origin, out, [&](const Expr& from, std::vector<BlockId>* inside) {
      Outer(t, from, kLeast, origin, inside);
    });
    const Name block = s_.FreshName("block");
    const Range each{block, Expr(0), Expr(smallest), Expr(1)};
    rest->push_back(Small(t, Simplify(first + Expr(kLeast) * SymbolExpr(block)), kLeast, {each}, origin));
    if (left == 0) return;
    if (!(Between(t, last, left) == Expr(t.other_end))) rest->push_back(Rectangle(t, last, left, Expr(t.other_end), origin));
    rest->push_back(Small(t, last, left, {}, origin));
  }
  void Outer(const Triangle& t, const Expr& first, int64_t rows, const Origin& origin, std::vector<BlockId>* out) {
    out->push_back(s_.AddBlock(State{{}, {Rectangle(t, first, rows, Expr(t.other_end), origin)}}, origin));
  }
  // A triangle of a power of two of rows is a square and two triangles of half as many, and so on.
  void Halve(const Triangle& t, const Expr& from, int64_t rows, const Origin& origin, std::vector<BlockId>* out) {
    for (int64_t half = rows / 2; half >= kLeast; half /= 2)
      Repeat(rows / half / 2, from, 2 * half, origin, out, [&](const Expr& first, std::vector<BlockId>* inside) {
        const Expr begin = t.upper ? first : Simplify(first + Expr(half));
        inside->push_back(s_.AddBlock(State{{}, {Rectangle(t, begin, half, Between(t, first, 2 * half), origin)}}, origin));
      });
  }
  // What `body` makes of `from`, from + by … in a loop.
  void Repeat(int64_t times, const Expr& from, int64_t by, const Origin& origin, std::vector<BlockId>* out,
              const std::function<void(const Expr&, std::vector<BlockId>*)>& body) {
    if (times == 0) return;
    if (times == 1) return body(from, out);
    const Name block = s_.FreshName("block");
    const BlockId loop = s_.AddBlock(RangeLoop(block, Expr(0), Expr(times)), origin);  // first: its name is taken then
    out->push_back(loop);
    std::vector<BlockId> inside;
    body(Simplify(from + Expr(by) * SymbolExpr(block)), &inside);
    std::get<Loop>(s_.blocks.Mutable(loop).control).body = std::move(inside);
  }

  // Of some rows what lies between the triangle at their end and `other`; and that triangle.
  NodeId Rectangle(const Triangle& t, const Expr& first, int64_t rows, const Expr& other, const Origin& origin) {
    const Expr between = Between(t, first, rows);
    return t.upper ? Part(t, first, rows, between, other, origin) : Part(t, first, rows, other, between, origin);
  }
  // The triangle itself. `around`: ranges that say where it is.
  NodeId Small(const Triangle& t, const Expr& first, int64_t rows, const std::vector<Range>& around, const Origin& origin) {
    const Expr x = SymbolExpr(t.map.ranges[t.x].index), edge(t.edge), between = Between(t, first, rows);
    const Expr end = Simplify(first + Expr(t.upper ? t.edge : rows - 1 + t.edge));
    const Range xs{Name(), first, first + Expr(rows), 1}, ys{Name(), t.upper ? end : between, t.upper ? between : end, 1};
    const std::optional<Triangle> square = Chosen(t, xs, ys, around);
    const Triangle& sum = square ? *square : t;
    const Expr moves = square ? end : x + edge;
    return Among(t.upper ? Part(sum, first, rows, moves, between, origin) : Part(sum, first, rows, between, moves, origin), around);
  }
  // A sum over the triangle as one over the square around it: terms outside are none, whatever their factors are. Not where each
  // result has one element of the triangle, or where a factor would be outside of its array.
  std::optional<Triangle> Chosen(const Triangle& t, const Range& xs, const Range& ys, const std::vector<Range>& around) const {
    const Name x = t.map.ranges[t.x].index, y = t.map.ranges[t.y].index;
    const auto speaks = [&](Name n) {
      return std::any_of(t.sum.index.begin(), t.sum.index.end(), [&](const Expr& e) { return Mentions(e, n); });
    };
    if (speaks(x) && speaks(y)) return std::nullopt;
    std::vector<Range> ranges = around;
    for (size_t k = 0; k < t.map.ranges.size(); ++k) {
      ranges.push_back(k == t.x ? xs : k == t.y ? ys : t.map.ranges[k]);
      ranges.back().index = t.map.ranges[k].index;
    }
    bool inside = true;
    Visit(t.sum.value, [&](const Expr& e) {
      if (!e.Is(ExprKind::kRead)) return true;
      const std::vector<Expr>& shape = s_.Get(e->name).shape;
      inside = inside && !e->flat && !e->has_default && e->args.size() == shape.size();
      for (size_t d = 0; inside && d < shape.size(); ++d)
        inside = IsIndexExpr(e->args[d]) && UnprovenSides(ranges, e->args[d], shape[d], s_.assumptions).none();
      return true;
    });
    if (!inside) return std::nullopt;
    Triangle all = t;
    const Expr within = BinaryExpr(t.upper ? Op::kGe : Op::kLt, SymbolExpr(y), Simplify(SymbolExpr(x) + Expr(t.edge)));
    all.sum.value = SelectExpr(within, t.sum.value, FloatExpr(0));
    return all;
  }
  NodeId Among(NodeId map, const std::vector<Range>& around) {
    std::vector<Range>& ranges = std::get<Map>(s_.nodes.Mutable(map).body).ranges;
    ranges.insert(ranges.begin(), around.begin(), around.end());
    return map;
  }
  NodeId Part(const Triangle& t, const Expr& first, int64_t rows, const Expr& begin, const Expr& end, const Origin& origin) {
    Map m = t.map;
    Tasklet sum = t.sum;
    Range &x = m.ranges[t.x], &y = m.ranges[t.y];
    x.begin = Simplify(first), x.end = Simplify(first + Expr(rows));
    y.begin = begin, y.end = end;
    if (t.moved && Mentions(begin, x.index)) {  // as it was: lanes begin at 0
      const NameMap back = {{y.index, SymbolExpr(y.index) + SymbolExpr(x.index)}};
      sum.value = Substitute(sum.value, back);
      for (Expr& e : sum.index) e = Simplify(Substitute(e, back));
      y.begin = Simplify(y.begin - SymbolExpr(x.index)), y.end = Simplify(y.end - SymbolExpr(x.index));
    }
    m.body = {s_.AddNode(std::move(sum), origin)};
    return s_.AddNode(std::move(m), origin);
  }

  Sdfg& s_;
  const Ask& ask_;
  bool changed_ = false;
};

}  // namespace

Result<bool> BlockTriangles(Program& p, const Ask& ask) {
  return transforms::ChangeEach(p, [&](Sdfg* s) {
    transforms::StraightenTriangles(s, [&](NodeId n) { return TriangleOf(*s, n).has_value(); });
    return Blocks(s, ask).Run();
  });
}

}  // namespace headrace
