#include "tests/autodiff/random_programs.h"

#include <algorithm>
#include <sstream>

namespace headrace::autodiff::testing {
namespace {

struct Index {
  std::string name;
  bool column = false;
};  // runs within 0:M for columns, 0:N otherwise

class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 99) {}

  std::string Run(int statements) {
    for (int k = 0; k < statements; ++k) Statement({}, "  ", 0);
    std::string text =
        "sdfg random(A: f64[N], B: f64[N, M], C: f64[N], idx: i64[N], Y: f64[N], L: f64) {\n  assume 4 <= N, 3 <= M\n";
    for (const char* t : {"T0", "T1", "T2"}) text += std::string("  transient ") + t + ": f64[N]\n";
    for (const char* u : {"U0", "U1"}) text += std::string("  transient ") + u + ": f64[N, M]\n";
    text += "  transient s0: f64\n  transient s1: f64\n";
    text +=
        "  view row: f64[M] of U0 offset M\n  view flip: f64[M, N] of U1 strides [1, M]\n  view corner: f64[2, 2] of U0 offset 1 strides [M, 2]\n";
    text += declarations_.str();
    text +=
        "  map i in 0:N { T0[i] = A[i] * C[i] }\n  map i in 0:N { T1[i] = sin(A[i]) }\n  map i in 0:N { T2[i] = 0.5 * C[i] }\n"
        "  map i in 0:N, j in 0:M { U0[i, j] = B[i, j] }\n  map i in 0:N, j in 0:M { U1[i, j] = B[i, j] * A[i] }\n"
        "  s0 = A[0]\n  s1 = 0.5\n";
    text += body_.str();
    text +=
        "  map i in 0:N { Y[i] = T0[i] + 0.5 * T1[i] - 0.3 * T2[i] + A[i] * s0 }\n  L = s1\n"
        "  map i in 0:N, j in 0:M { L += U0[i, j] * U0[i, j] + 0.7 * U1[i, j] }\n}\n";
    text +=
        "sdfg mix(x: f64[K], y: f64[K]) {\n  transient m: f64\n  m = 0\n  map i in 0:K { m += 0.2 * x[i] * x[i] }\n"
        "  map i in 0:K { y[i] = tanh(x[i] + m) }\n}\n";
    return text;
  }

 private:
  using Indices = std::vector<Index>;

