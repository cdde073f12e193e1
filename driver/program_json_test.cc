#include "driver/program_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ir/text/parser.h"
#include "ir/text/parser_corpus_for_tests.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

// Every construct of the notation once.
const char kText[] = R"(
sdfg main(inout P: f32[4, M], optional B: f32, a: f32, X: f32[N, 3] strides [4, 1] @host from "in", `in put`: i64[N],
          out Z: f32[2], Y: f32[N], k: symbol) {
  assume 1 <= N <= 64, k <= 9
  transient T: f32[N]
  transient r: f32 @register
  transient c: bool
  persistent steps: i64
  constant K: i64[2, 2] = [[1, 2], [3, 4]]
  constant words: string[2] = ["a\"b", "back\\slash"]
  view row: f32[3] of X offset 3 * (N - 1) strides [1]
  sequence S: seq(f32)
  state first from "layer" by "pass" {
    map i in 0:N @parallel from "conv" { T[i] = X[i, 0] * a + (B ?? 0) by "fuse" }
    map i in (N > k ? k : 0):N, j in 0:i:2 {
      T[i] max= row[j % 3] ?? -inf
      map { T[i] += f32(`in put`[i]) }
    }
    T[0] ?? += T.flat[k]
    call g(x = T, y = Y, n := N + 1)
    onnx.Conv:11{strides = [2, 2], alpha = 1.0, mode = "x", t = tensor f32[2] [1, 2], body = graph g}(X = X, W = P) -> (Y = Y) defines (u) impl "pure"
  }
  let n = a < 1 ? N : k else "no \"n\""
  require N > k else "{} is no more than \"{}\"", N, k
  if a > 1 { state { c = true } } else if n > 3 { loop { if c { break } else { continue } } } else { do { c = !c } while c }
  for t in n - 1:-1:-1 { while c { c = false } }
  do for v = 1; v < n; v = v * 2 { Y[v] = 0 }
}
sdfg h(x: f32[m], y: f32[m]) @flush { y[0] = x[0] * 2 }
entry sdfg g(x: f32[m], y: f32[m], n: symbol) { y[i] = x[i] + n }
)";

Program Parsed(const std::string& text) {
  Result<Program> p = ParseProgram(text, "text");
  EXPECT_TRUE(p.ok()) << p.status().ToString();
  return p.ok() ? *p : Program();
}

TEST(ProgramJson, ComesBackAsItWas) {
  std::vector<std::string> texts(std::begin(testing::kPrograms), std::end(testing::kPrograms));
  texts.push_back(kText);
  for (const std::string& text : texts) {
    const Program p = Parsed(text);
    const std::string json = ProgramToJson(p);
    Result<Program> again = ProgramFromJson(json);
    ASSERT_TRUE(again.ok()) << again.status().ToString() << "\n" << text;
    EXPECT_EQ(Print(*again), Print(p));
    EXPECT_EQ(ProgramToJson(*again), json);
  }
}

TEST(ProgramJson, PlacesInTheArenaComeBack) {
  const Program p = Parsed(R"(sdfg f(X: f32[N, 64], Y: f32[N, 64]) {
    arena { slot 0: 64; slot 1: 512 * N }
    transient A: f32[N, 64] @arena(1)
    transient B: f32[N, 64] @arena(1, 256 * N)
    map i in 0:N, j in 0:64 { A[i, j] = X[i, j] }
    map i in 0:N, j in 0:64 { B[i, j] = A[i, j] }
    map i in 0:N, j in 0:64 { Y[i, j] = B[i, j] }
  })");
  const Result<Program> again = ProgramFromJson(ProgramToJson(p));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(Print(*again), Print(p));
  EXPECT_EQ(again->Entry().arena, p.Entry().arena);
}

TEST(ProgramJson, SaysWhatMoves) {
  const auto j = nlohmann::json::parse(ProgramToJson(Parsed(R"(
      sdfg f(X: f32[N, 4], Y: f32[N]) {
        transient T: f32[N]
        state {
          T[i] = X[i, 1]
          Y[i] += T[i]
        }
      })")));
  EXPECT_EQ(j["entry"], "f");
  const auto& f = j["sdfgs"][0];
  EXPECT_EQ(f["parameters"][0]["text"], "X: f32[N, 4]");
  EXPECT_EQ(f["parameters"][0]["direction"], "in");
  EXPECT_EQ(f["parameters"][1]["direction"], "out");
  EXPECT_EQ(f["containers"][0]["text"], "transient T: f32[N]");
  const auto& state = f["body"][0];
  const auto& first = state["statements"][0];
  EXPECT_EQ(first["kind"], "map");
  EXPECT_EQ(first["ranges"][0]["end"], "N");
  EXPECT_EQ(first["body"][0]["text"], "T[i] = X[i, 1]");
  EXPECT_EQ(first["memlets"][0]["container"], "X");
  EXPECT_EQ(first["memlets"][0]["subset"], nlohmann::json::parse(R"(["0:N", "1:2"])"));
  EXPECT_EQ(state["statements"][1]["memlets"].back()["wcr"], "+=");
  EXPECT_EQ(state["edges"],
            nlohmann::json::parse(R"([{"from": 0, "to": 1, "container": "T", "kind": "read after write"}])"));
}

TEST(ProgramJson, WhatIsNoProgramIsAnError) {
  auto error = [](const std::string& json) {
    Result<Program> p = ProgramFromJson(json, "x.json");
    return p.ok() ? std::string("ok") : p.status().ToString();
  };
  EXPECT_NE(error("{").find("error[E0406]: this is not valid JSON"), std::string::npos);
  EXPECT_NE(error("[]").find("\"format\" is not"), std::string::npos);
  EXPECT_NE(error(R"({"format": "headrace-program", "version": 2})").find("\"version\" is not 1"), std::string::npos);
  EXPECT_NE(error(R"({"format": "headrace-program", "version": 1, "entry": "f"})").find("lacks the list \"sdfgs\""),
            std::string::npos);
  EXPECT_NE(
      error(R"({"format": "headrace-program", "version": 1, "entry": "f", "sdfgs": []})").find("name of the entry"),
      std::string::npos);
  // Whatever is missing or of another type, there is a message and no crash.
  const auto whole = nlohmann::json::parse(ProgramToJson(Parsed(kText)));
  int damaged = 0;
  const auto flat = whole.flatten();
  for (const auto& [key, value] : flat.items()) {
    for (const nlohmann::json& other : {nlohmann::json(), nlohmann::json(7), nlohmann::json::array()}) {
      nlohmann::json copy = whole;
      copy[nlohmann::json::json_pointer(key)] = other;
      (void)error(copy.dump());
      ++damaged;
    }
  }
  EXPECT_GT(damaged, 300);
}

}  // namespace
}  // namespace headrace
