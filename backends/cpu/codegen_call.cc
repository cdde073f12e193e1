// Calls: of other SDFGs through their frames, of external functions through the C ABI.
#include "backends/cpu/codegen_sdfg_internal.h"

#include <algorithm>
#include <cinttypes>
#include <unordered_map>

#include "backends/common/external_call.h"
#include "backends/cpu/ctypes.h"
#include "backends/cpu/prepared.h"
#include "ir/analysis/type_inference.h"
#include "ir/registry/call_contract.h"
#include "ir/text/printer.h"

namespace headrace::cpu {

Result<std::string> SdfgGen::StagedArguments::Add(Name container, const std::vector<Expr>& index, bool in, bool out,
                                                  Writer& w) {
  const Container& c = g_.s_.Get(container);
  if (items_.empty()) w.Line("const hr_mark staged = hr_begin(x);");
  Item item;
  item.type = StorageType(c.dtype);
  item.copy = "copy" + std::to_string(g_.next_temp++);
  std::vector<Expr> all = index, rest;
  for (size_t d = index.size(); d < c.shape.size(); ++d) {
    item.indices.push_back(Name("$" + std::to_string(d)));
    item.extents.push_back(c.shape[d]);
    all.push_back(SymbolExpr(item.indices.back()));
    g_.lowerer_.Push({item.indices.back(), IntExpr(0), c.shape[d], IntExpr(1)});
  }
  auto at = g_.lowerer_.AddressOf(container, all, false);
  g_.lowerer_.Pop(item.indices.size());
  HR_RETURN_IF_ERROR(at.status());
  item.at = *at;
  Expr count(1);
  for (const Expr& e : item.extents) count = IndexMul(count, e);
  w.Line(item.type + "* const " + item.copy + " = (" + item.type + "*)hr_take(x, hr_extend(0, " +
         g_.Text(count, DType::kIndex, w) + ", " + std::to_string(ByteSize(c.dtype)) + "));");
  w.Line("if (!" + item.copy + ") " + g_.Leave());
  item.out = out;
  if (in) Copy(item, false, w);
  items_.push_back(item);
  return item.copy;
}

void SdfgGen::StagedArguments::Copy(const Item& item, bool back, Writer& w) {
  w.Open("{");
  w.Line("int64_t n = 0;");
  for (size_t d = 0; d < item.indices.size(); ++d) {
    const std::string end = g_.Text(item.extents[d], DType::kIndex, w), i = g_.OpenIndex(item.indices[d]);
    w.Open("for (int64_t " + i + " = 0; " + i + " < " + end + "; ++" + i + ") {");
  }
  const std::string element = g_.Element(item.at.base, Bare(g_.Text(item.at.linear, DType::kIndex, w)));
  w.Line(back ? element + " = " + item.copy + "[n++];" : item.copy + "[n++] = " + element + ";");
  for (size_t d = item.indices.size(); d-- > 0;) {
    w.Close();
    g_.CloseIndex(item.indices[d]);
  }
  w.Close();
}

void SdfgGen::StagedArguments::CopyBack(Writer& w) {
  for (const Item& item : items_)
    if (item.out) Copy(item, true, w);
  if (!items_.empty()) w.Line("hr_release(x, staged);");
}

// The sizes of all arguments must agree: what can't be proven is looked at.
Status SdfgGen::CheckSizes(const Nested& n, const Sdfg& callee, const std::map<Name, Expr>& bound, Writer& w) {
  std::vector<std::pair<Name, Expr>> symbols(bound.begin(), bound.end());
  for (const Argument& a : n.arguments) {
    const Container &formal = *callee.Find(a.port), &actual = s_.Get(a.container);
    if (IsHandle(actual)) continue;
    for (size_t k = 0; k < formal.shape.size() && a.index.size() + k < actual.shape.size(); ++k) {
      const Expr &size = formal.shape[k], &have = actual.shape[a.index.size() + k];
      if (AsInt(size) && size == have) continue;
      if (size.Is(ExprKind::kSymbol)) {  // most are what this argument says that they are
        const auto it = bound.find(size->name);
        if (it == bound.end() || it->second == have) continue;
      }
      const std::vector<Name> free = FreeSymbols(size);
      if (!std::all_of(free.begin(), free.end(), [&](Name f) { return bound.count(f); })) continue;
      const Expr want = Substitute(size, symbols);
      if (want == have ||
          (ProveLe(want, have, s_.assumptions) == Truth::kYes && ProveLe(have, want, s_.assumptions) == Truth::kYes))
        continue;
      HR_ASSIGN_OR_RETURN(const Expr expected, Typed(want, DType::kIndex));
      HR_ASSIGN_OR_RETURN(const Expr got, Typed(have, DType::kIndex));
      w.Line("if (!hr_size_agrees(x, " + StringLiteral(n.callee.str()) + ", " + StringLiteral(a.container.str()) +
             ", " + StringLiteral(a.port.str()) + ", " + std::to_string(k) + ", " + Text(got, DType::kIndex, w) + ", " +
             Text(expected, DType::kIndex, w) + ")) " + Leave());
    }
  }
  return {};
}

namespace {

// Do the strides of an argument, from dimension `fixed` on, agree with those of the parameter?
bool SameStrides(const Container& actual, size_t fixed, const Container& formal, const NameMap& symbols, const Assumptions& as) {
  const std::vector<Expr> have = StridesOf(actual), want = StridesOf(formal);
  for (size_t d = 0; d < want.size(); ++d)
    if (ProveEq(Substitute(want[d], symbols), have[fixed + d], as) != Truth::kYes) return false;
  return true;
}

}  // namespace

// Where the element of the argument lies that the callee's parameter begins at.
Result<SdfgGen::BoundCall> SdfgGen::BindArguments(const Nested& n, const Sdfg& callee, StagedArguments* staged, Writer& w) {
  BoundCall out;
  for (const auto& [name, e] : n.symbols) out.symbols[name] = e;
  for (const Argument& a : n.arguments) {
    const Container* formal = callee.Find(a.port);
    const Container& actual = s_.Get(a.container);
    if (!formal) return InvalidError("E0683",
                                     "call of '" + n.callee.str() + "' has no parameter '" + a.port.str() + "'");
    if (IsHandle(actual)) {
      out.pointers[a.port] = "f->" + fields_.Of(a.container, "value_");
      continue;
    }
    CheckViews({{a.container, {}}}, w);
    std::vector<Expr> index;
    for (const Expr& i : a.index) {
      CheckViews(i, w);
      HR_ASSIGN_OR_RETURN(Expr t, Typed(i, DType::kIndex));
      index.push_back(t);
    }
    if (const Address at = lowerer_.Narrowed(a.container, index); at.condition) {
      w.Line("if (!" + Text(at.condition, DType::kBool, w) + ") {");
      w.Line("  " + Bare(Text(at.report, actual.dtype, w)) + ";");
      w.Line("  " + Leave());
      w.Line("}");
    }
    const size_t fixed = index.size();
    for (size_t k = 0; k < formal->shape.size() && fixed + k < actual.shape.size(); ++k)
      if (formal->shape[k].Is(ExprKind::kSymbol)) out.symbols.emplace(formal->shape[k]->name, actual.shape[fixed + k]);
    if (!IsContiguous(actual) && IsContiguous(*formal)) {
      const Direction d = DirectionOf(*names_.program, callee, a.port);
      HR_ASSIGN_OR_RETURN(const std::string copy, staged->Add(a.container, index, d != Direction::kOut,
                                                              d == Direction::kOut || d == Direction::kInOut, w));
      out.pointers[a.port] = copy;
      continue;
    }
    if (!IsContiguous(*formal) &&
        !SameStrides(actual, fixed, *formal, {out.symbols.begin(), out.symbols.end()}, s_.assumptions))
      return InvalidError("E0683", "argument '" + a.container.str() + "' of '" + n.callee.str() +
                          "' has other strides than its parameter '" + a.port.str() + "'");
    if (index.empty() && actual.kind != ContainerKind::kView && actual.storage != Storage::kRegister) {
      out.pointers[a.port] = Pointer(a.container);
      continue;
    }
    index.resize(actual.shape.size(), IntExpr(0));
    HR_ASSIGN_OR_RETURN(Address at, lowerer_.AddressOf(a.container, index, false));
    const std::string text = Text(at.linear, DType::kIndex, w);
    const std::string element = Element(at.base, Bare(text));
    const bool first = text == "0" && s_.Get(at.base).storage != Storage::kRegister;
    out.pointers[a.port] = first ? Pointer(at.base) : "&" + element;
  }
  return out;
}

Status SdfgGen::EmitNested(const Nested& n, Writer& w) {
  const Sdfg* callee = names_.program->Find(n.callee);
  HR_CHECK(callee != nullptr, n.callee.str());
  const std::string fn = names_.function.at(n.callee);
  FieldNames fields;  // the callee's, in the order its own generator uses: symbols, then parameters
  const std::unordered_map<Name, std::string> field = FrameFields(*callee, &fields);
  w.Open("{");
  StagedArguments staged(*this);
  w.Line("F_" + fn + " c = {};");
  w.Line("c.x = x;");
  HR_ASSIGN_OR_RETURN(const BoundCall bound, BindArguments(n, *callee, &staged, w));
  for (const Argument& a : n.arguments) w.Line("c." + field.at(a.port) + " = " + bound.pointers.at(a.port) + ";");
  HR_RETURN_IF_ERROR(CheckSizes(n, *callee, bound.symbols, w));
  for (Name sym : FreeSymbols(*callee)) {
    auto it = bound.symbols.find(sym);
    if (it == bound.symbols.end()) {
      if (DefinedInside(*callee).count(sym))
        return UnsupportedError("E0682",
                                "the cpu backend does not call '" + n.callee.str() + "', which defines the size '" +
                                sym.str() + "' of its own result");
      continue;
    }
    HR_ASSIGN_OR_RETURN(Expr v, Typed(it->second, DType::kIndex));
    w.Line("c." + field.at(sym) + " = " + Bare(Text(v, DType::kIndex, w)) + ";");
  }
  if (callee->flush == s_.flush) {
    w.Line("if (" + fn + "(&c)) " + LeaveCall(callee->name));
  } else {
    w.Line("int stopped;");
    w.Line(CallIn(*callee, "stopped = " + fn + "(&c)"));
    w.Line("if (stopped) " + LeaveCall(callee->name));
  }
  staged.CopyBack(w);
  w.Close();
  return {};
}

// One binding for all calls of a function, one per node where each node has a state.
Result<int> SdfgGen::BindingOf(NodeId id, const Library& l, const std::string& attributes) {
  const ExternalFunction* function = names_.registry->FindFunction(l.op.str());
  const bool prepares = function && function->prepare, stateful = prepares || (function && function->create);
  if (const auto it = names_.external_index.find(l.op.str()); !stateful && it != names_.external_index.end()) return it->second;
  const int binding = static_cast<int>(names_.externals.size());
  if (!stateful) names_.external_index[l.op.str()] = binding;
  names_.externals.push_back(l.op.str());
  names_.external_attributes.push_back(stateful && !prepares ? attributes : "");
  names_.prepared.push_back("");
  if (!prepares) return binding;
  HR_ASSIGN_OR_RETURN(const NodeView view, ViewOf(*names_.registry, *names_.program, s_, id));
  names_.prepared.back() = PreparedNode(view, binding, [&](Name container) {
    const auto it = names_.constant_index.find({s_.name, container});
    return it == names_.constant_index.end() ? -1 : it->second;
  });
  return binding;
}

Status SdfgGen::EmitExternal(NodeId id, const Library& l, Writer& w) {
  const std::string node = s_.nodes[id].origin.Label();
  if (l.domain != Name("call"))
    return UnsupportedError("E0680", "library node " + l.domain.str() + "." + l.op.str() + " was not expanded");
  std::string attributes;
  int count = 0;
  for (const auto& [name, a] : l.attributes) {
    if (std::holds_alternative<Tensor>(a.value) || std::holds_alternative<Name>(a.value))
      return UnsupportedError("E0682", "attribute '" + name.str() + "' of external function '" + l.op.str() +
                              "' is a tensor or a graph");
    const std::string text = AttributeText(a);
    attributes += (count++ ? ", " : "") + ("{" + StringLiteral(name.str()) + ", " + StringLiteral(text) + ", nullptr}");
  }
  HR_ASSIGN_OR_RETURN(const int binding, BindingOf(id, l, attributes));
  const ExternalFunction* function = names_.registry->FindFunction(l.op.str());
  const bool strided = function && function->layout;  // it takes operands that are not row-major
  const bool has_scratch = !l.outputs.empty() && l.outputs.back().name == Name(kScratchPort);
  const size_t outputs = l.outputs.size() - has_scratch;
  const std::vector<Name> run_outputs =
      s_.name == names_.program->entry ? Outputs(*names_.program, s_) : std::vector<Name>();
  w.Open("{");
  std::set<Name> done;
  StagedArguments staged(*this);
  std::set<std::string> strides_of;  // the variables that have some
  auto value = [&](const Port& p, const std::string& var, bool output) -> Status {
    if (p.container.empty()) {
      w.Line("hr_value " + var + " = {};");
      return {};
    }
    const Container& c = s_.Get(p.container);
    CheckViews({{p.container, {}}}, w);
    if (IsHandle(c)) {
      w.Line("hr_value " + var + " = *f->" + fields_.Of(p.container, "value_") + ";");
      return {};
    }
    w.Line("const int64_t " + var + "_shape[] = {" + Shape(c, w) + "};");
    if (!IsContiguous(c) && strided) {
      std::string strides;
      for (const Expr& e : c.strides) strides += (strides.empty() ? "" : ", ") + Text(e, DType::kIndex, w);
      w.Line("const int64_t " + var + "_strides[] = {" + strides + "};");
      HR_ASSIGN_OR_RETURN(const Address at, lowerer_.AddressOf(p.container, std::vector<Expr>(c.shape.size(), Expr(0)), false));
      w.Line("hr_value " + var + " = hr_tensor(" + std::to_string(static_cast<int>(c.dtype)) + ", " +
             std::to_string(c.shape.size()) + ", " + var + "_shape, (void*)(" + Pointer(at.base) + " + " +
             Text(at.linear, DType::kIndex, w) + "));");
      strides_of.insert(var);
      return {};
    }
    if (!IsContiguous(c)) {
      HR_ASSIGN_OR_RETURN(const std::string copy, staged.Add(p.container, {}, !output, output, w));
      w.Line("hr_value " + var + " = hr_tensor(" + std::to_string(static_cast<int>(c.dtype)) + ", " +
             std::to_string(c.shape.size()) + ", " + var + "_shape, " + copy + ");");
      return {};
    }
    HR_ASSIGN_OR_RETURN(Address at, lowerer_.AddressOf(p.container, {Expr(0)}, true));
    const std::string offset = Text(at.linear, DType::kIndex, w);
    w.Line("hr_value " + var + " = hr_tensor(" + std::to_string(static_cast<int>(c.dtype)) + ", " +
           std::to_string(c.shape.size()) + ", " + var + "_shape, (void*)(" + Pointer(at.base) +
           (offset == "0" ? "" : " + " + offset) + "));");
    return {};
  };
  std::string ins, outs, sinks;
  for (size_t i = 0; i < l.inputs.size(); ++i) {
    HR_RETURN_IF_ERROR(value(l.inputs[i], "in" + std::to_string(i), false));
    ins += (i ? ", in" : "in") + std::to_string(i);
  }
  for (size_t i = 0; i < outputs; ++i) {
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
        else
          return UnsupportedError("E0682", "external function '" + l.op.str() + "' sizes container '" + name.str() +
                                  "', which is not its own");
        w.Line("hr_value " + var + " = hr_tensor(" + std::to_string(static_cast<int>(c.dtype)) + ", " +
               std::to_string(c.shape.size()) + ", nullptr, nullptr);");
        if (c.kind == ContainerKind::kSequence) w.Line(var + ".kind = HR_SEQUENCE;");
        done.insert(name);
      } else {
        HR_RETURN_IF_ERROR(value(l.outputs[i], var, true));
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
  w.Line("static const hr_attribute attributes[] = {" + (attributes.empty() ? "{}" : attributes) + "};");
  if (has_scratch) HR_RETURN_IF_ERROR(value(l.outputs.back(), "scratch", true));
  const bool more = has_scratch || !strides_of.empty();
  auto strides = [&](const std::string& stem, size_t ports) {
    std::string items;
    for (size_t i = 0; i < ports; ++i) {
      const std::string var = stem + std::to_string(i);
      items += (i ? ", " : "") + (strides_of.count(var) ? var + "_strides" : "nullptr");
    }
    w.Line("const int64_t* const " + stem + "_strides[] = {" + (items.empty() ? "nullptr" : items) + "};");
  };
  if (more) {
    strides("in", l.inputs.size());
    strides("out", outputs);
    w.Line("const hr_call_more more = {" + std::string(has_scratch ? "scratch.data, scratch.shape[0]" : "nullptr, 0") +
           ", in_strides, out_strides};");
  }
  w.Line("if (hr_call_external(x, " + std::to_string(binding) + ", " + StringLiteral(l.op.str()) + ", in, " +
         std::to_string(l.inputs.size()) + ", out, sink, " + std::to_string(outputs) + ", attributes, " + std::to_string(count) +
         (more ? ", &more" : "") + ")) " + Leave());
  staged.CopyBack(w);
  for (size_t i = 0; i < l.outputs.size(); ++i) {
    if (l.outputs[i].container.empty() || !done.count(l.outputs[i].container)) continue;
    const Container& c = s_.Get(l.outputs[i].container);
    if (IsHandle(c) && c.kind == ContainerKind::kSequence) continue;
    for (size_t d = 0; d < c.shape.size(); ++d)
      if (c.shape[d].Is(ExprKind::kSymbol) &&
          std::find(l.defines.begin(), l.defines.end(), c.shape[d]->name) != l.defines.end())
        w.Line("f->" + fields_.Of(c.shape[d]->name, "") + " = out[" + std::to_string(i) + "].shape[" +
               std::to_string(d) + "];");
    if (c.kind == ContainerKind::kParameter && !IsHandle(c))
      w.Line("f->" + fields_.Of(c.name, "") + " = (" + std::string(StorageType(c.dtype)) + "*)out[" +
             std::to_string(i) + "].data;");
  }
  AllocateFor(l.defines, done, w);
  w.Close();
  return {};
}

}  // namespace headrace::cpu
