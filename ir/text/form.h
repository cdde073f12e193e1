// The syntax tree of a pure form (NOTATION: "one op, one block"). Elaborate() turns it into an SDFG.
#pragma once
#include <string>
#include <vector>

#include "ir/expr/expr.h"
#include "ir/graph/graph.h"

namespace headrace {

struct FormRange {  // `i in a:b`, `k.. in 0:K`, or (begin null) the extents of an access `X[n, p..]` or bare `X`
  Name index;
  bool group = false;
  Expr begin, end;
  Expr access;
};

struct FormStmt {
  enum Kind { kLet, kLetRank, kIf, kEach, kFor, kShape, kAssign, kRequire } kind = kAssign;
  int line = 0, column = 0;
  Name name;  // let: its name (or the group of `let rank(g)`); each/for: the variable; shape: the port
  std::vector<Name> parameters;  // let f(x, y) = …
  Expr value;                    // let, assign: right-hand side; if, require: condition; each: ports name or begin
  Expr begin, end;               // each over a range, for
  std::vector<Expr> index;       // assign: target indices (may be absent: has_index false = bare); shape: dims; require: values
  bool has_index = false, flat = false, guarded = false;
  WriteOp op = WriteOp::kAssign;
  std::vector<FormRange> over;
  std::vector<FormStmt> body, otherwise;  // if, each, for
  std::string message;                    // require
};

struct Form {
  std::string text;  // as given, for carets
  std::vector<FormStmt> statements;
};

}  // namespace headrace
