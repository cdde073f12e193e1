// Builds one SDFG statement by statement, with nested bodies opened and closed like brackets. It can be saved and put back
// (a loop whose carried sizes turn out to change is lowered again), which costs little: tables are copy-on-write.
#pragma once
#include <string>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph/graph.h"

namespace headrace::onnx_import {

// Any text as an identifier of the notation that no keyword takes: "conv1/Relu:0" → "conv1_Relu_0".
std::string Identifier(const std::string& text, const std::string& fallback);

class Emitter {
 public:
  Sdfg sdfg;

  Name Unique(const std::string& text, const std::string& fallback = "t");  // containers and symbols share one space
  void SetOrigin(const std::string& node) { origin_ = Origin(node); }
  const Origin& origin() const { return origin_; }
  void Add(Container c);
  NodeId Statement(Body body);                                   // appended to the open state
  void Append(Control control);                                  // a block; the next statement opens a new state
  void OpenBody(std::vector<BlockId> blocks = {}, int id = -1);  // an id: goes on with a body that was closed
  std::vector<BlockId> CloseBody();
  int body() const { return bodies_.back().id; }  // of the innermost open body
  bool IsOpen(int body) const;
  // target[i…] = value read at `index` of i…; one map, or a bare assignment for scalars.
  void Copy(Name target, Name source, const std::vector<Expr>& shape);
  void Elementwise(Name target, const std::vector<Expr>& shape,
                   const std::function<Expr(const std::vector<Expr>&)>& value,
                   const std::function<std::vector<Expr>(const std::vector<Expr>&)>& place = {});

 private:
  struct Open {
    int id = 0;
    std::vector<BlockId> blocks;
    BlockId state;
  };
  std::vector<Open> bodies_ = {Open{}};
  int next_body_ = 1;
  std::unordered_set<std::string> taken_;
  std::unordered_set<std::string> indices_;  // of maps; many maps have the same, no container has
  std::unordered_map<std::string, int> next_suffix_;
  Origin origin_;
};

}  // namespace headrace::onnx_import
