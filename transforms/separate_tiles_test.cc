#include <gtest/gtest.h>

#include "transforms/testing.h"

namespace headrace::transforms {
namespace {

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) text.replace(at, what.size(), by);
  return text;
}

// A loop whose body has a tile, and an `if` both of whose sides have one.
const char kTiles[] = R"(
kernel rows(A: f32[N, 4], inout Y: f32[N, 16], N: symbol) for cpu {
  map i0 in 0:N:12 @parallel {
    for i1 in i0:+12:6 {
      @1
      if i1 + 6 <= N {
        @2
        local t: f32[6, 16]
        map i in 0:6 @unroll {
          map j in 0:16 @vector { t[i, j] = A[i1 + i, 0] }
        }
        map i in 0:6 @unroll {
          map j in 0:16 @vector { Y[i1 + i, j] += t[i, j] }
        }
        @/2
      } else {
        @3
        local e: f32[1, 16]
        for i in i1:+6 {
          map j in 0:16 @vector { e[0, j] = A[i, 1] }
          map j in 0:16 @vector { Y[i, j] += e[0, j] }
        }
        @/3
      }
      @/1
    }
  }
})";

// With `apart` around what some of the numbers mark.
std::string Marked(std::string text, const std::string& apart) {
  for (const char* n : {"1", "2", "3"}) {
    const bool is = apart.find(n) != std::string::npos;
    text = Replaced(Replaced(text, std::string("@") + n, is ? "map @apart {" : ""), std::string("@/") + n, is ? "}" : "");
  }
  return text;
}

// The second tile lives in the loop within the `else`.
TEST(SeparateTiles, BodiesOfLoopsAndSidesOfIfs) {
  const std::string after = Replaced(Marked(kTiles, "2"), R"(for i in i1:+6 {
          map j in 0:16 @vector { e[0, j] = A[i, 1] }
          map j in 0:16 @vector { Y[i, j] += e[0, j] }
        })", R"(for i in i1:+6 {
          map @apart {
            map j in 0:16 @vector { e[0, j] = A[i, 1] }
            map j in 0:16 @vector { Y[i, j] += e[0, j] }
          }
        })");
  ExpectPass(Marked(kTiles, ""), "separate-tiles", after);
  ExpectUnchanged(after, "separate-tiles");
}

TEST(SeparateTiles, AnElse) {
  const std::string before = Replaced(kTiles, "for i in i1:+6 {", "map j in 0:16 @vector { e[0, j] = 0 }\n for i in i1:+6 {");
  ExpectPass(Marked(before, ""), "separate-tiles", Marked(before, "23"));
}

TEST(SeparateTiles, OneStep) {
  const std::string before = Replaced(kTiles, "for i in i1:+6 {", "map j in 0:16 @vector { e[0, j] = 0 }\n for i in i1:+6 {");
  ExpectPass(Marked(before, ""), "separate-tiles@#9+#11", Marked(before, "3"));
}

TEST(SeparateTiles, Vectors) {
  ExpectUnchanged(R"(
kernel rows(X: f32[N, 16], Y: f32[N, 16], N: symbol) for cpu {
  for i in 0:N {
    local t: f32[16]
    map j in 0:16 @vector { t[j] = X[i, j] }
    map j in 0:16 @vector { Y[i, j] = t[j] }
  }
})",
                  "separate-tiles");
}

// What may leave the kernel in the midst of it is no function.
TEST(SeparateTiles, WhatMayLeave) {
  ExpectUnchanged(R"(
kernel rows(X: f32[N, 4], I: i64[N], Y: f32[N, 4], N: symbol) for cpu {
  for i in 0:N {
    local t: f32[1, 4]
    map j in 0:4 @vector { t[0, j] = 1 }
    if i > 1 {
      check X[I[i], 0]
      map j in 0:4 @vector { t[0, j] += X[I[i], j] }
    }
    map j in 0:4 @vector { Y[i, j] = t[0, j] }
  }
})",
                  "separate-tiles");
  ExpectUnchanged(R"(
kernel rows(X: f32[N, 4], Y: f32[N, 4], N: symbol) for cpu {
  for i in 0:N {
    local t: f32[1, 4]
    local row: f32[N] @worker
    map j in 0:4 @vector { t[0, j] = 1 }
    map j in 0:N @vector { row[j] = X[j, 0] }
    map j in 0:4 @vector { Y[i, j] = t[0, j] + row[i] }
  }
})",
                  "separate-tiles");
}

TEST(SeparateTiles, AcceleratorsHaveNone) {
  ExpectUnchanged(R"(
kernel rows(X: f32[N, 4], Y: f32[N, 4], N: symbol) for gpu {
  map n in 0:N @grid {
    for k in 0:2 {
      map t in 0:1 @block {
        for i in 0:1 {
          local s: f32[1, 4]
          for j in 0:4 { s[0, j] = X[n, j] }
          for j in 0:4 { Y[n, j] = s[0, j] }
        }
      }
    }
  }
})",
                  "separate-tiles");
}

}  // namespace
}  // namespace headrace::transforms
