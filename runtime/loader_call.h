// One call of a loaded program: its arguments checked, its sizes bound, its results owned.
#pragma once
#include <string>
#include <vector>

#include "runtime/artifact_files.h"
#include "runtime/headrace_loader.h"

namespace headrace::runtime {

// Every size of an input must be one that BindSizes can compute. What is wrong, or "".
std::string CheckSizes(const headrace_program_info_t& info);
// The values of info's symbols, from the inputs' shapes and the call's own sizes; types and shapes are compared with what the
// program declares. What is wrong, or "".
std::string BindSizes(const headrace_program_info_t& info, const Bounds& bounds, const headrace_call& call,
                      std::vector<int64_t>& out);
// Null, and what went wrong in `error`, when it failed.
headrace_result* RunProgram(const headrace_program_info_t& info, headrace_program_run_fn run, void* program,
                            const headrace_call& call, const std::vector<int64_t>& sizes, std::string& error);
void FreeResult(headrace_result* result);

}  // namespace headrace::runtime
