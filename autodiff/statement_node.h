// A statement as a library node that carries what it means:
//
//   map i in 0:N { Y[i] = sin(t * X[i]) }
//   → v_t = t
//     node.map{body = "sdfg map(X: f64[N], Y: f64[N], v_t: i64) { let t = v_t; map i in 0:N { Y[i] = … } }"}(X = X, v_t = v_t) -> (Y = Y)
//
// Ports are the containers under their names (those of a call: as the callee calls them), and integers that no size tells. What
// the statement does not certainly overwrite before it reads it is also an input, with the value from before: Y and out_Y.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "autodiff/emit.h"
#include "ir/registry/registry.h"

namespace headrace::autodiff {

// The kind of statement that backward rules may be registered for: "map", "tasklet", "call"; "" for others.
std::string KindOf(const Sdfg& s, NodeId n);

struct StatementNode {
  Library node;
  std::vector<Container> added;  // transients that its inputs need
  struct Input {
    Name to;
    Name container;  // copied whole, or
    Name symbol;     // the value of a symbol
  };
  std::vector<Input> before;  // what gives them their values
  std::string refused;        // why it can't be a library node, or ""; a node that is refused is for looking at only
};
// Statement `n` of `s`, at state level. `names` are free in `s`; `fixed`: symbols that have one value in the whole run.
Result<StatementNode> MakeStatementNode(const Program& p, const Sdfg& s, NodeId n, FreshNames* names,
                                        const std::function<bool(Name)>& fixed);
// The node in an SDFG of its own, to be looked at.
Sdfg Alone(const Sdfg& s, const StatementNode& node, const Origin& origin);
// Puts it in the place of statement `n`; gives the statements that must stand before it.
std::vector<NodeId> PutStatementNode(Sdfg* s, NodeId n, FreshNames* names, const StatementNode& node);

// What such a node means: an SDFG whose parameters are its ports (their only ForwardImplementation, "pure").
Result<Program> ExpandStatementNode(const NodeView& v);

}  // namespace headrace::autodiff
