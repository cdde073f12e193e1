// What the text means, and what the messages say when it means nothing.
#include "ir/text/parser.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "ir/text/parser_corpus_for_tests.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

Expr Parsed(const std::string& text) {
  Result<Expr> e = ParseExpr(text);
  EXPECT_TRUE(e.ok()) << e.status().ToString();
  return e.ok() ? *e : Expr();
}

// The first diagnostic of a text that does not parse.
Diagnostic ErrorOf(const std::string& text) {
  Result<Program> p = ParseProgram(text, "model.sdfg");
  EXPECT_FALSE(p.ok()) << text;
  return p.ok() ? Diagnostic() : p.status().diagnostics()[0];
}
Diagnostic BodyError(const std::string& body) {
  return ErrorOf("sdfg f(X: f32[N, M], Y: f32[N], a: f32) {\n" + body + "\n}");
}
Diagnostic FormError(const std::string& text) {
  Result<Form> f = ParseForm(text);
  EXPECT_FALSE(f.ok()) << text;
  return f.ok() ? Diagnostic() : f.status().diagnostics()[0];
}

// ---- expressions ----

TEST(ParserTest, PrecedenceIsThatOfC) {
  EXPECT_EQ(Parsed("a + b * c - d"), Parsed("(a + (b * c)) - d"));
  EXPECT_EQ(Parsed("a || b && c | d ^ e & f == g < h << i + j"),
            Parsed("a || (b && (c | (d ^ (e & (f == (g < (h << (i + j))))))))"));
  EXPECT_EQ(Parsed("a / b // c % d"), Parsed("((a / b) // c) % d"));
  EXPECT_EQ(Parsed("c ? a : d ? b : e"), Parsed("c ? a : (d ? b : e)"));
  EXPECT_EQ(Parsed("-a * !b"), Parsed("(-a) * (!b)"));
  EXPECT_EQ(Parsed("-x[i] ?? 0 + 1"), Parsed("(-(x[i] ?? 0)) + 1"));
  EXPECT_EQ(Parsed("a ?? b ?? 1"), Parsed("a ?? (b ?? 1)"));
  EXPECT_EQ(Parsed("-a[i] ?: b ?: 0 + 1"), Parsed("(-(a[i] ?: (b ?: 0))) + 1"));
}

TEST(ParserTest, ADefaultBelongsToItsRead) {
  Expr e = Parsed("X[i - 1, j] ?? -inf");
  ASSERT_TRUE(e.Is(ExprKind::kRead));
  EXPECT_TRUE(e->has_default);
  EXPECT_EQ(e->args.size(), 3u);
  EXPECT_TRUE(Parsed("pads ?? 0").Is(ExprKind::kGuard));
  EXPECT_TRUE(Parsed("B[o] ?: 0").Is(ExprKind::kAbsent));  // absent and outside are two things
}

TEST(ParserTest, NumbersKeepTheirKindAndRange) {
  EXPECT_EQ(AsInt(Parsed("-9223372036854775808")), INT64_MIN);
  EXPECT_EQ(AsInt(Parsed("0x7f")), 127);
  EXPECT_TRUE(Parsed("1e3").Is(ExprKind::kFloat));
  EXPECT_TRUE(Parsed("-(3)").Is(ExprKind::kUnary));
  for (const char* bad : {"9223372036854775808", "1e400", "3x", "0x", "-99999999999999999999"}) {
    EXPECT_FALSE(ParseExpr(bad).ok()) << bad;
  }
}

TEST(ParserTest, CastsByNameAndByFunction) {
  EXPECT_EQ(Parsed("cast(x, f32)"), Parsed("f32(x)"));
  Expr e = Parsed("sat(x, i8)");
  EXPECT_TRUE(e.Is(ExprKind::kCast) && e->saturate && e->dtype == DType::kI8);
  EXPECT_TRUE(Parsed("cast(x, stash_type)").Is(ExprKind::kCall));
}

TEST(ParserTest, GroupsPlacementAndSlices) {
  Expr e = Parsed("X[o.., k..@axes, 0@(kept), b + k @axis, .., :, 2:n, (at)..]");
  ASSERT_EQ(e->args.size(), 8u);
  const ExprKind kinds[] = {ExprKind::kGroup,    ExprKind::kPlaced, ExprKind::kPlaced, ExprKind::kPlaced,
                            ExprKind::kEllipsis, ExprKind::kColon,  ExprKind::kColon,  ExprKind::kSplice};
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(e->args[i].Is(kinds[i])) << i;
  EXPECT_TRUE(e->args[1]->args[0].Is(ExprKind::kGroup));
  EXPECT_EQ(e->args[3]->args[0], Parsed("b + k"));
}

