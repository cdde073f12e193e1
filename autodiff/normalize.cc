#include "autodiff/normalize.h"

#include <algorithm>
#include <optional>

#include "autodiff/emit.h"
#include "autodiff/fix_sizes.h"
#include "autodiff/gather_adjoints.h"
#include "ir/analysis/reorder.h"

namespace headrace::autodiff {
namespace {

constexpr int kMaxRounds = 64;  // calls inside callees inside …

Status RunPass(const Registry& r, const std::string& name, const std::string& options, Program& p) {
  if (r.FindPass(name) == nullptr)
    return UnsupportedError("E0809", "differentiation needs the pass '" + name + "', which no loaded plugin brings",
                            "load libtransforms.so");
  return RunPipeline(r, name + options, p);
}

// The only statement of a perfect nest of maps, or nothing.
std::optional<NodeId> Innermost(const Sdfg& s, NodeId n, std::vector<Range>* ranges) {
  while (auto* m = std::get_if<Map>(&s.nodes[n].body)) {
    if (m->body.size() != 1) return std::nullopt;
    ranges->insert(ranges->end(), m->ranges.begin(), m->ranges.end());
    n = m->body[0];
  }
  return n;
}

// A call that can't become part of a map's body is made by loops: reversal then sees what it does.
class CallsToLoops {
 public:
  explicit CallsToLoops(Sdfg* s) : s_(*s) {}
  bool Run() {
    s_.body = Blocks(s_.body);
    return changed_;
  }

