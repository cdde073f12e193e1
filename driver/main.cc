// headrace: one binary, git-style verbs. Exit codes: 0 ok, 1 bad input or failed run, 2 usage, 3 unsupported,
// 4 verification mismatch, 130 interrupted.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "driver/commands/commands.h"
#include "driver/environment.h"
#include "ir/log.h"
#include "ir/plugin.h"

namespace headrace {
namespace {

std::vector<std::string> OptionNames(const CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::Option* o : app->get_options())
    for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
  return names;
}

// CLI11's own exit codes are 100 and up and its messages don't guess; ours are 2 and do.
int UsageFailure(const CLI::App& app, const CLI::ParseError& e, const Output& out, int argc, char** argv) {
  std::string message = e.what(), hint;
  const CLI::App* verb = &app;
  for (const CLI::App* sub : app.get_subcommands()) verb = sub;
  std::vector<std::string> verbs;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) verbs.push_back(sub->get_name());
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word.rfind("--", 0) == 0) {
      std::string flag = word.substr(0, word.find('='));
      std::vector<std::string> names = OptionNames(verb), general = OptionNames(&app);
      names.insert(names.end(), general.begin(), general.end());
      if (std::find(names.begin(), names.end(), flag) != names.end()) continue;
      message = "unknown option " + flag;
      std::string close = ClosestWord(flag, names);
      if (!close.empty()) hint = "did you mean " + close + "?";
      break;
    }
    if (verb == &app && word[0] != '-') {
      message = "unknown command '" + word + "'";
      std::string close = ClosestWord(word, verbs);
      if (!close.empty()) hint = "did you mean '" + close + "'?";
      break;
    }
  }
  if (hint.empty()) hint = verb == &app ? "headrace --help" : "headrace " + verb->get_name() + " --help";
  return Fail(out, UsageError("E0430", message, hint));
}

// CLI11 writes an option's description on one line; terminals have 80 columns.
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

int Main(int argc, char** argv) {
  // Relative paths mean the caller's folder, under `bazel run` too.
  if (const char* folder = getenv("BUILD_WORKING_DIRECTORY"))
    if (chdir(folder) != 0) fprintf(stderr, "warning: can't enter %s\n", folder);
  InstallInterruptHandler();

  Common c;
  bool version = false;
  CLI::App app("Headrace: a data-centric compiler for machine learning and array programs.", "headrace");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.get_formatter()->column_width(28);
  app.add_flag("--version", version, "print versions");
  app.add_option("--plugin", c.plugins, "load a plugin (.so file or folder; repeatable)");
  app.add_flag("--json", c.out.json, "machine-readable output on stdout");
  app.add_flag("-v,--verbose", c.verbose, "say more (repeatable)");
  app.add_flag("-q,--quiet", c.quiet, "say nothing but errors");
  app.add_option("--color", c.color, "auto, always, never")->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_option("--progress", c.progress, "auto, plain, none")->check(CLI::IsMember({"auto", "plain", "none"}));

  struct Verb {
    const char *name, *doc;
    Runner (*add)(CLI::App&, Common&);
  };
  const Verb verbs[] = {
      {"run", "Run a model once", AddRun},
      {"compile", "Make an artifact, or print IR or generated code", AddCompile},
      {"check", "Say whether a model can be compiled, and everything that stops it", AddCheck},
      {"opt", "Apply passes: IR text in, IR text out", AddOpt},
      {"grad", "Gradients of a model's output, as .npy files", AddGrad},
      {"train", "Train a model: data in, trained model out", AddTrain},
      {"bench", "Time a model", AddBench},
      {"ops", "List ops and their implementations", AddOps},
      {"plugins", "List loaded plugins", AddPlugins},
      {"cache", "List or clear the compilation cache", AddCache},
      {"explain", "Cause and fix of an error, by its code", AddExplain},
      {"doctor", "Show what this machine offers; paste it into bug reports", AddDoctor},
  };
  std::vector<std::pair<CLI::App*, Runner>> runners;
  for (const Verb& v : verbs) {
    CLI::App* sub = app.add_subcommand(v.name, v.doc);
    sub->get_formatter()->column_width(28);
    runners.emplace_back(sub, v.add(*sub, c));
  }

  auto settle = [&] {
    c.out.verbosity = c.quiet ? -1 : c.verbose;
    bool terminal = isatty(2) != 0;
    const char* no_color = getenv("NO_COLOR");
    c.out.color = c.color == "always" || (c.color == "auto" && terminal && !(no_color && *no_color));
    c.out.progress = !c.quiet && !c.out.json && (c.progress == "plain" || (c.progress == "auto" && terminal));
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* asked = &app;
    while (!asked->get_subcommands().empty()) asked = asked->get_subcommands()[0];
    fputs(Wrapped(asked->help()).c_str(), stdout);
    return kExitOk;
  } catch (const CLI::ParseError& e) {
    settle();
    for (int i = 1; i < argc; ++i) c.out.json |= std::string(argv[i]) == "--json";
    return UsageFailure(app, e, c.out, argc, argv);
  }
  settle();
  for (const std::string& warning : EnvironmentWarnings()) Note(c.out, "warning: " + warning);
  if (c.out.verbosity > 0) LogAlso(LogTopic::kCache);
  if (version) {
    printf("headrace %s\nplugin interface %d.%d\n%s\n", HEADRACE_VERSION, HEADRACE_ABI_MAJOR, HEADRACE_ABI_MINOR,
           HEADRACE_TOOLCHAIN);
    return kExitOk;
  }
  for (auto& [sub, runner] : runners)
    if (sub->parsed()) {
      int code = runner();
      return Interrupted() && code != kExitOk ? static_cast<int>(kExitInterrupted) : code;
    }
  fputs(Wrapped(app.help()).c_str(), stdout);
  return kExitOk;
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) { return headrace::Main(argc, argv); }
