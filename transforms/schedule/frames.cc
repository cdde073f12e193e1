#include "transforms/schedule/frames.h"

#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/analysis/type_inference.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

// The values of an index at the corners of the ranges; nullopt where it isn't a sum of them times numbers.
struct Extremes {
  int64_t least = 0, most = 0;
};
std::optional<Extremes> ExtremesOf(const Expr& index, const std::vector<Range>& ranges) {
  NameMap zero;
  for (const Range& r : ranges) zero.emplace_back(r.index, Expr(0));
  const auto base = AsInt(Substitute(index, zero));
  if (!base) return std::nullopt;
  Extremes out{*base, *base};
  for (const Range& r : ranges) {
    const auto c = Coefficient(index, r.index);
    if (!c) return std::nullopt;
    const auto step = AsInt(*c), count = AsInt(r.end);
    if (!step || !count || *count < 1) return std::nullopt;
    (*step < 0 ? out.least : out.most) += *step * (*count - 1);
  }
  return out;
}

std::vector<Expr> Conjuncts(const Expr& e) {
  if (!e.Is(ExprKind::kBinary) || e->op != Op::kAnd) return {e};
  std::vector<Expr> out = Conjuncts(e->args[0]);
  for (const Expr& x : Conjuncts(e->args[1])) out.push_back(x);
  return out;
}

// The one choice of the value: whether an element is inside, else a constant.
Expr OnlyChoice(const Expr& value) {
  Expr found;
  int count = 0;
  Visit(value, [&](const Expr& e) {
    if (e.Is(ExprKind::kSelect)) found = e, ++count;
    return true;
  });
  if (count != 1 || !found->args[1].Is(ExprKind::kRead) || found->args[1]->flat || found->args[1]->has_default) return {};
  const Expr& otherwise = found->args[2];
  return AsInt(otherwise) || otherwise.Is(ExprKind::kFloat) ? found : Expr();
}

// Every condition asks whether the element is inside the array in one of the two dimensions.
bool AsksForBorders(const Expr& choice, const std::vector<Expr>& shape, const std::vector<size_t>& dimensions) {
  const std::vector<Expr> asked = Conjuncts(choice->args[0]);
  return std::all_of(asked.begin(), asked.end(), [&](const Expr& c) {
    return std::any_of(dimensions.begin(), dimensions.end(), [&](size_t d) {
      const Expr& index = choice->args[1]->args[d];
      return c == BinaryExpr(Op::kGe, index, Expr(0)) || c == BinaryExpr(Op::kLt, index, shape[d]);
    });
  });
}

bool MentionsAny(const Expr& e, const std::vector<Range>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) { return Mentions(e, r.index); });
}

// An image that several results read is laid out anew for each: only for sums that read it often.
bool IsWorthItsFrame(const Frames& f, int64_t elements, const Device& d) {
  const auto moves = [&](const Range& r) {
    const auto& index = f.choice->args[1]->args;
    return std::any_of(index.begin(), index.end(), [&](const Expr& x) { return Mentions(x, r.index); });
  };
  if (std::all_of(f.outer.begin(), f.outer.end(), moves)) return true;
  int64_t operations = 2 * *AsInt(f.row.end) * *AsInt(f.column.end);
  for (const Range& r : f.window) operations *= *AsInt(r.end);
  return operations >= d.copy_share * elements;
}

}  // namespace

