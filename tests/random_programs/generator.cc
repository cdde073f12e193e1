#include "tests/random_programs/generator.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace headrace::testing {
namespace {

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
  template <typename T> const T& Pick(const std::vector<T>& v) { return v[static_cast<size_t>(Below(static_cast<int>(v.size())))]; }

 private:
  uint64_t s_;
};

// What is known about a number: |x| <= hi, a multiple of 2^-frac, and free of rounding.
struct Known { double hi = 0; int frac = 0; bool exact = true; };

struct Array {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::string> shape;
  Known known;
  bool writable = false, defined = false, index = false, is_view = false;
  std::string base;
};
struct Var { std::string name, extent; };          // a map's index and the size it runs over from 0
struct Piece { std::string text; Known known; };

int MantissaBits(DType t) {
  switch (t) {
    case DType::kF64: return 50;
    case DType::kF32: return 22;
    case DType::kF16: return 10;
    case DType::kBF16: return 7;
    default: return 0;
  }
}

std::string Join(const std::vector<std::string>& v) {
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
  std::string Value(Array* a, const std::vector<Var>& vars, bool whole);  // for an element of `a`; `whole`: all are overwritten
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
  int nested_ = 0;       // inside loops: values recur, so nothing may grow
};

std::string Generator::Size() { return rng_.Pick(std::vector<std::string>{"N", "N", "M", "M", "3", "4", "N + 1", "2 * M", "1"}); }

std::vector<std::string> Generator::Shape(int max_rank) {
  std::vector<std::string> s;
  for (int r = rng_.Below(max_rank + 1); r > 0; --r) s.push_back(Size());
  return s;
}

DType Generator::AnyType() {
  std::vector<DType> types = {DType::kF32, DType::kF32, DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kI8, DType::kU8, DType::kBool};
  if (o_.small_floats) types.insert(types.end(), {DType::kF16, DType::kBF16});
  return rng_.Pick(types);
}

Array* Generator::NewTransient(DType t, std::vector<std::string> shape) {
  Array a;
  a.name = Fresh("t");
  a.dtype = t;
  a.shape = std::move(shape);
  a.writable = true;
  declarations_ << "  transient " << a.name << ": " << DTypeName(t) << (a.shape.empty() ? "" : "[" + Join(a.shape) + "]") << "\n";
  arrays_.push_back(a);
  return &arrays_.back();
}

std::vector<Var> Generator::Vars(const std::vector<std::string>& shape) {
  std::vector<Var> v;
  for (const std::string& s : shape) v.push_back({Fresh("i"), s});
  return v;
}

std::string Generator::MapHead(const std::vector<Var>& vars) {
  std::string s = "map ";
  for (size_t i = 0; i < vars.size(); ++i) s += (i ? ", " : "") + vars[i].name + " in 0:" + vars[i].extent;
  return s + " { ";
}

// An index into a dimension of this size; *inside: certainly within it.
std::string Generator::Index(const std::string& extent, const std::vector<Var>& vars, bool* inside) {
  std::vector<std::string> same;
  for (const Var& v : vars)
    if (v.extent == extent) same.push_back(v.name);
  *inside = true;
  if (!same.empty() && rng_.Chance(75)) {
    const std::string i = rng_.Pick(same);
    return rng_.Chance(20) ? extent + " - 1 - " + i : i;
  }
  if (rng_.Chance(20)) return "0";
  std::string i = vars.empty() ? "1" : rng_.Pick(vars).name;
  if (!loop_vars_.empty() && rng_.Chance(30)) i = rng_.Pick(loop_vars_);
  switch (rng_.Below(6)) {
    case 0: return "(" + i + " + " + std::to_string(rng_.Below(3)) + ") % (" + extent + ")";
    case 2: return "reflect(" + i + " - 2, " + extent + ")";
    case 3: return "wrap(-1, " + extent + ")";
    case 1:
      for (const Array& a : arrays_) {
        if (a.index && a.defined && a.shape.size() == 1) {
          return "i64(" + a.name + "[" + i + " % (" + a.shape[0] + ")]) % (" + extent + ")";
        }
      }
      return "min(" + i + ", " + extent + " - 1)";
    default: *inside = false; return rng_.Pick(std::vector<std::string>{i + " - 1", i + " + 1", "2 * " + i, i + " - 2"});
  }
}

std::string Generator::Literal(Known* k) {
  const int quarters = rng_.Below(17) - 8;
  k->hi = std::abs(quarters) / 4.0;
  k->frac = quarters % 4 == 0 ? 0 : quarters % 2 == 0 ? 1 : 2;
  k->exact = true;
  std::ostringstream s;
  s << quarters / 4.0;
  return quarters < 0 ? "(" + s.str() + ")" : s.str();
}

