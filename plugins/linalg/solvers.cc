// Systems of linear equations, determinants and Cholesky factors of one matrix by textbook elimination. Gradients follow JAX's
// convention for complex numbers: transposes, no conjugates.
#include "plugins/linalg/algebra.h"
#include "plugins/linalg/families.h"

namespace linalg_ops {
namespace {

using headrace_plugin::Node;

// U: A, made upper triangular by row operations with partial pivoting. `exchange` and `step` do to others what is done to U: the
// exchange of rows k and found[], and less f[i] times row k. A NaN compares equal to nothing: the last row then.
std::string Eliminated(const std::string& exchange, const std::string& step) {
  return "let n = dim(A, 0)\n"
         "U[i, j] = A[i, j]\n"
         "for k in 0:n {\n"
         "  top[] = abs(U[k, k])\n"
         "  top[] max= abs(U[i, k]) over i in k:n\n"
         "  found[] = i64(n) - 1\n"
         "  found[] min= abs(U[i, k]) == top[] ? i64(i) : i64(n) - 1 over i in k:n\n"
         "  u[j] = U[k, j]\n"
         "  U[k, j] = U[found[], j] over j in 0:n\n"
         "  U[found[], j] = u[j]\n" +
         exchange +
         "  f[i] = U[i, k] / U[k, k] over i in 0:n\n"
         "  U[i, j] = U[i, j] - f[i] * U[k, j] over i in k + 1:n, j in k + 1:n\n" +
         step + "}\n";
}

// Columns of the factor one by one, of the matrix `start`: `pivot` is the first element's, by which `divisor` divides the others.
std::string Root(const std::string& start, const std::string& pivot, const std::string& divisor, const std::string& across) {
  return "  let n = dim(A, 0)\n"
         "  F[i, j] = " + start + "\n"
         "  for k in 0:n {\n"
         "    pivot[] = " + pivot + "\n"
         "    F[i, k] = F[i, k] / " + divisor + " over i in k:n\n"
         "    F[i, j] = j <= i ? F[i, j] - F[i, k] * " + across + " : F[i, j] over i in k + 1:n, j in k + 1:n\n"
         "  }\n"
         "  L[i, j] = j <= i ? F[i, j] : F[i, j] * 0\n";
}

bool Has(const std::vector<std::string>& all, const std::string& name) {
  for (const std::string& x : all)
    if (x == name) return true;
  return false;
}

// dB = A^-T dX, dA = -dB X^T.
std::string SolveBackward(const Node& node, const std::vector<std::string>&, const std::vector<std::string>& required) {
  const std::string t = MatrixType(node, "A"), n = node.input("A")->shape[0], m = node.input("B")->shape[1];
  const std::string square = ": " + t + "[" + n + ", " + n + "]", tall = ": " + t + "[" + n + ", " + m + "]";
  std::string parameters = "A" + square + ", X" + tall + ", dX" + tall, body;
  if (Has(required, "A")) parameters += ", dA" + square;
  if (Has(required, "B")) parameters += ", dB" + tall;
  else body += "  transient dB" + tall + "\n";
  body += "  transient turned" + square + "\n"
          "  map i in 0:" + n + ", j in 0:" + n + " { turned[i, j] = A[j, i] }\n"
          "  linalg.Solve(A = turned, B = dX) -> (X = dB)\n";
  if (Has(required, "A"))
    body += "  map i in 0:" + n + ", j in 0:" + n + " { dA[i, j] = " + t + "(0) }\n"
            "  map i in 0:" + n + ", j in 0:" + n + ", c in 0:" + m + " { dA[i, j] += -(dB[i, c] * X[j, c]) }\n";
  return "sdfg solve_backward(" + parameters + ") {\n" + body + "}\n";
}

// dA = dD D A^-T.
std::string DetBackward(const Node& node, const std::vector<std::string>&, const std::vector<std::string>&) {
  const std::string t = MatrixType(node, "A"), n = node.input("A")->shape[0];
  const std::string square = ": " + t + "[" + n + ", " + n + "]", map = "  map i in 0:" + n + ", j in 0:" + n;
  return "sdfg det_backward(A" + square + ", D: " + t + ", dD: " + t + ", dA" + square + ") {\n"
         "  transient turned" + square + "\n  transient one" + square + "\n  transient inverse" + square + "\n" +
         map + " { turned[i, j] = A[j, i] }\n" +
         map + " { one[i, j] = i == j ? " + t + "(1) : " + t + "(0) }\n"
         "  linalg.Solve(A = turned, B = one) -> (X = inverse)\n" +
         map + " { dA[i, j] = dD * D * inverse[i, j] }\n}\n";
}

std::string Applies(const Node& node) {
  const int32_t t = node.input("A")->dtype;
  return t == HR_F32 || t == HR_F64 || t == HR_C64 || t == HR_C128 ? "" : "matrices are of f32, f64, c64 or c128";
}

}  // namespace

void RegisterSolvers(Registrar& r) {
  r.op("linalg.Solve")
      .Doc("X with A X = B. A singular matrix gives infinities and NaN.")
      .Input("A", "number")
      .Input("B", "number")
      .Output("X", "B")
      .Shape("shape X[dims(B)]")
      .Pure("V[i, c] = B[i, c]\n" +
            Eliminated("  v[c] = V[k, c]\n"
                       "  V[k, c] = V[found[], c] over c in 0:dim(B, 1)\n"
                       "  V[found[], c] = v[c]\n",
                       "  V[i, c] = V[i, c] - f[i] * V[k, c] over i in k + 1:n, c in 0:dim(B, 1)\n") +
            "for t in 0:n {\n"
            "  let k = n - 1 - t\n"
            "  V[k, c] = V[k, c] / U[k, k] over c in 0:dim(B, 1)\n"
            "  V[i, c] = V[i, c] - U[i, k] * V[k, c] over i in 0:k, c in 0:dim(B, 1)\n"
            "}\n"
            "X[i, c] = V[i, c]")
      .Sample("A: f64[2, 2] = [0, 2, 4, 1]; B: f64[2, 3]")
      .Sample("A: f64[2, 2] in [-1, 1]; at 0.5, 4, 3, 1; B: f64[2, 2]")
      .Sample("A: f64[3, 3] in [1, 2]; at 9, 1, 1, 1, 9, 1, 1, 1, 9; B: f64[3, 1]");
  r.backward("linalg.Solve", "solve_transposed", Applies, SolveBackward);

  r.op("linalg.Det")
      .Doc("The determinant. (Its gradient is by the inverse: a singular matrix has none.)")
      .Input("A", "number")
      .Output("D", "A")
      .Shape("shape D[]")
      .Pure("sign[] = 1\n" +
            Eliminated("  sign[] = found[] == k ? sign[] : -sign[]\n", "") +
            "P[] *= U[i, i]\n"
            "D[] = cast(sign[]) * P[]")
      .Sample("A: f64[2, 2] in [-1, 1]; at 0.5, 4, 3, 1")
      .Sample("A: f64[1, 1] in [1, 2]")
      .Sample("A: f64[3, 3] in [1, 2]; at 9, 1, 1, 1, 9, 1, 1, 1, 9");
  r.backward("linalg.Det", "by_the_inverse", Applies, DetBackward);

  r.op("linalg.Cholesky")
      .Doc("The lower triangular L with L L^H = A, of A's lower triangle. A matrix that is not positive definite gives NaN.")
      .Input("A", "number")
      .Output("L", "A")
      .Shape("shape L[dims(A)]")
      .Pure("if is_float(A) {\n" + Root("A[i, j]", "sqrt(F[k, k])", "pivot[]", "F[j, k]") + "} else {\n" +
            Root("i == j ? complex(real(A[i, j]), real(A[i, j]) * 0) : A[i, j]", "sqrt(real(F[k, k]))", "complex(pivot[], pivot[] * 0)", "conj(F[j, k])") + "}")
      .Sample("A: f64[3, 3] in [1, 2]; at 9, 1, 1, 1, 9, 1, 1, 1, 9")
      .Sample("A: f64[2, 2] in [1, 2]; at 4, 0.5, 0.5, 2")
      .Sample("A: c128[1, 1] in [1, 2]")
      .Sample("A: f64[1, 1] in [1, 2]");
}

}  // namespace linalg_ops
