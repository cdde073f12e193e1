#include "backends/cpu/codegen_sdfg_internal.h"

#include <algorithm>
#include <utility>
#include <cinttypes>
#include <unordered_map>

#include "backends/common/external_call.h"
#include "backends/cpu/code_style.h"
#include "backends/cpu/ctypes.h"
#include "backends/cpu/plain_loops.h"
#include "ir/analysis/type_inference.h"
#include "ir/text/printer.h"

namespace headrace::cpu {

std::string FieldNames::Of(Name n, const std::string& kind) {
  auto& fields = of_[n];
  for (const auto& [of, field] : fields)
    if (of == kind) return field;
  std::string s = kind + Identifier(n.view());
  while (!taken_.insert(s).second) s += "_";
  return fields.emplace_back(kind, std::move(s)).second;
}

std::string SdfgGen::Pointer(Name base) {
  const Container& c = s_.Get(base);
  const std::string type = StorageType(c.dtype);
  const Place key(s_.name, base);
  if (auto it = names_.constant_index.find(key); it != names_.constant_index.end())
    return "((" + type + "*)x->program->constants[" + std::to_string(it->second) + "])";
  if (auto it = names_.persistent_index.find(key); it != names_.persistent_index.end())
    return "((" + type + "*)x->program->persistent[" + std::to_string(it->second) + "])";
  if (c.kind == ContainerKind::kParameter) return "f->" + fields_.Of(base, "");
  if (c.place.slot >= 0) return "((" + type + "*)(arena + " + arena_.Offset(c) + "))";
  return "((" + type + "*)f->" + fields_.Of(base, "slot_") + ".data)";
}

Status SdfgGen::Statement(NodeId n, Writer& w) {
  const auto& node = s_.nodes[n];
  if (std::holds_alternative<std::monostate>(node.body)) return {};
  Status status;
  const int around = site_;
  if (!in_nest_) site_ = NewSite(node.origin);
  if (++statements_ % kStyle.poll_statements == 0) w.Line("if (hr_stopped(x)) " + Leave());
  if (const auto* call = std::get_if<Nested>(&node.body)) {
    const Sdfg* callee = names_.program->Find(call->callee);
    status = callee && IsOneFunction(*callee) ? CallKernel(*call, *callee, w) : EmitNested(*call, w);
  } else if (const auto* lib = std::get_if<Library>(&node.body)) {
    status = EmitExternal(n, *lib, w);
  } else if (CheckViews(loose_.empty() ? std::vector<RawAccess>() : AccessesOf(s_, n), w); IsKernel(s_, n)) {
    status = StatementAsKernel(n, w);
  } else {
    PlainLoops loops(s_, n, lowerer_, *this);
    const bool nested = std::exchange(in_nest_, true);
    loops.call = [&](NodeId c, Writer& inner) { return Statement(c, inner); };
    loops.leave = Leave();
    w.Open("{");
    status = loops.Print(w);
    w.Close();
    in_nest_ = nested;
    w.Line("if (x->stop) " + (nested ? Leave() : "return hr_is(x, " + std::to_string(site_) + ");"));
  }
  site_ = around;
  return WithOrigin(status, node.origin);
}

Status SdfgGen::Statements(const std::vector<NodeId>& list, Writer& w) {
  if (list.size() <= kStyle.function_statements) {
    for (NodeId n : list) HR_RETURN_IF_ERROR(Statement(n, w));
    return {};
  }
  for (size_t begin = 0; begin < list.size(); begin += kStyle.function_statements) {
    Writer part;
    part.Open("(" + frame_ + "* f) {");
    Prolog(part);
    statements_ = 0;
    std::vector<Origin> sites = std::exchange(sites_, {Origin()});
    next_temp = 0;
    next_index_ = 0;
    for (size_t i = begin; i < std::min(list.size(), begin + kStyle.function_statements); ++i)
      HR_RETURN_IF_ERROR(Statement(list[i], part));
    part.Line("return 0;");
    part.Close();
    const auto [it, fresh] = part_of_.emplace(part.text(), fn_ + "_part" + std::to_string(part_of_.size()));
    const std::string& name = it->second;
    if (fresh) {
      out_.declarations += "int " + name + "(" + frame_ + "* f);\n";
      out_.functions.push_back("int " + name + part.text());
    }
    sites_.swap(sites);
    w.Line("if (" + name + "(f)) return hr_at(x, " + std::to_string(Append(sites, Origin())) + ");");
  }
  return {};
}

Status SdfgGen::Blocks(const std::vector<BlockId>& body, Writer& w) {
  for (size_t i = 0; i < body.size(); ++i) {
    const Control& c = s_.blocks[body[i]].control;
    const int around = site_;
    if (!in_nest_ && !std::holds_alternative<State>(c)) site_ = NewSite(s_.blocks[body[i]].origin);
    if (std::holds_alternative<State>(c)) {
      std::vector<NodeId> list;  // neighbouring states are one list
      for (; i < body.size(); ++i) {
        const auto* st = std::get_if<State>(&s_.blocks[body[i]].control);
        if (!st) break;
        list.insert(list.end(), st->statements.begin(), st->statements.end());
      }
      --i;
      HR_RETURN_IF_ERROR(Statements(list, w));
    } else if (const auto* l = std::get_if<Loop>(&c)) {
      HR_RETURN_IF_ERROR(EmitLoop(*l, w));
    } else if (const auto* cond = std::get_if<Conditional>(&c)) {
      HR_RETURN_IF_ERROR(EmitConditional(*cond, w));
    } else if (std::holds_alternative<Break>(c)) {
      w.Line("break;");
    } else if (std::holds_alternative<Continue>(c)) {
      w.Line("continue;");
    } else if (const auto* a = std::get_if<Assign>(&c)) {
      HR_ASSIGN_OR_RETURN(Expr v, Typed(a->value, DType::kI64));
      w.Open("{");
      if (!a->message.empty()) w.Line("x->blame = " + StringLiteral("E0660 " + a->message) + ";");
      const std::string text = Text(v, DType::kIndex, w);
      w.Line("f->" + fields_.Of(a->symbol, "") + " = " + Bare(text) + ";");
      if (!a->message.empty()) w.Line("x->blame = nullptr;");
      w.Close();
      w.Line("if (x->stop) " + Leave());
      AllocateFor({a->symbol}, {}, w);
    } else if (const auto* r = std::get_if<Require>(&c)) {
      HR_RETURN_IF_ERROR(EmitRequire(*r, w));
    }
    site_ = around;
  }
  return {};
}

Status SdfgGen::EmitRequire(const Require& r, Writer& w) {
  HR_ASSIGN_OR_RETURN(Expr condition, Typed(r.condition, DType::kBool));
  w.Open("{");
  const std::string text = Text(condition, DType::kBool, w);
  w.Open("if (!(" + Bare(text) + ")) {");
  std::string values;
  for (const Expr& e : r.values) values += (values.empty() ? "" : ", ") + Bare(Text(e, DType::kIndex, w));
  if (!values.empty()) w.Line("const int64_t values[] = {" + values + "};");
  w.Line("hr_unmet(x, " + StringLiteral("E0570 " + r.message) + ", " + (values.empty() ? "nullptr" : "values") + ");");
  w.Line(Leave());
  w.Close();
  w.Close();
  return {};
}

Status SdfgGen::EmitLoop(const Loop& l, Writer& w) {
  const bool ranged = AsRange(l).has_value();
  Expr init, cond, update;
  const std::string var = l.var.empty() ? "" : "f->" + fields_.Of(l.var, "");
  if (l.init) { HR_ASSIGN_OR_RETURN(init, Typed(l.init, DType::kI64)); }
  if (ranged) lowerer_.Push(*AsRange(l));
  if (l.condition) { HR_ASSIGN_OR_RETURN(cond, Typed(l.condition, DType::kBool)); }
  if (l.update) { HR_ASSIGN_OR_RETURN(update, Typed(l.update, DType::kI64)); }
  auto test = [&](Writer& out) {
    CheckViews(l.condition, out);
    if (cond) out.Line("if (!" + Text(cond, DType::kBool, out) + ") break;");
  };
  w.Open("{");
  CheckViews(l.init, w);
  if (init) w.Line(var + " = " + Bare(Text(init, DType::kIndex, w)) + ";");
  // A `continue` in the body must come past the update and the test: both stand at the top, skipped the first time.
  w.Open("for (bool first = true;; first = false) {");
  w.Line("if (hr_stopped(x)) " + Leave());
  if (update || l.do_while) {
    w.Open("if (!first) {");
    CheckViews(l.update, w);
    if (ranged)  // a variable that would wrap ends the loop
      w.Line("if (__builtin_add_overflow(" + var + ", " + Bare(Text(AsRange(l)->step, DType::kIndex, w)) + ", &" + var +
             ")) break;");
    else if (update) w.Line(var + " = " + Bare(Text(update, DType::kIndex, w)) + ";");
    if (l.do_while) test(w);
    w.Close();
  } else {
    w.Line("(void)first;");
  }
  if (!l.do_while) test(w);
  if (!l.var.empty()) AllocateFor({l.var}, {}, w);
  HR_RETURN_IF_ERROR(Blocks(l.body, w));
  w.Close();
  w.Close();
  if (ranged) lowerer_.Pop();
  return {};
}

Status SdfgGen::EmitConditional(const Conditional& c, Writer& w) {
  int open = 0;
  for (size_t i = 0; i < c.branches.size(); ++i) {
    const Branch& b = c.branches[i];
    if (b.condition) {
      HR_ASSIGN_OR_RETURN(Expr cond, Typed(b.condition, DType::kBool));
      w.Open("{");
      ++open;
      CheckViews(b.condition, w);
      const std::string text = Bare(Text(cond, DType::kBool, w));
      w.Line("if (x->stop) " + Leave());
      w.Open("if (" + text + ") {");
      HR_RETURN_IF_ERROR(Blocks(b.body, w));
      w.Close();
      if (i + 1 < c.branches.size()) {
        w.Open("else {");
        ++open;
      }
    } else {
      HR_RETURN_IF_ERROR(Blocks(b.body, w));
    }
  }
  while (open-- > 0) w.Close();
  return {};
}

// What lies outside of the arena and has its size from the start.
void SdfgGen::AllocateFirst(Writer& w) {
  for (Name n : outside_) {
    const std::vector<Name> symbols = FreeSymbols(NumElements(s_.Get(n)));
    if (std::none_of(symbols.begin(), symbols.end(), [&](Name x) { return inside_.count(x) > 0; })) Allocate(n, w);
  }
}

void SdfgGen::Allocate(Name n, Writer& w) {
  const Container& c = s_.Get(n);
  w.Line("if (hr_resize(x, &f->" + fields_.Of(n, "slot_") + ", " + Count(NumElements(c), w) + ", " +
         std::to_string(ByteSize(c.dtype)) + ", " + StringLiteral(n.str()) + ")) " + Leave());
}

// Everything whose last unknown size has just been defined.
void SdfgGen::AllocateFor(const std::vector<Name>& symbols, const std::set<Name>& done, Writer& w) {
  defined_.insert(symbols.begin(), symbols.end());
  auto ready = [&](const Container& c) {
    bool uses = false, known = true;
    for (const Expr& d : c.shape)
      for (Name n : FreeSymbols(d)) {
        uses |= std::find(symbols.begin(), symbols.end(), n) != symbols.end();
        known &= !inside_.count(n) || defined_.count(n);
      }
    return uses && known;
  };
  for (Name n : outside_)
    if (!done.count(n) && ready(s_.Get(n))) Allocate(n, w);
  if (s_.name != names_.program->entry) return;
  const std::vector<Name> outputs = Outputs(*names_.program, s_);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Container& c = s_.Get(outputs[i]);
    if (done.count(outputs[i]) || IsHandle(c) || !ready(c)) continue;
    w.Open("{");
    w.Line("const int64_t shape[] = {" + Shape(c, w) + "};");
    w.Line("f->" + fields_.Of(outputs[i], "") + " = (" + StorageType(c.dtype) + "*)hr_output(x, " + std::to_string(i) +
           ", " + std::to_string(static_cast<int>(c.dtype)) + ", " + std::to_string(c.shape.size()) + ", shape, " +
           StringLiteral(outputs[i].str()) + ");");
    w.Line("if (x->stop) " + Leave());
    w.Close();
  }
}

