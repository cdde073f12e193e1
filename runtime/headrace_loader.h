/* Runs an artifact (a .hrx folder of `headrace compile`) from C or C++: this header and the folder are all that is needed.
 * The code behind it is in the folder's own libheadrace_runtime.so, opened with dlopen after its checksum was compared, so
 * nothing is linked but libdl (part of glibc since 2.34). headrace_loader.hpp has the same for C++. docs/deploy.md.
 *
 * A model may be run from many threads at once. Failures give NULL and a sentence in `error` that names what is wrong. */
#ifndef HEADRACE_LOADER_H_
#define HEADRACE_LOADER_H_
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/headrace_runtime.h"
#define XXH_INLINE_ALL
#include "xxhash.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- what libheadrace_runtime.so exports for this header ---- */
#define HEADRACE_LOADER_SYMBOL "headrace_loader_v1"
typedef struct headrace_size { /* of a symbol that no input's shape tells */
  const char* name;
  int64_t value;
} headrace_size;
typedef struct headrace_result {
  const hr_value* outputs; /* parameters with direction out or inout, in order; valid until headrace_free */
  int32_t n_outputs;
} headrace_result;
typedef struct headrace_call {
  size_t struct_size;
  const hr_value* inputs; /* parameters with direction in or inout, in order; HR_ABSENT leaves an optional one out */
  int32_t n_inputs, n_sizes;
  const headrace_size* sizes;
  int32_t threads; /* 0 = all */
} headrace_call;
typedef struct headrace_loader_api {
  size_t struct_size;
  void* (*open)(const char* folder, int32_t verify, char* error, size_t error_size);
  void (*close)(void* program);
  const headrace_program_info_t* (*info)(void* program);
  headrace_result* (*run)(void* program, const headrace_call* call, char* error, size_t error_size);
  void (*free_result)(headrace_result* result);
} headrace_loader_api;

/* ---- opening ---- */
typedef struct headrace_model {
  const headrace_loader_api* api;
  void* program;
  const headrace_program_info_t* info; /* parameters with names, types and shapes; sizes; constants */
} headrace_model;
enum { HEADRACE_VERIFY = 1, HEADRACE_NO_VERIFY = 0 };

/* Whether the folder's runtime is the file that its list of checksums speaks of: code is not run before that is known. */
static inline int headrace_runtime_is_whole(const char* folder, const char* library) {
  char path[4096], line[4096], sum[33] = "";
  const char* const name = "libheadrace_runtime.so";
  snprintf(path, sizeof path, "%s/checksums.xxh128", folder);
  FILE* list = fopen(path, "r");
  if (!list) return 0;
  while (fgets(line, sizeof line, list))
    if (strlen(line) > 34 && strncmp(line + 34, name, strlen(name)) == 0) memcpy(sum, line, 32);
  fclose(list);
  struct stat st;
  const int fd = open(library, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  void* data = MAP_FAILED;
  if (fstat(fd, &st) == 0 && st.st_size > 0) data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (data == MAP_FAILED) return 0;
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, (size_t)st.st_size));
  munmap(data, (size_t)st.st_size);
  char actual[33];
  for (int i = 0; i < 16; ++i) snprintf(actual + 2 * i, 3, "%02x", canonical.digest[i]);
  return strcmp(sum, actual) == 0;
}

static inline void headrace_close(headrace_model* m) {
  if (!m) return;
  if (m->program) m->api->close(m->program);
  free(m);
}

/* Opens the folder; HEADRACE_VERIFY compares every file with its checksum first (3 GB/s and more). */
static inline headrace_model* headrace_open(const char* folder, int32_t verify, char* error, size_t error_size) {
  char library[4096];
  snprintf(library, sizeof library, "%s/libheadrace_runtime.so", folder);
  if (access(library, R_OK) != 0 || (verify && !headrace_runtime_is_whole(folder, library))) {
    snprintf(error, error_size, "%s is missing, or is not the file that was saved: is %s a whole .hrx folder?", library,
             folder);
    return NULL;
  }
  void* runtime = dlopen(library, RTLD_NOW | RTLD_LOCAL); /* stays */
  void* api = runtime ? dlsym(runtime, HEADRACE_LOADER_SYMBOL) : NULL;
  if (!api) {
    const char* why = dlerror();
    snprintf(error, error_size, "%s can't be loaded: %s", library, why ? why : "it is of another version");
    return NULL;
  }
  headrace_model* m = (headrace_model*)calloc(1, sizeof *m);
  if (!m) {
    snprintf(error, error_size, "out of memory");
    return NULL;
  }
  m->api = (const headrace_loader_api*)api;
  m->program = m->api->open(folder, verify, error, error_size);
  if (!m->program) {
    headrace_close(m);
    return NULL;
  }
  m->info = m->api->info(m->program);
  return m;
}

/* ---- what it takes and gives ---- */
/* The parameter that is input (direction HR_IN) or output (HR_OUT) number `at`, or NULL. */
static inline const hr_parameter* headrace_parameter(const headrace_model* m, int32_t direction, int32_t at) {
  for (int32_t i = 0; i < m->info->n_parameters; ++i)
    if ((m->info->parameters[i].direction & direction) && at-- == 0) return &m->info->parameters[i];
  return NULL;
}
static inline int32_t headrace_count(const headrace_model* m, int32_t direction) {
  int32_t n = 0;
  while (headrace_parameter(m, direction, n)) ++n;
  return n;
}
/* The number of the input or output of that name; -1 when there is none. */
static inline int32_t headrace_find(const headrace_model* m, int32_t direction, const char* name) {
  const hr_parameter* p;
  for (int32_t i = 0; (p = headrace_parameter(m, direction, i)); ++i)
    if (strcmp(p->name, name) == 0) return i;
  return -1;
}

/* ---- running ---- */
static inline hr_value headrace_tensor(int32_t dtype, int32_t rank, const int64_t* shape, const void* data) {
  hr_value v;
  memset(&v, 0, sizeof v);
  v.kind = HR_TENSOR, v.dtype = dtype, v.rank = rank, v.shape = shape, v.data = (void*)data;
  return v;
}
/* Inputs by position, dense and row-major; their types, shapes and sizes are checked. */
static inline headrace_result* headrace_run(const headrace_model* m, const hr_value* inputs, int32_t n_inputs,
                                            char* error, size_t error_size) {
  headrace_call call;
  memset(&call, 0, sizeof call);
  call.struct_size = sizeof call, call.inputs = inputs, call.n_inputs = n_inputs;
  return m->api->run(m->program, &call, error, error_size);
}
static inline void headrace_free(const headrace_model* m, headrace_result* result) {
  if (result) m->api->free_result(result);
}

#ifdef __cplusplus
}
#endif
#endif