// Keeps a value within what its type can hold exactly, or gives up exactness; never lets it grow without bound.
Known Generator::Checked(Known k, DType t, std::string* text) {
  if (k.hi > 200) {
    if (k.exact) {
      *text = "clamp(" + *text + ", -8, 8)";
      k.hi = 8;
    } else {
      *text = "tanh(" + *text + ")";
      k.hi = 1;
    }
  }
  if (k.exact && std::log2(std::max(k.hi, 1.0)) + k.frac > MantissaBits(t) - 2) {
    if (rng_.Chance(50)) {
      *text = "floor(" + *text + ")";
      k.frac = 0;
      k.exact = std::log2(std::max(k.hi, 1.0)) <= MantissaBits(t) - 2;
    } else {
      k.exact = false;
    }
  }
  return k;
}

const Array* Generator::Readable(DType t) {
  std::vector<const Array*> fit;
  for (const Array& a : arrays_)
    if (a.defined && a.dtype == t && !a.index) fit.push_back(&a);
  return fit.empty() ? nullptr : rng_.Pick(fit);
}

Piece Generator::Read(const Array& a, const std::vector<Var>& vars, DType, int) {
  bool all_inside = true;
  std::vector<std::string> index;
  for (const std::string& extent : a.shape) {
    bool inside;
    index.push_back(Index(extent, vars, &inside));
    all_inside &= inside;
  }
  Piece p{a.name + (index.empty() ? "" : "[" + Join(index) + "]"), a.known};
  if (!all_inside || (!index.empty() && rng_.Chance(5))) {
    const bool number = a.dtype != DType::kBool;
    const int d = rng_.Below(4);
    p.text = "(" + p.text + " ?? " + (number ? std::to_string(d) : d % 2 ? "true" : "false") + ")";
    p.known.hi = std::max(p.known.hi, static_cast<double>(d));
  }
  return p;
}

Piece Generator::Float(DType t, const std::vector<Var>& vars, int depth) {
  const int choice = depth <= 0 ? rng_.Below(3) : rng_.Below(20);
  Piece r;
  if (choice <= 1 || (choice == 2 && depth <= 0)) {
    if (const Array* a = Readable(t); a != nullptr && !rng_.Chance(10)) return Read(*a, vars, t, depth);
    r.text = Literal(&r.known);
    return r;
  }
  if (choice == 2) {  // an integer or another float, cast
    const DType from = rng_.Pick(std::vector<DType>{DType::kI8, DType::kU8, DType::kBool, DType::kF32, DType::kF64});
    if (const Array* a = Readable(from); a != nullptr && from != t) {
      r = Read(*a, vars, from, depth);
      if (!IsFloat(from)) r.known = {from == DType::kBool ? 1.0 : 256.0, 0, true};
      r.text = std::string(DTypeName(t)) + "(" + r.text + ")";
      if (r.known.exact && std::log2(std::max(r.known.hi, 1.0)) + r.known.frac > MantissaBits(t)) r.known.exact = false;
      r.known = Checked(r.known, t, &r.text);
      return r;
    }
    r.text = Literal(&r.known);
    return r;
  }
  Piece a = Float(t, vars, depth - 1);
  if (choice <= 12) {
    Piece b = Float(t, vars, depth - 1);
    r.known.exact = a.known.exact && b.known.exact;
    r.known.frac = std::max(a.known.frac, b.known.frac);
    switch (choice) {
      case 3: case 4: case 5:
        r.text = "(" + a.text + " + " + b.text + ")";
        r.known.hi = a.known.hi + b.known.hi;
        break;
      case 6:
        r.text = "(" + a.text + " - " + b.text + ")";
        r.known.hi = a.known.hi + b.known.hi;
        break;
      case 7: case 8: case 9:
        r.text = "(" + a.text + " * " + b.text + ")";
        r.known.hi = a.known.hi * b.known.hi;
        r.known.frac = a.known.frac + b.known.frac;
        break;
      case 10:
        r.text = (rng_.Chance(50) ? "max(" : "min(") + a.text + ", " + b.text + ")";
        r.known.hi = std::max(a.known.hi, b.known.hi);
        break;
      default: {
        r.text = "(" + Bool(vars, depth - 1) + " ? " + a.text + " : " + b.text + ")";
        r.known.hi = std::max(a.known.hi, b.known.hi);
      }
    }
    r.known = Checked(r.known, t, &r.text);
    return r;
  }
  r.known = a.known;
  switch (choice) {
    case 13: r.text = "abs(" + a.text + ")"; break;
    case 14:
      r.text = "-(" + a.text + ")";
      if (a.known.exact && rng_.Chance(30)) r = {"sign(" + a.text + ")", {1, 0, true}};
      break;
    case 15:
      if (!a.known.exact) return a;
      r.text = std::string(rng_.Pick(std::vector<std::string>{"floor", "ceil", "rint", "trunc"})) + "(" + a.text + ")";
      r.known = {std::ceil(a.known.hi), 0, true};
      break;
    case 16: r = {"exp(-abs(" + a.text + "))", {1, 0, false}}; break;
    case 17: r = {"tanh(" + a.text + ")", {1, 0, false}}; break;
    case 18: r = {"sqrt(1 + abs(" + a.text + "))", {1 + std::sqrt(a.known.hi), 0, false}}; break;
    default: r = {"(" + a.text + " / (1 + abs(" + a.text + ")))", {1, 0, false}}; break;
  }
  return r;
}

