// Brings a program into the shape that reversal understands. Meaning is unchanged; a backend could run the result.
//
// Afterwards, in the entry SDFG:
//  1. No calls at state level (inlined), but those of `layers` (layers.h). A call inside a map is the only statement of its (perfect) map nest.
//  2. No break and no continue: `if c { break }; rest` became flags (`transient` i64 scalars), conditionals and loop
//     conditions. `do … while` became a loop with a flag or a first copy. Loops keep AsRange() form where they had it and no exit.
//  3. Library nodes inside maps are expanded or the only statement of their map nest. At state level elementwise library
//     nodes without a backward rule of their own are expanded and fused (when `fuse`), all others stay library nodes.
//  4. Every map is "local": its registers (transients used in this map only and private to an iteration of the map that
//     holds all their uses) are written either once by `=`, or by one `=` and then accumulated by statements of one WriteOp
//     before any other read; and an array written in the map is never read in it, except (a) as the target of its own
//     accumulation and (b) by the one statement that overwrites it, at the very element it writes (`A[i] = sin(A[i])`), or by
//     statements that stand before its first write. What does not fit is renamed, kept in registers, or the map is
//     distributed into several (legal because iterations are independent), registers becoming arrays.
//  5. An array is accumulated in a map by one statement only, with one WriteOp, unless every one is `+=`.
//  6. Every symbol is defined in one place, and no container changes its size (fix_sizes.h). Calls are left only where they
//     find sizes.
//  7. Control conditions and loop bounds read scalars and symbols; a condition is evaluated in one place only.
#pragma once
#include "ir/registry/registry.h"

namespace headrace::autodiff {

Status Normalize(Program& p, const Registry& r, bool fuse, const std::vector<Name>& layers = {});

// Layouts say how the program was to run; of the gradient's statements other ones may be better. Kernels keep theirs.
Status ToRowMajor(Program* p);

// The parts, each useful alone (and each a pass: "structure-exits", "localize-maps").
Result<bool> StructureExits(Program& p);
Result<bool> LocalizeMaps(Program& p);
// The passes "structure-exits", "localize-maps" and "normalize{fuse=false}".
Status RegisterNormalization(Registry& r);

}  // namespace headrace::autodiff
