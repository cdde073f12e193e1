#include "ir/text/printer.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ir/base/spelling.h"
#include "ir/graph/homes.h"
#include "ir/text/origin_text.h"
#include "ir/text/printer_internal.h"

namespace headrace {
namespace {

constexpr size_t kColumns = 110;

class Printer {
 public:
  Printer(const Sdfg& s, const PrintOptions& o) : s_(s), options_(o) {}
  std::string out;

  void PrintSdfg() {
    Header();
    depth_ = 1;
    for (const auto& [name, bounds] : s_.assumptions.bounds) {
      if (!bounds.lo && !bounds.hi) continue;
      std::string text = NameText(name);
      if (bounds.lo) text = std::to_string(*bounds.lo) + " <= " + text;
      if (bounds.hi) text += " <= " + std::to_string(*bounds.hi);
      Line("assume " + text);
    }
    for (const Range& r : s_.given) Line("assume " + NameText(r.index) + " in " + RangeText(r));
    if (!s_.arena.empty()) Line(ArenaText());
    const std::unordered_set<Name> in_header(s_.parameters.begin(), s_.parameters.end());
    for (Name n : s_.order)
      if (!in_header.count(n) && !IsLocal(s_.Get(n))) Declaration(s_.Get(n));
    Blocks(s_.body);
    out += "}\n";
  }

  void Block(BlockId id) { Blocks({id}); }
  void Statement(NodeId id) {
    const Node& node = s_.nodes[id];
    id_ = options_.ids ? "  #" + std::to_string(id.value) : "";
    if (auto* t = std::get_if<Tasklet>(&node.body)) Line(TaskletText(*t) + OriginText(node.origin));
    else if (auto* m = std::get_if<Map>(&node.body)) MapStatement(id, *m, node.origin);
    else if (auto* c = std::get_if<Nested>(&node.body)) Line(CallText(*c) + OriginText(node.origin));
    else if (auto* l = std::get_if<Library>(&node.body)) Line(LibraryText(*l) + OriginText(node.origin));
    else if (auto* i = std::get_if<If>(&node.body)) ChoiceStatement(id, *i, node.origin);
    else if (auto* k = std::get_if<Touch>(&node.body)) Line(TouchText(*k) + OriginText(node.origin));
  }

 private:
  void Line(const std::string& text) {
    out.append(2 * depth_, ' ');
    out += text + std::exchange(id_, "") + '\n';
  }
  void Open(const std::string& text) {
    Line(text + " {");
    ++depth_;
  }
  void Close(const std::string& after = "") {
    --depth_;
    Line("}" + after);
  }

  template <typename List, typename Fn>
  static std::string Joined(const List& list, Fn&& text) {
    std::string joined;
    for (const auto& e : list) {
      if (!joined.empty()) joined += ", ";
      joined += text(e);
    }
    return joined;
  }
  std::string Text(const std::vector<Expr>& list) const {
    return Joined(list, [this](const Expr& e) { return Text(e); });
  }

  // A read of a scalar is its bare name, as the parser reads it, unless a map's index hides the name.
  std::string Text(const Expr& e) const {
    auto scalar = [this](const Expr& x) {
      return x.Is(ExprKind::kRead) && x->args.empty() && !x->flat && s_.Find(x->name) &&
             std::find(indices_.begin(), indices_.end(), x->name) == indices_.end();
    };
    bool any = false;
    Visit(e, [&](const Expr& x) {
      any |= scalar(x);
      return !any;
    });
    if (!any) return ToString(e);
    return ToString(Transform(e, [&](const Expr& x) { return scalar(x) ? SymbolExpr(x->name) : x; }));
  }

  std::string OriginText(const Origin& o) const {
    return options_.origins ? headrace::OriginText(o, options_.history) : "";
  }

  // ---- containers ----

  static std::string TypeText(const ValueType& t) {
    if (t.kind == ValueType::kTensor || !t.element) return std::string(DTypeName(t.dtype));
    return std::string(t.kind == ValueType::kSequence ? "seq(" : "opt(") + TypeText(*t.element) + ")";
  }

