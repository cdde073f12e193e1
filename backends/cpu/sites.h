// Where the statements of a program came from, as an artifact keeps it: names in one table, statements as rows of numbers.
#pragma once
#include <vector>

#include <nlohmann/json.hpp>

#include "ir/graph/graph.h"

namespace headrace::cpu {

nlohmann::json SitesToJson(const std::vector<Origin>& sites);
std::vector<Origin> SitesFromJson(const nlohmann::json& j);  // throws what the library throws on other JSON

}  // namespace headrace::cpu
