/* An array in somebody's memory: what programs take and give by position (ir/registry/call.h), without names and without copies.
 * Its fields are DLPack's (version 1), so that an array of NumPy, PyTorch or JAX becomes one field by field. */
#ifndef HEADRACE_ARRAY_H_
#define HEADRACE_ARRAY_H_
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { HR_DEVICE_CPU = 1, HR_DEVICE_CUDA = 2 }; /* DLPack's numbers */
enum {
  HR_ARRAY_READ_ONLY = 1, /* writing to it is an error */
  HR_ARRAY_ABSENT = 2     /* an optional argument that is left out; the other fields mean nothing */
};
enum { HR_LAYOUT_STRIDED = 0 }; /* other layouts are named by the programs that take them */

typedef struct hr_array {
  void* data; /* the first element; of an output NULL: the call's allocator gives the memory */
  const int64_t* shape;
  const int64_t* strides; /* in elements; NULL: dense, row-major */
  int32_t dtype, rank;    /* hr_dtype, number of dimensions */
  int32_t device_type, device_id;
  int32_t layout, flags;
} hr_array;

#ifdef __cplusplus
}
#endif
#endif