  std::string TypeText(const Container& c) const {
    if (c.kind == ContainerKind::kSequence) return TypeText(c.type);
    std::string text(DTypeName(c.dtype));
    if (!c.shape.empty()) text += "[" + Text(c.shape) + "]";
    return text;
  }

  std::string LayoutText(const Container& c) const {
    std::string text;
    if (!c.strides.empty()) text += " strides [" + Text(c.strides) + "]";
    if (!c.order.row_major()) text += " layout [" + Joined(c.order.dims(), [](int d) { return "d" + std::to_string(d); }) + "]";
    if (c.storage != Storage::kArena) text += " @" + std::string(StorageWord(c.storage));
    if (c.place.slot >= 0) text += " @arena(" + std::to_string(c.place.slot) + OffsetText(c.place.offset) + ")";
    return text + OriginText(c.origin);
  }

  std::string OffsetText(const Expr& e) const { return e && e != Expr(0) ? ", " + Text(e) : ""; }
  std::string ArenaText() const {
    std::string text = "arena {";
    for (size_t i = 0; i < s_.arena.size(); ++i)
      text += (i ? "; slot " : " slot ") + std::to_string(i) + ": " + Text(s_.arena[i]);
    return text + " }";
  }

  void Header() {
    std::vector<std::string> parameters;
    for (Name n : s_.parameters) {
      const Container& c = s_.Get(n);
      std::string text = std::string(c.inout ? "inout " : "") + (c.output ? "out " : "");
      if (c.optional) text += "optional ";
      parameters.push_back(text + NameText(n) + ": " + TypeText(c) + LayoutText(c));
    }
    for (Name n : s_.symbol_params) parameters.push_back(NameText(n) + ": symbol");
    const std::string head = (s_.kernel ? "kernel " : "sdfg ") + NameText(s_.name) + "(";
    size_t length = head.size() + 4;
    for (const std::string& p : parameters) length += p.size() + 2;
    const char* separator = length > kColumns ? ",\n    " : ", ";
    out += head + (length > kColumns ? "\n    " : "");
    for (size_t i = 0; i < parameters.size(); ++i) out += (i ? separator : "") + parameters[i];
    out += ")" + (s_.device.empty() ? "" : " for " + NameText(s_.device)) + (s_.flush ? " @flush {" : " {");
    if (options_.reasons && !s_.unscheduled.empty())
      out += (s_.device.empty() ? "  # no schedule: " : "  # plain loops: ") + s_.unscheduled;
    out += "\n";
  }

  void Declaration(const Container& c) {
    const std::string head = NameText(c.name) + ": " + TypeText(c);
    switch (c.kind) {
      case ContainerKind::kConstant: {
        const bool elided = options_.max_constant_bytes >= 0 && c.data.bytes() > options_.max_constant_bytes;
        Line("constant " + head + " = " + (elided ? "…" : internal::DataText(c.data, 4)) + LayoutText(c));
        break;
      }
      case ContainerKind::kView: {
        const bool offset = c.offset && c.offset != Expr(0);
        Line("view " + head + " of " + NameText(c.base) + (offset ? " offset " + Text(c.offset) : "") + LayoutText(c));
        break;
      }
      case ContainerKind::kState: Line("persistent " + head + LayoutText(c)); break;
      case ContainerKind::kSequence: Line("sequence " + head + LayoutText(c)); break;
      default: Line("transient " + head + LayoutText(c));
    }
  }

  // ---- control flow ----

