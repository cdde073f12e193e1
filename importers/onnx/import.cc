#include "importers/onnx/import.h"

#include <algorithm>

#include "importers/onnx/inference.h"
#include "importers/onnx/marks.h"
#include "importers/onnx/onnx_types.h"
#include "importers/onnx/shapes.h"
#include "importers/onnx/specialize.h"
#include "importers/onnx/tidy.h"
#include "ir/text/parser.h"

namespace headrace::onnx_import {
namespace {

// Sizes of the graph's inputs as expressions: named dimensions are symbols, `--dim` fixes them.
class Dimensions {
 public:
  Dimensions(Lowering* lowering, const ImportOptions& options) : lowering_(lowering), options_(options) {}

  // Names that stand alone as a dimension of some input; only these are bound by arguments.
  void Collect(const onnx::ValueInfoProto& input) {
    if (!input.type().has_tensor_type()) return;
    for (const auto& d : input.type().tensor_type().shape().dim())
      if (!d.has_dim_value() && !IsUnknown(d)) names_.push_back(d.dim_param());
  }
  Status Fix() {
    for (const auto& [given, size] : options_.dims) {
      const std::string name = InModel(given);
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
        std::string close = ClosestWord(name, names_), all;
        for (const std::string& n : names_)
          if (all.find("'" + n + "'") == std::string::npos) all += (all.empty() ? "" : ", ") + ("'" + n + "'");
        return UsageError("E0560", "no input of the model has a dimension named '" + name + "'",
                          !close.empty() ? "did you mean '" + close + "'?"
                          : all.empty()  ? "its sizes are all fixed"
                                         : "it has " + all);
      }
      if (size < 0) return UsageError("E0561", "dimension '" + name + "' can't be negative");
      known_[name] = IntExpr(size);
    }
    for (const std::string& n : names_)
      if (!known_.count(n) && Identifier(n, "d") == n) known_[n] = SymbolExpr(lowering_->emit.Unique(n));
    return {};
  }
  Expr Of(const onnx::TensorShapeProto::Dimension& d, const std::string& input, int axis) {
    if (IsUnknown(d))
      return SymbolExpr(lowering_->emit.Unique(Identifier(input, "t") + "_d" + std::to_string(axis)));
    if (d.has_dim_value()) return IntExpr(d.dim_value());
    auto it = known_.find(d.dim_param());
    if (it != known_.end()) return it->second;
    Expr e = Formula(d.dim_param());
    if (!e) e = SymbolExpr(lowering_->emit.Unique(d.dim_param(), "d"));
    known_[d.dim_param()] = e;
    return e;
  }

 private:
  // A dimension may be called as in the program's text, too: "i32_" for "i32".
  std::string InModel(const std::string& given) const {
    const auto text = [&](const std::string& n) { return Identifier(n, "d") == given; };
    if (std::find(names_.begin(), names_.end(), given) != names_.end()) return given;
    const auto it = std::find_if(names_.begin(), names_.end(), text);
    return it == names_.end() ? given : *it;
  }
  // "2*N + 1" where N is itself a dimension: exporters write such.
  Expr Formula(const std::string& text) const {
    if (text.size() > 200 || text.find_first_of("+*/-") == std::string::npos) return {};
    Result<Expr> parsed = ParseExpr(text);
    if (!parsed.ok()) return {};
    NameMap symbols;
    for (Name s : FreeSymbols(*parsed)) {
      auto it = known_.find(s.str());
      if (it == known_.end()) return {};
      symbols.emplace_back(s, it->second);
    }
    if (symbols.empty() || !IsIndexExpr(*parsed)) return {};
    return Simplify(Substitute(*parsed, symbols));
  }

  Lowering* lowering_;
  const ImportOptions& options_;
  std::vector<std::string> names_;
  std::map<std::string, Expr> known_;
};

Diagnostic InputError(const std::string& input, const std::string& what, const std::string& hint = "") {
  Diagnostic d;
  d.code = "E0530";
  d.message = "input '" + input + "': " + what;
  d.hint = hint;
  return d;
}

class ModelImport {
 public:
  ModelImport(const onnx::ModelProto& model, TensorSource* source, const ImportOptions& options,
              const Registry& registry)
      : model_(model),
        g_(model.graph()),
        options_(options),
        lowering_(registry, source, &functions_),
        registry_(registry) {
    for (const auto& f : model.functions()) functions_[FunctionKey(f.domain(), f.name(), f.overload())] = &f;
    opsets_ = OpsetsOf(model.opset_import());
    if (!opsets_.count("")) opsets_[""] = 1;
    scope_.opsets = &opsets_;
    lowering_.keep_parameters = !options.simplify;
    lowering_.cancelled = options.cancelled;
  }

