#include "backends/cpu/codegen_program.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "backends/cpu/access.h"
#include "backends/cpu/code_style.h"
#include "backends/cpu/codegen_sdfg.h"
#include "backends/cpu/ctypes.h"
#include "ir/analysis/dataflow.h"
#include "ir/analysis/layout.h"
#include "ir/verify/verify.h"

namespace headrace::cpu {
namespace {

// Callees before callers.
std::vector<const Sdfg*> Reachable(const Program& p) {
  std::vector<const Sdfg*> out;
  std::set<Name> seen;
  std::function<void(const Sdfg&)> visit = [&](const Sdfg& s) {
    if (!seen.insert(s.name).second) return;
    ForEachNode(s, [&](NodeId n) {
      if (const auto* call = std::get_if<Nested>(&s.nodes[n].body))
        if (const Sdfg* callee = p.Find(call->callee)) visit(*callee);
    });
    out.push_back(&s);
  };
  visit(p.Entry());
  return out;
}

Status CheckLibraryNodes(const std::vector<const Sdfg*>& sdfgs, const Registry& r) {
  std::vector<Diagnostic> all;
  for (const Sdfg* s : sdfgs)
    ForEachNode(*s, [&](NodeId n) {
      const auto* l = std::get_if<Library>(&s->nodes[n].body);
      if (!l) return;
      Diagnostic d;
      d.kind = ErrorKind::kUnsupported;
      d.node = s->nodes[n].origin.Label();
      d.op = l->domain.str() + "." + l->op.str();
      if (l->domain != Name("call")) {
        d.code = "E0680";
        d.message = "the cpu backend has no code for this node: it was not expanded";
        all.push_back(d);
      } else if (!r.FindFunction(l->op.str())) {
        d.code = "E0681";
        d.message = "external function '" + l->op.str() + "' is not registered";
        d.hint = "load the plugin that provides it";
        all.push_back(d);
      }
    });
  return Status(all);
}

// SDFGs that some call gives two overlapping containers, one of them written, and all they call.
std::set<Name> MayAlias(const Program& p, const std::vector<const Sdfg*>& sdfgs) {
  std::set<Name> out;
  Callees callees(p);
  for (auto it = sdfgs.rbegin(); it != sdfgs.rend(); ++it) {  // callers first
    const Sdfg& s = **it;
    ForEachNode(s, [&](NodeId n) {
      const auto* call = std::get_if<Nested>(&s.nodes[n].body);
      const Sdfg* callee = call ? p.Find(call->callee) : nullptr;
      if (!callee) return;
      bool overlap = out.count(s.name) > 0;
      struct Given {
        size_t times = 0;
        bool written = false;
      };
      std::unordered_map<Name, Given> given;  // what the arguments are (parts) of
      for (const Argument& a : call->arguments) {
        Given& g = given[BaseOf(s, a.container)];
        const Direction d = callees.Of(call->callee, a.port);
        g.written |= d == Direction::kOut || d == Direction::kInOut;
        overlap |= ++g.times > 1 && g.written;
      }
      if (overlap) out.insert(callee->name);
    });
  }
  return out;
}

std::string ShapeArray(const std::string& name, const std::vector<int64_t>& shape) {
  std::string s = "static const int64_t " + name + "[] = {";
  for (size_t i = 0; i < shape.size(); ++i) s += (i ? ", " : "") + std::to_string(shape[i]);
  return s + (shape.empty() ? "0};\n" : "};\n");
}

// The exported info, init, run and free.
Result<std::string> EntryPoints(const Program& p, const ProgramNames& names, const std::vector<Tensor>& constants) {
  const Sdfg& s = p.Entry();
  const std::string fn = names.function.at(s.name);
  const std::set<Name> inside = DefinedInside(s);
  FieldNames table;
  const std::unordered_map<Name, std::string> fields = FrameFields(s, &table);
  Writer w;
  auto handle = [](const Container& c) { return c.kind == ContainerKind::kSequence || c.dtype == DType::kString; };
  // ---- info ----
  std::string parameters, run_in, run_out;
  int inputs = 0, outputs = 0;
  Writer run(1);
  const std::vector<Direction> directions = Directions(p, s);
  for (size_t at = 0; at < directions.size(); ++at) {
    const Name n = s.parameters[at];
    const Container& c = s.Get(n);
    const Direction d = directions[at];
    const bool in = d != Direction::kOut, out = d == Direction::kOut || d == Direction::kInOut;
    const bool sequence = c.kind == ContainerKind::kSequence || c.type.kind != ValueType::kTensor;
    std::string dims;
    for (const Expr& e : c.shape) dims += (dims.empty() ? "" : ", ") + StringLiteral(ToString(e));
    w.Line("static const char* const shape_" + std::to_string(inputs + outputs) + "_" + Identifier(n.view()) +
           "[] = {" + (dims.empty() ? "nullptr" : dims) + "};");
    parameters += "  {" + StringLiteral(n.str()) + ", " + StringLiteral(n.str()) + ", " +
                  (sequence ? "HR_SEQUENCE" : "HR_TENSOR") + ", " +
                  (in && out ? "HR_INOUT"
                   : out     ? "HR_OUT"
                             : "HR_IN") +
                  ", " + std::to_string(static_cast<int>(sequence ? c.type.dtype : c.dtype)) + ", " +
                  std::to_string(c.shape.size()) + ", " + (c.optional || d == Direction::kUnused ? "1" : "0") +
                  ", 0, shape_" + std::to_string(inputs + outputs) + "_" + Identifier(n.view()) + "},\n";
    const std::string field = "f." + fields.at(n), input = "run->inputs[" + std::to_string(inputs) + "]",
                      output = "run->outputs[" + std::to_string(outputs) + "]";
    const std::string type = std::string(StorageType(c.dtype)) + "*";
    if (handle(c)) {
      run.Line(field + " = (hr_value*)&" + (out ? output : input) + ";");
      if (in && out)
        return UnsupportedError("E0682",
                                "parameter '" + n.str() + "' is a string or sequence that is both read and written");
    } else if (out) {
      bool later = false;
      for (const Expr& e : c.shape)
        for (Name f : FreeSymbols(e)) later |= inside.count(f) > 0;
      if (!later) {
        run.Open("{");
        std::string shape;
        struct SymbolEnv : Env {  // one for all sizes, whose temporaries have names of their own
          const std::unordered_map<Name, std::string>* fields;
          Assumptions none;
          std::string Symbol(Name n) override { return "f." + fields->at(n); }
          std::string Pointer(Name) override { return ""; }
          std::string Context() override { return "&x"; }
          const Assumptions& Known() override { return none; }
        } env;
        env.fields = &fields;
        for (const Expr& e : c.shape) {
          ExprCode code(env, run);
          code.Use(e);
          shape += (shape.empty() ? "" : ", ") + Bare(code.Index(e));
        }
        run.Line("const int64_t shape[] = {" + (shape.empty() ? "0" : shape) + "};");
        run.Line(field + " = (" + type + ")hr_output(&x, " + std::to_string(outputs) + ", " +
                 std::to_string(static_cast<int>(c.dtype)) + ", " + std::to_string(c.shape.size()) + ", shape, " +
                 StringLiteral(n.str()) + ");");
        if (in) {
          run.Line("if (" + field + " && " + input + ".kind == HR_TENSOR && " + input + ".data != " + field + ")");
          run.Line("  __builtin_memcpy(" + field + ", " + input + ".data, (size_t)(hr_count(&" + input +
                   ") * hr_width(" + input + ".dtype)));");
        }
        run.Close();
      }
    } else {
      run.Line(field + " = " + input + ".kind == HR_TENSOR ? (" + type + ")" + input + ".data : nullptr;");
    }
    inputs += in, outputs += out;
  }
  std::string symbols;
  int symbol_count = 0;
  std::string bind;
  for (Name n : FreeSymbols(s)) {
    if (inside.count(n)) continue;
    const bool by_name = std::find(s.symbol_params.begin(), s.symbol_params.end(), n) != s.symbol_params.end();
    symbols += "  {" + StringLiteral(n.str()) + ", " + (by_name ? "1" : "0") + ", 0},\n";
    bind += "  f." + fields.at(n) + " = run->symbols[" + std::to_string(symbol_count++) + "];\n";
  }
  std::string constant_list;
  for (size_t i = 0; i < constants.size(); ++i) {
    w.Raw(ShapeArray("constant_shape_" + std::to_string(i), constants[i].shape));
    const int64_t bytes = constants[i].dtype == DType::kString ? constants[i].elements() * 16 : constants[i].bytes();
    constant_list += "  {" + StringLiteral(names.constants[i].second.str()) + ", " +
                     std::to_string(static_cast<int>(constants[i].dtype)) + ", " +
                     std::to_string(constants[i].shape.size()) + ", constant_shape_" + std::to_string(i) + ", " +
                     std::to_string(bytes) + "},\n";
  }
  std::string externals;
  for (const std::string& e : names.externals) externals += "  " + StringLiteral(e) + ",\n";
  auto table_of = [&](const std::string& type, const std::string& name, const std::string& items) {
    w.Raw("static " + type + " " + name + "[] = {\n" + (items.empty() ? "  {}\n" : items) + "};\n");
  };
  table_of("const hr_parameter", "parameters", parameters);
  table_of("const hr_symbol", "symbols", symbols);
  table_of("const hr_constant", "constants", constant_list);
  table_of("const char* const", "externals", externals.empty() ? "  nullptr\n" : externals);
  w.Raw(
      "extern \"C\" HEADRACE_EXPORT const headrace_program_info_t headrace_program_info = {\n  sizeof(headrace_program_info_t), HEADRACE_PROGRAM_MAGIC, "
      "HEADRACE_PROGRAM_MAJOR, HEADRACE_PROGRAM_MINOR,\n  " +
      StringLiteral(s.name.str()) + ", \"headrace 0.1.0, \" __VERSION__, " + std::to_string(s.parameters.size()) +
      ", " + std::to_string(symbol_count) + ", " + std::to_string(constants.size()) + ", " +
      std::to_string(names.externals.size()) + ",\n  parameters, symbols, constants, externals};\n\n");
  // Attributes that external functions make a state of, for whoever loads the program.
  std::string states;
  bool stateful = false;
  for (size_t i = 0; i < names.external_attributes.size(); ++i) {
    const std::string& a = names.external_attributes[i];
    if (!a.empty()) w.Raw("static const hr_attribute external_attributes_" + std::to_string(i) + "[] = {" + a + "};\n");
    states += a.empty() ? "  {nullptr, 0},\n"
                        : "  {external_attributes_" + std::to_string(i) + ", (int32_t)(sizeof(external_attributes_" +
                              std::to_string(i) + ") / sizeof(hr_attribute))},\n";
    stateful |= !a.empty();
  }
  if (stateful)
    w.Raw("extern \"C\" HEADRACE_EXPORT const hr_external_attributes headrace_program_external_attributes[] = {\n" +
          states + "};\n");
  std::string prepared;
  for (size_t i = 0; i < names.prepared.size(); ++i) {
    w.Raw(names.prepared[i]);
    const std::string n = std::to_string(i);
    prepared += names.prepared[i].empty() ? "  {nullptr, nullptr},\n" : "  {&prepared_" + n + ", prepared_" + n + "_constants},\n";
  }
  if (prepared.find('&') != std::string::npos)
    w.Raw("extern \"C\" HEADRACE_EXPORT const hr_prepared_node headrace_program_prepared[] = {\n" + prepared + "};\n");
  // ---- init, free ----
  const size_t persistent = names.persistent.size();
  if (persistent) w.Line("struct persistent_item { int64_t bytes; int32_t initial; };");
  std::string items;
  for (const auto& [sdfg, name] : names.persistent) {
    const Container& c = p.Find(sdfg)->Get(name);
    const auto n = AsInt(NumElements(c));
    if (!n) return UnsupportedError("E0682", "persistent container '" + name.str() + "' has no fixed size");
    auto it = names.constant_index.find({sdfg, Name(name.str() + "$initial")});
    items += "  {" + std::to_string(std::max(kStyle.state_bytes, *n * ByteSize(c.dtype))) + ", " +
             (it == names.constant_index.end() ? "-1" : std::to_string(it->second)) + "},\n";
  }
  if (persistent) table_of("const persistent_item", "persistent_items", items);
  const std::string count = std::to_string(persistent);
  w.Raw(
      "extern \"C\" HEADRACE_EXPORT void headrace_program_free(void* program) {\n  hr_program* p = (hr_program*)program;\n  if (!p) return;\n  hr_drop(p, p->spare);\n  for (hr_block* b : p->scratch) hr_drop(p, b);\n");
  if (persistent)
    w.Raw("  for (int i = 0; i < " + count +
          "; ++i)\n    if (p->persistent[i]) p->runtime->arena_delete(p->persistent[i], persistent_items[i].bytes);\n");
  w.Raw("  free(p->persistent);\n  free(p->handles);\n  free(p);\n}\n\n");
  w.Raw(
      "extern \"C\" HEADRACE_EXPORT int32_t headrace_program_init(hr_init* init, void** program) {\n"
      "  const int n = headrace_program_info.n_constants;\n"
      "  hr_program* p = (hr_program*)malloc(sizeof(hr_program));\n  if (!p) return HR_OUT_OF_MEMORY;\n  *p = {};\n"
      "  p->runtime = init->runtime;\n  p->constants = init->constants;\n  p->externals = init->externals;\n"
      "  p->handles = (hr_value*)malloc((size_t)(n + 1) * sizeof(hr_value));\n"
      "  p->persistent = (void**)malloc(" +
      std::to_string(persistent + 1) +
      " * sizeof(void*));\n"
      "  if (!p->handles || !p->persistent) {\n    headrace_program_free(p);\n    return HR_OUT_OF_MEMORY;\n  }\n"
      "  for (int i = 0; i < n; ++i) p->handles[i] = hr_tensor(constants[i].dtype, constants[i].rank, constants[i].shape, (void*)init->constants[i]);\n");
  if (persistent)
    w.Raw(
        "  for (int i = 0; i < " + count + "; ++i) p->persistent[i] = nullptr;\n  for (int i = 0; i < " + count +
        "; ++i) {\n"
        "    void* m = p->persistent[i] = p->runtime->arena_new(persistent_items[i].bytes);\n    if (!m) {\n      headrace_program_free(p);\n      return HR_OUT_OF_MEMORY;\n    }\n"
        "    if (persistent_items[i].initial >= 0) __builtin_memcpy(m, init->constants[persistent_items[i].initial], (size_t)constants[persistent_items[i].initial].bytes);\n"
        "    else __builtin_memset(m, 0, (size_t)persistent_items[i].bytes);\n  }\n");
  w.Raw("  *program = p;\n  return HR_OK;\n}\n\n");
  // ---- run ----
  w.Raw(
      "static __thread int32_t last_site;\n"
      "extern \"C\" HEADRACE_EXPORT int32_t headrace_program_site(void) { return last_site; }\n"
      "extern \"C\" HEADRACE_EXPORT int32_t headrace_program_run(void* program, hr_run* run) {\n"
      "  hr_program* const p = (hr_program*)program;\n"
      "  hr_x x = {p, run, 0, run->threads, nullptr, __atomic_exchange_n(&p->spare, nullptr, __ATOMIC_ACQ_REL), nullptr, 0, 0};\n"
      "  F_" +
      fn + " f = {};\n  f.x = &x;\n" + bind + run.text() + "  x.found = hr_denormals(" +
      (s.flush ? "1" : "0") + ");\n  const int result = x.stop ? x.stop : " + fn +
      "(&f);\n"
      "  hr_float_mode_swap(x.found);\n"
      "  last_site = result ? x.site : 0;\n"
      "  hr_release(&x, {nullptr, 0});\n"
      "  hr_drop(p, __atomic_exchange_n(&p->spare, x.spare, __ATOMIC_ACQ_REL));\n  return result;\n}\n");
  return w.text();
}

bool Has(const std::vector<std::string>& texts, const char* word) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& t) { return t.find(word) != std::string::npos; });
}