std::string Generator::Int(DType t, const std::vector<Var>& vars, int depth) {
  const int choice = depth <= 0 ? rng_.Below(3) : rng_.Below(14);
  if (choice <= 1) {
    if (const Array* a = Readable(t)) return Read(*a, vars, t, depth).text;
  }
  if (choice <= 2) {
    if (t != DType::kBool && t != DType::kI8 && t != DType::kU8 && rng_.Chance(40)) {
      if (!vars.empty() && rng_.Chance(50)) return std::string(DTypeName(t)) + "(" + rng_.Pick(vars).name + ")";
      const DType from = rng_.Pick(std::vector<DType>{DType::kI8, DType::kU8, DType::kI32, DType::kI64});
      if (const Array* a = Readable(from); a != nullptr && from != t) return std::string(DTypeName(t)) + "(" + Read(*a, vars, from, depth).text + ")";
    }
    if (const Array* a = Readable(DType::kF32); a != nullptr && a->known.exact && rng_.Chance(30)) {
      return std::string(DTypeName(t)) + "(clamp(" + Read(*a, vars, DType::kF32, depth).text + ", 0, 8))";
    }
    const int v = t == DType::kU8 ? rng_.Below(256) : rng_.Below(21) - 10;
    return std::string(DTypeName(t)) + "(" + std::to_string(v) + ")";
  }
  const std::string a = Int(t, vars, depth - 1);
  if (choice == 3) {
    if (rng_.Chance(30)) return "popcount(" + a + ")";
    if (rng_.Chance(30)) return "sign(" + a + ")";
    if (const Array* wide = Readable(DType::kI64); wide != nullptr && t != DType::kI64 && rng_.Chance(40)) {
      return "sat(" + Read(*wide, vars, DType::kI64, depth).text + ", " + std::string(DTypeName(t)) + ")";
    }
    return rng_.Chance(50) && IsSigned(t) ? "abs(" + a + ")" : "~(" + a + ")";
  }
  const std::string b = Int(t, vars, depth - 1);
  switch (choice) {
    case 4: case 5: case 6: return "(" + a + " + " + b + ")";
    case 7: return "(" + a + " - " + b + ")";
    case 8: return "(" + a + " * " + b + ")";
    case 9: return (rng_.Chance(50) ? "max(" : "min(") + a + ", " + b + ")";
    case 10:
      if (rng_.Chance(20)) return "fmod(" + a + ", " + b + ")";
      return "(" + a + rng_.Pick(std::vector<std::string>{" // ", " % ", " / "}) + b + ")";
    case 11: return "(" + a + rng_.Pick(std::vector<std::string>{" & ", " | ", " ^ "}) + b + ")";
    case 12: return "(" + a + (rng_.Chance(50) ? " << " : " >> ") + std::to_string(rng_.Below(4)) + ")";
    default: return "(" + Bool(vars, depth - 1) + " ? " + a + " : " + b + ")";
  }
}

std::string Generator::Bool(const std::vector<Var>& vars, int depth) {
  switch (depth <= 0 ? rng_.Below(3) : rng_.Below(6)) {
    case 0:
      if (const Array* a = Readable(DType::kBool)) return Read(*a, vars, DType::kBool, depth).text;
      [[fallthrough]];
    case 1:
      if (!vars.empty()) return rng_.Pick(vars).name + " % 2 == " + std::to_string(rng_.Below(2));
      return "N > " + std::to_string(rng_.Below(5));
    case 2: {
      const DType t = rng_.Pick(std::vector<DType>{DType::kI32, DType::kI64, DType::kI8});
      if (Readable(t) == nullptr) return "M < 5";
      return "(" + Read(*Readable(t), vars, t, 0).text + rng_.Pick(std::vector<std::string>{" < ", " >= ", " == ", " != "}) + std::to_string(rng_.Below(5)) + ")";
    }
    case 3: {
      const Piece a = Float(DType::kF32, vars, depth - 1), b = Float(DType::kF32, vars, depth - 1);
      if (!a.known.exact || !b.known.exact) return "N == M";
      return "(f32(" + a.text + ")" + rng_.Pick(std::vector<std::string>{" < ", " > ", " <= "}) + b.text + ")";
    }
    case 4: return "(" + Bool(vars, depth - 1) + (rng_.Chance(50) ? " && " : " || ") + Bool(vars, depth - 1) + ")";
    default: return "!(" + Bool(vars, 0) + ")";
  }
}


