#include "transforms/schedule/product_schedule.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

bool IsBelow(const Expr& n, int64_t of) { return AsInt(n) && *AsInt(n) < of; }

}  // namespace

Range ProductScheduler::Cuts::Within(Name index, const Expr& step) const {
  if (AsInt(part) == 0) return {index, Expr(0), count, step};
  return {index, SymbolExpr(parts), Min(SymbolExpr(parts) + part, count), step};
}

std::vector<Range> ProductScheduler::Cuts::Parts() const {
  if (AsInt(part) == 0) return {};
  return {{parts, Expr(0), count, part}};
}

bool ProductScheduler::Along(const Expr& operand, Name index) const {
  bool along = false;
  Visit(operand, [&](const Expr& e) {
    if (!e.Is(ExprKind::kRead)) return true;
    const Offset at = OffsetOf(*s_, e->name, {e->args.begin(), e->args.end() - e->has_default}, e->flat);
    const Expr stride = at.elements ? StrideOf(at.elements, index) : Expr();
    along |= stride && AsInt(stride) == 1;
    return true;
  });
  return along;
}

// How far apart in memory an operand's elements for consecutive values of the index are, at most.
int64_t ProductScheduler::StepOf(const Expr& operand, Name index) const {
  int64_t step = 0;
  Visit(operand, [&](const Expr& e) {
    if (!e.Is(ExprKind::kRead)) return true;
    const Offset at = OffsetOf(*s_, e->name, {e->args.begin(), e->args.end() - e->has_default}, e->flat);
    const Expr stride = at.elements ? StrideOf(at.elements, index) : Expr();
    step = std::max(step, std::abs(stride ? AsInt(stride).value_or(INT32_MAX) : INT32_MAX));
    return true;
  });
  return step;
}

// The longest index first, the one that memory runs along last, if what is in one step of the first is not too much then.
void ProductScheduler::InOrder(std::vector<Range>* depth) const {
  const auto extent = [](const Range& r) { return AsInt(r.end).value_or(1 << 16); };
  const auto fits = [&](const std::vector<Range>& order) {
    const auto inner = AsInt(CountOf({order.begin() + 1, order.end()}));
    return inner && *inner <= 2 * d_.block_depth;
  };
  std::vector<Range> as_rows = *depth;  // as they lie in the row operand
  std::stable_sort(as_rows.begin(), as_rows.end(), [&](const Range& x, const Range& y) {
    return StepOf(p_.row_operand, x.index) > StepOf(p_.row_operand, y.index);
  });
  if (p_.row_operand.Is(ExprKind::kRead) && fits(as_rows)) {
    *depth = as_rows;
    return;
  }
  std::stable_sort(depth->begin(), depth->end(), [&](const Range& x, const Range& y) { return extent(x) > extent(y); });
  std::vector<Range> along = *depth;
  std::stable_partition(along.begin(), along.end(), [&](const Range& d) {
    return !Along(p_.row_operand, d.index) && !Along(p_.column_operand, d.index);
  });
  if (fits(along)) *depth = along;
}

// Where one step of the first would still be too much (the batch in a weight's gradient), what goes by the longest steps in
// memory becomes a loop around the product.
void ProductScheduler::OrderDepth() {
  InOrder(&p_.depth);
  const auto inner = [](const std::vector<Range>& d) { return AsInt(CountOf({d.begin() + 1, d.end()})); };
  if (p_.depth.size() < 2 || (inner(p_.depth) && *inner(p_.depth) <= 2 * d_.block_depth)) return;
  const auto step = [&](const Range& r) { return std::max(StepOf(p_.row_operand, r.index), StepOf(p_.column_operand, r.index)); };
  const auto far = std::max_element(p_.depth.begin(), p_.depth.end(), [&](const Range& x, const Range& y) { return step(x) < step(y); });
  std::vector<Range> rest = p_.depth;
  rest.erase(rest.begin() + (far - p_.depth.begin()));
  const auto count = AsInt(CountOf(rest));
  if (!count || *count < d_.block_depth) return;  // too little for each round
  p_.around.push_back(*far);
  p_.depth = rest;
  InOrder(&p_.depth);
}

