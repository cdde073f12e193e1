#include "runtime/size_text.h"

#include <algorithm>
#include <cctype>

#include "runtime/hr_scalar.h"

namespace headrace::runtime {
namespace {

using Size = std::optional<int64_t>;

bool BeginsName(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool InName(char c) { return BeginsName(c) || std::isdigit(static_cast<unsigned char>(c)); }

Size Combine(char op, Size a, Size b) {
  int64_t r;
  if (!a || !b) return std::nullopt;
  switch (op) {
    case '+': return __builtin_add_overflow(*a, *b, &r) ? Size() : r;
    case '-': return __builtin_sub_overflow(*a, *b, &r) ? Size() : r;
    case '*': return __builtin_mul_overflow(*a, *b, &r) ? Size() : r;
    case '/': return *b == 0 ? Size() : hr_floor_div(*a, *b);
    case '%': return *b == 0 ? Size() : hr_floor_mod(*a, *b);
    default: return std::nullopt;
  }
}

class Parser {
 public:
  Parser(const std::string& text, const Sizes& sizes) : text_(text), sizes_(sizes) {}
  Size All() {
    const Size v = Sum();
    return Peek() == '\0' && !failed_ ? v : std::nullopt;
  }

 private:
  char Peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void Expect(char c) { failed_ |= !Take(c); }

  Size Sum() {
    Size v = Product();
    while (Peek() == '+' || Peek() == '-') {
      const char op = text_[at_++];
      v = Combine(op, v, Product());
    }
    return v;
  }
  Size Product() {
    Size v = Factor();
    for (;;) {
      if (Take('*')) v = Combine('*', v, Factor());
      else if (Take('%')) v = Combine('%', v, Factor());
      else if (text_.compare(at_, 2, "//") == 0) at_ += 2, v = Combine('/', v, Factor());
      else return v;
    }
  }
  Size Factor() {
    if (++depth_ > 100) failed_ = true;
    if (failed_) return std::nullopt;
    Size v;
    const char c = Peek();
    if (Take('-')) v = Combine('-', 0, Factor());
    else if (Take('(')) v = Sum(), Expect(')');
    else if (std::isdigit(static_cast<unsigned char>(c))) v = Number();
    else if (BeginsName(c)) v = Named();
    else failed_ = true;
    --depth_;
    return v;
  }
  Size Number() {
    Size v = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))
      v = Combine('+', Combine('*', v, 10), text_[at_++] - '0');
    return v;
  }
  Size Named() {
    const size_t begin = at_;
    while (at_ < text_.size() && InName(text_[at_])) ++at_;
    const std::string name = text_.substr(begin, at_ - begin);
    if (Take('(')) {
      const Size a = Sum();
      Expect(',');
      const Size b = Sum();
      Expect(')');
      if (!a || !b) return std::nullopt;
      if (name == "min") return std::min(*a, *b);
      if (name == "max") return std::max(*a, *b);
      return std::nullopt;
    }
    const auto known = sizes_.find(name);
    return known == sizes_.end() ? Size() : known->second;
  }

  const std::string& text_;
  const Sizes& sizes_;
  size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

Size EvaluateSize(const std::string& text, const Sizes& sizes) { return Parser(text, sizes).All(); }

bool IsName(const std::string& text) {
  return !text.empty() && BeginsName(text[0]) && std::all_of(text.begin(), text.end(), InName);
}

}  // namespace headrace::runtime
