#include "driver/program_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>

#include "ir/analysis/dataflow.h"
#include "ir/base/spelling.h"
#include "ir/text/origin_text.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;  // keys stay in the order they are written here

std::string Trimmed(std::string s) {
  s.erase(0, std::min(s.find_first_not_of(" \n"), s.size()));
  s.erase(s.find_last_not_of(" \n") + 1);
  return s;
}

// ---- program → JSON ----

class Exporter {
 public:
  Exporter(const Program& p, const Sdfg& s, bool history) : p_(p), s_(s), history_(history) {}

  Json Run() {
    Json j;
    j["name"] = s_.name.str();
    if (s_.kernel) j["kernel"] = s_.device.str();
    if (s_.flush) j["flush"] = true;
    j["parameters"] = Json::array();
    j["symbols"] = Json::array();
    j["assumptions"] = Json::array();
    j["containers"] = Json::array();
    const std::vector<Direction> directions = Directions(p_, s_);
    for (size_t k = 0; k < directions.size(); ++k) j["parameters"].push_back(OneContainer(s_.Get(s_.parameters[k]), directions[k]));
    for (Name n : s_.symbol_params) j["symbols"].push_back(n.str());
    for (const auto& [name, interval] : s_.assumptions.bounds) {
      Json a = {{"symbol", name.str()}};
      if (interval.lo) a["low"] = *interval.lo;
      if (interval.hi) a["high"] = *interval.hi;
      if (a.size() > 1) j["assumptions"].push_back(a);
    }
    if (!s_.arena.empty()) j["arena"] = Texts(s_.arena);
    for (const Range& r : s_.given) j["given"].push_back(NameText(r.index) + " in " + RangeText(r));
    const std::unordered_set<Name> parameters(s_.parameters.begin(), s_.parameters.end());
    for (Name n : s_.order)
      if (!parameters.count(n)) j["containers"].push_back(OneContainer(s_.Get(n), {}));
    j["body"] = Blocks(s_.body);
    return j;
  }

 private:
  static std::string RangeText(const Range& r) {
    const std::string step = r.step && r.step != Expr(1) ? ":(" + ToString(r.step) + ")" : "";
    return "(" + ToString(r.begin) + "):(" + ToString(r.end) + ")" + step;
  }
  static Json Texts(const std::vector<Expr>& list) {
    Json j = Json::array();
    for (const Expr& e : list) j.push_back(ToString(e));
    return j;
  }
  void PutOrigin(const Origin& o, Json* j) const {
    for (const Origin::Source& s : o.Sources()) (*j)[s.gradients == 0 ? "from" : "gradient_of"].push_back(s.name.str());
    if (!o.pass().empty()) (*j)["by"] = o.pass().str();
    if (std::string text = headrace::OriginText(o, history_); !text.empty()) (*j)["origin"] = Trimmed(text);
  }

  // The declaration as IR text: that of an sdfg with this container alone.
  std::string Declaration(const Container& c, bool parameter) const {
    Sdfg alone;
    alone.name = "x";
    alone.Add(c);
    if (parameter) alone.parameters.push_back(c.name);
    const std::string text = Print(alone, Options());
    const size_t begin = parameter ? text.find('(') + 1 : text.find('\n');
    const size_t end = parameter ? text.rfind(") {") : text.rfind('}');
    return Trimmed(text.substr(begin, end - begin));
  }
  Json OneContainer(const Container& c, std::optional<Direction> of_parameter) const {
    static const char* const kKinds[] = {"parameter", "transient", "constant", "persistent", "view", "sequence"};
    static const char* const kDirections[] = {"unused", "in", "out", "inout"};
    Json j;
    j["name"] = c.name.str();
    j["kind"] = kKinds[static_cast<int>(c.kind)];
    j["type"] = std::string(DTypeName(c.kind == ContainerKind::kSequence ? c.type.dtype : c.dtype));
    j["shape"] = Texts(c.shape);
    if (of_parameter) j["direction"] = kDirections[static_cast<int>(*of_parameter)];
    if (c.kind == ContainerKind::kView) j["base"] = c.base.str();
    PutOrigin(c.origin, &j);
    j["text"] = Declaration(c, of_parameter.has_value());
    return j;
  }

