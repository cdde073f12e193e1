// How generated text is cut for its readers, people and the host compiler. None of it changes what a program computes or how
// its loops run: those decisions are on the graph (docs/schedules.md).
#pragma once
#include <cstddef>
#include <cstdint>

namespace headrace::cpu {

// What a file's functions leave to the host compiler, least first (CompileFlags).
enum class CodeKind : uint8_t {
  kCalls,  // what calls kernels, and headers
  kLanes,  // kernels whose schedule has lanes: functions of the prelude in vectors, sizes that only compilers may know
  kLoops,  // other kernels: loops as they are written
};

struct CodeStyle {
  size_t file_bytes = 64 << 10;         // of text: enough work for a compiler process, not too much; but the last ones are shorter, so that
  size_t file_share = 4;                // no processor is left alone for long: such a part of what is left,
  size_t file_least = 16 << 10;         // at least so much
  size_t function_statements = 200;     // more of them are functions one after the other
  int poll_statements = 16;             // after so many, whether the run was cancelled is asked again
  size_t sites = 50000;                 // places of errors that are kept; calls of large programs that call each other multiply them
  int comment_lines = 12;               // of a kernel's text above it
  size_t expression_characters = 110;   // a longer one is computed in parts that have names
  int choice_operations = 24;           // with more of them on both sides, a choice whose sides may fail is an if
  int64_t state_bytes = 64;             // the least that is allocated for what persists: a line of the cache
};
inline constexpr CodeStyle kStyle;

}  // namespace headrace::cpu