// ---- statements ----
Array* Generator::Writable() {
  std::vector<Array*> fit;
  for (Array& a : arrays_)
    if (a.writable && a.defined) fit.push_back(&a);
  return fit.empty() ? nullptr : rng_.Pick(fit);
}

std::string Generator::Value(Array* a, const std::vector<Var>& vars, bool whole) {
  const int depth = 1 + rng_.Below(4);
  if (a->dtype == DType::kBool) return Bool(vars, depth);
  if (!IsFloat(a->dtype)) return Int(a->dtype, vars, depth);
  Piece p = Float(a->dtype, vars, depth);
  if (nested_ == 0) {
    if (whole) a->known = p.known;
    else Join_(a, p.known);
    return p.text;
  }
  // In a loop a value is read again in the next round: it stays within what reads there were told.
  if (!a->known.exact) return "tanh(" + p.text + ")";
  if (!p.known.exact) return Literal(&p.known);
  return "clamp(floor(" + p.text + "), -8, 8)";
}

void Generator::EnterLoop() {
  if (nested_++ > 0) return;
  for (Array& a : arrays_) {
    if (!a.writable || !IsFloat(a.dtype)) continue;
    Join_(&a, {8, 0, !rng_.Chance(30)});
  }
}

void Generator::Fill(Array* a, const std::string& indent) {
  const std::vector<Var> vars = Vars(a->shape);
  std::vector<std::string> index;
  for (const Var& v : vars) index.push_back(v.name);
  const std::string value = Value(a, vars, true);
  Line(indent, vars.empty() ? a->name + " = " + value : MapHead(vars) + a->name + "[" + Join(index) + "] = " + value + " }");
  a->defined = true;
}

// Some of the elements: part of a range, with a step, from above, in another nesting.
void Generator::PartialWrite(Array* a, const std::string& indent) {
  if (a->shape.empty()) return Line(indent, a->name + " = " + Value(a, {}, false));
  std::vector<Var> vars = Vars(a->shape);
  std::string head, tail, index;
  for (const Var& v : vars) {
    std::string range = "0:" + v.extent;
    switch (rng_.Below(5)) {
      case 0: range = "1:" + v.extent; break;
      case 1: range = "0:" + v.extent + ":2"; break;
      case 2: range = "(" + v.extent + ") - 1:-1:-1"; break;
      case 3: range = "0:min(" + v.extent + ", 3)"; break;
      default: break;
    }
    const bool own = head.empty() || rng_.Chance(40);
    head += own ? (head.empty() ? "map " : " { map ") : ", ";
    if (own) tail += " }";
    head += v.name + " in " + range;
    index += (index.empty() ? "" : ", ") + v.name;
  }
  // A read of the target itself is only legal at the same element: the target is hidden while its value is made.
  a->defined = false;
  const std::string value = Value(a, vars, false);
  a->defined = true;
  const bool update = rng_.Chance(30) && a->dtype != DType::kBool && nested_ == 0;
  const std::string at = a->name + "[" + index + "]";
  if (update && IsFloat(a->dtype)) a->known = {2 * a->known.hi, a->known.frac, a->known.exact && std::log2(std::max(2 * a->known.hi, 1.0)) + a->known.frac < MantissaBits(a->dtype)};
  Line(indent, head + " { " + at + (update ? rng_.Chance(50) ? " += " + value : " = " + at + " + " + value : " = " + value) + tail);
}

// A row or the transpose of a matrix is written under another name.
void Generator::WriteThroughView(const std::string& indent) {
  std::vector<Array*> fit;
  for (Array& a : arrays_)
    if (a.defined && a.writable && !a.is_view && a.shape.size() == 2 && a.shape[0][0] != 'n') fit.push_back(&a);
  if (fit.empty()) return Fill(NewTransient(DType::kF32, {"N", "M"}), indent);
  Array* base = rng_.Pick(fit);
  const std::string v = Fresh("w"), type(DTypeName(base->dtype));
  std::vector<std::string> shape = {base->shape[1], base->shape[0]};
  std::string place = " strides [1, " + base->shape[1] + "]";
  if (rng_.Chance(50)) {
    shape = {base->shape[1]};
    place = " offset ((" + base->shape[0] + ") - 1) * (" + base->shape[1] + ")";
  }
  declarations_ << "  view " << v << ": " << type << "[" << Join(shape) << "] of " << base->name << place << "\n";
  const std::vector<Var> vars = Vars(shape);
  std::vector<std::string> index;
  for (const Var& x : vars) index.push_back(x.name);
  base->defined = false;  // not read while it is written elsewhere
  const std::string value = Value(base, vars, false);
  base->defined = true;
  Line(indent, MapHead(vars) + v + "[" + Join(index) + "] = " + value + " }");
}

