#include "transforms/requires.h"

#include <algorithm>
#include <unordered_map>

namespace headrace::transforms {
namespace {

// The sizes that a block defines, in whatever it holds.
void Defines(const Sdfg& s, BlockId block, std::vector<Name>* out) {
  ForEachBlock(s, {block}, [&](BlockId b) {
    const Control& c = s.blocks[b].control;
    if (auto* a = std::get_if<Assign>(&c)) out->push_back(a->symbol);
    if (auto* l = std::get_if<Loop>(&c)) out->push_back(l->var);
    auto* st = std::get_if<State>(&c);
    if (!st) return;
    for (NodeId n : st->statements)
      if (auto* l = std::get_if<Library>(&s.nodes[n].body)) out->insert(out->end(), l->defines.begin(), l->defines.end());
  });
}

}  // namespace

bool HoistRequires(Sdfg* s) {
  const auto is_require = [&](BlockId b) { return std::holds_alternative<Require>(s->blocks[b].control); };
  if (std::none_of(s->body.begin(), s->body.end(), is_require)) return false;
  std::unordered_map<Name, size_t> last;  // size → 1 + the block, of those that stay, that defines it last so far
  std::vector<BlockId> rest;
  std::vector<std::vector<BlockId>> after(1);  // requirements: [0] at the front, [k] behind the k-th block that stays
  for (BlockId b : s->body) {
    if (!is_require(b)) {
      rest.push_back(b);
      after.emplace_back();
      std::vector<Name> names;
      Defines(*s, b, &names);
      for (Name n : names) last[n] = rest.size();
      continue;
    }
    const Expr condition = std::get<Require>(s->blocks[b].control).condition;
    size_t at = 0;
    for (Name n : FreeSymbols(condition))
      if (auto it = last.find(n); it != last.end()) at = std::max(at, it->second);
    const bool known = std::any_of(after[at].begin(), after[at].end(), [&](BlockId x) {
      return std::get<Require>(s->blocks[x].control).condition == condition;
    });
    if (!known) after[at].push_back(b);
  }
  std::vector<BlockId> body = after[0];
  for (size_t k = 0; k < rest.size(); ++k) {
    body.push_back(rest[k]);
    body.insert(body.end(), after[k + 1].begin(), after[k + 1].end());
  }
  const bool changed = !(body == s->body);
  s->body = std::move(body);
  return changed;
}

}  // namespace headrace::transforms