 private:
  std::vector<BlockId> Blocks(const std::vector<BlockId>& body) {
    BlockList out(&s_);
    for (BlockId b : body) {
      Control c = s_.blocks[b].control;
      if (auto* st = std::get_if<State>(&c)) {
        const bool any = std::any_of(st->statements.begin(), st->statements.end(),
                                     [&](NodeId n) { return CallIn(n, nullptr).has_value(); });
        if (!any) {
          out.Block(b);
          continue;
        }
        for (NodeId n : st->statements) {
          std::vector<Range> ranges;
          if (std::optional<NodeId> call = CallIn(n, &ranges)) out.Block(Loops(ranges, 0, *call));
          else out.Statement(n);
        }
      } else if (auto* l = std::get_if<Loop>(&c)) {
        std::vector<BlockId> inner = Blocks(l->body);
        if (!(inner == l->body)) std::get<Loop>(s_.blocks.Mutable(b).control).body = std::move(inner);
        out.Block(b);
      } else if (auto* d = std::get_if<Conditional>(&c)) {
        for (size_t k = 0; k < d->branches.size(); ++k) {
          std::vector<BlockId> inner = Blocks(d->branches[k].body);
          if (!(inner == d->branches[k].body))
            std::get<Conditional>(s_.blocks.Mutable(b).control).branches[k].body = std::move(inner);
        }
        out.Block(b);
      } else {
        out.Block(b);
      }
    }
    return out.Take();
  }
  std::optional<NodeId> CallIn(NodeId n, std::vector<Range>* ranges) const {
    if (!std::holds_alternative<Map>(s_.nodes[n].body)) return std::nullopt;
    std::vector<Range> own;
    std::optional<NodeId> inner = Innermost(s_, n, &own);
    if (!inner || !std::holds_alternative<Nested>(s_.nodes[*inner].body)) return std::nullopt;
    if (ranges) *ranges = std::move(own);
    return inner;
  }
  BlockId Loops(const std::vector<Range>& ranges, size_t depth, NodeId call) {
    changed_ = true;
    const Origin origin = s_.nodes[call].origin;
    if (depth == ranges.size()) return s_.AddBlock(State{{}, {call}}, origin);
    const Range& r = ranges[depth];
    Loop l = RangeLoop(r.index, r.begin, r.end, r.step ? r.step : Expr(1));
    l.body = {Loops(ranges, depth + 1, call)};
    return s_.AddBlock(std::move(l), origin);
  }
  Sdfg& s_;
  bool changed_ = false;
};

// What is left that reversal has no answer for.
Status CheckCalls(const Sdfg& s, const std::vector<Name>& layers) {
  Status status;
  ForEachNode(s, [&](NodeId id) {
    const auto* n = std::get_if<Nested>(&s.nodes[id].body);
    if (n && status.ok() && std::find(layers.begin(), layers.end(), n->callee) == layers.end())
      status = WithNode(UnsupportedError("E0808", "the call of '" + n->callee.str() +
                                             "' can't be made part of its caller to be differentiated",
                                         "callees with persistent containers have no derivative"),
                        s.nodes[id].origin.Label());
  });
  return status;
}

}  // namespace

Status ToRowMajor(Program* p) {
  for (const std::shared_ptr<Sdfg>& shared : std::vector<std::shared_ptr<Sdfg>>(p->sdfgs)) {
    if (shared->kernel) continue;
    for (Name n : std::vector<Name>(shared->order)) {
      if (shared->Get(n).order.row_major() || Reorder(&p->Mutable(shared->name), n, {})) continue;
      return UnsupportedError("E0817", "the views of '" + n.str() + "' need its layout, and gradients are computed row-major",
                              "copy the container, or leave its layout out");
    }
  }
  return {};
}

Status Normalize(Program& p, const Registry& r, bool fuse, const std::vector<Name>& layers) {
  std::string inlining = "{everywhere=true";
  for (Name layer : layers) inlining += (layer == layers.front() ? ",leave=\"" : " ") + layer.str();
  inlining += layers.empty() ? "}" : "\"}";
  HR_RETURN_IF_ERROR(RunPass(r, "inline-nested", inlining, p));
  // Second order: what a gradient node computes is differentiated as ordinary maps.
  HR_RETURN_IF_ERROR(RunPass(r, "expand-library-nodes", "{only=grad.*}", p));
  if (fuse) {
    HR_RETURN_IF_ERROR(RunPass(r, "expand-library-nodes", "{where=elementwise}", p));
    // Maps keep nothing for each iteration of a loop, and their adjoints are maps. Some loops are maps only statement by statement,
    // others only once what an iteration keeps for itself is in registers.
    HR_RETURN_IF_ERROR(RunPass(r, "loop-to-map", "", p));
    HR_RETURN_IF_ERROR(RunPass(r, "fuse-maps", "", p));
    HR_RETURN_IF_ERROR(RunPass(r, "scalarize", "", p));
    HR_RETURN_IF_ERROR(RunPass(r, "loop-to-map", "", p));
    HR_RETURN_IF_ERROR(RunPass(r, "fuse-states", "", p));
    HR_RETURN_IF_ERROR(RunPass(r, "fuse-maps", "", p));
    HR_RETURN_IF_ERROR(RunPass(r, "scalarize", "", p));
    HR_RETURN_IF_ERROR(RunPass(r, "bin-sums", "", p));  // before there are adjoints of every element for every interval
  }
  HR_RETURN_IF_ERROR(RunPass(r, "accumulate", "", p));  // adjoints of sums read no element and move no gradient
  for (int round = 0; round < kMaxRounds; ++round) {
    HR_RETURN_IF_ERROR(RunPass(r, "expand-library-nodes", "{where=maps}", p));
    for (int k = 0; k < 2; ++k) {  // the second time for calls that are alone in their map by now
      HR_RETURN_IF_ERROR(RunPass(r, "inline-nested", inlining, p));
      HR_RETURN_IF_ERROR(StructureExits(p).status());
      HR_RETURN_IF_ERROR(LocalizeMaps(p).status());
    }
    if (!CallsToLoops(&p.MutableEntry()).Run()) break;
  }
  HR_RETURN_IF_ERROR(CheckCalls(p.Entry(), layers));
  HR_RETURN_IF_ERROR(FixSizes(p).status());
  return RunPass(r, "eliminate-dead-code", "", p);
}

Status RegisterNormalization(Registry& r) {
  Pass exits;
  exits.name = "structure-exits";
  exits.doc = "break, continue and do-while become flags and conditions";
  exits.run = [](Program& p, const PassOptions&, const Registry&) { return StructureExits(p); };
  HR_RETURN_IF_ERROR(r.Add(std::move(exits)));
  Pass local;
  local.name = "localize-maps";
  local.doc = "divides maps until none reads an array that it wrote; registers are set once";
  local.run = [](Program& p, const PassOptions&, const Registry&) { return LocalizeMaps(p); };
  HR_RETURN_IF_ERROR(r.Add(std::move(local)));
  Pass gather;
  gather.name = "gather-adjoints";
  gather.doc = "maps that add to one array at several distances become one that sums what each adds to an element";
  gather.run = [](Program& p, const PassOptions&, const Registry&) { return GatherAdjoints(p); };
  HR_RETURN_IF_ERROR(r.Add(std::move(gather)));
  Pass all;
  all.name = "normalize";
  all.doc = "the shape that programs are differentiated in: no calls, no exits, local maps";
  all.options = {"fuse"};
  all.run = [](Program& p, const PassOptions& o, const Registry& reg) -> Result<bool> {
    bool fuse = true;
    for (const auto& [key, value] : o)
      if (key == "fuse") fuse = value != "false";
    HR_RETURN_IF_ERROR(Normalize(p, reg, fuse));
    return true;
  };
  return r.Add(std::move(all));
}

}  // namespace headrace::autodiff
