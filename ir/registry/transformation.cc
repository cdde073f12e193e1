#include "ir/registry/transformation.h"

#include <algorithm>
#include <utility>

#include "ir/base/spelling.h"
#include "ir/text/lexer.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

constexpr int kMostSteps = 100000;

std::string ThingText(char kind, uint32_t number) {
  return std::string("#") + (kind ? std::string(1, kind) : "") + std::to_string(number);
}

Status NoPlace(std::string_view text, const std::string& why) {
  return UsageError("E0366", "'" + std::string(text) + "' is no place: " + why,
                    "#3 is a statement, #b3 a block, T a container, f:#3 is in SDFG f; "
                    "`headrace opt FILE --ids` prints numbers");
}

std::string Unread(std::string_view text, size_t at) { return "what is '" + std::string(text.substr(at)) + "'?"; }

// "#12" or "#b12" from `at` on.
Status AddNumber(std::string_view text, size_t* at, const Sdfg& s, Match* m) {
  ++*at;
  const bool block = *at < text.size() && text[*at] == 'b';
  if (block) ++*at;
  const size_t begin = *at;
  uint64_t number = 0;
  for (; *at < text.size() && IsDigit(text[*at]) && number < (1ull << 32); ++*at)
    number = number * 10 + static_cast<uint64_t>(text[*at] - '0');
  const auto id = static_cast<uint32_t>(number);
  const bool used = number < (block ? s.blocks.size() : s.nodes.size()) &&
                    (block ? s.blocks[BlockId{id}].control.index() : s.nodes[NodeId{id}].body.index()) != 0;
  if (*at == begin || !used)
    return NoPlace(text, "SDFG " + s.name.str() + " has no " + (block ? "block" : "statement") + " of that number");
  if (block) m->blocks.push_back(BlockId{id});
  else m->statements.push_back(NodeId{id});
  return {};
}

// A name as IR text spells it; empty where there is none.
Name TakeName(std::string_view text, size_t* at) {
  Lexer lexer(text.substr(*at));
  const Token t = lexer.Next();
  if (t.kind != Token::kName || t.space_before) return {};
  *at += t.raw.size();
  return NameOf(t);
}

std::string FirstLine(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  if (line.size() > 2 && line.substr(line.size() - 2) == " {") line.resize(line.size() - 2);
  return line;
}

bool Touches(const Match& m, const Match& place) {
  const auto common = [](const auto& a, const auto& b) {
    return std::any_of(a.begin(), a.end(), [&](const auto& x) { return std::find(b.begin(), b.end(), x) != b.end(); });
  };
  return m.sdfg == place.sdfg && (common(m.statements, place.statements) || common(m.blocks, place.blocks) ||
                                  common(m.containers, place.containers));
}

}  // namespace

bool SamePlace(const Match& a, const Match& b) {
  return a.sdfg == b.sdfg && a.statements == b.statements && a.blocks == b.blocks && a.containers == b.containers;
}

std::string PlaceText(const Program& p, const Match& m) {
  std::vector<std::string> things;
  for (NodeId n : m.statements) things.push_back(ThingText(0, n.value));
  for (BlockId b : m.blocks) things.push_back(ThingText('b', b.value));
  for (Name c : m.containers) things.push_back(NameText(c));
  std::string text = m.sdfg == p.entry ? "" : NameText(m.sdfg) + ":";
  for (size_t i = 0; i < things.size(); ++i) text += (i ? "+" : "") + things[i];
  return text;
}

std::vector<std::string> ThingsAt(const Program& p, const Match& m) {
  const Sdfg& s = *p.Find(m.sdfg);
  PrintOptions o;
  o.origins = false;
  std::vector<std::string> things;
  for (NodeId n : m.statements) things.push_back(FirstLine(PrintNode(s, n, o)));
  for (BlockId b : m.blocks) things.push_back(FirstLine(PrintBlock(s, b, o)));
  for (Name n : m.containers) {
    const Container& c = s.Get(n);
    std::string sizes;
    for (const Expr& d : c.shape) sizes += (sizes.empty() ? "[" : ", ") + ToString(d);
    things.push_back(NameText(n) + ": " + std::string(DTypeName(c.dtype)) + sizes + (sizes.empty() ? "" : "]"));
  }
  return things;
}

