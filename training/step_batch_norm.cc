// Batch normalisation in training mode gives the next running statistics; here they find their way back to the initializers.
#include <algorithm>
#include <map>

#include "training/step_internal.h"

namespace headrace::training {
namespace {

bool IsBatchNorm(const Library& l) { return l.domain == Name("onnx") && l.op == Name("BatchNormalization"); }

int64_t IntOf(const Library& l, const char* name, int64_t otherwise) {
  const Attribute* a = FindAttribute(l.attributes, name);
  const int64_t* v = a ? std::get_if<int64_t>(&a->value) : nullptr;
  return v ? *v : otherwise;
}

Name PortOf(const std::vector<Port>& ports, const char* name) {
  for (const Port& p : ports)
    if (p.name == Name(name)) return p.container;
  return {};
}

// Before version 14 nodes train when they give more than Y, or (before 7) unless is_test says otherwise.
enum class Mode { kInference, kTraining, kOld };
Mode ModeOf(const Library& l) {
  const bool newest = l.version == 0 || l.version >= 14;
  if (newest) return IntOf(l, "training_mode", 0) != 0 ? Mode::kTraining : Mode::kInference;
  const auto written = [](const Port& p) { return !p.container.empty(); };
  const bool more = std::count_if(l.outputs.begin(), l.outputs.end(), written) > 1;
  return more || (l.version < 7 && IntOf(l, "is_test", 0) == 0) ? Mode::kOld : Mode::kInference;
}

// Statements of states that are run exactly once.
std::vector<NodeId> Straight(const Sdfg& s) {
  std::vector<NodeId> out;
  for (BlockId b : s.body)
    if (auto* st = std::get_if<State>(&s.blocks[b].control))
      out.insert(out.end(), st->statements.begin(), st->statements.end());
  return out;
}

class Tracker {
 public:
  Tracker(const ImportedModel& m, Program* p) : m_(m), p_(p) {}

  Result<BatchNorms> Run() {
    for (const auto& s : p_->sdfgs) HR_RETURN_IF_ERROR(Check(*s));
    if (!inference_.empty())
      out_.notes.push_back("batch normalisation " + Quoted(inference_) +
                           " is trained with fixed statistics: the model was exported in inference mode");
    for (NodeId n : Straight(p_->Entry())) {
      auto* l = std::get_if<Library>(&p_->Entry().nodes[n].body);
      if (!l || !IsBatchNorm(*l) || ModeOf(*l) != Mode::kTraining) continue;
      Track(n, "input_mean", "running_mean");
      Track(n, "input_var", "running_var");
    }
    return std::move(out_);
  }

 private:
  Status Check(const Sdfg& s) {
    const bool entry = s.name == p_->entry;
    const std::vector<NodeId> straight = Straight(s);
    Status status;
    ForEachNode(s, [&](NodeId n) {
      auto* l = std::get_if<Library>(&s.nodes[n].body);
      if (!l || !IsBatchNorm(*l) || !status.ok()) return;
      const std::string name = s.nodes[n].origin.Label();
      switch (ModeOf(*l)) {
        case Mode::kInference:
          if (std::find(inference_.begin(), inference_.end(), name) == inference_.end()) inference_.push_back(name);
          for (size_t i = 3; i < l->inputs.size(); ++i)
            if (entry && !l->inputs[i].container.empty()) out_.fixed.push_back(l->inputs[i].container);
          return;
        case Mode::kOld:
          status = StepError("E0901", ErrorKind::kUnsupported,
                             "batch normalisation before opset 14 can't be trained with running statistics",
                             "export the model again with opset 14 or newer", name);
          return;
        case Mode::kTraining:
          if (!entry || std::find(straight.begin(), straight.end(), n) == straight.end())
            status = StepError("E0902", ErrorKind::kUnsupported,
                               "batch normalisation in training mode inside a loop, branch or function",
                               "export it in inference mode, or outside of control flow", name);
          return;
      }
    });
    return status;
  }

  // One statistic of one node. Nodes that share it update it one after the other.
  void Track(NodeId n, const char* in, const char* out) {
    Sdfg& s = p_->MutableEntry();
    Library l = std::get<Library>(s.nodes[n].body);
    const std::string node = s.nodes[n].origin.Label();
    const Name given = PortOf(l.inputs, in);
    const Container* c = s.Find(given);
    if (!c) return;
    const std::string original = InitializerName(m_, *c);
    auto known = of_.find(given);
    if (original.empty() && known == of_.end()) {
      out_.notes.push_back("running statistics of '" + node + "' are not kept: '" + given.str() +
                           "' is no initializer");
      return;
    }
    Name updated = PortOf(l.outputs, out);
    if (updated.empty()) {
      updated = AddParameter(&s, given.str() + "_new", c->dtype, c->shape);
      l.outputs.erase(
          std::remove_if(l.outputs.begin(), l.outputs.end(), [&](const Port& p) { return p.name == Name(out); }),
          l.outputs.end());
      l.outputs.push_back({Name(out), updated});
    } else if (s.Get(updated).kind != ContainerKind::kParameter) {
      s.Mutable(updated).kind = ContainerKind::kParameter;
      s.parameters.push_back(updated);
      SortContainers(&s);
    }
    if (known == of_.end()) {
      known = of_.emplace(given, out_.statistics.size()).first;
      out_.statistics.push_back({given, updated, original, node, MakeParameter(&s, given)});
    } else {
      for (Port& p : l.inputs)
        if (p.name == Name(in)) p.container = out_.statistics[known->second].updated;
      MakeTransient(&s, out_.statistics[known->second].updated);  // on the way to the last
      out_.statistics[known->second].updated = updated;
    }
    s.nodes.Mutable(n).body = std::move(l);
  }

  const ImportedModel& m_;
  Program* p_;
  BatchNorms out_;
  std::vector<std::string> inference_;
  std::map<Name, size_t> of_;
};

}  // namespace

Result<BatchNorms> TrackStatistics(const ImportedModel& m, Program* p) { return Tracker(m, p).Run(); }

}  // namespace headrace::training
