// What the core costs at 10^5 statements: text, verification, copies, index arithmetic.
#include <benchmark/benchmark.h>

#include <string>
#include <utility>

#include "ir/analysis/type_inference.h"
#include "ir/graph/graph.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

// A chain of Relu maps, each with a container of its own.
std::string ChainText(int64_t length) {
  std::string declarations, statements;
  for (int64_t i = 0; i < length; ++i) {
    const std::string from = i == 0 ? "X" : "T" + std::to_string(i - 1);
    const std::string to = i == length - 1 ? "Y" : "T" + std::to_string(i);
    if (to != "Y") declarations += "  transient " + to + ": f32[N]\n";
    statements += "    map i in 0:N { " + to + "[i] = max(" + from + "[i], 0) }\n";
  }
  return "sdfg chain(X: f32[N], Y: f32[N]) {\n" + declarations + "  state {\n" + statements + "  }\n}\n";
}

Program Chain(benchmark::State& state, int64_t length) {
  Result<Program> p = ParseProgram(ChainText(length));
  if (!p.ok()) state.SkipWithError(p.status().ToString().c_str());
  return p.ok() ? *p : Program();
}

void Parse(benchmark::State& state) {
  const std::string text = ChainText(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(ParseProgram(text));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(Parse)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);

void Print(benchmark::State& state) {
  const Program p = Chain(state, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(headrace::Print(p));
}
BENCHMARK(Print)->Arg(100000)->Unit(benchmark::kMillisecond);

void Verify(benchmark::State& state) {
  const Program p = Chain(state, state.range(0));
  for (auto _ : state) {
    const Status s = headrace::Verify(p);
    if (!s.ok()) state.SkipWithError(s.ToString().c_str());
  }
}
BENCHMARK(Verify)->Arg(1000)->Arg(100000)->Unit(benchmark::kMillisecond);

// The promise: at most 1 ms at 10^5 nodes (a map and its statement are two).
void CopyAndOneChange(benchmark::State& state) {
  const Program p = Chain(state, state.range(0) / 2);
  const NodeId last{p.Entry().nodes.size() - 1};
  for (auto _ : state) {
    Program copy = p;
    Sdfg& s = copy.MutableEntry();
    s.nodes.Mutable(last).origin = Origin("benchmark");
    s.Mutable("X").inout = true;
    benchmark::DoNotOptimize(copy);
  }
}
BENCHMARK(CopyAndOneChange)->Arg(100000)->Unit(benchmark::kMicrosecond);

void SimplifyIndex(benchmark::State& state) {
  const Expr e = *ParseExpr("((n*C + o // M * D + c) * H + p*2 + k*3 - 1) * W + (q*2 + l) % W");
  for (auto _ : state) benchmark::DoNotOptimize(Simplify(e));
}
BENCHMARK(SimplifyIndex)->Unit(benchmark::kMicrosecond);

// An index that is taken apart and put together again, as reshapes do.
void SimplifyReshape(benchmark::State& state) {
  const Expr e = *ParseExpr("(i*64 + j) // 64 * 64 + (i*64 + j) % 64");
  for (auto _ : state) benchmark::DoNotOptimize(Simplify(e));
}
BENCHMARK(SimplifyReshape)->Unit(benchmark::kMicrosecond);

void ProveOrder(benchmark::State& state) {
  Assumptions as;
  as.bounds = {{"N", {1, {}}}, {"M", {1, {}}}};
  const Expr a = *ParseExpr("(N - 1) * M + M - 1"), b = *ParseExpr("N*M - 1");
  for (auto _ : state) benchmark::DoNotOptimize(ProveLe(a, b, as));
}
BENCHMARK(ProveOrder)->Unit(benchmark::kMicrosecond);

void InferTypesOfOneStatement(benchmark::State& state) {
  const Program p = Chain(state, 1);
  const Expr e = *ParseExpr("max(X[i], 0) + log1p(exp(-abs(X[i])))");
  for (auto _ : state) benchmark::DoNotOptimize(InferTypes(p.Entry(), e));
}
BENCHMARK(InferTypesOfOneStatement)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace headrace
