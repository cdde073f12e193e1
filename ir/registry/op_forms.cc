// Ops whose implementation and backward rule are forms.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "ir/registry/inference.h"
#include "ir/registry/registry.h"
#include "ir/registry/registry_impl.h"
#include "ir/text/parser.h"

namespace headrace {
namespace {

void BecomesTransient(Sdfg* s, Name parameter) {
  s->Mutable(parameter).kind = ContainerKind::kTransient;
  s->parameters.erase(std::find(s->parameters.begin(), s->parameters.end(), parameter));
}
void BecomesZero(Sdfg* s, Name parameter) {
  BecomesTransient(s, parameter);
  Tasklet t;
  Map m;
  t.target = parameter;
  t.value = FloatExpr(0);
  const std::vector<Expr> shape = s->Get(parameter).shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Name index = s->FreshName("i" + std::to_string(i));
    m.ranges.push_back({index, Expr(0), shape[i], Expr(1)});
    t.index.push_back(Expr(index));
  }
  NodeId id = s->AddNode(std::move(t));
  if (!m.ranges.empty()) {
    m.body = {id};
    id = s->AddNode(std::move(m));
  }
  s->body.insert(s->body.begin(), s->AddBlock(State{Name(), {id}}));
}

// What may be behind a size that nobody can name: a list of sizes, axes or steps whose own length has a name.
std::string OpenList(const NodeView& v) {
  for (const PortView& p : v.inputs)
    if (p.present && (p.dtype == DType::kI64 || p.dtype == DType::kI32) && p.shape.size() == 1 && !AsInt(p.shape[0]))
      return "how many elements '" + p.name + "' has must be a number when this is compiled; it has " + ToString(p.shape[0]);
  return "";
}

// A form whose text has been checked. It is kept parsed once somebody has asked for it: a process needs few of all ops' forms.
class CheckedForm {
 public:
  static Result<std::shared_ptr<CheckedForm>> Of(const std::string& text, std::string what) {
    HR_RETURN_IF_ERROR(ParseForm(text, what).status());
    return std::shared_ptr<CheckedForm>(new CheckedForm(text, std::move(what)));
  }
  Result<const Form*> Get() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!form_) {
      HR_ASSIGN_OR_RETURN(Form parsed, ParseForm(text_, what_));
      form_ = std::make_unique<Form>(std::move(parsed));
    }
    return form_.get();
  }

 private:
  CheckedForm(std::string text, std::string what) : text_(std::move(text)), what_(std::move(what)) {}
  const std::string text_, what_;
  std::mutex mutex_;
  std::unique_ptr<Form> form_;
};

}  // namespace

Status Registry::Add(OpDefinition def) {
  def.plugin = impl_->Owner(def.plugin);
  if (def.domain.empty() || def.name.empty()) {
    Diagnostic d;
    d.code = "E0303";
    d.message = "plugin " + def.plugin + " registers an op without a name or domain";
    return Status(d);
  }
  for (const OpDefinition* other : Definitions())
    if (other->domain == def.domain && other->name == def.name && other->since_version <= def.until_version &&
        def.since_version <= other->until_version) {
      Diagnostic d;
      d.code = "E0301";
      d.message =
          "op " + def.domain + "." + def.name + " is defined twice: by " + other->plugin + " and by " + def.plugin;
      return Status(d);
    }
  if (!def.pure.empty()) {
    HR_ASSIGN_OR_RETURN(std::shared_ptr<CheckedForm> form, CheckedForm::Of(def.pure, def.domain + "." + def.name));
    ForwardImplementation i;
    i.domain = def.domain, i.op = def.name, i.name = "pure", i.plugin = def.plugin;
    i.since_version = def.since_version, i.until_version = def.until_version;
    i.can_be_applied = [](const NodeView& v) -> std::string {
      for (const auto* ports : {&v.inputs, &v.outputs})
        for (const PortView& p : *ports)
          if (p.present && p.type.kind == ValueType::kSequence) return p.name + " is a sequence, and a form is of tensors";
      return "";
    };
    i.expand = [form](const NodeView& v) -> Result<Program> {
      if (!v.node->defines.empty())
        return UnsupportedError("E0315", "the size " + v.node->defines[0].str() +
                                " is known only when the node has run, and its form needs it before", OpenList(v));
      HR_ASSIGN_OR_RETURN(const Form* parsed, form->Get());
      HR_ASSIGN_OR_RETURN(Sdfg s, Elaborate(*parsed, FormContextOf(v, v.node->op.str() + "_pure")));
      Program p;
      p.entry = s.name;
      p.Add(std::move(s));
      return p;
    };
    HR_RETURN_IF_ERROR(Add(std::move(i)));
  }
  if (!def.backward.empty()) {
    HR_ASSIGN_OR_RETURN(std::shared_ptr<CheckedForm> form, CheckedForm::Of(def.backward, "backward of " + def.domain + "." + def.name));
    BackwardImplementation b;
    b.domain = def.domain, b.op = def.name, b.name = "form", b.plugin = def.plugin, b.form = def.backward;
    b.since_version = def.since_version, b.until_version = def.until_version;
    b.backward = [form](const NodeView& v, const std::vector<std::string>& given,
                        const std::vector<std::string>& required) -> Result<BackwardResult> {
      FormContext c = FormContextOf(v, "grad_" + v.node->op.str());
      std::vector<FormPort> forward_inputs = c.inputs, forward_outputs = c.outputs;
      c.inputs.insert(c.inputs.end(), forward_outputs.begin(), forward_outputs.end());
      c.outputs.clear();
      BackwardResult result;
      // Gradients of variadic ports are lists with a place for every tensor; what nobody gives or wants stays inside.
      std::vector<Name> not_given, not_required;
      auto gradients = [&](const std::vector<FormPort>& ports, const std::vector<std::string>& named,
                           std::map<std::string, std::string>* names, std::vector<FormPort>* out,
                           std::vector<Name>* inside) {
        std::map<Name, int> count;
        for (const FormPort& p : ports) {
          const std::string k = p.variadic ? "_" + std::to_string(count[p.name]++) : "";
          const bool wanted = std::find(named.begin(), named.end(), p.name.str() + k) != named.end();
          FormPort g = p;
          g.name = "d" + p.name.str();
          g.has_known = false, g.known.clear();
          g.present = wanted || (p.variadic && p.present);
          if (wanted) (*names)[p.name.str() + k] = g.name.str() + k;
          else if (g.present) inside->push_back(Name(g.name.str() + k));
          out->push_back(std::move(g));
        }
      };
      gradients(forward_outputs, given, &result.given_grad_names, &c.inputs, &not_given);
      gradients(forward_inputs, required, &result.required_grad_names, &c.outputs, &not_required);
      HR_ASSIGN_OR_RETURN(const Form* parsed, form->Get());
      HR_ASSIGN_OR_RETURN(Sdfg s, Elaborate(*parsed, c));
      for (Name n : not_given) BecomesZero(&s, n);
      for (Name n : not_required) BecomesTransient(&s, n);
      result.sdfg.entry = s.name;
      result.sdfg.Add(std::move(s));
      return result;
    };
    HR_RETURN_IF_ERROR(Add(std::move(b)));
  }
  std::unique_lock lock(impl_->tables);
  impl_->definitions.push_back(std::make_unique<OpDefinition>(std::move(def)));
  return {};
}

}  // namespace headrace
