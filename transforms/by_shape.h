// What follows from the element type and the shape of arrays, found once for all of one kind: programs have few.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::transforms {

template <typename T>
class ByShape {
 public:
  // What is known of such arrays, or what `find(c)` says of the first of them.
  template <typename Fn>
  const T& Of(const Container& c, Fn&& find) {
    uint64_t hash = static_cast<uint64_t>(c.dtype);
    for (const Expr& e : c.shape) hash = hash * 0x9E3779B97F4A7C15ull + e->hash;
    std::vector<Known>& alike = known_[hash];
    for (const Known& k : alike)
      if (k.dtype == c.dtype && k.shape == c.shape) return k.value;
    alike.push_back({c.dtype, c.shape, find(c)});
    return alike.back().value;
  }

 private:
  struct Known {
    DType dtype;
    std::vector<Expr> shape;
    T value;
  };
  std::unordered_map<uint64_t, std::vector<Known>> known_;
};

}  // namespace headrace::transforms
