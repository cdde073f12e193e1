// Where transients lie: the printer goes by the places in the program, and takes no decision of its own.
#include "backends/cpu/testing.h"

namespace headrace::cpu {
namespace {

// A chain of rows over symbolic sizes whose arrays lie over each other, and one that gets its size inside.
constexpr char kChain[] = R"(sdfg f(X: f32[N, 16], Y: f32[N, 16], s: f32) {
  transient A: f32[N, 16]
  transient B: f32[N, 32]
  transient C: f32[N, 16]
  transient D: f32[24]
  transient later: f32[k]
  map n in 0:N, i in 0:16 { A[n, i] = X[n, i] + 1 }
  map n in 0:N, i in 0:32 { B[n, i] = A[n, i % 16] * A[n, (i + 1) % 16] }
  map n in 0:N, i in 0:16 { C[n, i] = B[n, i] + B[n, 31 - i] }
  map i in 0:24 { D[i] = i }
  let k = i64(D[3])
  map i in 0:k { later[i] = D[i + 20] }
  map n in 0:N, i in 0:16 { Y[n, i] = C[n, i] + C[n, (i + 3) % 16] }
  s = later[0] + later[2]
})";

Arguments ChainInput(int64_t n) {
  std::vector<double> x;
  for (int64_t i = 0; i < n * 16; ++i) x.push_back(static_cast<double>(i * 37 % 101) / 8);
  return {{"X", F32({n, 16}, x)}};
}

// With places and without: the same values; the source of the one has the plan's numbers, that of the other single allocations.
TEST(Arena, ProgramsRunWithPlacesAndWithout) {
  Registry r;
  const Result<Program> p = ParseProgram(kChain);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  auto with = Compile(WithArenas(*p), TestOptions(), r), without = Compile(*p, TestOptions(), r);
  ASSERT_TRUE(with.ok() && without.ok());
  for (const int64_t n : {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{50}}) {
    auto a = (*with)->Run(ChainInput(n)), b = (*without)->Run(ChainInput(n));
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(Doubles((*a)[0]), Doubles((*b)[0])) << n;
    EXPECT_EQ(Doubles((*a)[1]), std::vector<double>{42}) << n;
    EXPECT_EQ(Doubles((*b)[1]), std::vector<double>{42}) << n;
  }
  EXPECT_NE((*with)->Source().find("hr_extend(bytes, hr_count((hr_size{192} * hr_size{f->N})), 1)"), std::string::npos)
      << (*with)->Source();
  EXPECT_EQ((*with)->Source().find("&f->slot_A"), std::string::npos);
  EXPECT_NE((*without)->Source().find("hr_resize(x, &f->slot_A, "), std::string::npos);
}

// Places that do not hold are wrong numbers: refused, with the pass that should have run.
TEST(Arena, PlacesAreNotTakenOnTrust) {
  Registry r;
  Result<Program> p = ParseProgram(kChain);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  Program planned = WithArenas(*p);
  planned.MutableEntry().Mutable("B").place = planned.Entry().Get("A").place;
  const auto e = Compile(planned, TestOptions(), r);
  ASSERT_FALSE(e.ok());
  EXPECT_NE(e.status().ToString().find("run plan-memory last"), std::string::npos) << e.status().ToString();
}

double ArenaBytesOf(const Executable& e) {
  for (const auto& [what, value] : e.Report())
    if (what == "arena bytes") return value;
  return -1;
}

TEST(Arena, TheReportHasItsBytesWhereTheyAreKnown) {
  Registry r;
  const std::string text = R"(sdfg f(X: f32[20], Y: f32[20]) {
      transient T: f32[20]
      transient U: f32[20]
      map i in 0:20 { T[i] = X[i] }
      map i in 0:20 { U[i] = T[19 - i] }
      map i in 0:20 { Y[i] = U[i] }
    })";
  EXPECT_EQ(ArenaBytesOf(*CompileText(text, r)), 256);
  EXPECT_EQ(ArenaBytesOf(*CompileText(kChain, r)), -1);
}

// Slots that are too large together, where each alone is not.
TEST(Arena, SlotsThatDoNotFitInTheAddressSpaceAreAnError) {
  const std::string text = R"(sdfg f(Y: u8[], n: symbol, m: symbol) {
      transient T: u8[n, 100]
      transient U: u8[m, 64]
      map i in 0:n, j in 0:100 { T[i, j] = 1 }
      map i in 0:m, j in 0:64 { U[i, j] = T[0, j] }
      Y[] = U[0, 0]
    })";
  for (const int64_t n : {int64_t{1} << 56, int64_t{1} << 57, int64_t{1} << 62}) {
    auto out = RunText(text, {}, {{"n", n}, {"m", n}});
    ASSERT_FALSE(out.ok()) << n;
    EXPECT_NE(out.status().ToString().find("does not fit in the address space"), std::string::npos) << out.status().ToString();
  }
}

}  // namespace
}  // namespace headrace::cpu