void Generator::Reduce(const std::string& indent) {
  const DType t = rng_.Pick(std::vector<DType>{DType::kF32, DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kI8});
  const int index_rank = rng_.Below(3);
  std::vector<std::string> shape, inner;
  for (int i = 0; i < index_rank; ++i) shape.push_back(Size());
  for (int i = 0; i < 1 + rng_.Below(2); ++i) inner.push_back(Size());
  // The target reads nothing of itself: it is not defined yet.
  const std::vector<Var> kept = Vars(shape), reduced = Vars(inner);
  std::vector<Var> all = kept;
  all.insert(all.end(), reduced.begin(), reduced.end());
  std::string op = rng_.Pick(std::vector<std::string>{"+=", "+=", "max=", "min=", "*="});
  Piece p;
  Known result{8, 0, true};
  if (IsFloat(t)) {
    p = Float(t, all, 2);
    if (op == "*=") {
      p = {"tanh(" + p.text + ")", {1, 0, false}};
      result = {2, 0, false};
    } else if (op == "+=") {
      p.text = p.known.exact ? "clamp(floor(" + p.text + "), -4, 4)" : "tanh(" + p.text + ")";
      // At most (2 * 130)^2 addends of at most 4.
      result = {300000, 0, p.known.exact};
    } else {
      result = {std::max(p.known.hi, 1.0), p.known.frac, p.known.exact};
    }
  } else {
    p.text = Int(t, all, 2);
  }
  Array* a = NewTransient(t, shape);
  std::vector<std::string> index;
  for (const Var& v : kept) index.push_back(v.name);
  const std::string at = a->name + (index.empty() ? "" : "[" + Join(index) + "]");
  const std::string start = op == "+=" ? "0" : "1";
  if (rng_.Chance(60)) {
    Line(indent, kept.empty() ? at + " = " + start : MapHead(kept) + at + " = " + start + " }");
    if (rng_.Chance(40)) std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept.size()), all.end());
    Line(indent, MapHead(all) + at + " " + op + " " + p.text + " }");
  } else {  // initialised inside of the outer map
    std::string outer = kept.empty() ? "" : MapHead(kept);
    Line(indent, outer + at + " = " + start + "; " + MapHead(reduced) + at + " " + op + " " + p.text + " }" + (kept.empty() ? "" : " }"));
  }
  a->known = result;
  a->defined = true;
  if (nested_ > 0 && IsFloat(t)) {
    Line(indent, kept.empty() ? at + " = clamp(" + at + ", -8, 8)" : MapHead(kept) + at + " = clamp(" + at + ", -8, 8) }");
    a->known.hi = 8;
  }
}

void Generator::Scatter(const std::string& indent) {
  const Array* indices = nullptr;
  for (const Array& a : arrays_)
    if (a.index) indices = &a;
  if (indices == nullptr) return;
  const std::string count = indices->shape[0], idx = indices->name;
  const DType t = rng_.Pick(std::vector<DType>{DType::kF32, DType::kI32, DType::kI64});
  const std::vector<Var> vars = Vars({count});
  const std::string i = vars[0].name;
  const std::string size = Size();
  Piece p;
  if (IsFloat(t)) {
    p = Float(t, vars, 2);
    p.text = p.known.exact ? "clamp(floor(" + p.text + "), -4, 4)" : "tanh(" + p.text + ")";
  } else {
    p.text = Int(t, vars, 2);
  }
  Array* a = NewTransient(t, {size});
  Fill(a, indent);
  if (rng_.Chance(50)) Line(indent, MapHead(vars) + a->name + "[i64(" + idx + "[" + i + "]) % (" + size + ")] += " + p.text + " }");
  else Line(indent, MapHead(vars) + a->name + "[i64(" + idx + "[" + i + "]) - 1] ?? " + rng_.Pick(std::vector<std::string>{"+=", "max="}) + " " + p.text + " }");
  if (IsFloat(t)) {
    a->known = {a->known.hi + 2000, a->known.frac, a->known.exact && p.known.exact && a->known.frac < 8};
    if (nested_ > 0) {
      const std::vector<Var> again = Vars({size});
      Line(indent, MapHead(again) + a->name + "[" + again[0].name + "] = clamp(" + a->name + "[" + again[0].name + "], -8, 8) }");
      a->known.hi = 8;
    }
  }
}

