#include "transforms/number_relations.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace headrace::transforms {
namespace {

constexpr int kMostFactors = 4;        // batch, channels, and the sides of an image
constexpr int64_t kLargestOffset = 8;  // of a border around an image
constexpr int64_t kLargest = int64_t{1} << 52;

bool IsOne(const Column& c) { return std::all_of(c.begin(), c.end(), [&](int64_t v) { return v == c[0]; }); }

int64_t DivisorOf(const Column& c) {
  int64_t g = 0;
  for (int64_t v : c) g = std::gcd(g, v);
  return g;
}

// factor * product + offset
struct Line {
  int64_t factor = 0, offset = 0;
};
// The line through a product's values that meets the column everywhere; factor 0: there is none.
Line LineOf(const Column& c, const Column& product) {
  Line line;
  for (size_t i = 1; i < c.size() && line.factor == 0; ++i) {
    const int64_t run = product[i] - product[0], rise = c[i] - c[0];
    if (run == 0) continue;
    if (rise % run != 0 || rise / run <= 0) return {};
    line.factor = rise / run;
  }
  line.offset = c[0] - line.factor * product[0];
  for (size_t i = 0; i < c.size(); ++i)
    if (line.factor * product[i] + line.offset != c[i]) return {};
  return line;
}

class Relations {
 public:
  explicit Relations(const std::vector<Name>& names) : names_(names) {}

  Expr Of(const Column& c) {
    if (IsOne(c)) return Expr(c[0]);
    for (int factors = 1; factors <= kMostFactors; ++factors)
      for (const int64_t offset : {int64_t{0}, kLargestOffset})
        if (Expr e = Product(c, factors, offset)) return e;
    const int64_t g = DivisorOf(c);
    Column values = c;
    for (int64_t& v : values) v /= g;
    symbols_.push_back({names_[symbols_.size()], std::move(values)});
    return Expr(g) * SymbolExpr(symbols_.back().name);
  }
  std::vector<Related::Symbol> TakeSymbols() { return std::move(symbols_); }

 private:
  // A product of that many symbols, times a number, plus at most that.
  Expr Product(const Column& c, int factors, int64_t most) const { return Times(c, factors, most, 0, Column(c.size(), 1), Expr(1)); }
  Expr Times(const Column& c, int factors, int64_t most, size_t first, const Column& product, const Expr& e) const {
    if (factors == 0) {
      const Line line = LineOf(c, product);
      return line.factor == 0 || std::abs(line.offset) > most ? Expr() : Expr(line.factor) * e + Expr(line.offset);
    }
    for (size_t k = first; k < symbols_.size(); ++k) {
      Column next = product;
      bool fits = true;
      for (size_t i = 0; i < c.size(); ++i) {
        fits = fits && next[i] <= kLargest / symbols_[k].values[i];
        if (fits) next[i] *= symbols_[k].values[i];
      }
      if (!fits) continue;
      if (Expr found = Times(c, factors - 1, most, k, next, e * SymbolExpr(symbols_[k].name))) return found;
    }
    return {};
  }

  const std::vector<Name>& names_;
  std::vector<Related::Symbol> symbols_;
};

}  // namespace

Related Relate(const std::vector<Column>& columns, const std::vector<Name>& names) {
  std::map<Column, Expr> distinct;
  std::vector<std::pair<double, Column>> order;  // what grows least first: others are products of it
  for (const Column& c : columns) {
    if (!distinct.emplace(c, Expr()).second) continue;
    const auto divisor = static_cast<double>(DivisorOf(c));
    double size = 0;
    for (int64_t v : c) size += static_cast<double>(v) / divisor;
    order.emplace_back(size, c);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Relations relations(names);
  for (const auto& [size, c] : order) distinct[c] = relations.Of(c);
  Related out;
  for (const Column& c : columns) out.values.push_back(distinct.at(c));
  out.symbols = relations.TakeSymbols();
  return out;
}

}  // namespace headrace::transforms
