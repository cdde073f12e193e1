// Calls of sdfgs and of external functions, containers whose size the run decides, arguments that are updated.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "backends/cpu/testing.h"

namespace headrace::cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Calls, StridedViewsAreCopiedThereAndBack) {
  auto out = RunText(R"(
    sdfg main(X: f32[4, 3], Y: f32[3, 4], Z: f32[4, 3]) {
      view column: f32[4] of X offset 1 strides [3]
      view turned: f32[3, 4] of X strides [1, 3]
      view second: f32[4] of Z offset 1 strides [3]
      state {
        call twice(A = turned, B = Y)
        map i in 0:4, j in 0:3 { Z[i, j] = -1 }
        call add(A = column, B = second)
        map i in 0:3 { call add(A = turned[i, :], B = Y[i, :]) }
      }
    }
    sdfg twice(A: f32[N, M], B: f32[N, M]) { state { map i in 0:N, j in 0:M { B[i, j] = 2 * A[i, j] } } }
    sdfg add(A: f32[N], inout B: f32[N]) { state { map i in 0:N { B[i] = B[i] + A[i] } } }
  )",
                     {{"X", F32({4, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_THAT(Doubles((*out)[0]), ElementsAre(0, 9, 18, 27, 3, 12, 21, 30, 6, 15, 24, 33));
  EXPECT_THAT(Doubles((*out)[1]), ElementsAre(-1, 0, -1, -1, 3, -1, -1, 6, -1, -1, 9, -1));
}

TEST(Calls, SizesOfArgumentsMustAgree) {
  const std::string text = R"(sdfg main(X: f32[N], Y: f32[M]) {
      map i in 0:M { Y[i] = 0 }
      call add(A = X, B = Y)
    }
    sdfg add(A: f32[K], inout B: f32[K]) { state { map i in 0:K { B[i] = B[i] + A[i] } } })";
  for (int64_t m : {2, 3, 4}) {
    auto out = RunText(text, {{"X", F32({3}, {1, 2, 3})}}, {{"M", m}});
    ASSERT_EQ(out.ok(), m == 3) << m;
    if (m != 3) {
      EXPECT_THAT(out.status().ToString(),
                  HasSubstr("argument Y is " + std::to_string(m) + " long where dimension 0 of B is 3"));
    }
  }
}

// What an argument or a view would take from outside an array is an error, not memory.
TEST(Calls, ArgumentsAndViewsOutsideTheirArrays) {
  const std::string row = R"(sdfg main(X: f32[N, 3], Y: f32[3]) {
      map i in 0:3 { Y[i] = 0 }
      for k in FROM:TO { state { call add(A = X[k, :], B = Y) } }
    }
    sdfg add(A: f32[M], inout B: f32[M]) { state { map i in 0:M { B[i] = B[i] + A[i] } } })";
  const std::string view = R"(sdfg main(X: f32[N, 3], Y: f32[3]) {
      view some: f32[3] of X offset 3 * k
      map i in 0:3 { Y[i] = 0 }
      for k in FROM:TO {
        state { map i in 0:3 { Y[i] = Y[i] + some[i] } }
      }
    })";
  for (std::string text : {row, view})
    for (const auto& [from, to] : {std::pair("0", "2"), {"0", "3"}, {"-1", "2"}}) {
      std::string one = text;
      one.replace(one.find("FROM"), 4, from).replace(one.find("TO"), 2, to);
      auto out = RunText(one, {{"X", F32({2, 3}, {1, 2, 3, 4, 5, 6})}});
      if (to == std::string("2") && from == std::string("0")) {
        ASSERT_TRUE(out.ok()) << out.status().ToString();
        EXPECT_THAT(Doubles((*out)[0]), ElementsAre(5, 7, 9));
      } else {
        ASSERT_FALSE(out.ok()) << one;
        EXPECT_THAT(out.status().ToString(),
                    ::testing::AnyOf(HasSubstr("reaches outside its base X"), HasSubstr("index out of range: X[")));
      }
    }
}

