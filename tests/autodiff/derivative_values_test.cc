// The derivative of every scalar function is the limit of its differences; at kinks and at saturation, which differences
// cannot see, it is what the table of docs/autodiff.md states.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "autodiff/derivative.h"
#include "backends/interpreter/interpreter.h"
#include "ir/analysis/type_inference.h"
#include "ir/expr/functions.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace::autodiff {
namespace {

using Numbers = std::vector<double>;
using Variables = std::vector<std::pair<std::string, Numbers>>;  // x, y, z: one value per point
const Registry& Empty() {
  static const Registry* const r = new Registry;
  return *r;
}

struct Outcome {
  Numbers value;
  std::vector<Numbers> gradients;
};  // complex numbers: real and imaginary parts in turn

// `out = expression` at every point, and the gradients of Re(Σ g·out): the value and what Differentiate says, as one program.
Outcome Evaluate(const std::string& expression, const Variables& vars, const std::string& type, const Numbers& g) {
  const int64_t width = type == "c128" ? 2 : 1, n = static_cast<int64_t>(vars[0].second.size()) / width;
  std::string parameters;
  for (const auto& v : vars) parameters += v.first + ": " + type + "[N], ";
  const std::string out_type = g.size() == static_cast<size_t>(n) ? type == "c128" ? "f64" : type : "c128";
  Result<Program> parsed = ParseProgram("sdfg f(" + parameters + "g: " + out_type + "[N], out: " + out_type +
                                        "[N]) { map i in 0:N { out[i] = " + expression + " } }");
  if (!parsed.ok()) return ADD_FAILURE() << parsed.status().ToString(), Outcome{};
  Program p = *parsed;
  Sdfg& s = p.MutableEntry();
  NodeId map_id, tasklet_id;
  ForEachNode(s, [&](NodeId id) { (std::holds_alternative<Map>(s.nodes[id].body) ? map_id : tasklet_id) = id; });
  Result<Expr> value = TypedValue(s, std::get<Tasklet>(s.nodes[tasklet_id].body));
  if (!value.ok()) return ADD_FAILURE() << value.status().ToString(), Outcome{};
  const Expr seed = WithType(ReadExpr("g", {WithType(SymbolExpr("i"), DType::kIndex)}), s.Get("out").dtype);
  int fresh = 0;
  Result<Derivative> d = Differentiate(
      s, *value, seed, [](Name c) { return c != Name("g"); },
      [&](std::string_view stem) { return Name(std::string(stem) + "_" + std::to_string(fresh++)); });
  if (!d.ok()) return ADD_FAILURE() << d.status().ToString(), Outcome{};
  std::string text = "sdfg f(" + parameters + "g: " + out_type + "[N], out: " + out_type + "[N]";
  for (const auto& v : vars) text += ", d" + v.first + ": " + type + "[N]";
  text += ") {\n";
  for (const Shared& x : d->shared)
    text += "  transient " + x.name.str() + ": " + std::string(DTypeName(x.dtype)) + " @register\n";
  for (const auto& v : vars) text += "  map i in 0:N { d" + v.first + "[i] = 0 }\n";
  const auto shown = [](const Expr& e) {
    std::string t = ToString(e);
    for (size_t at; (at = t.find("[]")) != std::string::npos;) t.erase(at, 2);
    return t;
  };
  text += "  map i in 0:N {\n    out[i] = " + expression + "\n";
  for (const Shared& x : d->shared) text += "    " + x.name.str() + " = " + shown(x.value) + "\n";
  for (const Contribution& c : d->contributions) {
    const Expr bare =
        c.read->has_default ? ReadExpr(c.read->name, {c.read->args.begin(), c.read->args.end() - 1}) : c.read;
    text += "    d" + ToString(bare) + (c.guarded ? " ?\?" : "") + " += " + shown(c.value) + "\n";
  }
  text += "  }\n}\n";
  Result<Program> q = ParseProgram(text);
  if (!q.ok()) return ADD_FAILURE() << q.status().ToString() << "\n" << text, Outcome{};
  if (Status v = Verify(*q); !v.ok()) return ADD_FAILURE() << v.ToString() << "\n" << text, Outcome{};
  auto e = interpreter::CompileProgram(*q, {}, Empty());
  if (!e.ok()) return ADD_FAILURE() << e.status().ToString() << "\n" << text, Outcome{};
  std::vector<std::pair<Name, Value>> arguments;
  const auto add = [&](const std::string& name, const Numbers& v, const std::string& t) {
    Tensor tensor = *Tensor::Create(*ParseDType(t), {n});
    for (size_t i = 0; i < v.size(); ++i)
      if (t == "c128") tensor.as<double>()[i] = v[i];
      else tensor.SetDouble(static_cast<int64_t>(i), v[i]);
    arguments.emplace_back(name, Value(tensor));
  };
  for (const auto& v : vars) add(v.first, v.second, type);
  add("g", g, out_type);
  auto r = (*e)->Run(arguments);
  if (!r.ok()) return ADD_FAILURE() << r.status().ToString() << "\n" << text, Outcome{};
  Outcome outcome;
  std::vector<Name> names = Outputs(*q, q->Entry());
  std::map<std::string, Numbers> by_name;
  for (size_t k = 0; k < names.size(); ++k) {
    Tensor t = (*r)[k].tensor;
    for (int64_t i = 0; i < n * (IsComplex(t.dtype) ? 2 : 1); ++i)
      by_name[names[k].str()].push_back(IsComplex(t.dtype) ? t.as<double>()[i] : t.GetDouble(i));
  }
  outcome.value = by_name["out"];
  for (const auto& v : vars) outcome.gradients.push_back(by_name["d" + v.first]);
  return outcome;
}

// Central differences of Σ Re(g·out), point by point.
void ExpectDifferences(const std::string& expression, const Variables& vars, const std::string& type = "f64") {
  SCOPED_TRACE(expression + " of " + type);
  const size_t width = type == "c128" ? 2 : 1;
  const bool real_out =
      width == 1 || expression.find("abs(") == 0 || expression.find("real(") == 0 || expression.find("imag(") == 0;
  const size_t points = vars[0].second.size() / width;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> any(0.5, 1.5);
  Numbers g;
  const size_t parts = real_out ? 1 : 2;
  for (size_t i = 0; i < points * parts; ++i) g.push_back(any(random));
  const Outcome at = Evaluate(expression, vars, type, g);
  ASSERT_FALSE(::testing::Test::HasFailure());
  const auto total = [&](const Outcome& o, size_t i) {
    return real_out ? g[i] * o.value[i] : g[2 * i] * o.value[2 * i] - g[2 * i + 1] * o.value[2 * i + 1];
  };
  for (size_t v = 0; v < vars.size(); ++v) {
    for (size_t part = 0; part < width; ++part) {
      Variables up = vars, down = vars;
      for (size_t i = 0; i < points; ++i) {
        const double h = 1e-6 * std::max(1.0, std::abs(vars[v].second[width * i + part]));
        up[v].second[width * i + part] += h;
        down[v].second[width * i + part] -= h;
      }
      const Outcome a = Evaluate(expression, up, type, g), b = Evaluate(expression, down, type, g);
      for (size_t i = 0; i < points; ++i) {
        const size_t k = width * i + part;
        const double difference = (total(a, i) - total(b, i)) / (up[v].second[k] - down[v].second[k]);
        const double derivative =
            (part == 1 ? -1 : 1) * at.gradients[v][k];  // Re(d · (dx + i dy)) = Re d · dx - Im d · dy
        EXPECT_NEAR(derivative, difference, 1e-5 + 1e-6 * std::abs(difference))
            << "by " << vars[v].first << " at point " << i << ", value " << at.value[i];
      }
    }
  }
}

Numbers Points(double lo, double hi, uint64_t seed = 1, int n = 24) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> any(lo, hi);
  Numbers v;
  for (int i = 0; i < n; ++i) v.push_back(any(random));
  return v;
}

