// Places as text, single steps through pipelines, steps from a function that asks.
#include "ir/registry/transformation.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

constexpr char kText[] = R"(sdfg f(X: f32[N], Y: f32[N]) {
  transient `a b`: f32[N]
  for t in 0:2 {
    state {
      map i in 0:N {
        `a b`[i] = X[i]
      }
      map i in 0:N { Y[i] = `a b`[i] }
    }
  }
}

sdfg g(X: f32) {
  state { X[] = 1 }
}
)";

Program Parsed(const std::string& text = kText) {
  Result<Program> p = ParseProgram(text);
  HR_CHECK(p.ok(), p.status().ToString());
  return *p;
}

// Doubles the constant that a tasklet assigns: 1 becomes 2, 2 becomes 4; those of 8 and more are left.
Result<bool> Double(Program& p, const PassOptions&, const Registry&, const Ask& ask) {
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    Sdfg& s = p.Mutable(p.sdfgs[i]->name);
    for (uint32_t n = 0; n < s.nodes.size(); ++n) {
      auto* t = std::get_if<Tasklet>(&s.nodes[NodeId{n}].body);
      const auto value = t ? AsInt(t->value) : std::nullopt;
      if (!value || !ask(Match{s.name, {NodeId{n}}, {}, {}, *value < 8 ? "" : "large", *value < 8})) continue;
      std::get<Tasklet>(s.nodes.Mutable(NodeId{n}).body).value = IntExpr(2 * *value);
      changed = true;
    }
  }
  return changed;
}

std::string Text(const Program& p) {
  std::string text = Print(p);
  return text;
}

TEST(Transformation, NumbersStandInTheOrderOfTheText) {
  PrintOptions o;
  o.ids = true;
  EXPECT_EQ(Print(Parsed(), o), R"(sdfg f(X: f32[N], Y: f32[N]) {
  transient `a b`: f32[N]
  for t in 0:2 {  #b0
    state {  #b1
      map i in 0:N {  #0
        `a b`[i] = X[i]  #1
      }
      map i in 0:N {  #2
        Y[i] = `a b`[i]  #3
      }
    }
  }
}

sdfg g(X: f32) {
  state {  #b0
    X = 1  #0
  }
}
)");
  EXPECT_EQ(Print(Parsed(Print(Parsed(), o))), Print(Parsed()));  // they are comments
}

TEST(Transformation, RemovedStatementsHaveNoNumber) {
  Program p = Parsed();
  Sdfg& s = p.MutableEntry();
  s.nodes.Mutable(NodeId{0}).body = std::monostate{};
  EXPECT_FALSE(ParsePlace(p, "#0").ok());
  const std::string before = Print(p);
  Renumber(&s);
  EXPECT_EQ(Print(p), before);
  EXPECT_EQ(s.nodes.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Map>(s.nodes[NodeId{0}].body));
}

TEST(Transformation, PlacesAreText) {
  const Program p = Parsed();
  for (const std::string text : {"#0+#2", "#b1", "`a b`", "X+#3", "g:#0", "g:#b0"}) {
    Result<Match> m = ParsePlace(p, text);
    ASSERT_TRUE(m.ok()) << text << m.status().ToString();
    EXPECT_EQ(PlaceText(p, *m), text == "X+#3" ? "#3+X" : text);
  }
  for (const std::string text : {"", "#", "#9", "#b7", "#99999999999", "Z", "h:#0", "#0+", "#0 +#1", "#0,#1", "g:Y", "#-1", "`"}) {
    Result<Match> m = ParsePlace(p, text);
    ASSERT_FALSE(m.ok()) << text;
    EXPECT_EQ(m.status().diagnostics()[0].code, "E0366") << text;
  }
}

TEST(Transformation, OneStepOrAllThatAreAdvised) {
  const std::string text = "sdfg f(A: f32, B: f32, C: f32) {\n  state {\n    A = 1\n    B = 3\n    C = 9\n  }\n}\n";
  Registry r;
  ASSERT_TRUE(r.Add(FromSteps("double", "doubles constants", {}, Double)).ok());
  const Transformation* t = r.FindTransformation("double");
  ASSERT_TRUE(t);
  const Program p = Parsed(text);
  auto found = t->find(p, {}, r);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ(PlaceText(p, (*found)[1]), "#1");
  EXPECT_FALSE((*found)[2].advised);
  EXPECT_EQ(Text(p), text);  // finding changes nothing

  Program one = p;
  ASSERT_TRUE(RunPipeline(r, "double@#1; double@#2", one, {}).ok());
  EXPECT_NE(Text(one).find("A = 1\n    B = 6\n    C = 18"), std::string::npos) << Text(one);
  Program all = p;
  ASSERT_TRUE(RunPipeline(r, "double", all, {}).ok());
  EXPECT_NE(Text(all).find("A = 2\n    B = 6\n    C = 9"), std::string::npos) << Text(all);
}

// Without a pass of its own, a transformation is applied while a match is advised.
TEST(Transformation, FoundAndAppliedUntilNoneIsLeft) {
  Registry r;
  Transformation t = FromSteps("double", "doubles constants", {}, Double);
  t.run = nullptr;
  ASSERT_TRUE(r.Add(std::move(t)).ok());
  Program p = Parsed("sdfg f(A: f32, B: f32) {\n  state {\n    A = 1\n    B = 3\n  }\n}\n");
  ASSERT_TRUE(RunPipeline(r, "double", p, {}).ok());
  EXPECT_NE(Text(p).find("A = 8\n    B = 12"), std::string::npos) << Text(p);
}

TEST(Transformation, WhatCantBeAppliedSaysWhereItCould) {
  Registry r;
  ASSERT_TRUE(r.Add(FromSteps("double", "doubles constants", {}, Double)).ok());
  Pass whole;
  whole.name = "whole";
  whole.run = [](Program&, const PassOptions&, const Registry&) -> Result<bool> { return false; };
  ASSERT_TRUE(r.Add(whole).ok());
  EXPECT_FALSE(r.Add(FromSteps("double", "again", {}, Double)).ok());
  Program p = Parsed("sdfg f(A: f32, B: f32) {\n  state {\n    A = 1\n    B = A\n  }\n}\n");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"double@#1", "E0367"}, {"double@#0+#1", "there it can: #0"}, {"double@#7", "no statement of that number"},
      {"double@", "expected a place"}, {"whole@#0", "E0368"}, {"doubel@#0", "did you mean 'double'"}};
  for (const auto& [pipeline, message] : cases) {
    const Status s = RunPipeline(r, pipeline, p, {});
    ASSERT_FALSE(s.ok()) << pipeline;
    EXPECT_NE(s.ToString().find(message), std::string::npos) << s.ToString();
  }
}

}  // namespace
}  // namespace headrace
