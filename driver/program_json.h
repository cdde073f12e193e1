// Programs as JSON, for viewers and scripts; the IR text is the reference form, and JSON → program → JSON is the identity.
//
//   {"format": "headrace-program", "version": 1, "entry": NAME, "sdfgs": [{"name", "parameters": [CONTAINER…],
//    "symbols": [NAME…], "assumptions": [{"symbol", "low", "high"}…], "arena": [BYTES…], "containers": [CONTAINER…], "body": [BLOCK…]}…]}
//
// CONTAINER  {"name", "kind", "type", "shape", "direction" (parameters), "text"}
// BLOCK      {"kind": "state", "label", "statements", "edges"} | {"kind": "loop", "variable", "init", "condition", "update",
//            "do_while", "body"} | {"kind": "if", "branches": [{"condition", "body"}…]} | {"kind": "let", "symbol", "value"}
//            | {"kind": "break"} | {"kind": "continue"}
// STATEMENT  {"kind": "tasklet" | "call" | "library", "text", …} | {"kind": "map", "ranges", "schedule", "body"}
// Blocks and statements have an "id", "#b3" and "#3": what single steps of passes name (ir/registry/transformation.h).
// Where something came from: "from" and "gradient_of", lists of names in the model or program (of forward statements, for what
// is part of a gradient), "by" the last pass, and "origin", all of it as text.
// Statements of a state also have their "memlets", and the state the "edges" between them, both derived.
//
// Expressions are text in the notation. Where there is a "text" or an "origin", it is what counts when JSON is read; the other fields of
// the same object say the same for readers that do not parse the notation.
#pragma once
#include <string>
#include <string_view>

#include "ir/graph/graph.h"

namespace headrace {

// `history`: origins with every pass (PrintOptions::history).
std::string ProgramToJson(const Program& p, bool history = false);
Result<Program> ProgramFromJson(std::string_view json, const std::string& file = "<json>");
bool LooksLikeJson(std::string_view text);  // its first character that is no space is a brace

}  // namespace headrace
