// The names of one SDFG while its body is walked: what each means here, and whether an array has been written.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/verify/verify_impl.h"

namespace headrace::verify {

// What is known of a container, and of an array how it was used so far.
struct Entry {
  const Container* container = nullptr;
  Name root;
  Entry* array = nullptr;  // the root's own; null: it is not declared
  bool written = false, written_later = false, read = false, complained = false;
  bool assigned = false;  // somewhere, by more than accumulation
};

class Scope {
 public:
  Scope(const Sdfg& s, Writers* writers, Report* report) : s_(s), writers_(*writers), r_(*report) {}

  void ListContainers();
  void Symbols();     // sizes that have a value from the start
  void NoteWrites();  // where statements write at all
  void Unwritten();   // at the end: parameters that should have been written

  bool HasPlaces() const { return has_places_; }  // slots of the arena, or places in them
  Entry* EntryOf(Name n);
  const Container* Find(Name n) const;
  Name Root(Name n) const;

  void Define(Name n, NodeId at, const char* what);
  void Undefine(Name n);
  bool IsDefined(Name n) const { return defined_.count(n) > 0; }
  void MarkWritten(Name root) {  // by an iteration before
    if (Entry* e = EntryOf(root); e && e->assigned) e->written = true;
  }
  void Written(const Entry& e, NodeId id);

  // Names, ranks, definitions before use.
  bool Names(const Expr& e, NodeId at, bool index_only = false);
  bool Rank(const Container& c, size_t rank, bool flat, NodeId at);
  bool IsOutside(const Expr& read, const Container& c) const;
  bool Readable(const Entry& e, NodeId at, bool guarded, const Expr& read = {});
  // The same; then types.
  Result<Expr> Typed(const Expr& e, NodeId at, const std::string& what);
  void TypeError(const Status& st, NodeId at, const std::string& what);
  void Condition(const Expr& e, const std::string& what, NodeId at = {});

 private:
  void NoteWrites(NodeId n);
  void NoteAssigned(NodeId n);
  bool Read(const Expr& x, NodeId at);

  const Sdfg& s_;
  Writers& writers_;
  Report& r_;
  std::unordered_map<Name, Entry> table_;  // the SDFG's, for quicker look-up
  std::unordered_map<Name, int> defined_;
  bool has_places_ = false;
};

}  // namespace headrace::verify
