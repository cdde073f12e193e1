// What is wrong with a model before anything is inferred: names, versions, ops, attributes. Everything is collected.
#include <algorithm>

#include "importers/onnx/import.h"
#include "importers/onnx/onnx_types.h"

namespace headrace::onnx_import {
namespace {

constexpr int kNewestIr = 14;

class Checker {
 public:
  Checker(const onnx::ModelProto& model, const Registry& registry) : model_(model), registry_(registry) {
    for (const auto& f : model.functions()) functions_[FunctionKey(f.domain(), f.name(), f.overload())] = &f;
  }

  ModelCheck Run() {
    Model();
    const bool only_nodes = of_nodes_ == found_.size();
    return {std::move(found_), std::move(wrong_nodes_), only_nodes};
  }

 private:
  void Model() {
    Versions();
    if (!model_.has_graph() || (model_.graph().node_size() == 0 && model_.graph().output_size() == 0)) {
      Add("E0501", "not an ONNX model: it has no graph");
      return;
    }
    opsets_ = OpsetsOf(model_.opset_import());
    if (!opsets_.count("") && model_.ir_version() < 3) opsets_[""] = 1;
    if (model_.graph().output_size() == 0) Add("E0527", "the graph has no outputs");
    Graph(model_.graph(), nullptr);
    FunctionCycles();
    for (const auto& f : model_.functions()) {
      function_ = "function " + f.name() + ": ";
      Opsets own = OpsetsOf(f.opset_import());
      for (const auto& [domain, version] : opsets_) own.emplace(domain, version);
      std::swap(own, opsets_);
      std::unordered_set<std::string> names(f.input().begin(), f.input().end());
      parameters_.clear();
      for (const auto& a : f.attribute()) parameters_.insert(a);
      for (const auto& a : f.attribute_proto()) parameters_.insert(a.name());
      Nodes(f.node(), names, nullptr);
      std::swap(own, opsets_);
    }
  }

  using Names = std::unordered_set<std::string>;
  // What a subgraph sees of the graphs around it: not copied, there may be many subgraphs and many names.
  struct Outer {
    const Outer* next;
    const Names *defined, *made;
    bool Has(const std::string& name) const {
      for (const Outer* o = this; o; o = o->next)
        if (o->defined->count(name) || o->made->count(name)) return true;
      return false;
    }
  };
  bool Full() const { return found_.size() >= 100; }

  Diagnostic* Add(const char* code, const std::string& message, ErrorKind kind = ErrorKind::kInvalid) {
    static thread_local Diagnostic spare;
    if (Full()) return &spare;
    Diagnostic d;
    d.kind = kind;
    d.code = code;
    d.message = function_ + message;
    found_.push_back(std::move(d));
    return &found_.back();
  }
  Diagnostic* AtNode(const onnx::NodeProto& n, const char* code, const std::string& message,
                     ErrorKind kind = ErrorKind::kInvalid) {
    Diagnostic* d = Add(code, message, kind);
    d->node = !n.name().empty() ? n.name() : n.output_size() > 0 ? n.output(0) : "";
    auto it = opsets_.find(n.domain() == "ai.onnx" ? "" : n.domain());
    d->op = IrDomain(n.domain()) + "." + n.op_type() +
            (it == opsets_.end() ? "" : " (opset " + std::to_string(it->second) + ")");
    return d;
  }

  void Versions() {
    if (model_.ir_version() > kNewestIr) {
      Diagnostic* d = Add("E0504", "the model's IR version is newer than this importer", ErrorKind::kUnsupported);
      d->got = std::to_string(model_.ir_version());
      d->expected = "at most " + std::to_string(kNewestIr);
    } else if (model_.ir_version() < 1) {
      Add("E0504", "the model gives no IR version");
    }
    if (model_.opset_import_size() == 0 && model_.ir_version() >= 3) Add("E0505", "the model imports no operator set");
    std::unordered_map<std::string, int64_t> versions;
    for (const auto& o : model_.opset_import()) {
      const auto [first, added] = versions.emplace(o.domain() == "ai.onnx" ? "" : o.domain(), o.version());
      if (!added && first->second != o.version()) {
        Diagnostic* d = Add("E0505", "the operator set of domain '" + IrDomain(o.domain()) + "' is imported twice");
        d->got = "versions " + std::to_string(first->second) + " and " + std::to_string(o.version());
      }
      const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
      auto range = known.find(o.domain() == "ai.onnx" ? "" : o.domain());
      if (range == known.end()) continue;  // a custom domain: its nodes are looked up one by one
      if (o.version() < range->second.first || o.version() > range->second.second) {
        Diagnostic* d = Add(
            "E0505", "opset " + std::to_string(o.version()) + " of domain " + IrDomain(o.domain()) + " is not known",
            o.version() > range->second.second ? ErrorKind::kUnsupported : ErrorKind::kInvalid);
        d->expected = std::to_string(range->second.first) + " to " + std::to_string(range->second.second);
      }
    }
  }

