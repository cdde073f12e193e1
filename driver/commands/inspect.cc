// headrace ops, plugins, doctor: what is loaded and what it can do.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "driver/commands/commands.h"
#include "driver/commands/op_checks.h"
#include "driver/plugin_path.h"
#include "ir/plugin.h"

namespace headrace {
namespace {

struct OpsFlags {
  std::string pattern;
  bool markdown = false, missing = false, test = false;
  ModelFlags model;
};

std::string DTypesOf(const OpSignature& s) {
  std::set<std::string> all;
  for (const PortSignature& p : s.inputs) {
    auto it = s.types.find(p.type);
    if (it == s.types.end()) continue;
    all.insert(it->second.begin(), it->second.end());
    break;  // the first input's types stand for the op
  }
  std::string text;
  for (const std::string& t : all) text += (text.empty() ? "" : " ") + t;
  // Ops of plugins name a type or a family of types.
  if (all.empty() && !s.inputs.empty())
    text = s.inputs[0].type == "float" ? "floats" : s.inputs[0].type == "integer" ? "integers" : s.inputs[0].type;
  return text;
}

bool AnyFloat(const OpSignature& s, const std::vector<PortSignature>& ports) {
  const auto is_float = [](const std::string& t) {
    const std::optional<DType> d = ParseDType(t);
    return t == "float" || t == "any" || (d && (IsFloat(*d) || IsComplex(*d)));
  };
  for (const PortSignature& p : ports) {
    auto it = s.types.find(p.type);
    if (it == s.types.end() ? is_float(p.type) : std::any_of(it->second.begin(), it->second.end(), is_float))
      return true;
  }
  return false;
}

// Where an op's gradient comes from. That it is right: docs/gradients.md (//docs:gradients).
std::string GradientOf(const Registry& r, const OpSignature& newest, const std::string& domain, const std::string& op) {
  for (const ForwardImplementation* i : r.Implementations(domain, op))
    if (i->name == "import") return "of what it becomes";
  if (!AnyFloat(newest, newest.inputs)) return "no float input";
  if (!AnyFloat(newest, newest.outputs)) return "zero: no float output";
  std::string text;
  for (const BackwardImplementation* b : r.BackwardImplementations(domain, op))
    if (text.find(b->name) == std::string::npos) text += (text.empty() ? "" : ", ") + b->name;
  for (const ForwardImplementation* i : r.Implementations(domain, op))
    if (i->name == "pure" && text.find("derived") == std::string::npos)
      text += std::string(text.empty() ? "" : ", ") + "derived";
  return text;
}

struct OpRow {
  std::string name, implementations, versions, dtypes, doc, gradient;
  bool supported = false;
};

std::vector<OpRow> Rows(const Registry& r) {
  std::map<std::string, OpRow> rows;
  for (const OpSignature* s : r.Ops()) {
    OpRow& row = rows[s->domain + "." + s->name];
    row.name = s->domain + "." + s->name;
    row.versions += (row.versions.empty() ? "" : " ") + std::to_string(s->since_version);
    row.dtypes = DTypesOf(*s);
    row.doc = s->doc.substr(0, s->doc.find('\n'));
  }
  for (auto& [name, row] : rows) {
    size_t dot = name.rfind('.');
    std::string domain = name.substr(0, dot), op = name.substr(dot + 1);
    for (const ForwardImplementation* i : r.Implementations(domain, op)) {
      std::string range = i->since_version > 1 || i->until_version < 1 << 29
                              ? "(" + std::to_string(i->since_version) +
                                    (i->until_version < 1 << 29 ? "-" + std::to_string(i->until_version) : "+") + ")"
                              : "";
      row.implementations += (row.implementations.empty() ? "" : ", ") + i->name + range;
      row.supported = true;
    }
    row.gradient = GradientOf(r, *r.FindOp(domain, op), domain, op);
  }
  for (const OpDefinition* d : r.Definitions()) {
    auto it = rows.find(d->domain + "." + d->name);
    if (it != rows.end() && !d->doc.empty()) it->second.doc = d->doc;
  }
  std::vector<OpRow> out;
  for (auto& [name, row] : rows) out.push_back(std::move(row));
  return out;
}

int Ops(const OpsFlags& f, const CLI::App& app, const Common& c) {
  for (const char* flag : {"--impl", "--dim"})
    if (Status s = NoEffect(app, flag, !f.model.model.empty(), "it is of `headrace ops OP MODEL`"); !s.ok())
      return Fail(c.out, s);
  Registry r;
  Status s = OpenRegistry(r, c);
  if (!s.ok()) return Fail(c.out, s);
  if (f.test) return TestOps(r, f.pattern, c);
  if (!f.model.model.empty()) return ExplainChoice(r, f.pattern, f.model, c);
  nlohmann::json j = nlohmann::json::array();
  int supported = 0, total = 0;
  std::vector<OpRow> rows = Rows(r);
  std::vector<std::string> names;
  if (f.markdown && !c.out.json)
    printf("| op | since versions | implementations | backward | dtypes of the first input |\n|---|---|---|---|---|\n");
  for (const OpRow& row : rows) {
    names.push_back(row.name.substr(row.name.rfind('.') + 1));
    const std::string domain = row.name.substr(0, row.name.rfind('.'));
    if (!MatchesOp(f.pattern, domain, names.back()) || (f.missing && row.supported)) continue;
    ++total;
    supported += row.supported;
    std::string implementations =
        row.supported ? row.implementations : "none: a model with this op is refused (exit 3)";
    if (c.out.json)
      j.push_back({{"op", row.name},
                   {"versions", row.versions},
                   {"implementations", row.implementations},
                   {"backward", row.gradient},
                   {"dtypes", row.dtypes},
                   {"doc", row.doc},
                   {"supported", row.supported}});
    else if (f.markdown)
      printf("| %s | %s | %s | %s | %s |\n", row.name.c_str(), row.versions.c_str(),
             row.supported ? row.implementations.c_str() : "—",
             row.gradient.empty() ? "error by name" : row.gradient.c_str(), row.dtypes.c_str());
    else if (!f.pattern.empty() && f.pattern.back() != '*')
      printf("%s\n  %s\n  since versions   %s\n  implementations  %s\n  backward         %s\n  dtypes           %s\n",
             row.name.c_str(), row.doc.c_str(), row.versions.c_str(), implementations.c_str(),
             row.gradient.empty() ? "none: asking for it is an error" : row.gradient.c_str(), row.dtypes.c_str());
    else printf("%-40s %s\n", row.name.c_str(), implementations.c_str());
  }
  if (total == 0 && !f.pattern.empty()) {
    std::string close = ClosestWord(f.pattern.substr(f.pattern.rfind('.') + 1), names);
    return Fail(c.out, UsageError("E0441", "no op matches '" + f.pattern + "'",
                                  close.empty() ? "`headrace ops` lists all" : "did you mean '" + close + "'?"));
  }
  if (c.out.json) PrintJson(j);
  else if (f.pattern.empty() && !f.markdown) printf("%d of %d ops have an implementation\n", supported, total);
  return kExitOk;
}

int Plugins(const Common& c) {
  Registry r;
  Status s = LoadPlugins(r, PluginPath(c.plugins));
  nlohmann::json j;
  for (const auto& p : r.Plugins()) {
    if (c.out.json)
      j["plugins"].push_back({{"name", p.name}, {"version", p.version}, {"tier", p.tier}, {"path", p.path}});
    else printf("%-22s %-8s tier %d  %s\n", p.name.c_str(), p.version.c_str(), p.tier, p.path.c_str());
  }
  for (const Diagnostic& d : s.diagnostics()) j["errors"].push_back(ToJson(d));
  if (c.out.json) {
    PrintJson(j);
    return ExitCodeFor(s);
  }
  return s.ok() ? kExitOk : Fail(c.out, s);
}

}  // namespace

Runner AddOps(CLI::App& app, Common& c) {
  auto f = std::make_shared<OpsFlags>();
  app.add_option("OP", f->pattern, "one op (Conv, onnx.Conv), or a prefix (Reduce*)");
  app.add_option("MODEL", f->model.model, "nodes of OP in this model: which implementation each gets, and why not others");
  app.add_option("--impl", f->model.implementations, "with MODEL: preferred implementations, as run takes them")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--dim", f->model.dims, "with MODEL: fix a named size: N=32")->allow_extra_args(false);
  app.add_flag("--test", f->test,
               "run the op's samples: implementations against the pure form, gradients against differences (exit 4: wrong)");
  app.add_flag("--markdown", f->markdown, "the table of docs/ops.md");
  app.add_flag("--missing", f->missing, "only ops without an implementation");
  return [f, &app, &c] { return Ops(*f, app, c); };
}
Runner AddPlugins(CLI::App&, Common& c) {
  return [&c] { return Plugins(c); };
}

}  // namespace headrace
