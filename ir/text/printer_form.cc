// Forms → text: one statement a line.
#include "ir/base/spelling.h"
#include "ir/text/printer.h"

namespace headrace {
namespace {

std::string Joined(const std::vector<Expr>& list) {
  std::string out;
  for (const Expr& e : list) out += (out.empty() ? "" : ", ") + ToString(e);
  return out;
}

void PrintStatements(const std::vector<FormStmt>& statements, int depth, std::string& out);

void PrintBlock(const std::vector<FormStmt>& body, int depth, std::string& out) {
  out += " {\n";
  PrintStatements(body, depth + 1, out);
  out.append(depth * 2, ' ');
  out += "}";
}

void PrintStatement(const FormStmt& s, int depth, std::string& out) {
  switch (s.kind) {
    case FormStmt::kLet:
      out += "let " + NameText(s.name);
      if (!s.parameters.empty()) {
        std::string list;
        for (Name n : s.parameters) list += (list.empty() ? "" : ", ") + NameText(n);
        out += "(" + list + ")";
      }
      out += " = " + ToString(s.value);
      break;
    case FormStmt::kLetRank: out += "let rank(" + NameText(s.name) + ") = " + ToString(s.value); break;
    case FormStmt::kIf:
      out += "if " + ToString(s.value);
      PrintBlock(s.body, depth, out);
      if (s.otherwise.size() == 1 && s.otherwise[0].kind == FormStmt::kIf) {
        out += " else ";
        PrintStatement(s.otherwise[0], depth, out);
      } else if (!s.otherwise.empty()) {
        out += " else";
        PrintBlock(s.otherwise, depth, out);
      }
      break;
    case FormStmt::kEach:
      out +=
          "each " + NameText(s.name) + " in " + (s.end ? ToString(s.begin) + ":" + ToString(s.end) : ToString(s.value));
      PrintBlock(s.body, depth, out);
      break;
    case FormStmt::kFor:
      out += "for " + NameText(s.name) + " in " + ToString(s.begin) + ":" + ToString(s.end);
      PrintBlock(s.body, depth, out);
      break;
    case FormStmt::kShape: out += "shape " + NameText(s.name) + "[" + Joined(s.index) + "]"; break;
    case FormStmt::kRequire:
      out += "require " + ToString(s.value) + " else " + StringText(s.message);
      for (const Expr& e : s.index) out += ", " + ToString(e);
      break;
    case FormStmt::kAssign: {
      out += NameText(s.name);
      if (s.flat) out += ".flat";
      if (s.has_index) out += "[" + Joined(s.index) + "]";
      if (s.guarded) out += " ??";
      out += " " + std::string(WriteOpToken(s.op)) + " " + ToString(s.value);
      const char* lead = " over ";
      for (const FormRange& r : s.over) {
        out += lead;
        lead = ", ";
        if (r.access) out += ToString(r.access);
        else out += NameText(r.index) + (r.group ? ".." : "") + " in " + ToString(r.begin) + ":" + ToString(r.end);
      }
      break;
    }
  }
}

void PrintStatements(const std::vector<FormStmt>& statements, int depth, std::string& out) {
  for (const FormStmt& s : statements) {
    out.append(depth * 2, ' ');
    PrintStatement(s, depth, out);
    out += "\n";
  }
}

}  // namespace

std::string Print(const Form& f) {
  std::string out;
  PrintStatements(f.statements, 0, out);
  return out;
}

}  // namespace headrace
