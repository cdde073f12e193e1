// Fenced blocks of the documents: ```sdfg is a whole program, ```form a pure form.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"

namespace headrace {
namespace {

struct Fence {
  std::string language, text;
  int line;
};

std::vector<Fence> FencesOf(const std::string& path) {
  std::vector<Fence> out;
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.rfind("```", 0) != 0) {
      if (inside) out.back().text += line + "\n";
      continue;
    }
    if (!inside) out.push_back({line.substr(3), "", number});
    inside = !inside;
  }
  return out;
}

std::vector<std::string> Documents() {
  std::vector<std::string> out = {"README.md"};
  for (const auto& file : std::filesystem::directory_iterator("docs"))
    if (file.path().extension() == ".md") out.push_back(file.path().string());
  return out;
}

class DocumentsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(DocumentsTest, SnippetsParseVerifyAndPrint) {
  for (const Fence& fence : FencesOf(GetParam())) {
    SCOPED_TRACE(GetParam() + ":" + std::to_string(fence.line));
    if (fence.language == "sdfg") {
      Result<Program> p = ParseProgram(fence.text);
      ASSERT_TRUE(p.ok()) << p.status().ToString();
      Status verified = Verify(*p);
      EXPECT_TRUE(verified.ok()) << verified.ToString();
      EXPECT_EQ(Print(*ParseProgram(Print(*p))), Print(*p));
    } else if (fence.language == "form") {
      Result<Form> f = ParseForm(fence.text);
      ASSERT_TRUE(f.ok()) << f.status().ToString();
      EXPECT_EQ(Print(*ParseForm(Print(*f))), Print(*f));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Documents, DocumentsTest, ::testing::ValuesIn(Documents()), [](const auto& info) {
  return std::filesystem::path(info.param).stem().string();
});

TEST(NotationTest, HasSnippets) {
  int programs = 0, forms = 0;
  for (const Fence& fence : FencesOf("docs/notation.md")) programs += fence.language == "sdfg", forms += fence.language == "form";
  EXPECT_GE(programs, 3);
  EXPECT_GE(forms, 4);
}

}  // namespace
}  // namespace headrace
