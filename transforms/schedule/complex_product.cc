#include "transforms/schedule/complex_product.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

class Complex {
 public:
  using Statements = std::vector<NodeId>;

  Complex(Sdfg* s, const Device& d, Product p, const Completion& c)
      : s_(s), d_(d), p_(std::move(p)), completion_(c), part_(p_.type == DType::kC64 ? DType::kF32 : DType::kF64) {
    lanes_ = std::max<int64_t>(1, d.vector_bytes / ByteSize(part_));
    rows_ = std::max<int64_t>(1, d.tile_rows / 2);  // two sums for each result
    column_ = p_.columns.back();
    p_.columns.pop_back();
    const std::string column = column_.index.str(), row = p_.row.index.str();
    j0_ = FreshIn(*s, column + "_0"), i1_ = FreshIn(*s, row + "_1"), r_ = FreshIn(*s, "r"), u_ = FreshIn(*s, "u");
  }

  Statements Run() {
    std::vector<Range> outer = p_.outer;
    outer.insert(outer.end(), p_.columns.begin(), p_.columns.end());
    const Expr row_work = Expr(8) * CountOf(p_.depth) * column_.end;
    const Cut cut = Split(*s_, p_.row, ChunkRows());
    outer.push_back(cut.parts);
    const Range tiles = Within(cut.parts, i1_, Expr(rows_)), columns{j0_, Expr(0), column_.end, Expr(lanes_)};
    const Expr count = CountOf(p_.depth);
    re_ = Local("re", {count, Expr(lanes_)}, Storage::kWorker), im_ = Local("im", {count, Expr(lanes_)}, Storage::kWorker);
    Statements body = Columns();
    for (NodeId n : Wrap(s_, {{{tiles}, Schedule::kSequential}}, Tiles(tiles))) body.push_back(n);
    const Shared shared = ShareOut(*s_, outer, row_work * ChunkRows(), d_);
    return Wrap(s_, {{shared.units, Schedule::kParallel}, {shared.within, Schedule::kSequential}, {{columns}, Schedule::kSequential}}, body);
  }

 private:
  NodeId Put(Name target, std::vector<Expr> index, Expr value) {
    return schedule::Put(s_, target, std::move(index), WriteOp::kAssign, std::move(value));
  }
  Name Local(const std::string& stem, std::vector<Expr> shape, Storage storage) {
    return schedule::Local(s_, stem, part_, std::move(shape), storage);
  }
  Expr DepthIndex() const {
    Expr at(0);
    for (const Range& r : p_.depth) at = at * r.end + SymbolExpr(r.index);
    return at;
  }
  // Whole tiles: as many that laying out the columns pays, yet a part for each thread.
  Expr ChunkRows() const {
    const auto count = AsInt(p_.row.end);
    const int64_t rows = count ? std::clamp<int64_t>(*count / d_.product_parts, d_.product_part, d_.block_rows) : d_.product_part;
    return Expr((rows + rows_ - 1) / rows_ * rows_);
  }
  // Memory runs along the depth of the columns.
  bool Turned() const {
    const Expr& e = p_.column_operand;
    if (!e.Is(ExprKind::kRead) || e->has_default) return false;
    const Offset at = OffsetOf(*s_, e->name, {e->args.begin(), e->args.end()}, e->flat);
    const Expr stride = at.elements ? StrideOf(at.elements, p_.depth.back().index) : Expr();
    return stride && AsInt(stride) == 1;
  }
  static Expr Part(const char* which, const Expr& e) { return CallExpr(which, {e}); }

  // Lanes beyond the last column add nothing.
  Statements Columns() {
    const Expr d = DepthIndex(), u = SymbolExpr(u_);
    const Range lane = Within({j0_, Expr(0), column_.end, Expr(lanes_)}, column_.index);
    const Expr slot = SymbolExpr(column_.index) - SymbolExpr(j0_);
    const Statements copy = {Put(re_, {d, slot}, Part("real", p_.column_operand)), Put(im_, {d, slot}, Part("imag", p_.column_operand))};
    std::vector<Range> depth = p_.depth;
    Statements out;
    if (Turned()) {  // lines are read whole
      const Range along = depth.back();
      depth.back() = lane;
      out = Wrap(s_, {{depth, Schedule::kSequential}, {{along}, Schedule::kVector}}, copy);
    } else {
      out = Wrap(s_, {{depth, Schedule::kSequential}, {{lane}, Schedule::kVector}}, copy);
    }
    if (const auto known = AsInt(column_.end); !known || *known % lanes_ != 0) {
      const Range rest{u_, Min(column_.end - SymbolExpr(j0_), Expr(lanes_)), Expr(lanes_), Expr(1)};
      for (NodeId n : Wrap(s_, {{p_.depth, Schedule::kSequential}, {{rest}, Schedule::kVector}}, {Put(re_, {d, u}, FloatExpr(0)), Put(im_, {d, u}, FloatExpr(0))}))
        out.push_back(n);
    }
    return out;
  }

