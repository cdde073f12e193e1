#include "backends/cpu/sites.h"

#include <map>
#include <string>

namespace headrace::cpu {

nlohmann::json SitesToJson(const std::vector<Origin>& sites) {
  std::vector<std::string> names = {""};
  std::map<Name, int> at = {{Name(), 0}};
  auto index = [&](Name n) {
    const auto [it, fresh] = at.emplace(n, static_cast<int>(names.size()));
    if (fresh) names.push_back(n.str());
    return it->second;
  };
  nlohmann::json rows = nlohmann::json::array();
  for (const Origin& o : sites) rows.push_back({index(o.Label()), index(o.op()), index(o.file()), o.line(), o.column()});
  return {{"names", names}, {"rows", rows}};
}

std::vector<Origin> SitesFromJson(const nlohmann::json& j) {
  std::vector<Name> names;
  for (const auto& n : j.at("names")) names.emplace_back(n.get<std::string>());
  std::vector<Origin> out;
  for (const auto& row : j.at("rows")) {
    auto name = [&](size_t k) { return names.at(row.at(k).get<size_t>()); };
    out.push_back(Origin(name(0)).WithOp(name(1)).At(name(2), row.at(3).get<int>(), row.at(4).get<int>()));
  }
  return out;
}

}  // namespace headrace::cpu
