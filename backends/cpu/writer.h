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
    lanes_next_ = text.substr(0, 16) == "#pragma omp simd";
    text_.append(text);
    text_ += '\n';
  }
  void Open(std::string_view text) {  // "for (…) {"
    const bool lanes = lanes_next_;
    Line(text);
    ++indent_;
    if (lanes && !in_lanes()) lanes_at_ = indent_, choices_ = 0;
  }
  void Close(std::string_view text = "}") {
    --indent_;
    if (indent_ < lanes_at_) lanes_at_ = 0;
    Line(text);
  }
  void Raw(std::string_view text) { text_.append(text); }
  // Whether this is the body of a loop whose iterations run in lanes, and how many of its reads have been conditional so far.
  bool in_lanes() const { return lanes_at_ > 0; }
  int NextChoice() { return choices_++; }
  int indent() const { return indent_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int indent_;
  int lanes_at_ = 0, choices_ = 0;
  bool lanes_next_ = false;
};

}  // namespace headrace::cpu
