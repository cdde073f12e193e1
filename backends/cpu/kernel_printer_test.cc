// Kernels as text, run: what is printed is what stands there.
#include "backends/cpu/kernel_printer.h"

#include <gtest/gtest.h>

#include "backends/cpu/testing.h"

namespace headrace::cpu {
namespace {

}  // namespace
}  // namespace headrace::cpu
