// What is shown while work goes on, on stderr: a bar that is redrawn on a terminal, or lines now and then. At most ten
// updates a second, never wider than the terminal is at that moment.
#pragma once
#include <functional>
#include <string>

namespace headrace {

enum class ProgressStyle { kNone, kBar, kLines };
struct Output;

// For CompileOptions::progress: a phase and how much of it is done (0 to 1). Null where nothing is shown.
std::function<void(const std::string&, double)> ProgressOf(const Output& o);
void ProgressLine(const std::string& text);  // on a terminal: in place of the line that stands there
void EndProgress(const Output& o);           // the line goes away

// `text` in at most `columns` places, cut between characters and marked as cut.
std::string FitInto(const std::string& text, int columns);
int TerminalColumns();  // of stderr, asked each time; 80 where it is none

}  // namespace headrace
