// The lines that errors point at, for the caret: who reports an error has its place, and the text is somewhere else.
#pragma once
#include <string>

#include "ir/base/status.h"

namespace headrace {

// Errors with a line in `file` and without its text get it from `text`.
Status WithSourceLines(Status s, const std::string& file, const std::string& text);
// The same from the files that the errors name, where they can be read and are text.
Status WithSourceLines(Status s);

}  // namespace headrace