  Json Blocks(const std::vector<BlockId>& body) const {
    Json list = Json::array();
    for (BlockId id : body) {
      const Block& b = s_.blocks[id];
      Json j;
      if (auto* state = std::get_if<State>(&b.control)) {
        j["kind"] = "state";
        if (!state->label.empty()) j["label"] = state->label.str();
        j["statements"] = Statements(state->statements, true);
        j["edges"] = Json::array();
        static const char* const kDependences[] = {"read after write", "write after read", "write after write"};
        for (const Edge& e : EdgesOf(p_, s_, *state))
          j["edges"].push_back({{"from", e.from},
                                {"to", e.to},
                                {"container", e.container.str()},
                                {"kind", kDependences[static_cast<int>(e.kind)]}});
      } else if (auto* loop = std::get_if<Loop>(&b.control)) {
        j["kind"] = "loop";
        if (!loop->var.empty())
          j["variable"] = loop->var.str(), j["init"] = ToString(loop->init), j["update"] = ToString(loop->update);
        if (loop->condition) j["condition"] = ToString(loop->condition);
        j["do_while"] = loop->do_while;
        j["body"] = Blocks(loop->body);
      } else if (auto* conditional = std::get_if<Conditional>(&b.control)) {
        j["kind"] = "if";
        j["branches"] = Json::array();
        for (const Branch& br : conditional->branches) {
          Json one;
          if (br.condition) one["condition"] = ToString(br.condition);
          one["body"] = Blocks(br.body);
          j["branches"].push_back(std::move(one));
        }
      } else if (auto* assign = std::get_if<Assign>(&b.control)) {
        j = {{"kind", "let"}, {"symbol", assign->symbol.str()}, {"value", ToString(assign->value)}};
        if (!assign->message.empty()) j["else"] = assign->message;
      } else if (auto* require = std::get_if<Require>(&b.control)) {
        j = {{"kind", "require"}, {"condition", ToString(require->condition)}, {"else", require->message}};
        j["values"] = Json::array();
        for (const Expr& e : require->values) j["values"].push_back(ToString(e));
      } else if (std::holds_alternative<Break>(b.control)) {
        j["kind"] = "break";
      } else if (std::holds_alternative<Continue>(b.control)) {
        j["kind"] = "continue";
      } else {
        continue;
      }
      j["id"] = "#b" + std::to_string(id.value);
      PutOrigin(b.origin, &j);
      list.push_back(std::move(j));
    }
    return list;
  }

  Json Statements(const std::vector<NodeId>& statements, bool of_state) const {
    Json list = Json::array();
    for (NodeId id : statements) {
      const Node& node = s_.nodes[id];
      Json j;
      if (auto* t = std::get_if<Tasklet>(&node.body)) {
        j = {{"kind", "tasklet"},
             {"target", t->target.str()},
             {"index", Texts(t->index)},
             {"operator", std::string(WriteOpToken(t->op))},
             {"value", ToString(t->value)}};
      } else if (auto* m = std::get_if<Map>(&node.body)) {
        j["kind"] = "map";
        j["ranges"] = Json::array();
        for (const Range& r : m->ranges)
          j["ranges"].push_back({{"index", r.index.str()},
                                 {"begin", ToString(r.begin)},
                                 {"end", ToString(r.end)},
                                 {"step", r.step ? ToString(r.step) : "1"}});
        if (m->schedule != Schedule::kDefault) j["schedule"] = "@" + std::string(ScheduleWord(m->schedule));
        j["body"] = Statements(m->body, false);
      } else if (auto* i = std::get_if<If>(&node.body)) {
        j = {{"kind", "if"}, {"condition", ToString(i->condition)}, {"body", Statements(i->body, false)}};
        if (!i->otherwise.empty()) j["else"] = Statements(i->otherwise, false);
      } else if (auto* k = std::get_if<Touch>(&node.body)) {
        j = {{"kind", k->kind == TouchKind::kCheck ? "check" : "prefetch"}, {"container", k->container.str()}, {"index", Texts(k->index)}, {"flat", k->flat}};
      } else if (auto* c = std::get_if<Nested>(&node.body)) {
        j = {{"kind", "call"}, {"callee", c->callee.str()}, {"arguments", Json::array()}};
        for (const Argument& a : c->arguments)
          j["arguments"].push_back(
              {{"parameter", a.port.str()}, {"container", a.container.str()}, {"index", Texts(a.index)}});
      } else if (auto* l = std::get_if<Library>(&node.body)) {
        j = {{"kind", "library"},     {"domain", l->domain.str()},  {"op", l->op.str()},
             {"version", l->version}, {"inputs", Ports(l->inputs)}, {"outputs", Ports(l->outputs)}};
      } else {
        continue;
      }
      j["id"] = "#" + std::to_string(id.value);
      if (of_state) j["memlets"] = Memlets(id);
      PutOrigin(node.origin, &j);
      if (j["kind"] != "map" && j["kind"] != "if") j["text"] = Trimmed(PrintNode(s_, id, Options()));
      list.push_back(std::move(j));
    }
    return list;
  }
  static Json Ports(const std::vector<Port>& ports) {
    Json list = Json::array();
    for (const Port& p : ports) list.push_back({{"port", p.name.str()}, {"container", p.container.str()}});
    return list;
  }
  Json Memlets(NodeId id) const {
    Json list = Json::array();
    for (const Memlet& m : MemletsOf(p_, s_, id)) {
      Json j = {{"container", m.container.str()}, {"write", m.write}, {"subset", Json::array()}};
      for (const Range& r : m.subset.dims) j["subset"].push_back(ToString(r.begin) + ":" + ToString(r.end));
      if (m.write && m.op != WriteOp::kAssign) j["wcr"] = std::string(WriteOpToken(m.op));
      if (m.dynamic) j["dynamic"] = true;
      list.push_back(std::move(j));
    }
    return list;
  }