  Result<ImportedModel> Run() {
    ModelCheck check = CheckModel(model_, registry_);
    if (!check.only_nodes) return Status(std::move(check.wrong));
    lowering_.wrong_nodes = std::move(check.nodes);
    Emitter& emit = lowering_.emit;
    emit.sdfg.name = Name(Identifier(g_.name(), "model"));
    HR_RETURN_IF_ERROR(PickOutputs());
    if (options_.input_value) deciding_ = ShapeDeciding(g_);
    lowering_.Initializers(g_, scope_);
    HR_RETURN_IF_ERROR(Inputs());
    for (const auto* o : outputs_) {
      Name n = emit.Unique(o->name(), "output");
      parameters_.push_back(n);
      lowering_.output_containers.emplace(o->name(), n);
      Remember(n, o->name());
    }
    for (const auto& v : g_.value_info()) lowering_.declared[v.name()] = &v.type();
    for (const auto& v : g_.output()) lowering_.declared[v.name()] = &v.type();
    std::vector<std::string> wanted;
    for (const auto* o : outputs_) wanted.push_back(o->name());
    lowering_.Nodes(g_.node(), scope_, wanted);
    if (options_.cancelled && options_.cancelled()) return InterruptedError();
    Outputs();
    if (!check.wrong.empty() || !lowering_.errors.empty()) return AllThatIsWrong(std::move(check.wrong));
    emit.sdfg.body = emit.CloseBody();
    RemoveUnused(&emit.sdfg);
    OrderContainers();
    if (lowering_.keep_parameters) MarkParameters();
    ImportedModel out;
    out.program.entry = emit.sdfg.name;
    out.program.Add(std::move(emit.sdfg));
    out.kind = "ONNX IR " + std::to_string(model_.ir_version()) + ", opset " + std::to_string(opsets_[""]);
    out.report = std::move(lowering_.report);
    for (const auto& [n, original] : lowering_.inner_values) {
      const Container* c = out.program.Entry().Find(n);
      const auto known = [&](const auto& pair) { return pair.first == n && pair.second == original; };
      if (c && c->kind == ContainerKind::kTransient && std::none_of(original_.begin(), original_.end(), known))
        original_.emplace_back(n, original);
    }
    out.original_names = std::move(original_);
    out.assumed_inputs = std::move(assumed_);
    return out;
  }

 private:
  // A model that can't be imported is told everything at once: also which of its other nodes nobody implements.
  Status AllThatIsWrong(std::vector<Diagnostic> all) {
    all.insert(all.end(), lowering_.errors.begin(), lowering_.errors.end());
    Sdfg& s = lowering_.emit.sdfg;
    s.body = lowering_.emit.CloseBody();
    Program rest;
    rest.entry = s.name;
    rest.Add(std::move(s));
    const Status others = RunPipeline(registry_, "expand-library-nodes", rest);
    for (const Diagnostic& d : others.diagnostics())
      if (d.kind == ErrorKind::kUnsupported) all.push_back(d);
    return Status(std::move(all));
  }
  // Initializers that are no parameters: from "val_70" by "exporter".
  void MarkParameters() {
    Sdfg& s = lowering_.emit.sdfg;
    const auto made_by = MadeBy(g_);
    for (Name n : s.order) {
      const Container& c = s.Get(n);
      const auto it = made_by.find(c.origin.source().str());
      if (it != made_by.end() && c.kind == ContainerKind::kConstant) s.Mutable(n).origin = c.origin.By(it->second);
    }
  }
  void Remember(Name n, const std::string& original) {
    if (n.view() != original) original_.emplace_back(n, original);
  }

  Status PickOutputs() {
    std::vector<std::string> names;
    for (const auto& o : g_.output()) names.push_back(o.name());
    for (const std::string& k : options_.keep_outputs)
      if (std::find(names.begin(), names.end(), k) == names.end()) {
        std::string close = ClosestWord(k, names);
        return UsageError("E0562",
                          "the model has no output '" + k + "'", close.empty() ? "" : "did you mean '" + close + "'?");
      }
    for (const auto& o : g_.output())
      if (options_.keep_outputs.empty() || std::find(options_.keep_outputs.begin(), options_.keep_outputs.end(),
                                                     o.name()) != options_.keep_outputs.end())
        outputs_.push_back(&o);
    return {};
  }

