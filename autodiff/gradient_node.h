// What a grad.* node looks like, and how to read the forward node back from it.
//
//   grad.Conv{domain = "onnx", `like.B` = ["f32", "64"], …the forward's attributes}(X = X, W = W, grad_Y = dY) -> (grad_X = dX)
//
// Ports are the forward's, variadic ones flat (name_0, name_1 …); `like.PORT` gives type and shape of forward ports that are
// neither read nor differentiated. The gradient of a grad.* node has the domain grad.grad; the inner node's own `domain`,
// `like.…` and `ports` are then called of.domain, of.like.… and so on. `ports` lists the forward's ports ("X", "->", "Y")
// where its op declares none.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ir/registry/registry.h"

namespace headrace::autodiff {

constexpr int64_t kSmallConstant = 1024;  // elements of a constant that forms see as known (ir/registry/node_view.cc)

struct FlatPort {
  std::string name;  // inputs_0; the port's own name unless variadic
  std::string port;  // inputs
  Name container;
};
std::vector<FlatPort> FlatPorts(const std::vector<Port>& ports, const std::vector<PortSignature>* declared);

Name GradientName(const std::string& port);  // grad_X
bool IsGradientName(std::string_view n);

// The forward node that a gradient node stands for, in an SDFG of its own.
struct Forward {
  Program program;
  NodeId id;
  NodeView view;
  std::vector<FlatPort> inputs, outputs;  // present ones
  std::vector<std::string> given,
      required;  // flat output ports whose gradient comes in; input ports whose gradient goes out
  const Library& node() const { return *view.node; }
};
Result<std::unique_ptr<Forward>> ForwardOf(const Registry& r, const NodeView& gradient);

// A gradient node in an SDFG of its own; containers are named as in `s`, gradients grad_PORT. Wires the values in `read`
// (null: all) and small constants.
struct GradientNode {
  Program program;
  Library node;
  NodeView view;
};
Result<std::unique_ptr<GradientNode>> MakeGradientNode(const Registry& r, const Sdfg& s, const NodeView& forward,
                                                       const std::vector<std::string>& given,
                                                       const std::vector<std::string>& required,
                                                       const std::unordered_set<std::string>* read);

// Attributes as text, to tell nodes apart.
std::string PrintKey(const Attributes& a);
// Renames containers, declarations included.
void RenameContainers(Sdfg* s, const std::vector<std::pair<Name, Name>>& names);
// Drops the entry's parameters that nothing uses; checks that every gradient asked for is written.
Status KeepPorts(Program* p, const Forward& f);

}  // namespace headrace::autodiff
