#include "driver/pipeline_text.h"

#include <algorithm>
#include <cctype>

namespace headrace {
namespace {

constexpr int kMostNested = 16;

// Cut at semicolons and line ends, but not in options; comments are left out.
std::vector<std::string> Cut(const std::string& text) {
  std::vector<std::string> pieces(1);
  bool in_options = false, in_quotes = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!in_options && c == '#' && (i == 0 || std::isspace(static_cast<unsigned char>(text[i - 1])) || text[i - 1] == ';')) {
      i = std::min(text.find('\n', i), text.size());
      pieces.emplace_back();
      continue;
    }
    if (c == '"') in_quotes = in_options && !in_quotes;
    if (c == '{' && !in_quotes) in_options = true;
    if (c == '}' && !in_quotes) in_options = false;
    if (!in_options && (c == ';' || c == '\n')) pieces.emplace_back();
    else pieces.back() += c;
  }
  return pieces;
}

void AddSteps(const Registry& r, const std::string& pipeline, int depth, std::vector<PipelineStep>* out) {
  for (const std::string& piece : Cut(pipeline)) {
    const size_t begin = piece.find_first_not_of(" \t\r");
    if (begin == piece.npos) continue;
    PipelineStep s;
    s.text = piece.substr(begin, piece.find_last_not_of(" \t\r") + 1 - begin);
    s.name = s.text.substr(0, s.text.find_first_of("@{ \t"));
    const Pipeline* named = s.name != s.text || r.FindPass(s.name) ? nullptr : r.FindPipeline(s.name);
    if (named && depth < kMostNested) AddSteps(r, named->text, depth + 1, out);
    else out->push_back(std::move(s));
  }
}

}  // namespace

std::vector<PipelineStep> StepsOf(const Registry& r, const std::string& pipeline) {
  std::vector<PipelineStep> steps;
  AddSteps(r, pipeline, 0, &steps);
  return steps;
}

std::string WithOption(const PipelineStep& step, const std::string& name, const std::string& value) {
  const std::string option = name + "=\"" + value + "\"";
  const size_t end = step.text.back() == '}' ? step.text.size() - 1 : step.text.npos;
  return end == step.text.npos ? step.text + "{" + option + "}" : step.text.substr(0, end) + ", " + option + "}";
}

}  // namespace headrace