// Both sides of every kink lie in the ranges.
const std::vector<std::pair<std::string, Variables>>& Expressions() {
  static const auto* const kAll = [] {
    auto* all = new std::vector<std::pair<std::string, Variables>>;
    const auto one = [&](const std::string& fn, double lo, double hi) {
      all->push_back({fn + "(x[i])", {{"x", Points(lo, hi)}}});
    };
    const auto two = [&](const std::string& e, double lo, double hi, double lo2, double hi2) {
      all->push_back({e, {{"x", Points(lo, hi)}, {"y", Points(lo2, hi2, 2)}}});
    };
    for (const char* fn : {"exp", "expm1", "sin", "cos", "sinh", "cosh", "tanh", "atan", "asinh", "erf", "abs", "sign",
                           "floor", "ceil", "rint", "trunc", "hold"})
      if (std::string(fn) != "hold") one(fn, -3, 3);
    for (const char* fn : {"log", "log2", "sqrt", "rsqrt"}) one(fn, 0.2, 5);
    one("log1p", -0.8, 4);
    one("tan", -1.3, 1.3);
    for (const char* fn : {"asin", "acos", "atanh"}) one(fn, -0.95, 0.95);
    one("acosh", 1.1, 5);
    for (const char* e : {"x[i] + y[i]", "x[i] - y[i]", "x[i] * y[i]", "min(x[i], y[i])", "max(x[i], y[i])",
                          "x[i] < y[i] ? x[i] * y[i] : sin(x[i]) - y[i]"})
      two(e, -3, 3, -3, 3);
    for (const char* e : {"x[i] / y[i]", "x[i] % y[i]", "fmod(x[i], y[i])", "atan2(x[i], y[i])", "x[i] // y[i]"}) {
      two(e, -3, 3, 0.4, 2);
      two(e, -3, 3, -2, -0.4);
    }
    two("atan2(y[i], x[i])", -3, 3, 0.4, 2);
    two("pow(x[i], y[i])", 0.2, 3, -2, 2);
    for (const char* e : {"pow(x[i], 2)", "pow(x[i], 3)", "pow(x[i], -1)", "pow(x[i], 5)", "pow(2, x[i])", "1 / x[i]",
                          "x[i] * x[i] * x[i]"})
      all->push_back({e, {{"x", Points(0.3, 3)}}});
    all->push_back(
        {"clamp(x[i], y[i], z[i])", {{"x", Points(-3, 3)}, {"y", Points(-1, 0, 2)}, {"z", Points(-0.5, 1, 3)}}});
    all->push_back({"fma(x[i], y[i], z[i])", {{"x", Points(-3, 3)}, {"y", Points(-3, 3, 2)}, {"z", Points(-3, 3, 3)}}});
    // Shared subexpressions, choices within choices, neighbours that may be outside, values for what is outside.
    two("i > 0 ? exp(x[i - 1]) * y[i] * y[i] : x[i] * x[i]", -1, 1, -1, 1);
    two("(x[i - 1] ?? y[i] * x[i]) * (x[i + 1] ?? 2)", -1, 1, -1, 1);
    two("i % 3 == 0 ? (i % 2 == 0 ? sin(x[i] * y[i]) : x[i] * exp(x[i] * y[i])) : cos(x[i] * y[i]) + (i > 5 ? x[i - 5] * exp(x[i] * y[i]) : 0)",
        -1, 1, -1, 1);
    two("tanh(log1p(exp(x[i]))) * x[i] + (x[i] >= 0 ? 1 / (1 + exp(-x[i])) : exp(x[i]) / (1 + exp(x[i]))) * y[i]", -4,
        4, -1, 1);
    return all;
  }();
  return *kAll;
}

