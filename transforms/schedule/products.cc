// How the strategy sums products: in tiles (product.h), where sizes that nobody knows leave them enough to do.
//   map i in 0:N, j in 0:128, k in 0:64 { C[i, j] += A[i, k] * B[k, j] }
//     →  if N < 3 {                                    too few rows to lay the columns out for
//          for i in 0:N { local sums: f32[128] … }
//        } else {
//          map i0 in 0:N:96 @parallel { local b: f32[4, 64, 32] @worker … } }
#include "transforms/schedule/complex_product.h"
#include "transforms/schedule/product_along.h"
#include "transforms/schedule/product_schedule.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

// Whether so many may be fewer; what is known may not: it is a product already.
bool MayBeFewer(const Sdfg& s, const Expr& count, int64_t than) {
  return !AsInt(count) && BoundsOf(count, s.assumptions).lo.value_or(0) < than;
}

Expr Fewer(const Sdfg& s, const Expr& count, int64_t than) {
  return MayBeFewer(s, count, than) ? BinaryExpr(Op::kLt, count, Expr(than)) : Expr();
}

}  // namespace

std::optional<Scheduler::Statements> Scheduler::Product(const Nest& n) {
  const Sdfg before = *s_;  // what was changed on the way to finding that it is none
  const auto run = [&]() -> std::optional<Statements> {
    const auto sum = OneSumOf(n);
    const auto product = sum ? ProductOf(*s_, sum->nest, sum->sum, sum->apart, SumTypeOf(*s_, sum->completion), d_) : std::nullopt;
    if (!product) return std::nullopt;
    if (IsComplex(product->type)) {
      tiles_ = Tiles();
      return ComplexProduct(s_, d_, *product, sum->completion);
    }
    ProductAlongScheduler along(s_, d_, *product, sum->completion);
    if (along.Applies()) return tiles_ = Tiles(), along.Run();
    const Sdfg as_it_was = *s_;
    if (auto parts = InPartsOfTerms(*sum, product->type)) {
      Sdfg all = as_it_was;  // all terms together would have the same panels
      ProductScheduler whole(&all, d_, *product, sum->completion);
      if (whole.Run()) tiles_->packing = whole.packing();
      return parts;
    }
    *s_ = as_it_was;
    ProductScheduler scheduler(s_, d_, *product, sum->completion);
    auto out = scheduler.Run();
    tiles_ = {scheduler.packing(), scheduler.packed()};
    return out && !scheduler.packed() ? OrThin(*sum, *product, std::move(*out)) : out;
  };
  auto product = run();
  if (!product) *s_ = before, tiles_.reset();
  return product;
}

// A product's tiles, or its terms summed as those of other sums are, where it is too thin when it runs.
Scheduler::Statements Scheduler::OrThin(const OneSum& sum, const struct Product& p, Statements tiles) {
  const Expr rows = p.row.end, depth = CountOf(p.depth);
  const Expr few_terms = Fewer(*s_, depth, kLeastDepth), few_rows = rows == depth ? Expr() : Fewer(*s_, rows, kLeastRows);
  if ((!few_rows && !few_terms) || d_.block_threads > 1) return tiles;
  const Nest alone{sum.nest.ranges, {s_->AddNode(sum.sum)}, sum.nest.owner};
  const int lane = LaneRange(*s_, alone);
  if (lane < 0) return tiles;
  const Ending ending{{}, &sum.completion, !few_rows};
  auto sums = sum.apart[lane] ? SumSideBySide(alone, sum.apart, lane, /*share=*/true, ending)
                              : SumAlong(alone, sum.apart, lane, /*share=*/true, ending);
  if (!sums) return tiles;
  const Expr thin = few_rows && few_terms ? BinaryExpr(Op::kOr, few_rows, few_terms) : few_rows ? few_rows : few_terms;
  return {s_->AddNode(If{thin, std::move(*sums), std::move(tiles)})};
}

}  // namespace headrace::schedule