  Status Inputs() {
    Emitter& emit = lowering_.emit;
    std::vector<const onnx::ValueInfoProto*> inputs;
    for (const auto& input : g_.input()) {
      const bool has_default = scope_.values.count(input.name()) != 0;
      if (has_default && !(options_.input_value && options_.input_value(input.name(), -1)))
        lowering_.report.push_back("input '" + input.name() +
                                   "' has a default value in the model and is treated as that constant");
      else inputs.push_back(&input);
    }
    std::vector<Name> names;
    for (const auto* input : inputs) {
      names.push_back(emit.Unique(input->name(), "input"));
      Remember(names.back(), input->name());
    }
    Dimensions dims(&lowering_, options_);
    for (const auto* input : inputs) dims.Collect(*input);
    HR_RETURN_IF_ERROR(dims.Fix());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto& input = *inputs[i];
      auto v = std::make_shared<ValueInfo>();
      v->name = input.name();
      v->container = names[i];
      v->proto = input.type();
      scope_.values[input.name()] = v;
      emit.SetOrigin("");
      Result<ValueType> type = FromTypeProto(input.type());
      if (!type.ok()) {
        for (Diagnostic d : type.status().diagnostics()) {
          d.message = "input '" + input.name() + "': " + d.message;
          lowering_.Report(std::move(d));
        }
        v->poison = true;
        continue;
      }
      v->type = *type;
      if (v->type.kind == ValueType::kTensor) {
        const auto& tensor = input.type().tensor_type();
        if (!tensor.has_shape()) {
          lowering_.Report([&] {
            Diagnostic d = InputError(input.name(), "it has no shape, so not even its rank is known",
                                      "export the model with input shapes; sizes may be names");
            d.kind = ErrorKind::kUnsupported;
            return d;
          }());
          v->poison = true;
          continue;
        }
        std::vector<int64_t> fixed;
        for (int d = 0; d < tensor.shape().dim_size(); ++d) {
          const auto& dim = tensor.shape().dim(d);
          v->shape.push_back(dims.Of(dim, input.name(), d));
          if (auto n = AsInt(v->shape.back())) fixed.push_back(*n);
        }
        const int bits = v->type.dtype == DType::kString ? 8 : BitWidth(v->type.dtype);
        Result<int64_t> count = CheckedElements(fixed.data(), static_cast<int>(fixed.size()), bits);
        if (!count.ok()) {
          lowering_.Report(InputError(input.name(), count.status().message()));
          v->poison = true;
          continue;
        }
      }
      Container c;
      c.name = names[i];
      c.kind = v->type.kind == ValueType::kTensor ? ContainerKind::kParameter : ContainerKind::kSequence;
      c.dtype = v->type.kind == ValueType::kTensor ? v->type.dtype : DType::kNone;
      c.type = v->type;
      c.shape = v->shape;
      for (const Expr& d : c.shape)
        if (d.Is(ExprKind::kSymbol)) lowering_.bound_symbols.insert(d->name);
      emit.Add(std::move(c));
      emit.sdfg.parameters.push_back(names[i]);
      HR_RETURN_IF_ERROR(Assume(input, static_cast<int>(i), names[i], v.get()));
    }
    return {};
  }

  // An input that decides shapes becomes the constant the caller gives for it; its parameter stays, to be compared at run.
  Status Assume(const onnx::ValueInfoProto& input, int index, Name parameter, ValueInfo* v) {
    constexpr int64_t kMaxBytes = 4096;
    if (!options_.input_value || v->type.kind != ValueType::kTensor || !deciding_.count(input.name())) return {};
    const Tensor* t = options_.input_value(input.name(), index);
    if (!t || t->dtype != v->type.dtype || t->shape.size() != v->shape.size() || t->bytes() > kMaxBytes) return {};
    for (size_t d = 0; d < t->shape.size(); ++d) {
      std::optional<int64_t> extent = AsInt(v->shape[d]);
      if (extent && *extent != t->shape[d]) return {};  // refused when it is run, with names
      v->shape[d] = IntExpr(t->shape[d]);
    }
    v->container = Name();
    v->constant = *t;
    if (IsIntegral(t->dtype) && t->elements() <= kMaxKnownElements) v->known = ConstantElements(*t);
    assumed_.emplace_back(parameter, *t);
    lowering_.report.push_back("compiled for the given value of input '" + input.name() + "', which decides shapes");
    return {};
  }

