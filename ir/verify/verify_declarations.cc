// Declarations: every container is listed once, typed, sized, and, for views, of something.
#include <algorithm>

#include "ir/analysis/dataflow.h"
#include "ir/text/printer.h"
#include "ir/verify/verify_impl.h"

namespace headrace::verify {

Diagnostic& Report::Add(const char* code, std::string message, NodeId id, std::string place, std::string hint) {
  if (Full()) return dropped_;
  Diagnostic d;
  d.code = code;
  d.message = std::move(message);
  d.node = std::move(place);
  if (id.valid()) {
    const Node& n = s_.nodes[id];
    if (n.origin.named()) d.node = n.origin.Label();
    if (n.origin.line() == 0 || n.origin.file() == "<text>") {  // else whoever has the text shows the line itself
      PrintOptions o;
      o.origins = false;
      std::string text = PrintNode(s_, id, o);
      while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
      text.erase(0, text.find_first_not_of(" \n"));
      if (size_t cut = text.find('\n'); cut != std::string::npos) text = text.substr(0, cut) + " …";
      d.source_line = text;
    }
  }
  const Origin* at = PlaceOf(id, d.node);
  if (at) d.file = at->file().str(), d.line = at->line(), d.column = d.source_line.empty() ? at->column() : 0;
  from_text_ = at && at->op().empty() && d.source_line.empty();
  d.hint = std::move(hint);
  if (d.node.empty()) d.node = "sdfg " + s_.name.str();
  out_->push_back(std::move(d));
  return out_->back();
}

const Origin* Report::PlaceOf(NodeId id, const std::string& name) const {
  if (id.valid()) return s_.nodes[id].origin.line() > 0 ? &s_.nodes[id].origin : nullptr;
  if (block_) return block_->line() > 0 ? block_ : nullptr;
  const Container* c = s_.Find(Name(name));
  return c && c->origin.line() > 0 ? &c->origin : nullptr;
}

void Report::PointAt(int line, int column, Diagnostic* d) const {
  if (from_text_ && line >= d->line) d->line = line, d->column = column;
}

std::string Closest(const Sdfg& s, Name n) {
  for (Name c : s.order) {
    std::string a = c.str(), b = n.str();
    std::transform(a.begin(), a.end(), a.begin(), ::tolower);
    std::transform(b.begin(), b.end(), b.begin(), ::tolower);
    if (a == b) return "did you mean '" + c.str() + "'?";
  }
  return "declare it: transient " + n.str() + ": f32[…]";
}

std::string Listed(const std::vector<Name>& names) {
  std::string out;
  for (Name n : names) out += (out.empty() ? "" : ", ") + n.str();
  return out;
}

bool HasExit(const Sdfg& s, const std::vector<BlockId>& body) {
  bool found = false;
  ForEachBlock(s, body, [&](BlockId b) { found |= std::holds_alternative<Break>(s.blocks[b].control); });
  return found;
}

namespace {

class Declarations {
 public:
  Declarations(const Sdfg& s, Report* r) : s_(s), r_(r) {}
  void Containers() {
    std::unordered_set<Name> seen;
    for (size_t i = 0; i < s_.order.size(); ++i) {
      Name n = s_.order[i];
      const Container* c = s_.Find(n);
      if (!c) {
        r_->Add("E0201", "container " + Quoted(n) + " is listed but not declared", {}, n.str(),
                "add it to the table or drop it from the order");
        continue;
      }
      if (!seen.insert(n).second)
        r_->Add("E0202", "name " + Quoted(n) + " is declared twice", {}, n.str(), "rename one of them");
      OneContainer(*c);
    }
    for (Name n : s_.parameters) {
      const Container* c = s_.Find(n);
      if (!c)
        r_->Add("E0201", "parameter " + Quoted(n) + " is not declared", {}, n.str(),
                "declare a container of that name");
      else if (c->kind != ContainerKind::kParameter && c->kind != ContainerKind::kSequence)
        r_->Add("E0203", "parameter " + Quoted(n) + " is declared as another kind of container", {}, n.str(),
                "parameters have kind parameter");
    }
  }

