// Files that are there whole or not at all: written under a temporary name beside the target, synced, renamed, and the
// folder synced. Errors name the file and the reason (no space, quota, read-only); nothing is left behind.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/status.h"

namespace headrace::training {

// The temporary name is `path` + ".tmp" + the process's number. What can be made again need not be on disk (`durable`).
// Pipes and devices are written to, what a symbolic link names is replaced.
Status WriteWholeFile(const std::string& path, const std::vector<std::string_view>& parts, bool durable = true);
Status SyncFolder(const std::string& folder);

// All of `text`, however often a signal or the kernel cuts it short; false with errno otherwise.
bool WriteAll(int fd, std::string_view text);
// E0951: "can't write the file: no space is left on the device", for errno `number`; kind of the user's fault.
Status WriteError(const std::string& path, int number);

}  // namespace headrace::training
