// The table of docs/errors.md, which is built into the command.
#pragma once
#include <string>
#include <vector>

namespace headrace {

struct ErrorRow {
  std::string code, title, cause, fix;
};
const std::vector<ErrorRow>& ErrorTable();            // in the order of the page
const ErrorRow* FindErrorRow(const std::string& code);  // "E0540", also "e540" and "540"; null: there is none

}  // namespace headrace