std::optional<Name> ProductScheduler::View(Name container, const std::vector<Expr>& index, bool flat,
                                           const std::vector<Range>& outer, const std::vector<Dimension>& inner) {
  const Offset at = OffsetOf(*s_, container, index, flat);
  const Container& root = s_->Get(at.root);
  Container view;
  view.kind = ContainerKind::kView;
  view.base = at.root;
  view.dtype = root.dtype;
  NameMap zero = {{p_.row.index, Expr(0)}};
  for (const auto* list : {&p_.columns, &p_.depth, &p_.around})
    for (const Range& r : *list) zero.emplace_back(r.index, Expr(0));
  for (const Range& r : outer) {
    const Expr stride = StrideOf(at.elements, r.index);
    if (!stride) return std::nullopt;
    view.shape.push_back(r.end);
    view.strides.push_back(stride);
    zero.emplace_back(r.index, Expr(0));
  }
  for (const Dimension& d : inner) view.shape.push_back(d.extent), view.strides.push_back(d.stride);
  view.offset = Substitute(at.elements, zero);
  if (view.strides == RowMajorStrides(view.shape) && root.order.row_major()) view.strides.clear();
  if (AsInt(view.offset) == 0) view.offset = {};
  if (view.strides.empty() && !view.offset && IsContiguous(root) && view.shape == root.shape) return at.root;
  for (Name known : s_->order) {
    const Container& o = s_->Get(known);
    if (o.kind == ContainerKind::kView && o.base == view.base && o.shape == view.shape && o.strides == view.strides && o.offset == view.offset)
      return known;
  }
  view.name = FreshIn(*s_, "v");
  if (!LiesInside(*s_, view)) return std::nullopt;
  const Name name = view.name;
  s_->Add(std::move(view));
  return name;
}

std::vector<Expr> ProductScheduler::Outer(const std::vector<Name>& names) const {
  std::vector<Expr> out;
  for (Name n : names) out.push_back(SymbolExpr(n));
  return out;
}

// One read of the right type, whose memory runs along what is in one step of the depth's first index, or along all of it.
bool ProductScheduler::ReadRowsInPlace() {
  const Expr& e = p_.row_operand;
  if (!e.Is(ExprKind::kRead) || e->has_default || s_->Get(e->name).dtype != row_type_) return false;
  const Expr terms = CountOf(p_.depth);
  if (!IsMultiple(terms, group_)) return false;
  const std::vector<Expr> index(e->args.begin(), e->args.end());
  const Offset at = OffsetOf(*s_, e->name, index, e->flat);
  const Expr rows = at.elements ? StrideOf(at.elements, p_.row.index) : Expr();
  if (!rows) return false;
  Expr step(1);
  for (size_t k = p_.depth.size(); k-- > 1;) {
    if (StrideOf(at.elements, p_.depth[k].index) != step) return false;
    step = step * p_.depth[k].end;
  }
  const Expr first = StrideOf(at.elements, p_.depth[0].index);
  in_steps_ = first != step;
  if (!first || (in_steps_ && (p_.depth.size() == 1 || !IsMultiple(step, group_)))) return false;
  std::vector<Dimension> inner = {{p_.row.end, rows}, {terms, Expr(1)}};
  if (in_steps_) inner = {{p_.row.end, rows}, {p_.depth[0].end, first}, {step, Expr(1)}};
  std::vector<Range> outer;
  for (const auto* list : {&p_.outer, &p_.around})
    for (const Range& r : *list)
      if (Mentions(at.elements, r.index)) outer.push_back(r), in_place_outer_.push_back(r.index);
  const auto view = View(e->name, index, e->flat, outer, inner);
  if (view) in_place_ = *view;
  return view.has_value();
}

