// External functions through the C ABI: tensors, strings, sequences, sizes that only the function knows.
#include <string>

#include "backends/common/external_call.h"
#include "backends/interpreter/testing.h"

namespace headrace {
namespace {

using testing::F32;
using testing::I64;
using testing::Numbers;
using testing::NumbersOf;
using testing::Strings;

int64_t Elements(const hr_value& v) {
  int64_t n = 1;
  for (int d = 0; d < v.rank; ++d) n *= v.shape[d];
  return n;
}

int32_t Scale(hr_call* c) {
  const double by = std::stod(c->attributes[0].text);
  for (int64_t i = 0; i < Elements(c->inputs[0]); ++i) {
    static_cast<float*>(c->outputs[0].data)[i] =
        static_cast<float>(by * static_cast<const float*>(c->inputs[0].data)[i]);
  }
  return 0;
}

int32_t NonZero(hr_call* c) {
  const float* x = static_cast<const float*>(c->inputs[0].data);
  int64_t count = 0;
  for (int64_t i = 0; i < Elements(c->inputs[0]); ++i) count += x[i] != 0;
  if (c->allocate(c, 0, HR_I64, 1, &count)) return 1;
  int64_t* y = static_cast<int64_t*>(c->outputs[0].data);
  for (int64_t i = 0; i < Elements(c->inputs[0]); ++i)
    if (x[i] != 0) *y++ = i;
  return 0;
}

int32_t Shout(hr_call* c) {
  const hr_string* x = static_cast<const hr_string*>(c->inputs[0].data);
  std::vector<std::string> text;
  std::vector<hr_string> views;
  for (int64_t i = 0; i < Elements(c->inputs[0]); ++i) text.push_back(std::string(x[i].data, x[i].size) + "!");
  for (const auto& t : text) views.push_back({t.data(), static_cast<int64_t>(t.size())});
  return c->set_strings(c, 0, views.data(), static_cast<int64_t>(views.size()));
}

int32_t Append(hr_call* c) {  // sequence, tensor → sequence
  for (int64_t i = 0; i < c->inputs[0].count; ++i) c->append(c, 0, &c->inputs[0].items[i]);
  return c->append(c, 0, &c->inputs[1]);
}
int32_t Length(hr_call* c) {
  *static_cast<int64_t*>(c->outputs[0].data) = c->inputs[0].count;
  return 0;
}
int32_t Present(hr_call* c) {
  *static_cast<int64_t*>(c->outputs[0].data) = c->inputs[0].kind != HR_ABSENT;
  return 0;
}
int32_t Refuse(hr_call* c) {
  c->fail(c, "it is Saturday");
  return 1;
}

int32_t UntilCancelled(hr_call* c) {
  while (!hr_call_cancelled(c)) {
  }
  return 1;
}

const Registry& TestRegistry() {
  static const Registry* const kRegistry = [] {
    auto* r = new Registry();
    const std::pair<const char*, hr_function> all[] = {{"scale", Scale},   {"nonzero", NonZero}, {"shout", Shout},
                                                       {"append", Append}, {"length", Length},   {"present", Present},
                                                       {"refuse", Refuse}, {"forever", UntilCancelled}};
    for (const auto& [name, fn] : all) {
      ExternalFunction f;
      f.name = f.symbol = name;
      f.address = reinterpret_cast<void*>(fn);
      EXPECT_TRUE(r->Add(f).ok());
    }
    return r;
  }();
  return *kRegistry;
}

Result<std::vector<Value>> RunHere(const std::string& text, const testing::Arguments& a) {
  return testing::RunText(text, a, {}, &TestRegistry());
}
Numbers First(const std::string& text, const testing::Arguments& a) {
  auto r = RunHere(text, a);
  EXPECT_TRUE(r.ok()) << r.status().ToString();
  return r.ok() ? NumbersOf((*r)[0]) : Numbers{};
}

TEST(External, FillsOutputsOfKnownSize) {
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: f32[N]) { call.scale{by = 2.5}(X = X) -> (Y = Y) }", {{"X", F32({2}, {1, 2})}}),
            (Numbers{2.5, 5}));
  // Strided arguments are packed for the call and unpacked after it.
  EXPECT_EQ(
      First(
          R"(sdfg f(X: f32[2, 2], Y: f32[2, 2]) { view T: f32[2, 2] of X strides [1, 2]; view U: f32[2, 2] of Y strides [1, 2]
                       call.scale{by = 10}(X = T) -> (Y = U) })",
          {{"X", F32({2, 2}, {1, 2, 3, 4})}}),
      (Numbers{10, 20, 30, 40}));
}

