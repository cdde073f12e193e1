#include "tests/autodiff/random_programs.h"

#include <algorithm>
#include <sstream>

namespace headrace::autodiff::testing {
namespace {

struct Index {
  std::string name;
  bool column = false;
};  // runs within 0:M for columns, 0:N otherwise

// The second calls the first, loops by a symbol that its caller gives, and branches by it.
const char kCallees[] = R"(sdfg mix(x: f64[K], y: f64[K]) {
  transient m: f64
  m = 0
  map i in 0:K { m += 0.2 * x[i] * x[i] }
  map i in 0:K { y[i] = tanh(x[i] + m) }
}
sdfg blend(x: f64[K], inout y: f64[K], s: symbol) {
  transient z: f64[K]
  for i in 0:K:s + 1 { y[i] = 0.5 * y[i] + 0.3 * x[K - 1 - i] * y[i] }
  call mix(x = y, y = z)
  if s > 0 { map i in 0:K { y[i] = z[i] } } else { for i in 1:K { y[i] += 0.2 * z[i - 1] } }
}
)";

class Generator {
 public:
  Generator(uint64_t seed, std::string n, std::string m, std::string q)
      : state_(seed * 0x9e3779b97f4a7c15ull + 99), n_(std::move(n)), m_(std::move(m)), q_(std::move(q)) {}

