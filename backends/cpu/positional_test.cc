// Calls by position on the caller's arrays: strided ones, outputs given or allocated, updates in place, overlaps, wrong use.
#include <gmock/gmock.h>

#include <thread>

#include "backends/cpu/testing.h"
#include "ir/registry/call.h"

namespace headrace::cpu {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Array {
  std::vector<float> data;
  std::vector<int64_t> shape, strides;
  hr_array view(int64_t offset = 0) {
    hr_array a = {};
    a.data = data.data() + offset;
    a.shape = shape.data();
    a.strides = strides.empty() ? nullptr : strides.data();
    a.dtype = HR_F32;
    a.rank = static_cast<int32_t>(shape.size());
    a.device_type = HR_DEVICE_CPU;
    return a;
  }
};

struct Frame : CallFrame {
  std::vector<hr_array> in, out;
  std::vector<std::vector<float>> made;
  std::vector<std::vector<int64_t>> shapes;
  Status Run(Executable& e) {
    made.resize(out.size());
    shapes.resize(out.size());
    inputs = in.data();
    n_inputs = static_cast<int32_t>(in.size());
    outputs = out.data();
    n_outputs = static_cast<int32_t>(out.size());
    context = this;
    allocate = [](void* context, int32_t k, int32_t, int32_t rank, const int64_t* shape) -> void* {
      auto* f = static_cast<Frame*>(context);
      f->shapes[static_cast<size_t>(k)].assign(shape, shape + rank);
      int64_t n = 1;
      for (int32_t d = 0; d < rank; ++d) n *= shape[d];
      auto& memory = f->made[static_cast<size_t>(k)];
      memory.assign(static_cast<size_t>(n + 1), -7);
      return memory.data();
    };
    return e.Call(*this);
  }
};
hr_array NoMemory() {
  hr_array a = {};
  a.device_type = HR_DEVICE_CPU;
  return a;
}

constexpr char kAdd[] = R"(
  sdfg main(X: f32[N, M], Y: f32[N, M], Z: f32[N, M]) {
    state { map i in 0:N, j in 0:M { Z[i, j] = X[i, j] + 10 * Y[i, j] } }
  })";

TEST(Positional, OutputsAreGivenOrAllocated) {
  Registry r;
  auto e = CompileText(kAdd, r);
  Array x{{1, 2, 3, 4, 5, 6}, {2, 3}, {}}, y{{6, 5, 4, 3, 2, 1}, {2, 3}, {}}, z{{0, 0, 0, 0, 0, 0}, {2, 3}, {}};
  Frame f;
  f.in = {x.view(), y.view()};
  f.out = {z.view()};
  ASSERT_TRUE(f.Run(*e).ok());
  EXPECT_THAT(z.data, ElementsAre(61, 52, 43, 34, 25, 16));
  f.out = {NoMemory()};
  ASSERT_TRUE(f.Run(*e).ok());
  EXPECT_THAT(f.shapes[0], ElementsAre(2, 3));
  EXPECT_THAT(f.made[0], ElementsAre(61, 52, 43, 34, 25, 16, -7));
  EXPECT_EQ(f.out[0].dtype, HR_F32);
  EXPECT_EQ(f.out[0].rank, 2);
  // Other sizes, then the first again.
  Array a{{1, 2}, {1, 2}, {}}, b{{1, 1}, {1, 2}, {}};
  Frame g;
  g.in = {a.view(), b.view()};
  g.out = {NoMemory()};
  ASSERT_TRUE(g.Run(*e).ok());
  EXPECT_THAT(g.made[0], ElementsAre(11, 12, -7));
  f.out = {z.view()};
  ASSERT_TRUE(f.Run(*e).ok());
}

TEST(Positional, StridedArraysAreReadAndWrittenAsTheyAre) {
  Registry r;
  auto e = CompileText(kAdd, r);
  Array x{{1, 4, 2, 5, 3, 6}, {2, 3}, {1, 2}};     // column-major
  Array y{{3, 2, 1, 6, 5, 4}, {2, 3}, {3, -1}};    // rows backwards
  Array z{std::vector<float>(12, -1), {2, 3}, {6, 2}};  // every second element
  Frame f;
  f.in = {x.view(), y.view(2)};
  f.out = {z.view()};
  const Status s = f.Run(*e);
  ASSERT_TRUE(s.ok()) << s.ToString();
  EXPECT_THAT(z.data, ElementsAre(11, -1, 22, -1, 33, -1, 44, -1, 55, -1, 66, -1));
}

TEST(Positional, AnOutputMayShareMemoryWithAnInput) {
  Registry r;
  auto e = CompileText("sdfg main(X: f32[4], Y: f32[4]) { state { map i in 0:4 { Y[i] = X[3 - i] } } }", r);
  Array x{{1, 2, 3, 4}, {4}, {}};
  Frame f;
  f.in = {x.view()};
  f.out = {x.view()};
  ASSERT_TRUE(f.Run(*e).ok());
  EXPECT_THAT(x.data, ElementsAre(4, 3, 2, 1));
}

constexpr char kUpdate[] = R"(
  sdfg main(inout P: f32[N], G: f32[N], norm: f32[1]) {
    state { map i in 0:N { P[i] = P[i] - 0.5 * G[i] }; map i in 0:1 { norm[i] = P[0] } }
  })";

