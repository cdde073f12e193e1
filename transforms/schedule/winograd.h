// The schedule of a convolution by windows of 3 × 3 points whose channels lie innermost, in F(2 × 2, 3 × 3) of Winograd's algorithms:
// A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016. A tile of 2 × 2 results of a channel takes 16
// products for each channel of the data, not 36:
//   Y = Aᵀ ((G W Gᵀ) ∘ (Bᵀ X B)) A,   Aᵀ = 1 1  1  0    G = 1  0   0      Bᵀ = 1  0 -1  0
//                                          0 1 -1 -1        ½  ½   ½           0  1  1  0
//                                                           ½ -½   ½           0 -1  1  0
//                                                           0  0   1           0  1  0 -1
// so that the sums over channels are 16 products of matrices, tiles by channels of results. Weights are transformed first (or are so
// already: pack-constants), the data of some lines of points where they are used. Results are the same however lines are cut.
//   map n, y in 0:56, x in 0:56, o in 0:64, k in 0:3, l in 0:3, c in 0:64 { Y[n, y, x, o] += (X[n, y + k - 1, x + l - 1, c] ?? 0) * W[k, l, c, o] }
//     →  map j in 0:64:32, … @parallel { … b[j // 32, 0:16, c, u] = G W Gᵀ of channels c and j + u … }
//        map n, y0 in 0:56:4 @parallel {
//          local a: f32[6, 58, 64] @worker      the data with their border
//          local v: f32[16, 56, 64] @worker     Bᵀ X B of each tile and channel
//          for j in 0:64:32 {
//            local m: f32[16, 56, 32] @worker   m[e, p, u] = the sum of v[e, p, c] * b[j // 32, e, c, u]
//            local z: f32[4, 56, 32] @worker    Aᵀ m A
//            for y in y0:+4, x in 0:56 { map u in 0:32 @vector { Y[n, y, x, j + u] += z[y - y0, x, u] } }
//          }
//        }
// Many weights are transformed panel by panel, between the data and the products, where there is one image.
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

namespace headrace::schedule {

// A dimension of the data along which a window of three elements moves by one.
struct WindowOfThree {
  Name point, term;
  bool back = false;  // the term goes down: x - l + 1
};

// The only dimension of the data that goes with the place, and by one; the tap that goes with it, too.
std::optional<WindowOfThree> WindowAlong(const WindowRead& data, Name place, const std::vector<Range>& taps);
// In f32 as they are, with zeros around them, and a channel that is a dimension of its own, and innermost.
bool ReadsPlainly(const Sdfg& s, const WindowRead& data, Name channel);
// Of all these ranges together; a size that is not known counts as some.
int64_t ImagesOf(const std::vector<Range>& ranges, const Device& d);
// Of products and transforms; what is done once for all images counts, too.
struct WinogradSizes {
  int64_t images = 1, lines = 1, row = 1, channels = 1, results = 1;
};
bool SavesEnough(const WinogradSizes& n, const Device& d);
// How many lines of tiles, of so many of so many tiles each, go together: as many as fit into `most` tiles, if little is computed
// beyond the last line then, but at least `winograd_tiles`; of lines that are too long a part.
struct TileBlock {
  int64_t lines = 1, columns = 1;
};
TileBlock BlockOfTiles(int64_t lines, int64_t columns, int64_t most, const Device& d);

// As many lines of so many elements, or one more: what a transform reads or writes in one place of each product lies in different sets of a cache.
int64_t LinesApart(int64_t lines, int64_t elements, const Device& d);

class WinogradScheduler {
 public:
  WinogradScheduler(Sdfg* s, const Device& d, Channels c, Completion completion)
      : s_(s), d_(d), c_(std::move(c)), completion_(std::move(completion)) {}
  bool Applies();  // to this sum, and saves enough
  std::optional<std::vector<NodeId>> Run();  // after Applies; nullopt: it has none, and what was added to the kernel is spoilt
  const std::optional<Packing>& packing() const { return packing_; }
  bool packed() const { return packed_; }

 private:
  using Statements = std::vector<NodeId>;
  bool FindTransformed();
  Expr Weight(const Expr& e) const;  // of channel u of the panel at j
  bool CutPoints();
  void CutColumns();
  Expr TileOf(const Expr& line, const Expr& column) const { return Expr(tile_columns_) * line + column; }
  Statements TransformWeights();
  Statements TransformData();
  Statements Products();
  Statements Tile(int64_t rows, Name e, Name p);
  Statements TransformSums();
  Statements Results();
  bool MayBeNear() const;
  Statements Images(bool near);
  Statements EachTile(Name line, Name column, const Level& lanes, const Statements& body) const;
  Name Local(const std::string& stem, std::vector<int64_t> shape, Storage storage = Storage::kWorker) {
    return schedule::Local(s_, stem, DType::kF32, {shape.begin(), shape.end()}, storage);
  }
  NodeId Put(Name target, std::vector<Expr> index, Expr value) {
    return schedule::Put(s_, target, std::move(index), WriteOp::kAssign, std::move(value));
  }

  Sdfg* s_;
  const Device& d_;
  Channels c_;
  Completion completion_;
  WindowOfThree along_lines_, along_row_;
  Range channel_;
  Parts lines_, row_, columns_;  // of the points but the last, of these, and of the results' channels
  std::vector<Range> others_;    // points around the lines
  int64_t tile_lines_ = 1, tile_columns_ = 1, width_ = 1;  // tiles of a part; channels of results side by side
  std::optional<Strip> strip_;
  std::optional<Packing> packing_;
  bool packed_ = false, near_ = false;
  Name weights_, data_, sums_, results_;  // b, v, m and z
  Name j_, u_;                            // the first channel of results of some, and one of them
};

}  // namespace headrace::schedule
