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
  for (const Origin& o : sites) rows.push_back({index(o.source), index(o.op), index(o.file), o.line, o.column});
  return {{"names", names}, {"rows", rows}};
}

std::vector<Origin> SitesFromJson(const nlohmann::json& j) {
  std::vector<Name> names;
  for (const auto& n : j.at("names")) names.emplace_back(n.get<std::string>());
  std::vector<Origin> out;
  for (const auto& row : j.at("rows")) {
    Origin o;
    o.source = names.at(row.at(0).get<size_t>());
    o.op = names.at(row.at(1).get<size_t>());
    o.file = names.at(row.at(2).get<size_t>());
    o.line = row.at(3).get<int>();
    o.column = row.at(4).get<int>();
    out.push_back(o);
  }
  return out;
}

}  // namespace headrace::cpu
