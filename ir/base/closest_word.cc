#include "ir/base/closest_word.h"

#include <algorithm>

namespace headrace {

// Edit distance with transpositions, ignoring case; a candidate is close at up to a third of the word's length.
std::string ClosestWord(const std::string& word, const std::vector<std::string>& candidates) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& c : candidates) {
    if (c.size() > 200 || word.size() > 200) continue;
    std::vector<std::vector<size_t>> d(word.size() + 1, std::vector<size_t>(c.size() + 1));
    for (size_t i = 0; i <= word.size(); ++i) d[i][0] = i;
    for (size_t j = 0; j <= c.size(); ++j) d[0][j] = j;
    for (size_t i = 1; i <= word.size(); ++i)
      for (size_t j = 1; j <= c.size(); ++j) {
        bool same = lower(word[i - 1]) == lower(c[j - 1]);
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
        if (i > 1 && j > 1 && lower(word[i - 1]) == lower(c[j - 2]) && lower(word[i - 2]) == lower(c[j - 1]))
          d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    if (d[word.size()][c.size()] < best_distance) {
      best_distance = d[word.size()][c.size()];
      best = c;
    }
  }
  return best;
}

}  // namespace headrace