// Kernels and functions, cut into files by size alone: the cut does not depend on the machine.
void AddFiles(const std::string& stem, const std::string& includes, const std::vector<std::string>& items, CodeKind kind,
              std::vector<SourceFile>* files) {
  size_t left = 0;
  for (const std::string& item : items) left += item.size();
  size_t next = 0, number = 0;
  while (next < items.size()) {
    const size_t bytes = std::clamp(left / kStyle.file_share, kStyle.file_least, kStyle.file_bytes);
    std::string text;
    for (; next < items.size() && text.size() < bytes; ++next) text += items[next] + "\n", left -= items[next].size();
    files->push_back({stem + std::to_string(number++) + ".cc", includes + "\n" + text, kind});
  }
}

}  // namespace

std::string GeneratedProgram::Text() const {
  std::string out;
  for (const SourceFile& f : files)
    if (f.name != "headrace.h") out += "// ---- " + f.name + " ----\n" + f.text + "\n";
  return out;
}

Result<GeneratedProgram> GenerateProgram(const Program& p, const Registry& r) {
  const std::vector<const Sdfg*> sdfgs = Reachable(p);
  HR_RETURN_IF_ERROR(CheckLibraryNodes(sdfgs, r));
  for (const Sdfg* s : sdfgs) HR_RETURN_IF_ERROR(VerifyArena(*s));
  GeneratedProgram out;
  ProgramNames names;
  names.program = &p;
  names.registry = &r;
  names.may_alias = MayAlias(p, sdfgs);
  std::set<std::string> taken;
  for (const Sdfg* s : sdfgs) {
    std::string fn = "run_" + Identifier(s->name.view());
    while (!taken.insert(fn).second) fn += "_";
    names.function[s->name] = fn;
    for (Name n : s->order) {
      const Container& c = s->Get(n);
      if (c.kind == ContainerKind::kConstant) {
        names.constant_index[{s->name, n}] = static_cast<int>(names.constants.size());
        names.constants.push_back({s->name, n});
        HR_ASSIGN_OR_RETURN(Tensor data, InMemory(c));
        out.constants.push_back(std::move(data));
      } else if (c.kind == ContainerKind::kState) {
        names.persistent_index[{s->name, n}] = static_cast<int>(names.persistent.size());
        names.persistent.push_back({s->name, n});
        if (c.data.data) {
          const Name initial(n.str() + "$initial");
          names.constant_index[{s->name, initial}] = static_cast<int>(names.constants.size());
          names.constants.push_back({s->name, initial});
          out.constants.push_back(c.data);
        }
      }
    }
  }
  std::string frames, prototypes;
  std::vector<std::string> functions;
  std::vector<Diagnostic> errors;
  for (const Sdfg* s : sdfgs) {
    const Status fits = s->kernel ? CheckKernel(p, *s) : Status();
    errors.insert(errors.end(), fits.diagnostics().begin(), fits.diagnostics().end());
    if (!fits.ok() || IsOneFunction(*s)) continue;  // kernels are printed where they are called
    auto code = GenerateSdfg(names, *s);
    if (!code.ok()) {
      for (const Diagnostic& d : code.status().diagnostics()) errors.push_back(d);
      continue;
    }
    frames += code->frame;
    prototypes += code->declarations;
    functions.insert(functions.end(), code->functions.begin(), code->functions.end());
  }
  if (!errors.empty()) return Status(errors);
  std::string kernels;
  for (const auto& k : names.kernels) kernels += "void " + k.name + "(" + k.parameters + ");\n";
  HR_ASSIGN_OR_RETURN(std::string entry, EntryPoints(p, names, out.constants));
  out.externals = names.externals;
  out.sites = names.sites[p.entry];
  out.kernels = static_cast<int>(names.kernels.size());
  for (const auto& k : names.kernels) out.scheduled += k.scheduled;
  out.files.push_back({"headrace.h", Prelude()});
  out.files.push_back(
      {"program.h", "#pragma once\n#include \"headrace.h\"\n\n" + frames + "\n" + kernels + prototypes});
  std::map<CodeKind, std::vector<std::string>> texts;
  for (const auto& k : names.kernels) texts[k.kind].push_back(k.text);
  functions.push_back(entry);
  const auto& lanes = texts[CodeKind::kLanes];
  const auto& loops = texts[CodeKind::kLoops];
  const std::string half = Has(lanes, "f16") || Has(loops, "f16") || Has(functions, "f16") ? "#define HR_USES_F16\n" : "";
  bool turns = false;
  for (const char* name : {"hr_sin(", "hr_cos(", "hr_c64"}) turns |= Has(lanes, name) || Has(loops, name);
  const std::string headers = half + (turns ? "#define HR_USES_SINE\n" : "") + "#include \"headrace.h\"\n";
  AddFiles("kernels", headers, lanes, CodeKind::kLanes, &out.files);
  AddFiles("loops", headers, loops, CodeKind::kLoops, &out.files);
  AddFiles("program", half + "#include \"program.h\"\n", functions, CodeKind::kCalls, &out.files);
  return out;
}

}  // namespace headrace::cpu