bool Neighbours(const std::string& e) {
  return e.find("i - ") != std::string::npos || e.find("i + ") != std::string::npos;
}

TEST(DerivativeValues, AreLimitsOfDifferences) {
  for (const auto& [expression, vars] : Expressions())
    if (!Neighbours(expression)) ExpectDifferences(expression, vars);
}

// Elements that several points read: one element at a time.
TEST(DerivativeValues, ReachNeighboursOnlyWhereTheyAreRead) {
  for (const auto& [expression, vars] : Expressions()) {
    if (!Neighbours(expression)) continue;
    SCOPED_TRACE(expression);
    const Numbers g = Points(0.5, 1.5, 9);
    const Outcome at = Evaluate(expression, vars, "f64", g);
    ASSERT_FALSE(HasFailure());
    for (size_t v = 0; v < vars.size(); ++v)
      for (size_t i = 0; i < g.size(); ++i) {
        double sum = 0;
        for (double sign : {1, -1}) {
          Variables moved = vars;
          moved[v].second[i] += sign * 1e-6;
          const Outcome o = Evaluate(expression, moved, "f64", g);
          for (size_t k = 0; k < g.size(); ++k) sum += sign * g[k] * o.value[k] / 2e-6;
        }
        EXPECT_NEAR(at.gradients[v][i], sum, 1e-6) << "by " << vars[v].first << "[" << i << "]";
      }
  }
}