// A value private to each iteration, used twice.
void Generator::RegisterBody(const std::string& indent) {
  std::vector<std::string> shape = Shape(2);
  if (shape.empty()) shape.push_back("N");
  const std::vector<Var> vars = Vars(shape);
  Array r;
  r.name = Fresh("r");
  r.dtype = DType::kF32;
  Piece p = Float(DType::kF32, vars, 2);
  declarations_ << "  transient " << r.name << ": f32 @register\n";
  Piece q{"(" + r.name + " + " + r.name + ")", {2 * p.known.hi, p.known.frac, p.known.exact}};
  q.known = Checked(q.known, DType::kF32, &q.text);
  if (nested_ > 0) q = {"tanh(" + q.text + ")", {1, 0, false}};
  Array* a = NewTransient(DType::kF32, shape);
  std::vector<std::string> index;
  for (const Var& v : vars) index.push_back(v.name);
  Line(indent, MapHead(vars) + r.name + " = " + p.text + "; " + a->name + "[" + Join(index) + "] = " + q.text + " }");
  a->known = q.known;
  a->defined = true;
}

void Generator::TriangularSum(const std::string& indent) {
  const std::string size = rng_.Pick(std::vector<std::string>{"N", "M"});
  std::vector<Var> vars = Vars({size, size});
  Piece p = Float(DType::kF32, vars, 1);
  p.text = p.known.exact ? "clamp(floor(" + p.text + "), -4, 4)" : "tanh(" + p.text + ")";
  Array* a = NewTransient(DType::kF32, {size});
  const std::string i = vars[0].name, j = vars[1].name, at = a->name + "[" + i + "]";
  Line(indent, "map " + i + " in 0:" + size + " { " + at + " = 0; map " + j + " in 0:" + i + " + 1 { " + at + " += " + p.text + " } }");
  a->known = {1000, 0, p.known.exact};
  a->defined = true;
  if (nested_ > 0) {
    Line(indent, "map " + i + " in 0:" + size + " { " + at + " = clamp(" + at + ", -8, 8) }");
    a->known.hi = 8;
  }
}

void Generator::ForLoop(int depth, const std::string& indent) {
  EnterLoop();
  const std::string t = Fresh("t");
  if (rng_.Chance(20)) Line(indent, "for " + t + " = 1; " + t + " < M; " + t + " = " + t + " * 2 {");
  else Line(indent, "for " + t + " in " + rng_.Pick(std::vector<std::string>{"0:3", "2:-1:-1", "0:4:2", "0:min(N, 3)"}) + " {");
  loop_vars_.push_back(t);
  const size_t visible = arrays_.size();
  for (int k = 1 + rng_.Below(3); k > 0; --k) Statement(depth + 1);
  if (rng_.Chance(15)) Line(Indent(depth + 1), "if " + t + " == 1 { " + (rng_.Chance(50) ? "break" : "continue") + " }");
  loop_vars_.pop_back();
  Line(indent, "}");
  for (size_t k = visible; k < arrays_.size(); ++k) arrays_[k].defined = arrays_[k].writable = false;  // the loop may not run
  --nested_;
}

void Generator::WhileLoop(int depth, const std::string& indent) {
  Array* c = NewTransient(DType::kI64, {});
  const std::string counter = c->name;
  c->writable = false;
  EnterLoop();
  Line(indent, counter + " = 0");
  const size_t visible = arrays_.size();
  const bool endless = rng_.Chance(50);
  Line(indent, endless ? "loop {" : "while " + counter + " < " + std::to_string(rng_.Below(4)) + " {");
  for (int k = 1 + rng_.Below(2); k > 0; --k) Statement(depth + 1);
  Line(Indent(depth + 1), counter + " += 1");
  if (endless) Line(Indent(depth + 1), "if " + counter + " > 2 { break }");
  Line(indent, "}");
  for (size_t k = visible; k < arrays_.size(); ++k) arrays_[k].defined = arrays_[k].writable = false;
  --nested_;
}

void Generator::Branch(int depth, const std::string& indent) {
  std::string condition = rng_.Chance(50) ? "N > " + std::to_string(rng_.Below(4)) : Bool({}, 1);
  EnterLoop();  // either side may run: values stay within common bounds
  Line(indent, "if " + condition + " {");
  const size_t visible = arrays_.size();
  for (int k = 1 + rng_.Below(2); k > 0; --k) Statement(depth + 1);
  for (size_t k = visible; k < arrays_.size(); ++k) arrays_[k].defined = arrays_[k].writable = false;
  if (rng_.Chance(60)) {
    const size_t then = arrays_.size();
    Line(indent, "} else {");
    for (int k = 1 + rng_.Below(2); k > 0; --k) Statement(depth + 1);
    for (size_t k = then; k < arrays_.size(); ++k) arrays_[k].defined = arrays_[k].writable = false;
  }
  Line(indent, "}");
  --nested_;
}

