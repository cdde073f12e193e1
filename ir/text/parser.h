// Text → programs, forms and expressions. One lexer and one expression grammar serve all three (docs/notation.md).
// Errors carry line, column and the source line (caret), and a "did you mean" where a name is close.
#pragma once
#include <string>
#include <string_view>

#include "ir/graph/graph.h"
#include "ir/text/form.h"

namespace headrace {

Result<Program> ParseProgram(std::string_view text, const std::string& file = "<text>");
Result<Form> ParseForm(std::string_view text, const std::string& what = "<form>");
Result<Expr> ParseExpr(std::string_view text);  // e.g. a symbolic dim "2*N + 1"

}  // namespace headrace
