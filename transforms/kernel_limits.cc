// Which maps that could be one stay two.
#include <algorithm>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "transforms/kernel.h"

namespace headrace::transforms {
namespace {

constexpr size_t kMaxArrays = 48;  // per kernel
constexpr int64_t kFewRows = 16;   // splitting keeps only the shared indices parallel: few rows must be short ones
constexpr int64_t kShortRow = 4096;
constexpr int kMuchWork = 16;      // operations of an iteration

// Whose elements lie side by side in memory.
size_t InnermostDimension(const Container& c) {
  const size_t last = c.shape.size() - 1;
  if (c.strides.empty()) return c.order.row_major() ? last : static_cast<size_t>(c.order.dims().back());
  for (size_t d = c.shape.size(); d-- > 0;)
    if (c.strides[d] == Expr(1) && c.shape[d] != Expr(1)) return d;
  return last;
}

// Rows are worth a loop of their own when memory is walked along them.
bool WalksRows(const Sdfg& s, const Kernel& k, size_t shared) {
  std::vector<Name> rest = k.inner;
  for (size_t i = shared; i < k.ranges.size(); ++i) rest.push_back(k.ranges[i].index);
  for (const KernelAccess& a : k.accesses) {
    bool moves = false;
    for (const Expr& e : a.index) moves |= MentionsAny(e, rest);
    if (!moves) continue;
    const Expr& along = a.flat ? a.index.back() : a.index[InnermostDimension(s.Get(a.container))];
    if (!MentionsAny(along, rest)) return false;
  }
  return true;
}
std::optional<int64_t> Volume(const std::vector<Range>& ranges, size_t begin, size_t end) {
  int64_t v = 1;
  for (size_t i = begin; i < end; ++i) {
    auto b = AsInt(ranges[i].begin), e = AsInt(ranges[i].end);
    if (!b || !e) return {};
    v *= std::max<int64_t>(0, *e - *b);
    if (v > (int64_t{1} << 40)) return v;
  }
  return v;
}
bool SplitPays(const Sdfg& s, const Kernel& a, const Kernel& b, size_t shared) {
  bool split_a = shared < a.ranges.size(), split_b = shared < b.ranges.size();
  if (a.contraction || b.contraction) return false;
  if (split_a && split_b && !a.reduces && !b.reduces) return false;
  if (!WalksRows(s, a, shared) || !WalksRows(s, b, shared)) return false;
  auto rows = Volume(a.ranges, 0, shared);
  if (rows && *rows < kFewRows)
    for (const Kernel* k : {&a, &b}) {
      auto row = Volume(k->ranges, shared, k->ranges.size());
      if (!row || *row > kShortRow) return false;
    }
  return true;
}

bool Initialises(const Kernel& a, const Kernel& b) {
  return std::any_of(a.accesses.begin(), a.accesses.end(), [&](const KernelAccess& x) {
    const auto meets = [&](uint32_t k) { return b.accesses[k].write && b.accesses[k].container == x.container; };
    const std::vector<uint32_t> of = b.of(x.root);
    return x.write && x.op == WriteOp::kAssign && std::any_of(of.begin(), of.end(), meets);
  });
}

// What a product starts at, before it: it then holds its terms in a map of its own.
bool BecomesProduct(const Kernel& a, const Kernel& b, const Fusion& f) {
  return b.contraction && b.leaves == 1 && !b.split && !a.contraction && !a.reduces && !a.split && f.shared == a.ranges.size() &&
         f.shared < b.ranges.size() && Initialises(a, b);
}

// What becomes of each result, after it.
bool IsTail(const Kernel& a, const Kernel& b, const Fusion& f) {
  return a.contraction && a.split && !b.contraction && !b.reduces && b.inner.empty() && f.shared == a.ranges.size() &&
         f.shared == b.ranges.size();
}

// Both add to one array, at elements that are not the same and may meet. In one map, where no iteration has elements for itself,
// these sums would keep their order; each alone is summed in lanes.
bool AddApart(const Kernel& a, const Kernel& b, const Fusion& f) {
  NameMap same;
  for (size_t i = 0; i < f.shared; ++i)
    same.push_back({b.ranges[static_cast<size_t>(f.match[i])].index, Expr(a.ranges[i].index)});
  const auto apart = [&](const KernelAccess& x, const KernelAccess& y) {
    if (!y.write || y.op == WriteOp::kAssign || x.container != y.container || x.flat != y.flat || x.index.size() != y.index.size()) return false;
    bool differ = false;
    for (size_t d = 0; d < x.index.size(); ++d) {
      const Expr own = Simplify(x.index[d]), other = Simplify(Substitute(y.index[d], same));
      if (own == other) continue;
      if (AsInt(own) && AsInt(other)) return false;
      differ = true;
    }
    return differ;
  };
  return std::any_of(a.accesses.begin(), a.accesses.end(), [&](const KernelAccess& x) {
    const std::vector<uint32_t> of = b.of(x.root);
    return x.write && x.op != WriteOp::kAssign && std::any_of(of.begin(), of.end(), [&](uint32_t k) { return apart(x, b.accesses[k]); });
  });
}

// What it adds to lies where data say, with no row to walk along: iterations may meet, and keep their order.
bool AddsInOrder(const Kernel& k) {
  return std::any_of(k.accesses.begin(), k.accesses.end(), [](const KernelAccess& a) {
    return a.write && a.op != WriteOp::kAssign && !a.index.empty() && !ReadContainers(a.index.back()).empty();
  });
}

// Operations of its tasklets, as far as it holds them itself.
int Operations(const Sdfg& s, const Kernel& k) {
  int count = 0;
  for (NodeId n : k.body)
    if (const auto* t = std::get_if<Tasklet>(&s.nodes[n].body))
      Visit(t->value, [&](const Expr& e) { return count += e.Is(ExprKind::kCall) ? 8 : e.Is(ExprKind::kBinary), count < kMuchWork; });
  return count;
}

// Windows on what the first computes, as pools read: side by side in one map the two could not have their channels innermost.
bool ReadsWindows(const Kernel& a, const Kernel& b, const Fusion& f) {
  std::vector<Name> within = b.inner;
  for (size_t i = 0; i < b.ranges.size(); ++i)
    if (std::find(f.match.begin(), f.match.end(), static_cast<int>(i)) == f.match.end()) within.push_back(b.ranges[i].index);
  const auto moves = [&](const Expr& e) {
    return std::count_if(within.begin(), within.end(), [&](Name n) { return MentionsAny(e, {n}); }) > 1;
  };
  return std::any_of(b.accesses.begin(), b.accesses.end(), [&](const KernelAccess& x) {
    const auto written = [&](uint32_t k) { return a.accesses[k].write && a.accesses[k].container == x.container; };
    const std::vector<uint32_t> of = a.of(x.root);
    return !x.write && std::count_if(x.index.begin(), x.index.end(), moves) > 1 && std::any_of(of.begin(), of.end(), written);
  });
}

// What would take lanes alone would be done in order beside such sums.
bool LosesLanes(const Sdfg& s, const Kernel& a, const Kernel& b) {
  const bool first = AddsInOrder(a), second = AddsInOrder(b);
  return first != second && Operations(s, first ? b : a) >= kMuchWork;
}

}  // namespace

std::string WhyNotFuse(const Sdfg& s, NameTable* names, const std::vector<Name>& around, const Kernel& a, const Kernel& b, const Fusion& f,
                       const FusionLimits& limits) {
  if (limits.product && !BecomesProduct(a, b, f) && !IsTail(a, b, f)) return "no product with what it starts at or what becomes of it";
  if (!limits.product && (a.contraction || b.contraction)) return "products of matrices and convolutions stay whole";
  if (a.leaves + b.leaves > limits.max_statements)
    return "more than " + std::to_string(limits.max_statements) + " statements in one map";
  const bool split_a = f.shared < a.ranges.size(), split_b = f.shared < b.ranges.size();
  if ((split_a && a.split) || (split_b && b.split)) return "maps in maps in a map: one level is enough";
  if (!limits.product && (split_a || split_b) && !SplitPays(s, a, b, f.shared)) return "maps in a map that don't go along rows, or too few rows";
  if (split_a && split_b && ReadsWindows(a, b, f)) return "windows on what the other computes, whose channels may then lie innermost";
  if (AddApart(a, b, f)) return "sums into one array at different places, which each alone is summed in lanes";
  if (LosesLanes(s, a, b)) return "sums where data say keep their order, and much that needs none would be done in order beside them";
  std::unordered_set<Name> arrays;
  for (const Kernel* k : {&a, &b})
    for (const KernelAccess& x : k->accesses)
      if (!x.index.empty()) arrays.insert(x.root);
  if (arrays.size() > kMaxArrays) return "more than " + std::to_string(kMaxArrays) + " arrays in one map";
  return limits.product && !limits.product(s, names, around, f, a, b) ? "the product would lose its tiles" : "";
}

}  // namespace headrace::transforms
