#include "driver/error_table.h"

#include <cctype>

namespace headrace {
namespace {

const char kPage[] =
#include "driver/errors_page.inc"
    ;

std::vector<ErrorRow> Parse(const std::string& page) {
  std::vector<ErrorRow> rows;
  for (size_t at = 0, end; at < page.size(); at = end + 1) {
    end = page.find('\n', at);
    if (end == std::string::npos) end = page.size();
    const std::string line = page.substr(at, end - at);
    if (line.rfind("| E0", 0) != 0) continue;
    std::string cells[4];
    size_t from = 2;
    for (std::string& cell : cells) {
      const size_t bar = line.find(" |", from);
      if (bar == std::string::npos) break;
      cell = line.substr(from, bar - from);
      from = bar + 3;
    }
    rows.push_back({cells[0], cells[1], cells[2], cells[3]});
  }
  return rows;
}

}  // namespace

const std::vector<ErrorRow>& ErrorTable() {
  static const auto* const kRows = new std::vector<ErrorRow>(Parse(kPage));
  return *kRows;
}

const ErrorRow* FindErrorRow(const std::string& code) {
  std::string digits = code;
  if (!digits.empty() && std::toupper(static_cast<unsigned char>(digits[0])) == 'E') digits.erase(0, 1);
  if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
  for (const ErrorRow& row : ErrorTable())
    if (row.code == "E" + digits) return &row;
  return nullptr;
}

}  // namespace headrace
