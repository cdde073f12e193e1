// libFuzzer entry of the parser: any bytes are text or an error, and what parses prints the same again.
//   CC=clang bazel build --copt=-fsanitize=fuzzer-no-link,address //ir:parser_fuzz
// The tests run a fixed set of mutations instead (parser_test.cc).
#include <cstdint>
#include <string>

#include "ir/base/status.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headrace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (Result<Program> p = ParseProgram(text); p.ok()) {
    const std::string printed = Print(*p);
    Result<Program> again = ParseProgram(printed);
    HR_CHECK(again.ok(), again.status().ToString());
    HR_CHECK(Print(*again) == printed, printed);
  }
  if (Result<Form> f = ParseForm(text); f.ok()) {
    const std::string printed = Print(*f);
    Result<Form> again = ParseForm(printed);
    HR_CHECK(again.ok(), again.status().ToString());
    HR_CHECK(Print(*again) == printed, printed);
  }
  if (Result<Expr> e = ParseExpr(text); e.ok()) {
    Result<Expr> again = ParseExpr(ToString(*e));
    HR_CHECK(again.ok() && ToString(*again) == ToString(*e), ToString(*e));
  }
  return 0;
}
