// The generator's state: what it knows of every container made so far.
#pragma once
#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tests/random_programs/generator.h"

namespace headrace::testing {

class Rng {
 public:
  explicit Rng(uint64_t seed) : s_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  uint64_t Next() {
    uint64_t x = s_ += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
  }
  int Below(int n) { return static_cast<int>(Next() % static_cast<uint64_t>(n)); }
  bool Chance(int percent) { return Below(100) < percent; }
  template <typename T>
  const T& Pick(const std::vector<T>& v) {
    return v[static_cast<size_t>(Below(static_cast<int>(v.size())))];
  }

 private:
  uint64_t s_;
};

// What is known about a number: |x| <= hi, a multiple of 2^-frac, and free of rounding.
struct Known {
  double hi = 0;
  int frac = 0;
  bool exact = true;
};

struct Array {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::string> shape;
  Known known;
  bool writable = false, defined = false, index = false, is_view = false;
  std::string base;
};
struct Var {
  std::string name, extent;
};  // a map's index and the size it runs over from 0
struct Piece {
  std::string text;
  Known known;
};

inline int MantissaBits(DType t) {
  switch (t) {
    case DType::kF64: return 50;
    case DType::kF32: return 22;
    case DType::kF16: return 10;
    case DType::kBF16: return 7;
    default: return 0;
  }
}

inline std::string Join(const std::vector<std::string>& v) {
  std::string s;
  for (size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + v[i];
  return s;
}

class Generator {
 public:
  Generator(uint64_t seed, const GeneratorOptions& o) : rng_(seed), o_(o) {}
  RandomProgram Run();

 private:
  // ---- expressions ----
  Piece Float(DType t, const std::vector<Var>& vars, int depth);
  std::string Int(DType t, const std::vector<Var>& vars, int depth);
  std::string Bool(const std::vector<Var>& vars, int depth);
  Piece Read(const Array& a, const std::vector<Var>& vars, DType as, int depth);
  std::string Index(const std::string& extent, const std::vector<Var>& vars, bool* inside);
  Known Checked(Known k, DType t, std::string* text);
  std::string Literal(Known* k);
  const Array* Readable(DType t);
  Array* Writable();
  // ---- statements ----
  std::string Value(Array* a, const std::vector<Var>& vars,
                    bool whole);  // for an element of `a`; `whole`: all are overwritten
  void EnterLoop();
  void Statement(int depth);
  void Fill(Array* a, const std::string& indent);
  void PartialWrite(Array* a, const std::string& indent);
  void WriteThroughView(const std::string& indent);
  void Reduce(const std::string& indent);
  void Scatter(const std::string& indent);
  void RegisterBody(const std::string& indent);
  void TriangularSum(const std::string& indent);
  void ForLoop(int depth, const std::string& indent);
  void WhileLoop(int depth, const std::string& indent);
  void Branch(int depth, const std::string& indent);
  void CallSdfg(const std::string& indent);
  void View();
  void SizeFromData(const std::string& indent);
  Array* NewTransient(DType t, std::vector<std::string> shape);
  std::string Size();
  std::vector<std::string> Shape(int max_rank);
  DType AnyType();
  std::string MapHead(const std::vector<Var>& vars);
  std::vector<Var> Vars(const std::vector<std::string>& shape);
  std::string Indent(int depth) const { return std::string(static_cast<size_t>(2 + 2 * depth), ' '); }
  void Line(const std::string& indent, const std::string& text) { body_ << indent << text << "\n"; }
  std::string Fresh(const char* stem) { return stem + std::to_string(++names_); }
  void Join_(Array* a, const Known& k) {
    a->known.hi = std::max(a->known.hi, k.hi);
    a->known.frac = std::max(a->known.frac, k.frac);
    a->known.exact = a->known.exact && k.exact;
  }

  Rng rng_;
  GeneratorOptions o_;
  std::vector<Array> arrays_;
  std::ostringstream body_, declarations_, sdfgs_;
  std::vector<std::string> loop_vars_;
  int names_ = 0;
  int nested_ = 0;  // inside loops: values recur, so nothing may grow
};

}  // namespace headrace::testing
