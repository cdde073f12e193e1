// Combined programs for tests of the planner: written as text, with the shape of what the reversal makes.
#pragma once
#include <random>
#include <string>
#include <vector>

namespace headrace::autodiff::testing {

// `n` values, each a sum over some earlier ones (never cheap), then a backward part that goes back over them, each statement
// reading what its forward statement read or wrote. One block each.
inline std::string RandomPlanProgram(std::mt19937& random, int n) {
  auto pick = [&](int k) { return static_cast<int>(random() % k); };
  std::vector<int> size(n);
  std::string declared, forward, backward;
  std::vector<std::vector<int>> inputs(n);
  std::vector<int> dropped(n);
  for (int v = 0; v < n; ++v) {
    const std::string name = "V" + std::to_string(v);
    size[v] = 16 * (1 + pick(4));
    declared += "transient " + name + ": f64[" + std::to_string(size[v]) + "]\n";
    for (int k = 0; k < 1 + pick(2) && v > 0; ++k) inputs[v].push_back(std::max(0, v - 1 - pick(3)));
    std::string value = "X[j % 8] * 0.3";
    for (int i : inputs[v]) value += " + V" + std::to_string(i) + "[j % " + std::to_string(size[i]) + "] * 0.2";
    forward += "map i in 0:" + std::to_string(size[v]) + " { " + name + "[i] = i }\n";
    forward += "map i in 0:" + std::to_string(size[v]) + ", j in 0:" + std::to_string(2 + pick(8)) + " { " + name +
               "[i] += " + value + " }\n";
  }
  for (int v = n; v-- > 0;) {
    std::string value = v + 1 < n ? "G" + std::to_string(v + 1) + "[i % " + std::to_string(size[v + 1]) + "]" : "1.0";
    if (pick(3) != 0) value += " * V" + std::to_string(v) + "[i]";
    for (int i : inputs[v])
      if (pick(3) != 0) value += " + V" + std::to_string(i) + "[i % " + std::to_string(size[i]) + "]";
    declared += "transient G" + std::to_string(v) + ": f64[" + std::to_string(size[v]) + "]\n";
    backward += "map i in 0:" + std::to_string(size[v]) + " { G" + std::to_string(v) + "[i] = " + value + " }\n";
  }
  return "sdfg f(X: f64[8], dX: f64) {\n" + declared + "state {\n" + forward + "}\nstate {\n" + backward +
         "dX = G0[0] + G0[1]\n}\n}\n";
}

// A stack of attention layers over `n` tokens of width `d`, and what its reversal leaves: per layer three projections, scores,
// probabilities, context, output projection, residual, normalisation, two feed-forward products with an activation between.
inline std::string TransformerPlanProgram(int layers, int n, int d) {
  std::string declared, forward, backward;
  const std::string N = std::to_string(n), D = std::to_string(d), F = std::to_string(4 * d);
  auto array = [&](const std::string& name, const std::string& rows, const std::string& columns) {
    declared += "transient " + name + ": f32[" + rows + ", " + columns + "]\n";
  };
  auto product = [&](std::string* out, const std::string& y, const std::string& rows, const std::string& columns,
                     const std::string& depth, const std::string& value) {
    *out += "map i in 0:" + rows + ", j in 0:" + columns + " { " + y + "[i, j] = 0 }\n";
    *out +=
        "map i in 0:" + rows + ", j in 0:" + columns + ", k in 0:" + depth + " { " + y + "[i, j] += " + value + " }\n";
  };
  auto map = [&](std::string* out, const std::string& y, const std::string& rows, const std::string& columns,
                 const std::string& value) {
    *out += "map i in 0:" + rows + ", j in 0:" + columns + " { " + y + "[i, j] = " + value + " }\n";
  };
  auto add_weights = [&](const std::string& w, const std::string& rows, const std::string& columns,
                         const std::string& value) {
    backward +=
        "map i in 0:" + rows + ", j in 0:" + columns + ", k in 0:" + N + " { " + w + "[i, j] += " + value + " }\n";
  };
  backward = "map i in 0:" + D + ", j in 0:" + D + " { dWa[i, j] = 0 }\nmap i in 0:" + D + ", j in 0:" + F +
             " { dWf[i, j] = 0 }\n" + "map i in 0:" + F + ", j in 0:" + D + " { dWg[i, j] = 0 }\n";
  for (int l = 0; l < layers; ++l) {
    const std::string s = std::to_string(l), in = l == 0 ? "X" : "h" + s;
    for (const char* a : {"Q", "K", "V", "C", "O", "R", "M"}) array(a + s, N, D);
    for (const char* a : {"S", "P"}) array(a + s, N, N);
    for (const char* a : {"U", "G"}) array(a + s, N, F);
    array("f" + s, N, D);
    array("h" + std::to_string(l + 1), N, D);
    for (const char* a : {"Q", "K", "V"}) product(&forward, a + s, N, D, D, in + "[i, k] * Wa[k, j]");
    product(&forward, "S" + s, N, N, D, "Q" + s + "[i, k] * K" + s + "[j, k]");
    product(&forward, "P" + s, N, N, "2", "exp(S" + s + "[i, j])");  // stands for a row-wise operator
    product(&forward, "C" + s, N, D, N, "P" + s + "[i, k] * V" + s + "[k, j]");
    product(&forward, "O" + s, N, D, D, "C" + s + "[i, k] * Wa[k, j]");
    map(&forward, "R" + s, N, D, in + "[i, j] + O" + s + "[i, j]");
    product(&forward, "M" + s, N, D, "2", "R" + s + "[i, j]");
    product(&forward, "U" + s, N, F, D, "M" + s + "[i, k] * Wf[k, j]");
    map(&forward, "G" + s, N, F, "U" + s + "[i, j] * 0.5 * (1 + erf(U" + s + "[i, j]))");
    product(&forward, "f" + s, N, D, F, "G" + s + "[i, k] * Wg[k, j]");
    map(&forward, "h" + std::to_string(l + 1), N, D, "M" + s + "[i, j] + f" + s + "[i, j]");
  }
  forward += "Y = 0\nmap i in 0:" + N + ", j in 0:" + D + " { Y += h" + std::to_string(layers) + "[i, j] }\n";
  array("dh" + std::to_string(layers), N, D);
  map(&backward, "dh" + std::to_string(layers), N, D, "1");
  for (int l = layers; l-- > 0;) {
    const std::string s = std::to_string(l), in = l == 0 ? "X" : "h" + s, dh = "dh" + std::to_string(l + 1);
    for (const char* a : {"dM", "dR", "dC", "dV", "dQ", "dK", "dh"}) array(a + s, N, D);
    for (const char* a : {"dS", "dP"}) array(a + s, N, N);
    for (const char* a : {"dU", "dG"}) array(a + s, N, F);
    product(&backward, "dG" + s, N, F, D, dh + "[i, k] * Wg[j, k]");
    add_weights("dWg", F, D, "G" + s + "[k, i] * " + dh + "[k, j]");
    map(&backward, "dU" + s, N, F, "dG" + s + "[i, j] * (0.5 + erf(U" + s + "[i, j]))");
    product(&backward, "dM" + s, N, D, F, "dU" + s + "[i, k] * Wf[j, k]");
    add_weights("dWf", D, F, "M" + s + "[k, i] * dU" + s + "[k, j]");
    map(&backward, "dR" + s, N, D, "(dM" + s + "[i, j] + " + dh + "[i, j]) * R" + s + "[i, j]");
    product(&backward, "dC" + s, N, D, D, "dR" + s + "[i, k] * Wa[j, k]");
    add_weights("dWa", D, D, "C" + s + "[k, i] * dR" + s + "[k, j]");
    product(&backward, "dV" + s, N, D, N, "P" + s + "[k, i] * dC" + s + "[k, j]");
    product(&backward, "dP" + s, N, N, D, "dC" + s + "[i, k] * V" + s + "[j, k]");
    map(&backward, "dS" + s, N, N, "dP" + s + "[i, j] * P" + s + "[i, j]");
    product(&backward, "dQ" + s, N, D, N, "dS" + s + "[i, k] * K" + s + "[k, j]");
    product(&backward, "dK" + s, N, D, N, "dS" + s + "[k, i] * Q" + s + "[k, j]");
    for (const char* a : {"dQ", "dK", "dV"}) add_weights("dWa", D, D, in + "[k, i] * " + a + s + "[k, j]");
    product(&backward, "dh" + s, N, D, D, "(dQ" + s + "[i, k] + dK" + s + "[i, k] + dV" + s + "[i, k]) * Wa[j, k]");
    backward += "map i in 0:" + N + ", j in 0:" + D + " { dh" + s + "[i, j] += dR" + s + "[i, j] }\n";
  }
  backward += "map i in 0:" + N + ", j in 0:" + D + " { dX[i, j] = dh0[i, j] }\n";
  return "sdfg f(X: f32[" + N + ", " + D + "], Wa: f32[" + D + ", " + D + "], Wf: f32[" + D + ", " + F + "], Wg: f32[" +
         F + ", " + D + "], Y: f32, dX: f32[" + N + ", " + D + "], dWa: f32[" + D + ", " + D + "], dWf: f32[" + D +
         ", " + F + "], dWg: f32[" + F + ", " + D + "]) {\n" + declared + "state {\n" + forward + "}\nstate {\n" +
         backward + "}\n}\n";
}

}  // namespace headrace::autodiff::testing
