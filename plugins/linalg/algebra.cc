#include "plugins/linalg/algebra.h"

#include <stdexcept>

namespace linalg_ops {

std::string MatrixType(const headrace_plugin::Node& node, const std::string& port) {
  switch (node.input(port)->dtype) {
    case HR_F32: return "f32";
    case HR_F64: return "f64";
    case HR_C64: return "c64";
    case HR_C128: return "c128";
    default: throw std::runtime_error("matrices are of f32, f64, c64 or c128");
  }
}

namespace {
std::string Loop(const std::string& rows, const std::string& columns) { return "  map i in 0:" + rows + ", j in 0:" + columns; }
}  // namespace

std::string Algebra::Number(double x) const {
  std::string text = std::to_string(x);
  return type_ + "(" + text + ")";
}

std::string Algebra::Parameter(const std::string& name, const std::string& shape) {
  parameters_ += (parameters_.empty() ? "" : ", ") + Declared(name, shape);
  return name;
}

Algebra::Matrix Algebra::Container(const std::string& name, const std::string& rows, const std::string& columns) const {
  return {rows, columns, [name](const std::string& i, const std::string& j) { return name + "[" + i + ", " + j + "]"; }, name};
}

Algebra::Matrix Algebra::New(const std::string& rows, const std::string& columns) {
  const std::string name = "m" + std::to_string(count_++);
  declarations_ += "  transient " + Declared(name, rows + ", " + columns) + "\n";
  return Container(name, rows, columns);
}

Algebra::Matrix Algebra::Forward(const std::string& port, const std::string& rows, const std::string& columns) {
  return Container(Parameter(port, rows + ", " + columns), rows, columns);
}

Algebra::Matrix Algebra::Given(const std::string& port, const std::string& rows, const std::string& columns) {
  Matrix m = Forward("d" + port, rows, columns);
  return complex() ? Elements(rows, columns, [this, at = m.at](const std::string& i, const std::string& j) { return Conj(at(i, j)); }) : m;
}

void Algebra::Assign(const std::string& port, const Matrix& value) {
  const Matrix out = Container("d" + port, value.rows, value.columns);
  body_ += Loop(value.rows, value.columns) + " { " + out.at("i", "j") + " = " + Conj(value.at("i", "j")) + " }\n";
}

Algebra::Matrix Algebra::Filled(const std::string& rows, const std::string& columns, const At& at) {
  const Matrix m = New(rows, columns);
  body_ += Loop(rows, columns) + " { " + m.at("i", "j") + " = " + at("i", "j") + " }\n";
  return m;
}

Algebra::Matrix Algebra::Adjoint(const Matrix& m) const {
  return Elements(m.columns, m.rows, [this, at = m.at](const std::string& i, const std::string& j) { return Conj(at(j, i)); });
}

Algebra::Matrix Algebra::Product(const Matrix& a, const Matrix& b) {
  const Matrix m = Filled(a.rows, b.columns, [this](const std::string&, const std::string&) { return Number(0); });
  body_ += Loop(a.rows, b.columns) + ", k in 0:" + a.columns + " { " + m.at("i", "j") + " += " + a.at("i", "k") + " * " + b.at("k", "j") + " }\n";
  return m;
}

Algebra::Matrix Algebra::Solve(const Matrix& a, const Matrix& b) {
  const Matrix left = Held(a), right = Held(b), x = New(b.rows, b.columns);
  body_ += "  linalg.Solve(A = " + left.name + ", B = " + right.name + ") -> (X = " + x.name + ")\n";
  return x;
}

}  // namespace linalg_ops