  void Graph(const onnx::GraphProto& g, const Outer* outer) {
    Names own;
    auto define = [&](const std::string& name, const char* what) {
      if (name.empty()) Add("E0520", std::string("a graph ") + what + " has no name");
      else if (!own.insert(name).second && std::string(what) == "input")
        Add("E0520", "the graph has two inputs named '" + name + "'");
    };
    for (const auto& v : g.input()) define(v.name(), "input");
    Names initializers;
    for (const auto& t : g.initializer()) {
      if (!initializers.insert(t.name()).second) Add("E0520", "two initializers are named '" + t.name() + "'");
      own.insert(t.name());
    }
    for (const auto& t : g.sparse_initializer()) own.insert(t.values().name());
    Nodes(g.node(), own, outer);
    for (const auto& n : g.node())
      for (const auto& o : n.output()) own.insert(o);
    for (const auto& v : g.output())
      if (!own.count(v.name()) && !(outer && outer->Has(v.name())))
        Add("E0527", "output '" + v.name() + "' is made by no node");
  }

  void Nodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, const Names& defined,
             const Outer* outer) {
    Names made;
    for (const auto& n : nodes)
      for (const auto& o : n.output()) {
        if (o.empty()) continue;
        if (!made.insert(o).second || defined.count(o)) AtNode(n, "E0520", "the value '" + o + "' is defined twice");
      }
    const Outer seen{outer, &defined, &made};
    for (const auto& n : nodes) {
      if (Full()) return;
      for (const auto& i : n.input())
        if (!i.empty() && !seen.Has(i)) {
          Diagnostic* d = AtNode(n, "E0521", "input '" + i + "' is defined nowhere");
          if (!Full() && made.size() + defined.size() < 2000) {
            std::vector<std::string> names(made.begin(), made.end());
            names.insert(names.end(), defined.begin(), defined.end());
            std::sort(names.begin(), names.end());
            std::string close = ClosestWord(i, names);
            if (!close.empty()) d->hint = "did you mean '" + close + "'?";
          }
        }
      const size_t before = found_.size();
      Node(n);
      if (found_.size() > before) wrong_nodes_.insert(&n), of_nodes_ += found_.size() - before;
      for (const auto& a : n.attribute()) {
        if (a.has_g()) Graph(a.g(), &seen);
        for (const auto& g : a.graphs()) Graph(g, &seen);
      }
    }
    std::vector<int> cycle;
    if (nodes.size() > 0 && Order(nodes, &cycle).empty()) {
      std::string names;
      for (size_t i = 0; i < cycle.size() && i < 5; ++i) {
        const auto& n = nodes[cycle[i]];
        names += (i ? ", " : "") + std::string("'") + (n.name().empty() ? n.op_type() : n.name()) + "'";
      }
      AtNode(nodes[cycle[0]], "E0522", "the nodes form a cycle: " + names + (cycle.size() > 5 ? " …" : ""));
    }
  }

  // The first opset after `opset` that has the op; 0: none.
  static int Since(const std::string& op, const std::string& domain, int opset) {
    const onnx::OpSchema* newest = onnx::OpSchemaRegistry::Schema(op, domain);
    for (int v = opset + 1; newest && v <= newest->since_version(); ++v)
      if (onnx::OpSchemaRegistry::Schema(op, v, domain)) return v;
    return 0;
  }

