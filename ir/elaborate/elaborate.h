// Pure form + what is known about one node → an SDFG whose parameters are the node's ports (NOTATION.md, "Meaning").
// Groups, placement, lets, constant `if`s, `each`, lists, broadcasting and defaults of absent ports vanish; each assignment
// becomes one map + tasklet (a reducing one is preceded by its initialisation), each `for` a loop. Sizes that the form takes
// to be equal and that the context can't prove so become `require` statements.
#pragma once
#include <string>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/text/form.h"

namespace headrace {

// One formal port of the op as the form sees it. Variadic ports come as several FormPorts with the same `name`
// (the form sees the list `name`, `each T in name`); SDFG parameters are then name_0, name_1, … in order.
struct FormPort {
  Name name;
  bool present = true;
  bool variadic = false;
  DType dtype = DType::kNone;  // of an absent optional port: the type its schema gives it (for `B ?: 0`)
  std::vector<Expr> shape;     // over the caller's symbols
  // Value of a small integer (or any) tensor where it is known before the run: a constant, or symbolic elements found by
  // value inference, row-major. Empty = unknown: then it is read at run time.
  std::vector<Expr> known;
  bool has_known = false;
};

struct FormContext {
  Name sdfg_name;  // of the result
  std::vector<FormPort> inputs, outputs;
  Attributes attributes;               // set ones and schema defaults
  std::vector<Name> unset_attributes;  // declared without default and not set: `strides ?: 1` sees "nothing"
  // The ports and attributes above and `elsewhere` (those that other versions of the op have, here as good as unset) are
  // all there are: another name before `?:` is a mistake. Without a signature nobody knows.
  bool declared = false;
  std::vector<Name> elsewhere;
  Assumptions assumptions;
};

// Errors have the form's line and caret. Every required output must be written; an output port that is not `present` is
// dropped together with the statements only it needs.
Result<Sdfg> Elaborate(const Form& form, const FormContext& context);

// What a form may call beside functions.h's functions and its own lets.
const std::vector<std::string>& FormFunctions();

// What a shape form says of one output. A size may read ports (`n[0]`), a value never does.
struct FormOutput {
  bool has_shape = false, has_known = false;
  std::vector<Expr> shape, known;
};
// The statements `shape OUT[…]` (sizes) and `OUT = …` (elements) of a form, with lets, ifs and each around them; one result
// per output port of the context, whose own shapes are not looked at.
Result<std::vector<FormOutput>> EvaluateShapes(const Form& form, const FormContext& context);

}  // namespace headrace