// Of the last columns. Where nobody knows how many there are, or more is done with each result than to add it, they have the places of
// those of a whole tile, as rows have: so it shows that none meet.
ProductScheduler::Statements ProductScheduler::StoreSome(const Range& rows, const std::function<Statements(const Expr&, const Expr&)>& put) {
  const Expr u = SymbolExpr(u_), j1 = SymbolExpr(j1_);
  if (!AsInt(columns_.count) || (sums_ == Name() && completion_.statements.size() > 1)) {
    const Range left{u_, Expr(0), Min(Expr(tile_columns_), columns_.count - j1), Expr(1)};
    return Wrap(s_, {{{rows}, Schedule::kSequential}, {{left}, Schedule::kVector}}, put(j1 + u, u));
  }
  const Range some = schedule::Within(columns_.Within(j1_, Expr(tile_columns_)), u_);
  return Wrap(s_, {{{rows}, Schedule::kSequential}, {{some}, Schedule::kVector}}, put(u, u - j1));
}

// Nothing else is done with a result than that its sum is added to a first value: blocks after the first, of which there is one, add to the
// result.
bool ProductScheduler::GoesOn() const {
  const auto may_be_none = [&](const Expr& count) { return BoundsOf(count, s_->assumptions).lo.value_or(0) < 1; };
  if (may_be_none(depth_.count) || may_be_none(CountOf(p_.around))) return false;
  const Tasklet& sum = completion_.statements[completion_.sum];
  return completion_.statements.size() == 2 && completion_.initial == 0 && completion_.sum == 1 && sum.op == WriteOp::kAdd &&
         s_->Get(sum.target).storage != Storage::kRegister && s_->Get(sum.target).dtype == p_.type;
}

Expr ProductScheduler::IsFirstBlock() const {
  Expr first = AsInt(depth_.part) == 0 ? Expr() : BinaryExpr(Op::kEq, depth_.first(), Expr(0));
  for (const Range& r : p_.around) {
    const Expr begins = BinaryExpr(Op::kEq, SymbolExpr(r.index), r.begin);
    first = first ? BinaryExpr(Op::kAnd, first, begins) : begins;
  }
  return first;
}

ProductScheduler::Statements ProductScheduler::Store(Name tile, int64_t rows, const Expr& row) {
  const auto sum = [&](const Expr& slot) { return ReadExpr(tile, {SymbolExpr(tile_row_), slot}); };
  if (sums_ != Name()) {
    return StoreEach(rows, [&](const Expr& column, const Expr& slot) -> Statements {
      return {Put(sums_, {row - rows_.first(), column - columns_.first()}, WriteOp::kAdd, sum(slot))};
    });
  }
  const Statements first = StoreEach(rows, [&](const Expr& column, const Expr& slot) { return Result(row, column, sum(slot)); });
  if (!goes_on_) return first;
  const Tasklet result = completion_.statements[completion_.sum];
  const Statements more = StoreEach(rows, [&](const Expr& column, const Expr& slot) -> Statements {
    std::vector<Expr> index;
    for (const Expr& e : result.index) index.push_back(Substitute(e, {{p_.row.index, row}, {column_, column}}));
    return {Put(result.target, index, WriteOp::kAdd, sum(slot))};
  });
  return {s_->AddNode(If{IsFirstBlock(), first, more})};
}

// With each result of a tile of so many rows: `put` of its column, and of its place in the tile.
ProductScheduler::Statements ProductScheduler::StoreEach(int64_t rows, const std::function<Statements(const Expr&, const Expr&)>& put) {
  const Expr u = SymbolExpr(u_), j1 = SymbolExpr(j1_);
  const Range all{tile_row_, Expr(0), Expr(rows), Expr(1)}, lanes{u_, Expr(0), Expr(tile_columns_), Expr(1)};
  const bool simple = sums_ != Name() || OperationsOf(s_, completion_) <= d_.tile_operations;
  const bool whole = IsMultiple(columns_.count, tile_columns_) || ragged_;
  Statements full;
  if (whole || !IsBelow(columns_.count, tile_columns_))
    full = Wrap(s_, {{{all}, simple ? Schedule::kUnroll : Schedule::kSequential}, {{lanes}, Schedule::kVector}}, put(j1 + u, u));
  if (whole) return full;
  const Statements part = StoreSome(all, put);
  if (full.empty()) return part;
  return {s_->AddNode(If{BinaryExpr(Op::kLe, j1 + Expr(tile_columns_), columns_.count), full, part})};
}

