#include "plans/plan.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <sstream>

#include "ir/base/closest_word.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

constexpr const char* kExample = "kernel 3f2a9c1be0d47788: tile-rows 8, block-depth 128";

std::string Trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

bool IsKey(const std::string& word) {
  return word.size() == 16 && word.find_first_not_of("0123456789abcdef") == word.npos;
}

// A number of 1 or more; 0: it is none.
int64_t NumberOf(const std::string& word) {
  if (word.empty() || word.size() > 12 || word.find_first_not_of("0123456789") != word.npos) return 0;
  return std::stoll(word);
}

class PlanParser {
 public:
  explicit PlanParser(const std::string& file) : file_(file) {}

  Result<Plan> Run(const std::string& text) {
    std::istringstream lines(text);
    bool begun = false;
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      source_ = line;
      const size_t hash = line.rfind('#', 0) == 0 ? 0 : line.find(" #");
      const std::string said = Trimmed(line.substr(0, hash));
      comment_ = hash == line.npos ? "" : Trimmed(line.substr(line.find('#', hash) + 1));
      if (said.empty()) {
        if (!begun && hash != line.npos) plan_.comment += comment_ + "\n";
        continue;
      }
      begun = true;
      HR_RETURN_IF_ERROR(Line(said));
    }
    return std::move(plan_);
  }

 private:
  Status Wrong(const std::string& message, const std::string& got, const std::string& expected, const std::string& hint = "") {
    Diagnostic d;
    d.kind = ErrorKind::kUsage;
    d.code = "E0385";
    d.message = "in a plan: " + message;
    d.file = file_, d.line = line_, d.source_line = source_;
    const size_t at = source_.find(got.empty() ? source_ : got);
    d.column = static_cast<int>(at == source_.npos ? 0 : at) + 1;
    d.got = got.empty() ? "nothing" : got, d.expected = expected, d.hint = hint;
    return Status(d);
  }

  Status Line(const std::string& said) {
    const size_t blank = said.find_first_of(" \t");
    const std::string word = said.substr(0, blank), rest = blank == said.npos ? "" : Trimmed(said.substr(blank));
    if (word == "without") return Without(rest);
    if (word == "implementation") return Implementation(rest);
    if (word == "threads") return Threads(rest);
    if (word == "kernel") return Kernel(rest);
    const std::string close = ClosestWord(word, {"without", "implementation", "threads", "kernel"});
    return Wrong("a line begins with an unknown word", word, "without, implementation, threads or kernel",
                 close.empty() ? std::string("for example: ") + kExample : "did you mean '" + close + "'?");
  }

  Status Without(const std::string& pass) {
    if (pass.empty() || pass.find_first_of(" \t") != pass.npos)
      return Wrong("a line names one pass to leave out", pass, "without PASS", "for example: without assign-layouts");
    if (std::find(plan_.without.begin(), plan_.without.end(), pass) == plan_.without.end()) plan_.without.push_back(pass);
    return {};
  }

  Status Implementation(const std::string& rest) {
    const size_t equals = rest.rfind('=');
    const std::string where = Trimmed(rest.substr(0, equals)), name = equals == rest.npos ? "" : Trimmed(rest.substr(equals + 1));
    if (where.empty() || name.empty())
      return Wrong("an implementation is of an op, of a node or of all", rest, "implementation WHERE = NAME",
                   "for example: implementation onnx.Conv = onednn");
    plan_.implementations.emplace_back(where, name);
    return {};
  }

  Status Threads(const std::string& number) {
    const int64_t threads = NumberOf(number);
    if (threads < 1 || threads > 4096) return Wrong("no number of threads", number, "a number of 1 or more", "for example: threads 1");
    if (plan_.threads != 0) return Wrong("the number of threads is there twice", number, "one line of this kind");
    plan_.threads = static_cast<int>(threads);
    return {};
  }

  Status Kernel(const std::string& rest) {
    Plan::Kernel k;
    const size_t colon = rest.find(':');
    k.key = Trimmed(rest.substr(0, colon)), k.comment = comment_;
    if (!IsKey(k.key) || colon == rest.npos)
      return Wrong("a kernel is named by 16 hexadecimal digits, and its numbers follow a colon", k.key, "kernel KEY: NUMBER VALUE, …",
                   std::string("for example: ") + kExample);
    if (plan_.Find(k.key)) return Wrong("the kernel is there twice", k.key, "one line for each kernel");
    std::istringstream parts(rest.substr(colon + 1));
    for (std::string part; std::getline(parts, part, ',');) {
      std::istringstream words(part);
      std::string name, value, more;
      words >> name >> value >> more;
      if (NumberOf(value) < 1 || !more.empty())
        return Wrong("a kernel's number has a name and a value of 1 or more", Trimmed(part), "NUMBER VALUE", "for example: tile-rows 8");
      for (const auto& [other, unused] : k.numbers)
        if (other == name) return Wrong("a kernel's number is there twice", name, "each number once");
      k.numbers.emplace_back(name, NumberOf(value));
    }
    if (k.numbers.empty()) return Wrong("a kernel has no numbers", "", "kernel KEY: NUMBER VALUE, …", std::string("for example: ") + kExample);
    plan_.kernels.push_back(std::move(k));
    return {};
  }

  const std::string file_;
  Plan plan_;
  int line_ = 0;
  std::string source_, comment_;
};

// What stands behind a # stays on its line.
std::string OnOneLine(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

}  // namespace

const Plan::Kernel* Plan::Find(const std::string& key) const {
  const auto it = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.key == key; });
  return it == kernels.end() ? nullptr : &*it;
}

Result<Plan> ParsePlan(const std::string& text, const std::string& file) { return PlanParser(file).Run(text); }

std::string Print(const Plan& p) {
  std::ostringstream out;
  std::istringstream comment(p.comment);
  for (std::string line; std::getline(comment, line);) out << (line.empty() ? "#" : "# ") << line << "\n";
  for (const std::string& pass : p.without) out << "without " << pass << "\n";
  for (const auto& [where, name] : p.implementations) out << "implementation " << where << " = " << name << "\n";
  if (p.threads > 0) out << "threads " << p.threads << "\n";
  for (const Plan::Kernel& k : p.kernels) {
    out << "kernel " << k.key << ":";
    for (size_t i = 0; i < k.numbers.size(); ++i) out << (i ? ", " : " ") << k.numbers[i].first << " " << k.numbers[i].second;
    if (!k.comment.empty()) out << "  # " << OnOneLine(k.comment);
    out << "\n";
  }
  return out.str();
}

std::string KernelKey(const Sdfg& kernel) {
  Sdfg nameless = kernel;
  nameless.name = Name("k");
  nameless.unscheduled.clear();
  PrintOptions plain;
  plain.origins = false;
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : Print(nameless, plain)) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace headrace
