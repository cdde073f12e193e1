// For tests and the curious: elaborates a form from text alone.
//   ElaborateText("Y = max(X, 0)", "X: f32[N, 3] -> Y: f32[N, 3]", "alpha = 0.5, axes unset")
// Ports before `->` are inputs. `X: f32 absent` is an optional port that is not there, `T...: f32[2]` one tensor of a variadic
// port, `axes: i64[2] = [0, M]` an input whose elements are known.
#pragma once
#include <string>
#include <string_view>

#include "ir/elaborate/elaborate.h"

namespace headrace {

Result<FormContext> ParseFormContext(std::string_view ports, std::string_view attributes = "");
// The printed SDFG, or the rendered error.
std::string ElaborateText(std::string_view form, std::string_view ports, std::string_view attributes = "");

}  // namespace headrace
