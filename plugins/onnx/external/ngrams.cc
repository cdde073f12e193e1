// TfIdfVectorizer: counts of n-grams of a pool, with gaps up to max_skip_count between their items.
#include <algorithm>
#include <unordered_map>

#include "plugins/onnx/external/call.h"
#include "plugins/onnx/external/expand.h"

namespace onnx_ops::external {
namespace {

std::string KeyOf(const hr_value& x, int64_t i) {
  return x.dtype == HR_STRING ? String(x, i) : std::to_string(ToInt(x, i));
}

}  // namespace

HR_ONNX_FUNCTION(onnx_ngrams) {
  const hr_value& x = call.Tensor("X");
  Shape shape = ShapeOf(x);
  Require(shape.size() == 1 || shape.size() == 2, "TfIdfVectorizer needs the shape [C] or [N, C]");
  const int64_t rows = shape.size() == 2 ? shape[0] : 1, length = shape.back();
  const int64_t least = call.Int("min_gram_length", 1), most = call.Int("max_gram_length", 1),
                skips = call.Int("max_skip_count", 0);
  Require(least >= 1 && least <= most && skips >= 0, "TfIdfVectorizer's gram lengths and skip count are damaged");
  std::vector<std::string> pool = call.StrList("pool_strings");
  if (x.dtype != HR_STRING) {
    Require(pool.empty(), "a pool of strings does not fit input of integers");
    for (int64_t v : call.IntList("pool_int64s")) pool.push_back(std::to_string(v));
  } else {
    Require(call.IntList("pool_int64s").empty(), "a pool of integers does not fit input of strings");
  }
  const std::vector<int64_t> starts = call.IntList("ngram_counts"), columns = call.IntList("ngram_indexes");
  const std::vector<double> weights = call.FloatList("weights");
  const std::string mode = call.Str("mode", "TF");
  Require(mode == "TF" || mode == "IDF" || mode == "TFIDF", "mode must be TF, IDF or TFIDF");
  int64_t width = 0;
  for (int64_t c : columns) {
    Require(c >= 0 && c < 1 << 30, "ngram_indexes holds a damaged index");
    width = std::max(width, c + 1);
  }
  // n-grams of each length: their items' keys, each after its own length → number of the n-gram.
  std::unordered_map<std::string, size_t> grams;
  size_t number = 0;
  for (size_t k = 0; k < starts.size(); ++k) {
    const int64_t n = static_cast<int64_t>(k) + 1, begin = starts[k];
    const int64_t end = k + 1 < starts.size() ? starts[k + 1] : static_cast<int64_t>(pool.size());
    Require(begin >= 0 && begin <= end && end <= static_cast<int64_t>(pool.size()) && (end - begin) % n == 0,
            "ngram_counts does not fit the pool");
    for (int64_t at = begin; at < end; at += n, ++number) {
      std::string key;
      for (int64_t i = 0; i < n; ++i)
        key += std::to_string(pool[static_cast<size_t>(at + i)].size()) + ":" + pool[static_cast<size_t>(at + i)];
      if (n >= least && n <= most) grams.emplace(std::move(key), number);
    }
  }
  Require(number == columns.size(), "ngram_indexes must have one index for each n-gram of the pool");
  Require(weights.empty() || weights.size() == columns.size(),
          "weights must have one weight for each n-gram of the pool");
  Shape out = shape;
  out.back() = width;
  float* y = call.Make<float>("Y", HR_F32, out);
  std::fill(y, y + rows * width, 0.0f);
  std::vector<double> weight(static_cast<size_t>(width), 1);
  for (size_t g = 0; g < weights.size(); ++g) weight[static_cast<size_t>(columns[g])] = weights[g];
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<std::string> keys;
    for (int64_t i = 0; i < length; ++i) {
      const std::string k = KeyOf(x, r * length + i);
      keys.push_back(std::to_string(k.size()) + ":" + k);
    }
    float* row = y + r * width;
    for (int64_t n = least; n <= std::min<int64_t>(most, static_cast<int64_t>(starts.size())); ++n)
      for (int64_t step = 1; step <= (n == 1 ? 1 : std::min(skips + 1, std::max<int64_t>(length, 1))); ++step)
        for (int64_t i = 0; i + (n - 1) * step < length; ++i) {
          std::string key;
          for (int64_t k = 0; k < n; ++k) key += keys[static_cast<size_t>(i + k * step)];
          const auto found = grams.find(key);
          if (found != grams.end()) row[columns[found->second]] += 1;
        }
    for (int64_t c = 0; c < width; ++c) {
      if (mode == "IDF" && row[c] > 0) row[c] = 1;
      if (mode != "TF") row[c] = static_cast<float>(row[c] * weight[static_cast<size_t>(c)]);
    }
  }
}

void RegisterNgrams(Registrar& r) {
  AddFunction(r, "ngrams");
  Add(r, "TfIdfVectorizer", "ngrams");
}

}  // namespace onnx_ops::external