  // Sizes that a caller fixed may differ from those the model was exported with.
  bool DeclaredShapeFits(const onnx::ValueInfoProto& o, const ValueInfo& v) const {
    if (!o.type().has_tensor_type() || !o.type().tensor_type().has_shape() || v.type.kind != ValueType::kTensor)
      return true;
    const auto& declared = o.type().tensor_type().shape();
    if (declared.dim_size() !=
        static_cast<int>(v.shape.size()))  // exporters guess the rank of what an If gives: all names
      return declared.dim_size() > 0 && std::none_of(declared.dim().begin(), declared.dim().end(),
                                                     [](const auto& d) { return d.has_dim_value(); });
    for (int d = 0; options_.dims.empty() && d < declared.dim_size(); ++d)
      if (auto size = AsInt(v.shape[static_cast<size_t>(d)]);
          size && declared.dim(d).has_dim_value() && !IsUnknown(declared.dim(d)) && declared.dim(d).dim_value() != *size)
        return false;
    return true;
  }

  void Outputs() {
    Emitter& emit = lowering_.emit;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto& o = *outputs_[i];
      Val v = scope_.Find(o.name());
      if (!v || v->poison) {
        if (lowering_.errors.empty() && lowering_.wrong_nodes.empty()) {
          Diagnostic d;
          d.code = "E0527";
          d.message = "output '" + o.name() + "' is made by no node";
          lowering_.Report(std::move(d));
        }
        continue;
      }
      if (o.type().has_tensor_type() && v->type.kind == ValueType::kTensor && o.type().tensor_type().elem_type() != 0 &&
          FromOnnxType(o.type().tensor_type().elem_type()) != v->type.dtype) {
        Diagnostic d;
        d.code = "E0531";
        d.message = "output '" + o.name() + "' is declared with another element type than it has";
        d.got = OnnxTypeName(o.type().tensor_type().elem_type());
        d.expected = std::string(DTypeName(v->type.dtype));
        lowering_.Report(std::move(d));
        continue;
      }
      if (!DeclaredShapeFits(o, *v)) {
        Diagnostic d;
        d.code = "E0531";
        d.message = "output '" + o.name() + "' is declared with another shape than it has";
        d.expected = ToString(v->shape);
        lowering_.Report(std::move(d));
        continue;
      }
      emit.sdfg.parameters.push_back(parameters_[i]);
      if (v->container == parameters_[i]) continue;
      emit.SetOrigin(o.name());
      if (!emit.sdfg.Find(parameters_[i])) {
        Container c;
        c.name = parameters_[i];
        c.kind = v->type.kind == ValueType::kTensor ? ContainerKind::kParameter : ContainerKind::kSequence;
        c.dtype = v->type.kind == ValueType::kTensor ? v->type.dtype : DType::kNone;
        c.type = v->type;
        c.shape = lowering_.ParameterShape(o.name(), v->shape);
        emit.Add(std::move(c));
      }
      lowering_.CopyValue(parameters_[i], v);
    }
  }

  // Parameters come first among the declarations.
  void OrderContainers() {
    Sdfg& s = lowering_.emit.sdfg;
    std::vector<Name> order = s.parameters;
    std::unordered_set<std::string> seen;
    for (Name n : order) seen.insert(n.str());
    for (Name n : s.order)
      if (!seen.count(n.str())) order.push_back(n);
    s.order = std::move(order);
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& g_;
  const ImportOptions& options_;
  Functions functions_;
  Opsets opsets_;
  Scope scope_;
  Lowering lowering_;
  const Registry& registry_;
  std::vector<const onnx::ValueInfoProto*> outputs_;
  std::vector<Name> parameters_;
  std::vector<std::pair<Name, std::string>> original_;
  std::unordered_set<std::string> deciding_;
  std::vector<std::pair<Name, Tensor>> assumed_;
};

}  // namespace

Result<ImportedModel> ImportProto(const onnx::ModelProto& model, TensorSource* source, const ImportOptions& options,
                                  const Registry& registry) {
  if (!options.inference) return ModelImport(model, source, options, registry).Run();
  onnx::ModelProto changed = model;
  std::vector<std::string> report = MakeInference(&changed);
  Result<ImportedModel> out = ModelImport(changed, source, options, registry).Run();
  if (out.ok()) out->report.insert(out->report.begin(), report.begin(), report.end());
  return out;
}

Result<ImportedModel> ImportModel(const std::string& path, const ImportOptions& options, const Registry& registry) {
  HR_ASSIGN_OR_RETURN(std::shared_ptr<LoadedModel> m, LoadModel(path));
  Result<ImportedModel> out = ImportProto(m->proto, &m->source, options, registry);
  if (!out.ok()) return WithFile(out.status(), path);
  return out;
}

Status CheckFile(const std::string& path, const Registry& registry) {
  Result<ImportedModel> out = ImportModel(path, {}, registry);
  return out.ok() ? Status() : out.status();
}

}  // namespace headrace::onnx_import