  void Blocks(const std::vector<BlockId>& body) {
    for (BlockId id : body) {
      const headrace::Block& b = s_.blocks[id];
      const std::string origin = OriginText(b.origin);
      id_ = options_.ids ? "  #b" + std::to_string(id.value) : "";
      if (auto* state = std::get_if<State>(&b.control); state && s_.kernel) {
        homes_ = HomesOf(s_, state->statements);
        StatementsOf({}, false, state->statements);
      } else if (state) {
        Open("state" + (state->label.empty() ? "" : " " + NameText(state->label)) + origin);
        for (NodeId n : state->statements) Statement(n);
        Close();
      } else if (auto* loop = std::get_if<Loop>(&b.control)) {
        LoopBlock(*loop, origin);
      } else if (auto* conditional = std::get_if<Conditional>(&b.control)) {
        ConditionalBlock(*conditional, origin);
      } else if (std::get_if<Break>(&b.control)) {
        Line("break" + origin);
      } else if (std::get_if<Continue>(&b.control)) {
        Line("continue" + origin);
      } else if (auto* assign = std::get_if<Assign>(&b.control)) {
        const std::string otherwise = assign->message.empty() ? "" : " else " + StringText(assign->message);
        Line("let " + NameText(assign->symbol) + " = " + Text(assign->value) + otherwise + origin);
      } else if (auto* require = std::get_if<Require>(&b.control)) {
        std::string values;
        for (const Expr& v : require->values) values += ", " + Text(v);
        Line("require " + Text(require->condition) + " else " + StringText(require->message) + values + origin);
      }
    }
  }

  void LoopBlock(const Loop& l, const std::string& origin) {
    if (l.var.empty()) {
      if (!l.condition) Open("loop" + origin);
      else if (l.do_while) Open("do" + origin);
      else Open("while " + Text(l.condition) + origin);
      Blocks(l.body);
      Close(l.do_while && l.condition ? " while " + Text(l.condition) : "");
      return;
    }
    const std::string var = NameText(l.var);
    std::string head = std::string(l.do_while ? "do " : "") + "for " + var;
    std::optional<Range> range = AsRange(l);
    Loop same = range ? RangeLoop(l.var, range->begin, range->end, range->step) : Loop();
    if (range && same.condition == l.condition && same.update == l.update) {
      head += " in " + RangeText(*range);
    } else {
      head += " = " + Text(l.init) + ";" + (l.condition ? " " + Text(l.condition) : "") + "; " + var + " = " +
              Text(l.update);
    }
    Open(head + origin);
    Blocks(l.body);
    Close();
  }

  void ConditionalBlock(const Conditional& c, const std::string& origin) {
    for (size_t i = 0; i < c.branches.size(); ++i) {
      const Branch& b = c.branches[i];
      std::string head = b.condition ? "if " + Text(b.condition) : "";
      if (i == 0) {
        Open(head + origin);
      } else {
        --depth_;
        Open("} else" + (head.empty() ? "" : " " + head));
      }
      Blocks(b.body);
    }
    Close();
  }

  // A part of a range around this one is written begin:+length.
  std::string EndText(const Range& r) const {
    for (const Range& o : ranges_)
      if (s_.kernel && r.begin.Is(ExprKind::kSymbol) && r.begin->name == o.index && o.step &&
          r.end == Min(r.begin + o.step, o.end))
        return "+" + Bound(o.step);
    return Bound(r.end);
  }
  std::string RangeText(const Range& r) const {
    std::string text = Bound(r.begin) + ":" + EndText(r);
    if (r.step && r.step != Expr(1)) text += ":" + Bound(r.step);
    return text;
  }
  // Parentheses for the reader: `a ? b : c` beside the colons of a range.
  std::string Bound(const Expr& e) const { return e.Is(ExprKind::kSelect) ? "(" + Text(e) + ")" : Text(e); }

  // ---- statements ----

  std::string TaskletText(const Tasklet& t) const {
    std::string text = NameText(t.target);
    if (t.flat) text += ".flat";
    if (!t.index.empty()) text += "[" + Text(t.index) + "]";
    if (t.guarded) text += " ??";
    return text + " " + std::string(WriteOpToken(t.op)) + " " + Text(t.value);
  }

