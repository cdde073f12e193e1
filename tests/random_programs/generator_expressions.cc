// Random expressions, and what is known of their values.
#include "tests/random_programs/generator_internal.h"

namespace headrace::testing {

std::string Generator::Size() {
  return rng_.Pick(std::vector<std::string>{"N", "N", "M", "M", "3", "4", "N + 1", "2 * M", "1"});
}

std::vector<std::string> Generator::Shape(int max_rank) {
  std::vector<std::string> s;
  for (int r = rng_.Below(max_rank + 1); r > 0; --r) s.push_back(Size());
  return s;
}

DType Generator::AnyType() {
  std::vector<DType> types = {DType::kF32, DType::kF32, DType::kF32, DType::kF64, DType::kI32,
                              DType::kI64, DType::kI8,  DType::kU8,  DType::kBool};
  if (o_.small_floats) types.insert(types.end(), {DType::kF16, DType::kBF16});
  return rng_.Pick(types);
}

Array* Generator::NewTransient(DType t, std::vector<std::string> shape) {
  Array a;
  a.name = Fresh("t");
  a.dtype = t;
  a.shape = std::move(shape);
  a.writable = true;
  declarations_ << "  transient " << a.name << ": " << DTypeName(t)
                << (a.shape.empty() ? "" : "[" + Join(a.shape) + "]") << "\n";
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
    default:
      *inside = false;
      return rng_.Pick(std::vector<std::string>{i + " - 1", i + " + 1", "2 * " + i, i + " - 2"});
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
      case 3:
      case 4:
      case 5:
        r.text = "(" + a.text + " + " + b.text + ")";
        r.known.hi = a.known.hi + b.known.hi;
        break;
      case 6:
        r.text = "(" + a.text + " - " + b.text + ")";
        r.known.hi = a.known.hi + b.known.hi;
        break;
      case 7:
      case 8:
      case 9:
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
      if (const Array* a = Readable(from); a != nullptr && from != t)
        return std::string(DTypeName(t)) + "(" + Read(*a, vars, from, depth).text + ")";
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
    case 4:
    case 5:
    case 6: return "(" + a + " + " + b + ")";
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
      return "(" + Read(*Readable(t), vars, t, 0).text +
             rng_.Pick(std::vector<std::string>{" < ", " >= ", " == ", " != "}) + std::to_string(rng_.Below(5)) + ")";
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

}  // namespace headrace::testing
