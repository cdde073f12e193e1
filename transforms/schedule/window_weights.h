// Gradients of the weights of windows, channel by channel (depthwise convolutions): few results of long sums over images whose
// channels lie innermost in memory. Lanes lie along the channels; the results of a line's places are summed in registers.
//   map c in 0:64, k in 0:3, l in 0:3, n in 0:N, y in 0:28, x in 0:28 {
//     W[c, k, l] += G[n, y, x, c] * (y + k - 1 >= 0 && … ? X[n, y + k - 1, x + l - 1, c] : 0)
//   }
//     →  local partial: f32[14, 3, 3, 64] @worker
//        map part_0 in 0:14, c0 in 0:2 @parallel {
//          local sums: f32[3, 3, 32]
//          …
//          for n in 0:N, y in 2*part_0:2*part_0 + 2, k in 0:3 {
//            if y + k - 1 >= 0 && y + k - 1 < 28 {
//              … x = 0 and 27, asking for each l …
//              local t: f32[3, 32]
//              …
//              for x in 1:27 { map l in 0:3 @unroll { map u in 0:32 @vector { t[l, u] = fma(G[n, y, x, 32*c0 + u], X[…], t[l, u]) } } }
//              for l in 0:3 { map u in 0:32 @vector { sums[k, l, u] += t[l, u] } }
//            } else { … 0 … }
//          }
//          for k in 0:3, l in 0:3 { map u in 0:32 @vector { partial[part_0, k, l, 32*c0 + u] = sums[k, l, u] } }
//        }
//        … W[c, k, l] += the parts, in their order …
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/borders.h"
#include "transforms/schedule/device.h"
#include "transforms/schedule/elements.h"

namespace headrace::schedule {

struct WindowWeights {
  Tasklet sum;
  DType type = DType::kNone;
  Range lane;                // the channel
  std::vector<Range> taps;   // places of the window across lines,
  Range tap;                 // and along them
  std::vector<Range> terms;  // images and their lines,
  Range line;                // and the places of one
};
// `type`: what the sum is computed in.
std::optional<WindowWeights> WindowWeightsOf(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::vector<bool>& apart, DType type,
                                             const Device& d);

class WindowWeightsScheduler {
 public:
  WindowWeightsScheduler(Sdfg* s, const Device& d, WindowWeights w, Completion completion)
      : s_(s), d_(d), w_(std::move(w)), completion_(std::move(completion)) {}
  std::vector<NodeId> Run();

 private:
  using Statements = std::vector<NodeId>;
  void CutTerms();
  Statements Blocks(int64_t first, int64_t count, int64_t lanes);
  Statements Unit(const Expr& channel, int64_t lanes);
  Statements Line(const Expr& value);
  Statements Within(const Expr& value);
  Statements AtBorder(const Expr& value, int64_t from, int64_t to);
  Statements Finish(int64_t channels);
  Statements Each(int64_t lanes, const Statements& body);
  Expr Fused(const Expr& value, const Expr& sum) const;
  std::vector<Expr> Places(const Expr& lane) const;  // of all taps, then the lane
  std::vector<int64_t> TapLengths() const;

  Sdfg* s_;
  const Device& d_;
  WindowWeights w_;
  Completion completion_;
  Borders borders_;
  std::vector<Range> all_taps_;
  size_t cut_ = 0;                       // of the terms,
  int64_t parts_ = 1, part_length_ = 0;  // which is cut into as many
  Name part_, partial_, u_, sums_;
};

}  // namespace headrace::schedule
