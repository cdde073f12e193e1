#include "transforms/testing.h"

#include <gtest/gtest.h>

#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"
#include "transforms/passes.h"

namespace headrace::transforms {
namespace {

PrintOptions Plain() {
  PrintOptions o;
  o.origins = false;
  return o;
}

// Parses, verifies, and checks that printing and parsing is the identity.
bool Load(std::string_view text, const char* what, Program* out) {
  Result<Program> p = ParseProgram(text, what);
  if (!p.ok()) {
    ADD_FAILURE() << p.status().ToString();
    return false;
  }
  Status s = Verify(*p);
  if (!s.ok()) {
    ADD_FAILURE() << what << " is not valid:\n" << s.ToString() << "\n" << text;
    return false;
  }
  *out = std::move(*p);
  return true;
}

void ExpectRoundTrip(const Program& p) {
  std::string text = Print(p);
  Result<Program> again = ParseProgram(text, "printed");
  ASSERT_TRUE(again.ok()) << again.status().ToString() << "\n" << text;
  EXPECT_EQ(text, Print(*again));
}

}  // namespace

const Registry& TestRegistry() {
  static const Registry* r = [] {
    auto* reg = new Registry;
    Status s = RegisterAll(*reg);
    HR_CHECK(s.ok(), s.ToString());
    return reg;
  }();
  return *r;
}

std::string Transformed(std::string_view before, const std::string& pipeline, const Registry& r) {
  Program p;
  if (!Load(before, "before", &p)) return "";
  ExpectRoundTrip(p);
  PipelineOptions o;
  o.verify = true;
  Status s = RunPipeline(r, pipeline, p, o);
  if (!s.ok()) {
    ADD_FAILURE() << s.ToString() << "\n" << Print(p, Plain());
    return "";
  }
  ExpectRoundTrip(p);
  return Print(p, Plain());
}

void ExpectPass(std::string_view before, const std::string& pipeline, std::string_view after, const Registry& r) {
  std::string got = Transformed(before, pipeline, r);
  Program expected;
  if (got.empty() || !Load(after, "after", &expected)) return;
  EXPECT_EQ(got, Print(expected, Plain()));
}

void ExpectUnchanged(std::string_view before, const std::string& pipeline, const Registry& r) {
  ExpectPass(before, pipeline, before, r);
}

void ExpectPassError(std::string_view before, const std::string& pipeline, std::string_view text, const Registry& r) {
  Program p;
  if (!Load(before, "before", &p)) return;
  Status s = RunPipeline(r, pipeline, p, {});
  ASSERT_FALSE(s.ok()) << Print(p, Plain());
  EXPECT_NE(s.ToString().find(text), std::string::npos) << s.ToString();
}

}  // namespace headrace::transforms