  PrintOptions Options() const {
    PrintOptions o;
    o.history = history_;
    return o;
  }

  const Program& p_;
  const Sdfg& s_;
  const bool history_;
};

// ---- JSON → IR text, which the parser reads ----

class Loader {
 public:
  explicit Loader(std::string file) : file_(std::move(file)) {}

  Result<std::string> Run(const Json& j) {
    if (!j.is_object() || Text(j, "format", false) != "headrace-program")
      Fail("this is no program: \"format\" is not \"headrace-program\"");
    else if (!j.contains("version") || j["version"] != 1) Fail("\"version\" is not 1");
    if (!status_.ok()) return status_;
    const std::string entry = Text(j, "entry");
    bool found = false;
    for (const Json& s : List(j, "sdfgs")) {
      found |= Text(s, "name") == entry;
      if (Text(s, "name") == entry) out_ += "entry ";
      OneSdfg(s);
    }
    if (!found) Fail("no sdfg has the name of the entry, '" + entry + "'");
    if (!status_.ok()) return status_;
    return std::move(out_);
  }

 private:
  void Fail(const std::string& message) {
    if (!status_.ok()) return;
    Diagnostic d;
    d.code = "E0406";
    d.file = file_;
    d.message = message;
    d.hint = "driver/program_json.h describes the format";
    status_ = Status(std::move(d));
  }
  std::string Text(const Json& j, const char* key, bool required = true) {
    if (j.is_object() && j.contains(key) && j[key].is_string()) return j[key].get<std::string>();
    if (required) Fail(std::string("an object lacks the text \"") + key + "\"");
    return "";
  }
  const Json& List(const Json& j, const char* key) {
    static const Json* const kNone = new Json(Json::array());
    if (j.is_object() && j.contains(key) && j[key].is_array()) return j[key];
    Fail(std::string("an object lacks the list \"") + key + "\"");
    return *kNone;
  }
  void Line(const std::string& text) { out_ += text + "\n"; }
  std::string OriginText(const Json& j) {
    const std::string text = Text(j, "origin", false);
    return text.empty() ? "" : " " + text;
  }

  void OneSdfg(const Json& s) {
    std::string head;
    for (const Json& p : List(s, "parameters")) head += (head.empty() ? "" : ", ") + Text(p, "text");
    for (const Json& n : List(s, "symbols"))
      head += (head.empty() ? "" : ", ") + NameText(Name(n.is_string() ? n.get<std::string>() : "")) + ": symbol";
    kernel_ = s.contains("kernel");
    const std::string device = kernel_ ? Text(s, "kernel") : "";
    Line((kernel_ ? "kernel " : "sdfg ") + NameText(Name(Text(s, "name"))) + "(" + head + ")" +
         (device.empty() ? "" : " for " + NameText(Name(device))) +
         (s.contains("flush") && s["flush"] == true ? " @flush {" : " {"));
    for (const Json& a : List(s, "assumptions")) {
      std::string text = NameText(Name(Text(a, "symbol")));
      if (a.contains("low")) text = a["low"].dump() + " <= " + text;
      if (a.contains("high")) text += " <= " + a["high"].dump();
      Line("assume " + text);
    }
    if (s.contains("given"))
      for (const Json& r : List(s, "given")) Line("assume " + (r.is_string() ? r.get<std::string>() : ""));
    if (s.contains("arena")) {
      std::string slots;
      int slot = 0;
      for (const Json& e : List(s, "arena"))
        slots += "slot " + std::to_string(slot++) + ": " + (e.is_string() ? e.get<std::string>() : "") + "; ";
      Line("arena { " + slots + "}");
    }
    for (const Json& c : List(s, "containers")) Line(Text(c, "text"));
    Blocks(List(s, "body"));
    Line("}");
  }

