#include "transforms/denormals.h"

#include <algorithm>

#include "ir/analysis/denormals.h"

namespace headrace {
namespace {

bool IsFloatContainer(const Sdfg& s, Name n) {
  const Container* c = s.Find(n);
  return c && (IsFloat(c->dtype) || IsComplex(c->dtype));
}
bool ReadsFloats(const Sdfg& s, const Expr& e) {
  if (!e) return false;
  const std::vector<Name> all = ReadContainers(e);
  return std::any_of(all.begin(), all.end(), [&](Name n) { return IsFloatContainer(s, n); });
}
bool ReadsFloats(const Sdfg& s, const Control& c) {
  if (const auto* l = std::get_if<Loop>(&c)) return ReadsFloats(s, l->init) || ReadsFloats(s, l->condition) || ReadsFloats(s, l->update);
  if (const auto* a = std::get_if<Assign>(&c)) return ReadsFloats(s, a->value);
  const auto* choice = std::get_if<Conditional>(&c);
  return choice && std::any_of(choice->branches.begin(), choice->branches.end(), [&](const Branch& b) { return ReadsFloats(s, b.condition); });
}

// Has it statements of its own that may compute with floats? What it only hands to calls the callees compute with.
bool ComputesFloats(const Sdfg& s) {
  if (!HasFloats(s)) return false;
  bool computes = false;
  ForEachNode(s, [&](NodeId n) {
    const Body& body = s.nodes[n].body;
    const auto* t = std::get_if<Tasklet>(&body);
    const auto* i = std::get_if<If>(&body);
    const auto reads = [&](const Expr& e) { return ReadsFloats(s, e); };
    if (t) computes |= IsFloatContainer(s, t->target) || reads(t->value) || std::any_of(t->index.begin(), t->index.end(), reads);
    else if (i) computes |= ReadsFloats(s, i->condition);
    else computes |= std::holds_alternative<Library>(body);
  });
  ForEachBlock(s, s.body, [&](BlockId b) { computes |= ReadsFloats(s, s.blocks[b].control); });
  return computes;
}

}  // namespace

Result<bool> MarkDenormals(Program& p, bool keep) {
  enum class Mode { kAny, kExact, kFlush };
  std::vector<Mode> modes;
  for (const auto& s : p.sdfgs)
    modes.push_back(keep || NeedsDenormals(*s) ? Mode::kExact : ComputesFloats(*s) ? Mode::kFlush : Mode::kAny);
  bool entry_flushes = std::find(modes.begin(), modes.end(), Mode::kFlush) != modes.end();
  for (size_t i = 0; i < p.sdfgs.size(); ++i)
    if (p.sdfgs[i].get() == &p.Entry() && modes[i] != Mode::kAny) entry_flushes = modes[i] == Mode::kFlush;
  bool changed = false;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    const Sdfg& s = *p.sdfgs[i];
    const bool flush = modes[i] == Mode::kFlush || (modes[i] == Mode::kAny && entry_flushes);
    if (s.flush == flush) continue;
    p.Mutable(s.name).flush = flush;
    changed = true;
  }
  return changed;
}

}  // namespace headrace