TEST(ParserTest, ANewLineEndsAStatementOutsideOfBrackets) {
  Result<Form> f = ParseForm("let a = f(x,\n  y) +\n  1\nT = [a,\nb]\n\n(Y) = 1");
  EXPECT_FALSE(f.ok());
  f = ParseForm("let a = f(x,\n  y) +\n  1\nT = [a,\nb] ; Y = 1");
  ASSERT_TRUE(f.ok()) << f.status().ToString();
  EXPECT_EQ(f->statements.size(), 3u);
}

TEST(ParserTest, FormStatementsFillTheTree) {
  Result<Form> f = ParseForm(
      "let rank(o) = axis\nlet g(x, y) = x\nY.flat[i] ?? max= X[i] over p.. in 0:3, Z[i]\neach d in 0:D { Y = d }");
  ASSERT_TRUE(f.ok()) << f.status().ToString();
  EXPECT_EQ(f->statements[0].kind, FormStmt::kLetRank);
  EXPECT_EQ(f->statements[0].name, Name("o"));
  EXPECT_EQ(f->statements[1].parameters.size(), 2u);
  const FormStmt& s = f->statements[2];
  EXPECT_TRUE(s.flat && s.guarded && s.has_index && s.op == WriteOp::kMax);
  ASSERT_EQ(s.over.size(), 2u);
  EXPECT_TRUE(s.over[0].group);
  EXPECT_TRUE(s.over[1].access.Is(ExprKind::kRead));
  EXPECT_EQ(AsInt(f->statements[3].begin), 0);
  EXPECT_EQ(f->statements[3].line, 4);
}

// ---- programs ----

TEST(ParserTest, TheSampleMeansWhatItSays) {
  Result<Program> p = ParseProgram(testing::kPrograms[0]);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  const Sdfg& s = p->Entry();
  EXPECT_EQ(s.parameters.size(), 3u);
  EXPECT_EQ(s.Get("H").kind, ContainerKind::kTransient);
  EXPECT_EQ(s.assumptions.bounds.size(), 1u);
  const State& state = std::get<State>(s.blocks[s.body[0]].control);
  ASSERT_EQ(state.statements.size(), 2u);
  const auto& matmul = std::get<Library>(s.nodes[state.statements[0]].body);
  EXPECT_EQ(matmul.domain, Name("onnx"));
  EXPECT_EQ(matmul.inputs[1].container, Name("W"));
  const auto& map = std::get<Map>(s.nodes[state.statements[1]].body);
  EXPECT_EQ(map.ranges[1].end, Expr(10));
  const auto& relu = std::get<Tasklet>(s.nodes[map.body[0]].body);
  EXPECT_EQ(relu.value, CallExpr("max", {ReadExpr("H", {Expr(Name("i")), Expr(Name("j"))}), Expr(0)}));
}

TEST(ParserTest, BareNamesOfScalarsAreReads) {
  Result<Program> p = ParseProgram("sdfg f(a: f32, Y: f32[N], n: symbol) { map i in 0:N { Y[i] = a + n + i } }");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  const auto& t = std::get<Tasklet>(p->Entry().nodes[NodeId{1}].body);
  EXPECT_EQ(ReadContainers(t.value), std::vector<Name>{"a"});
  EXPECT_EQ(FreeSymbols(t.value), (std::vector<Name>{"i", "n"}));
}