  Statements Tiles(const Range& tiles) {
    const Expr i1 = SymbolExpr(i1_);
    const Statements full = Tile(rows_, i1 + SymbolExpr(r_));
    if (const auto known = AsInt(p_.row.end); known && *known % rows_ == 0) return full;
    const Range row = Within(tiles, p_.row.index);
    const Statements rest = Wrap(s_, {{{row}, Schedule::kSequential}}, Tile(1, SymbolExpr(row.index)));
    return {s_->AddNode(If{BinaryExpr(Op::kLe, i1 + Expr(rows_), p_.row.end), full, rest})};
  }

  Statements Tile(int64_t rows, const Expr& row) {
    const Expr r = SymbolExpr(r_), u = SymbolExpr(u_), d = DepthIndex();
    const Name re = Local("s", {Expr(rows), Expr(lanes_)}, Storage::kRegister), im = Local("t", {Expr(rows), Expr(lanes_)}, Storage::kRegister);
    const Level all{{{r_, Expr(0), Expr(rows), Expr(1)}}, Schedule::kUnroll}, lanes{{{u_, Expr(0), Expr(lanes_), Expr(1)}}, Schedule::kVector};
    Statements out = Wrap(s_, {all, lanes}, {Put(re, {r, u}, FloatExpr(0)), Put(im, {r, u}, FloatExpr(0))});
    const Expr left = Substitute(p_.row_operand, {{p_.row.index, row}}), a = Part("real", left), b = Part("imag", left);
    const Expr c = ReadExpr(re_, {d, u}), e = ReadExpr(im_, {d, u}), s = ReadExpr(re, {r, u}), t = ReadExpr(im, {r, u});
    const auto fma = [](const Expr& x, const Expr& y, const Expr& z) { return CallExpr("fma", {x, y, z}); };
    const Statements steps = {Put(re, {r, u}, fma(a, c, s)), Put(re, {r, u}, fma(UnaryExpr(Op::kNeg, b), e, s)),
                              Put(im, {r, u}, fma(a, e, t)), Put(im, {r, u}, fma(b, c, t))};
    for (NodeId n : Wrap(s_, {{p_.depth, Schedule::kSequential}, all, lanes}, steps)) out.push_back(n);
    for (NodeId n : Results(all, row, s, t)) out.push_back(n);
    return out;
  }

  Statements Results(const Level& all, const Expr& row, const Expr& re, const Expr& im) {
    const Expr j0 = SymbolExpr(j0_), u = SymbolExpr(u_);
    const auto put = [&](const Range& lane, const Expr& column, const Expr& slot) {
      const NameMap to = {{u_, slot}};
      return Wrap(s_, {all, {{lane}, Schedule::kVector}},
                  CompletedAt(s_, completion_, {{p_.row.index, row}, {column_.index, column}},
                              CallExpr("complex", {Substitute(re, to), Substitute(im, to)})));
    };
    const Statements full = put({u_, Expr(0), Expr(lanes_), Expr(1)}, j0 + u, u);
    if (const auto known = AsInt(column_.end); known && *known % lanes_ == 0) return full;
    const Range some = Within({j0_, Expr(0), column_.end, Expr(lanes_)}, u_);
    return {s_->AddNode(If{BinaryExpr(Op::kLe, j0 + Expr(lanes_), column_.end), full, put(some, u, u - j0)})};
  }

  Sdfg* s_;
  const Device& d_;
  Product p_;
  const Completion& completion_;
  const DType part_;  // of real and imaginary parts
  int64_t lanes_, rows_;
  Range column_;
  Name j0_, i1_, r_, u_, re_, im_;
};

}  // namespace

std::vector<NodeId> ComplexProduct(Sdfg* s, const Device& d, const Product& p, const Completion& completion) {
  return Complex(s, d, p, completion).Run();
}

}  // namespace headrace::schedule
