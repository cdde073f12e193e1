// Factors of one matrix: eigenvalues, singular values, Q and R, the pseudo-inverse, and the logarithm of the determinant. Formulas of the
// gradients are those of PyTorch (torch/csrc/autograd/FunctionsManual.cpp names their papers).
#include <algorithm>

#include "plugins/linalg/algebra.h"
#include "plugins/linalg/families.h"

namespace linalg_ops {
namespace {

using headrace_plugin::Node;
using Names = std::vector<std::string>;
using Matrix = Algebra::Matrix;
using Text = const std::string&;

bool Has(const Names& all, Text name) { return std::find(all.begin(), all.end(), name) != all.end(); }
std::string Size(const hr_port* p, int dimension) { return p->shape[dimension]; }

std::string OfNumbers(const Node& node) {
  const int32_t t = node.input("A")->dtype;
  return t == HR_F32 || t == HR_F64 || t == HR_C64 || t == HR_C128 ? "" : "matrices are of f32, f64, c64 or c128";
}

bool IsNumber(Text s) { return !s.empty() && s.find_first_not_of("0123456789") == std::string::npos; }
enum class Order { kLess, kEqual, kMore, kUnknown };
Order Compare(Text a, Text b) {
  if (a == b) return Order::kEqual;
  if (!IsNumber(a) || !IsNumber(b)) return Order::kUnknown;
  return std::stoll(a) < std::stoll(b) ? Order::kLess : Order::kMore;
}

// The gradient G of a Hermitian matrix as that of its lower triangle, which alone is read.
Matrix OfLowerTriangle(const Algebra& m, const Matrix& g) {
  return Algebra::Elements(g.rows, g.columns, [&m, g](Text i, Text j) {
    return "(" + i + " < " + j + " ? " + m.Number(0) + " : " + i + " == " + j + " ? " + m.Real(g.at(i, j)) + " : " + g.at(i, j) + " + " +
           m.Conj(g.at(j, i)) + ")";
  });
}

// S = L^-H phi(L^H dL) L^-1 with phi the lower triangle, its diagonal real and halved.
std::string CholeskyBackward(const Node& node, const Names&, const Names&) {
  Algebra m(MatrixType(node, "A"));
  const std::string n = Size(node.input("A"), 0);
  const Matrix l = m.Forward("L", n, n), g = m.Given("L", n, n), turned = m.Filled(n, n, m.Adjoint(l).at);
  const Matrix low = m.Filled(n, n, [&](Text i, Text j) { return i + " < " + j + " ? " + m.Number(0) + " : " + g.at(i, j); });
  const Matrix whole = m.Product(turned, low);
  const Matrix phi = m.Filled(n, n, [&](Text i, Text j) {
    return i + " < " + j + " ? " + m.Number(0) + " : " + i + " == " + j + " ? " + m.Number(0.5) + " * " + m.Real(whole.at(i, j)) + " : " + whole.at(i, j);
  });
  const Matrix half = m.Solve(turned, phi);
  m.Give("A", OfLowerTriangle(m, m.Solve(turned, m.Adjoint(half))));
  return m.Program("cholesky_backward");
}

// V (diag(dW) + skew(V^H dV) / E) V^H with E[i, j] = W[j] - W[i].
std::string EighBackward(const Node& node, const Names& given, const Names&) {
  Algebra m(MatrixType(node, "A"));
  const std::string n = Size(node.input("A"), 0);
  const Matrix v = m.Forward("V", n, n);
  const std::string dw = Has(given, "W") ? m.Parameter("dW", n) : "", w = Has(given, "V") ? m.Parameter("W", n) : "";
  const Matrix turned = w.empty() ? Matrix() : m.Product(m.Adjoint(v), m.Given("V", n, n));
  const Matrix core = m.Filled(n, n, [&](Text i, Text j) {
    const std::string on = dw.empty() ? m.Number(0) : m.Real(dw + "[" + i + "]");
    const std::string off = w.empty() ? m.Number(0) : "(" + turned.at(i, j) + " - " + m.Conj(turned.at(j, i)) + ") / (" + m.Number(2) + " * (" +
                                                          w + "[" + j + "] - " + w + "[" + i + "]))";
    return i + " == " + j + " ? " + on + " : " + off;
  });
  m.Give("A", OfLowerTriangle(m, m.Product(m.Product(v, core), m.Adjoint(v))));
  return m.Program("eigh_backward");
}

// a - b b^H a, and the like: what of `a` is outside of the columns of b.
Matrix Outside(Algebra& m, const Matrix& a, const Matrix& b) {
  const Matrix inside = m.Product(b, m.Product(m.Adjoint(b), a));
  return m.Filled(a.rows, a.columns, [a, inside](Text i, Text j) { return a.at(i, j) + " - " + inside.at(i, j); });
}

Matrix Sum(Algebra& m, const Matrix& a, const Matrix& b) {
  return m.Filled(a.rows, a.columns, [a, b](Text i, Text j) { return a.at(i, j) + " + " + b.at(i, j); });
}

// U ((skew(U^H dU) S + S skew(V^H dV)) / E + dS) V^H with E[i, j] = S[j]^2 - S[i]^2, and what dU and dV have outside of the columns of U
// and V. Of more columns than there are singular values, the others have no gradient: they are any that are orthogonal.
std::string SvdBackward(const Node& node, const Names& given, const Names&) {
  Algebra m(MatrixType(node, "A"));
  const std::string rows = Size(node.input("A"), 0), columns = Size(node.input("A"), 1), k = Size(node.output("S"), 0);
  const Matrix u = Algebra::Elements(rows, k, m.Forward("U", rows, Size(node.output("U"), 1)).at);
  const Matrix vh = Algebra::Elements(k, columns, m.Forward("Vh", Size(node.output("Vh"), 0), columns).at), v = m.Adjoint(vh);
  const std::string s = m.Parameter("S", k), ds = Has(given, "S") ? m.Parameter("dS", k) : "";
  const bool of_u = Has(given, "U"), of_v = Has(given, "Vh");
  const Matrix du = of_u ? Algebra::Elements(rows, k, m.Given("U", rows, Size(node.output("U"), 1)).at) : Matrix();
  const Matrix dv = of_v ? m.Adjoint(Algebra::Elements(k, columns, m.Given("Vh", Size(node.output("Vh"), 0), columns).at)) : Matrix();
  const Matrix uu = of_u ? m.Product(m.Adjoint(u), du) : Matrix(), vv = of_v ? m.Product(vh, dv) : Matrix();
  const auto skew = [&](const Matrix& x, Text i, Text j) { return "(" + x.at(i, j) + " - " + m.Conj(x.at(j, i)) + ")"; };
  const auto value = [&](Text i) { return s + "[" + i + "]"; };
  const Matrix core = m.Filled(k, k, [&](Text i, Text j) {
    std::string on = ds.empty() ? m.Number(0) : m.Real(ds + "[" + i + "]"), off = m.Number(0);
    if (m.complex() && of_u && of_v) on += " + " + skew(uu, i, i) + " / (" + m.Number(2) + " * " + value(i) + ")";
    if (of_u) off += " + " + skew(uu, i, j) + " * " + value(j);
    if (of_v) off += " + " + value(i) + " * " + skew(vv, i, j);
    if (!of_u && !of_v) return i + " == " + j + " ? " + on + " : " + off;  // also where singular values are equal
    return i + " == " + j + " ? " + on + " : (" + off + ") / ((" + value(j) + " - " + value(i) + ") * (" + value(j) + " + " + value(i) + "))";
  });
  Matrix g = m.Product(m.Product(u, core), vh);
  if (of_u && Compare(rows, k) != Order::kEqual) {
    const Matrix scaled = m.Filled(rows, k, [&](Text i, Text j) { return du.at(i, j) + " / " + value(j); });
    g = Sum(m, g, m.Product(Outside(m, scaled, u), vh));
  }
  if (of_v && Compare(columns, k) != Order::kEqual) {
    const Matrix scaled = m.Filled(columns, k, [&](Text i, Text j) { return dv.at(i, j) + " / " + value(j); });
    g = Sum(m, g, m.Product(u, m.Adjoint(Outside(m, scaled, v))));
  }
  m.Give("A", g);
  return m.Program("svd_backward");
}

std::string QrApplies(const Node& node) {
  const std::string m = Size(node.input("A"), 0), n = Size(node.input("A"), 1);
  if (const std::string why = OfNumbers(node); !why.empty()) return why;
  const Order order = Compare(m, n);
  if (node.attribute("complete", "0") == "0" || order == Order::kEqual || order == Order::kLess) return "";
  return "of a complete Q of more rows than columns: its last columns are any that are orthogonal";
}

struct QrGradients {
  std::string rows, columns, k;
  Matrix q, square, dq, dr;  // square: the first k columns of R
  bool of_q, of_r;
  Algebra::At x;  // dR R^H - Q^H dQ
};

// (Q sym(triu(X)) + dQ) R^-H
void OfTall(Algebra& m, const QrGradients& g) {
  const Matrix sym = m.Filled(g.k, g.k, [&](Text i, Text j) {
    return i + " < " + j + " ? " + g.x(i, j) + " : " + i + " > " + j + " ? " + m.Conj(g.x(j, i)) + " : " + m.Real(g.x(i, i));
  });
  Matrix sum = m.Product(g.q, sym);
  if (g.of_q) sum = Sum(m, sum, g.dq);
  const Matrix turned = m.Solve(g.square, m.Adjoint(sum));
  m.Assign("A", Algebra::Elements(g.rows, g.columns, [&](Text i, Text j) { return m.Adjoint(turned).at(i, "min(" + j + ", " + g.k + " - 1)"); }));
}

// Q ([skew(-X) R1^-H, 0] + dR) with R1 the first columns of R
void OfWide(Algebra& m, const QrGradients& g) {
  const Matrix skew = m.Filled(g.k, g.k, [&](Text i, Text j) {
    const std::string both = "(" + m.Conj(g.x(j, i)) + " - " + g.x(i, j) + ")";
    return i + " < " + j + " ? " + m.Number(0) + " : " + i + " == " + j + " ? " + m.Number(0.5) + " * " + both + " : " + both;
  });
  const Matrix turned = m.Solve(g.square, m.Adjoint(skew));
  const Matrix inner = m.Filled(g.k, g.columns, [&](Text i, Text j) {
    return "(" + j + " < " + g.k + " ? " + m.Adjoint(turned).at(i, "min(" + j + ", " + g.k + " - 1)") + " : " + m.Number(0) + ")" +
           (g.of_r ? " + " + g.dr.at(i, j) : "");
  });
  m.Assign("A", m.Product(g.q, inner));
}

std::string QrBackward(const Node& node, const Names& given, const Names&) {
  Algebra m(MatrixType(node, "A"));
  QrGradients g{Size(node.input("A"), 0), Size(node.input("A"), 1), Size(node.output("R"), 0), {}, {}, {}, {}, Has(given, "Q"), Has(given, "R"), {}};
  g.q = m.Forward("Q", g.rows, g.k);
  const Matrix r = m.Forward("R", g.k, g.columns);
  g.square = Algebra::Elements(g.k, g.k, r.at);
  m.Result("A", g.rows, g.columns);
  if (g.of_q) g.dq = m.Given("Q", g.rows, g.k);
  if (g.of_r) {
    const Matrix all = m.Given("R", g.k, g.columns);
    g.dr = m.Filled(g.k, g.columns, [&](Text i, Text j) { return i + " > " + j + " ? " + m.Number(0) + " : " + all.at(i, j); });
  }
  const Matrix rr = g.of_r ? m.Product(g.dr, m.Adjoint(r)) : Matrix(), qq = g.of_q ? m.Product(m.Adjoint(g.q), g.dq) : Matrix();
  g.x = [&](Text i, Text j) { return "(" + (g.of_r ? rr.at(i, j) : m.Number(0)) + " - " + (g.of_q ? qq.at(i, j) : m.Number(0)) + ")"; };
  const Order order = Compare(g.rows, g.columns);
  if (order == Order::kUnknown) {
    m.Line("if " + g.columns + " <= " + g.rows + " {");
    OfTall(m, g);
    m.Line("} else {");
    OfWide(m, g);
    m.Line("}");
  } else if (order == Order::kLess) {
    OfWide(m, g);
  } else {
    OfTall(m, g);
  }
  return m.Program("qr_backward");
}

// -P^H dP P^H + (1 - A P) dP^H P P^H + P^H P dP^H (1 - P A): Golub and Pereyra, of matrices whose rank does not change.
std::string PinvBackward(const Node& node, const Names&, const Names&) {
  Algebra m(MatrixType(node, "A"));
  const std::string rows = Size(node.input("A"), 0), columns = Size(node.input("A"), 1);
  const Matrix a = m.Forward("A", rows, columns), p = m.Forward("P", columns, rows), g = m.Given("P", columns, rows);
  const Matrix ph = m.Adjoint(p), gh = m.Adjoint(g);
  const Matrix first = m.Product(m.Product(ph, g), ph);
  const Matrix left = m.Product(gh, m.Product(p, ph)), right = m.Product(m.Product(ph, p), gh);
  const Matrix left_inside = m.Product(a, m.Product(p, left)), right_inside = m.Product(m.Product(right, p), a);
  m.Give("A", Algebra::Elements(rows, columns, [&](Text i, Text j) {
    return left.at(i, j) + " - " + left_inside.at(i, j) + " + (" + right.at(i, j) + " - " + right_inside.at(i, j) + ") - " + first.at(i, j);
  }));
  return m.Program("pinv_backward");
}

// dA = f A^-T, with f = dL, and of complex numbers the change of the sign's angle beside it.
std::string SlogdetBackward(const Node& node, const Names& given, const Names&) {
  Algebra m(MatrixType(node, "A"));
  const std::string n = Size(node.input("A"), 0);
  const bool of_sign = Has(given, "S"), of_logarithm = Has(given, "L");
  const std::string ds = of_sign ? m.Parameter("dS", "") : "", dl = of_logarithm ? m.Parameter("dL", "") : "";
  std::string factor = of_logarithm ? dl : m.Number(0);
  if (m.complex()) {
    const std::string turn = of_sign ? "imag(" + ds + " * " + m.Parameter("S", "") + ")" : "real(" + dl + ") * 0";
    factor = "complex(" + (of_logarithm ? "real(" + dl + ")" : "imag(" + ds + ") * 0") + ", " + turn + ")";
  }
  const Matrix a = m.Forward("A", n, n);
  const Matrix inverse = m.Solve(a, Algebra::Elements(n, n, [&](Text i, Text j) { return "(" + i + " == " + j + " ? " + m.Number(1) + " : " + m.Number(0) + ")"; }));
  m.Give("A", Algebra::Elements(n, n, [&](Text i, Text j) { return m.Conj(factor + " * " + inverse.at(j, i)); }));
  return m.Program("slogdet_backward");
}

}  // namespace

void RegisterFactors(Registrar& r) {
  r.backward("linalg.Cholesky", "by_two_solves", OfNumbers, CholeskyBackward);

  r.op("linalg.Slogdet")
      .Doc("The determinant as a sign (of complex matrices a number of size 1) and the logarithm of its size.")
      .Input("A", "number")
      .Output("S", "A")
      .Output("L", "A")
      .Shape("shape S[]; shape L[]")
      .Sample("A: f64[2, 2] in [-1, 1]; at 0.5, 4, 3, 1")
      .Sample("A: f64[1, 1] in [1, 2]")
      .Sample("A: f64[3, 3] in [1, 2]; at 9, 1, 1, 1, 9, 1, 1, 1, 9");
  r.backward("linalg.Slogdet", "by_the_inverse", OfNumbers, SlogdetBackward);

  r.op("linalg.Eigh")
      .Doc("Eigenvalues, ascending, and eigenvectors (the columns of V) of a Hermitian matrix, of which the lower triangle is read.")
      .Input("A", "number")
      .Output("W", "A")
      .Output("V", "A")
      .Shape("shape W[dim(A, 0)]; shape V[dims(A)]")
      .Sample("A: f64[3, 3] in [1, 2]; at 9, 1, 1, 1, 5, 1, 1, 1, 2")
      .Sample("A: f64[2, 2] in [1, 2]; at 4, 0.5, 0.5, 2")
      .Sample("A: f64[1, 1] in [1, 2]");
  r.backward("linalg.Eigh", "by_eigenvectors", OfNumbers, EighBackward);

  r.op("linalg.Svd")
      .Doc("A = U diag(S) Vh with singular values in descending order; `full`: U and Vh are square.")
      .Input("A", "number")
      .Output("U", "A")
      .Output("S", "A")
      .Output("Vh", "A")
      .Attribute("full", "int", "0")
      .Shape("let m = dim(A, 0); let n = dim(A, 1); let k = min(m, n); shape S[k]\n"
             "if full { shape U[m, m]; shape Vh[n, n] } else { shape U[m, k]; shape Vh[k, n] }")
      .Sample("A: f64[3, 3] in [1, 2]; at 9, 1, 2, 1, 5, 1, 1, 1, 2")
      .Sample("A: f64[4, 2] in [1, 2]; at 4, 0.5, 0.5, 2")
      .Sample("A: f64[2, 3] in [1, 2]; at 4, 0.5, 0.5, -2; attr full = 0");
  r.backward("linalg.Svd", "by_singular_vectors", OfNumbers, SvdBackward);

  r.op("linalg.Qr")
      .Doc("A = Q R, by Householder's reflections as LAPACK has them; `complete`: Q is square.")
      .Input("A", "number")
      .Output("Q", "A")
      .Output("R", "A")
      .Attribute("complete", "int", "0")
      .Shape("let m = dim(A, 0); let n = dim(A, 1); let k = complete ? m : min(m, n); shape Q[m, k]; shape R[k, n]")
      .Sample("A: f64[3, 3] in [1, 2]; at 9, 1, 2, 1, 5, 1, 1, 1, 2")
      .Sample("A: f64[4, 2] in [1, 2]; at 4, 0.5, 0.5, 2")
      .Sample("A: f64[2, 3] in [1, 2]; at 4, 0.5, 0.5, -2; attr complete = 1");
  r.backward("linalg.Qr", "by_triangular_solves", QrApplies, QrBackward);

  r.op("linalg.Pinv")
      .Doc("The pseudo-inverse, of singular values above `rtol` times the largest (-1: the type's precision times the larger size).")
      .Input("A", "number")
      .Output("P", "A")
      .Attribute("rtol", "float", "-1")
      .Shape("shape P[dim(A, 1), dim(A, 0)]")
      .Sample("A: f64[3, 3] in [1, 2]; at 9, 1, 2, 1, 5, 1, 1, 1, 2")
      .Sample("A: f64[4, 2] in [1, 2]; at 4, 0.5, 0.5, 2")
      .Sample("A: f64[2, 3] in [1, 2]; at 4, 0.5, 0.5, -2");
  r.backward("linalg.Pinv", "by_products", OfNumbers, PinvBackward);
}

}  // namespace linalg_ops
