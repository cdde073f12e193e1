#include "driver/source_lines.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace headrace {
namespace {

constexpr off_t kLargestText = 64 << 20;

std::string Line(const std::string& text, int number) {
  size_t begin = 0;
  for (int i = 1; i < number; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return "";
    ++begin;
  }
  std::string line = text.substr(begin, text.find('\n', begin) - begin);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

bool Lacks(const Diagnostic& d) { return d.line > 0 && d.source_line.empty(); }

}  // namespace

Status WithSourceLines(Status s, const std::string& file, const std::string& text) {
  std::vector<Diagnostic> all = s.diagnostics();
  for (Diagnostic& d : all)
    if (Lacks(d) && d.file == file) d.source_line = Line(text, d.line);
  return Status(std::move(all));
}

Status WithSourceLines(Status s) {
  for (const Diagnostic& d : std::vector<Diagnostic>(s.diagnostics())) {
    struct stat st;
    if (!Lacks(d) || stat(d.file.c_str(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > kLargestText) continue;
    std::ifstream in(d.file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    s = WithSourceLines(std::move(s), d.file, text.str());
  }
  return s;
}

}  // namespace headrace
