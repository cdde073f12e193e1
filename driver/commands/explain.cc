// headrace explain: cause and fix of an error by its code.
#include "driver/commands/commands.h"
#include "driver/error_table.h"

namespace headrace {
namespace {

nlohmann::json ToJson(const ErrorRow& row) {
  return {{"code", row.code}, {"title", row.title}, {"cause", row.cause}, {"fix", row.fix}};
}

int Explain(const std::vector<std::string>& codes, const Output& out) {
  std::vector<const ErrorRow*> rows;
  std::vector<Diagnostic> unknown;
  for (const std::string& code : codes) {
    if (const ErrorRow* row = FindErrorRow(code)) {
      rows.push_back(row);
      continue;
    }
    std::vector<std::string> known;
    for (const ErrorRow& row : ErrorTable()) known.push_back(row.code);
    const std::string close = ClosestWord(code, known);
    Diagnostic d;
    d.kind = ErrorKind::kUsage;
    d.code = "E0450";
    d.message = "there is no error '" + code + "'";
    d.hint = close.empty() ? "`headrace explain` lists all" : "did you mean " + close + "?";
    unknown.push_back(std::move(d));
  }
  if (!unknown.empty()) return Fail(out, Status(unknown));
  if (codes.empty())
    for (const ErrorRow& row : ErrorTable()) rows.push_back(&row);
  if (out.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const ErrorRow* row : rows) all.push_back(ToJson(*row));
    PrintJson(all);
    return kExitOk;
  }
  for (const ErrorRow* row : rows) {
    if (codes.empty()) printf("%s  %s\n", row->code.c_str(), row->title.c_str());
    else printf("%s: %s\n  cause: %s\n  fix: %s\n", row->code.c_str(), row->title.c_str(), row->cause.c_str(),
                row->fix.c_str());
  }
  return kExitOk;
}

}  // namespace

Runner AddExplain(CLI::App& app, Common& c) {
  auto codes = std::make_shared<std::vector<std::string>>();
  app.add_option("CODE", *codes, "an error's code, such as E0540 (several; none: lists all)");
  return [codes, &c] { return Explain(*codes, c.out); };
}

}  // namespace headrace