TEST(DerivativeValues, OfComplexFunctions) {
  Numbers z = Points(0.3, 1.2, 4, 16), w = Points(-1.2, -0.3, 5, 16);
  for (const char* fn : {"exp", "expm1", "log", "log1p", "log2", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh",
                         "tanh", "conj", "abs", "real", "imag"})
    for (const Numbers& points : {z, w}) ExpectDifferences(std::string(fn) + "(x[i])", {{"x", points}}, "c128");
  for (const char* e : {"x[i] * y[i]", "x[i] / y[i]", "x[i] - y[i] * x[i]", "pow(x[i], y[i])", "pow(x[i], 2)",
                        "complex(real(x[i]), abs(y[i]))", "-conj(x[i]) * y[i]"})
    ExpectDifferences(e, {{"x", z}, {"y", w}}, "c128");
}

// Every function of floats is in one of the lists above: a new one needs a rule or a statement that it has none.
TEST(DerivativeValues, CoverEveryFunction) {
  std::string all = "real( imag( conj( complex( hold(";
  for (const auto& e : Expressions()) all += e.first + " ";
  for (const FunctionInfo& f : ScalarFunctions()) {
    if (f.type == FnType::kPredicate || f.type == FnType::kIndexFn || f.type == FnType::kRandom || f.type == FnType::kDot || f.name == "popcount")
      continue;
    EXPECT_NE(all.find(std::string(f.name) + "("), std::string::npos) << f.name;
  }
}

// hold(x) keeps the value and stops the gradient; differences would see one.
TEST(DerivativeValues, OfHoldIsZero) {
  const Outcome o = Evaluate("hold(x[i]) * x[i]", {{"x", {3}}}, "f64", {1});
  EXPECT_EQ(o.value, Numbers{9});
  EXPECT_EQ(o.gradients[0], Numbers{3});
}

TEST(DerivativeValues, OfDots) {
  const Outcome o = Evaluate("f64(dot2(bf16(x[i]), bf16(y[i]), bf16(x[i]), 5, f32(x[i])))", {{"x", {3}}, {"y", {2}}}, "f64", {1});
  EXPECT_EQ(o.value, Numbers{24});
  EXPECT_EQ(o.gradients[0], Numbers{8});
  EXPECT_EQ(o.gradients[1], Numbers{3});
}

