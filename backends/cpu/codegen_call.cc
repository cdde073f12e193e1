// Calls: of other SDFGs through their frames, of external functions through the C ABI.
#include "backends/cpu/codegen_sdfg_internal.h"

#include <algorithm>
#include <cinttypes>
#include <unordered_map>

#include "backends/common/external_call.h"
#include "backends/cpu/ctypes.h"
#include "backends/cpu/kernel_key.h"
#include "ir/printer.h"
#include "ir/type_inference.h"

namespace headrace::cpu {

namespace {

std::string Quote(const std::string& s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 32) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\%03o", c);
      out += buffer;
    } else out += c;
  }
  return out + "\"";
}

}  // namespace

Status SdfgGen::EmitNested(const Nested& n, Writer& w) {
  const Sdfg* callee = names_.program->Find(n.callee);
  HR_CHECK(callee != nullptr, n.callee.str());
  const std::string fn = names_.function.at(n.callee);
  FieldNames fields;  // the callee's, in the order its own generator uses: symbols, then parameters
  std::map<Name, std::string> field = FrameFields(*callee, &fields);
  w.Open("{");
  w.Line("F_" + fn + " c = {};");
  w.Line("c.x = x;");
  std::map<Name, Expr> bound;
  for (const auto& [name, e] : n.symbols) bound[name] = e;
  for (const Argument& a : n.arguments) {
    const Container* formal = callee->Find(a.port);
    const Container& actual = s_.Get(a.container);
    if (!formal) return InvalidError("call of '" + n.callee.str() + "' has no parameter '" + a.port.str() + "'");
    if (IsHandle(actual)) {
      w.Line("c." + field.at(a.port) + " = " + "f->" + fields_.Of(a.container, "value_") + ";");
      continue;
    }
    if (!IsContiguous(actual)) return UnsupportedError("the cpu backend passes only contiguous containers to calls ('" + a.container.str() + "')");
    std::vector<Expr> index;
    for (const Expr& i : a.index) {
      HR_ASSIGN_OR_RETURN(Expr t, Typed(i, DType::kIndex));
      index.push_back(t);
    }
    for (size_t d = index.size(); d < actual.shape.size(); ++d) {
      const size_t k = d - a.index.size();
      if (k < formal->shape.size() && formal->shape[k].Is(ExprKind::kSymbol)) bound.emplace(formal->shape[k]->name, actual.shape[d]);
    }
    const size_t fixed = index.size();
    std::vector<Expr> strides = RowMajorStrides(actual.shape);
    Expr offset(0);
    for (size_t d = 0; d < fixed; ++d) offset = IndexAdd(offset, IndexMul(index[d], strides[d]));
    HR_ASSIGN_OR_RETURN(Address at, lowerer_.AddressOf(a.container, {offset}, true));
    const std::string text = Text(at.linear, DType::kIndex, w);
    std::string pointer = Element(at.base, Bare(text));
    pointer = s_.Get(at.base).storage == Storage::kRegister || text != "0" ? "&" + pointer : Pointer(at.base);
    w.Line("c." + field.at(a.port) + " = (" + std::string(StorageType(formal->dtype)) + "*)" + pointer + ";");
  }
  for (Name sym : FreeSymbols(*callee)) {
    auto it = bound.find(sym);
    if (it == bound.end()) {
      if (DefinedInside(*callee).count(sym)) return UnsupportedError("the cpu backend does not call '" + n.callee.str() + "', which defines the size '" + sym.str() + "' of its own result");
      continue;
    }
    HR_ASSIGN_OR_RETURN(Expr v, Typed(it->second, DType::kIndex));
    w.Line("c." + field.at(sym) + " = " + Bare(Text(v, DType::kIndex, w)) + ";");
  }
  w.Line("if (int r = " + fn + "(&c)) return r;");
  w.Close();
  return {};
}