  void Blocks(const Json& list) {
    if (++depth_ > kMaxDepth) Fail("blocks nest too deeply");
    for (const Json& b : list) {
      if (!status_.ok()) break;
      const std::string kind = Text(b, "kind"), origin = OriginText(b);
      if (kind == "state" && kernel_) {
        Statements(List(b, "statements"));
      } else if (kind == "state") {
        const std::string label = Text(b, "label", false);
        Line("state " + (label.empty() ? "" : NameText(Name(label))) + origin + " {");
        Statements(List(b, "statements"));
        Line("}");
      } else if (kind == "loop") {
        OneLoop(b, origin);
      } else if (kind == "if") {
        bool first = true;
        for (const Json& branch : List(b, "branches")) {
          const std::string condition = Text(branch, "condition", false);
          const std::string head = condition.empty() ? "" : "if " + condition;
          Line(first ? head + origin + " {" : "} else " + head + " {");
          Blocks(List(branch, "body"));
          first = false;
        }
        if (first) Fail("an \"if\" without branches");
        Line("}");
      } else if (kind == "let") {
        const std::string message = b.contains("else") ? " else " + StringText(Text(b, "else")) : "";
        Line("let " + NameText(Name(Text(b, "symbol"))) + " = " + Text(b, "value") + message + origin);
      } else if (kind == "require") {
        std::string values;
        for (const Json& v : List(b, "values")) values += ", " + (v.is_string() ? v.get<std::string>() : "");
        Line("require " + Text(b, "condition") + " else " + StringText(Text(b, "else")) + values + origin);
      } else if (kind == "break" || kind == "continue") {
        Line(kind + origin);
      } else {
        Fail("unknown kind of block '" + kind + "'");
      }
    }
    --depth_;
  }
  void OneLoop(const Json& b, const std::string& origin) {
    const std::string variable = Text(b, "variable", false), condition = Text(b, "condition", false);
    const bool do_while = b.contains("do_while") && b["do_while"] == true;
    if (!variable.empty()) {
      const std::string v = NameText(Name(variable));
      Line((do_while ? "do for " : "for ") + v + " = " + Text(b, "init") + "; " + condition + "; " + v + " = " +
           Text(b, "update") + origin + " {");
    } else {
      Line((condition.empty() ? "loop" : do_while ? "do" : "while " + condition) + origin + " {");
    }
    Blocks(List(b, "body"));
    Line(variable.empty() && do_while && !condition.empty() ? "} while " + condition : "}");
  }

  void Statements(const Json& list) {
    if (++depth_ > kMaxDepth) Fail("maps nest too deeply");
    for (const Json& s : list) {
      if (!status_.ok()) break;
      if (Text(s, "kind") == "if") {
        OneChoice(s);
        continue;
      }
      if (Text(s, "kind") != "map") {
        Line(Text(s, "text"));
        continue;
      }
      std::string head;
      for (const Json& r : List(s, "ranges"))
        head += (head.empty() ? " " : ", ") + NameText(Name(Text(r, "index"))) + " in (" + Text(r, "begin") + "):(" +
                Text(r, "end") + "):(" + Text(r, "step") + ")";
      Line("map" + head + " " + Text(s, "schedule", false) + OriginText(s) + " {");
      Statements(List(s, "body"));
      Line("}");
    }
    --depth_;
  }

  void OneChoice(const Json& s) {
    Line("if " + Text(s, "condition") + OriginText(s) + " {");
    Statements(List(s, "body"));
    if (s.contains("else")) {
      Line("} else {");
      Statements(List(s, "else"));
    }
    Line("}");
  }

  static constexpr int kMaxDepth = 256;
  std::string file_, out_;
  bool kernel_ = false;  // the sdfg that is being written is one
  Status status_;
  int depth_ = 0;
};

}  // namespace

std::string ProgramToJson(const Program& p, bool history) {
  Json j = {{"format", "headrace-program"}, {"version", 1}, {"entry", p.entry.str()}, {"sdfgs", Json::array()}};
  for (const auto& s : p.sdfgs) j["sdfgs"].push_back(Exporter(p, *s, history).Run());
  return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Program> ProgramFromJson(std::string_view json, const std::string& file) {
  const Json j = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (j.is_discarded()) {
    Diagnostic d;
    d.code = "E0406", d.file = file, d.message = "this is not valid JSON";
    return Status(std::move(d));
  }
  HR_ASSIGN_OR_RETURN(std::string text, Loader(file).Run(j));
  return ParseProgram(text, file);
}

bool LooksLikeJson(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && text[at] == '{';
}

}  // namespace headrace
