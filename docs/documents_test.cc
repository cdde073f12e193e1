// Fenced blocks of the documents: ```sdfg is a whole program, ```form a pure form.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verify.h"

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

TEST(DocumentsTest, NotationParsesVerifiesAndPrints) {
  int programs = 0, forms = 0;
  for (const Fence& fence : FencesOf("docs/notation.md")) {
    SCOPED_TRACE("docs/notation.md:" + std::to_string(fence.line));
    if (fence.language == "sdfg") {
      Result<Program> p = ParseProgram(fence.text);
      ASSERT_TRUE(p.ok()) << p.status().ToString();
      Status verified = Verify(*p);
      EXPECT_TRUE(verified.ok()) << verified.ToString();
      EXPECT_EQ(Print(*ParseProgram(Print(*p))), Print(*p));
      ++programs;
    } else if (fence.language == "form") {
      Result<Form> f = ParseForm(fence.text);
      ASSERT_TRUE(f.ok()) << f.status().ToString();
      EXPECT_EQ(Print(*ParseForm(Print(*f))), Print(*f));
      ++forms;
    }
  }
  EXPECT_GE(programs, 3);
  EXPECT_GE(forms, 4);
}

}  // namespace
}  // namespace headrace