// `row`: of the target, by r; `slot`: in a packed strip.
ProductScheduler::Statements ProductScheduler::Tile(int64_t rows, const Expr& row, const Expr& slot) {
  const Name t = Local("t", {Expr(rows), Expr(tile_columns_)}, Storage::kRegister);
  const Expr r = SymbolExpr(tile_row_), u = SymbolExpr(u_), d = SymbolExpr(d1_);
  const Level all{{UpTo(tile_row_, rows)}, Schedule::kUnroll}, lanes{{UpTo(u_, tile_columns_)}, Schedule::kVector};
  std::vector<Range> depth = {GroupsOfBlock()};
  const Factors factors = in_place_ != Name() ? InPlace(row, &depth) : FromStrips(slot);
  const NodeId step = Step(t, factors);
  Statements out = Wrap(s_, {all, lanes}, {Put(t, {r, u}, WriteOp::kAssign, Zero())});
  Statements body = Wrap(s_, {all, lanes}, {step});
  Add(&body, Prefetch());
  Add(&out, Wrap(s_, {{depth, Schedule::kSequential}}, body));
  Add(&out, Store(t, rows, row));
  return out;
}

// Of the last tile, where it is no whole one: known of sizes that are not, too, if they are multiples of half a tile.
std::optional<int64_t> ProductScheduler::RowsLeft() const {
  if (const auto known = AsInt(rows_.count)) return *known % tile_rows_;
  const int64_t half = tile_rows_ / 2;
  return tile_rows_ % 2 == 0 && IsMultiple(rows_.count, half) ? std::optional(half) : std::nullopt;
}

// One by one. What stores results gives them the places that those of a whole tile have, so that it shows that none meet.
ProductScheduler::Statements ProductScheduler::RestOfRows(const Range& tiles) {
  const Expr i1 = SymbolExpr(i1_), r = SymbolExpr(r_);
  if (sums_ != Name() || (completion_.statements.size() == 1 && AsInt(columns_.count))) {
    const Range row = schedule::Within(tiles, p_.row.index);
    const Expr q = SymbolExpr(row.index);
    return Wrap(s_, {{{row}, Schedule::kSequential}}, Tile(1, q, q - i1));
  }
  const Range left{r_, Expr(0), Min(Expr(tile_rows_), tiles.end - i1), Expr(1)};
  tile_row_ = FreshIn(*s_, "q");
  const Statements rest = Wrap(s_, {{{left}, Schedule::kSequential}}, Tile(1, i1 + r, r));
  tile_row_ = r_;
  return rest;
}

// Whether lines of columns pass a strip of rows, as panels do: results are then written along memory. They come from the second cache each
// time, and so have to be few.
bool ProductScheduler::LinesPass() const {
  const auto terms = BoundsOf(depth_.count, s_->assumptions).hi;
  return terms && *terms <= d_.block_depth_packed;
}