void Generator::CallSdfg(const std::string& indent) {
  std::vector<const Array*> fit;
  for (const Array& a : arrays_)
    if (a.defined && a.dtype == DType::kF32 && a.known.exact && !a.shape.empty() && a.shape.size() <= 2) fit.push_back(&a);
  if (fit.empty()) return;
  const Array x = *rng_.Pick(fit);
  const std::string name = Fresh("callee");
  std::vector<std::string> dims(x.shape.size());
  for (size_t d = 0; d < dims.size(); ++d) dims[d] = d == 0 ? "A" : "B";
  const bool rows = dims.size() == 2 && rng_.Chance(50);
  if (rows) dims = {"B"};
  const std::vector<Var> vars = Vars(dims);
  std::vector<std::string> index;
  for (const Var& v : vars) index.push_back(v.name);
  sdfgs_ << "sdfg " << name << "(x: f32[" << Join(dims) << "], y: f32[" << Join(dims) << "], k: symbol) {\n  transient h: f32[" << Join(dims) << "]\n  "
         << MapHead(vars) << "h[" << Join(index) << "] = clamp(floor(x[" << Join(index) << "]), -8, 8) + k }\n  " << MapHead(vars) << "y["
         << Join(index) << "] = h[" << Join(index) << "] * (x[" << index[0] << " - 1" << (index.size() > 1 ? ", " + index[1] : "") << "] ?? 1) }\n}\n";
  Array* y = NewTransient(DType::kF32, x.shape);
  const std::string k = std::to_string(rng_.Below(5));
  if (rows) {
    const std::string i = Fresh("i");
    Line(indent, "map " + i + " in 0:" + x.shape[0] + " { call " + name + "(x = " + x.name + "[" + i + ", :], y = " + y->name + "[" + i + ", :], k := " + k + ") }");
  } else {
    Line(indent, "call " + name + "(x = " + x.name + ", y = " + y->name + ", k := " + k + ")");
  }
  y->known = {12 * std::max(x.known.hi, 1.0), x.known.frac, std::log2(12 * std::max(x.known.hi, 1.0)) + x.known.frac < 22};
  y->defined = true;
  if (nested_ > 0) {
    y->writable = false;
  }
}

// The same elements under another shape, or every second one of them.
void Generator::View() {
  std::vector<Array*> fit;
  for (Array& a : arrays_)
    if (a.defined && a.writable && !a.is_view && a.shape.size() == 2) fit.push_back(&a);
  if (fit.empty()) return;
  const Array base = *rng_.Pick(fit);
  Array v;
  v.name = Fresh("v");
  v.dtype = base.dtype;
  v.known = base.known;
  v.is_view = true;
  v.defined = true;
  v.base = base.name;
  const std::string type = std::string(DTypeName(v.dtype));
  if (rng_.Chance(50)) {
    v.shape = {base.shape[1], base.shape[0]};
    declarations_ << "  view " << v.name << ": " << type << "[" << Join(v.shape) << "] of " << base.name << " strides [1, " << base.shape[1] << "]\n";
  } else {
    v.shape = {base.shape[1]};
    declarations_ << "  view " << v.name << ": " << type << "[" << Join(v.shape) << "] of " << base.name << "\n";
  }
  // The base is frozen from here, so that what is known of the view stays true.
  for (Array& a : arrays_)
    if (a.name == base.name) a.writable = false;
  arrays_.push_back(v);
}

void Generator::SizeFromData(const std::string& indent) {
  const Array* indices = nullptr;
  for (const Array& a : arrays_)
    if (a.index) indices = &a;
  if (indices == nullptr || nested_ > 0) return;
  const std::string n = Fresh("n");
  Line(indent, "let " + n + " = 1 + i64(" + indices->name + "[0]) % 4");
  Fill(NewTransient(DType::kF32, {n}), indent);
}

void Generator::Statement(int depth) {
  const std::string indent = Indent(depth);
  const int choice = rng_.Below(depth >= 2 ? 12 : 20);
  if (choice <= 3) {
    const DType t = AnyType();
    Array* made = NewTransient(t, Shape(3));
    if (nested_ > 0 && IsFloat(t)) made->known = {8, 0, !rng_.Chance(30)};
    return Fill(made, indent);
  }
  if (choice <= 6) {
    if (o_.views && rng_.Chance(20)) return WriteThroughView(indent);
    if (Array* a = Writable()) return PartialWrite(a, indent);
    return Fill(NewTransient(DType::kF32, Shape(2)), indent);
  }
  if (choice <= 8) return Reduce(indent);
  if (choice == 9) return RegisterBody(indent);
  if (choice == 10) return TriangularSum(indent);
  if (choice == 11) return o_.scatter ? Scatter(indent) : Reduce(indent);
  if (choice <= 13 && o_.loops) return ForLoop(depth, indent);
  if (choice == 14 && o_.loops) return WhileLoop(depth, indent);
  if (choice <= 16) return Branch(depth, indent);
  if (choice == 17 && o_.calls) return CallSdfg(indent);
  if (choice == 18 && o_.views) return View();
  if (choice == 19 && o_.sizes_from_data && depth == 0) return SizeFromData(indent);
  Fill(NewTransient(AnyType(), Shape(2)), indent);
}

