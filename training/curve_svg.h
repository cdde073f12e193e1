// The picture of a training run: loss (smoothed, the raw one behind it), validation loss, and accuracy on an axis of its own.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace headrace::training {

using Points = std::vector<std::pair<int64_t, double>>;  // (step, value), steps rising; NaN and infinities are gaps

// An SVG of a few KB however many the points, readable on light and dark pages.
std::string CurveSvg(const Points& losses, const Points& validation, const Points& accuracy);

// Round numbers (1, 2 or 5 times a power of ten apart), at least two, from at or below `low` to at or above `high`.
std::vector<double> RoundTicks(double low, double high, int most);

}  // namespace headrace::training