TEST(External, DefinesSizes) {
  EXPECT_EQ(First(R"(sdfg f(X: f32[N], Y: i64[K]) { transient T: i64[K]
                       call.nonzero(X = X) -> (Y = T) defines(K)
                       map i in 0:K { Y[i] = 10 * T[K - 1 - i] } })",
                  {{"X", F32({4}, {0, 1, 0, 3})}}),
            (Numbers{30, 10}));
  EXPECT_EQ(First("sdfg f(X: f32[N], Y: i64[K]) { call.nonzero(X = X) -> (Y = Y) defines(K) }",
                  {{"X", F32({4}, {0, 1, 0, 3})}}),
            (Numbers{1, 3}));
  // Made by a callee, inside a loop, with another size each time.
  EXPECT_EQ(First(R"(entry sdfg f(X: f32[2, 3], Y: i64) { transient T: i64[K]; view row: f32[3] of X offset 3 * t
                       Y = 0
                       for t in 0:2 { call.nonzero(X = row) -> (Y = T) defines(K); map i in 0:K { Y += 1 + T[i] } } })",
                  {{"X", F32({2, 3}, {0, 0, 1, 1, 1, 0})}}),
            (Numbers{6}));
}

TEST(External, Strings) {
  auto r =
      RunHere("sdfg f(X: string[N], Y: string[N]) { call.shout(X = X) -> (Y = Y) }", {{"X", Strings({2}, {"a", ""})}});
  ASSERT_TRUE(r.ok()) << r.status().ToString();
  EXPECT_EQ(*(*r)[0].tensor.strings, (std::vector<std::string>{"a!", "!"}));
}

TEST(External, SequencesAndAbsentInputs) {
  EXPECT_EQ(First(R"(sdfg f(X: f32[N], n: i64) { sequence S: seq(f32); sequence T: seq(f32)
                       call.append(S = S, X = X) -> (S = T)
                       call.append(S = T, X = X) -> (S = S)
                       call.length(S = S) -> (n = n) })",
                  {{"X", F32({1}, {1})}}),
            Numbers{2});
  auto r = RunHere("sdfg f(S: seq(f32), X: f32[N], T: seq(f32)) { call.append(S = S, X = X) -> (S = T) }",
                   {{"S",
                     [] {
                       Value v;
                       v.kind = Value::kSequence;
                       v.items.push_back(F32({1}, {7}));
                       return v;
                     }()},
                    {"X", F32({2}, {1, 2})}});
  ASSERT_TRUE(r.ok()) << r.status().ToString();
  ASSERT_EQ((*r)[0].items.size(), 2u);
  EXPECT_EQ(NumbersOf((*r)[0].items[0]), Numbers{7});
  EXPECT_EQ(NumbersOf((*r)[0].items[1]), (Numbers{1, 2}));
  EXPECT_EQ(First("sdfg f(optional B: f32[N], n: i64) { call.present(B = B) -> (n = n) }", {}), Numbers{0});
}

TEST(External, FailuresAreErrors) {
  auto r =
      RunHere("sdfg f(X: f32[N], Y: f32[N]) { call.refuse(X = X) -> (Y = Y) from \"day\" }", {{"X", F32({1}, {1})}});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().message(), "external function refuse failed: it is Saturday");
  EXPECT_EQ(r.status().diagnostics()[0].node, "day");
  r = RunHere("sdfg f(X: f32[N], Y: i64[3]) { call.nonzero(X = X) -> (Y = Y) }", {{"X", F32({1}, {1})}});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().message(),
            "external function nonzero failed: output 0 got type i64 and shape [1], expected i64 and [3]");
}

TEST(External, FunctionsHearThatTheRunIsCancelled) {
  CompileOptions o;
  int polls = 0;
  o.cancelled = [&] { return ++polls > 3; };
  auto r = testing::RunText("sdfg f(X: f32[N], Y: f32[N]) { call.forever(X = X) -> (Y = Y) }", {{"X", F32({1}, {1})}}, {}, &TestRegistry(), o);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().kind(), ErrorKind::kInterrupted);
}

TEST(External, AttributesAsText) {
  EXPECT_EQ(AttributeText({int64_t{3}}), "3");
  EXPECT_EQ(AttributeText({0.5}), "0.5");
  EXPECT_EQ(AttributeText({2.0}), "2.0");
  EXPECT_EQ(AttributeText({std::string("a\"b")}), "\"a\\\"b\"");
  EXPECT_EQ(AttributeText({std::vector<int64_t>{1, 2}}), "[1, 2]");
  EXPECT_EQ(AttributeText({std::vector<double>{1e-5}}), "[1e-05]");
}

}  // namespace
}  // namespace headrace
