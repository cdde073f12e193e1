#include <algorithm>
#include <set>

#include "training/step_internal.h"

namespace headrace::training {
namespace {

std::string List(const ImportedModel& m, const std::vector<Name>& names) {
  std::string out;
  for (Name n : names) out += (out.empty() ? "'" : ", '") + m.OriginalName(n) + "'";
  return out.empty() ? "none" : out;
}

std::string TypeOf(const Container& c) {
  std::string out(DTypeName(c.dtype));
  out += "[";
  for (size_t d = 0; d < c.shape.size(); ++d) out += (d ? ", " : "") + ToString(c.shape[d]);
  return out + "]";
}

// Sizes that the program finds while it runs: no target could be declared with them.
std::set<Name> FoundSizes(const Sdfg& s) {
  std::set<Name> out;
  ForEachNode(s, [&](NodeId n) {
    if (auto* l = std::get_if<Library>(&s.nodes[n].body)) out.insert(l->defines.begin(), l->defines.end());
  });
  ForEachBlock(s, s.body, [&](BlockId b) {
    if (auto* a = std::get_if<Assign>(&s.blocks[b].control)) out.insert(a->symbol);
  });
  return out;
}

Status CheckSizes(const ImportedModel& m, const Sdfg& s, Name scores) {
  const std::set<Name> found = FoundSizes(s);
  for (const Expr& d : s.Get(scores).shape)
    for (Name n : FreeSymbols(d))
      if (found.count(n))
        return StepError("E0903", ErrorKind::kUnsupported,
                         "the sizes of output '" + m.OriginalName(scores) + "' are known only when the model has run",
                         "a target needs sizes that follow from those of the inputs");
  return {};
}

// The output that `cross_entropy:OUTPUT` names, or the only float one.
Result<Name> ScoresOf(const ImportedModel& m, const Sdfg& s, const std::vector<Name>& outputs, const std::string& kind,
                      const std::string& named) {
  std::vector<Name> floats;
  for (Name n : outputs)
    if (s.Get(n).kind == ContainerKind::kParameter && IsFloat(s.Get(n).dtype)) floats.push_back(n);
  if (!named.empty()) {
    for (Name n : floats)
      if (m.OriginalName(n) == named || n.view() == named) return n;
    return StepError("E0904", ErrorKind::kUsage, "the model has no float output '" + named + "'",
                     "float outputs: " + List(m, floats));
  }
  if (floats.size() == 1) return floats[0];
  if (floats.empty())
    return StepError("E0905", ErrorKind::kUsage, "the model has no float output to compute a loss from",
                     "outputs: " + List(m, outputs));
  return StepError("E0906", ErrorKind::kUsage, "the model has several float outputs: " + List(m, floats),
                   "name the one that is compared with the target: --loss " + kind + ":" + m.OriginalName(floats[0]));
}

// A scalar output of the model itself.
Result<Name> OwnLoss(const ImportedModel& m, Sdfg* s, const std::vector<Name>& outputs, const std::string& name) {
  Name loss;
  for (Name n : outputs)
    if (m.OriginalName(n) == name || n.view() == name) loss = n;
  if (loss.empty()) {
    std::vector<std::string> known = {"cross_entropy", "mse"};
    for (Name n : outputs) known.push_back(m.OriginalName(n));
    const std::string close = ClosestWord(name, known);
    return StepError(
        "E0907", ErrorKind::kUsage, "no loss and no output is called '" + name + "'",
        !close.empty() ? "did you mean '" + close + "'?" : "cross_entropy, mse, or an output: " + List(m, outputs));
  }
  const Container c = s->Get(loss);
  const bool one = std::all_of(c.shape.begin(), c.shape.end(), [](const Expr& d) { return AsInt(d) == int64_t{1}; });
  if (c.kind != ContainerKind::kParameter || !IsFloat(c.dtype) || !one)
    return StepError("E0908", ErrorKind::kUsage, "output '" + name + "' is " + TypeOf(c) + ": a loss is one float",
                     "--loss cross_entropy:" + name + " or mse:" + name + " computes one from it");
  if (c.shape.empty()) return loss;
  const Name scalar = AddParameter(s, "loss", c.dtype, {});
  Tasklet t;
  t.target = scalar;
  t.value = ReadExpr(loss, std::vector<Expr>(c.shape.size(), Expr(0)));
  AppendStatement(s, std::move(t));
  return scalar;
}

}  // namespace

Result<Loss> AddLoss(const ImportedModel& m, Program* p, const std::string& text, const std::vector<Statistic>& keep) {
  Sdfg& s = p->MutableEntry();
  std::vector<Name> outputs;
  for (Name n : Outputs(*p, s))
    if (std::none_of(keep.begin(), keep.end(), [&](const Statistic& x) { return x.updated == n; }))
      outputs.push_back(n);
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon), named = colon == std::string::npos ? "" : text.substr(colon + 1);
  Loss out;
  const bool classes = kind == "cross_entropy";
  if (classes || kind == "mse") {
    HR_ASSIGN_OR_RETURN(out.scores, ScoresOf(m, s, outputs, kind, named));
    HR_RETURN_IF_ERROR(CheckSizes(m, s, out.scores));
    const Container c = s.Get(out.scores);
    if (c.dtype != DType::kF32 && c.dtype != DType::kF64)
      return StepError(
          "E0909", ErrorKind::kUnsupported,
          "output '" + m.OriginalName(out.scores) + "' is " + TypeOf(c) + ": training in it is not supported",
          "export the model in f32");
    Library l;
    if (classes) {
      if (c.shape.size() < 2 || !AsInt(c.shape[1]))
        return StepError("E0910", ErrorKind::kUsage,
                         "cross_entropy needs an output [samples, classes, …] with a fixed number of classes, '" +
                             m.OriginalName(out.scores) + "' is " + TypeOf(c));
      out.classes = *AsInt(c.shape[1]);
      std::vector<Expr> shape = c.shape;
      shape.erase(shape.begin() + 1);
      out.target = AddParameter(&s, "target", DType::kI64, std::move(shape));
      l.domain = Name("onnx"), l.op = Name("SoftmaxCrossEntropyLoss");
      l.inputs = {{Name("scores"), out.scores}, {Name("labels"), out.target}};
    } else {
      out.target = AddParameter(&s, "target", c.dtype, c.shape);
      l.domain = Name("train"), l.op = Name("MeanSquaredError");
      l.inputs = {{Name("X"), out.scores}, {Name("target"), out.target}};
    }
    out.loss = AddParameter(&s, "loss", c.dtype, {});
    l.outputs = {{Name(classes ? "output" : "loss"), out.loss}};
    AppendStatement(&s, std::move(l), "loss");
  } else {
    HR_ASSIGN_OR_RETURN(out.loss, OwnLoss(m, &s, outputs, text));
    const DType t = s.Get(out.loss).dtype;
    if (t != DType::kF32 && t != DType::kF64)
      return StepError("E0909", ErrorKind::kUnsupported,
                       "output '" + text + "' is " + TypeOf(s.Get(out.loss)) + ": training in it is not supported",
                       "export the model in f32");
  }
  for (Name n : outputs)
    if (n != out.loss && !s.Get(n).inout) MakeTransient(&s, n);
  return out;
}

}  // namespace headrace::training
