#include "ir/status.h"

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

std::string Render(const Diagnostic& d) {
  std::string out = d.kind == ErrorKind::kInternal ? "internal error" : "error";
  if (!d.code.empty()) out += "[" + d.code + "]";
  out += ": " + d.message + "\n";
  if (!d.file.empty() || d.line > 0) {
    out += "  --> " + (d.file.empty() ? std::string("<text>") : d.file);
    if (d.line > 0) out += ":" + std::to_string(d.line);
    if (d.line > 0 && d.column > 0) out += ":" + std::to_string(d.column);
    out += "\n";
  }
  if (!d.source_line.empty()) {
    const std::string number = d.line > 0 ? std::to_string(d.line) : "";
    out += " " + number + " | " + d.source_line + "\n";
    if (d.column > 0)
      out += " " + std::string(number.size(), ' ') + " | " + CaretPrefix(d.source_line, d.column) + "^\n";
  }
  const std::pair<const char*, const std::string*> fields[] = {
      {"node", &d.node}, {"op", &d.op}, {"got", &d.got}, {"expected", &d.expected}, {"hint", &d.hint}};
  for (const auto& [label, text] : fields) {
    if (!text->empty()) out += std::string("  ") + label + ": " + *text + "\n";
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

Status InvalidError(std::string message, std::string hint) {
  return Make(ErrorKind::kInvalid, std::move(message), std::move(hint));
}
Status UnsupportedError(std::string message, std::string hint) {
  return Make(ErrorKind::kUnsupported, std::move(message), std::move(hint));
}
Status UsageError(std::string message, std::string hint) {
  return Make(ErrorKind::kUsage, std::move(message), std::move(hint));
}
Status InternalError(std::string message) { return Make(ErrorKind::kInternal, std::move(message), ""); }

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

void CheckFailed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "internal error: %s\n  check failed: %s\n  --> %s:%d\n", message.c_str(), condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace headrace
