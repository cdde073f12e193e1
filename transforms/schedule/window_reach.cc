#include "transforms/schedule/window_reach.h"

#include <algorithm>

#include "ir/analysis/layout.h"
#include "transforms/schedule/channels.h"

namespace headrace::schedule {
namespace {

constexpr int64_t kMostPlaces = 16;  // what is written out for each

bool SameRows(const std::vector<RowSpan>& a, const std::vector<RowSpan>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RowSpan& x, const RowSpan& y) { return x.begin == y.begin && x.end == y.end && x.reached == y.reached; });
}

}  // namespace

std::optional<WindowReach> WindowReach::Of(const Borders& borders, const Range& line, const std::vector<Range>& window) {
  WindowReach out;
  for (const Range& r : window)
    for (const Expr& c : borders.along) {
      if (!Mentions(c, r.index)) continue;
      if (!out.place_.index.empty() && out.place_.index != r.index) return std::nullopt;
      out.place_ = r;
    }
  if (out.place_.index.empty() || AsInt(out.place_.begin) != 0 || LengthOf(out.place_) < 1 || LengthOf(out.place_) > kMostPlaces)
    return std::nullopt;
  for (const Expr& c : borders.across)
    if (Mentions(c, out.place_.index)) return std::nullopt;
  for (const Expr& c : borders.along) {
    if (!c.Is(ExprKind::kBinary) || (c->op != Op::kGe && c->op != Op::kLt)) return std::nullopt;
    const Expr slack = c->op == Op::kGe ? c->args[0] - c->args[1] : c->args[1] - Expr(1) - c->args[0];
    const auto by = Coefficient(slack, out.place_.index), of = Coefficient(slack, line.index);
    const auto rest = AsInt(Substitute(slack, {{out.place_.index, Expr(0)}, {line.index, Expr(0)}}));
    if (!by || !of || !rest || !AsInt(*by) || !AsInt(*of)) return std::nullopt;
    out.slacks_.push_back({*AsInt(*by), *AsInt(*of), *rest});
  }
  return out;
}

bool WindowReach::Reached(int64_t point, int64_t place) const {
  return std::all_of(slacks_.begin(), slacks_.end(), [&](const Slack& s) { return s.by * place + s.of * point + s.rest >= 0; });
}

std::vector<ReachedSpans> WindowReach::Spans(int64_t first, int64_t rows) const {
  std::vector<ReachedSpans> out;
  for (int64_t place = 0; place < LengthOf(place_); ++place) {
    std::vector<RowSpan> spans;
    for (int64_t r = 0; r < rows; ++r) {
      const bool reached = Reached(first + r, place);
      if (spans.empty() || spans.back().reached != reached) spans.push_back({r, r, reached});
      ++spans.back().end;
    }
    if (out.empty() || !SameRows(out.back().rows, spans)) out.push_back({place, place, std::move(spans)});
    ++out.back().end;
  }
  return out;
}

}  // namespace headrace::schedule
