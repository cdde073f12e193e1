#include "transforms/layout/images.h"

#include <algorithm>

#include "ir/analysis/layout.h"

namespace headrace::layout {
namespace {

bool MentionsAny(const Expr& e, const std::vector<Name>& names) {
  return std::any_of(names.begin(), names.end(), [&](Name n) { return Mentions(e, n); });
}
bool IsImage(const Access& a) { return !a.flat && a.index.size() >= 3; }

// Y[n, o, …] += f(X[n, c, …]): the same batch, and places or channels that the sum runs over.
std::optional<ImageSum> Forward(const Leaf& l) {
  const Access& y = *l.target;
  ImageSum out{ImageSum::kWindow, {}, {}, {}};
  bool runs = false;
  for (const Access& x : l.reads) {
    const bool image = IsImage(x) && x.index.size() == y.index.size() && x.index[0] == y.index[0] && x.root != y.root;
    const bool batch = FreeSymbols(y.index[0]).empty();  // without one, a weight looks the same
    const bool channels = image && MentionsAny(x.index[1], l.within);
    bool window = false;
    for (size_t d = 2; image && d < x.index.size(); ++d) window |= MentionsAny(x.index[d], l.within);
    const bool moves = image && std::any_of(x.index.begin() + 2, x.index.end(), [&](const Expr& e) {
      return std::any_of(l.ranges.begin(), l.ranges.end(), [&](const Range& r) { return Speaks(y, r.index) && Mentions(e, r.index); });
    });
    if (image && (channels || (window && x.index[1] == y.index[1])) && (!batch || moves)) {
      runs = true;
      if (channels) out.kind = ImageSum::kChannels;
      out.images.push_back(x);
    } else if (!Speaks(x, y.index[0].Is(ExprKind::kSymbol) ? y.index[0]->name : Name())) {
      out.weights.push_back(x);
    }
  }
  if (!runs) return std::nullopt;
  out.images.push_back(y);
  if (y.index[1].Is(ExprKind::kSymbol)) out.lane = y.index[1]->name;
  return out;
}

// dW[o, c, …] += dY[n, o, …] * X[n, c, …], for depthwise ones dW[o, 0, …] += dY[n, o, …] * X[n, o, …].
std::optional<ImageSum> OfWeights(const Leaf& l) {
  const Access& w = *l.target;
  ImageSum out{ImageSum::kChannels, {}, {}, {}};
  for (const Access& x : l.reads)
    if (IsImage(x) && x.index.size() == w.index.size() && x.root != w.root) out.images.push_back(x);
  if (out.images.size() != 2) return std::nullopt;
  const Access &a = out.images[0], &b = out.images[1];
  if (a.index[0] != b.index[0] || !MentionsAny(a.index[0], l.within)) return std::nullopt;
  for (const Access* x : {&a, &b})
    for (const Range& r : l.ranges)
      if (Mentions(x->index[1], r.index) && !Speaks(w, r.index)) return std::nullopt;
  const bool crossed = (a.index[1] == w.index[0] && b.index[1] != w.index[0]) || (b.index[1] == w.index[0] && a.index[1] != w.index[0]);
  const bool each = a.index[1] == w.index[0] && b.index[1] == w.index[0];
  if (!crossed && !each) return std::nullopt;
  if (each) out.kind = ImageSum::kWindow;
  return out;
}

}  // namespace

std::optional<ImageSum> ImageSumOf(const Sdfg&, const Leaf& l) {
  if (!l.target || !l.accumulates || l.within.empty() || !IsImage(*l.target)) return std::nullopt;
  if (auto out = Forward(l)) return out;
  return OfWeights(l);
}

MemoryOrder ChannelsInnermost(size_t rank) {
  std::vector<int> dims = {0};
  for (size_t d = 2; d < rank; ++d) dims.push_back(static_cast<int>(d));
  dims.push_back(1);
  return MemoryOrder(std::move(dims));
}

}  // namespace headrace::layout
