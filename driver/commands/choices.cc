// What the user asks for must exist and have an effect: names of implementations, sizes, choices, options.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "driver/commands/commands.h"

namespace headrace {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

std::string Guess(const std::string& word, const std::vector<std::string>& known, const std::string& otherwise) {
  const std::string close = ClosestWord(word, known);
  return close.empty() ? otherwise : "did you mean '" + close + "'?";
}

struct LibraryNode {
  const Library* library;
  std::string source;
  std::string op() const { return library->op.str(); }
  std::string full() const { return library->domain.str() + "." + op(); }
};

std::vector<LibraryNode> LibraryNodesOf(const Program& p) {
  std::vector<LibraryNode> out;
  for (const auto& s : p.sdfgs)
    for (uint32_t i = 0; i < s->nodes.size(); ++i)
      if (const Library* l = std::get_if<Library>(&s->nodes[NodeId{i}].body)) out.push_back({l, s->nodes[NodeId{i}].origin.Label()});
  return out;
}

std::vector<std::string> Implementations(const Registry& r, const std::string& domain, const std::string& op) {
  std::vector<std::string> names;
  for (const ForwardImplementation* i : r.Implementations(domain, op))
    if (std::find(names.begin(), names.end(), i->name) == names.end()) names.push_back(i->name);
  return names;
}

// NAME alone: for every op that has it.
Status CheckForAll(const Registry& r, const std::vector<LibraryNode>& nodes, const std::string& name,
                   std::vector<std::string>* warnings) {
  std::set<std::string> all, here;
  for (const OpSignature* s : r.Ops())
    for (const std::string& i : Implementations(r, s->domain, s->name)) all.insert(i);
  for (const LibraryNode& n : nodes)
    for (const std::string& i : Implementations(r, n.library->domain.str(), n.op())) all.insert(i), here.insert(i);
  const std::vector<std::string> known(all.begin(), all.end());
  if (!all.count(name))
    return UsageError("E0460", "--impl " + name + ": no op has an implementation of this name",
                      Guess(name, known, "there are: " + Joined(known)));
  if (!here.count(name))
    warnings->push_back("--impl " + name + " has no effect: no op of the model has an implementation of this name");
  return {};
}

// WHERE=NAME where no node of the model is meant: an op that it lacks, or nothing at all.
Status CheckAbsent(const Registry& r, const std::vector<LibraryNode>& nodes, const std::string& where, const std::string& name,
                   std::vector<std::string>* warnings) {
  std::vector<std::string> words;
  for (const LibraryNode& n : nodes) {
    words.push_back(n.op());
    if (!n.source.empty()) words.push_back(n.source);
  }
  bool known_op = false;
  std::set<std::string> names, ops;
  for (const OpSignature* s : r.Ops()) {
    ops.insert(s->name);
    if (where != s->name && where != s->domain + "." + s->name) continue;
    known_op = true;
    for (const std::string& i : Implementations(r, s->domain, s->name)) names.insert(i);
  }
  const std::string flag = "--impl " + where + "=" + name;
  if (known_op && names.count(name)) {
    warnings->push_back(flag + " has no effect: the model has no " + where);
    return {};
  }
  const std::vector<std::string> list(names.begin(), names.end());
  if (known_op)
    return UsageError("E0460", flag + ": " + where + " has no implementation '" + name + "'",
                      Guess(name, list, "it has: " + (list.empty() ? "none" : Joined(list))));
  words.insert(words.end(), ops.begin(), ops.end());
  return UsageError("E0460", flag + ": the model has no op or node '" + where + "'",
                    Guess(where, words, "`headrace check -v` and `headrace ops` list nodes and ops"));
}

Status CheckOne(const Registry& r, const std::vector<LibraryNode>& nodes, const std::string& where,
                const std::string& name, std::vector<std::string>* warnings) {
  if (where == "*") return CheckForAll(r, nodes, name, warnings);
  std::vector<LibraryNode> meant;
  for (const LibraryNode& n : nodes)
    if (where == n.full() || where == n.op() || where == n.source) meant.push_back(n);
  if (meant.empty()) return CheckAbsent(r, nodes, where, name, warnings);
  const std::string flag = "--impl " + where + "=" + name;
  for (const LibraryNode& n : meant) {
    const std::vector<std::string> names = Implementations(r, n.library->domain.str(), n.op());
    if (std::find(names.begin(), names.end(), name) == names.end())
      return UsageError("E0460", flag + ": " + n.op() + " has no implementation '" + name + "'",
                        Guess(name, names, "it has: " + (names.empty() ? "none" : Joined(names))));
  }
  return {};
}

}  // namespace

CLI::Validator OneOf(std::vector<std::string> words) {
  std::string list;
  for (const std::string& w : words) list += (list.empty() ? "" : ",") + w;
  return CLI::Validator(
      [words](std::string& given) -> std::string {
        if (std::find(words.begin(), words.end(), given) != words.end()) return "";
        return "there is no '" + given + "'\n" + Guess(given, words, "it is one of " + Joined(words));
      },
      "{" + list + "}");
}

CLI::Validator Number(bool zero) {
  return CLI::Validator(
      [zero](std::string& given) -> std::string {
        char* end = nullptr;
        const double number = std::strtod(given.c_str(), &end);
        if (end != given.c_str() && !*end && std::isfinite(number) && (zero ? number >= 0 : number > 0)) return "";
        return "'" + given + "' is not a number " + (zero ? "of 0 or more" : "above 0");
      },
      zero ? "NONNEGATIVE" : "POSITIVE");
}

Status CheckImplementations(const Registry& r, const Program& p, const CompileOptions& o,
                            std::vector<std::string>* warnings) {
  if (o.implementations.empty()) return {};
  const std::vector<LibraryNode> nodes = LibraryNodesOf(p);
  for (const auto& [where, name] : o.implementations)
    HR_RETURN_IF_ERROR(CheckOne(r, nodes, where, name, warnings));
  return {};
}

Status CheckSizes(const Sdfg& entry, const NamedSizes& sizes) {
  std::vector<std::string> known;
  for (Name n : FreeSymbols(entry)) known.push_back(n.str());
  for (const auto& size : sizes) {
    const std::string name = size.first.str();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return UsageError("E0463", "--dim " + name + "=" + std::to_string(size.second) + ": there is no size '" + name + "'",
                      Guess(name, known, known.empty() ? "its sizes are all fixed" : "it has " + Joined(known)));
  }
  return {};
}

Status NoEffect(const CLI::App& app, const std::string& flag, bool used, const std::string& hint) {
  if (used || app.count(flag) == 0) return {};
  return UsageError("E0461", flag + " has no effect here", hint);
}

}  // namespace headrace