TEST(ParserTest, AStatementOutsideOfMapsMakesItsMap) {
  const std::string head = "sdfg f(A: f32[N, K], B: f32[K, M], C: f32[N, M], I: i64[N], s: f32) {\n";
  auto body = [&](const std::string& statement) {
    Result<Program> p = ParseProgram(head + "let n = N + 1\n" + statement + "\n}");
    if (!p.ok()) return p.status().diagnostics()[0].message;
    const std::string text = Print(*p);
    EXPECT_EQ(text, Print(*ParseProgram(text)));
    const size_t begin = text.find("    ");
    return text.substr(begin + 4, text.find('\n', begin) - begin - 4);
  };
  EXPECT_EQ(body("C[i, j] += A[i, k] * B[k, j]"), "map i in 0:N, j in 0:M, k in 0:K { C[i, j] += A[i, k] * B[k, j] }");
  EXPECT_EQ(body("C[i, j] = 0 from \"x\""), "map i in 0:N, j in 0:M { C[i, j] = 0 from \"x\" }");
  EXPECT_EQ(body("C.flat[p] = s"), "map p in 0:M * N { C.flat[p] = s }");
  EXPECT_EQ(body("s max= A[i, k]"), "map i in 0:N, k in 0:K { s max= A[i, k] }");
  // Data-dependent and shifted indices; guarded reads fix a range only where nothing else does.
  EXPECT_EQ(body("C[I[i], j] += A[i, j] ?? 0"), "map i in 0:N, j in 0:M { C[I[i], j] += A[i, j] ?? 0 }");
  EXPECT_EQ(body("s += A[0, k - 1] ?? A[0, k]"), "map k in 0:K { s += A[0, k - 1] ?? A[0, k] }");
  // Names that are defined are no indices.
  EXPECT_EQ(body("s = n"), "s = n");
  EXPECT_EQ(body("C[n, j] = N"), "map j in 0:M { C[n, j] = N }");
  // What can't be right.
  EXPECT_EQ(body("C[i, j] = A[i, k]"), "'=' with the index 'k' on the right only");
  EXPECT_EQ(body("C[i, j] += A[j, i]"), "index 'i' runs over N and over K");
  EXPECT_EQ(body("C[i, j] += kk"), "nothing defines 'kk'");
  EXPECT_EQ(body("C[i + 1, j] = 0"), "nothing defines 'i'");
}

TEST(ParserTest, TheEntryIsTheFirstUnlessSaid) {
  EXPECT_EQ(ParseProgram("sdfg a() {} sdfg b() {}")->entry, Name("a"));
  EXPECT_EQ(ParseProgram("sdfg a() {} entry sdfg b() {}")->entry, Name("b"));
}