  void Node(const onnx::NodeProto& n) {
    const std::string domain = n.domain() == "ai.onnx" ? "" : n.domain();
    if (n.op_type().empty()) {
      AtNode(n, "E0523", "a node has no op");
      return;
    }
    if (functions_.count(FunctionKey(domain, n.op_type(), n.overload()))) return;
    auto opset = opsets_.find(domain);
    if (opset == opsets_.end()) {
      // Plugins' ops need no import; what ONNX's mean depends on the version.
      const bool onnx_s = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map().count(domain) > 0;
      if (!onnx_s)
        if (const OpSignature* op = registry_.FindOp(IrDomain(domain), n.op_type())) return Registered(n, *op);
      AtNode(n, "E0505",
             "the model imports no operator set for domain '" + (domain.empty() ? "ai.onnx" : domain) + "'");
      return;
    }
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(n.op_type(), opset->second, domain);
    if (!schema) {
      if (const OpSignature* op = registry_.FindOp(IrDomain(domain), n.op_type(), opset->second))
        return Registered(n, *op);
      const int newer = Since(n.op_type(), domain, opset->second);
      Diagnostic* d =
          AtNode(n, "E0523",
                 newer ? "the op does not exist in opset " + std::to_string(opset->second) : "unknown op " + IrDomain(domain) + "." + n.op_type(),
                 newer ? ErrorKind::kInvalid : ErrorKind::kUnsupported);
      std::vector<std::string> names;
      for (const OpSignature* s : registry_.Ops())
        if (s->domain == IrDomain(domain)) names.push_back(s->name);
      std::string close = newer ? "" : ClosestWord(n.op_type(), names);
      d->hint = newer ? n.op_type() + " since " + std::to_string(newer) +
                            ": convert the model with onnx.version_converter, or export it with that opset or a later one"
                : !close.empty() ? "did you mean '" + close + "'?"
                : domain == "com.microsoft.nchwc"
                    ? "it is for one processor's layout: let ONNX Runtime save the model with ORT_ENABLE_EXTENDED, which ends before that"
                    : "load the plugin that brings it with --plugin";
      return;
    }
    // One that came back (GroupNormalization of 18 was withdrawn for that of 21) means what its text says.
    const onnx::OpSchema* newest = onnx::OpSchemaRegistry::Schema(n.op_type(), domain);
    if (schema->Deprecated() && (!newest || newest->Deprecated())) {
      AtNode(n, "E0523", "the op was removed in opset " + std::to_string(schema->since_version()))->hint =
          n.op_type() + " until " + std::to_string(schema->since_version() - 1) + ": convert the model with " +
          "onnx.version_converter, or export it with a newer exporter, which writes what replaces it";
      return;
    }
    Count(n, "input", n.input_size(), schema->min_input(), schema->max_input());
    Count(n, "output", n.output_size(), schema->min_output(), schema->max_output());
    for (int i = 0; i < n.input_size() && i < static_cast<int>(schema->inputs().size()); ++i)
      if (n.input(i).empty() && schema->inputs()[static_cast<size_t>(i)].GetOption() == onnx::OpSchema::Single)
        AtNode(n, "E0526", "input '" + schema->inputs()[static_cast<size_t>(i)].GetName() + "' is required");
    Attributes(n, *schema);
  }

  // An op of a plugin, by its signature.
  void Registered(const onnx::NodeProto& n, const OpSignature& op) {
    auto count = [&](const std::vector<PortSignature>& ports, const auto& given, const char* what) {
      const int most = !ports.empty() && ports.back().variadic ? 1 << 30 : static_cast<int>(ports.size());
      int least = 0;
      for (size_t i = 0; i < ports.size(); ++i)
        if (!ports[i].optional && !ports[i].variadic) least = static_cast<int>(i) + 1;
      Count(n, what, given.size(), least, most);
      for (int i = 0; i < std::min(given.size(), least); ++i)
        if (given[i].empty() && !ports[static_cast<size_t>(i)].optional)
          AtNode(n, "E0526", std::string(what) + " '" + ports[static_cast<size_t>(i)].name + "' is required");
    };
    count(op.inputs, n.input(), "input");
    count(op.outputs, n.output(), "output");
    Names seen;
    for (const auto& a : n.attribute()) {
      if (!seen.insert(a.name()).second) AtNode(n, "E0524", "attribute '" + a.name() + "' is given twice");
      auto it = std::find_if(op.attributes.begin(), op.attributes.end(), [&](const auto& d) { return d.name == a.name(); });
      if (it == op.attributes.end()) {
        Diagnostic* d = AtNode(n, "E0524", "the op has no attribute '" + a.name() + "'");
        std::vector<std::string> names;
        for (const AttributeSignature& declared : op.attributes) names.push_back(declared.name);
        const std::string close = ClosestWord(a.name(), names);
        if (!close.empty()) d->hint = "did you mean '" + close + "'?";
        continue;
      }
      const auto type = TypeOfAttribute(a);
      if (!a.ref_attr_name().empty() || type == onnx::AttributeProto::UNDEFINED || FromAttributeType(type) == it->type)
        continue;
      Diagnostic* d = AtNode(n, "E0525", "attribute '" + a.name() + "' has the wrong type");
      d->got = AttributeTypeText(type);
      d->expected = AttributeTypeText(ToAttributeType(it->type));
    }
    for (const AttributeSignature& a : op.attributes)
      if (a.required && !seen.count(a.name)) AtNode(n, "E0524", "required attribute '" + a.name + "' is missing");
  }

  void Count(const onnx::NodeProto& n, const char* what, int got, int least, int most) {
    if (got >= least && got <= most) return;
    Diagnostic* d = AtNode(n, "E0526", std::string("wrong number of ") + what + "s");
    d->got = std::to_string(got);
    d->expected = least == most    ? std::to_string(least)
                  : most > 1000000 ? "at least " + std::to_string(least)
                                   : std::to_string(least) + " to " + std::to_string(most);
  }