// A factor that is inf or NaN in the arm not taken doesn't reach the gradient.
TEST(DerivativeValues, OfArmsNotTakenAreExactlyZero) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const Numbers x = {0, -1, 1000, nan, inf};
  EXPECT_EQ(Evaluate("y[i] > 0 ? sqrt(x[i]) * log(x[i]) * exp(x[i]) : 2 * x[i]", {{"x", x}, {"y", Numbers(5, 0.0)}},
                     "f64", Numbers(5, 1.0))
                .gradients[0],
            Numbers(5, 2.0));
  // Used in two arms, neither taken.
  EXPECT_EQ(Evaluate("(y[i] > 0 ? exp(x[i]) : 0) + (y[i] > 1 ? exp(x[i]) * x[i] : 0)",
                     {{"x", x}, {"y", Numbers(5, 0.0)}}, "f64", Numbers(5, 1.0))
                .gradients[0],
            Numbers(5, 0.0));
}

// f16 and bf16 are computed in f32: no intermediate is rounded to 11 bits.
TEST(DerivativeValues, OfNarrowFloats) {
  for (const char* t : {"f16", "bf16"}) {
    const Outcome o = Evaluate("exp(x[i]) * exp(x[i]) * 0.001", {{"x", {4, 4.5}}}, t, {1, 1});
    EXPECT_NEAR(o.gradients[0][0], 0.002 * std::exp(8), 0.03) << t;  // half an ulp of bf16 at 6 is 0.016
    EXPECT_NEAR(o.gradients[0][1], 0.002 * std::exp(9), 0.07) << t;
  }
}

// ---- the table of docs/autodiff.md: | `max(x, y)` | x = 1, y = 1 | 0.5, 0.5 | ----
std::vector<std::string> Cells(const std::string& row) {
  std::vector<std::string> cells;
  std::stringstream in(row.substr(1));
  for (std::string c; std::getline(in, c, '|');) {
    const size_t a = c.find_first_not_of(" `"), b = c.find_last_not_of(" `");
    cells.push_back(a == std::string::npos ? "" : c.substr(a, b - a + 1));
  }
  return cells;
}

TEST(DerivativeValues, AtKinksAreThoseOfTheTable) {
  std::ifstream file("docs/autodiff.md");
  ASSERT_TRUE(file.good());
  int rows = 0;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| expression | at |", 0) == 0) inside = true;
    else if (line.empty() || line[0] != '|') inside = false;
    if (!inside || line.rfind("| `", 0) != 0) continue;
    SCOPED_TRACE(line);
    const std::vector<std::string> cells = Cells(line);
    ASSERT_GE(cells.size(), 3u);
    std::string expression;
    std::set<std::string> names;
    for (size_t i = 0; i < cells[0].size(); ++i) {  // x, y and z standing alone are elements
      const char c = cells[0][i];
      const bool alone = (i == 0 || !std::isalpha(static_cast<unsigned char>(cells[0][i - 1]))) &&
                         (i + 1 == cells[0].size() || !std::isalnum(static_cast<unsigned char>(cells[0][i + 1])));
      expression += c;
      if (alone && c >= 'x' && c <= 'z') expression += "[i]", names.insert(std::string(1, c));
    }
    Variables vars;
    std::stringstream at(cells[1]), expected(cells[2]);
    for (std::string item; std::getline(at, item, ',');) {
      const size_t name = item.find_first_not_of(' ');
      vars.push_back({item.substr(name, 1), {std::strtod(item.c_str() + item.find('=') + 1, nullptr)}});
    }
    ASSERT_EQ(vars.size(), names.size());
    const Outcome o = Evaluate(expression, vars, "f64", {1});
    ASSERT_FALSE(HasFailure());
    for (const Numbers& g : o.gradients) {
      std::string item;
      ASSERT_TRUE(std::getline(expected, item, ','));
      const double want = std::strtod(item.c_str(), nullptr);
      if (std::isnan(want)) EXPECT_TRUE(std::isnan(g[0])) << g[0];
      else if (std::isinf(want)) EXPECT_EQ(g[0], want);
      else EXPECT_NEAR(g[0], want, 1e-12 * std::abs(want));
    }
    ++rows;
  }
  EXPECT_GE(rows, 40);
}

}  // namespace
}  // namespace headrace::autodiff
