// What a file is that is no model, by its first bytes: people rename web pages, and git leaves pointers for large files.
#pragma once
#include <string>

namespace headrace {

struct FileKind {
  std::string what;  // "a web page (HTML)"; "": nothing that is known
  std::string hint;
};
// `head`: the first 512 bytes or all; `path`: for names that say what the bytes can't.
FileKind ForeignFile(const std::string& head, const std::string& path);
// A folder that holds a model of another kind.
FileKind ForeignFolder(const std::string& path);

}  // namespace headrace
