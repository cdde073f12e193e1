#include "driver/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "training/whole_file.h"

namespace headrace {
namespace {

// The first error counts: a later write may succeed, or fail otherwise.
int g_error = 0;

void Remember() {
  if (g_error == 0) g_error = errno ? errno : EIO;
}

}  // namespace

Status WriteOut(const std::string& path, const std::vector<std::string_view>& parts) {
  if (!path.empty() && path != "-") return training::WriteWholeFile(path, parts, false);
  for (std::string_view part : parts)
    if (fwrite(part.data(), 1, part.size(), stdout) != part.size()) Remember();
  return {};  // said by CloseStandardOutput
}

Status CloseStandardOutput() {
  errno = 0;
  if (fflush(stdout) != 0 || ferror(stdout)) {
    // A printf before met the reason, which stdio does not keep. The output is cut short as it is, so one byte more may ask again.
    if (errno == 0 && g_error == 0 && write(STDOUT_FILENO, "\n", 1) == 1) errno = EIO;
    Remember();
  }
  if (g_error == 0) return {};
  return training::WriteError("standard output", g_error);
}

}  // namespace headrace
