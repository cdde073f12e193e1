#include "importers/onnx/inference.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "importers/onnx/lower.h"

namespace headrace::onnx_import {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Names = std::unordered_set<std::string>;

template <typename F>
void EachSubgraph(onnx::NodeProto* n, const F& f) {
  for (auto& a : *n->mutable_attribute()) {
    if (a.has_g()) f(a.mutable_g());
    for (auto& g : *a.mutable_graphs()) f(&g);
  }
}

// One graph or function body with everything nested in it.
class Rewrite {
 public:
  explicit Rewrite(int opset) : opset_(opset) {}
  int normalizations = 0, dropouts = 0;

  void Visit(Nodes* nodes) {
    std::vector<std::pair<int, onnx::NodeProto>> given;  // statistics still read, with the place where they are made
    for (int i = 0; i < nodes->size(); ++i) {
      onnx::NodeProto* n = nodes->Mutable(i);
      EachSubgraph(n, [&](onnx::GraphProto* g) { Visit(g->mutable_node()); });
      if (!n->domain().empty() && n->domain() != "ai.onnx") continue;
      if (n->op_type() == "Dropout") dropouts += Dropout(n);
      if (n->op_type() == "BatchNormalization") normalizations += Normalization(n, i, &given);
    }
    // Behind their normalisation: nodes must stay in order.
    for (auto it = given.rbegin(); it != given.rend(); ++it) {
      *nodes->Add() = std::move(it->second);
      std::rotate(nodes->pointer_begin() + it->first + 1, nodes->pointer_end() - 1, nodes->pointer_end());
    }
  }

  // Removes nodes and initializers that only the removed inputs and outputs kept alive. `outputs`: of a function.
  void Tidy(onnx::GraphProto* graph, Nodes* nodes, const std::vector<std::string>& outputs) {
    for (bool changed = !unread_.empty(); changed;) {
      Names read(outputs.begin(), outputs.end());
      if (graph) Reads(*graph, &read);
      else
        for (auto& n : *nodes) Reads(n, &read);
      changed = RemoveNodes(nodes, read);
      if (graph) RemoveValues(graph, read);
      for (auto& n : *nodes) EachSubgraph(&n, [&](onnx::GraphProto* g) { changed = TidyInner(g, read) || changed; });
    }
  }

 private:
  bool Dropout(onnx::NodeProto* n) {
    if (opset_ < 7) return SetInt(n, "is_test", 1);
    if (opset_ < 12 || n->input_size() < 3) return false;
    if (!n->input(2).empty()) unread_.insert(n->input(2));
    n->mutable_input()->RemoveLast();
    while (n->input_size() > 1 && n->input(n->input_size() - 1).empty()) n->mutable_input()->RemoveLast();
    return true;
  }

  bool Normalization(onnx::NodeProto* n, int at, std::vector<std::pair<int, onnx::NodeProto>>* given) {
    bool changed = opset_ >= 14 ? ClearInt(n, "training_mode") : opset_ < 7 ? SetInt(n, "is_test", 1) : false;
    while (n->output_size() > 1) {
      const int i = n->output_size() - 1;
      const std::string& name = n->output(i);
      const int input = i % 2 == 1 ? 3 : 4;  // mean, var and, before opset 14, saved_mean, saved_var
      // Old exports give an updated statistic its input's name.
      if (!name.empty() && n->input_size() > input && n->input(input) != name) {
        unread_.insert(name);
        onnx::NodeProto identity;
        identity.set_op_type("Identity");
        identity.set_name(name + "_given");
        identity.add_input(n->input(input));
        identity.add_output(name);
        given->emplace_back(at, std::move(identity));
      }
      n->mutable_output()->RemoveLast();
      changed = true;
    }
    return changed;
  }

  // True when that changes what the node does.
  static bool SetInt(onnx::NodeProto* n, const std::string& name, int64_t value) {
    for (auto& a : *n->mutable_attribute())
      if (a.name() == name) {
        const bool changed = a.i() != value || !a.ref_attr_name().empty();
        a.clear_ref_attr_name();
        a.set_type(onnx::AttributeProto::INT);
        a.set_i(value);
        return changed;
      }
    auto* a = n->add_attribute();
    a->set_name(name);
    a->set_type(onnx::AttributeProto::INT);
    a->set_i(value);
    return true;
  }
  static bool ClearInt(onnx::NodeProto* n, const std::string& name) {
    for (int i = 0; i < n->attribute_size(); ++i)
      if (n->attribute(i).name() == name) {
        const bool changed = n->attribute(i).i() != 0 || !n->attribute(i).ref_attr_name().empty();
        n->mutable_attribute()->DeleteSubrange(i, 1);
        return changed;
      }
    return false;
  }

