// What a person asks to see of the compiler's work, on stderr: HEADRACE_LOG=passes,fusion,cache,recompiles,choice.
#pragma once
#include <string>
#include <vector>

namespace headrace {

enum class LogTopic {
  kPasses,      // every pass: what it took, whether it changed anything
  kFusion,      // every pair of maps that became one
  kCache,       // looking up compiled programs, and why one was not there
  kRecompiles,  // every run of the host compiler
  kChoice,      // the implementation of every library node, and why not those before it
};
const std::vector<std::string>& LogTopics();  // their words, in this order

bool LogsOn(LogTopic t);
void LogAlso(LogTopic t);  // as if HEADRACE_LOG named it
void Log(LogTopic t, const std::string& line);  // "[passes] line", where it was asked for

using LogSink = void (*)(const std::string& line);
// These topics (a bit for each LogTopic) and no others from now on, each line to `sink`; null: to stderr.
void LogTo(unsigned topics, LogSink sink);

}  // namespace headrace
