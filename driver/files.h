// What the command writes: text to standard output or a file. A file is there whole or not at all; what can't be written is an
// error with its reason.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "driver/output.h"

namespace headrace {

// "" and "-" are standard output. Missing folders are not made.
Status WriteOut(const std::string& path, const std::vector<std::string_view>& parts);
// What printf left behind: an error when some of it could not be written. Called once, last.
Status CloseStandardOutput();

}  // namespace headrace