 private:
  void OneContainer(const Container& c) {
    const std::string at = c.name.str();
    if (c.kind == ContainerKind::kSequence) return;
    if (c.dtype == DType::kNone || IsUntyped(c.dtype))
      r_->Add("E0204", "container " + Quoted(c.name) + " has no element type", {}, at, "write it as name: f32[…]");
    for (const Expr& d : c.shape)
      if (!d || !IsIndexExpr(d))
        r_->Add("E0205", "a dimension of " + Quoted(c.name) + " is not a size", {}, at,
                "sizes are made of symbols and integers");
      else if (auto v = AsInt(d); v && *v < 0)
        r_->Add("E0205", "a dimension of " + Quoted(c.name) + " is negative: " + std::to_string(*v), {}, at,
                "sizes are ≥ 0");
    if (!c.strides.empty() && c.strides.size() != c.shape.size())
      r_->Add("E0206",
              Quoted(c.name) + " has " + std::to_string(c.strides.size()) + " strides for " +
                  std::to_string(c.shape.size()) + " dimensions",
              {}, at, "give one stride per dimension");
    if (c.kind == ContainerKind::kConstant && c.dtype != DType::kString) {
      bool fits = c.data.dtype == c.dtype && c.data.shape.size() == c.shape.size();
      for (size_t i = 0; fits && i < c.shape.size(); ++i) fits = AsInt(c.shape[i]) == c.data.shape[i];
      if (!fits)
        r_->Add("E0207", "the data of constant " + Quoted(c.name) + " has another type or shape than its declaration",
                {}, at, "they must be equal");
    }
    if (c.kind == ContainerKind::kView) View(c);
    CheckLayout(s_, c, r_);
    if (c.storage == Storage::kRegister) {
      if (c.kind != ContainerKind::kTransient)
        r_->Add("E0208", "register container " + Quoted(c.name) + " is not a transient", {}, at,
                "only transients can be registers");
      for (const Expr& d : c.shape)
        if (d && !AsInt(d))
          r_->Add("E0209", "register container " + Quoted(c.name) + " has a symbolic size", {}, at,
                  "registers have static sizes; use arena storage");
    }
  }
  void View(const Container& c) {
    Name n = c.name;
    for (int hops = 0;; ++hops) {
      const Container* at = s_.Find(n);
      if (!at) {
        r_->Add("E0210", "view " + Quoted(c.name) + " is of " + Quoted(n) + ", which is not declared", {}, c.name.str(),
                "declare the base");
        return;
      }
      if (at->kind != ContainerKind::kView) {
        if (at->dtype != c.dtype)
          r_->Add("E0211", "view " + Quoted(c.name) + " has another element type than its base " + Quoted(n), {},
                  c.name.str(), "views keep the type; copy with cast instead");
        if (at->storage == Storage::kRegister)
          r_->Add("E0212", "view " + Quoted(c.name) + " is of a register", {}, c.name.str(), "registers have no views");
        break;
      }
      if (hops > 1000) {
        r_->Add("E0213", "views of " + Quoted(c.name) + " form a cycle", {}, c.name.str(), "a view ends at an array");
        return;
      }
      n = at->base;
    }
    // Row-major without offset: the base must hold at least as many elements.
    if (c.offset || !c.strides.empty()) return;
    Expr have = NumElements(s_.Get(c.base)), want = NumElements(c);
    auto h = AsInt(have), w = AsInt(want);
    if (h && w && *w > *h)
      r_->Add("E0214",
              "view " + Quoted(c.name) + " has " + ToString(want) + " elements, its base " + Quoted(c.base) + " " +
                  ToString(have),
              {}, c.name.str(), "a view can't be larger than its base");
  }

  const Sdfg& s_;
  Report* r_;
};

}  // namespace

void CheckDeclarations(const Sdfg& s, Report* report) { Declarations(s, report).Containers(); }

}  // namespace headrace::verify
