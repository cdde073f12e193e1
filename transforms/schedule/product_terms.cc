// Products of few results and many terms, gradients of the first layers' weights: rows and columns are too few to be cut for threads, so
// terms are. Each part is a product of its own, of results of its own, which are added up in the order of the parts.
//   map o in 0:32, c in 0:16 { D[o, c] = 0 ; map n in 0:N, y in 0:112, x in 0:112 { D[o, c] += G[n, o, y, x] * X[n, c, y, x] } }
//     →  local partial: f32[8, 32, 16] @worker
//        map part in 0:8 @parallel { … partial[part, o, c] = the sum of y in 14*part:+14 }
//        D[o, c] = the sum of partial
#include <algorithm>

#include "transforms/schedule/product.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

// Of the terms: a range, and how many parts of it there are, all as long as each other. Shapes alone decide.
struct TermParts {
  Range cut;
  int64_t count = 1;
};

TermParts TermPartsOf(const struct Product& p, const Device& d) {
  std::vector<Range> terms = p.around;
  terms.insert(terms.end(), p.depth.begin(), p.depth.end());
  int64_t known = 1;
  for (const Range& r : terms) known = std::min<int64_t>(int64_t{1} << 40, known * std::max<int64_t>(1, AsInt(r.end).value_or(1)));
  TermParts out;
  for (const Range& r : terms) {
    const auto length = AsInt(r.end);
    int64_t parts = length ? std::min({d.term_parts, known / d.term_part, *length}) : 1;
    while (parts > 1 && *length % parts != 0) --parts;
    if (parts > out.count) out = {r, parts};
  }
  return out;
}

}  // namespace

std::optional<Scheduler::Statements> Scheduler::InPartsOfTerms(const OneSum& sum, const struct Product& p) {
  const auto rows = AsInt(p.row.end), columns = AsInt(CountOf(p.columns));
  if (!p.outer.empty() || !rows || !columns || std::max(*rows, *columns) > d_.term_results || d_.block_threads > 1) return std::nullopt;
  const TermParts parts = TermPartsOf(p, d_);
  const bool plain = p.type == s_->Get(sum.sum.target).dtype && sum.sum.op == WriteOp::kAdd && sum.nest.body.size() >= 1;
  if (parts.count < 2 || !plain) return std::nullopt;

  const Name part = FreshIn(*s_, "part");
  Container partial;
  partial.name = FreshIn(*s_, "partial");
  partial.dtype = p.type;
  partial.storage = Storage::kWorker;
  partial.shape = {Expr(parts.count)};
  std::vector<Expr> place = {SymbolExpr(part)};
  std::vector<Range> results, terms;
  for (size_t i = 0; i < sum.nest.ranges.size(); ++i) {
    Range r = sum.nest.ranges[i];
    if (sum.apart[i]) {
      partial.shape.push_back(r.end), place.push_back(SymbolExpr(r.index)), results.push_back(r);
      continue;
    }
    if (r.index == parts.cut.index) r.end = Expr(*AsInt(r.end) / parts.count);
    terms.push_back(r);
  }
  s_->Add(partial);
  const Expr length(*AsInt(parts.cut.end) / parts.count);
  const Expr term = Substitute(sum.sum.value, {{parts.cut.index, SymbolExpr(part) * length + SymbolExpr(parts.cut.index)}});
  const Range each = UpTo(part, parts.count);
  Nest one{results, {Put(partial.name, place, WriteOp::kAssign, Expr(0))}, sum.nest.owner};
  one.ranges.insert(one.ranges.begin(), each);
  one.body.push_back(s_->AddNode(Map{terms, {Put(partial.name, place, WriteOp::kAdd, term)}}));
  auto products = Product(one);

  Nest all{results, {Put(sum.sum.target, sum.sum.index, WriteOp::kAdd, ReadExpr(partial.name, place))}, sum.nest.owner};
  all.ranges.push_back(each);
  std::vector<bool> apart(results.size(), true);
  apart.push_back(false);
  const int lane = LaneRange(*s_, all);
  if (!products || lane < 0) return std::nullopt;
  const Ending ending{{}, &sum.completion};
  auto sums = apart[static_cast<size_t>(lane)] ? SumSideBySide(all, apart, static_cast<size_t>(lane), /*share=*/true, ending)
                                               : SumAlong(all, apart, static_cast<size_t>(lane), /*share=*/true, ending);
  if (!sums) return std::nullopt;
  products->insert(products->end(), sums->begin(), sums->end());
  tiles_ = Tiles();
  return products;
}

}  // namespace headrace::schedule