std::optional<Frames> FramesOf(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::vector<bool>& apart, DType type, const Device& d) {
  Frames f;
  f.sum = sum;
  f.choice = OnlyChoice(sum.value);
  if (!f.choice || !IsFloat(type) || sum.op == WriteOp::kAssign) return std::nullopt;
  const Offset target = OffsetOf(s, sum.target, sum.index, sum.flat);
  const Expr read = f.choice->args[1];
  if (!target.elements || RootOf(s, read->name) == target.root || s.Get(read->name).dtype != type) return std::nullopt;
  std::vector<Range> kept;
  for (size_t i = 0; i < n.ranges.size(); ++i) (apart[i] ? kept : f.window).push_back(n.ranges[i]);
  const auto walks = [&](const Range& r) { return AsInt(Coefficient(target.elements, r.index).value_or(Expr(0))) == 1; };
  const auto column = std::find_if(kept.begin(), kept.end(), walks);
  if (column == kept.end()) return std::nullopt;
  f.column = *column;
  kept.erase(column);
  const auto dimension = [&](Name index) -> std::optional<size_t> {  // the only one that moves with it
    std::optional<size_t> out;
    for (size_t k = 0; k < read->args.size(); ++k)
      if (Mentions(read->args[k], index)) {
        if (out) return std::nullopt;
        out = k;
      }
    return out;
  };
  const auto across = dimension(f.column.index);
  if (!across) return std::nullopt;
  f.column_dimension = *across;
  const auto row = std::find_if(kept.begin(), kept.end(), [&](const Range& r) {
    const auto k = dimension(r.index);
    return k && *k != *across && MentionsAny(read->args[*k], f.window);
  });
  if (row == kept.end()) return std::nullopt;
  f.row = *row, f.row_dimension = *dimension(row->index);
  kept.erase(row);
  f.outer = kept;
  for (size_t k = 0; k < read->args.size(); ++k)
    if (k != f.row_dimension && k != f.column_dimension && (!IsIndexExpr(read->args[k]) || MentionsAny(read->args[k], f.window))) return std::nullopt;
  // Nothing else moves with the column, so lanes beyond the last one read nothing but the frame.
  bool alone = true;
  Visit(sum.value, [&](const Expr& e) {
    if (e == f.choice) return false;
    alone = alone && !(e.Is(ExprKind::kSymbol) && e->name == f.column.index);
    return alone;
  });
  const std::vector<Expr>& shape = s.Get(read->name).shape;
  if (!alone || !AsksForBorders(f.choice, shape, {f.row_dimension, f.column_dimension})) return std::nullopt;
  const int64_t lanes = d.vector_bytes / ByteSize(type);
  const auto columns = AsInt(f.column.end);
  if (!columns || *columns >= 2 * lanes || *columns % lanes == 0) return std::nullopt;
  Range whole = f.column;
  whole.end = Expr((*columns + lanes - 1) / lanes * lanes);
  std::vector<Range> rows = f.window, all = f.window;
  rows.push_back(f.row), all.push_back(whole);
  const auto high = ExtremesOf(read->args[f.row_dimension], rows), wide = ExtremesOf(read->args[f.column_dimension], all);
  if (!high || !wide || !AsInt(shape[f.row_dimension]) || !AsInt(shape[f.column_dimension])) return std::nullopt;
  f.row_begin = high->least, f.row_end = high->most + 1, f.column_begin = wide->least;
  const int64_t elements = (f.row_end - f.row_begin) * (wide->most + 1 - wide->least);
  if (elements > d.strip_elements || !IsWorthItsFrame(f, elements, d)) return std::nullopt;
  return f;
}

namespace {

class FramesScheduler {
 public:
  using Statements = std::vector<NodeId>;

  FramesScheduler(Sdfg* s, const Device& d, const Frames& f, const Completion& c)
      : s_(s), d_(d), f_(f), completion_(c), type_(SumTypeOf(*s, c)) {
    const int64_t vector = d.vector_bytes / ByteSize(type_);
    lanes_ = (*AsInt(f.column.end) + vector - 1) / vector * vector;
    i1_ = FreshIn(*s, f.row.index.str() + "_1"), r_ = FreshIn(*s, "r"), u_ = FreshIn(*s, "u");
  }

  std::optional<Statements> Run() {
    const Expr read = f_.choice->args[1];
    std::vector<Range> all = f_.window;
    all.push_back({f_.column.index, Expr(0), Expr(lanes_), Expr(1)});
    const int64_t width = ExtremesOf(read->args[f_.column_dimension], all)->most + 1 - f_.column_begin;
    const int64_t height = f_.row_end - f_.row_begin;
    frame_ = Local("frame", {Expr(height), Expr(width)}, Storage::kWorker);
    Statements body = Fill(height, width);
    const auto rows = AsInt(f_.row.end);
    const int64_t tile = std::min(*rows, d_.window_rows);
    const Range tiles{i1_, Expr(0), Expr(*rows / tile * tile), Expr(tile)};
    Add(&body, Wrap(s_, {{{tiles}, Schedule::kSequential}}, Tile(tile, SymbolExpr(i1_))));
    if (*rows % tile != 0) Add(&body, Tile(*rows % tile, Expr(*rows / tile * tile)));
    const Expr work = Expr(OperationsOf(*s_, {s_->AddNode(f_.sum)}) * *rows) * f_.column.end * CountOf(f_.window);
    const Shared shared = ShareOut(*s_, f_.outer, work, d_);
    return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
  }

