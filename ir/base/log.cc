#include "ir/base/log.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace headrace {
namespace {

std::atomic<unsigned>& Topics() {
  static std::atomic<unsigned> topics = [] {
    unsigned on = 0;
    const char* asked = std::getenv("HEADRACE_LOG");
    std::stringstream words(asked ? asked : "");
    for (std::string word; std::getline(words, word, ',');)
      for (size_t i = 0; i < LogTopics().size(); ++i)
        if (word == LogTopics()[i]) on |= 1u << i;
    return on;
  }();
  return topics;
}

std::atomic<LogSink>& Sink() {
  static std::atomic<LogSink> sink{nullptr};
  return sink;
}

}  // namespace

void LogTo(unsigned topics, LogSink sink) {
  Sink() = sink;
  Topics() = topics;
}

const std::vector<std::string>& LogTopics() {
  static const auto* const kWords =
      new std::vector<std::string>{"passes", "fusion", "cache", "recompiles", "choice"};
  return *kWords;
}

bool LogsOn(LogTopic t) { return Topics().load(std::memory_order_relaxed) >> static_cast<int>(t) & 1; }
void LogAlso(LogTopic t) { Topics() |= 1u << static_cast<int>(t); }

void Log(LogTopic t, const std::string& line) {
  if (!LogsOn(t)) return;
  const std::string text = "[" + LogTopics()[static_cast<size_t>(t)] + "] " + line + "\n";
  if (const LogSink sink = Sink()) return sink(text);
  std::fputs(text.c_str(), stderr);  // in one call: lines of several threads don't mix
}

}  // namespace headrace
