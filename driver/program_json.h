// Programs as JSON, for viewers and scripts; the IR text is the reference form, and JSON → program → JSON is the identity.
//
//   {"format": "headrace-program", "version": 1, "entry": NAME, "sdfgs": [{"name", "parameters": [CONTAINER…],
//    "symbols": [NAME…], "assumptions": [{"symbol", "low", "high"}…], "containers": [CONTAINER…], "body": [BLOCK…]}…]}
//
// CONTAINER  {"name", "kind", "type", "shape", "direction" (parameters), "text"}
// BLOCK      {"kind": "state", "label", "statements", "edges"} | {"kind": "loop", "variable", "init", "condition", "update",
//            "do_while", "body"} | {"kind": "if", "branches": [{"condition", "body"}…]} | {"kind": "let", "symbol", "value"}
//            | {"kind": "break"} | {"kind": "continue"}
// STATEMENT  {"kind": "tasklet" | "call" | "library", "text", …} | {"kind": "map", "ranges", "schedule", "body"}
// Blocks and statements have an "id", "#b3" and "#3": what single steps of passes name (ir/registry/transformation.h).
// Statements of a state also have their "memlets", and the state the "edges" between them, both derived.
//
// Expressions are text in the notation. Where there is a "text", it is what counts when JSON is read; the other fields of
// the same object say the same for readers that do not parse the notation.
#pragma once
#include <string>
#include <string_view>

#include "ir/graph/graph.h"

namespace headrace {

std::string ProgramToJson(const Program& p);
Result<Program> ProgramFromJson(std::string_view json, const std::string& file = "<json>");
bool LooksLikeJson(std::string_view text);  // its first character that is no space is a brace

}  // namespace headrace
