// "Did you mean": what every message with an unknown name offers.
#pragma once
#include <string>
#include <vector>

namespace headrace {

// The candidate closest to `word` in spelling, "" when none is close.
std::string ClosestWord(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace headrace