  // What one iteration owns is declared where it is used first.
  bool IsLocal(const Container& c) const {
    return s_.kernel && c.kind == ContainerKind::kTransient && IsScoped(c.storage);
  }
  bool DeclaresBefore(NodeId n) const {
    return std::any_of(homes_.begin(), homes_.end(), [&](const Home& h) { return h.first == n; });
  }
  void StatementsOf(NodeId owner, bool otherwise, const std::vector<NodeId>& body) {
    for (NodeId n : body) {
      for (const Home& h : homes_) {
        if (!(h.owner == owner && h.otherwise == otherwise && h.first == n)) continue;
        const Container& c = s_.Get(h.container);
        std::string layout = LayoutText(c);
        if (c.storage == Storage::kRegister) layout.erase(layout.find(" @register"), 10);
        Line("local " + NameText(c.name) + ": " + TypeText(c) + layout);
      }
      Statement(n);
    }
  }

  void ChoiceStatement(NodeId id, const If& i, const Origin& origin) {
    Open("if " + Text(i.condition) + OriginText(origin));
    StatementsOf(id, false, i.body);
    const If* next = &i;
    while (!next->otherwise.empty()) {
      --depth_;
      const NodeId first = next->otherwise[0];
      const Node& node = s_.nodes[first];
      const auto* chained = next->otherwise.size() == 1 && !DeclaresBefore(first) && OriginText(node.origin).empty()
                                ? std::get_if<If>(&node.body)
                                : nullptr;
      if (!chained) {
        Open("} else");
        StatementsOf(id, true, next->otherwise);
        break;
      }
      Open("} else if " + Text(chained->condition));
      id = first, next = chained;
      StatementsOf(id, false, next->body);
    }
    Close();
  }

  std::string TouchText(const Touch& c) const {
    const std::string flat = c.flat ? ".flat" : "", word = c.kind == TouchKind::kCheck ? "check " : "prefetch ";
    return word + NameText(c.container) + flat + (c.index.empty() ? "" : "[" + Text(c.index) + "]");
  }

  void MapStatement(NodeId id, const Map& m, const Origin& origin) {
    const size_t outer = indices_.size();
    const bool ordered = s_.kernel && m.schedule == Schedule::kSequential && !m.ranges.empty();
    std::string head = ordered ? "for" : "map";
    for (size_t i = 0; i < m.ranges.size(); ++i) {
      const Range& r = m.ranges[i];
      head += (i ? ", " : " ") + NameText(r.index) + " in " + RangeText(r);
      indices_.push_back(r.index);
      ranges_.push_back(r);
    }
    if (!ordered && m.schedule != Schedule::kDefault) head += " @" + std::string(ScheduleWord(m.schedule));
    head += OriginText(origin);
    std::vector<NodeId> body;
    for (NodeId n : m.body) {
      if (s_.nodes[n].body.index() != 0) body.push_back(n);
    }
    std::string line;
    if (body.size() == 1) {
      const Node& only = s_.nodes[body[0]];
      if (auto* t = std::get_if<Tasklet>(&only.body))
        line = head + " { " + TaskletText(*t) + OriginText(only.origin) + " }";
    }
    if (!line.empty() && !options_.ids && !DeclaresBefore(body[0]) && line.size() + 2 * depth_ <= kColumns) {
      Line(line);
    } else {
      Open(head);
      StatementsOf(id, false, body);
      Close();
    }
    indices_.resize(outer);
    ranges_.resize(outer);
  }

  std::string CallText(const Nested& c) const {
    std::string list = Joined(c.arguments, [this](const Argument& a) {
      std::string text = NameText(a.port) + " = " + NameText(a.container);
      if (a.index.empty()) return text;
      const Container* container = s_.Find(a.container);
      text += "[" + Text(a.index);
      for (size_t i = a.index.size(); container && i < container->shape.size(); ++i) text += ", :";
      return text + "]";
    });
    for (const auto& [symbol, value] : c.symbols) {
      list += (list.empty() ? "" : ", ") + NameText(symbol) + " := " + Text(value);
    }
    return "call " + NameText(c.callee) + "(" + list + ")";
  }

