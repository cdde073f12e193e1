/* The ABI between a compiled program (a shared object), the runtime and whoever runs it: plain C, stable, no compiler and
 * no libheadrace needed. A program exports the four headrace_program_* symbols at the end of this file.
 *
 * For generated code: hr_float.h (float formats) and hr_scalar.h (integers, random numbers) are plain C without library
 * dependencies, made to be embedded textually before the backend's own prelude; both engines share them, so both give the
 * same bits. Every struct starts with struct_size; fields are only added at the end. */
#ifndef HEADRACE_RUNTIME_H_
#define HEADRACE_RUNTIME_H_
#include "plugins/api/headrace_plugin.h"
#ifdef __cplusplus
extern "C" {
#endif

#define HEADRACE_PROGRAM_MAGIC 0x48525047u /* "HRPG" */
#define HEADRACE_PROGRAM_MAJOR 1
#define HEADRACE_PROGRAM_MINOR 0

/* What run and init return; the text of a failure goes through `fail`. */
enum { HR_OK = 0, HR_FAILED = 1, HR_CANCELLED = 2, HR_OUT_OF_MEMORY = 3 };

/* ---- services of the runtime, given to a program at init ---- */
typedef struct hr_runtime_api {
  size_t struct_size;
  /* Calls fn(ctx, c) once for each c in [0, chunks), on up to `threads` threads (0 = all), and returns when all are done.
   * The caller fixes the chunks by the shapes, never by the thread count: results are then the same for any count. The
   * calling thread works through the chunks itself and others join when they run: a region never waits for a thread that
   * the system has not scheduled. Nested calls run serially. Safe from many threads at once and after fork. Every chunk
   * runs in the caller's floating-point mode (rounding, denormals), and each thread has its own again afterwards. */
  void (*parallel_for)(int64_t chunks, hr_chunk_fn fn, void* ctx, int32_t threads);
  int32_t (*max_threads)(void);      /* HEADRACE_NUM_THREADS, else OMP_NUM_THREADS, else the machine's */
  void* (*arena_new)(int64_t bytes); /* 64-byte aligned, not zeroed, huge pages when large; NULL = can't be had */
  void (*arena_delete)(void* memory, int64_t bytes);
  int32_t (*call)(hr_function fn, hr_call* c); /* fn(c); what it throws is told to c->fail */
} hr_runtime_api;
HEADRACE_EXPORT const hr_runtime_api* hr_runtime(void); /* libheadrace_runtime.so */

/* a * b and a + b for sizes: negative once anything overflowed or was negative, so a chain is checked once at its end. */
static inline int64_t hr_size_mul(int64_t a, int64_t b) {
  int64_t r;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &r) ? -1 : r;
}
static inline int64_t hr_size_add(int64_t a, int64_t b) {
  int64_t r;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &r) ? -1 : r;
}

/* ---- what a program says about itself ---- */
enum { HR_IN = 1, HR_OUT = 2, HR_INOUT = 3 };
typedef struct hr_parameter {
  const char* name;          /* the program's */
  const char* original_name; /* the model's: differs where that is no identifier */
  int32_t kind;              /* HR_TENSOR or HR_SEQUENCE */
  int32_t direction;         /* HR_IN … */
  int32_t dtype, rank, optional, reserved;
  const char* const* shape; /* one expression per dimension: "N", "3", "2*N + 1"; a bare name binds that symbol */
} hr_parameter;
typedef struct hr_symbol {
  const char* name;
  int32_t by_name; /* 1: the caller must give it; 0: bound from an argument's shape */
  int32_t reserved;
} hr_symbol;
typedef struct hr_constant { /* weights, in the order of hr_init.constants */
  const char* name;
  int32_t dtype, rank;
  const int64_t* shape;
  int64_t bytes;
} hr_constant;
typedef struct headrace_program_info_t {
  size_t struct_size;
  uint32_t magic, abi_major, abi_minor;
  const char *name, *compiler; /* compiler: "headrace 0.1.0, g++ 12.2.0" */
  int32_t n_parameters, n_symbols, n_constants, n_externals;
  const hr_parameter* parameters;
  const hr_symbol* symbols;
  const hr_constant* constants;
  const char* const* externals; /* names of the external functions it calls */
} headrace_program_info_t;

/* What the states of external functions are made of, one item per name in `externals`; the symbol is there only if some
 * function has a state. `state` of a binding is what its function's create() made of these attributes. */
typedef struct hr_external_attributes {
  const hr_attribute* at;
  int32_t count;
} hr_external_attributes;

/* Calls of functions that prepare a state, one item per name in `externals`, `node` null where it is none; the symbol is there
 * only if some function prepares. `constants`: by input, which of the program's constants it is, or -1. The loader puts their
 * values, the threads and the device into a copy of the node. */
typedef struct hr_prepared_node {
  const hr_node* node;
  const int32_t* constants;
} hr_prepared_node;

/* ---- init ---- */
typedef struct hr_external_binding {
  hr_function function;
  void* state;
} hr_external_binding;
typedef struct hr_init {
  size_t struct_size;
  const hr_runtime_api* runtime;
  const void* const* constants; /* info order; 64-byte aligned; must outlive the program. Strings: hr_string[] */
  const hr_external_binding* externals; /* info order */
  void (*fail)(struct hr_init* init, const char* message);
  void* host;
} hr_init;

/* ---- run ---- */
typedef struct hr_run {
  size_t struct_size;
  int32_t n_inputs, n_outputs, n_symbols;
  int32_t threads;        /* 0 = hr_runtime()->max_threads() */
  const hr_value* inputs; /* parameters with direction in or inout, in order; an absent optional has HR_ABSENT */
  hr_value* outputs;      /* parameters with direction out or inout, in order; filled through `allocate` */
  const int64_t* symbols; /* info order, all bound and checked against the inputs' shapes by the caller */
  /* Gives output i memory of this type and shape (then outputs[i] is complete); 0 on success. */
  int32_t (*allocate)(struct hr_run* run, int32_t output, int32_t dtype, int32_t rank, const int64_t* shape);
  int32_t (*set_strings)(struct hr_run* run, int32_t output, const hr_string* strings, int64_t count);
  int32_t (*append)(struct hr_run* run, int32_t output, const hr_value* item); /* to a sequence; copies */
  void (*fail)(struct hr_run* run, const char* message);
  const volatile int32_t* cancel; /* may be NULL; non-zero = return HR_CANCELLED soon */
  void* host;
} hr_run;

/* ---- exported by every program ---- */
typedef int32_t (*headrace_program_init_fn)(hr_init* init, void** program);
typedef int32_t (*headrace_program_run_fn)(void* program, hr_run* run); /* thread-safe */
typedef void (*headrace_program_free_fn)(void* program);
#define HEADRACE_PROGRAM_INFO_SYMBOL "headrace_program_info" /* headrace_program_info_t */
#define HEADRACE_PROGRAM_INIT_SYMBOL "headrace_program_init"
#define HEADRACE_PROGRAM_RUN_SYMBOL "headrace_program_run"
#define HEADRACE_PROGRAM_FREE_SYMBOL "headrace_program_free"
#define HEADRACE_PROGRAM_EXTERNAL_ATTRIBUTES_SYMBOL \
  "headrace_program_external_attributes" /* hr_external_attributes[], optional */
#define HEADRACE_PROGRAM_PREPARED_SYMBOL "headrace_program_prepared" /* hr_prepared_node[], optional */

#ifdef __cplusplus
}
#endif
#endif
