// Values of a device's numbers that are tried. Which of them matter to a kernel shows where its schedule becomes another one.
#include <algorithm>

#include "driver/tune/search.h"

namespace headrace::tune {
namespace {

struct Values {
  const char* number;
  std::vector<int64_t> values;  // the likely ones first
};

const std::vector<Values>& AllValues() {
  static const auto* const kValues = new std::vector<Values>{
      // products
      {"tile-rows", {8, 6, 10, 14, 4, 16}},
      {"tile-vectors", {1, 3, 4, 2}},
      {"block-depth", {512, 256, 2048, 128}},
      {"block-rows", {256, 1024, 128, 2048}},
      {"block-rows-turned", {384, 1536, 192}},
      {"block-columns", {256, 64, 512, 32}},
      {"block-columns-packed", {512, 256, 2048, 128}},
      {"block-depth-packed", {256, 1024, 128}},
      {"packed-rows", {64, 256, 1}},
      {"register-square", {8, 1}},
      {"prefetch-elements", {1000000000, 65536}},
      {"product-parts", {2, 1, 8, 16}},
      {"product-part", {32, 128, 16}},
      {"few-columns", {4, 16, 32, 1}},
      {"along-results", {1, 1024}},
      {"tile-operations", {4, 64}},
      // convolutions whose channels lie innermost
      {"point-rows", {12, 10, 8, 6, 16, 7}},
      {"columns-span", {128, 512, 64}},
      {"point-terms", {576, 2304, 288}},
      {"panel-elements", {49152, 196608, 24576}},
      {"strip-elements", {32768, 131072, 16384}},
      {"strip-points", {56, 224, 28}},
      {"winograd-gain", {99, 1}},
      {"winograd-elements", {131072, 32768}},
      {"winograd-tiles", {48, 12}},
      {"winograd-span", {128, 32}},
      {"window-rows", {4, 8, 3, 2}},
      {"window-vectors", {1, 4}},
      {"window-border-vectors", {2, 8, 1}},
      {"window-terms", {16, 1024}},
      // all others
      {"chunk-operations", {262144, 16384, 1048576}},
      {"row-elements", {16384, 1024, 65536}},
      {"sum-elements", {128, 512, 64, 1024, 32}},
      {"short-sum", {8, 32, 4, 64}},
      {"short-partial-bytes", {64, 128, 16}},
      {"partial-bytes", {128, 32, 256}},
      {"long-partial-bytes", {256, 64, 512}},
      {"transpose-elements", {32, 8, 64}},
      {"few-results", {1, 512, 8192, 65536}},
      {"most-parts", {16, 4, 256}},
      {"most-choices", {1}},
      {"short-row", {3, 8, 2}},
      {"cache-stride", {512, 4096}},
      {"square-elements", {1, 16, 64}},
      {"vector-bytes", {32, 64, 16}},
  };
  return *kValues;
}

}  // namespace

const std::vector<Candidate>& Candidates() {
  static const auto* const kAll = [] {
    auto* all = new std::vector<Candidate>;
    size_t most = 0;
    for (const Values& v : AllValues()) most = std::max(most, v.values.size());
    for (size_t k = 0; k < most; ++k)
      for (const Values& v : AllValues())
        if (k < v.values.size()) all->push_back({v.number, v.values[k]});
    return all;
  }();
  return *kAll;
}

}  // namespace headrace::tune