RandomProgram Generator::Run() {
  RandomProgram p;
  auto input = [&](const std::string& name, DType t, std::vector<std::string> shape, int64_t below = 0) {
    Array a;
    a.name = name;
    a.dtype = t;
    a.shape = shape;
    a.defined = true;
    a.index = below > 0;
    a.known = {4, 2, true};
    arrays_.reserve(1024);
    arrays_.push_back(a);
    p.inputs.push_back({name, t, shape, below});
  };
  input("X", DType::kF32, {"N", "M"});
  input("I", DType::kI64, {"M"}, 7);
  const int more = 1 + rng_.Below(3);
  for (int k = 0; k < more; ++k) input("A" + std::to_string(k), AnyType(), Shape(2));
  for (int k = 0; k < o_.statements; ++k) Statement(0);

  // Every container that is still whole goes out, so nothing computed is dead.
  std::string signature;
  for (const RandomProgram::Input& i : p.inputs) {
    signature += (signature.empty() ? "" : ", ") + i.name + ": " + std::string(DTypeName(i.dtype)) + (i.shape.empty() ? "" : "[" + Join(i.shape) + "]");
  }
  std::vector<Array> results;
  for (const Array& a : arrays_) {
    bool from_data = false;
    for (const std::string& d : a.shape) from_data |= d[0] == 'n';
    if (a.defined && a.name[0] != 'X' && a.name[0] != 'I' && a.name[0] != 'A' && !from_data) results.push_back(a);
  }
  const size_t keep = std::min<size_t>(results.size(), 6);
  for (size_t k = results.size() - keep; k < results.size(); ++k) {
    const Array& a = results[k];
    const std::string out = "Y" + std::to_string(k);
    signature += ", " + out + ": " + std::string(DTypeName(a.dtype)) + (a.shape.empty() ? "" : "[" + Join(a.shape) + "]");
    const std::vector<Var> vars = Vars(a.shape);
    std::vector<std::string> index;
    for (const Var& v : vars) index.push_back(v.name);
    const std::string at = index.empty() ? "" : "[" + Join(index) + "]";
    Line("  ", vars.empty() ? out + " = " + a.name : MapHead(vars) + out + at + " = " + a.name + at + " }");
    p.outputs.push_back({out, !IsFloat(a.dtype) || a.known.exact});
  }
  p.text = "entry sdfg program(" + signature + ") {\n  assume 1 <= N <= 130\n  assume 1 <= M <= 130\n" + declarations_.str() + body_.str() + "}\n" + sdfgs_.str();
  return p;
}

}  // namespace

RandomProgram Generate(uint64_t seed, const GeneratorOptions& o) { return Generator(seed, o).Run(); }

std::vector<std::pair<std::string, Tensor>> MakeInputs(const RandomProgram& p, uint64_t seed, int64_t n, int64_t m) {
  Rng rng(seed ^ 0x5eed);
  std::vector<std::pair<std::string, Tensor>> r;
  for (const RandomProgram::Input& i : p.inputs) {
    std::vector<int64_t> shape;
    for (const std::string& d : i.shape) {
      shape.push_back(d == "N" ? n : d == "M" ? m : d == "N + 1" ? n + 1 : d == "2 * M" ? 2 * m : std::stoll(d));
    }
    Tensor t = *Tensor::Create(i.dtype, shape);
    for (int64_t k = 0; k < t.elements(); ++k) {
      if (i.below > 0) t.SetInt(k, rng.Below(static_cast<int>(i.below)));
      else if (i.dtype == DType::kBool) t.SetInt(k, rng.Below(2));
      else if (IsFloat(i.dtype)) t.SetDouble(k, (rng.Below(33) - 16) / 4.0);
      else t.SetInt(k, rng.Chance(10) ? static_cast<int64_t>(rng.Next()) : rng.Below(i.dtype == DType::kU8 ? 256 : 101) - (IsSigned(i.dtype) ? 50 : 0));
    }
    r.emplace_back(i.name, std::move(t));
  }
  return r;
}

}  // namespace headrace::testing
