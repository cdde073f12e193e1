// headrace: one binary, git-style verbs. Exit codes: 0 ok, 1 bad input or failed run, 2 usage, 3 unsupported,
// 4 verification mismatch, 130 interrupted.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "driver/commands/commands.h"
#include "driver/environment.h"
#include "driver/files.h"
#include "driver/usage.h"
#include "ir/base/log.h"
#include "ir/plugin.h"

namespace headrace {
namespace {

int Main(int argc, char** argv) {
  // Relative paths mean the caller's folder, under `bazel run` too.
  if (const char* folder = getenv("BUILD_WORKING_DIRECTORY"))
    if (chdir(folder) != 0) fprintf(stderr, "warning: can't enter %s\n", folder);
  InstallInterruptHandler();
  if (!isatty(1)) setvbuf(stdout, nullptr, _IOFBF, 1 << 16);  // so that the reason of a failed write is not lost

  Common c;
  bool version = false;
  CLI::App app("Headrace: a data-centric compiler for machine learning and array programs.", "headrace");
  app.require_subcommand(0, 1);
  app.fallthrough();
  app.get_formatter()->column_width(28);
  app.add_flag("--version", version, "print versions");
  app.add_option("--plugin", c.plugins, "load a plugin (.so file or folder; repeatable)")
      ->allow_extra_args(false);
  app.add_flag("--json", c.out.json, "machine-readable output on stdout");
  CLI::Option* verbose = app.add_flag("-v,--verbose", c.verbose, "say more (repeatable)");
  app.add_flag("-q,--quiet", c.quiet, "say nothing but errors")->excludes(verbose);
  app.add_option("--color", c.color, "auto, always, never")->check(OneOf({"auto", "always", "never"}));
  app.add_option("--progress", c.progress, "auto, plain, none")->check(OneOf({"auto", "plain", "none"}));

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
      {"tune", "Look for a faster way to compile a model on this machine", AddTune},
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
    const char* kind = getenv("TERM");
    const bool redraws = terminal && !c.out.json && !(kind && std::string(kind) == "dumb");
    c.out.progress = c.quiet                             ? ProgressStyle::kNone
                     : c.progress == "plain"             ? ProgressStyle::kLines
                     : c.progress == "auto" && redraws   ? ProgressStyle::kBar
                                                         : ProgressStyle::kNone;
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
    return Fail(c.out, UsageStatus(app, e));
  }
  settle();
  for (const std::string& warning : EnvironmentWarnings()) Note(c.out, "warning: " + warning);
  if (c.out.verbosity > 0) LogAlso(LogTopic::kCache);
  if (version && c.out.json) {
    PrintJson({{"headrace", HEADRACE_VERSION},
               {"plugin_interface", std::to_string(HEADRACE_ABI_MAJOR) + "." + std::to_string(HEADRACE_ABI_MINOR)},
               {"toolchain", HEADRACE_TOOLCHAIN}});
    return kExitOk;
  }
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

int main(int argc, char** argv) {
  const int code = headrace::Main(argc, argv);
  const headrace::Status written = headrace::CloseStandardOutput();
  if (written.ok()) return code;
  fprintf(stderr, "%s\n", written.ToString().c_str());
  return code == headrace::kExitOk ? static_cast<int>(headrace::kExitFailure) : code;
}
