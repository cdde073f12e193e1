// Sums of integers times constants, in f32: what is left of zero points, scales and biases of quantised numbers.
//   b[j] + f32(S - c[j]) * (s * t[j])  →  n[j] + m[j] * f32(S), of which m and n are numbers for each j
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::transforms {

// A constant as f64: one number, or one for each value of an index.
struct Numbers {
  std::vector<double> values;
  Expr index;  // null: it has but one
};

struct Affine {
  struct Term {
    Expr integer;  // in f32
    Numbers times;
  };
  std::vector<Term> terms;
  Numbers more;
};

struct Registers {
  std::function<Expr(Name)> value;     // what one was given, if that is still so: null where nobody knows
  std::function<bool(Name)> is_whole;  // whether it holds integers, though it is of f32
};
// Nullopt: it is something else.
std::optional<Affine> AffineOf(const Sdfg& s, const Expr& e, const Registers& registers);
// Integers converted to f32, and their sums and products.
bool IsWhole(const Sdfg& s, const Expr& e);
// The constant that an expression is; nullopt: it is none, or depends on more than one index.
std::optional<Numbers> NumbersOf(const Sdfg& s, const Expr& e);
// All of it over a constant; nullopt where that is no number.
std::optional<Affine> Over(const Affine& a, const Numbers& by);

}  // namespace headrace::transforms