std::string SdfgGen::FrameStruct() {
  Writer w;
  w.Open("struct " + frame_ + " {");
  w.Line("hr_x* x;");
  w.Line("char* arena;");
  for (const auto& [name, field] : FrameFieldList(s_, &fields_)) {
    const Container* c = s_.Find(name);
    if (!c || !IsParameter(name)) w.Line("int64_t " + field + ";");
    else if (IsHandle(*c)) w.Line("hr_value* " + field + ";");
    else w.Line(std::string(StorageType(c->dtype)) + "* " + field + ";");
  }
  for (Name n : s_.order) {
    const Container& c = s_.Get(n);
    if (IsHandle(c) && !IsParameter(n)) {
      w.Line("hr_value* " + fields_.Of(n, "value_") + ";");
      w.Line("hr_box " + fields_.Of(n, "box_") + ";");
    }
  }
  for (Name n : outside_) w.Line("hr_slot " + fields_.Of(n, "slot_") + ";");
  if (!arena_.entries().empty()) w.Line("int64_t offset[" + std::to_string(arena_.entries().size()) + "];");
  w.Close("};");
  return w.text();
}

// The slots are summed once; only then, when none was too large, is it safe to say where their parts begin.
void SdfgGen::TakeArena(Writer& w) {
  w.Line("int64_t bytes = " + std::to_string(arena_.known_bytes()) + ";");
  for (size_t i = arena_.known_slots(); i < s_.arena.size(); ++i) {
    w.Line("const int64_t slot_" + std::to_string(i) + " = bytes;");
    w.Line("bytes = hr_extend(bytes, " + Count(s_.arena[i], w) + ", 1);");
  }
  w.Line("f->arena = (char*)hr_take(x, bytes);");
  if (arena_.entries().empty()) return;
  w.Open("if (f->arena) {");
  for (size_t k = 0; k < arena_.entries().size(); ++k) {
    const auto& [slot, offset] = arena_.entries()[k];
    w.Line("f->offset[" + std::to_string(k) + "] = " + arena_.Begin(slot) +
           (offset == Expr(0) ? "" : " + " + Bare(Text(offset, DType::kIndex, w))) + ";");
  }
  w.Close();
}

