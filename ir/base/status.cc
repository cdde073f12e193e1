#include "ir/base/status.h"

#include <algorithm>
#include <cstdio>

namespace headrace {
namespace {

// The caret's indentation: tabs stay tabs, so that it lines up however wide the terminal draws
// them.
std::string CaretPrefix(const std::string& line, int column) {
  std::string out;
  int c = 1;
  for (size_t i = 0; i < line.size() && c < column; ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xC0) == 0x80) continue;  // UTF-8 continuation: no column of its own
    out += line[i] == '\t' ? '\t' : ' ';
    ++c;
  }
  out.append(column > c ? column - c : 0, ' ');
  return out;
}

Status Make(ErrorKind kind, std::string message, std::string hint) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  d.hint = std::move(hint);
  return Status(std::move(d));
}

template <typename Fn>
Status Edited(const Status& s, Fn&& edit) {
  if (s.ok()) return s;
  std::vector<Diagnostic> all = s.diagnostics();
  for (Diagnostic& d : all) edit(d);
  return Status(std::move(all));
}

}  // namespace

// Names come from files: one may be a megabyte long or hold what a terminal would obey.
std::string Shown(const std::string& text) {
  constexpr size_t kLongest = 200, kHead = 120, kTail = 20;
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && text[end] != ' ' && text[end] != '\n') ++end;
    const size_t length = end - i;
    for (size_t k = i; k < end; ++k) {
      if (length > kLongest && k == i + kHead) {
        out += "…(" + std::to_string(length - kHead - kTail) + " more)…";
        k = end - kTail;
      }
      const auto c = static_cast<unsigned char>(text[k]);
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", c);
      if ((c < 0x20 && c != '\t') || c == 0x7f) out += escaped;
      else out += text[k];
    }
    if (end < text.size()) out += text[end];
    i = end + 1;
  }
  return out;
}

std::string Render(const Diagnostic& d) {
  std::string out = d.kind == ErrorKind::kInternal ? "internal error" : "error";
  if (!d.code.empty()) out += "[" + d.code + "]";
  out += ": " + Shown(d.message) + "\n";
  if (!d.file.empty() || d.line > 0) {
    out += "  --> " + (d.file.empty() ? std::string("<text>") : Shown(d.file));
    if (d.line > 0) out += ":" + std::to_string(d.line);
    if (d.line > 0 && d.column > 0) out += ":" + std::to_string(d.column);
    out += "\n";
  }
  if (!d.source_line.empty()) {
    const std::string number = d.line > 0 ? std::to_string(d.line) : "";
    std::string line = d.source_line;
    int column = d.column;
    constexpr int kWidth = 200;  // of a line that no terminal holds, what is around the caret
    if (line.size() > 3 * kWidth) {
      const int begin = std::clamp(column - kWidth, 0, static_cast<int>(line.size()) - kWidth);
      line = line.substr(static_cast<size_t>(begin), 2 * kWidth);
      column = std::max(0, column - begin);
    }
    for (char& c : line)
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t') c = '?';
    out += " " + number + " | " + line + "\n";
    if (column > 0) out += " " + std::string(number.size(), ' ') + " | " + CaretPrefix(line, column) + "^\n";
  }
  const std::pair<const char*, const std::string*> fields[] = {
      {"node", &d.node}, {"op", &d.op}, {"got", &d.got}, {"expected", &d.expected}, {"hint", &d.hint}};
  for (const auto& [label, text] : fields) {
    if (!text->empty()) out += std::string("  ") + label + ": " + Shown(*text) + "\n";
  }
  out.pop_back();
  return out;
}

const std::vector<Diagnostic>& Status::diagnostics() const {
  static const auto* const kNone = new std::vector<Diagnostic>();
  return all_ ? *all_ : *kNone;
}

ErrorKind Status::kind() const {
  HR_CHECK(!ok(), "kind() of an OK status");
  return all_->front().kind;
}

std::string Status::message() const { return ok() ? "" : all_->front().message; }

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string out;
  for (const Diagnostic& d : *all_) {
    if (!out.empty()) out += "\n";
    out += Render(d);
  }
  return out;
}

Status InvalidError(ErrorCode code, std::string message, std::string hint) {
  return WithCode(Make(ErrorKind::kInvalid, std::move(message), std::move(hint)), code);
}
Status UnsupportedError(ErrorCode code, std::string message, std::string hint) {
  return WithCode(Make(ErrorKind::kUnsupported, std::move(message), std::move(hint)), code);
}
Status UsageError(ErrorCode code, std::string message, std::string hint) {
  return WithCode(Make(ErrorKind::kUsage, std::move(message), std::move(hint)), code);
}
Status InvalidError(std::string message, std::string hint) {
  return Make(ErrorKind::kInvalid, std::move(message), std::move(hint));
}
Status UnsupportedError(std::string message, std::string hint) {
  return Make(ErrorKind::kUnsupported, std::move(message), std::move(hint));
}
Status UsageError(std::string message, std::string hint) {
  return Make(ErrorKind::kUsage, std::move(message), std::move(hint));
}
Status InternalError(std::string message) {
  return WithCode(Make(ErrorKind::kInternal, std::move(message), ""), "E0000");
}
Status InterruptedError() {
  Diagnostic d;
  d.kind = ErrorKind::kInterrupted, d.code = "E0499", d.message = "interrupted";
  return Status(d);
}

Status WithFile(Status s, const std::string& file) {
  return Edited(s, [&](Diagnostic& d) {
    if (d.file.empty()) d.file = file;
  });
}

Status WithNode(Status s, const std::string& node, const std::string& op) {
  return Edited(s, [&](Diagnostic& d) {
    if (d.node.empty()) d.node = node;
    if (d.op.empty()) d.op = op;
  });
}

Status WithCode(Status s, ErrorCode code) {
  return Edited(s, [&](Diagnostic& d) {
    if (d.code.empty()) d.code = code;
  });
}

void CheckFailed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "internal error: %s\n  check failed: %s\n  --> %s:%d\n", message.c_str(), condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace headrace
