#include "driver/usage.h"

#include <algorithm>

#include "ir/base/closest_word.h"

namespace headrace {
namespace {

std::vector<std::string> OptionsOf(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app->get_options()) {
    for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
    for (const std::string& n : o->get_snames()) names.push_back("-" + n);
  }
  return names;
}

std::vector<std::string> VerbsOf(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app->get_subcommands(nullptr)) names.push_back(sub->get_name());
  return names;
}

bool Has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
  const std::string close = ClosestWord(word, known);
  return close.empty() ? "" : "did you mean " + close + "?";
}

// An option that the verb does not have: one of its own is meant, or one of another verb's.
Status UnknownOption(const CLI::App& app, const CLI::App* verb, const std::string& word) {
  const std::string flag = word.substr(0, word.find('='));
  std::string hint, others;
  for (const CLI::App* other : app.get_subcommands(nullptr))
    if (other != verb && Has(OptionsOf(other), flag)) others += (others.empty() ? "" : ", ") + other->get_name();
  if (!others.empty()) hint = "it is an option of " + others;
  std::vector<std::string> names = OptionsOf(verb);
  for (const std::string& n : OptionsOf(&app)) names.push_back(n);
  if (hint.empty()) hint = DidYouMean(flag, names);
  const bool one = verb == &app;
  if (hint.empty()) hint = "headrace " + (one ? "" : verb->get_name() + " ") + "--help";
  return UsageError("E0430", "unknown option " + flag + (one ? "" : " of " + verb->get_name()), hint);
}

Status UnknownWord(const CLI::App& app, const CLI::App* verb, const std::string& word) {
  const bool one = verb == &app;
  const std::string help = "headrace " + (one ? "" : verb->get_name() + " ") + "--help";
  const std::vector<std::string> verbs = VerbsOf(verb);
  if (verbs.empty()) return UsageError("E0430", "one argument too many: '" + word + "'", help);
  const std::string close = ClosestWord(word, verbs);
  return UsageError("E0430", "unknown command '" + (one ? "" : verb->get_name() + " ") + word + "'",
                    close.empty() ? help : "did you mean '" + (one ? "" : verb->get_name() + " ") + close + "'?");
}

}  // namespace

Status UsageStatus(const CLI::App& app, const CLI::ParseError& e) {
  const CLI::App* verb = &app;
  while (!verb->get_subcommands().empty()) verb = verb->get_subcommands()[0];
  const std::vector<std::string> left = app.remaining(true);
  for (const std::string& word : left)
    if (word.size() > 1 && word[0] == '-') return UnknownOption(app, verb, word);
  if (!left.empty()) return UnknownWord(app, verb, left[0]);
  const std::string said = e.what();
  const size_t end = said.find('\n');  // a choice's hint (OneOf)
  if (end != std::string::npos) return UsageError("E0430", said.substr(0, end), said.substr(end + 1));
  return UsageError("E0430", said, "headrace " + (verb == &app ? "" : verb->get_name() + " ") + "--help");
}

std::string Wrapped(const std::string& help) {
  constexpr size_t kWidth = 80, kIndent = 28;
  std::string out;
  size_t start = 0;
  while (start < help.size()) {
    size_t end = help.find('\n', start);
    if (end == std::string::npos) end = help.size();
    std::string line = help.substr(start, end - start);
    while (line.size() > kWidth) {
      size_t cut = line.rfind(' ', kWidth);
      if (cut == std::string::npos || cut <= kIndent) break;
      out += line.substr(0, cut) + "\n";
      line = std::string(kIndent, ' ') + line.substr(cut + 1);
    }
    out += line + "\n";
    start = end + 1;
  }
  return out;
}

}  // namespace headrace
