// The schedule of a sum of products over windows, whose results lie side by side along the channels: strips of points in registers,
// columns in vectors. Short lines are taken together. The windows' data are read where they lie, or with their border from a buffer
// (strip.h); the weights come from panels (turned.h, packed.h). Terms are the same for all points of a part; too many are cut into blocks.
// A gradient of weights is such a sum, too: its points are the places of a window, its terms those of the images.
//   map n in 0:N, y in 0:56, x in 0:56, o in 0:64, k in 0:3, l in 0:3, c in 0:64 {
//     Y[n, y, x, o] += (X[n, y + k - 1, x + l - 1, c] ?? 0) * W[k, l, c, o]
//   }
//     →  map n in 0:N, y0 in 0:56:14 @parallel {
//          local a: f32[16, 58, 64] @worker
//          local b: f32[2, 576, 32] @worker
//          …
//          for j in 0:64:32, y in y0:+14, x in 0:56:14 {
//            local t: f32[1, 14, 32]
//            …
//            for k in 0:3, l in 0:3, c in 0:64 {
//              map q in 0:1, r in 0:14 @unroll {
//                map u in 0:32 @vector {
//                  t[q, r, u] = fma(a[y + k - y0 + q, x + l + r, c], b[j // 32, 192*k + 64*l + c, u], t[q, r, u])
//                }
//              }
//            }
//            map q in 0:1, r in 0:14 @unroll { map u in 0:32 @vector { Y[n, y + q, x + r, j + u] += t[q, r, u] } }
//          }
//        }
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/channels.h"
#include "transforms/schedule/device.h"
#include "transforms/schedule/elements.h"
#include "transforms/schedule/packed.h"
#include "transforms/schedule/parts.h"
#include "transforms/schedule/steps.h"
#include "transforms/schedule/strip.h"
#include "transforms/schedule/turned.h"

namespace headrace::schedule {

class ChannelsScheduler {
 public:
  ChannelsScheduler(Sdfg* s, const Device& d, Channels c, Completion completion) : s_(s), d_(d), c_(std::move(c)), completion_(std::move(completion)) {}
  std::optional<std::vector<NodeId>> Run();  // nullopt: it has none, and what was added to the kernel is spoilt
  const std::optional<Packing>& packing() const { return packing_; }
  bool packed() const { return static_cast<bool>(packed_); }

 private:
  using Statements = std::vector<NodeId>;
  bool NamePoints();
  bool CutPoints();
  int64_t MostLines() const;
  bool SetStrip(int64_t lines, int64_t row);
  int64_t MostElements() const;
  void CutTerms(int64_t length);
  void TakeImages(int64_t most);
  bool Across() const;
  bool SharesLines() const;
  int64_t ResultsOf(int64_t row) const;
  void CutColumns();
  void CutTerms();
  void ChooseTile();
  Statements Tile(int64_t lines, int64_t rows);
  // ---- channels_prefetch.cc ----
  bool AsksAhead() const;
  Statements Prefetch();
  // ---- channels_groups.cc ----
  void ChooseGroup();
  bool LieInMemory(int64_t size) const;
  bool StepsForward() const;
  std::optional<size_t> ChannelTerm() const;
  void TakePairs();
  void TakeFours();
  void TakeGroups(int64_t size, DType data, const Expr& weights, DType weight_type);
  Expr Data(int64_t element) const;
  Expr PackedWeights(int64_t element) const;
  NodeId Step(Name tile);
  Statements Tiles();
  Statements Store(Name tile, const std::vector<Level>& each);
  bool ReadsInPlace() const;
  void Pack();  // weights
  NameMap Here(int64_t element = 0) const;  // of the points of a tile, its columns, and an element of a group of terms
  Statements Results();
  Statements Part();
  Expr Zero() const { return IsFloat(c_.type) ? FloatExpr(0) : IntExpr(0); }
  Name Local(const std::string& stem, std::vector<int64_t> shape, Storage storage);
  NodeId Put(Name target, std::vector<Expr> index, WriteOp op, Expr value) {
    return schedule::Put(s_, target, std::move(index), op, std::move(value));
  }

  Sdfg* s_;
  const Device& d_;
  Channels c_;
  Completion completion_;
  Parts lines_, row_, columns_, block_;  // lines_: of the points but the last, the innermost; block_: of the terms
  size_t cut_term_ = 0;
  DType data_type_ = DType::kNone, weight_type_ = DType::kNone;  // of what is laid out
  std::vector<Range> others_, inside_;  // points around the lines; those that a unit goes through
  bool has_lines_ = false, in_place_ = false;
  bool beside_ = false;  // groups of the data are laid beside each other
  std::optional<Strip> strip_;
  Panel panel_;
  Expr packed_;  // the read of weights that are panels already; null: they are packed
  std::optional<Packing> packing_;
  int64_t tile_lines_ = 1, tile_rows_ = 1, width_ = 1;
  Name y1_, x1_, j1_, q_, r_, u_, sums_;
};

}  // namespace headrace::schedule
