// The schedule of the gradient by the weights of a convolution by windows of 3 × 3 points, by the same algorithm (winograd.h): of a tile of
// 2 × 2 gradients and the 4 × 4 data that their windows read,
//   dW += Gᵀ ((A dY Aᵀ) ∘ (Bᵀ X B)) G
// with 16 products for each two channels, not 36. Gᵀ M G is taken once, of the sums M over all tiles and images. A thread has some
// channels of the data and some of the results; where they are too few for that, some lines of the images, and the sums of all are added up.
//   map o in 0:64, c in 0:64, k in 0:3, l in 0:3, n in 0:N, y in 0:56, x in 0:56 { dW[o, c, k, l] += dY[n, y, x, o] * (X[n, y + k - 1, x + l - 1, c] ?? 0) }
//     →  map o0 in 0:64:32, c0 in 0:64:32 @parallel {
//          local m: f32[16, 32, 32] @worker
//          for n, y0 in 0:56:4 {
//            local v: f32[16, 56, 32] @worker     Bᵀ X B of each tile and channel
//            local g: f32[16, 56, 32] @worker     A dY Aᵀ
//            m[e, r, u] += the sum of g[e, p, r] * v[e, p, u]
//          }
//          for r in 0:32 { map u in 0:32 @vector { dW[o0 + r, c0 + u, 0:3, 0:3] += Gᵀ m[:, r, u] G } }
//        }
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/winograd.h"

namespace headrace::schedule {

class WinogradGradientScheduler {
 public:
  WinogradGradientScheduler(Sdfg* s, const Device& d, Channels c, Completion completion)
      : s_(s), d_(d), c_(std::move(c)), completion_(std::move(completion)) {}
  bool Applies();  // to this sum, and saves enough
  std::optional<std::vector<NodeId>> Run();  // after Applies; nullopt: it has none, and what was added to the kernel is spoilt

 private:
  using Statements = std::vector<NodeId>;
  // The data or the gradients: what of them is laid out and transformed for a block of tiles.
  struct Side {
    WindowRead read;
    Parts channels;
    std::optional<Strip> strip;
    Name tiles;  // of 16 elements each: v or g
  };
  void CutChannels();
  bool LayOut();
  void CutLines();
  std::vector<Expr> SumAt(Expr product, Expr row, Expr column) const;
  Statements AddUp();
  Statements Transform(Side* side, bool data);
  Statements Products();
  Statements Tile(int64_t count, Name e);
  Statements Results();
  Name Local(const std::string& stem, std::vector<int64_t> shape, Storage storage = Storage::kWorker) {
    return schedule::Local(s_, stem, DType::kF32, {shape.begin(), shape.end()}, storage);
  }
  NodeId Put(Name target, std::vector<Expr> index, Expr value, WriteOp op = WriteOp::kAssign) {
    return schedule::Put(s_, target, std::move(index), op, std::move(value));
  }

  Sdfg* s_;
  const Device& d_;
  Channels c_;
  Completion completion_;
  WindowOfThree along_lines_, along_row_;
  Range k_, l_;             // the places of a window
  Parts lines_, row_;       // the terms: places of an image
  int64_t tile_lines_ = 1, tile_columns_ = 1;
  Side data_, gradients_;
  Side *rows_ = nullptr, *columns_ = nullptr;  // of these two: columns are the nearer ones in the results
  int64_t width_ = 1;       // columns of a tile of sums
  Parts bands_;             // of the lines, one for a thread at a time
  Name sums_;               // m; of bands, a dimension more
  Name r_, u_, r1_, u1_;    // a row and a column of a tile, and its first ones
};

}  // namespace headrace::schedule