  void Attributes(const onnx::NodeProto& n, const onnx::OpSchema& schema) {
    Names seen;
    for (const auto& a : n.attribute()) {
      if (!seen.insert(a.name()).second) AtNode(n, "E0524", "attribute '" + a.name() + "' is given twice");
      auto it = schema.attributes().find(a.name());
      if (it == schema.attributes().end()) {
        Diagnostic* d = AtNode(n, "E0524", "the op has no attribute '" + a.name() + "'");
        std::vector<std::string> names;
        for (const auto& [name, unused] : schema.attributes()) names.push_back(name);
        std::sort(names.begin(), names.end());
        std::string close = ClosestWord(a.name(), names);
        if (!close.empty()) d->hint = "did you mean '" + close + "'?";
        continue;
      }
      if (!a.ref_attr_name().empty()) {
        if (function_.empty())
          AtNode(n, "E0524", "attribute '" + a.name() + "' refers to a function's attribute outside a function");
        continue;
      }
      auto type = TypeOfAttribute(a);
      // An empty list has no filled field to tell its type by.
      if (type != it->second.type && !(type == onnx::AttributeProto::UNDEFINED)) {
        Diagnostic* d = AtNode(n, "E0525", "attribute '" + a.name() + "' has the wrong type");
        d->got = AttributeTypeText(type);
        d->expected = AttributeTypeText(it->second.type);
      } else if (type == onnx::AttributeProto::GRAPH && !a.has_g()) {
        AtNode(n, "E0525", "attribute '" + a.name() + "' holds no graph");
      } else if (type == onnx::AttributeProto::TENSOR && !a.has_t()) {
        AtNode(n, "E0525", "attribute '" + a.name() + "' holds no tensor");
      }
    }
    for (const auto& [name, a] : schema.attributes())
      if (a.required && !seen.count(name)) AtNode(n, "E0524", "required attribute '" + name + "' is missing");
  }

  // Functions must not call themselves, directly or through others.
  void FunctionCycles() {
    std::unordered_map<const onnx::FunctionProto*, int> state;
    for (const auto& f : model_.functions()) {
      if (functions_.at(FunctionKey(f.domain(), f.name(), f.overload())) != &f)
        Add("E0528", "two functions are named '" + f.name() + "'");
      Visit(&f, &state, 0);
    }
    if (!found_.empty()) return;
    // Functions that call functions twice grow fast: told before anything is expanded.
    std::unordered_map<const onnx::FunctionProto*, double> sizes;
    if (Expanded(model_.graph().node(), &sizes) > 2e6)
      Add("E0528", "the model's functions expand to more than two million nodes", ErrorKind::kUnsupported);
  }
  double Expanded(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
                  std::unordered_map<const onnx::FunctionProto*, double>* sizes) {
    double n = 0;
    for (const auto& node : nodes) {
      auto it = functions_.find(FunctionKey(node.domain(), node.op_type(), node.overload()));
      if (it != functions_.end()) {
        auto known = sizes->find(it->second);
        n += known != sizes->end() ? known->second : (*sizes)[it->second] = Expanded(it->second->node(), sizes);
      }
      for (const auto& a : node.attribute()) {
        if (a.has_g()) n += Expanded(a.g().node(), sizes);
        for (const auto& g : a.graphs()) n += Expanded(g.node(), sizes);
      }
      ++n;
    }
    return n;
  }
  void Visit(const onnx::FunctionProto* f, std::unordered_map<const onnx::FunctionProto*, int>* state, int depth) {
    int& mine = (*state)[f];
    if (mine == 2) return;
    if (mine == 1 || depth > 1000) {
      Add("E0528", mine == 1 ? "function '" + f->name() + "' calls itself" : "functions are nested too deeply");
      return;
    }
    mine = 1;
    Calls(f->node(), state, depth + 1);
    (*state)[f] = 2;
  }
  void Calls(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes,
             std::unordered_map<const onnx::FunctionProto*, int>* state, int depth) {
    for (const auto& n : nodes) {
      auto it = functions_.find(FunctionKey(n.domain(), n.op_type(), n.overload()));
      if (it != functions_.end()) Visit(it->second, state, depth);
      for (const auto& a : n.attribute()) {
        if (a.has_g()) Calls(a.g().node(), state, depth);
        for (const auto& g : a.graphs()) Calls(g.node(), state, depth);
      }
    }
  }

  const onnx::ModelProto& model_;
  const Registry& registry_;
  Functions functions_;
  Opsets opsets_;
  Names parameters_;
  std::string function_;  // prefix of messages inside a function
  std::vector<Diagnostic> found_;
  std::unordered_set<const onnx::NodeProto*> wrong_nodes_;
  size_t of_nodes_ = 0;  // how many of found_ are about them
};

}  // namespace

ModelCheck CheckModel(const onnx::ModelProto& model, const Registry& registry) {
  return Checker(model, registry).Run();
}

}  // namespace headrace::onnx_import
