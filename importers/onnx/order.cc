// Dependencies between the nodes of a graph.
#include <algorithm>
#include <queue>

#include "importers/onnx/lower.h"

namespace headrace::onnx_import {
namespace {

template <typename Fn>
void EachSubgraph(const onnx::NodeProto& node, Fn&& fn) {
  for (const auto& a : node.attribute()) {
    if (a.has_g()) fn(a.g());
    for (const auto& g : a.graphs()) fn(g);
  }
}

}  // namespace

void OuterNames(const onnx::GraphProto& g, std::unordered_set<std::string>* names) {
  std::unordered_set<std::string> own, read;
  for (const auto& v : g.input()) own.insert(v.name());
  for (const auto& t : g.initializer()) own.insert(t.name());
  for (const auto& t : g.sparse_initializer()) own.insert(t.values().name());
  for (const auto& n : g.node()) {
    for (const auto& i : n.input()) read.insert(i);
    EachSubgraph(n, [&](const onnx::GraphProto& inner) { OuterNames(inner, &read); });
    for (const auto& o : n.output()) own.insert(o);
  }
  for (const auto& v : g.output()) read.insert(v.name());
  for (const std::string& r : read)
    if (!r.empty() && !own.count(r)) names->insert(r);
}

std::vector<std::string> ReadsOf(const onnx::NodeProto& node) {
  std::vector<std::string> out(node.input().begin(), node.input().end());
  std::unordered_set<std::string> captured;
  EachSubgraph(node, [&](const onnx::GraphProto& g) { OuterNames(g, &captured); });
  out.insert(out.end(), captured.begin(), captured.end());
  if (IsGradient(node))  // differentiates values that it names
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "y") out.push_back(attribute.s());
      else if (attribute.name() == "xs" || attribute.name() == "zs")
        out.insert(out.end(), attribute.strings().begin(), attribute.strings().end());
    }
  out.erase(std::remove(out.begin(), out.end(), std::string()), out.end());
  return out;
}

std::vector<int> Order(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, std::vector<int>* cycle) {
  std::unordered_map<std::string, int> producer;
  for (int i = 0; i < nodes.size(); ++i)
    for (const auto& o : nodes[i].output())
      if (!o.empty()) producer.emplace(o, i);
  std::vector<std::vector<int>> users(static_cast<size_t>(nodes.size()));
  std::vector<int> waits(static_cast<size_t>(nodes.size()), 0);
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& r : ReadsOf(nodes[i])) {
      auto it = producer.find(r);
      if (it == producer.end()) continue;
      users[static_cast<size_t>(it->second)].push_back(i);
      ++waits[static_cast<size_t>(i)];
    }
  // The given order wherever it is possible: text and memory plans stay close to the model.
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (waits[static_cast<size_t>(i)] == 0) ready.push(i);
  std::vector<int> order;
  while (!ready.empty()) {
    const int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int u : users[static_cast<size_t>(i)])
      if (--waits[static_cast<size_t>(u)] == 0) ready.push(u);
  }
  if (static_cast<int>(order.size()) == nodes.size()) return order;
  if (cycle)
    for (int i = 0; i < nodes.size(); ++i)
      if (waits[static_cast<size_t>(i)] > 0) cycle->push_back(i);
  return {};
}

}  // namespace headrace::onnx_import
