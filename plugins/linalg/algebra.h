// The text of a program over matrices, for backward rules: each call adds a container and the statements that fill it. Formulas are
// PyTorch's, whose gradients are conjugate: `Given` and `Give` conjugate what comes in and what goes out.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "plugins/api/headrace_plugin.hpp"

namespace linalg_ops {

// "f32", "f64", "c64" or "c128"; an exception for other types.
std::string MatrixType(const headrace_plugin::Node& node, const std::string& port);

class Algebra {
 public:
  using At = std::function<std::string(const std::string& i, const std::string& j)>;  // the text of an element
  struct Matrix {
    std::string rows, columns;
    At at;
    std::string name;  // of the container, where it is one
  };

  explicit Algebra(std::string type) : type_(std::move(type)) {}

  bool complex() const { return type_[0] == 'c'; }
  std::string Conj(const std::string& x) const { return complex() ? "conj(" + x + ")" : x; }
  std::string Real(const std::string& x) const { return complex() ? Whole("real(" + x + ")") : x; }
  std::string Number(double x) const;

  // Parameters: what the forward node reads or gave, gradients of outputs, gradients of inputs.
  Matrix Forward(const std::string& port, const std::string& rows, const std::string& columns);
  Matrix Given(const std::string& port, const std::string& rows, const std::string& columns);
  void Give(const std::string& port, const Matrix& value) { Result(port, value.rows, value.columns), Assign(port, value); }
  void Result(const std::string& port, const std::string& rows, const std::string& columns) { Parameter("d" + port, rows + ", " + columns); }
  void Assign(const std::string& port, const Matrix& value);
  void Line(const std::string& text) { body_ += "  " + text + "\n"; }
  // A vector or a number: read as name[i] or name.
  std::string Parameter(const std::string& name, const std::string& shape);

  Matrix Filled(const std::string& rows, const std::string& columns, const At& at);  // a container with these elements
  Matrix Adjoint(const Matrix& m) const;                                              // conjugate and transposed; no container
  Matrix Product(const Matrix& a, const Matrix& b);
  Matrix Solve(const Matrix& a, const Matrix& b);  // X with a X = b
  static Matrix Elements(const std::string& rows, const std::string& columns, const At& at) { return {rows, columns, at, ""}; }

  std::string Program(const std::string& name) const { return "sdfg " + name + "(" + parameters_ + ") {\n" + declarations_ + body_ + "}\n"; }

 private:
  std::string Whole(const std::string& part) const { return "complex(" + part + ", " + part + " * 0)"; }
  std::string Declared(const std::string& name, const std::string& shape) const { return name + ": " + type_ + (shape.empty() ? "" : "[" + shape + "]"); }
  Matrix Container(const std::string& name, const std::string& rows, const std::string& columns) const;
  Matrix New(const std::string& rows, const std::string& columns);
  Matrix Held(const Matrix& m) { return m.name.empty() ? Filled(m.rows, m.columns, m.at) : m; }

  std::string type_, parameters_, declarations_, body_;
  int count_ = 0;
};

}  // namespace linalg_ops
