#include "ir/analysis/dataflow.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"

namespace headrace {
namespace {

struct Fixture {
  Program p;
  const Sdfg& s() const { return p.Entry(); }
  const State& state() const { return std::get<State>(s().blocks[s().body[0]].control); }
};
Fixture Load(const std::string& text) {
  Result<Program> p = ParseProgram(text);
  HR_CHECK(p.ok(), p.status().ToString());
  return {std::move(*p)};
}
std::string MemletsAt(const Fixture& f, size_t i) {
  std::string out;
  for (const Memlet& m : MemletsOf(f.p, f.s(), f.state().statements[i]))
    out += std::string(m.write ? "write " : "read ") + m.container.str() + ToString(m.subset) +
           (m.full ? " full" : "") + (m.dynamic ? " dynamic" : "") + " x " + ToString(m.volume) + "\n";
  return out;
}
std::string EdgesAt(const Fixture& f) {
  std::string out;
  for (const Edge& e : EdgesOf(f.p, f.s(), f.state()))
    out += std::to_string(e.from) + "->" + std::to_string(e.to) + " " + e.container.str() +
           (e.kind == Dependence::kReadAfterWrite   ? " raw"
            : e.kind == Dependence::kWriteAfterRead ? " war"
                                                    : " waw") +
           "\n";
  return out;
}

TEST(Dataflow, MemletsArePropagatedOutOfMaps) {
  Fixture f = Load(R"(sdfg f(X: f32[N, M], I: i64[N], Y: f32[N], Z: f32[N]) {
    state {
      map i in 0:N, j in 0:M { Y[i] += X[i, j] }
      map i in 0:N { Z[i] = Y[I[i]] + (Y[i + 1] ?? 0) }
    }
  })");
  EXPECT_EQ(MemletsAt(f, 0), "read X[0:N, 0:M] x M * N\nwrite Y[0:N] full x M * N\n");
  EXPECT_EQ(MemletsAt(f, 1),
            "read Y[0:N] dynamic x N\nread I[0:N] x N\nread Y[1:N] dynamic x N\nwrite Z[0:N] full x N\n");
}

TEST(Dataflow, EdgesFollowOverlap) {
  Fixture f = Load(R"(sdfg f(X: f32[2*N], n: f32[N], Y: f32[2*N], Z: f32[N]) {
    state {
      map i in 0:N { Y[i] = X[i] }
      map i in 0:N { Y[N + i] = X[i] }
      map i in 0:N { Z[i] = Y[i] }
      map i in 0:2*N { Y[i] = 0 }
    }
  })");
  EXPECT_EQ(EdgesAt(f), "0->2 Y raw\n0->3 Y waw\n1->3 Y waw\n2->3 Y war\n");
}

TEST(Dataflow, AFullWriteStandsForWhatItCovers) {
  Fixture f = Load(
      "sdfg f(Y: f32[N], Z: f32[N]) { state { map i in 0:N { Y[i] = 0 }; map i in 0:N { Y[i] = 1 }; map i in 0:N { Z[i] = Y[i] } } }");
  EXPECT_EQ(EdgesAt(f), "0->1 Y waw\n1->2 Y raw\n");
}

TEST(Dataflow, ViewsAreTheirBase) {
  Fixture f = Load(R"(sdfg f(X: f32[N], Y: f32[N], Z: f32[N]) {
    view V: f32[N] of Y
    state { map i in 0:N { V[i] = X[i] }; map i in 0:N { Z[i] = Y[i] } }
  })");
  EXPECT_EQ(EdgesAt(f), "0->1 Y raw\n");
  EXPECT_EQ(RootOf(f.s(), "V"), Name("Y"));
}

TEST(Dataflow, SizesThatANodeDefinesOrderItsUsers) {
  Fixture f = Load(R"(sdfg f(X: f32[N], Z: f32) {
    transient I: i64[K]
    transient T: f32[K]
    state {
      call.nonzero(X = X) -> (Y = I) defines(K)
      map k in 0:K { T[k] = 0 }
      Z = 0
    }
  })");
  EXPECT_EQ(EdgesAt(f), "0->1 K raw\n");
}

TEST(Dataflow, EveryWriteMakesAVersion) {
  Fixture f = Load("sdfg f(inout X: f32, Y: f32) { state { Y = X; X = 1; Y = X; X = 2 } }");
  std::string out;
  for (const AccessNode& a : AccessNodesOf(f.p, f.s(), f.state()))
    out += a.container.str() + std::to_string(a.version) + " w" + std::to_string(a.writers.size()) + " r" +
           std::to_string(a.readers.size()) + "; ";
  EXPECT_EQ(out, "X0 w0 r1; Y1 w1 r0; X1 w1 r1; Y2 w1 r0; X2 w1 r0; ");
}

TEST(Dataflow, SizesOfACallerAreDeclared) {
  Fixture f = Load(
      R"(sdfg f(X: f32[N], Y: f32[N], K: symbol, O: symbol, D: symbol, L: symbol, S: symbol, C: symbol, A: symbol) {
    transient T: f32[K]
    view v: f32[N] of X offset O
    state { map i in 0:L { Y[i] = X[i] * f32(D) } }
    for t in 0:S { state { call g(a = Y, n := A) } }
    if C > 0 { let q = N; for u in 0:q { state { Y[u] = 0 } } }
  }
  sdfg g(a: f32[M], n: symbol) { a[n] = 0 })");
  Sdfg s = f.s();
  std::vector<Name> all = s.symbol_params;
  s.symbol_params.clear();
  DeclareSymbols(&s);
  auto text = [](std::vector<Name> names) {
    std::vector<std::string> out;
    for (Name n : names) out.push_back(n.str());
    std::sort(out.begin(), out.end());
    return out;
  };
  EXPECT_EQ(text(s.symbol_params), text(all));
  DeclareSymbols(&s);
  EXPECT_EQ(s.symbol_params.size(), all.size());
}

TEST(Dataflow, ManyPartialWritesStayLinear) {
  std::string text = "sdfg f(Y: f32[100000]) { state {\n";
  for (int i = 0; i < 20000; ++i) text += "Y[" + std::to_string(i) + "] = 0\n";
  Fixture f = Load(text + "} }");
  EXPECT_LT(EdgesOf(f.p, f.s(), f.state()).size(), 100000u);
}

}  // namespace
}  // namespace headrace
