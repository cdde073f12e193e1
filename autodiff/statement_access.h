// What a statement reads, writes and surely overwrites: what a library node in its place has for ports.
#pragma once
#include <set>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::autodiff {

struct Access {
  Name container;
  bool read = false, write = false;
  bool whole = false;  // every element is written before any is read
};
struct Accesses {
  std::vector<Access> containers;  // in order of appearance; registers are `local`
  std::vector<Name> local;
  // Of an array that is written under several names the base stands in `containers`; these views of it are the other names.
  std::vector<Name> views;  // bases first
  std::vector<Name> symbols;  // free ones of its expressions, not of the containers' shapes, but of views and registers
  std::set<Name> indices;     // of its maps
  std::vector<Name> callees;
  bool defines = false;  // a library node in it determines sizes
};
Accesses AccessesOf(const Program& p, const Sdfg& s, NodeId n);

}  // namespace headrace::autodiff