  uint64_t Next() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
  }
  int Below(int n) { return static_cast<int>(Next() % static_cast<uint64_t>(n)); }
  bool Chance(int percent) { return Below(100) < percent; }
  std::string Pick(const std::vector<std::string>& v) {
    return v[static_cast<size_t>(Below(static_cast<int>(v.size())))];
  }
  std::string Fresh(const char* stem) { return stem + std::to_string(++names_); }
  std::string Literal() { return Pick({"0.3", "0.7", "-0.4", "0.15", "1.1", "-0.9"}); }
  std::string Vector() { return Pick({"T0", "T1", "T2"}); }
  std::string Matrix() { return Pick({"U0", "U1"}); }
  std::string Number() { return Pick({"s0", "s1"}); }

  // A position in 0:N (or 0:M).
  std::string At(const Indices& in, bool column) {
    std::vector<std::string> bare;
    for (const Index& x : in)
      if (x.column == column) bare.push_back(x.name);
    const std::string size = column ? "M" : "N";
    if (bare.empty()) return Pick({"0", "1", "2", size + " - 1"});
    const std::string i = Pick(bare);
    switch (Below(column ? 3 : 5)) {
      case 0: return "(" + i + " + " + std::to_string(1 + Below(3)) + ") % " + size;
      case 1: return size + " - 1 - " + i;
      case 3: return "idx[" + i + "]";
      default: return i;
    }
  }

  // An array element or scalar; of `own` only that element.
  std::string Leaf(const Indices& in, const std::string& own_array, const std::string& own) {
    for (int tries = 0; tries < 20; ++tries) {
      std::string array, text;
      switch (Below(8)) {
        case 0: return Literal();
        case 1: return "A[" + At(in, false) + "]";
        case 2: return "B[" + At(in, false) + ", " + At(in, true) + "]";
        case 3: array = Number(), text = array; break;
        case 4: array = Matrix(), text = array + "[" + At(in, false) + ", " + At(in, true) + "]"; break;
        case 5: array = "U0", text = "row[" + At(in, true) + "]"; break;
        case 6: array = "U1", text = "flip[" + At(in, true) + ", " + At(in, false) + "]"; break;
        default: array = Vector(), text = array + "[" + At(in, false) + "]"; break;
      }
      if (array != own_array) return text;
      if (!own.empty()) return own;
    }
    return Literal();
  }

  std::string Value(const Indices& in, const std::string& own_array, const std::string& own, int depth) {
    auto x = [&] { return Value(in, own_array, own, depth - 1); };
    if (depth <= 0) return Leaf(in, own_array, own);
    switch (Below(12)) {
      case 0: return "sin(" + x() + ")";
      case 1: return "tanh(" + x() + ")";
      case 2: return "exp(-(" + x() + ") * (" + x() + ") * 0.1 - 0.2)";
      case 3: return "sqrt(1 + " + Square(x()) + ") - 1";
      case 4: {
        const std::string d = Square(x());
        return "(" + x() + ") / (1 + " + d + ")";
      }
      case 5: return "cos(" + x() + " + " + Literal() + ")";
      case 6: {
        const std::string c = Condition(in);
        const std::string a = x();
        return "(" + c + " ? " + a + " : " + x() + ")";
      }
      case 7: return "log(2 + " + Square(x()) + ")";
      case 8: return "(" + x() + ") * (" + x() + ")";
      case 9: return "0.6 * (" + x() + ") - 0.3 * (" + x() + ")";
      default: {
        const std::string a = x();
        return a + " + " + Literal() + " * (" + x() + ")";
      }
    }
  }
  static std::string Square(const std::string& a) { return "(" + a + ") * (" + a + ")"; }
  std::string Bounded(const Indices& in, const std::string& own_array, const std::string& own = "") {
    return Pick({"tanh", "sin", "0.9 * sin"}) + "(" + Value(in, own_array, own, 1 + Below(3)) + ")";
  }
  // Integers and elements of C, which are never near zero.
  std::string Condition(const Indices& in) {
    switch (Below(4)) {
      case 0: return "C[" + At(in, false) + "] > 0";
      case 1: return "idx[" + At(in, false) + "] < 2";
      case 2: return "C[" + At(in, false) + "] < 0 && idx[" + At(in, false) + "] != 1";
      default:
        return in.empty() ? "N > 4" : in[static_cast<size_t>(Below(static_cast<int>(in.size())))].name + " % 2 == 0";
    }
  }

  void Line(const std::string& indent, const std::string& text) { body_ << indent << text << "\n"; }

  void MapAssign(const Indices& in, const std::string& indent) {
    const bool matrix = Chance(40);
    const std::string i = Fresh("i"), j = Fresh("j"), target = matrix ? Matrix() : Vector();
    const std::string own = target + (matrix ? "[" + i + ", " + j + "]" : "[" + i + "]");
    Indices inner = in;
    inner.push_back({i, false});
    if (matrix) inner.push_back({j, true});
    std::string rows = Pick({"0:N", "0:N", "1:N", "0:N:2", "1:N - 1", "N - 1:-1:-1"});
    if (!matrix && Chance(20)) {  // a register between two statements
      const std::string r = Fresh("r");
      declarations_ << "  transient " << r << ": f64 @register\n";
      Line(indent, "map " + i + " in " + rows + " {");
      Line(indent, "  " + r + " = " + Bounded(inner, target, own));
      Line(indent, "  " + own + " = " + r + " * " + r + " - 0.5 * " + r + " + 0.3 * " + Bounded(inner, target, own));
      return Line(indent, "}");
    }
    Line(indent, "map " + i + " in " + rows + (matrix ? ", " + j + " in " + Pick({"0:M", "1:M", "0:M:2"}) : "") +
                     " { " + own + " = " + Bounded(inner, target, own) + " }");
  }

  void Stencil(const Indices&, const std::string& indent) {
    const std::string i = Fresh("i"), j = Fresh("j"), to = Matrix(), from = to == "U0" ? "U1" : "U0";
    if (Chance(50)) {
      Line(indent, "map " + i + " in 1:N - 1, " + j + " in 1:M - 1 { " + to + "[" + i + ", " + j + "] = 0.3 * " + from +
                       "[" + i + " - 1, " + j + "] * " + from + "[" + i + ", " + j + " + 1] + 0.4 * sin(" + from + "[" +
                       i + " + 1, " + j + " - 1]) + 0.2 * " + from + "[" + i + ", " + j + "] }");
    } else {
      const std::string a = Vector();
      std::string b = Vector();
      while (b == a) b = Vector();
      Line(indent, "map " + i + " in 1:N - 1 { " + a + "[" + i + "] = 0.4 * " + b + "[" + i + " - 1] * " + b + "[" + i +
                       " + 1] + 0.5 * " + b + "[" + i + "] }");
    }
  }

  void Scan(const Indices& in, const std::string& indent) {
    const std::string i = Fresh("i"), t = Vector(),
                      head = Pick({"1:N", "1:N:2", "N - 1:0:-1", "2:N - 1", "N - 1:1:-2"});
    Indices inner = in;
    inner.push_back({i, false});
    Line(indent, "for " + i + " in " + head + " {");
    const std::string value = t + "[" + i + " - 1]";
    Line(indent,
         "  " + t + "[" + i + "] = " + Pick({"sin(", "0.8 * tanh("}) + value + " + " + Value(inner, "", "", 2) + ")");
    Line(indent, "}");
  }

  void Reduce(const Indices& in, const std::string& indent) {
    const std::string i = Fresh("i"), j = Fresh("j"), s = Number();
    Indices inner = in;
    inner.push_back({i, false}), inner.push_back({j, true});
    switch (Below(4)) {
      case 0:
        Line(indent, s + " = " + Literal());
        Line(indent, "map " + i + " in 0:N, " + j + " in 0:M { " + s + " += 0.1 * " + Bounded(inner, s) + " }");
        Line(indent, s + " = tanh(" + s + ")");
        return;
      case 1:
        inner.pop_back();
        Line(indent, s + " = 1");
        Line(indent, "map " + i + " in 0:N { " + s + " *= 1 + 0.2 * " + Bounded(inner, s) + " }");
        return;
      case 2:  // elements of C are apart from each other
        Line(indent, s + " = " + Pick({"-0.1", "C[1]"}));
        Line(indent, "map " + i + " in 0:N { " + s + Pick({" max= ", " min= "}) + "0.4 * C[" + i + "] }");
        return;
      default: {
        const std::string t = Vector();
        Line(indent,
             "map " + i + " in 0:N, " + j + " in 0:M { " + t + "[" + i + "] += 0.1 * " + Bounded(inner, t) + " }");
      }
    }
  }

  void Scatter(const Indices& in, const std::string& indent) {
    const std::string i = Fresh("i"), t = Vector();
    Indices inner = in;
    inner.push_back({i, false});
    if (Chance(50))
      return Line(indent, "map " + i + " in 0:N { " + t + "[idx[" + i + "]] += 0.2 * " + Bounded(inner, t) + " }");
    Line(indent, "for " + i + " in " + Pick({"0:N", "0:N:2", "N - 1:-1:-1"}) + " { " + t + "[idx[" + i +
                     "]] = " + Bounded(inner, "") + " }");
  }

  void Element(const Indices& in, const std::string& indent) {
    switch (Below(4)) {
      case 0: return Line(indent, Number() + " = " + Bounded(in, ""));
      case 1: return Line(indent, Vector() + "[" + At(in, false) + "] = " + Bounded(in, ""));
      case 2: return Line(indent, "corner[1, " + Pick({"0", "1"}) + "] = " + Bounded(in, ""));
      default: return Line(indent, Matrix() + "[" + At(in, false) + ", " + At(in, true) + "] = " + Bounded(in, ""));
    }
  }

  void Loop(const Indices& in, const std::string& indent, int depth) {
    Indices inner = in;
    const std::string n = Fresh("n");
    const int kind = Below(6);
    std::string close = "}", before_end;
    if (kind < 3) {
      const std::string t = Fresh("t");
      inner.push_back({t, false});
      Line(indent, "for " + t +
                       (kind == 2 ? " = 0; " + t + " <= 3; " + t + " = " + t + " + " + Pick({"1", "2"})
                                  : " in " + Pick({"0:3", "0:N:2", "3:-1:-1", "1:N - 1"})) +
                       " {");
      if (kind == 1) Line(indent, "  if " + Condition(inner) + " { " + Pick({"continue", "break"}) + " }");
    } else {
      declarations_ << "  transient " << n << ": i64\n";
      Line(indent, n + " = 0");
      if (kind == 3) Line(indent, "while " + n + " < idx[" + At(in, false) + "] {");
      if (kind == 4) Line(indent, "loop {"), Line(indent, "  if " + n + " >= 3 || C[" + n + "] < 0 { break }");
      if (kind == 5) Line(indent, "do {"), close = "} while " + n + " < 1 + idx[0] % 3";
      Line(indent, "  " + n + " += 1");
    }
    for (int k = 1 + Below(2); k > 0; --k) Statement(inner, indent + "  ", depth + 1);
    Line(indent, close);
  }

  void Branch(const Indices& in, const std::string& indent, int depth) {
    Line(indent, "if " + Condition(in) + " {");
    Statement(in, indent + "  ", depth + 1);
    if (Chance(30)) {
      Line(indent, "} else if " + Condition(in) + " {");
      Statement(in, indent + "  ", depth + 1);
    }
    if (Chance(70)) {
      Line(indent, "} else {");
      Statement(in, indent + "  ", depth + 1);
    }
    Line(indent, "}");
  }

  void Call(const std::string& indent) {
    const std::string i = Fresh("i");
    if (Chance(50)) return Line(indent, "call mix(x = " + Pick({"A", "T0"}) + ", y = " + Pick({"T1", "T2"}) + ")");
    Line(indent, Chance(50) ? "map " + i + " in 0:N { call mix(x = U0[" + i + ", :], y = U1[" + i + ", :]) }"
                            : "map " + i + " in 0:N { call mix(x = B[" + i + ", :], y = U0[" + i + ", :]) }");
  }

  void Statement(const Indices& in, const std::string& indent, int depth) {
    const int k = Below(depth >= 3 ? 70 : 100);
    if (k < 22) MapAssign(in, indent);
    else if (k < 30) Stencil(in, indent);
    else if (k < 40) Scan(in, indent);
    else if (k < 48) Reduce(in, indent);
    else if (k < 55) Scatter(in, indent);
    else if (k < 66) Element(in, indent);
    else if (k < 70) Call(indent);
    else if (k < 87) Loop(in, indent, depth);
    else Branch(in, indent, depth);
  }

  uint64_t state_;
  std::ostringstream body_, declarations_;
  int names_ = 0;
};

}  // namespace

Case RandomCase(uint64_t seed, int statements) {
  Case c;
  c.text = Generator(seed).Run(statements);
  const int64_t n = 4 + static_cast<int64_t>(seed % 3), m = 3 + static_cast<int64_t>(seed % 2);
  std::vector<double> apart;  // at least 0.15 from zero and from each other
  std::vector<int64_t> idx;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t k = (i * 5 + static_cast<int64_t>(seed)) % 7;
    apart.push_back((k % 2 ? -1 : 1) * (0.2 + 0.17 * static_cast<double>(k)));
    idx.push_back((i * i + static_cast<int64_t>(seed / 3)) % n);
  }
  c.values = {{"A", Uniform({n}, -1, 1, seed)},
              {"B", Uniform({n, m}, -1, 1, seed + 1)},
              {"C", Numbers({n}, apart)},
              {"idx", Integers({n}, idx)}};
  return c;
}

}  // namespace headrace::autodiff::testing
