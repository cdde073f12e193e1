#include "driver/progress.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>

#include "driver/output.h"

namespace headrace {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kBetweenRedraws = std::chrono::milliseconds(100);
constexpr auto kBetweenLines = std::chrono::seconds(10);
constexpr size_t kMostInASecond = 10;

bool g_open = false;  // a line stands there that can be redrawn

// Phases of one program come in quick succession, and some of them from other threads.
class Drawing {
 public:
  explicit Drawing(ProgressStyle style) : style_(style) {}

  void Show(const std::string& phase, double done) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Clock::time_point now = Clock::now();
    const bool bar = style_ == ProgressStyle::kBar;
    if (phase == phase_ && now - drawn_ < (bar ? Clock::duration(kBetweenRedraws) : Clock::duration(kBetweenLines)))
      return;
    while (!recent_.empty() && now - recent_.front() >= std::chrono::seconds(1)) recent_.pop_front();
    if (recent_.size() >= kMostInASecond) return;
    recent_.push_back(now);
    const bool first = phase != phase_;
    phase_ = phase, drawn_ = now;
    const int percent = static_cast<int>(100 * std::min(1.0, std::max(0.0, done)));
    if (bar) return ProgressLine(Bar(phase, percent));
    const std::string percents = first && percent == 0 ? "" : " " + std::to_string(percent) + " %";
    fprintf(stderr, "%s%s\n", phase.c_str(), percents.c_str());
  }

 private:
  static std::string Bar(const std::string& phase, int percent) {
    const int width = std::min(30, TerminalColumns() - 22), filled = width * percent / 100;
    char text[32];
    snprintf(text, sizeof text, "%3d%%", percent);
    std::string line = phase + std::string(phase.size() < 12 ? 12 - phase.size() : 0, ' ') + " ";
    if (width > 3) line += "[" + std::string(filled, '=') + std::string(width - filled, ' ') + "] ";
    return line + text;
  }

  const ProgressStyle style_;
  std::mutex mutex_;
  std::string phase_;
  Clock::time_point drawn_;
  std::deque<Clock::time_point> recent_;
};

}  // namespace

std::string FitInto(const std::string& text, int columns) {
  const auto starts = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };  // a character of UTF-8
  if (std::count_if(text.begin(), text.end(), starts) <= columns) return text;
  std::string out;
  int used = 0;
  for (char c : text) {
    if (starts(c) && ++used >= columns) break;
    out += c;
  }
  return out + "…";
}

int TerminalColumns() {
  winsize size = {};
  return ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::function<void(const std::string&, double)> ProgressOf(const Output& o) {
  if (o.progress == ProgressStyle::kNone) return nullptr;
  auto drawing = std::make_shared<Drawing>(o.progress);
  return [drawing](const std::string& phase, double done) { drawing->Show(phase, done); };
}

void ProgressLine(const std::string& text) {
  // The last column stays free: a terminal may begin a new line after it.
  fprintf(stderr, "\r\033[K%s", FitInto(text, TerminalColumns() - 1).c_str());
  fflush(stderr);
  g_open = true;
}

void EndProgress(const Output&) {
  if (!g_open) return;
  fprintf(stderr, "\r\033[K");
  g_open = false;
}

}  // namespace headrace
