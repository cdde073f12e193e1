// A run by position: arrays of the caller's in and out, no look-up of names, and no allocation of ours once the same shapes
// have been seen. Executable::Run, with names and any kind of value, stands beside it.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/base/name.h"
#include "plugins/api/headrace_array.h"

namespace headrace {

struct CallFrame {
  // Parameters of direction in and inout, in the order of the program's entry. Strided inputs are read through one dense copy
  // each. An inout is updated where it is: it must be writable; a strided one is copied in and back.
  const hr_array* inputs = nullptr;
  int32_t n_inputs = 0;
  // Parameters of direction out, in order. With memory: written there; type and shape must be the result's; a strided one is
  // copied to. Without (data null): `allocate` gives it, and `dtype` and `rank` are filled in.
  hr_array* outputs = nullptr;
  int32_t n_outputs = 0;
  // Sizes that no argument's shape tells, one for each of Executable::CallSymbols().
  const int64_t* symbols = nullptr;
  int32_t n_symbols = 0;

  // Memory for output `index`, dense and row-major; null = there is none. `shape` lives as long as this call of it.
  void* (*allocate)(void* context, int32_t index, int32_t dtype, int32_t rank, const int64_t* shape) = nullptr;
  void* context = nullptr;
  void* stream = nullptr;  // of the arrays' device; null = its default stream
};

}  // namespace headrace
