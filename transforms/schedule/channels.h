// Sums over windows of containers whose channels lie innermost in memory: convolutions, depthwise ones, pools. What is
// innermost is said by strides, wherever the dimension stands in the subsets.
//   map n, y, x, o, k, l, c { Y[n, y, x, o] += (X[n, y + k - 1, x + l - 1, c] ?? 0) * W[k, l, c, o] }
//     →  points n, y, x, columns o, terms k, l, c
#pragma once
#include <optional>
#include <vector>

#include "transforms/schedule/product.h"

namespace headrace::schedule {

// X[…], or what it is outside: i >= 0 && i < 9 ? X[i] : 0; or either of them converted.
struct WindowRead {
  Name container;
  std::vector<Expr> index;
  std::vector<bool> below, above;  // of each dimension: sides that are asked for
  Expr outside;                    // null: it is always inside
  DType cast = DType::kNone;       // what elements are converted to, if they are,
  int64_t more = 0;                // and what is added then
};
// Nullopt: it asks for something else.
std::optional<WindowRead> WindowReadOf(const Sdfg& s, const Expr& e);

// A product whose rows are points of a space and whose columns are channels.
struct Channels {
  Tasklet sum;
  DType type = DType::kNone;
  WindowRead data;             // the operand that has the points
  Expr weights;                // the other one
  std::vector<Range> outer;    // in both operands and the target
  std::vector<Range> points;   // in the data and the target; neighbours in memory last
  std::vector<Range> blocks;   // in the weights and the target, beside the columns
  Range columns;               // … and of these the one that walks the target by one
  std::vector<Range> terms;    // in both operands; in the order of the data's memory
  std::vector<Range> around;   // as terms, but around the sum, which is added to the target each time
  bool turned = false;         // the data have the channels of points: a gradient of weights, whose terms are the places of an image
};
// Nullopt: it is none, or plain matrix products and the like are better off as such. Ranges begin at 0 and go by 1.
// `type`: what the sum is computed in.
std::optional<Channels> ChannelsOf(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::vector<bool>& apart, DType type);

// A sum, maximum or minimum for each channel by itself.
struct Windows {
  Tasklet sum;
  DType type = DType::kNone;
  std::vector<Range> points;  // neighbours in memory last
  Range lane;                 // the channel
  std::vector<Range> terms;
};
std::optional<Windows> WindowsOf(const Sdfg& s, const Nest& n, const Tasklet& sum, const std::vector<bool>& apart, DType type);

// ---- what such sums are made of ----
// Accumulates what is not read from its own target.
bool IsPlainSum(const Sdfg& s, const Tasklet& t);
// How far apart in memory the elements for consecutive values are; INT32_MAX where nobody knows.
int64_t StepOf(const Sdfg& s, Name container, const std::vector<Expr>& index, bool flat, Name of);
// Neighbours in memory last.
void Order(const Sdfg& s, Name container, const std::vector<Expr>& index, std::vector<Range>* ranges);
// Some dimension is walked by a point and by a term.
bool HasWindow(const std::vector<Expr>& index, const std::vector<Range>& points, const std::vector<Range>& terms);
int64_t StrideIn(const Sdfg& s, Name container, size_t dimension);  // in memory; INT32_MAX where nobody knows
int64_t LengthOf(const Range& r);                                   // -1 where nobody knows

}  // namespace headrace::schedule