TEST(ParserTest, AttributesHaveTheirTypes) {
  Result<Program> p = ParseProgram(testing::kPrograms[2]);
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  const Attributes& a = std::get<Library>(p->Entry().nodes[NodeId{0}].body).attributes;
  EXPECT_EQ(std::get<std::vector<int64_t>>(FindAttribute(a, "strides")->value), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(std::get<std::vector<double>>(FindAttribute(a, "fs")->value), (std::vector<double>{1, 2}));
  EXPECT_EQ(std::get<double>(FindAttribute(a, "alpha")->value), 0.5);
  EXPECT_EQ(std::get<Name>(FindAttribute(a, "body")->value), Name("inner"));
  EXPECT_EQ(std::get<Tensor>(FindAttribute(a, "t")->value).GetDouble(1), 2);
  EXPECT_TRUE(std::is_sorted(a.begin(), a.end(), [](const auto& x, const auto& y) { return x.first < y.first; }));
}

// ---- messages ----

TEST(ParserTest, ErrorsShowThePlace) {
  Diagnostic d = ErrorOf("sdfg f(Y: f32[N]) {\n  map i in 0:N { Y[i = 1 }\n}");
  EXPECT_EQ(d.file, "model.sdfg");
  EXPECT_EQ(d.line, 2);
  EXPECT_EQ(d.column, 22);
  EXPECT_EQ(d.source_line, "  map i in 0:N { Y[i = 1 }");
  EXPECT_EQ(d.message, "expected ']' after the indices, found '='");
}

struct Case {
  const char *body, *message, *hint;
};

TEST(ParserTest, MessagesSayWhatIsWrongAndWhatToDo) {
  const Case cases[] = {
      {"mpa i in 0:N { Y[i] = 1 }", "expected a statement, found 'mpa'", "did you mean 'map'?"},
      {"transiet T: f32[N]", "expected a statement, found 'transiet'", "did you mean 'transient'?"},
      {"map i in 0:N { Z[i] = 1 }", "there is no container 'Z'", ""},
      {"transient Total: f32\n Totl = 1", "there is no container 'Totl'", "did you mean 'Total'?"},
      {"map i in 0:N { Y[i] = X[i] }", "'X' has 2 dimensions, 1 index is given", ""},
      {"map i in 0:N { Y[i] = X }", "'X' has 2 dimensions: an index is missing", "write X[i, j] inside a map"},
      {"map i in 0:N { Y[i, 0] = 1 }", "'Y' has 1 dimensions, the target has 2 indices", ""},
      {"Y[i + 1] = X[0, 0]", "nothing defines 'i'", "an index needs its map: map i in 0:N { … }"},
      {"map i in 0:NN { Y[i] = 1 }", "nothing defines 'NN'", "did you mean 'N'?"},
      {"map i in 0:N { Y[i] = epx(a) }", "unknown function 'epx'", "did you mean 'exp'?"},
      {"a = pow(a)", "'pow' takes 2 arguments, 1 given", nullptr},
      {"a = cast(a)", "'cast(x)' needs its type here", "write f32(x)"},
      {"map i in 0:N { Y[i] = X[.., i] }", "'..' belongs to pure forms",
       "in IR text every dimension has its own index"},
      {"a -= 1", "expected a statement, found 'a'", ""},
      {"Y[0] -= 1", "expected one of = += *= max= min= after the target, found '-'", "write += with the value negated"},
      {"map i in 0:N { map i in 0:M { Y[i] = 1 } }", "'i' is already the index of a map around this one", ""},
      {"map i in 0:N { if a > 0 { Y[i] = 1 } }", "expected a statement, found 'if'",
       "inside a map write `condition ? a : b`, or a map"},
      {"state { transient T: f32 }", "expected a statement, found 'transient'",
       "declare containers in the body of the sdfg, outside of states"},
      {"a = 1 a = 2", "expected a new line or ';' after the statement, found 'a'", ""},
      {"transient T: f23[N]", "unknown element type 'f23'", nullptr},
      {"transient T: f32[K]", "nothing defines 'K'", nullptr},
      {"transient T: f32[a]", "a size does not read containers ('a')", "name the value first: let n = …"},
      {"transient T: f32 @regster", "unknown storage 'regster'", "did you mean 'register'?"},
      {"transient X: f32", "there is already a container 'X' in this sdfg", ""},
      {"constant K: i8[2] = [1, 128]", "the number 128 does not fit in i8", ""},
      {"constant K: u8 = -1", "the number -1 does not fit in u8", ""},
      {"constant K: f16 = 1e6", "the number '1e6' does not fit in f16", ""},
      {"constant K: i8[3] = [1, 2]", "the constant has 3 elements by its sizes, 2 are given", ""},
      {"constant K: f32[1000000, 1000000] = fill(0)", "this constant is too large to fill", ""},
      {"constant K: f32 = file(\"w.bin\")", "the constant's file \"w.bin\" can't be opened: No such file or directory",
       ""},
      {"view V: f32 of Q", "there is no container 'Q'", ""},
      {"call g(x = X)", "there is no sdfg 'g' in this text", ""},
      {"onnx.Relu(X = X) -> (Y = Z)", "there is no container 'Z'", ""},
      {"onnx.Relu{a = 1, a = 2}(X = X)", "a second attribute 'a'", ""},
      {"for t in 0:N:0 { a = 1 }", "a loop's step is not zero", ""},
      {"for t = 0; t < 3; u = 1 { a = 1 }", "a loop updates its own variable: expected 't = …', found 'u'", ""},
      {"a = \"text\"", "a string is no value here", ""},
      {"a = \"text", "this string has no closing quote on its line", ""},
      {"a = 1 $ 2", "unexpected character '$'", ""},
      {"assume 1 <= N\nassume N <= 4", "a second assumption about 'N'", "join them: lowest <= name <= highest"},
      {"a = 1(2)", "only a function's name can be called", "write an operator before '(' if you meant a product"},
  };
  for (const Case& c : cases) {
    Diagnostic d = BodyError(c.body);
    EXPECT_EQ(d.message, c.message) << c.body;
    if (c.hint) { EXPECT_EQ(d.hint, c.hint) << c.body; }
    EXPECT_GE(d.line, 2) << c.body;
  }
}

TEST(ParserTest, FormMessages) {
  EXPECT_EQ(FormError("lte x = 1").hint, "did you mean 'let'?");
  EXPECT_EQ(FormError("Y = X over 3").message, "expected 'index in begin:end' or a tensor after 'over'");
  EXPECT_EQ(FormError("if a { Y = 1").message, "expected '}' to close the block, found the end of the text");
  EXPECT_EQ(FormError("Y = ").message, "expected an expression, found the end of the text");
  EXPECT_EQ(FormError("Y = 1 }").message, "unexpected '}' after the end of the expression");
}

// ---- files beside the text ----

class FileConstantTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/constantsXXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const float values[] = {1, 2, 3, 4};
    Write(folder_ + "/weights.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
    ASSERT_EQ(mkdir((folder_ + "/sub").c_str(), 0700), 0);
    Write(folder_ + "/sub/w.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
    ASSERT_EQ(symlink("weights.bin", (folder_ + "/link.bin").c_str()), 0);
    ASSERT_EQ(symlink("/etc", (folder_ + "/etc").c_str()), 0);
  }
  static void Write(const std::string& path, const std::string& bytes) {
    FILE* f = fopen(path.c_str(), "wb");
    ASSERT_NE(f, nullptr);
    fwrite(bytes.data(), 1, bytes.size(), f);
    fclose(f);
  }
  Result<Program> Parse(const std::string& file) {
    return ParseProgram("sdfg f() { constant W: f32[2] = " + file + " }", folder_ + "/model.sdfg");
  }
  std::string folder_;
};

TEST_F(FileConstantTest, ReadsFromTheOffset) {
  Result<Program> p = Parse("file(\"weights.bin\", 4)");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  EXPECT_EQ(p->Entry().Get("W").data.GetDouble(0), 2);
  EXPECT_EQ(p->Entry().Get("W").data.GetDouble(1), 3);
  EXPECT_TRUE(Parse("file(\"sub/w.bin\")").ok());
}

TEST_F(FileConstantTest, StaysInTheFolder) {
  for (const char* bad :
       {"file(\"/etc/passwd\")", "file(\"../weights.bin\")", "file(\"sub/../weights.bin\")", "file(\"link.bin\")",
        "file(\"etc/passwd\")", "file(\"weights.bin\", 12)", "file(\"weights.bin\", -4)", "file(\"sub\")", "file(\"\")",
        "file(\"sub//w.bin\")", "file(\"none.bin\")"}) {
    EXPECT_FALSE(Parse(bad).ok()) << bad;
  }
  ASSERT_EQ(link((folder_ + "/weights.bin").c_str(), (folder_ + "/second.bin").c_str()), 0);
  EXPECT_FALSE(Parse("file(\"weights.bin\")").ok()) << "a file with two names may be someone else's";
}

TEST(ParserTest, ASizeAndAContainerHaveTwoNames) {
  for (const char* text : {"sdfg f(N: f32[N], Y: f32[N]) {}", "sdfg f(X: f32[Y], Y: f32[4]) {}",
                           "sdfg f(N: f32[4], Y: f32[N]) {}", "sdfg f(X: f32[N]) { transient N: f32 }"}) {
    const Diagnostic d = ErrorOf(text);
    EXPECT_NE(d.message.find("a size and a container are both named '"), std::string::npos)
        << text << ": " << d.message;
    EXPECT_EQ(d.hint, "rename one of them");
  }
}

TEST(ParserTest, ATextWithoutAFileReadsNone) {
  Result<Program> p = ParseProgram("sdfg f() { constant W: f32[2] = file(\"weights.bin\") }");
  ASSERT_FALSE(p.ok());
  EXPECT_EQ(p.status().message(), "a text that does not come from a file can't name files beside it");
}

// ---- hostile text ----

TEST(ParserTest, DeepNestingIsAnError) {
  const std::string open(100000, '('), minus(100000, '-'), brackets(100000, '[');
  std::string sum = "1", chain = "x", blocks;
  for (int i = 0; i < 100000; ++i) sum += "+1";
  for (int i = 0; i < 100000; ++i) chain += "[0]";
  for (int i = 0; i < 100000; ++i) blocks += "loop {";
  for (const std::string& text : {open, minus, brackets, sum, chain, "a ? " + sum + " : b"}) {
    Result<Expr> e = ParseExpr(text);
    ASSERT_FALSE(e.ok());
    EXPECT_NE(e.status().message().find("levels deep"), std::string::npos) << e.status().message();
  }
  EXPECT_NE(BodyError(blocks).message.find("levels deep"), std::string::npos);
  EXPECT_NE(BodyError("constant K: f32[1] = " + brackets).message.find("levels deep"), std::string::npos);
  EXPECT_TRUE(ParseExpr(sum.substr(0, 1801)).ok()) << "a sum of 900 terms is no deep nesting";
}

// Mutations of valid texts: they parse or they don't, and what parses prints the same again.
TEST(ParserTest, MutatedTextsNeverBreakIt) {
  std::mt19937 random(7);
  auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  const std::string pieces[] = {"(",
                                ")",
                                "[",
                                "]",
                                "{",
                                "}",
                                "??",
                                "?:",
                                "require ",
                                "..",
                                "@",
                                ":",
                                "in ",
                                "map ",
                                "state ",
                                "`",
                                "\"",
                                "\n",
                                "0",
                                "-",
                                "1e9999",
                                "99999999999999999999",
                                "let ",
                                "if ",
                                "else ",
                                ".flat",
                                "max=",
                                "\xff",
                                "\xe2\x80\xa6",
                                "f32"};
  int parsed = 0;
  for (int round = 0; round < 6000; ++round) {
    const bool form = round % 2;
    std::string text = form ? testing::kForms[below(std::size(testing::kForms))]
                            : testing::kPrograms[below(std::size(testing::kPrograms))];
    for (size_t n = 1 + below(4); n > 0; --n) {
      const size_t at = below(text.size()), length = below(8);
      switch (below(4)) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, pieces[below(std::size(pieces))]); break;
        case 2: text.insert(at, text.substr(below(text.size()), length)); break;
        default: text[at < text.size() ? at : 0] = static_cast<char>(random());
      }
      if (text.empty()) text = " ";
    }
    if (form) {
      Result<Form> f = ParseForm(text);
      if (!f.ok()) continue;
      const std::string printed = Print(*f);
      Result<Form> again = ParseForm(printed);
      ASSERT_TRUE(again.ok()) << text << "\n" << printed << again.status().ToString();
      ASSERT_EQ(Print(*again), printed) << text;
    } else {
      Result<Program> p = ParseProgram(text);
      if (!p.ok()) continue;
      const std::string printed = Print(*p);
      Result<Program> again = ParseProgram(printed);
      ASSERT_TRUE(again.ok()) << text << "\n" << printed << again.status().ToString();
      ASSERT_EQ(Print(*again), printed) << text;
    }
    ++parsed;
  }
  EXPECT_GT(parsed, 300);
}

