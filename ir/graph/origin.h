// Where something came from. Every pass keeps it. Text: trailing  from "conv1", grad "relu1" by "fuse-maps".
#pragma once
#include <string>
#include <vector>

#include "ir/base/name.h"
#include "ir/base/status.h"

namespace headrace {

// A node of a DAG that all programs share: a source (a node of the imported model, a line of a program), or what a pass
// made of others. Immutable, and kept once for the life of the process: copying and comparing one is that of a pointer.
// What a pass makes of one origin inherits its op and place; what it makes of several has those they agree on.
class Origin {
 public:
  // One source. `gradients`: how often it was differentiated, with regard to the statement that has the origin.
  struct Source {
    Name name;
    int gradients = 0;
  };

  Origin() : Origin(Name()) {}          // unknown
  explicit Origin(Name source);         // named by the model or program; "" = unknown
  Origin(Name source, Name pass) : Origin(Origin(source).By(pass)) {}

  Origin By(Name pass) const;           // what `pass` made of it; itself where it is of that pass already, or `pass` is ""
  Origin Gradient(Name pass) const;     // its backward statement, made by `pass`
  static Origin Merged(const std::vector<Origin>& of, Name pass);  // unknown ones and repeated ones are left out
  Origin WithOp(Name op) const;         // "onnx.Gather"; itself where it has one
  Origin At(Name file, int line, int column) const;  // the same, at this place; itself where line is 0

  bool named() const;                   // has sources
  bool known() const { return named() || line() > 0; }
  std::vector<Source> Sources() const;  // in order, each once
  std::string Label() const;            // for messages: "conv1", "conv1+relu1", "a+b+c and 9 more", "gradient of conv1"
  Name pass() const;                    // the last one ("" = the importer or the text)
  // Not printed; for errors. What was read from IR text has a place, what a library node was expanded to has its op.
  Name op() const;
  Name file() const;  // as the user gave it
  int line() const;
  int column() const;
  // The DAG itself, for who shows it whole.
  Name source() const;                          // "" where a pass made it
  const std::vector<Origin>& inputs() const;    // what the pass had
  bool is_gradient() const;                     // of its only input
  const void* identity() const { return node_; }  // for sets

  friend bool operator==(const Origin& a, const Origin& b) { return a.node_ == b.node_; }
  friend bool operator!=(const Origin& a, const Origin& b) { return a.node_ != b.node_; }

 private:
  struct Node;
  struct Table;
  static Origin Made(Node n);
  explicit Origin(const Node* n) : node_(n) {}
  const Node* node_;
};

// The forward origins that `o` is the gradient of, directly (not those of which it is the gradient's gradient alone).
std::vector<Origin> ForwardOf(const Origin& o);
// The status with node, op and place where they are missing.
Status WithOrigin(Status s, const Origin& o);

}  // namespace headrace