 private:
  static void Add(Statements* to, const Statements& more) { to->insert(to->end(), more.begin(), more.end()); }
  static Expr CountOf(const std::vector<Range>& ranges) {
    Expr n(1);
    for (const Range& r : ranges) n = n * r.end;
    return n;
  }
  NodeId Put(Name target, std::vector<Expr> index, WriteOp op, Expr value) {
    return schedule::Put(s_, target, std::move(index), op, std::move(value));
  }
  Name Local(const std::string& stem, std::vector<Expr> shape, Storage storage) {
    return schedule::Local(s_, stem, type_, std::move(shape), storage);
  }

  // The border, then what is inside.
  Statements Fill(int64_t height, int64_t width) {
    const Expr read = f_.choice->args[1], r = SymbolExpr(r_), u = SymbolExpr(u_);
    const std::vector<Expr>& shape = s_->Get(read->name).shape;
    const auto inside = [](int64_t begin, int64_t count, const Expr& extent) {
      return std::pair(Expr(std::clamp<int64_t>(-begin, 0, count)), Expr(std::clamp<int64_t>(*AsInt(extent) - begin, 0, count)));
    };
    const auto rows = inside(f_.row_begin, height, shape[f_.row_dimension]), columns = inside(f_.column_begin, width, shape[f_.column_dimension]);
    Statements out = Wrap(s_, {{{{r_, Expr(0), Expr(height), Expr(1)}}, Schedule::kSequential}, {{{u_, Expr(0), Expr(width), Expr(1)}}, Schedule::kVector}},
                          {Put(frame_, {r, u}, WriteOp::kAssign, f_.choice->args[2])});
    std::vector<Expr> index(read->args.begin(), read->args.end());
    index[f_.row_dimension] = r + Expr(f_.row_begin), index[f_.column_dimension] = u + Expr(f_.column_begin);
    Add(&out, Wrap(s_, {{{{r_, rows.first, rows.second, Expr(1)}}, Schedule::kSequential}, {{{u_, columns.first, columns.second, Expr(1)}}, Schedule::kVector}},
                   {Put(frame_, {r, u}, WriteOp::kAssign, ReadExpr(read->name, index))}));
    return out;
  }

  Statements Tile(int64_t rows, const Expr& first) {
    const Name t = Local("t", {Expr(rows), Expr(lanes_)}, Storage::kRegister);
    const Expr r = SymbolExpr(r_), u = SymbolExpr(u_), read = f_.choice->args[1], sum = ReadExpr(t, {r, u});
    const NameMap place = {{f_.row.index, first + r}, {f_.column.index, u}};
    const Level all{{{r_, Expr(0), Expr(rows), Expr(1)}}, Schedule::kUnroll}, lanes{{{u_, Expr(0), Expr(lanes_), Expr(1)}}, Schedule::kVector};
    const Expr element = ReadExpr(frame_, {read->args[f_.row_dimension] - Expr(f_.row_begin), read->args[f_.column_dimension] - Expr(f_.column_begin)});
    const Expr term = Substitute(Transform(f_.sum.value, [&](const Expr& e) { return e == f_.choice ? element : e; }), place);
    // No fused step: where vectors are shorter the same sum may have a schedule without frames, and has the same bits.
    const NodeId step = Put(t, {r, u}, f_.sum.op, term);
    Statements out = Wrap(s_, {all, lanes}, {Put(t, {r, u}, WriteOp::kAssign, IdentityOf(f_.sum.op, type_))});
    Add(&out, Wrap(s_, {{f_.window, Schedule::kSequential}, all, lanes}, {step}));
    const Range results{u_, Expr(0), f_.column.end, Expr(1)};
    Add(&out, Wrap(s_, {all, {{results}, Schedule::kVector}}, CompletedAt(s_, completion_, place, sum)));
    return out;
  }

  Sdfg* s_;
  const Device& d_;
  const Frames& f_;
  const Completion& completion_;
  const DType type_;
  int64_t lanes_ = 0;
  Name i1_, r_, u_, frame_;
};

}  // namespace

std::optional<std::vector<NodeId>> ScheduleFrames(Sdfg* s, const Device& d, const Frames& f, const Completion& completion) {
  return FramesScheduler(s, d, f, completion).Run();
}

}  // namespace headrace::schedule
