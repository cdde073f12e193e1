// Names in IR text: which are reads, which are symbols; and what belongs to pure forms only.
#include <algorithm>

#include "ir/base/spelling.h"
#include "ir/expr/functions.h"
#include "ir/text/parser_program.h"

namespace headrace::internal {

bool ProgramParser::IsIndex(Name n) const { return std::find(indices_.begin(), indices_.end(), n) != indices_.end(); }

std::vector<std::string> ProgramParser::KnownNames() const {
  std::vector<std::string> names;
  for (Name n : s_.order) names.push_back(n.str());
  for (Name n : indices_) names.push_back(n.str());
  for (Name n : defined_symbols_) names.push_back(n.str());
  std::sort(names.begin(), names.end());
  return names;
}

const Container* ProgramParser::ExpectContainer(const Token& at, Name n) {
  if (const Container* c = s_.Find(n)) return c;
  Fail(at, "there is no container '" + n.str() + "'", DidYouMean(n.view(), KnownNames()));
  return nullptr;
}

Expr ProgramParser::ParseSize() {
  const Token at = Peek();
  const bool bare = at.kind == Token::kName && (Peek(1).Is(",") || Peek(1).Is("]"));
  if (const Container* c = bare ? s_.Find(NameOf(at)) : nullptr; c && !c->shape.empty()) {
    Fail(at, "a size and a container are both named '" + c->name.str() + "'", "rename one of them");
    return {};
  }
  Expr e = ParseResolved();
  if (!ok()) return {};
  std::vector<Name> reads = ReadContainers(e);
  if (!reads.empty()) {
    Fail(at, "a size does not read containers ('" + reads[0].str() + "')", "name the value first: let n = …");
    return {};
  }
  return e;
}

Expr ProgramParser::Resolve(const Expr& e) {
  if (!ok() || !e) return {};
  if (e.Is(ExprKind::kInt) || e.Is(ExprKind::kFloat)) return e;
  if (e.Is(ExprKind::kSymbol)) return ResolveName(e);
  Expr out = Transform(e, [this](const Expr& x) { return ok() ? ResolveNode(x) : x; });
  return ok() ? out : Expr();
}

// A bare name: a map's index, a scalar container, or a size.
Expr ProgramParser::ResolveName(const Expr& e) {
  const Name n = e->name;
  if (IsIndex(n)) return e;
  if (const Container* c = s_.Find(n)) {
    if (c->kind == ContainerKind::kSequence) {
      FailAt(e->line, e->column, "'" + n.str() + "' is a sequence", "only library nodes use sequences");
    } else if (!c->shape.empty()) {
      std::string index;
      for (size_t i = 0; i < c->shape.size(); ++i) index += (i ? ", " : "") + std::string(1, "ijklmnpq"[i % 8]);
      FailAt(e->line, e->column,
             "'" + n.str() + "' has " + std::to_string(c->shape.size()) + " dimensions: an index is missing",
             "write " + n.str() + "[" + index + "] inside a map");
    }
    ExprNode read = *e;
    read.kind = ExprKind::kRead;
    return Expr(std::move(read));
  }
  if (used_symbols_.insert(n).second) symbol_uses_.push_back({n, {e->line, e->column, in_statement_}});
  return e;
}

Expr ProgramParser::ResolveNode(const Expr& e) {
  auto fail = [&](std::string message, std::string hint = "") {
    FailAt(e->line, e->column, std::move(message), std::move(hint));
    return Expr();
  };
  switch (e->kind) {
    case ExprKind::kSymbol: return ResolveName(e);
    case ExprKind::kRead: {
      const Container* c = s_.Find(e->name);
      if (!c) return fail("there is no container '" + e->name.str() + "'", DidYouMean(e->name.view(), KnownNames()));
      if (c->kind == ContainerKind::kSequence)
        return fail("'" + e->name.str() + "' is a sequence", "only library nodes use sequences");
      const size_t rank = e->flat ? 1 : c->shape.size();
      const size_t given = e->args.size() - e->has_default;
      if (given != rank) {
        return fail("'" + e->name.str() + "' has " + std::to_string(rank) +
                    (rank == 1 ? " dimension, " : " dimensions, ") + std::to_string(given) +
                    (given == 1 ? " index is given" : " indices are given"));
      }
      return e;
    }
    case ExprKind::kGuard: {  // `a ?? e` of a scalar argument that may be absent
      const Expr& a = e->args[0];
      if (!a.Is(ExprKind::kRead) || a->has_default) return fail("'?\?' follows a read, as in X[i - 1] ?\? 0");
      ExprNode read = *a;
      read.args.push_back(e->args[1]);
      read.has_default = true;
      return Expr(std::move(read));
    }
    case ExprKind::kCall: {
      const FunctionInfo* f = FindFunction(e->name.view());
      if (!f) {
        std::vector<std::string> names;
        for (const FunctionInfo& info : ScalarFunctions()) names.push_back(std::string(info.name));
        if (e->name == "cast" || e->name == "sat") {
          return fail("'" + e->name.str() + "(x)' needs its type here",
                      e->name == "sat" ? "write sat(x, i8)" : "write f32(x)");
        }
        return fail("unknown function '" + e->name.str() + "'", DidYouMean(e->name.view(), names));
      }
      const int given = static_cast<int>(e->args.size());
      if (given < f->min_arity || given > f->max_arity) {
        std::string takes = std::to_string(f->min_arity);
        if (f->max_arity > f->min_arity)
          takes += f->max_arity > 100 ? " or more" : " to " + std::to_string(f->max_arity);
        return fail("'" + e->name.str() + "' takes " + takes + " arguments, " + std::to_string(given) + " given",
                    std::string(f->doc));
      }
      return e;
    }
    case ExprKind::kGroup:
    case ExprKind::kEllipsis:
    case ExprKind::kColon:
    case ExprKind::kPlaced:
    case ExprKind::kSplice:
    case ExprKind::kList:
    case ExprKind::kIndex:
    case ExprKind::kAbsent:
      return fail("'" + ToString(e) + "' belongs to pure forms", "in IR text every dimension has its own index");
    case ExprKind::kString: return fail("a string is no value here");
    default: return e;
  }
}

void ProgramParser::CheckSymbols() {
  for (const auto& [name, place] : symbol_uses_) {
    if (!ok()) return;
    if (defined_symbols_.count(name) || around_.count(name)) continue;
    std::string hint = DidYouMean(name.view(), KnownNames());
    if (hint.empty()) {
      hint = place.statement ? "an index needs its map: map " + name.str() + " in 0:N { … }"
                             : "make it the size of a parameter's dimension, a parameter '" + NameText(name) +
                                   ": symbol', or define it: let " + NameText(name) + " = …";
    }
    FailAt(place.line, place.column, "nothing defines '" + name.str() + "'", hint);
  }
}

void ProgramParser::CheckReferences() {
  for (const auto& [name, place] : references_) {
    if (program_.Find(name)) continue;
    std::vector<std::string> names;
    for (const auto& s : program_.sdfgs) names.push_back(s->name.str());
    FailAt(place.line, place.column, "there is no sdfg '" + name.str() + "' in this text",
           DidYouMean(name.view(), names));
    return;
  }
  if (!program_.Find(program_.entry)) Fail(Peek(), "there is no sdfg '" + program_.entry.str() + "'");
}

}  // namespace headrace::internal