std::string SdfgGen::MainFunction(const std::string& body) {
  Writer w;
  w.Open("static int " + fn_ + "_body(" + frame_ + "* f) {");
  Prolog(w);
  w.Raw(body);
  w.Line("return 0;");
  w.Close();
  w.Open("int " + fn_ + "(" + frame_ + "* f) {");
  w.Line("hr_x* const x = f->x;");
  w.Line("const hr_mark mark = hr_begin(x);");
  TakeArena(w);
  std::string release;
  for (Name n : s_.order) {
    const Container& c = s_.Get(n);
    if (!IsHandle(c) || IsParameter(n)) continue;
    if (c.kind == ContainerKind::kConstant)
      w.Line("f->" + fields_.Of(n, "value_") + " = (hr_value*)x->program->handles + " +
             std::to_string(names_.constant_index.at({s_.name, n})) + ";");
    else w.Line("f->" + fields_.Of(n, "value_") + " = &f->" + fields_.Of(n, "box_") + ".value;");
  }
  w.Line("const int result = f->arena ? " + fn_ + "_body(f) : x->stop;");
  for (Name n : outside_) w.Line("hr_free_slot(x, &f->" + fields_.Of(n, "slot_") + ");");
  for (Name n : s_.order) {
    const Container& c = s_.Get(n);
    if (IsHandle(c) && !IsParameter(n) && c.kind != ContainerKind::kConstant)
      w.Line("hr_free_box(&f->" + fields_.Of(n, "box_") + ");");
  }
  w.Line("hr_release(x, mark);");
  w.Line("return result;");
  w.Close();
  return w.text();
}