Result<Match> ParsePlace(const Program& p, std::string_view text) {
  Match m;
  m.sdfg = p.entry;
  size_t at = 0;
  Name name = TakeName(text, &at);
  if (!name.empty() && at < text.size() && text[at] == ':') {
    m.sdfg = name;
    if (!p.Find(name)) return NoPlace(text, "there is no SDFG '" + name.str() + "'");
    ++at;
  } else {
    at = 0;
  }
  const Sdfg& s = *p.Find(m.sdfg);
  for (;;) {
    if (at < text.size() && text[at] == '#') {
      HR_RETURN_IF_ERROR(AddNumber(text, &at, s, &m));
    } else {
      name = TakeName(text, &at);
      if (name.empty()) return NoPlace(text, at < text.size() ? Unread(text, at) : "something is missing at its end");
      if (!s.Find(name)) return NoPlace(text, "SDFG " + s.name.str() + " has no container '" + name.str() + "'");
      m.containers.push_back(name);
    }
    if (at == text.size()) return m;
    if (text[at] != '+') return NoPlace(text, Unread(text, at));
    ++at;
  }
}

Result<std::vector<const Transformation*>> TransformationsOf(const Registry& r, const std::vector<std::string>& names) {
  if (names.empty()) return r.Transformations();
  std::vector<const Transformation*> chosen;
  for (const std::string& name : names) {
    chosen.push_back(r.FindTransformation(name));
    if (chosen.back()) continue;
    std::vector<std::string> known;
    for (const Transformation* t : r.Transformations()) known.push_back(t->name);
    const std::string close = ClosestWord(name, known);
    return UsageError("E0368", "no pass '" + name + "' has single steps",
                      close.empty() ? "`headrace opt --list` marks those that have by [@place]" : "did you mean '" + close + "'?");
  }
  return chosen;
}

Status ApplyAt(const Transformation& t, std::string_view place, const PassOptions& options, const Registry& r,
               Program& p) {
  HR_ASSIGN_OR_RETURN(const Match wanted, ParsePlace(p, place));
  HR_ASSIGN_OR_RETURN(const std::vector<Match> matches, t.find(p, options, r));
  for (const Match& m : matches)
    if (SamePlace(m, wanted)) return t.apply(p, m, options, r);
  std::string near;
  int count = 0;
  for (const Match& m : matches)
    if (Touches(m, wanted) && ++count <= 4) near += (near.empty() ? "" : ", ") + PlaceText(p, m);
  return UsageError("E0367", t.name + " can't be applied at " + std::string(place),
                    !near.empty()      ? "there it can: " + near
                    : matches.empty() ? "it can be applied nowhere in this program"
                                      : "`headrace opt FILE --list --of " + t.name + "` prints the places");
}

Transformation FromSteps(std::string name, std::string doc, std::vector<std::string> options, Steps steps,
                         Asking asking) {
  Transformation t;
  t.name = std::move(name), t.doc = std::move(doc), t.options = std::move(options);
  const auto only = [](const Match& match) { return [&match](const Match& m) { return SamePlace(m, match); }; };
  t.find = [=](const Program& p, const PassOptions& o, const Registry& r) -> Result<std::vector<Match>> {
    std::vector<Match> found;
    Program scratch = p;
    HR_RETURN_IF_ERROR(steps(scratch, o, r, [&](const Match& m) {
                         if (std::none_of(found.begin(), found.end(), only(m))) found.push_back(m);
                         return false;
                       }).status());
    if (asking == Asking::kWhenSure) return found;
    std::vector<Match> sure;
    for (const Match& m : found) {
      Program trial = p;
      const Result<bool> changed = steps(trial, o, r, only(m));
      if (changed.ok() && *changed) sure.push_back(m);
    }
    return sure;
  };
  t.apply = [=](Program& p, const Match& m, const PassOptions& o, const Registry& r) {
    return steps(p, o, r, only(m)).status();
  };
  t.run = [=](Program& p, const PassOptions& o, const Registry& r) { return steps(p, o, r, IsAdvised); };
  return t;
}

Result<bool> RunAdvised(const Transformation& t, Program& p, const PassOptions& o, const Registry& r) {
  for (int steps = 0; steps < kMostSteps; ++steps) {
    HR_ASSIGN_OR_RETURN(std::vector<Match> matches, t.find(p, o, r));
    const auto first = std::find_if(matches.begin(), matches.end(), [](const Match& m) { return m.advised; });
    if (first == matches.end()) return steps > 0;
    HR_RETURN_IF_ERROR(t.apply(p, *first, o, r));
  }
  return InternalError("transformation '" + t.name + "' finds an advised match after each of " +
                       std::to_string(kMostSteps) + " steps");
}

}  // namespace headrace
