// op_gradients [--filter F | --file SAMPLES] [--backend B] [--markdown]: every op's gradient against differences, one line per
// sample and input; with --markdown the table of docs.
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "driver/compile.h"
#include "driver/plugin_path.h"
#include "driver/samples/gradients.h"

using headrace::autodiff::OpVerdict;

namespace {
std::string Join(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& s : list) out += (out.empty() ? "" : ", ") + s;
  return out;
}
}  // namespace

int main(int argc, char** argv) {
  std::string filter, file, backend = "interpreter";
  bool markdown = false;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--filter") && i + 1 < argc) filter = argv[++i];
    else if (!std::strcmp(argv[i], "--file") && i + 1 < argc) file = argv[++i];
    else if (!std::strcmp(argv[i], "--backend") && i + 1 < argc) backend = argv[++i];
    else markdown = markdown || !std::strcmp(argv[i], "--markdown");
  }
  std::string folder = std::filesystem::temp_directory_path() / "op_gradients_XXXXXX";
  if (!mkdtemp(folder.data())) return std::perror(folder.c_str()), 2;
  headrace::Registry r;
  if (headrace::Status s = headrace::LoadPlugins(r, headrace::PluginPath()); !s.ok())
    return std::fprintf(stderr, "%s\n", s.ToString().c_str()), 2;
  headrace::Result<std::vector<headrace::OpSample>> samples =
      file.empty() ? headrace::Samples(r, filter) : headrace::autodiff::SamplesOfFile(r, file);
  if (!samples.ok()) return std::fprintf(stderr, "%s\n", samples.status().ToString().c_str()), 2;
  const std::vector<OpVerdict> ops = headrace::autodiff::CheckOps(r, *samples, backend, folder, !markdown);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  int checked = 0, zero = 0, refused = 0, wrong = 0, none = 0;
  if (markdown)
    std::printf("| operator | gradient | by | inputs checked | zero | refused |\n|---|---|---|---|---|---|\n");
  for (const OpVerdict& o : ops) {
    const char* status = !o.wrong.empty()     ? "WRONG"
                         : !o.checked.empty() ? "checked"
                         : !o.refused.empty() ? "error by name"
                         : !o.zero.empty()    ? "zero by definition"
                                              : "no float input";
    ++(!o.wrong.empty()     ? wrong
       : !o.checked.empty() ? checked
       : !o.refused.empty() ? refused
       : !o.zero.empty()    ? zero
                            : none);
    if (markdown)
      std::printf("| %s | %s | %s | %s | %s | %s |\n", o.name.c_str(), status, o.rule.c_str(), Join(o.checked).c_str(),
                  Join(o.zero).c_str(), Join(o.refused).c_str());
    else if (!o.wrong.empty() || !o.refused.empty())
      std::printf("%s: %s: wrong [%s] refused [%s] %s\n", o.name.c_str(), status, Join(o.wrong).c_str(),
                  Join(o.refused).c_str(), o.error.c_str());
  }
  std::printf(
      "%s%d operators: %d checked, %d zero by definition, %d errors by name, %d without float inputs, %d wrong\n",
      markdown ? "\n" : "", static_cast<int>(ops.size()), checked, zero, refused, none, wrong);
  return wrong > 0;
}