std::string Lines(const std::string& text) {
  std::string lines;
  const Status status = ParseProgram(text, "f.sdfg").status();
  for (const Diagnostic& d : status.diagnostics())
    lines += std::to_string(d.line) + ":" + std::to_string(d.column) + " " + d.message + "\n";
  return lines;
}

TEST(ParserErrors, EveryStatementHasItsOwn) {
  EXPECT_EQ(Lines(R"(sdfg f(X: f32[N], Y: f32[N]) {
  transient T: f33[N]
  map i in 0:N { T[i] = X[i] }
  map i in 0:N { Y[i] = Q[i]; Y[i] = sine(X[i]) }
  for t in 0:3 {
    Y[0] = = 1
    Y[1, 2] = 3
  }
  Y[i] = X[i]
})"),
            "2:16 unknown element type 'f33'\n"
            "4:25 there is no container 'Q'\n"
            "4:38 unknown function 'sine'\n"
            "6:12 expected an expression, found '='\n"
            "7:5 'Y' has 1 dimensions, the target has 2 indices\n");
  std::string many = "sdfg f(Y: f32) {\n";
  for (int i = 0; i < 30; ++i) many += "Y = ]\n";
  EXPECT_EQ(ParseProgram(many + "}").status().diagnostics().size(), 20u);
}

// What was read from text says where; errors of the verifier show it.
TEST(Places, OfNodesBlocksAndContainers) {
  Result<Program> p = ParseProgram("sdfg f(X: f32[N], Y: f32[N]) {\n  Y[i] = X[i]\n  if N > 1 { Y[0] = 1 }\n}", "f.sdfg");
  ASSERT_TRUE(p.ok()) << p.status().ToString();
  const Sdfg& s = p->Entry();
  std::string places;
  auto add = [&](const char* what, const Origin& o) {
    places += std::string(what) + " " + o.file().str() + ":" + std::to_string(o.line()) + ":" + std::to_string(o.column()) + "\n";
  };
  add("X", s.Get("X").origin);
  ForEachNode(s, [&](NodeId n) { add("node", s.nodes[n].origin); });
  add("if", s.blocks[s.body[1]].origin);
  EXPECT_EQ(places,
            "X f.sdfg:1:8\nnode f.sdfg:2:3\nnode f.sdfg:2:3\nnode f.sdfg:3:14\nif f.sdfg:3:3\n");
}

}  // namespace
}  // namespace headrace
