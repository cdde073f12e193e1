#include "transforms/by_hand/by_hand.h"

#include <algorithm>

#include "ir/base/spelling.h"
#include "ir/verify/verify.h"

namespace headrace::by_hand {
namespace {

using Act = std::function<Status(Sdfg*, NodeId, const PassOptions&)>;

std::string Option(const PassOptions& o, const std::string& name) {
  for (const auto& [key, value] : o)
    if (key == name) return value;
  return "";
}

// A step at every statement of a kernel, once its options are given: without them it is listed nowhere.
Transformation Step(std::string name, std::string doc, std::vector<std::string> options, std::vector<std::string> needed, Act act) {
  Transformation t;
  t.name = std::move(name), t.doc = std::move(doc), t.options = std::move(options);
  t.find = [needed](const Program& p, const PassOptions& o, const Registry&) -> Result<std::vector<Match>> {
    std::vector<Match> found;
    if (std::any_of(needed.begin(), needed.end(), [&](const std::string& n) { return Option(o, n).empty(); })) return found;
    for (const auto& s : p.sdfgs) {
      if (!s->kernel) continue;
      for (BlockId b : s->body)
        if (const auto* state = std::get_if<State>(&s->blocks[b].control))
          for (NodeId n : state->statements) found.push_back(Match{s->name, {n}, {}, {}, "where is for a person to say", false});
    }
    return found;
  };
  t.apply = [act](Program& p, const Match& m, const PassOptions& o, const Registry&) {
    Sdfg& s = p.Mutable(m.sdfg);
    s.unscheduled.clear();
    HR_RETURN_IF_ERROR(act(&s, m.statements[0], o));
    const Status legal = Verify(p, s);
    if (legal.ok()) return legal;
    const Diagnostic& d = legal.diagnostics().front();
    return Unfit("the kernel would be wrong: " + d.message + " (" + d.code + ")", d.hint);
  };
  return t;
}

}  // namespace

Status Unfit(const std::string& why, const std::string& hint) {
  Diagnostic d;
  d.kind = ErrorKind::kUsage;
  d.code = "E0364";
  d.message = why;
  d.hint = hint;
  return Status(d);
}

void ForEachUnder(const Sdfg& s, NodeId statement, const std::function<void(NodeId)>& fn) {
  fn(statement);
  ForEachBody(s.nodes[statement].body, [&](const std::vector<NodeId>& inside) {
    for (NodeId n : inside) ForEachUnder(s, n, fn);
  });
}

Result<IndexedMap> MapOf(const Sdfg& kernel, NodeId statement, Name index) {
  IndexedMap found;
  std::vector<std::string> known;
  ForEachUnder(kernel, statement, [&](NodeId n) {
    const auto* m = std::get_if<Map>(&kernel.nodes[n].body);
    for (size_t i = 0; m && i < m->ranges.size(); ++i) {
      known.push_back(m->ranges[i].index.str());
      if (m->ranges[i].index == index && !found.map.valid()) found = {n, i};
    }
  });
  if (found.map.valid()) return found;
  std::string names;
  for (const std::string& n : known) names += (names.empty() ? "" : ", ") + n;
  return Unfit("the statement has no index '" + index.str() + "'", names.empty() ? "it has none" : "it has " + names);
}

void Replace(Sdfg* kernel, NodeId statement, NodeId n, const std::vector<NodeId>& by) {
  const auto put = [&](std::vector<NodeId>* list) {
    const auto at = std::find(list->begin(), list->end(), n);
    if (at == list->end()) return false;
    list->insert(list->erase(at), by.begin(), by.end());
    return true;
  };
  if (n == statement) {
    for (BlockId b : kernel->body)
      if (std::holds_alternative<State>(kernel->blocks[b].control) && put(&std::get<State>(kernel->blocks.Mutable(b).control).statements)) return;
    return;
  }
  NodeId owner;
  ForEachUnder(*kernel, statement, [&](NodeId x) {
    ForEachBody(kernel->nodes[x].body, [&](const std::vector<NodeId>& inside) {
      if (std::find(inside.begin(), inside.end(), n) != inside.end()) owner = x;
    });
  });
  ForEachBody(&kernel->nodes.Mutable(owner).body, [&](std::vector<NodeId>& inside) { put(&inside); });
}

Status RegisterAll(Registry& r) {
  HR_RETURN_IF_ERROR(r.Add(Step("split-range", "cuts the range of `index` into parts of `by` iterations", {"index", "by"}, {"index", "by"},
                                [](Sdfg* s, NodeId n, const PassOptions& o) -> Status {
                                  const std::string by = Option(o, "by");
                                  const bool number = by.size() < 18 && std::all_of(by.begin(), by.end(), IsDigit);
                                  if (!number || std::stoll(by) < 1)
                                    return UsageError("E0357", "split-range: by must be a whole number from 1 on, not '" + by + "'");
                                  return SplitRange(s, n, Name(Option(o, "index")), std::stoll(by));
                                })));
  HR_RETURN_IF_ERROR(r.Add(Step("reorder-ranges", "puts the ranges of maps within each other into the `order` \"i j | k\", with a map for what `|` parts",
                                {"order"}, {"order"},
                                [](Sdfg* s, NodeId n, const PassOptions& o) { return ReorderRanges(s, n, Option(o, "order")); })));
  HR_RETURN_IF_ERROR(r.Add(Step("schedule-range", "runs the map of `index` as parallel, vector, unroll or sequential", {"index", "as"}, {"index", "as"},
                                [](Sdfg* s, NodeId n, const PassOptions& o) {
                                  return ScheduleRange(s, n, Name(Option(o, "index")), Option(o, "as"));
                                })));
  HR_RETURN_IF_ERROR(r.Add(Step("keep-near", "keeps what the iterations of `index` use of `container` in a local array: a register, or a worker's",
                                {"container", "index", "in"}, {"container", "index"},
                                [](Sdfg* s, NodeId n, const PassOptions& o) -> Status {
                                  const std::string in = Option(o, "in");
                                  if (!in.empty() && in != "register" && in != "worker")
                                    return UsageError("E0357", "keep-near: in is register or worker, not '" + in + "'");
                                  return KeepNear(s, n, Name(Option(o, "container")), Name(Option(o, "index")),
                                                  in == "worker" ? Storage::kWorker : Storage::kRegister);
                                })));
  return r.Add(Step("fuse-multiply-add", "rounds the sums of products under `index` once: t += a * b as t = fma(a, b, t)", {"index"}, {"index"},
                    [](Sdfg* s, NodeId n, const PassOptions& o) { return FuseMultiplyAdd(s, n, Name(Option(o, "index"))); }));
}

}  // namespace headrace::by_hand