  static void Reads(onnx::NodeProto& n, Names* out) {
    out->insert(n.input().begin(), n.input().end());
    EachSubgraph(&n, [&](onnx::GraphProto* g) { Reads(*g, out); });
  }
  static void Reads(onnx::GraphProto& g, Names* out) {
    for (auto& n : *g.mutable_node()) Reads(n, out);
    for (const auto& o : g.output()) out->insert(o.name());
  }

  bool RemoveNodes(Nodes* nodes, const Names& read) {
    const int before = nodes->size();
    auto dead = [&](onnx::NodeProto& n) {
      bool ours = false;
      for (const auto& o : n.output()) {
        if (!o.empty() && read.count(o)) return false;
        ours = ours || unread_.count(o);
      }
      if (ours) Reads(n, &unread_);
      return ours;
    };
    nodes->erase(std::remove_if(nodes->begin(), nodes->end(), dead), nodes->end());
    return nodes->size() != before;
  }
  void RemoveValues(onnx::GraphProto* g, const Names& read) {
    auto dead = [&](const std::string& name) { return unread_.count(name) && !read.count(name); };
    Names constants;
    for (const auto& t : g->initializer()) constants.insert(t.name());
    for (const auto& t : g->sparse_initializer()) constants.insert(t.values().name());
    auto erase = [](auto* list, const auto& f) {
      list->erase(std::remove_if(list->begin(), list->end(), f), list->end());
    };
    erase(g->mutable_initializer(), [&](const auto& t) { return dead(t.name()); });
    erase(g->mutable_sparse_initializer(), [&](const auto& t) { return dead(t.values().name()); });
    erase(g->mutable_input(), [&](const auto& v) { return dead(v.name()) && constants.count(v.name()); });
    erase(g->mutable_quantization_annotation(), [&](const auto& a) { return dead(a.tensor_name()); });
    Names made;
    for (const auto& v : g->input()) made.insert(v.name());
    for (const auto& n : g->node()) made.insert(n.output().begin(), n.output().end());
    erase(g->mutable_value_info(), [&](const auto& v) { return dead(v.name()) && !made.count(v.name()); });
  }
  bool TidyInner(onnx::GraphProto* g, const Names& read) {
    bool changed = RemoveNodes(g->mutable_node(), read);
    RemoveValues(g, read);
    for (auto& n : *g->mutable_node())
      EachSubgraph(&n, [&](onnx::GraphProto* inner) { changed = TidyInner(inner, read) || changed; });
    return changed;
  }

  const int opset_;
  Names unread_;  // what lost a reader or its maker
};

}  // namespace

std::vector<std::string> MakeInference(onnx::ModelProto* model) {
  int normalizations = 0, dropouts = 0;
  auto rewrite = [&](const Opsets& opsets, onnx::GraphProto* graph, Nodes* nodes,
                     const std::vector<std::string>& outputs) {
    auto opset = opsets.find("");
    Rewrite r(opset == opsets.end() ? 1 : opset->second);
    r.Visit(nodes);
    r.Tidy(graph, nodes, outputs);
    normalizations += r.normalizations;
    dropouts += r.dropouts;
  };
  rewrite(OpsetsOf(model->opset_import()), model->mutable_graph(), model->mutable_graph()->mutable_node(), {});
  for (auto& f : *model->mutable_functions())
    rewrite(OpsetsOf(f.opset_import()), nullptr, f.mutable_node(), {f.output().begin(), f.output().end()});
  std::vector<std::string> report;
  auto say = [&](int count, const std::string& what) {
    if (count > 0)
      report.push_back(std::to_string(count) + " " + what + (count > 1 ? "s" : "") +
                       " in training mode made inference");
  };
  say(normalizations, "BatchNormalization");
  say(dropouts, "Dropout");
  return report;
}

}  // namespace headrace::onnx_import