TEST(Positional, UpdatesHappenInPlace) {
  Registry r;
  auto e = CompileText(kUpdate, r);
  Array p{{8, 0, 6, 0}, {2}, {2}}, g{{2, 4}, {2}, {}};
  Frame f;
  f.in = {p.view(), g.view()};
  f.out = {NoMemory()};
  ASSERT_TRUE(f.Run(*e).ok());
  EXPECT_THAT(p.data, ElementsAre(7, 0, 4, 0));
  EXPECT_THAT(f.made[0], ElementsAre(7, -7));
  p.strides = {};
  ASSERT_TRUE(f.Run(*e).ok());
}

TEST(Positional, WrongUseIsAnErrorThatNamesTheArgument) {
  Registry r;
  auto add = CompileText(kAdd, r);
  auto update = CompileText(kUpdate, r);
  Array x{{1, 2, 3, 4}, {2, 2}, {}}, row{{1, 2}, {1, 2}, {}}, p{{1, 2}, {2}, {}};
  auto error = [](Executable& e, std::vector<hr_array> in, std::vector<hr_array> out) {
    Frame f;
    f.in = std::move(in);
    f.out = std::move(out);
    return f.Run(e).ToString();
  };
  EXPECT_THAT(error(*add, {x.view()}, {NoMemory()}), HasSubstr("takes 2 inputs, not 1"));
  EXPECT_THAT(error(*add, {x.view(), row.view()}, {NoMemory()}), HasSubstr("sizes disagree: N is 2"));
  EXPECT_THAT(error(*add, {x.view(), x.view()}, {row.view()}), AllOf(HasSubstr("E0689"), HasSubstr("output Z is f32[2, 2], the array given for it f32[1, 2]")));
  hr_array wrong = x.view();
  wrong.dtype = HR_I32;
  EXPECT_THAT(error(*add, {x.view(), wrong}, {NoMemory()}), HasSubstr("input Y has the wrong type"));
  wrong = x.view();
  wrong.device_type = HR_DEVICE_CUDA;
  EXPECT_THAT(error(*add, {x.view(), wrong}, {NoMemory()}), AllOf(HasSubstr("E0686"), HasSubstr("input Y lies on a device")));
  wrong = x.view();
  wrong.flags = HR_ARRAY_READ_ONLY;
  Array z{{0, 0, 0, 0}, {2, 2}, {}};
  EXPECT_EQ(error(*add, {wrong, x.view()}, {z.view()}), Status().ToString());
  EXPECT_THAT(error(*add, {x.view(), x.view()}, {wrong}), AllOf(HasSubstr("E0687"), HasSubstr("output Z is read-only")));
  wrong = p.view();
  wrong.flags = HR_ARRAY_READ_ONLY;
  EXPECT_THAT(error(*update, {wrong, p.view()}, {NoMemory()}), AllOf(HasSubstr("E0687"), HasSubstr("input P is read-only")));
  EXPECT_THAT(error(*update, {p.view(), p.view()}, {NoMemory()}), AllOf(HasSubstr("E0688"), HasSubstr("shares memory with input G")));
  Array whole{{1, 5, 2, 6}, {2}, {2}}, flat{{3, 3}, {2}, {0}};
  hr_array odd = whole.view();
  odd.data = static_cast<float*>(odd.data) + 1;
  EXPECT_THAT(error(*update, {whole.view(), p.view()}, {whole.view()}), AllOf(HasSubstr("E0688"), HasSubstr("shares memory with output")));
  EXPECT_THAT(error(*update, {flat.view(), p.view()}, {NoMemory()}), AllOf(HasSubstr("E0688"), HasSubstr("its elements share memory")));
  EXPECT_THAT(error(*update, {p.view(), p.view()}, {flat.view()}), HasSubstr("E0688"));
  EXPECT_EQ(error(*update, {whole.view(), odd}, {NoMemory()}), Status().ToString());  // every second element, and those between
  EXPECT_NE(whole.data, (std::vector<float>{1, 5, 2, 6}));
  auto strings = CompileText("sdfg main(S: string[N], Y: i64[1]) { state { map i in 0:1 { Y[i] = N } } }", r);
  ASSERT_TRUE(strings);
  EXPECT_THAT(error(*strings, {x.view()}, {NoMemory()}), AllOf(HasSubstr("E0685"), HasSubstr("tensor of strings")));
}

TEST(Positional, SizesThatNoArgumentTells) {
  Registry r;
  auto e = CompileText("sdfg main(X: f32[1], Y: f32[N]) { state { map i in 0:N { Y[i] = X[0] + i } } }", r);
  ASSERT_THAT(e->CallSymbols(), ElementsAre(Name("N")));
  Array x{{5}, {1}, {}};
  Frame f;
  f.in = {x.view()};
  f.out = {NoMemory()};
  const int64_t n = 3;
  f.symbols = &n;
  f.n_symbols = 1;
  ASSERT_TRUE(f.Run(*e).ok());
  EXPECT_THAT(f.made[0], ElementsAre(5, 6, 7, -7));
}

TEST(Positional, ManyThreadsAtOnce) {
  Registry r;
  auto e = CompileText(kAdd, r);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const int64_t n = 1 + (i + t) % 3;
        Array x{std::vector<float>(static_cast<size_t>(2 * n), static_cast<float>(i)), {n, 2}, {}};
        Frame f;
        f.in = {x.view(), x.view()};
        f.out = {NoMemory()};
        wrong[static_cast<size_t>(t)] += !f.Run(*e).ok() || f.made[0][static_cast<size_t>(2 * n - 1)] != static_cast<float>(11 * i);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace headrace::cpu
