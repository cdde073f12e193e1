// Sums of products whose indices fall into rows, columns and depth are packed, blocked and run by a register-tiled
// micro-kernel: matrix products and convolutions alike, whatever their operands read.
#pragma once
#include <optional>
#include <string>

#include "backends/cpu/nest.h"

namespace headrace::cpu {

struct Contraction {
  LoweredStmt stmt;
  Expr row_operand, column_operand;     // value = row_operand * column_operand
  std::vector<LoopDim> outer;           // everything else that the target is indexed by: one unit of work each
  LoopDim row;                          // in row_operand and the target
  std::optional<LoopDim> column_outer;  // contiguous with `column` in the target: columns are the two together,
  std::vector<LoopDim> column_middle;   // with these, from the inside out, between them
  LoopDim column;                       // in column_operand and the target; unit stride there if any is
  std::vector<LoopDim> depth;           // in both operands; the first is blocked
  std::optional<LoopDim> around;        // like depth, but a loop around the product, which adds to the target each time
  Expr row_stride, column_stride;       // in the target
};
std::optional<Contraction> MatchContraction(const PerfectNest& p);

// The body over units [begin, end), and how many there are; `prologue` computes what `total` and `grain` mention.
struct ContractionCode {
  std::string body, total, grain;
};
ContractionCode EmitContraction(NestGen& gen, const Contraction& c, Writer& prologue);

}  // namespace headrace::cpu