// A container that grows with every round of a loop.
TEST(Calls, SizesSetInLoopsReallocate) {
  auto out = RunText(R"(
    sdfg f(X: i64[N], S: i64[N], last: i64[m]) {
      transient T: i64[n, 2]
      for i in 0:N {
        let n = X[i]
        map k in 0:n, c in 0:2 { T[k, c] = k + c + i }
        S[i] = 0
        map k in 0:n, c in 0:2 { S[i] += T[k, c] }
      }
      let m = X[N - 1]
      map k in 0:m { last[k] = k }
    })",
                     {{"X", I64({5}, {1, 1000, 3, 200000, 2})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  std::vector<double> want;
  const std::vector<int64_t> sizes = {1, 1000, 3, 200000, 2};
  for (int64_t i = 0; i < 5; ++i) {
    const int64_t n = sizes[static_cast<size_t>(i)];
    want.push_back(static_cast<double>(n * (n - 1) + n * (2 * i + 1)));
  }
  EXPECT_EQ(Doubles((*out)[0]), want);
  EXPECT_THAT(Doubles((*out)[1]), ElementsAre(0, 1));
}

// ---- an external function with a state: counts its calls, starting from its attribute ----
int alive = 0;
void* CounterCreate(const hr_attribute* attributes, int32_t n) {
  ++alive;
  auto* state = new int64_t(0);
  for (int32_t i = 0; i < n; ++i)
    if (std::strcmp(attributes[i].name, "start") == 0) *state = std::atoll(attributes[i].text);
  return state;
}
void CounterDestroy(void* state) {
  --alive;
  delete static_cast<int64_t*>(state);
}
int32_t Counter(hr_call* c) {
  auto* state = static_cast<int64_t*>(c->state);
  static_cast<int64_t*>(c->outputs[0].data)[0] = (*state)++;
  return 0;
}
int32_t Absences(hr_call* c) {  // which arguments are not there
  int64_t mask = 0;
  for (int32_t i = 0; i < c->n_inputs; ++i) mask |= c->inputs[i].kind == HR_ABSENT ? 1 << i : 0;
  for (int32_t i = 1; i < c->n_outputs; ++i) mask |= c->outputs[i].kind == HR_ABSENT ? 16 << i : 0;
  static_cast<int64_t*>(c->outputs[0].data)[0] = mask;
  return 0;
}

int32_t UntilCancelled(hr_call* c) {
  while (!hr_call_cancelled(c)) std::this_thread::yield();
  return 1;
}
int32_t CanBeCancelled(hr_call* c) {
  static_cast<int64_t*>(c->outputs[0].data)[0] = c->cancelled != nullptr;
  return 0;
}

ExternalFunction Function(const char* name, int32_t (*f)(hr_call*)) {
  ExternalFunction e;
  e.name = e.symbol = name;
  e.address = reinterpret_cast<void*>(f);
  e.thread_safe = false;
  return e;
}

TEST(Externals, EveryNodeHasAStateMadeOfItsAttributes) {
  Registry r;
  ExternalFunction counter = Function("counter", Counter);
  counter.create = CounterCreate;
  counter.destroy = CounterDestroy;
  ASSERT_TRUE(r.Add(counter).ok());
  auto e = CompileText(R"(
    sdfg f(A: i64[], B: i64[], C: i64[]) {
      state {
        call.counter{start = 10}() -> (Y = A)
        call.counter{start = 20}() -> (Y = B)
        call.counter() -> (Y = C)
      }
    })",
                       r);
  ASSERT_TRUE(e);
  EXPECT_EQ(alive, 3);
  for (double round : {0.0, 1.0}) {
    auto out = e->Run({});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    EXPECT_EQ(Doubles((*out)[0])[0], 10 + round);
    EXPECT_EQ(Doubles((*out)[1])[0], 20 + round);
    EXPECT_EQ(Doubles((*out)[2])[0], round);
  }
  EXPECT_THAT(e->Save(::testing::TempDir() + "/counter.hrx").ToString(), HasSubstr("error[E0375]"));
  e.reset();
  EXPECT_EQ(alive, 0);
}

TEST(Externals, AbsentPortsAreSeenAsSuch) {
  Registry r;
  ASSERT_TRUE(r.Add(Function("absences", Absences)).ok());
  auto p = ParseProgram(R"(
    sdfg f(X: i64[1], A: i64[]) {
      transient T: i64[]
      state { call.absences(P = X, R = X) -> (Y = A, Z = T) }
    })");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  Sdfg& s = p->MutableEntry();
  auto& node = std::get<Library>(s.nodes.Mutable(NodeId{0}).body);
  node.inputs.insert(node.inputs.begin() + 1, Port{"Q", Name()});  // what importers make of an optional port left out
  node.outputs.push_back(Port{"W", Name()});
  auto e = Compile(*p, TestOptions(), r);
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  auto out = (*e)->Run({{"X", I64({1}, {5})}});
  ASSERT_TRUE(out.ok()) << out.status().ToString();
  EXPECT_EQ(Doubles((*out)[0])[0], 1 << 1 | 16 << 2);
}

// What a training step does to its parameters.
TEST(InOut, ArgumentsAreUpdated) {
  Registry r;
  auto e = CompileText(R"(
    sdfg step(G: f32[N], inout W: f32[N], inout M: f32[N]) {
      state {
        map i in 0:N { M[i] = 0.5 * M[i] + G[i] }
        map i in 0:N { W[i] = W[i] - 0.25 * M[i] }
      }
    })",
                       r);
  ASSERT_TRUE(e);
  std::vector<Value> state = {F32({2}, {1, 2}), F32({2}, {0, 4})};
  for (int round = 0; round < 2; ++round) {
    auto out = e->Run({{"G", F32({2}, {4, 0})}, {"W", state[0]}, {"M", state[1]}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    state = *out;
  }
  EXPECT_THAT(Doubles(state[0]), ElementsAre(-1.5, 1.25));
  EXPECT_THAT(Doubles(state[1]), ElementsAre(6, 1));
}

TEST(InOut, InPlaceTheMemoryOfTheArgumentChanges) {
  Registry r;
  auto e = CompileText("sdfg step(G: f32[N], inout W: f32[N], L: f32) { W[0] = W[1] - G[0]; L = W[0] }", r);
  ASSERT_TRUE(e);
  const Value w = F32({2}, {1, 2}), g = F32({2}, {4, 0});
  for (float expected : {-2.0f, -2.0f}) {
    auto out = e->RunInPlace({{"G", g}, {"W", w}});
    ASSERT_TRUE(out.ok()) << out.status().ToString();
    EXPECT_EQ((*out)[0].tensor.data, w.tensor.data);
    EXPECT_THAT(Doubles(w), ElementsAre(expected, 2));
    EXPECT_THAT(Doubles((*out)[1]), ElementsAre(expected));
  }
  auto other = e->Run({{"G", g}, {"W", w}});  // otherwise arguments are left alone
  ASSERT_TRUE(other.ok());
  EXPECT_NE((*other)[0].tensor.data, w.tensor.data);
}

TEST(Arguments, AreBoundAgainWhenTheyChange) {
  Registry r;
  auto e = CompileText("sdfg f(X: f32[N], Y: f32[N]) { map i in 0:N { Y[i] = X[i] + N } }", r);
  ASSERT_TRUE(e);
  auto run = [&](const Value& x) {
    auto out = e->Run({{"X", x}});
    return out.ok() ? Doubles((*out)[0]) : std::vector<double>();
  };
  const Value two = F32({2}, {1, 2}), three = F32({3}, {1, 2, 3}), matrix = F32({2, 1}, {1, 2});
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(run(two), ElementsAre(3, 4));
    EXPECT_THAT(run(two), ElementsAre(3, 4));
    EXPECT_THAT(run(three), ElementsAre(4, 5, 6));
    EXPECT_THAT(run(matrix), ElementsAre());
    EXPECT_FALSE(e->Run({{"Z", two}}).ok());
    EXPECT_FALSE(e->Run({{"X", two}}, {{"N", 3}}).ok());
    EXPECT_FALSE(e->Run({}).ok());
  }
}

// Each run is cancelled for itself; the thread that looks sleeps and wakes in between.
TEST(Cancel, StopsTheRunItIsFor) {
  Registry r;
  std::atomic<bool> stop{false};
  CompileOptions o = TestOptions();
  o.cancelled = [&stop] { return stop.load(); };
  auto p = ParseProgram(
      "sdfg f(X: f32[N], Y: f32[4]) {\n  map i in 0:4 { Y[i] = X[0] }\n"
      "  for t in 0:N { for u in 0:N { for v in 0:N { map i in 0:4 { Y[i] = Y[i] * 0.5 + 1 } } } }\n}");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  auto e = Compile(*p, o, r);
  ASSERT_TRUE(e.ok()) << e.status().ToString();
  auto run = [&](int64_t n) {
    Tensor x = *Tensor::Create(DType::kF32, {n});
    *x.as<float>() = 1;
    return (*e)->Run({{"X", x}}).status();
  };
  for (int round = 0; round < 2; ++round) {
    stop = false;
    EXPECT_TRUE(run(10).ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(round == 0 ? 1200 : 0));
    EXPECT_TRUE(run(10).ok());
    stop = true;
    Status cancelled = run(100000);
    ASSERT_FALSE(cancelled.ok());
    EXPECT_EQ(cancelled.kind(), ErrorKind::kInterrupted);
  }
}

// A library's function asks, and is not ended from outside.
TEST(Cancel, IsHeardByExternalFunctions) {
  Registry r;
  ASSERT_TRUE(r.Add(Function("forever", UntilCancelled)).ok());
  ASSERT_TRUE(r.Add(Function("can_be_cancelled", CanBeCancelled)).ok());
  std::atomic<bool> stop{false};
  CompileOptions o = TestOptions();
  o.cancelled = [&stop] { return stop.load(); };
  auto forever = Compile(*ParseProgram("sdfg f(Y: i64[]) { state { call.forever() -> (Y = Y) } }"), o, r);
  ASSERT_TRUE(forever.ok()) << forever.status().ToString();
  std::thread later([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
  });
  EXPECT_EQ((*forever)->Run({}).status().kind(), ErrorKind::kInterrupted);
  later.join();
  auto never = CompileText("sdfg f(Y: i64[]) { state { call.can_be_cancelled() -> (Y = Y) } }", r);
  ASSERT_TRUE(never);
  EXPECT_THAT(Doubles((*never->Run({}))[0]), ElementsAre(0));
}

TEST(Persistent, SizesMustBeFixed) {
  auto p = ParseProgram(
      "sdfg f(X: f32[N], Y: f32[N]) {\n persistent S: f32[N]\n state { map i in 0:N { S[i] = S[i] + X[i]; Y[i] = S[i] } } }");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  Registry r;
  auto e = Compile(*p, TestOptions(), r);
  ASSERT_FALSE(e.ok());
  EXPECT_THAT(e.status().ToString(), HasSubstr("persistent container 'S' has no fixed size"));
}

}  // namespace
}  // namespace headrace::cpu
