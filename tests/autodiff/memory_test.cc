// Memory limits kept: a stack of attention layers at half and a quarter of what keeping everything takes, loops whose tapes are
// too long, the error below the minimum. On cpu the bytes that the backend plans are compared with the prediction.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"
#include "tests/autodiff/testing.h"

namespace headrace::autodiff::testing {
namespace {

// Self-attention, residual, normalisation, feed-forward with Gelu, residual, normalisation; the layers share their weights.
std::string Layers(int layers, int n, int d) {
  const std::string N = std::to_string(n), D = std::to_string(d), F = std::to_string(4 * d);
  std::string declared, body;
  auto op = [&](const std::string& node, const std::string& y, const std::string& rows, const std::string& columns) {
    declared += "transient " + y + ": f64[" + rows + ", " + columns + "]\n";
    body += node + "\n";
  };
  for (int l = 0; l < layers; ++l) {
    const std::string s = std::to_string(l), in = l == 0 ? "X" : "h" + s, out = "h" + std::to_string(l + 1);
    for (const std::string a : {"Q", "K", "V"})
      op("onnx.MatMul(A = " + in + ", B = W" + a + ") -> (Y = " + a + s + ")", a + s, N, D);
    op("onnx.Transpose{perm = [1, 0]}(data = K" + s + ") -> (transposed = T" + s + ")", "T" + s, D, N);
    op("onnx.MatMul(A = Q" + s + ", B = T" + s + ") -> (Y = S" + s + ")", "S" + s, N, N);
    op("onnx.Softmax{axis = -1}(input = S" + s + ") -> (output = P" + s + ")", "P" + s, N, N);
    op("onnx.MatMul(A = P" + s + ", B = V" + s + ") -> (Y = C" + s + ")", "C" + s, N, D);
    op("onnx.MatMul(A = C" + s + ", B = WQ) -> (Y = O" + s + ")", "O" + s, N, D);
    op("onnx.Add(A = " + in + ", B = O" + s + ") -> (C = R" + s + ")", "R" + s, N, D);
    op("onnx.LayerNormalization{axis = -1}(X = R" + s + ", Scale = g) -> (Y = M" + s + ")", "M" + s, N, D);
    op("onnx.MatMul(A = M" + s + ", B = WF) -> (Y = U" + s + ")", "U" + s, N, F);
    op("onnx.Gelu(X = U" + s + ") -> (Y = G" + s + ")", "G" + s, N, F);
    op("onnx.MatMul(A = G" + s + ", B = WG) -> (Y = f" + s + ")", "f" + s, N, D);
    op("onnx.Add(A = M" + s + ", B = f" + s + ") -> (C = r" + s + ")", "r" + s, N, D);
    op("onnx.LayerNormalization{axis = -1}(X = r" + s + ", Scale = g) -> (Y = " + out + ")", out, N, D);
  }
  const std::string last = "h" + std::to_string(layers) + "[i, j]";
  return "sdfg stack(X: f64[" + N + ", " + D + "], WQ: f64[" + D + ", " + D + "], WK: f64[" + D + ", " + D +
         "], WV: f64[" + D + ", " + D + "], WF: f64[" + D + ", " + F + "], WG: f64[" + F + ", " + D + "], g: f64[" + D +
         "], Y: f64) {\n" + declared + "state {\n" + body + "Y = 0\nmap i in 0:" + N + ", j in 0:" + D +
         " { Y += " + last + " * " + last + " * " + last + " }\n}\n}\n";
}

struct Ran {
  std::vector<Value> gradients;
  double seconds = 0, arena = -1;
};

Ran RunOnce(const Program& p, const NamedValues& values, const std::string& backend) {
  CompileRequest request;
  request.backend = backend;
  request.options.threads = 2;
  const char* tmp = std::getenv("TEST_TMPDIR");
  request.options.cache_dir = (tmp ? std::string(tmp) : "/tmp") + "/headrace-memory-cache";
  auto e = CompileProgram(Plugins(), p, request);
  HR_CHECK(e.ok(), e.status().ToString());
  Ran out;
  for (const auto& [what, value] : (*e)->Report())
    if (what == "arena bytes") out.arena = value;
  for (int k = 0; k < 2; ++k) {
    const auto start = std::chrono::steady_clock::now();
    auto result = (*e)->Run(values);
    HR_CHECK(result.ok(), result.status().ToString());
    out.gradients = *result;
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  return out;
}

double Largest(const Tensor& t) {
  double m = 0;
  for (int64_t i = 0; i < t.elements(); ++i) m = std::max(m, std::abs(t.GetDouble(i)));
  return m;
}

void ExpectWithinLimits(const std::string& text, const std::vector<double>& parts) {
  const Result<Program> p = ParseProgram(text);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  NamedValues values;
  ASSERT_TRUE(FillInputs(*p, 1, {}, values, nullptr).ok());
  std::vector<Name> inputs;
  for (const auto& v : values) inputs.push_back(v.first);
  Options all;
  all.keep = Keep::kStoreAll;
  const auto stored = Backward(*p, {"Y"}, inputs, all, Plugins());
  ASSERT_TRUE(stored.ok()) << stored.status().ToString();
  const int64_t most = stored->report.predicted_peak;
  for (const std::string& backend : BackendsOfThisTest()) {
    const Ran expected = RunOnce(stored->program, values, backend);
    for (const double part : parts) {
      Options o;
      o.memory_limit = static_cast<int64_t>(part * static_cast<double>(most));
      const auto b = Backward(*p, {"Y"}, inputs, o, Plugins());
      ASSERT_TRUE(b.ok()) << b.status().ToString();
      EXPECT_TRUE(Verify(b->program).ok()) << Verify(b->program).ToString();
      EXPECT_LE(b->report.predicted_peak, *o.memory_limit);
      const Ran got = RunOnce(b->program, values, backend);
      if (got.arena >= 0) {
        EXPECT_EQ(got.arena, static_cast<double>(b->report.predicted_peak));
      }
      for (size_t i = 0; i < got.gradients.size(); ++i) {
        // The interpreter computes the same numbers in the same order. The cpu backend sums in another order where it fuses
        // what is computed again: apart by a few roundings of the largest element, less than it is from the interpreter.
        const double apart = backend == "interpreter" ? 0 : 1e-12 * Largest(expected.gradients[i].tensor);
        const Difference d = Compare(got.gradients[i], expected.gradients[i], 0, apart);
        EXPECT_TRUE(d.ok) << "output " << i << " at " << part << ": " << d.max_abs << " at " << d.where;
      }
      std::printf(
          "%s: %.0f %% of %lld bytes: predicted %lld, planned %.0f, minimum %lld; computed again %.1f %%, %.2f times as long; %s\n",
          backend.c_str(), 100 * part, static_cast<long long>(most), static_cast<long long>(b->report.predicted_peak),
          got.arena, static_cast<long long>(b->report.minimum_peak), 100 * b->report.recompute_work,
          got.seconds / std::max(1e-9, expected.seconds), b->report.solver.c_str());
    }
  }
  Options none;
  none.memory_limit = 64;
  const auto refused = Backward(*p, {"Y"}, inputs, none, Plugins());
  ASSERT_FALSE(refused.ok());
  const std::string message = refused.status().ToString();
  EXPECT_NE(message.find("the memory limit of 64 bytes is below the minimum of "), std::string::npos) << message;
  const size_t at = message.find("raise the limit to at least ");
  ASSERT_NE(at, std::string::npos) << message;
  none.memory_limit = std::stoll(message.substr(at + 28));
  EXPECT_TRUE(Backward(*p, {"Y"}, inputs, none, Plugins()).ok()) << "the minimum that the error prints is not enough";
}

TEST(Memory, AStackOfLayers) {
  const bool cpu = BackendsOfThisTest()[0] == "cpu";  // 12 layers, at night
  ExpectWithinLimits(cpu ? Layers(12, 96, 64) : Layers(4, 12, 8),
                     cpu ? std::vector<double>{0.5, 0.25} : std::vector<double>{0.7, 0.5});
}

// Each step overwrites the state: the tape holds every one, segments only where they start.
TEST(Memory, ALoopInSegments) {
  ExpectWithinLimits(R"(sdfg steps(X: f64[32], W: f64[32], Y: f64) {
    transient h: f64[32]
    transient z: f64[32]
    state { map i in 0:32 { h[i] = X[i] } }
    for t in 0:100 {
      map i in 0:32 { z[i] = h[(i + 1) % 32] * W[i] + sin(h[i]) }
      map i in 0:32 { h[i] = 0.7 * sin(z[i]) + 0.3 * h[i] }
    }
    Y = 0
    map i in 0:32 { Y += h[i] * h[i] }
  })",
                     {0.5, 0.3});
}

// Elementwise chains keep their input only.
TEST(Memory, MishKeepsNothing) {
  Case c;
  c.text = R"(sdfg mish(X: f64[64], Y: f64[64]) {
    transient S: f64[64]
    transient T: f64[64]
    onnx.Softplus(X = X) -> (Y = S)
    onnx.Tanh(input = S) -> (output = T)
    onnx.Mul(A = X, B = T) -> (C = Y)
  })";
  const Result<BackwardPrograms> b = Differentiated(c);
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  for (const Report::Item& i : b->report.items) EXPECT_TRUE(i.recomputed) << i.container.str() << ": " << i.why;
}

// The first and the last column are kept, not what is between them.
TEST(Memory, BordersThatAreOverwritten) {
  Case c;
  c.text = R"(sdfg borders(X: f64[64, 64], Y: f64) {
    transient U: f64[64, 64]
    transient V: f64[64, 64]
    map i in 0:64, j in 0:64 { U[i, j] = sin(X[i, j]) }
    for t in 0:1 {
      map i in 0:64, j in 0:64 { V[i, j] = U[i, j] * U[i, j] }
      map i in 0:64 { U[i, 0] = 0; U[i, 63] = 1 }
    }
    Y = 0
    map i in 0:64, j in 0:64 { Y += V[i, j] * U[i, j] }
  })";
  c.options.keep = Keep::kStoreAll;
  const Result<BackwardPrograms> b = Differentiated(c);
  ASSERT_TRUE(b.ok()) << b.status().ToString();
  int64_t bytes = 0;
  for (const Report::Item& i : b->report.items)
    if (i.why == "kept: values that are overwritten") bytes += i.bytes;
  EXPECT_EQ(bytes, 2 * 64 * 8);
}

}  // namespace
}  // namespace headrace::autodiff::testing
