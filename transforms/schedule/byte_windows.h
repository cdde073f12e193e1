// Windows of bytes of channels by themselves, depthwise convolutions, where the device adds up four products of bytes at once: the places of
// a line that one window reads lie side by side for each channel, in groups of four that begin at every second place. By steps of one a
// group is that of two neighbours. What the windows of some lines and channels read is laid out twice: with its border (strip.h), then so.
//   map n in 0:N, y in 0:28, x in 0:28, c in 0:64, k in 0:3, l in 0:3 {
//     Y[n, y, x, c] += i32(X[n, y + k - 1, x + l - 1, c] ?? z) * i32(W[k, l, c])
//   }
//     →  map n in 0:N, c in 0:64:32 @parallel {
//          local a: u8[30, 31, 32] @worker
//          local d: u8[30, 14, 32, 4] @worker
//          …
//          for q in 0:30, g in 0:14 { map e in 0:4 @unroll { map u in 0:32 @vector { d[q, g, u, e] = a[q, 2*g + e, u] } } }
//          for y in 0:28, g in 0:12:3 {
//            local t: i32[6, 32]
//            …
//            for k in 0:3 {
//              map r in 0:3 @unroll {
//                map u in 0:32 @vector {
//                  t[2*r, u] = dot4(d[y + k, g + r, u, 0], W[k, 0, c + u], d[y + k, g + r, u, 1], W[k, 1, c + u], …, t[2*r, u])
//                }
//              }
//              map r in 0:3 @unroll {
//                map u in 0:32 @vector { t[2*r + 1, u] = dot4(d[y + k, g + r, u, 0], 0, d[y + k, g + r, u, 1], W[k, 0, c + u], …) }
//              }
//            }
//            map r in 0:6 @unroll { map u in 0:32 @vector { Y[n, y, 2*g + r, c + u] += t[r, u] } }
//          }
//          …
//        }
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/channels.h"
#include "transforms/schedule/device.h"
#include "transforms/schedule/elements.h"
#include "transforms/schedule/packed.h"
#include "transforms/schedule/parts.h"
#include "transforms/schedule/strip.h"
#include "transforms/schedule/turned.h"

namespace headrace::schedule {

class ByteWindowsScheduler {
 public:
  ByteWindowsScheduler(Sdfg* s, const Device& d, Windows w, Completion completion)
      : s_(s), d_(d), w_(std::move(w)), completion_(std::move(completion)) {}
  std::optional<std::vector<NodeId>> Run();  // nullopt: they are none such, and what was added to the kernel is spoilt
  const std::optional<Packing>& packing() const { return packing_; }
  bool packed() const { return static_cast<bool>(packed_); }

 private:
  using Statements = std::vector<NodeId>;
  bool TakeOperands();
  bool TakeLine();
  bool SetStrip(int64_t lines);
  bool CutLines();
  void NameIndices();
  void Pack();
  Expr Weight(int64_t tap) const;
  Expr Group(const Expr& group, int64_t element) const;
  Statements FillGroups();
  NodeId Step(Name tile, int64_t phase);
  Statements Tile(int64_t rows);
  Statements Tiles();

  Sdfg* s_;
  const Device& d_;
  Windows w_;
  Completion completion_;
  WindowRead data_;
  Expr weights_;
  Range row_, tap_;           // the points of a line, and the places of a window along it
  std::vector<Range> terms_;  // but for `tap_`
  Parts lines_, columns_;
  bool has_lines_ = false;
  int64_t by_ = 1, phases_ = 1, groups_ = 1, width_ = 1;  // places between points, points of a group, groups of a line, channels at a time
  std::optional<Strip> strip_;
  Name laid_out_;
  Panel panel_;
  Expr packed_;  // the read of weights that are panels already; null: they are packed
  std::optional<Packing> packing_;
  Name g_, c1_, r_, u_, e_;
};

// The line's places are read by such windows: `taps` of them, `by` places apart.
bool FitsByteWindows(int64_t taps, int64_t by);

}  // namespace headrace::schedule
