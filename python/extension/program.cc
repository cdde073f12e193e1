// Programs as Python sees them: text, JSON, parameters, passes, models, gradients.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "driver/compile.h"
#include "driver/program_json.h"
#include "ir/analysis/lifetimes.h"
#include "ir/registry/differentiator.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verify/verify.h"
#include "python/extension/arrays.h"
#include "python/extension/bindings.h"

namespace headrace::python {
namespace {

using Strings = std::vector<std::string>;
using Sizes = std::vector<std::pair<std::string, int64_t>>;

std::vector<Name> Names(const Strings& all) { return {all.begin(), all.end()}; }
NamedSizes ToSizes(const Sizes& all) { return {all.begin(), all.end()}; }

std::string TypeName(const ValueType& t) {
  if (t.kind == ValueType::kTensor || !t.element) return std::string(DTypeName(t.dtype));
  return (t.kind == ValueType::kSequence ? "seq(" : "opt(") + TypeName(*t.element) + ")";
}

// (name, type, [size…], direction, optional): sizes as numbers where they are known, else as text.
nb::tuple Describe(const Container& c, const char* direction) {
  nb::list shape;
  for (const Expr& e : c.shape) {
    if (const auto v = AsInt(e)) shape.append(*v);
    else shape.append(ToString(e));
  }
  const bool tensor = c.kind != ContainerKind::kSequence && c.type.kind == ValueType::kTensor;
  return nb::make_tuple(c.name.str(), tensor ? std::string(DTypeName(c.dtype)) : TypeName(c.type), shape, direction, c.optional);
}

nb::list Parameters(const Program& p) {
  const Sdfg& s = p.Entry();
  const std::vector<Direction> directions = Directions(p, s);
  nb::list all;
  for (size_t k = 0; k < s.parameters.size(); ++k)
    all.append(Describe(s.Get(s.parameters[k]), directions[k] == Direction::kOut     ? "out"
                                                : directions[k] == Direction::kInOut ? "inout"
                                                                                     : "in"));
  return all;
}

// Constants with values that Python may look at and set.
nb::list Constants(const Program& p) {
  nb::list all;
  const Sdfg& s = p.Entry();
  for (Name n : s.order)
    if (const Container& c = s.Get(n); c.kind == ContainerKind::kConstant) all.append(n.str());
  return all;
}

nb::object ConstantValue(const Program& p, const std::string& name) {
  const Container* c = p.Entry().Find(Name(name));
  if (!c || c->kind != ContainerKind::kConstant) throw nb::key_error(name.c_str());
  return FromValue(Value(c->data));
}

nb::list PairsOf(const std::vector<std::pair<Name, Name>>& all) {
  nb::list out;
  for (const auto& [a, b] : all) out.append(nb::make_tuple(a.str(), b.str()));
  return out;
}

nb::dict ReportOf(const GradientReport& r) {
  nb::list kept;
  for (const GradientReport::Item& item : r.items) {
    nb::dict one;
    one["container"] = item.container.str(), one["why"] = item.why;
    one["bytes"] = item.bytes, one["recomputed"] = item.recomputed;
    kept.append(one);
  }
  nb::dict out;
  out["kept"] = kept, out["solver"] = r.solver;
  out["predicted_peak"] = r.predicted_peak, out["minimum_peak"] = r.minimum_peak;
  out["recompute_work"] = r.recompute_work;
  return out;
}

nb::tuple Gradient(const Program& p, const Strings& outputs, const Strings& inputs, const Strings& given, bool keep_outputs,
                   const Sizes& sizes, std::optional<int64_t> memory_limit, const Strings& store, const Strings& recompute) {
  GradientOptions o;
  o.fuse = store.empty() && recompute.empty();  // an array has to keep its name until its fate is decided
  o.store = Names(store), o.recompute = Names(recompute);
  o.given_gradients = Names(given);
  o.keep_outputs = keep_outputs;
  o.sizes = ToSizes(sizes);
  o.memory_limit = memory_limit;
  BackwardPrograms g = Checked(Differentiate(WithPreferences(p), Names(outputs), Names(inputs), o, Plugins()));
  return nb::make_tuple(std::move(g.program), PairsOf(g.input_gradients), PairsOf(g.output_gradients), ReportOf(g.report));
}

// Every output's gradient is given: a forward program that keeps what the backward one takes.
nb::tuple SeparateGradient(const Program& p, const Strings& outputs, const Strings& inputs, const Sizes& sizes,
                           std::optional<int64_t> memory_limit) {
  GradientOptions o;
  o.separate = o.all_given = true;
  o.sizes = ToSizes(sizes);
  o.memory_limit = memory_limit;
  BackwardPrograms g = Checked(Differentiate(WithPreferences(p), Names(outputs), Names(inputs), o, Plugins()));
  return nb::make_tuple(std::move(g.forward), std::move(g.program), PairsOf(g.input_gradients),
                        PairsOf(g.output_gradients), ReportOf(g.report));
}

void Apply(Program& p, const std::string& pipeline, const std::string& reproducer_dir) {
  PipelineOptions o;
  o.verify = true;
  o.reproducer_dir = reproducer_dir;
  Check(RunPipeline(Plugins(), pipeline, p, o));
}

void RunPass(Program& p, const std::string& name, const PassOptions& options) {
  const Pass* pass = Plugins().FindPass(name);
  if (!pass) Check(UsageError("E0353", "unknown pass '" + name + "'", "the plugin libtransforms.so has it"));
  Checked(pass->run(p, options, Plugins()));
}

int CallsMadeBy(const Sdfg& s, Name pass) {
  int count = 0;
  ForEachNode(s, [&](NodeId n) { count += s.nodes[n].origin.pass() == pass && std::holds_alternative<Nested>(s.nodes[n].body); });
  return count;
}

int ReplaceAll(Program& p, const Program& pattern, const Program& replacement) {
  const Name by("replace");
  const int before = CallsMadeBy(p.Entry(), by);
  RunPass(p, by.str(), {{"pattern", Print(pattern)}, {"replacement", Print(replacement)}});
  return CallsMadeBy(p.Entry(), by) - before;
}

// The pass makes it a constant; large values don't go through text.
void InputToConstant(Program& p, const std::string& name, nb::handle value) {
  ValueType type;
  if (const Container* c = p.Entry().Find(Name(name))) type.dtype = c->dtype;
  Tensor data = ToValue(value, type, name).tensor;
  Program changed = p;
  RunPass(changed, "input-to-constant", {{"name", name}, {"value", type.dtype == DType::kString ? "fill(\"\")" : "fill(0)"}});
  Container& c = changed.MutableEntry().Mutable(Name(name));
  if (c.data.dtype != data.dtype || c.data.shape != data.shape) {
    Diagnostic d;
    d.code = "E0362";
    d.message = "the value does not fit input '" + name + "'";
    for (const auto& [text, t] : {std::make_pair(&d.got, &data), std::make_pair(&d.expected, &c.data)}) {
      for (int64_t size : t->shape) *text += (text->empty() ? "" : ", ") + std::to_string(size);
      *text = std::string(DTypeName(t->dtype)) + "[" + *text + "]";
    }
    Check(Status(d));
  }
  c.data = std::move(data);
  p = std::move(changed);
}

}  // namespace

void BindProgram(nb::module_& m) {
  nb::class_<Program>(m, "Program")
      .def("text", [](const Program& p) { return Print(p); })
      .def("json", [](const Program& p) { return ProgramToJson(p); })
      .def("name", [](const Program& p) { return p.Entry().name.str(); })
      .def("parameters", &Parameters, "(name, type, shape, 'in' | 'out' | 'inout', optional) of each")
      .def("symbols",
           [](const Program& p) {
             Strings all;
             for (Name n : FreeSymbols(p.Entry())) all.push_back(n.str());
             return all;
           })
      .def("own_sizes",
           [](const Program& p) {
             Strings all;
             const std::vector<Name>& asked = p.Entry().symbol_params;
             for (Name n : DefinedInside(p.Entry()))
               if (std::find(asked.begin(), asked.end(), n) == asked.end()) all.push_back(n.str());
             return all;
           },
           "Symbols that the program gives a value itself")
      .def("constants", &Constants)
      .def("constant", &ConstantValue, nb::arg("name"))
      .def("verify", [](const Program& p) { Check(Verify(p)); })
      .def("copy", [](const Program& p) { return p; })
      .def("apply", &Apply, nb::arg("pipeline"), nb::arg("reproducer_dir"))
      .def("run_pass", &RunPass, nb::arg("name"), nb::arg("options"), "One pass; options are taken as they are")
      .def("replace", &ReplaceAll, nb::arg("pattern"), nb::arg("replacement"))
      .def("input_to_constant", &InputToConstant, nb::arg("name"), nb::arg("value"))
      .def(
          "lower",
          [](const Program& p, const std::string& backend) {
            CompileRequest q;
            q.backend = backend;
            return Checked(LowerProgram(Plugins(), p, q));
          },
          nb::arg("backend"));
  m.def(
      "parse",
      [](const std::string& text, const std::string& file) {
        Program p = Checked(LooksLikeJson(text) ? ProgramFromJson(text, file) : ParseProgram(text, file));
        Check(Verify(p));
        return p;
      },
      nb::arg("text"), nb::arg("file") = "<text>");
  m.def(
      "parse_part", [](const std::string& text, const std::string& file) { return Checked(ParseProgram(text, file)); },
      nb::arg("text"), nb::arg("file"), "A program in the making: read, and not verified");
  m.def(
      "simplify", [](const std::string& size) { return ToString(Simplify(Checked(ParseExpr(size)))); }, nb::arg("size"),
      "A size in canonical form: equal sizes have equal texts");
  m.def("separate_gradient", &SeparateGradient, nb::arg("program"), nb::arg("outputs"), nb::arg("inputs"),
        nb::arg("sizes"), nb::arg("memory_limit").none());
  m.def("gradient", &Gradient, nb::arg("program"), nb::arg("outputs"), nb::arg("inputs"), nb::arg("given"),
        nb::arg("keep_outputs"), nb::arg("sizes"), nb::arg("memory_limit").none(), nb::arg("store"), nb::arg("recompute"));
}

}  // namespace headrace::python
