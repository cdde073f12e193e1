// Windows of channels by themselves, depthwise convolutions and pools: lanes along the channels, the results of some neighbours in
// registers, which share what they read. At the borders of a line, which of them a place of the window reaches stands in the text; where that
// is not known, points there are taken one by one.
//   map n in 0:N, y in 0:28, x in 0:28, c in 0:64, k in 0:3, l in 0:3 {
//     Y[n, y, x, c] += (X[n, y + k - 1, x + l - 1, c] ?? 0) * W[k, l, c]
//   }
//     →  map n in 0:N, y in 0:28 @parallel {
//          for x in 1:25:6, c in 0:64:32 {
//            local t: f32[6, 32]
//            …
//            for k in 0:3 {
//              if y + k - 1 >= 0 && y + k - 1 < 28 {
//                for l in 0:3 {
//                  map r in 0:6 @unroll {
//                    map u in 0:32 @vector { t[r, u] = fma(X[n, y + k - 1, x + r + l - 1, c + u], W[k, l, c + u], t[r, u]) }
//                  }
//                }
//              } else { … 0 … }
//            }
//            map r in 0:6 @unroll { map u in 0:32 @vector { Y[n, y, x + r, c + u] += t[r, u] } }
//          }
//          for x in 0:1, c in 0:64:32 { … for l in 0:1 { r in 1:6 … r in 0:1 with 0 … } for l in 1:3 { r in 0:6 … } … }
//          …
//        }
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/borders.h"
#include "transforms/schedule/channels.h"
#include "transforms/schedule/device.h"
#include "transforms/schedule/elements.h"
#include "transforms/schedule/window_reach.h"

namespace headrace::schedule {

class WindowsScheduler {
 public:
  WindowsScheduler(Sdfg* s, const Device& d, Windows w, Completion completion) : s_(s), d_(d), w_(std::move(w)), completion_(std::move(completion)) {}
  std::optional<std::vector<NodeId>> Run();

 private:
  using Statements = std::vector<NodeId>;
  Statements Lines();
  // Tiles of `rows` points and some channels each, at each of `at`.
  enum class Place { kInside, kAtBorder, kAlone };  // of points side by side, of those that ask for places, and of one such
  bool ReadsSmaller() const;
  Statements Tiles(const Range& at, int64_t rows, int64_t vectors, Place place);
  Statements Tile(const Expr& x, int64_t rows, const Expr& c, int64_t lanes, bool border);
  Statements Step(const Expr& value, Name tile, const RowSpan& rows, int64_t lanes);
  // Points from `first` on, some of which places of the window reach beyond the line from.
  Statements BorderTile(int64_t first, const Expr& x, int64_t rows, const Expr& c, int64_t lanes);
  Statements Tiled(Name tile, int64_t rows, int64_t lanes, const NameMap& at, Statements terms);
  Statements BorderSteps(const Expr& value, Name tile, int64_t first, int64_t rows, int64_t lanes, const NameMap& at);
  Statements BalancedLines();
  Name Local(const std::string& stem, std::vector<int64_t> shape);

  Sdfg* s_;
  const Device& d_;
  Windows w_;
  Completion completion_;
  Borders borders_;
  std::optional<WindowReach> reach_;
  Name r_, u_, x1_, c0_;
};

}  // namespace headrace::schedule
