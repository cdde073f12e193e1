#include "ir/elaborate/elaborate_testing.h"

#include <algorithm>

#include "ir/text/parser.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

std::string Trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\n')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\n')) s.remove_suffix(1);
  return std::string(s);
}

// Splits at `separator` outside brackets and quotes.
std::vector<std::string> Split(std::string_view s, char separator) {
  std::vector<std::string> out;
  std::string part;
  int depth = 0;
  bool quoted = false;
  for (char c : s) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '(')) ++depth;
    if (!quoted && (c == ']' || c == ')')) --depth;
    if (c == separator && depth == 0 && !quoted) {
      if (!Trim(part).empty()) out.push_back(Trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!Trim(part).empty()) out.push_back(Trim(part));
  return out;
}

Result<std::vector<Expr>> List(const std::string& text) {
  HR_ASSIGN_OR_RETURN(Expr e, ParseExpr(text));
  if (!e.Is(ExprKind::kList)) return std::vector<Expr>{e};
  return e->args;
}

Result<FormPort> ParsePort(const std::string& text) {
  FormPort p;
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return InvalidError("a port is written name: type[dims], found " + text);
  std::string name = Trim(text.substr(0, colon));
  if (name.size() > 3 && name.substr(name.size() - 3) == "...") {
    p.variadic = true;
    name.resize(name.size() - 3);
  }
  p.name = name;
  std::vector<std::string> value = Split(text.substr(colon + 1), '=');
  std::string type = value.empty() ? "" : value[0];
  if (type.size() > 7 && type.substr(type.size() - 7) == " absent") {
    p.present = false;
    type = Trim(type.substr(0, type.size() - 7));
  }
  const size_t bracket = type.find('[');
  std::optional<DType> t = ParseDType(type.substr(0, bracket));
  if (!t) return InvalidError("no type '" + type + "'");
  p.dtype = *t;
  if (bracket != std::string::npos) {
    HR_ASSIGN_OR_RETURN(p.shape, List(type.substr(bracket)));
    for (Expr& e : p.shape) e = Simplify(e);
  }
  if (value.size() == 2) {
    p.has_known = true;
    HR_ASSIGN_OR_RETURN(p.known, List(value[1]));
  }
  return p;
}

Result<Attribute> ParseAttribute(const std::string& text) {
  HR_ASSIGN_OR_RETURN(Expr e, ParseExpr(text));
  Attribute a;
  if (e.Is(ExprKind::kInt) || e.Is(ExprKind::kBool)) a.value = e->ivalue;
  else if (e.Is(ExprKind::kFloat)) a.value = e->fvalue;
  else if (e.Is(ExprKind::kString)) a.value = e->text;
  else if (!e.Is(ExprKind::kList)) return InvalidError("an attribute is a number, string or list, found " + text);
  else if (!e->args.empty() && e->args[0].Is(ExprKind::kString)) {
    std::vector<std::string> list;
    for (const Expr& x : e->args) list.push_back(x->text);
    a.value = list;
  } else if (!e->args.empty() && e->args[0].Is(ExprKind::kFloat)) {
    std::vector<double> list;
    for (const Expr& x : e->args) list.push_back(x->fvalue);
    a.value = list;
  } else {
    std::vector<int64_t> list;
    for (const Expr& x : e->args) list.push_back(x->ivalue);
    a.value = list;
  }
  return a;
}

}  // namespace

Result<FormContext> ParseFormContext(std::string_view ports, std::string_view attributes) {
  FormContext c;
  c.sdfg_name = "f";
  const size_t arrow = ports.find("->");
  for (const std::string& text : Split(ports.substr(0, arrow), ',')) {
    HR_ASSIGN_OR_RETURN(FormPort p, ParsePort(text));
    c.inputs.push_back(std::move(p));
  }
  if (arrow != std::string_view::npos) {
    for (const std::string& text : Split(ports.substr(arrow + 2), ',')) {
      HR_ASSIGN_OR_RETURN(FormPort p, ParsePort(text));
      c.outputs.push_back(std::move(p));
    }
  }
  for (const std::string& text : Split(attributes, ',')) {
    const size_t equal = text.find('=');
    if (equal == std::string::npos) {
      c.unset_attributes.push_back(Trim(text.substr(0, text.find(" unset"))));
      continue;
    }
    HR_ASSIGN_OR_RETURN(Attribute a, ParseAttribute(text.substr(equal + 1)));
    c.attributes.push_back({Name(Trim(text.substr(0, equal))), std::move(a)});
  }
  std::sort(c.attributes.begin(), c.attributes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return c;
}

std::string ElaborateText(std::string_view form, std::string_view ports, std::string_view attributes) {
  Result<Form> f = ParseForm(form);
  if (!f.ok()) return f.status().ToString();
  Result<FormContext> c = ParseFormContext(ports, attributes);
  if (!c.ok()) return c.status().ToString();
  Result<Sdfg> s = Elaborate(*f, *c);
  if (!s.ok()) return s.status().ToString();
  return Print(*s, {/*origins=*/false});
}

}  // namespace headrace
