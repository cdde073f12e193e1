#include "transforms/layout/images.h"

#include <algorithm>

#include "ir/analysis/layout.h"

namespace headrace::layout {
namespace {

bool MentionsAny(const Expr& e, const std::vector<Name>& names) {
  return std::any_of(names.begin(), names.end(), [&](Name n) { return Mentions(e, n); });
}
bool IsImage(const Access& a) { return !a.flat && a.index.size() >= 3; }

// Of channels c + 4*(o // 8), that belong to the groups of other channels: how many of `o` are in one; 0 = it is no such index.
int64_t GroupOf(const Expr& channel, const Expr& other) {
  int64_t group = 0;
  if (!other.Is(ExprKind::kSymbol)) return 0;
  Visit(channel, [&](const Expr& e) {
    if (e.Is(ExprKind::kBinary) && e->op == Op::kFloorDiv && e->args[0] == other) group = AsInt(e->args[1]).value_or(0);
    return group == 0;
  });
  return group;
}

// What the sum does with the image's dimension d: its terms, a window of places, or neither.
enum class Part { kOther, kTerms, kPlaces };
Part PartOf(const Leaf& l, const Access& x, size_t d) {
  if (!MentionsAny(x.index[d], l.within)) return Part::kOther;
  if (x.index.size() != l.target->index.size()) {  // places in phases: elements that lie so far after a window's start
    const auto& y = l.target->index;
    const bool moves = d > 1 && std::any_of(y.begin() + 2, y.end(), [&](const Expr& e) { return MentionsAny(x.index[d], FreeSymbols(e)); });
    return moves ? Part::kPlaces : Part::kTerms;
  }
  const std::vector<Name> place = FreeSymbols(l.target->index[d]);
  if (place.empty()) return Part::kOther;  // one result for all of them
  if (d == 1 && GroupOf(x.index[d], l.target->index[d]) > 0) return Part::kTerms;
  return std::all_of(place.begin(), place.end(), [&](Name n) { return Mentions(x.index[d], n); }) ? Part::kPlaces : Part::kTerms;
}

// Y[n, o, …] += f(X[n, c, …]): the same batch, and channels or places that the sum runs over; images of one channel among them.
std::optional<ImageSum> Forward(const Sdfg& s, const Leaf& l) {
  const Access& y = *l.target;
  ImageSum out;
  size_t found = 0;
  for (const Access& x : l.reads) {
    const bool alike = IsImage(x) && x.index[0] == y.index[0] && x.root != y.root, in_phases = x.index.size() != y.index.size();
    size_t terms = 0, places = 0, channel = 1;
    for (size_t d = 1; alike && d < x.index.size(); ++d) {
      const Part part = PartOf(l, x, d);
      if (part == Part::kTerms) channel = d, ++terms;
      places += part == Part::kPlaces;
    }
    const bool each = alike && x.index[1] == y.index[1], only = alike && AsInt(s.Get(x.container).shape[1]) == 1;
    if (alike && ((terms == 1 && (channel == 1 || !in_phases)) || (terms == 0 && places > 0 && (each || only)))) {
      const bool again = found && out.images[0].container == x.container && out.images[0].index == x.index;
      found += !again;
      out.kind = terms || !each ? ImageSum::kChannels : ImageSum::kWindow;
      out.channel = channel;
      if (!again) out.images.push_back(x);
    } else if (!y.index[0].Is(ExprKind::kSymbol) || !Speaks(x, y.index[0]->name)) {
      out.weights.push_back(x);
    }
  }
  if (found != 1) return std::nullopt;
  out.group = GroupOf(out.images[0].index[1], y.index[1]);
  out.images.push_back(y);
  if (out.group == 0 && y.index[out.channel].Is(ExprKind::kSymbol)) out.lane = y.index[out.channel]->name;
  return out;
}

// dW[o, c, …] += dY[n, o, …] * X[n, c, …], for depthwise ones dW[o, 0, …] += dY[n, o, …] * X[n, o, …].
std::optional<ImageSum> OfWeights(const Leaf& l) {
  const Access& w = *l.target;
  ImageSum out;
  out.kind = ImageSum::kWeights;
  for (const Access& x : l.reads)
    if (IsImage(x) && x.index.size() == w.index.size() && x.root != w.root) out.images.push_back(x);
  if (out.images.size() != 2) return std::nullopt;
  const Access &a = out.images[0], &b = out.images[1];
  const bool images = MentionsAny(a.index[0], l.within) || AsInt(a.index[0]);  // those of a batch, or the one
  if (a.index[0] != b.index[0] || !images) return std::nullopt;
  for (const Access* x : {&a, &b})
    for (const Range& r : l.ranges)
      if (Mentions(x->index[1], r.index) && !Speaks(w, r.index)) return std::nullopt;
  const bool crossed = (a.index[1] == w.index[0] && b.index[1] != w.index[0]) || (b.index[1] == w.index[0] && a.index[1] != w.index[0]);
  const bool each = a.index[1] == w.index[0] && b.index[1] == w.index[0];
  if (!crossed && !each) return std::nullopt;
  out.group = std::max(GroupOf(a.index[1], w.index[0]), GroupOf(b.index[1], w.index[0]));
  return out;
}

}  // namespace

std::optional<ImageSum> ImageSumOf(const Sdfg& s, const Leaf& l) {
  if (!l.target || !l.accumulates || l.within.empty() || !IsImage(*l.target)) return std::nullopt;
  if (auto out = Forward(s, l)) return out;
  return OfWeights(l);
}

MemoryOrder ChannelsInnermost(size_t rank) {
  std::vector<int> dims = {0};
  for (size_t d = 2; d < rank; ++d) dims.push_back(static_cast<int>(d));
  dims.push_back(1);
  return MemoryOrder(std::move(dims));
}

}  // namespace headrace::layout
