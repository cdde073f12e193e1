// The statements of states: what they use, and whether they may stand there.
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/verify/verify_scope.h"

namespace headrace::verify {

class Statements {
 public:
  Statements(const Program* p, const Sdfg& s, Writers* writers, Scope* scope, Report* report)
      : p_(p), s_(s), writers_(*writers), scope_(*scope), r_(*report) {}

  void Check(NodeId statement, bool reached = true);  // where it is not, indices and races don't matter
  void Registers();  // at the end: each lives in one map

 private:
  void Node1(NodeId id);
  void ChoiceNode(NodeId id, const If& i);
  void TouchNode(NodeId id, const Touch& k);
  void MapNode(NodeId id, const Map& m);
  void TaskletNode(NodeId id, const Tasklet& t);
  void LibraryNode(NodeId id, const Library& l);
  void CallNode(NodeId id, const Nested& n);
  void Bind(NodeId id, const Sdfg& f, const Nested& n, const Argument& a, std::unordered_set<Name>* bound, NameMap* sizes);

  void OnlyInKernels(const char* what, NodeId id);
  void WrittenBefore(NodeId loop);
  void CollectReads(const Expr& e, NodeId id, bool conditional);
  void WholeUse(NodeId id, Name container, bool write);
  void AddUse(Use u);
  void RegisterUse(const Use& u);

  const Program* p_;
  const Sdfg& s_;
  Writers& writers_;
  Scope& scope_;
  Report& r_;
  std::unordered_map<Name, std::vector<uint32_t>> register_home_;
  std::vector<Use> uses_;
  std::vector<uint32_t> maps_;
  Known known_;
  bool nest_ok_ = true;
};

}  // namespace headrace::verify