  static std::string PortsText(const std::vector<Port>& ports) {
    std::vector<Port> present;
    for (const Port& p : ports) {
      if (!p.container.empty()) present.push_back(p);
    }
    return "(" + Joined(present, [](const Port& p) { return NameText(p.name) + " = " + NameText(p.container); }) + ")";
  }

  std::string LibraryText(const Library& l) const {
    std::string text;
    const std::string domain = l.domain.str();
    for (size_t begin = 0; begin <= domain.size();) {
      const size_t end = std::min(domain.find('.', begin), domain.size());
      text += NameText(Name(domain.substr(begin, end - begin))) + ".";
      begin = end + 1;
    }
    text += NameText(l.op);
    if (l.version != 0) text += ":" + std::to_string(l.version);
    if (!l.attributes.empty()) {
      text += "{" +
              Joined(l.attributes, [](const auto& a) { return NameText(a.first) + " = " + AttributeText(a.second); }) +
              "}";
    }
    text += PortsText(l.inputs);
    if (!l.outputs.empty()) text += " -> " + PortsText(l.outputs);
    if (!l.defines.empty()) text += " defines (" + Joined(l.defines, [](Name n) { return NameText(n); }) + ")";
    if (!l.implementation.empty()) text += " impl " + StringText(l.implementation.view());
    return text;
  }

  static std::string AttributeText(const Attribute& a) {
    switch (a.value.index()) {
      case 0: return std::to_string(std::get<int64_t>(a.value));
      case 1: return internal::DoubleText(std::get<double>(a.value));
      case 2: return StringText(std::get<std::string>(a.value));
      case 3:
        return "[" + Joined(std::get<std::vector<int64_t>>(a.value), [](int64_t v) { return std::to_string(v); }) + "]";
      case 4: {
        const auto& list = std::get<std::vector<double>>(a.value);
        return (list.empty() ? "floats [" : "[") + Joined(list, internal::DoubleText) + "]";
      }
      case 5: {
        const auto& list = std::get<std::vector<std::string>>(a.value);
        return (list.empty() ? "strings [" : "[") + Joined(list, [](const std::string& s) { return StringText(s); }) +
               "]";
      }
      case 6: {
        const Tensor& t = std::get<Tensor>(a.value);
        std::string type(DTypeName(t.dtype));
        if (!t.shape.empty()) type += "[" + Joined(t.shape, [](int64_t d) { return std::to_string(d); }) + "]";
        return "tensor " + type + " " + internal::DataText(t, 6);
      }
      default: return "graph " + NameText(std::get<Name>(a.value));
    }
  }

  const Sdfg& s_;
  const PrintOptions& options_;
  int depth_ = 0;
  std::string id_;  // of the statement or block whose first line comes next
  std::vector<Name> indices_;
  std::vector<Range> ranges_;  // around the statement
  std::vector<Home> homes_;    // of a kernel's locals
};

}  // namespace

std::string Print(const Sdfg& s, const PrintOptions& o) {
  Printer printer(s, o);
  printer.PrintSdfg();
  return std::move(printer.out);
}

std::string Print(const Program& p, const PrintOptions& o) {
  std::string out;
  for (size_t i = 0; i < p.sdfgs.size(); ++i) {
    if (i > 0) out += "\n";
    if (i > 0 && p.entry == p.sdfgs[i]->name) out += "entry ";
    out += Print(*p.sdfgs[i], o);
  }
  return out;
}

std::string PrintBlock(const Sdfg& s, BlockId b, const PrintOptions& o) {
  Printer printer(s, o);
  printer.Block(b);
  return std::move(printer.out);
}

std::string PrintNode(const Sdfg& s, NodeId n, const PrintOptions& o) {
  Printer printer(s, o);
  printer.Statement(n);
  return std::move(printer.out);
}

}  // namespace headrace