  std::string Run(int statements) {
    for (int k = 0; k < statements; ++k) Statement({}, "  ", 0);
    std::ostringstream text;
    const bool symbols = n_ == "N";
    const std::string vector = ": f64[" + n_ + "]", matrix = ": f64[" + n_ + ", " + m_ + "]";
    text << "sdfg random(A" << vector << ", B" << matrix << ", C" << vector << ", inout D" << vector << ", idx: i64["
         << n_ << "], Y" << vector << ", L: f64" << (symbols ? ", Q: symbol" : "") << ") {\n";
    if (symbols) text << "  assume 4 <= N, 3 <= M, 1 <= Q <= 3\n";
    for (const char* t : {"T0", "T1", "T2"}) text << "  transient " << t << vector << "\n";
    for (const char* u : {"U0", "U1"}) text << "  transient " << u << matrix << "\n";
    text << "  transient W: f64[" << m_ << ", " << m_ << "]\n  transient Z: c128[" << n_ << "]\n  transient p: i64["
         << n_ << "]\n  transient s0: f64\n  transient s1: f64\n  view row: f64[" << m_ << "] of U0 offset " << m_
         << "\n  view flip: f64[" << m_ << ", " << n_ << "] of U1 strides [1, " << m_
         << "]\n  view corner: f64[2, 2] of U0 offset 1 strides [" << m_ << ", 2]\n"
         << declarations_.str();
    const std::string rows = "  map i in 0:" + n_ + " { ", all = "  map i in 0:" + n_ + ", j in 0:" + m_ + " { ";
    text << rows << "T0[i] = A[i] * C[i] }\n"
         << rows << "T1[i] = sin(A[i]) }\n"
         << rows << "T2[i] = 0.5 * C[i] }\n"
         << all << "U0[i, j] = B[i, j] }\n"
         << all << "U1[i, j] = B[i, j] * A[i] }\n"
         << rows << "Z[i] = complex(A[i], 0.4 * C[i]) }\n"
         << rows << "D[i] = 0.9 * D[i] }\n"
         << rows << "p[i] = idx[i] }\n  map i in 0:" << m_ << ", j in 0:" << m_
         << " { W[i, j] = 0.6 * B[i, j] }\n  s0 = A[0]\n  s1 = 0.5\n"
         << body_.str() << rows << "Y[i] = T0[i] + 0.5 * T1[i] - 0.3 * T2[i] + A[i] * s0 }\n  L = s1\n"
         << all << "L += U0[i, j] * U0[i, j] + 0.7 * U1[i, j] }\n"
         << rows << "L += 0.3 * real(Z[i] * conj(Z[i])) + 0.2 * imag(Z[i]) }\n}\n"
         << kCallees;
    return text.str();
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
  std::string Vector() { return Pick({"T0", "T1", "T2", "D"}); }
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
      case 3: return Pick({"idx[", "p["}) + i + "]";
      default: return i;
    }
  }

  // An array element or scalar; of `own` only that element.
  std::string Leaf(const Indices& in, const std::string& own_array, const std::string& own) {
    for (int tries = 0; tries < 20; ++tries) {
      std::string array, text;
      switch (Below(9)) {
        case 0: return Literal();
        case 8: return "(A[" + At(in, false) + " - 2] ?? " + Literal() + ")";
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
  // `text` over its sizes, which are N, M and Q wherever they stand alone.
  std::string Sized(const std::string& text) const {
    std::string out;
    for (size_t k = 0; k < text.size(); ++k) {
      const auto word = [&](size_t at) { return at < text.size() && (isalnum(text[at]) || text[at] == '_'); };
      const bool alone = !word(k + 1) && (k == 0 || !word(k - 1));
      out += !alone           ? std::string(1, text[k])
             : text[k] == 'N' ? n_
             : text[k] == 'M' ? m_
             : text[k] == 'Q' ? q_
                              : std::string(1, text[k]);
    }
    return out;
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

  void Line(const std::string& indent, const std::string& text) { body_ << indent << Sized(text) << "\n"; }

  void MapAssign(const Indices& in, const std::string& indent) {
    const bool matrix = Chance(40);
    const std::string i = Fresh("i"), j = Fresh("j"), target = matrix ? Matrix() : Vector();
    const std::string own = target + (matrix ? "[" + i + ", " + j + "]" : "[" + i + "]");
    Indices inner = in;
    inner.push_back({i, false});
    if (matrix) inner.push_back({j, true});
    std::string rows = Pick({"0:N", "0:N", "1:N", "0:N:2", "1:N - 1", "N - 1:-1:-1", "0:N:Q", "N - 1:-1:-Q"});
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
                      head = Pick({"1:N", "1:N:2", "N - 1:0:-1", "2:N - 1", "N - 1:1:-2", "1:N:Q", "N - 1:0:-Q"});
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
    const std::string i = Fresh("i"), t = Vector(), at = Pick({"idx[", "p["}) + i + "]";
    Indices inner = in;
    inner.push_back({i, false});
    switch (Below(5)) {
      case 0: return Line(indent, "map " + i + " in 0:N { " + t + "[" + at + "] += 0.2 * " + Bounded(inner, t) + " }");
      case 1:
        return Line(indent, "for " + i + " in " + Pick({"0:N", "0:N:2", "N - 1:-1:-1"}) + " { " + t + "[" + at +
                                "] = " + Bounded(inner, "") + " }");
      case 2:
        Line(indent, "map " + i + " in 0:N { " + t + "[" + at + "] *= 1 + 0.2 * " + Bounded(inner, t) + " }");
        return Line(indent, "map " + i + " in 0:N { " + t + "[" + i + "] = tanh(" + t + "[" + i + "]) }");
      case 3:  // elements of C are apart from each other
        Line(indent, "map " + i + " in 0:N { " + t + "[" + i + "] = " + Pick({"-0.1", "C[" + i + "]"}) + " }");
        return Line(indent, "map " + i + " in 0:N { " + t + "[" + at + "]" + Pick({" max= ", " min= "}) + "0.4 * C[" +
                                i + "] }");
      default:
        return Line(indent, "map " + i + " in 0:N { " + t + "[" + i + Pick({" - 1", " + 2"}) + "] ?? += 0.3 * " +
                                Bounded(inner, t) + " }");
    }
  }

  // Sizes that the run defines: a prefix, a slice per row.
  void FromData(const Indices& in, const std::string& indent) {
    const std::string i = Fresh("i"), k = Fresh("k"), m = Fresh("m"), t = Vector(), s = Number();
    Indices inner = in;
    if (Chance(50)) {
      Line(indent, "let " + m + " = 1 + idx[" + At(in, false) + "] % 3");
      inner.push_back({i, false});
      if (Chance(50))
        return Line(indent, "map " + i + " in 0:" + m + " { " + t + "[" + i +
                                "] = " + Bounded(inner, t, t + "[" + i + "]") + " }");
      Line(indent, "for " + i + " in " + Pick({m + ":N", "0:" + m, m + ":-1:-1"}) + " {");
      Statement(inner, indent + "  ", 2);
      return Line(indent, "}");
    }
    Line(indent, "for " + i + " in 0:N {");
    Line(indent, "  let " + m + " = idx[" + i + "] % 2");
    Line(indent, "  let " + m + "_end = " + m + " + p[(" + i + " + 1) % N] % 3");
    inner.push_back({i, false}), inner.push_back({k, false});
    if (Chance(50)) {
      Line(indent,
           "  map " + k + " in " + m + ":" + m + "_end { " + t + "[" + i + "] += 0.2 * " + Bounded(inner, t) + " }");
    } else {
      Line(indent, "  " + s + " = " + t + "[" + i + "]");
      Line(indent, "  for " + k + " in " + m + ":" + m + "_end { " + s + " = 0.5 * " + s + " + 0.4 * " +
                       Bounded(inner, s) + " }");
      Line(indent, "  " + t + "[" + i + "] = " + s);
    }
    Line(indent, "}");
  }

  void Complex(const Indices& in, const std::string& indent) {
    const std::string i = Fresh("i"), t = Vector();
    Indices inner = in;
    inner.push_back({i, false});
    switch (Below(4)) {
      case 0:
        return Line(indent, "map " + i + " in 0:N { Z[" + i + "] = Z[" + i + "] * complex(" + Bounded(inner, "") +
                                ", " + Bounded(inner, "") + ") }");
      case 1:
        return Line(indent, "for " + i + " in 1:N { Z[" + i + "] = 0.5 * Z[" + i + "] * conj(Z[" + i +
                                " - 1]) + exp(Z[" + i + " - 1] * complex(0, 0.5)) * 0.4 }");
      case 2:
        return Line(indent, "map " + i + " in 0:N { " + t + "[" + i + "] = 0.5 * sin(real(Z[" + i +
                                "])) + 0.3 * imag(Z[N - 1 - " + i + "]) }");
      default:
        return Line(indent, "map " + i + " in 0:N { Z[" + Pick({"idx[" + i + "]", "0"}) + "] += 0.1 * complex(" +
                                Bounded(inner, "") + ", 0.2) }");
    }
  }

  void Node(const std::string& indent) {
    const std::string u = Matrix(), v = Matrix(), t = Vector();
    switch (Below(5)) {
      case 0: return Line(indent, "onnx.Tanh(input = " + t + ") -> (output = " + Vector() + ")");
      case 1: return Line(indent, "onnx.Softmax{axis = 1}(input = " + u + ") -> (output = " + v + ")");
      case 2:
        return Line(indent, "onnx.Gather{axis = 0}(data = " + u + ", indices = " + Pick({"idx", "p"}) +
                                ") -> (output = " + (u == "U0" ? "U1" : "U0") + ")");
      default:
        Line(indent, "onnx.MatMul(A = " + u + ", B = W) -> (Y = " + (u == "U0" ? "U1" : "U0") + ")");
        return Line(indent, "onnx.Tanh(input = " + v + ") -> (output = " + v + ")");
    }
  }

  void Element(const Indices& in, const std::string& indent) {
    switch (Below(5)) {
      case 0: return Line(indent, Number() + " = " + Bounded(in, ""));
      case 4: {  // a table of indices that changes
        const std::string i = Fresh("i");
        return Line(indent, "for " + i + " in 0:N { p[" + i + "] = (p[N - 1 - " + i + "] + " + i + " + 1) % N }");
      }
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
                       (kind == 2 ? " = 0; " + t + " <= 3; " + t + " = " + t + " + " + Pick({"1", "2", "Q"})
                                  : " in " + Pick({"0:3", "0:N:2", "3:-1:-1", "1:N - 1", "N - 1:-1:-Q", "2:2"})) +
                       " {");
      if (kind == 1) Line(indent, "  if " + Condition(inner) + " { " + Pick({"continue", "break"}) + " }");
    } else {
      declarations_ << "  transient " << n << ": i64\n";
      Line(indent, n + " = 0");
      if (kind == 3) Line(indent, "while " + n + " < idx[" + At(in, false) + "] {");
      if (kind == 4) Line(indent, "loop {"), Line(indent, "  if " + n + " >= 3 || C[" + n + "] < 0 { break }");
      if (kind == 5) Line(indent, "do {"), close = "} while " + n + " < 1 + idx[0] % 3";
      Line(indent, "  " + n + " += 1");
      if (Chance(30))
        Line(indent, "  if " + n + " == 2 " + Pick({"", "&& " + Condition(in) + " "}) + "{ " +
                         Pick({"continue", "break"}) + " }");
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

  void Call(const Indices& in, const std::string& indent) {
    const std::string i = Fresh("i"), s = in.empty() ? Pick({"0", "1", "Q"}) : in.back().name;
    switch (Below(5)) {
      case 0: return Line(indent, "call mix(x = " + Pick({"A", "T0"}) + ", y = " + Pick({"T1", "T2"}) + ")");
      case 1: return Line(indent, "map " + i + " in 0:N { call mix(x = U0[" + i + ", :], y = U1[" + i + ", :]) }");
      case 2: return Line(indent, "map " + i + " in 0:N { call mix(x = B[" + i + ", :], y = U0[" + i + ", :]) }");
      case 3:
        return Line(indent, "call blend(x = " + Pick({"A", "T0"}) + ", y = " + Pick({"T1", "D"}) + ", s := " + s + ")");
      default:
        return Line(indent, "map " + i + " in 0:N { call blend(x = B[" + i + ", :], y = U0[" + i + ", :], s := " + i +
                                " % 2) }");
    }
  }

  void Statement(const Indices& in, const std::string& indent, int depth) {
    const int k = Below(depth >= 3 ? 70 : 100);
    if (k < 18) MapAssign(in, indent);
    else if (k < 24) Stencil(in, indent);
    else if (k < 32) Scan(in, indent);
    else if (k < 38) Reduce(in, indent);
    else if (k < 46) Scatter(in, indent);
    else if (k < 54) Element(in, indent);
    else if (k < 58) FromData(in, indent);
    else if (k < 62) Complex(in, indent);
    else if (k < 66) Node(indent);
    else if (k < 70) Call(in, indent);
    else if (k < 87) Loop(in, indent, depth);
    else Branch(in, indent, depth);
  }

  uint64_t state_;
  const std::string n_, m_, q_;  // sizes and a step, as the text has them
  std::ostringstream body_, declarations_;
  int names_ = 0;
};

}  // namespace

Case RandomCase(uint64_t seed, int statements, bool symbols, int64_t scale) {
  Case c;
  const int64_t n = scale * (4 + static_cast<int64_t>(seed % 3)), m = scale * (3 + static_cast<int64_t>(seed % 2)),
                q = 1 + static_cast<int64_t>(seed / 6 % 3);
  c.text = (symbols ? Generator(seed, "N", "M", "Q")
                    : Generator(seed, std::to_string(n), std::to_string(m), std::to_string(q)))
               .Run(statements);
  if (symbols) c.symbols = {{"Q", q}};
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
              {"D", Uniform({n}, -1, 1, seed + 2)},
              {"idx", Integers({n}, idx)}};
  return c;
}

}  // namespace headrace::autodiff::testing
