// FOLDER/checksums.xxh128: a line for each file of an artifact, as `xxh128sum` writes and checks them, and at last the sum
// of these lines. XXH3 finds damage, at memory speed on any machine; it is no signature.
#pragma once
#include <string>
#include <vector>

namespace headrace::runtime {

constexpr char kChecksumsFile[] = "checksums.xxh128";

// Of every file in `folder`. What is wrong, or "".
std::string WriteChecksums(const std::string& folder);

enum class FileFault { kMissing, kDiffers, kExtra, kUnreadable };
struct FaultyFile {
  FileFault fault = FileFault::kMissing;
  std::string file;     // its name in the folder
  std::string message;  // "is missing", "is not the file that was saved: …"
};
// Every file of the folder that is missing, changed or does not belong there. Without a list, that alone.
std::vector<FaultyFile> VerifyChecksums(const std::string& folder);

}  // namespace headrace::runtime
