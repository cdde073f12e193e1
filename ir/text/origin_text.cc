#include "ir/text/origin_text.h"

#include <unordered_set>
#include <vector>

#include "ir/base/spelling.h"

namespace headrace {
namespace {

std::string By(const Origin& o) { return o.pass().empty() ? "" : " by " + StringText(o.pass().view()); }

// What a pass made step by step is shown as made at once.
std::vector<Origin> InputsOf(const Origin& o) {
  std::vector<Origin> out, open(o.inputs().rbegin(), o.inputs().rend());
  std::unordered_set<const void*> seen;
  while (!open.empty()) {
    const Origin at = open.back();
    open.pop_back();
    if (!seen.insert(at.identity()).second) continue;
    const bool same = !at.inputs().empty() && at.pass() == o.pass() && !at.is_gradient();
    if (same) open.insert(open.end(), at.inputs().rbegin(), at.inputs().rend());
    else out.push_back(at);
  }
  return out;
}

std::string SourcesWithHistory(const Origin& o);
std::string SourceWithHistory(const Origin& o) {
  return o.pass().empty() && o.inputs().size() < 2 ? SourcesWithHistory(o) : "(" + SourcesWithHistory(o) + ")";
}
std::string SourcesWithHistory(const Origin& o) {
  if (o.inputs().empty())
    return StringText(o.named() ? o.source().str() : o.file().str() + ":" + std::to_string(o.line())) + By(o);
  if (o.is_gradient()) return "grad " + SourceWithHistory(o.inputs()[0]) + By(o);
  std::string text;
  for (const Origin& from : InputsOf(o)) text += (text.empty() ? "" : ", ") + SourceWithHistory(from);
  return text + By(o);
}

}  // namespace

std::string OriginText(const Origin& o, bool history) {
  if (history && o.known()) return " from " + SourcesWithHistory(o);
  std::string text;
  for (const Origin::Source& s : o.Sources()) {
    text += text.empty() ? " from " : ", ";
    for (int k = 0; k < s.gradients; ++k) text += "grad ";
    text += StringText(s.name.view());
  }
  return text + By(o);
}

}  // namespace headrace