Result<SdfgCode> SdfgGen::Run() {
  out_.frame = FrameStruct();
  Writer w(1);
  AllocateFirst(w);
  HR_RETURN_IF_ERROR(Blocks(s_.body, w));
  out_.declarations += "int " + fn_ + "(" + frame_ + "* f);\n";
  out_.functions.push_back(MainFunction(w.text()));
  names_.sites[s_.name] = std::move(sites_);
  return out_;
}

std::vector<std::pair<Name, std::string>> FrameFieldList(const Sdfg& s, FieldNames* fields) {
  std::vector<std::pair<Name, std::string>> out;
  std::unordered_set<Name> seen;
  auto symbol = [&](Name n) {
    if (seen.insert(n).second) out.push_back({n, fields->Of(n, "")});
  };
  for (Name p : s.parameters)
    out.push_back(
        {p,
         fields->Of(p, s.Get(p).kind == ContainerKind::kSequence || s.Get(p).dtype == DType::kString ? "value_" : "")});
  for (Name n : FreeSymbols(s)) symbol(n);
  for (Name n : DefinedInside(s)) symbol(n);
  return out;
}

std::unordered_map<Name, std::string> FrameFields(const Sdfg& s, FieldNames* fields) {
  std::unordered_map<Name, std::string> out;
  for (const auto& [name, field] : FrameFieldList(s, fields)) out[name] = field;
  return out;
}

Result<SdfgCode> GenerateSdfg(ProgramNames& names, const Sdfg& s) { return SdfgGen(names, s).Run(); }

}  // namespace headrace::cpu
