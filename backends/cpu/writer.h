// Indented text: what code generators write to.
#pragma once
#include <string>
#include <string_view>

namespace headrace::cpu {

class Writer {
 public:
  explicit Writer(int indent = 0) : indent_(indent) {}
  void Line(std::string_view text) {
    if (!text.empty() && text[0] != '#') text_.append(2 * indent_, ' ');
    text_.append(text);
    text_ += '\n';
  }
  void Open(std::string_view text) {  // "for (…) {"
    Line(text);
    ++indent_;
  }
  void Close(std::string_view text = "}") {
    --indent_;
    Line(text);
  }
  void Raw(std::string_view text) { text_.append(text); }
  int indent() const { return indent_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int indent_;
};

}  // namespace headrace::cpu
