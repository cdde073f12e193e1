// Copying the body of one SDFG into another: the shared part of expand-library-nodes and inline-nested.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::transforms {

// Every name that means something in an SDFG; gives fresh ones in constant time.
class NameTable {
 public:
  explicit NameTable(const Sdfg& s);
  // A container or symbol name: differs from everything, map indices included. Remembered.
  Name Fresh(Name stem);
  // A map index may share its name with other maps' indices, not with a container or symbol.
  Name FreshIndex(Name stem, const std::vector<Name>& around);
  void Reserve(Name n) { fixed_.insert(n); }

 private:
  std::unordered_set<Name> fixed_, indices_;
  std::unordered_map<Name, int> next_;
};

struct InlineRequest {
  const Sdfg* callee = nullptr;
  std::vector<Argument> arguments;             // a port that is missing reads as absent
  NameMap symbols;                             // callee symbol → caller expression; bare dims of parameters are added
  std::vector<std::pair<Name, Name>> callees;  // renamed SDFGs that the body calls
  Origin origin;                               // given to nodes that have none
  std::unordered_map<Name, Name> sources;      // of the origins in the callee: what they are called for this call
  std::vector<Name> indices_around;            // of the maps that the call is in; empty at state level
  // The ranges of these maps, if arrays of the callee may become arrays with an element for every iteration.
  std::vector<Range> ranges_around;
  // The blocks are for state level, each statement for all iterations at once: the caller puts the maps around them.
  bool spread = false;
};

// The copied blocks, in order, not yet linked anywhere. At state level everything can be inlined whose arguments have no
// index; inside a map only states of tasklets and maps, whose transients become registers. The error says why not.
Result<std::vector<BlockId>> InlineBody(Sdfg* caller, NameTable* names, const InlineRequest& request);

// Rebuilds a block list: `fn` handles one statement by returning false (keep it) or true (it appended what replaces it).
class BlockRewriter {
 public:
  explicit BlockRewriter(Sdfg* s) : s_(s) {}
  void AppendStatement(NodeId n) { open_.push_back(n); }
  void AppendBlocks(const std::vector<BlockId>& blocks);  // states among them melt into the open one
  // Calls fn(rewriter, node) for every statement at state level, in loops and branches too.
  template <typename Fn>
  void Run(Fn&& fn) {
    s_->body = List(s_->body, fn);
  }
  // The same for one more loop or conditional, appended here.
  template <typename Fn>
  void RunOn(BlockId b, Fn&& fn) {
    AppendBlocks(List({b}, fn));
  }

 private:
  template <typename Fn>
  std::vector<BlockId> List(const std::vector<BlockId>& body, Fn& fn);
  void Flush(Name label = {}, Origin origin = {});
  void Begin() { stack_.push_back({std::move(out_), std::move(open_)}), out_.clear(), open_.clear(); }
  std::vector<BlockId> End();
  Sdfg* s_;
  std::vector<BlockId> out_;
  std::vector<NodeId> open_;
  std::vector<std::pair<std::vector<BlockId>, std::vector<NodeId>>> stack_;
};

template <typename Fn>
std::vector<BlockId> BlockRewriter::List(const std::vector<BlockId>& body, Fn& fn) {
  Begin();
  for (BlockId b : body) {
    if (std::holds_alternative<State>(s_->blocks[b].control)) {
      State st = std::get<State>(s_->blocks[b].control);
      size_t before = out_.size();
      for (NodeId n : st.statements)
        if (!fn(*this, n)) AppendStatement(n);
      if (out_.size() == before && open_ == st.statements) {  // untouched: keep the block and its label
        open_.clear();
        out_.push_back(b);
      } else {
        Flush(st.label, s_->blocks[b].origin);
      }
      continue;
    }
    if (auto* l = std::get_if<Loop>(&s_->blocks[b].control)) {
      std::vector<BlockId> inner = List(std::vector<BlockId>(l->body), fn);
      std::get<Loop>(s_->blocks.Mutable(b).control).body = std::move(inner);
    } else if (auto* c = std::get_if<Conditional>(&s_->blocks[b].control)) {
      std::vector<Branch> branches = c->branches;
      for (Branch& br : branches) br.body = List(br.body, fn);
      std::get<Conditional>(s_->blocks.Mutable(b).control).branches = std::move(branches);
    }
    out_.push_back(b);
  }
  return End();
}

}  // namespace headrace::transforms