Status SdfgGen::EmitExternal(NodeId id, const Library& l, Writer& w) {
  const std::string node = s_.nodes[id].origin.source.str();
  if (l.domain != Name("call")) return UnsupportedError("library node " + l.domain.str() + "." + l.op.str() + " was not expanded");
  auto [it, fresh] = names_.external_index.emplace(l.op.str(), static_cast<int>(names_.externals.size()));
  if (fresh) names_.externals.push_back(l.op.str());
  const std::vector<Name> run_outputs = s_.name == names_.program->entry ? Outputs(*names_.program, s_) : std::vector<Name>();
  w.Open("{");
  std::set<Name> done;
  auto value = [&](const Port& p, const std::string& var) -> Status {
    if (p.container.empty()) {
      w.Line("hr_value " + var + " = {};");
      return {};
    }
    const Container& c = s_.Get(p.container);
    if (IsHandle(c)) {
      w.Line("hr_value " + var + " = *f->" + fields_.Of(p.container, "value_") + ";");
      return {};
    }
    if (!IsContiguous(c)) return UnsupportedError("external functions take contiguous containers only ('" + p.container.str() + "')");
    HR_ASSIGN_OR_RETURN(Address at, lowerer_.AddressOf(p.container, {Expr(0)}, true));
    const std::string offset = Text(at.linear, DType::kIndex, w);
    w.Line("const int64_t " + var + "_shape[] = {" + Shape(c, w) + "};");
    w.Line("hr_value " + var + " = hr_tensor(" + std::to_string(static_cast<int>(c.dtype)) + ", " + std::to_string(c.shape.size()) + ", " + var + "_shape, (void*)(" +
           Pointer(at.base) + (offset == "0" ? "" : " + " + offset) + "));");
    return {};
  };
  std::string ins, outs, sinks;
  for (size_t i = 0; i < l.inputs.size(); ++i) {
    HR_RETURN_IF_ERROR(value(l.inputs[i], "in" + std::to_string(i)));
    ins += (i ? ", in" : "in") + std::to_string(i);
  }
  for (size_t i = 0; i < l.outputs.size(); ++i) {
    const Name name = l.outputs[i].container;
    const std::string var = "out" + std::to_string(i);
    std::string sink = "{nullptr, nullptr, -1, {}}";  // its memory is there: nothing to allocate
    bool unknown = false;
    if (!name.empty()) {
      const Container& c = s_.Get(name);
      const auto at = std::find(run_outputs.begin(), run_outputs.end(), name);
      for (const Expr& d : c.shape)
        for (Name n : FreeSymbols(d)) unknown |= std::find(l.defines.begin(), l.defines.end(), n) != l.defines.end();
      if (IsHandle(c) || unknown) {
        if (at != run_outputs.end()) sink = "{nullptr, nullptr, " + std::to_string(at - run_outputs.begin()) + ", {}}";
        else if (IsHandle(c)) sink = "{nullptr, f->" + fields_.Of(name, "value_") + ", -1, {}}";
        else if (c.kind == ContainerKind::kTransient) sink = "{&f->" + fields_.Of(name, "slot_") + ", nullptr, -1, {}}";
        else return UnsupportedError("external function '" + l.op.str() + "' sizes container '" + name.str() + "', which is not its own");
        w.Line("hr_value " + var + " = hr_tensor(" + std::to_string(static_cast<int>(c.dtype)) + ", " + std::to_string(c.shape.size()) + ", nullptr, nullptr);");
        if (c.kind == ContainerKind::kSequence) w.Line(var + ".kind = HR_SEQUENCE;");
        done.insert(name);
      } else {
        HR_RETURN_IF_ERROR(value(l.outputs[i], var));
      }
    } else {
      w.Line("hr_value " + var + " = {};");
    }
    outs += (i ? ", " : "") + var;
    sinks += (i ? ", " : "") + sink;
  }
  w.Line("const hr_value in[] = {" + (ins.empty() ? "{}" : ins) + "};");
  w.Line("hr_value out[] = {" + (outs.empty() ? "{}" : outs) + "};");
  w.Line("hr_sink sink[] = {" + (sinks.empty() ? "{}" : sinks) + "};");
  std::string attributes;
  int count = 0;
  for (const auto& [name, a] : l.attributes) {
    if (std::holds_alternative<Tensor>(a.value) || std::holds_alternative<Name>(a.value))
      return UnsupportedError("attribute '" + name.str() + "' of external function '" + l.op.str() + "' is a tensor or a graph");
    const std::string text = AttributeText(a);
    attributes += (count++ ? ", " : "") + ("{" + Quote(name.str()) + ", " + Quote(text) + ", nullptr}");
  }
  w.Line("static const hr_attribute attributes[] = {" + (attributes.empty() ? "{}" : attributes) + "};");
  w.Line("if (hr_call_external(x, " + std::to_string(it->second) + ", in, " + std::to_string(l.inputs.size()) + ", out, sink, " + std::to_string(l.outputs.size()) +
         ", attributes, " + std::to_string(count) + ")) return x->stop;");
  for (size_t i = 0; i < l.outputs.size(); ++i) {
    if (l.outputs[i].container.empty() || !done.count(l.outputs[i].container)) continue;
    const Container& c = s_.Get(l.outputs[i].container);
    if (IsHandle(c) && c.kind == ContainerKind::kSequence) continue;
    for (size_t d = 0; d < c.shape.size(); ++d)
      if (c.shape[d].Is(ExprKind::kSymbol) && std::find(l.defines.begin(), l.defines.end(), c.shape[d]->name) != l.defines.end())
        w.Line("f->" + fields_.Of(c.shape[d]->name, "") + " = out[" + std::to_string(i) + "].shape[" + std::to_string(d) + "];");
    if (c.kind == ContainerKind::kParameter && !IsHandle(c))
      w.Line("f->" + fields_.Of(c.name, "") + " = (" + std::string(StorageType(c.dtype)) + "*)out[" + std::to_string(i) + "].data;");
  }
  AllocateFor(l.defines, done, w);
  w.Close();
  return {};
}

}  // namespace headrace::cpu