ProductScheduler::Statements ProductScheduler::Tiles() {
  const Range columns = columns_.Within(j1_, Expr(tile_columns_)), tiles = rows_.Within(i1_, Expr(tile_rows_));
  const Expr i1 = SymbolExpr(i1_), r = SymbolExpr(r_);
  Statements tile = Tile(tile_rows_, i1 + r, r);
  if (!IsMultiple(rows_.count, tile_rows_)) {
    const auto left = RowsLeft();
    const Statements rest = left ? Tile(*left, i1 + r, r) : RestOfRows(tiles);
    tile = {s_->AddNode(If{BinaryExpr(Op::kLe, i1 + Expr(tile_rows_), rows_.count), tile, rest})};
  }
  if (strips_ > 1) return InStrips(tiles, columns, tile);
  const Statements strip = in_place_ == Name() ? PackRows(tiles) : Statements();
  if (rows_first() && strip.empty()) return Wrap(s_, {{{tiles, columns}, Schedule::kSequential}}, tile);
  Statements out = strip;
  if (rows_first()) {
    Add(&out, Wrap(s_, {{{columns}, Schedule::kSequential}}, tile));
    return Wrap(s_, {{{tiles}, Schedule::kSequential}}, out);
  }
  if (!strip.empty()) out = Wrap(s_, {{{tiles}, Schedule::kSequential}}, strip);
  const std::vector<Range> all = LinesPass() ? std::vector<Range>{tiles, columns} : std::vector<Range>{columns, tiles};
  Add(&out, Wrap(s_, {{all, Schedule::kSequential}}, tile));
  return out;
}

// What is narrower than its sums, or cut in the middle of tiles, is added to once.
ProductScheduler::Statements ProductScheduler::InBlocks() {
  Statements block = PackColumns();
  Add(&block, Tiles());
  block = Wrap(s_, {{p_.around, Schedule::kSequential}, {depth_.Parts(), Schedule::kSequential}}, block);
  if (sums_ == Name()) return block;
  const Range i = rows_.Within(i1_, Expr(1)), j = columns_.Within(u_, Expr(1));
  const Expr row = SymbolExpr(i1_), column = SymbolExpr(u_);
  const std::vector<Expr> slot = {row - rows_.first(), column - columns_.first()};
  const std::vector<Level> each = {{{i}, Schedule::kSequential}, {{j}, Schedule::kVector}};
  Statements out = Wrap(s_, each, {Put(sums_, slot, WriteOp::kAssign, Zero())});
  Add(&out, block);
  Add(&out, Wrap(s_, each, Result(row, column, ReadExpr(sums_, slot))));
  return out;
}

ProductScheduler::Statements ProductScheduler::Shared(const Statements& body) const {
  std::vector<Range> units = p_.outer;
  for (const Cuts* c : {&rows_, &columns_})
    for (const Range& r : c->Parts()) units.push_back(r);
  const auto size = [](const Cuts& c) { return AsInt(c.part) == 0 ? c.count : Min(c.part, c.count); };
  const int64_t lanes = std::max<int64_t>(1, d_.vector_bytes / ByteSize(p_.type));
  const Expr work = FloorDiv(size(rows_) * size(columns_) * depth_.count * CountOf(p_.around), Expr(lanes * group_));
  const schedule::Shared shared = ShareOut(*s_, units, work, d_);
  return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}}, body);
}

std::optional<std::vector<NodeId>> ProductScheduler::Run() {
  ChooseGroup();
  OrderDepth();
  const bool in_place = ReadRowsInPlace();
  lines_ = !in_place && group_ == 1 && RowsGoAlongDepth();
  if (!CutRowsAndColumns() || !CutDepth() || !ViewElements()) return std::nullopt;
  i1_ = FreshIn(*s_, p_.row.index.str() + "_1");
  j1_ = FreshIn(*s_, p_.columns.back().index.str() + "_1");
  d1_ = FreshIn(*s_, "d"), tile_row_ = r_ = FreshIn(*s_, "r"), u_ = FreshIn(*s_, "u");
  Columns();
  if (!in_place) Rows();
  const bool blocks = AsInt(depth_.part) != 0 || !p_.around.empty();
  const Tasklet& result = completion_.statements[completion_.sum];
  const bool adds = completion_.statements.size() == 1 && s_->Get(result.target).dtype == p_.type;  // each block its part
  goes_on_ = blocks && !ragged_ && GoesOn();
  if ((!adds && !goes_on_ && blocks) || ragged_)
    sums_ = Local("sums", {Expr(rows_.most), Expr(RoundUp(columns_.most, tile_columns_))}, Storage::kWorker);
  return Shared(InBlocks());
}

}  // namespace headrace::schedule
