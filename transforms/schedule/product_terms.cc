// Products of few results and many terms, gradients of the first layers' weights: rows and columns are few to be cut for threads, so terms
// are. Each part is a product of its own, of results of its own, which are added up in the order of the parts.
//   map o in 0:32, c in 0:16 { D[o, c] = 0 ; map n in 0:N, y in 0:112, x in 0:112 { D[o, c] += G[n, o, y, x] * X[n, c, y, x] } }
//     →  local partial: f32[8, 32, 16] @worker
//        map part in 0:8 @parallel { … partial[part, o, c] = the sum of y in 14*part:+14 }
//        D[o, c] = the sum of partial
#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/scheduler.h"

namespace headrace::schedule {
namespace {

// Of the terms: a range, and how many parts of it there are, all as long as each other.
struct TermParts {
  Range cut;
  int64_t count = 1;
  Expr length;
};

// What is known of a range's length: 1600 of 1600 * N, for a batch may be one image.
int64_t KnownOf(const Range& r) {
  if (const auto known = AsInt(r.end)) return *known;
  const std::vector<Name> symbols = FreeSymbols(r.end);
  const auto by = symbols.size() == 1 ? Coefficient(r.end, symbols[0]) : std::nullopt;
  return by && AsInt(Substitute(r.end, {{symbols[0], Expr(0)}})) == 0 ? AsInt(*by).value_or(1) : 1;
}

int64_t Times(int64_t n, const Range& r) { return std::min<int64_t>(int64_t{1} << 40, n * std::max<int64_t>(1, KnownOf(r))); }

// Shapes alone decide, for it is the order of a sum.
TermParts TermPartsOf(const Nest& n, const std::vector<bool>& apart, const Device& d) {
  int64_t results = 1, known = 1;
  for (size_t i = 0; i < n.ranges.size(); ++i) {
    if (apart[i] && !AsInt(n.ranges[i].end)) return {};
    (apart[i] ? results : known) = Times(apart[i] ? results : known, n.ranges[i]);
  }
  TermParts out;
  for (size_t i = 0; i < n.ranges.size() && results <= d.term_results; ++i) {
    const int64_t length = apart[i] ? 1 : KnownOf(n.ranges[i]);
    int64_t parts = std::min({d.term_parts, known / d.term_part, length});
    while (parts > 1 && length % parts != 0) --parts;
    if (parts > out.count) out = {n.ranges[i], parts, FloorDiv(n.ranges[i].end, Expr(parts))};
  }
  return out;
}

}  // namespace

std::optional<Scheduler::Statements> Scheduler::InPartsOfTerms(const OneSum& sum, DType type) {
  const bool plain = type == s_->Get(sum.sum.target).dtype && sum.sum.op == WriteOp::kAdd;
  if (divides_terms_ || !plain || d_.block_threads > 1) return std::nullopt;
  const TermParts parts = TermPartsOf(sum.nest, sum.apart, d_);
  if (parts.count < 2) return std::nullopt;

  const Name part = FreshIn(*s_, "part");
  Container partial;
  partial.name = FreshIn(*s_, "partial");
  partial.dtype = type;
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
    const bool cut = r.index == parts.cut.index;
    if (cut) r.end = parts.length;
    if (!cut || AsInt(r.end) != 1) terms.push_back(r);
  }
  s_->Add(partial);
  const Expr within = AsInt(parts.length) == 1 ? Expr(0) : SymbolExpr(parts.cut.index);
  const Expr term = Substitute(sum.sum.value, {{parts.cut.index, SymbolExpr(part) * parts.length + within}});
  const Range each = UpTo(part, parts.count);
  Nest one{results, {Put(partial.name, place, WriteOp::kAssign, Expr(0))}, sum.nest.owner};
  one.ranges.insert(one.ranges.begin(), each);
  one.body.push_back(s_->AddNode(Map{terms, {Put(partial.name, place, WriteOp::kAdd, term)}}));
  divides_terms_ = true;
  auto products = Product(one);
  divides_terms_ = false;

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
  tiles_->packing.reset();  // its indices are those of one part
  return products;
}

}  // namespace headrace::schedule
