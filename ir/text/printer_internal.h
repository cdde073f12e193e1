// Shared by the printer's files. Not for other rooms.
#pragma once
#include <string>

#include "ir/base/value.h"

namespace headrace::internal {

// A constant's value as the parser reads it: a number, nested lists, or `fill(v)` when every element is the same. Lines
// after the first start with `indent` spaces.
std::string DataText(const Tensor& t, int indent);
std::string DoubleText(double v);  // an attribute's value; unusual NaNs keep their bits

}  // namespace headrace::internal
