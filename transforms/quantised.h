// What the elements of quantised tensors are: a small integer less a zero point, times a scale, also where a statement before has
// written that to an array of its own.
//   map i in 0:N, k in 0:K { D[i, k] = f32(i64(Q[i, k]) - i64(z)) * s }
//     →  D[n, c + 1] is Q[n, c + 1], less z, times s
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/registry/transformation.h"
#include "transforms/uses.h"

namespace headrace::transforms {

struct Quantised {
  Expr read;                // of a container of u8 or i8; its value for outside, if it has one, is `zero`
  DType type = DType::kNone;
  Expr zero;                // an i32; null: 0
  std::vector<Expr> scales;  // whose product it is multiplied by
};

// What an element was given, and the position of the statement that did.
struct Written {
  Expr value;
  uint32_t at = 0;
};

class Quantisation {
 public:
  Quantisation(const Sdfg& s, const UseIndex& uses) : s_(s), uses_(uses) {}
  // What the expression is, as the statement at this position reads it. Nullopt: nothing of the kind.
  std::optional<Quantised> Of(const Expr& e, uint32_t at) const;
  std::optional<Written> WrittenTo(const Expr& read, uint32_t at) const;
  // Containers of an expression are not written from one position to another.
  bool Keeps(const Expr& e, uint32_t from, uint32_t until) const;

 private:
  std::optional<Quantised> Parse(const Expr& e, uint32_t at) const;  // a value for outside need not be the zero point
  std::optional<Quantised> Less(const Expr& difference, uint32_t at) const;
  std::optional<Quantised> Read(const Expr& e, uint32_t at) const;
  std::optional<Quantised> Element(const Expr& read) const;
  std::optional<Quantised> WithOutside(Quantised q, const Expr& outside) const;
  std::optional<Expr> Zero(const Expr& e) const;

  const Sdfg& s_;
  const UseIndex& uses_;
  mutable int depth_ = 0;  // of statements that values are followed to
};

// A map, or maps that consist of nothing but the next, around one tasklet; ranges from 0 by 1 that don't depend on each other.
struct OneTasklet {
  std::vector<Range> ranges;
  Tasklet tasklet;
};
std::optional<OneTasklet> OneTaskletOf(const Sdfg& s, NodeId statement);
// Whether the tasklet writes each element of its target once.
bool WritesAll(const Sdfg& s, const OneTasklet& o);

// Dequantised elements are computed where they are read (dequantised_reads.cc).
bool ReadQuantised(const Program& p, Sdfg* s, const Ask& ask);

}  // namespace headrace::transforms
