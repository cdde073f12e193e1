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
    forward += "map i in 0:" + std::to_string(size[v]) + ", j in 0:" + std::to_string(2 + pick(8)) + " { " + name + "[i] += " + value + " }\n";
  }
  for (int v = n; v-- > 0;) {
    std::string value = v + 1 < n ? "G" + std::to_string(v + 1) + "[i % " + std::to_string(size[v + 1]) + "]" : "1.0";
    if (pick(3) != 0) value += " * V" + std::to_string(v) + "[i]";
    for (int i : inputs[v])
      if (pick(3) != 0) value += " + V" + std::to_string(i) + "[i % " + std::to_string(size[i]) + "]";
    declared += "transient G" + std::to_string(v) + ": f64[" + std::to_string(size[v]) + "]\n";
    backward += "map i in 0:" + std::to_string(size[v]) + " { G" + std::to_string(v) + "[i] = " + value + " }\n";
  }
  return "sdfg f(X: f64[8], dX: f64) {\n" + declared + "state {\n" + forward + "}\nstate {\n" + backward + "dX = G0[0] + G0[1]\n}\n}\n";
}

}  // namespace headrace::autodiff::testing
