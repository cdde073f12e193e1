/* Headrace plugin API, tier 1: plain C, stable. A shared object that exports headrace_plugin_v1 can add ops, forward and
 * backward implementations and external functions; everything structural crosses as text (docs/notation.md).
 * The fluent C++ in headrace_plugin.hpp is header-only sugar over this file.
 *
 * Versioning: every struct starts with struct_size, set by whoever fills it. Fields are only ever added at the end; a
 * plugin built against a newer minor version loads on an older host if it uses only what the host's struct_size covers.
 * Minor version 1 added hr_call.cancelled; 2 what libraries of kernels need: prepared states, layouts, scratch, results in
 * place, epilogues, threads, costs (docs/plugins.md, "Libraries of kernels").
 * Strings are UTF-8, NUL-terminated, copied by the host before a call returns unless said otherwise. */
#ifndef HEADRACE_PLUGIN_H_
#define HEADRACE_PLUGIN_H_
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define HEADRACE_PLUGIN_MAGIC 0x48524143u /* "HRAC" */
#define HEADRACE_ABI_MAJOR 1
#define HEADRACE_ABI_MINOR 2
#define HEADRACE_EXPORT __attribute__((visibility("default")))

/* ---- values ---- */
typedef enum hr_dtype { /* the numbers of headrace::DType */
                        HR_BOOL = 1,
                        HR_U2,
                        HR_I2,
                        HR_U4,
                        HR_I4,
                        HR_U8,
                        HR_I8,
                        HR_U16,
                        HR_I16,
                        HR_U32,
                        HR_I32,
                        HR_U64,
                        HR_I64,
                        HR_F4E2M1,
                        HR_F8E4M3FN,
                        HR_F8E4M3FNUZ,
                        HR_F8E5M2,
                        HR_F8E5M2FNUZ,
                        HR_F8E8M0,
                        HR_F16,
                        HR_BF16,
                        HR_F32,
                        HR_F64,
                        HR_C64,
                        HR_C128,
                        HR_STRING
} hr_dtype;

typedef enum hr_value_kind { HR_ABSENT = 0, HR_TENSOR = 1, HR_SEQUENCE = 2 } hr_value_kind;

/* A tensor: dense row-major; strings: `data` is an array of hr_string. A sequence: `items`. */
typedef struct hr_string {
  const char* data;
  int64_t size;
} hr_string;
typedef struct hr_value {
  int32_t kind;  /* hr_value_kind */
  int32_t dtype; /* hr_dtype */
  int32_t rank;
  int32_t flags; /* reserved, 0 */
  const int64_t* shape;
  void* data;
  int64_t count;                /* of items */
  const struct hr_value* items; /* of a sequence */
} hr_value;

/* ---- nodes as conditions and expansions see them ---- */
typedef struct hr_attribute {
  const char* name;
  const char* text;       /* notation: 3, 0.5, "same", [1, 2], [0.5, 1] */
  const hr_value* tensor; /* for tensor attributes, else NULL */
} hr_attribute;
typedef struct hr_port {
  const char* name;
  int32_t present, dtype, rank; /* rank -1 = not a tensor */
  const char* const* shape;     /* one expression per dimension: "N", "3", "N//2" */
  const hr_value* constant;     /* its value when constant, else NULL */
} hr_port;
/* One step of an epilogue, applied to each element y of the call's result, in order:
 *   "relu"    y = max(y, 0)              "clip"     y = min(max(y, alpha), beta)      "leaky"  y = y < 0 ? alpha * y : y
 *   "linear"  y = alpha * y + beta       "sigmoid"  y = 1 / (1 + exp(-y))             "tanh"   y = tanh(y)
 *   "bias"    y = y + V[i], "scale" y = y * V[i]: V a vector, i the result's index in dimension `dim`
 *   "add"     y = y + E, "mul" y = y * E: E has the result's shape, and is read at the same element
 * V and E are the call's input number `input`; -1 where the step has none. More names may come: refuse what you don't know. */
typedef struct hr_step {
  const char* op;
  int32_t input, dim; /* -1: none */
  double alpha, beta; /* 0 where the step has none */
} hr_step;
typedef struct hr_node {
  size_t struct_size;
  const char *domain, *op, *name; /* name: of the node in the model, for messages */
  int32_t version;
  int32_t n_inputs, n_outputs, n_attributes;
  const hr_port *inputs, *outputs;
  const hr_attribute* attributes;
  /* Since minor version 2. */
  int32_t threads;    /* that a run may use at most; 0: not known yet */
  int32_t n_steps;    /* of a call: its epilogue */
  const char* device; /* "cpu", "interpreter"; NULL: not known yet */
  const hr_step* steps;
  /* By port: where its elements lie, in elements, one expression per dimension as in hr_port.shape. An entry that is NULL, or
   * the whole table: dense, row-major. */
  const char* const* const* input_strides;
  const char* const* const* output_strides;
  /* For costs: the scalar operations of the node's pure form (+ * and functions count 1); negative: not known before the run. */
  double operations;
} hr_node;

/* Text results go back through the host's string: put(text) any number of times. */
typedef struct hr_writer {
  void* ctx;
  void (*put)(void* ctx, const char* text);
} hr_writer;

/* A port's type: a dtype ("f32"), a family ("float", "integer", "complex", "number", "any"), or, of an output, the name of
 * the input whose type it has; an output of a family has the type of the first input of that family. */
typedef struct hr_signature_port {
  const char *name, *type;
  int32_t optional, variadic;
} hr_signature_port;
typedef struct hr_signature_attribute {
  const char *name, *type, *default_text;
  int32_t required;
} hr_signature_attribute;
typedef struct hr_signature { /* for ops that no importer declares */
  size_t struct_size;
  const char *domain, *op, *doc;
  int32_t since_version, n_inputs, n_outputs, n_attributes;
  const hr_signature_port *inputs, *outputs;
  const hr_signature_attribute* attributes;
  const char* shape; /* NULL, or a form of `shape OUT[…]` statements giving the outputs' sizes */
} hr_signature;

typedef struct hr_op { /* the block of an op: docs/plugins.md */
  size_t struct_size;
  const char *domain, *op, *doc, *pure, *backward;
  int32_t since_version, until_version, n_samples;
  const char* const* samples;
} hr_op;

typedef struct hr_implementation {
  size_t struct_size;
  const char *domain, *op, *name;
  int32_t since_version, until_version, priority;
  void* user;
  /* NULL = applies; else the reason why not (a string that outlives the call: a literal, or kept by `user`). */
  const char* (*condition)(void* user, const hr_node* node);
  /* Writes an SDFG program in text whose entry's parameters are the node's ports. Non-zero = error, text in `error`. */
  int32_t (*expand)(void* user, const hr_node* node, const hr_writer* out, const hr_writer* error);
  /* Since minor version 2, or NULL. How long the node takes, in operations of its pure form that take as long: 0.5 *
   * node->operations says that it is twice as fast. Negative: not known. An implementation with a cost is taken, unless it is
   * asked for by name, only where it is the cheapest and cheaper than what is taken without it; where nothing else applies, too. */
  double (*cost)(void* user, const hr_node* node);
} hr_implementation;

typedef struct hr_backward {
  size_t struct_size;
  const char *domain, *op, *name;
  int32_t since_version, until_version, priority;
  void* user;
  const char* (*condition)(void* user, const hr_node* node);
  /* given: forward outputs whose gradients arrive (as d<port>); required: forward inputs whose gradients are wanted. */
  int32_t (*backward)(void* user, const hr_node* node, const char* const* given, int32_t n_given,
                      const char* const* required, int32_t n_required, const hr_writer* out, const hr_writer* error);
} hr_backward;

/* ---- external functions: called by compiled programs ---- */
typedef void (*hr_chunk_fn)(void* ctx, int64_t chunk);
typedef struct hr_call {
  size_t struct_size;
  int32_t n_inputs, n_outputs, n_attributes, threads;
  const hr_value* inputs; /* an absent optional input has kind HR_ABSENT */
  hr_value* outputs;      /* tensors whose size the program knows are already allocated; others have data NULL */
  const hr_attribute* attributes;
  void* state; /* from create(), or NULL */
  /* Gives output i a buffer of this type and shape; 0 on success. */
  int32_t (*allocate)(struct hr_call* call, int32_t output, int32_t dtype, int32_t rank, const int64_t* shape);
  int32_t (*set_strings)(struct hr_call* call, int32_t output, const hr_string* strings, int64_t count);
  int32_t (*append)(struct hr_call* call, int32_t output, const hr_value* item); /* to a sequence; copies */
  void (*fail)(struct hr_call* call, const char* message);
  void* host;
  /* Since minor version 1; NULL where nothing can cancel the run. Non-zero: nobody waits for the result any more, so let go of
   * what is held and return non-zero, without fail(). Asked from the call's own thread; it costs some nanoseconds. A function
   * that may take long asks every few milliseconds: it is never ended from outside, since it writes memory of the caller's. */
  int32_t (*cancelled)(struct hr_call* call);
  /* Since minor version 2. */
  void* scratch;         /* what hr_external.scratch asked for, of this call alone; 64-byte aligned, not zeroed; NULL without */
  int64_t scratch_bytes; /* writing beyond them is an error (E0679) */
  /* By port, in elements: NULL, the table or an entry: dense, row-major. Only functions with `layout` see anything else. */
  const int64_t* const* input_strides;
  const int64_t* const* output_strides;
  /* Calls fn(ctx, c) once for each c in [0, chunks), on up to `threads` threads (0: as many as the run has), and returns when
   * all are done; NULL: there are none, work alone. Chunks are fixed by sizes, never by the number of threads, so that results
   * are the same for any number. Not from within fn. fn asks nobody and fails nobody: it leaves word in ctx. */
  void (*parallel_for)(int64_t chunks, hr_chunk_fn fn, void* ctx, int32_t threads);
} hr_call;
typedef int32_t (*hr_function)(hr_call* call); /* 0 = ok; else call->fail was called, or the run was cancelled */
/* Whether the run is cancelled, on a host of any minor version. */
static inline int32_t hr_call_cancelled(hr_call* call) {
  return call->struct_size > offsetof(hr_call, cancelled) && call->cancelled ? call->cancelled(call) : 0;
}

/* Runs chunks on the host's threads, or one after the other where it gives none. */
static inline void hr_call_parallel_for(hr_call* call, int64_t chunks, hr_chunk_fn fn, void* ctx) {
  int64_t c;
  if (call->struct_size > offsetof(hr_call, parallel_for) && call->parallel_for) {
    call->parallel_for(chunks, fn, ctx, call->threads);
    return;
  }
  for (c = 0; c < chunks; ++c) fn(ctx, c);
}

typedef struct hr_in_place {
  const char *output, *input; /* ports by name */
} hr_in_place;

typedef struct hr_external {
  size_t struct_size;
  const char* name;   /* nodes of domain "call" name it */
  const char* symbol; /* exported by this plugin's shared object, of type hr_function */
  int32_t thread_safe;
  int32_t reserved; /* 0 */
  const void* reserved_pointer; /* NULL */
  void* (*create)(const hr_attribute* attributes, int32_t n);
  void (*destroy)(void* state);
  /* Since minor version 2, each may be NULL or 0. `node` is the call: domain "call", op the function's name, its ports and
   * attributes, its steps; sizes may be names. Non-zero = refused, with the reason in `error` (E0678). Called from one thread at
   * a time for a node, and any number of times for nodes that are alike. */
  void* user;
  /* Makes what call->state will be, once for each call of a program when the program is compiled, and again when an artifact is
   * loaded: packed weights, primitives. Constants of `node` live as long as the state does, so it may keep their pointers.
   * With it, `create` is not called. */
  int32_t (*prepare)(void* user, const hr_node* node, void** state, const hr_writer* error);
  void (*release)(void* user, void* state); /* when the program goes */
  /* Writes how many bytes a call needs besides: an expression over the node's sizes, "4 * M * 64". */
  int32_t (*scratch)(void* user, const hr_node* node, const hr_writer* bytes, const hr_writer* error);
  /* How the elements of input number `port`, or of output number `port` - n_inputs, should lie in memory: order[0] is the
   * dimension that changes slowest, order[rank - 1] the one that lies densely. Returns 1 with an order, 0 for dense row-major,
   * negative = refused. Constants are not asked for: `prepare` packs them. Without this callback operands are dense and
   * row-major always; with it they are as asked, or row-major where the host can't. */
  int32_t (*layout)(void* user, const hr_node* node, int32_t port, int32_t* order, const hr_writer* error);
  /* Are the node's `steps` accepted? They are offered one more at a time; the last one is new. NULL = no epilogues. */
  int32_t (*epilogue)(void* user, const hr_node* node, const hr_writer* error);
  /* Outputs that may lie over an input, from the first element to the last: then both have one pointer. An epilogue's inputs
   * are called e0, e1, … */
  int32_t n_in_place;
  const hr_in_place* in_place;
} hr_external;

typedef struct hr_host {
  size_t struct_size;
  uint32_t magic, abi_major, abi_minor;
  void* ctx;
  /* Each returns 0, or non-zero when refused; last_error() then says why. */
  int32_t (*add_signature)(void* ctx, const hr_signature*);
  int32_t (*add_op)(void* ctx, const hr_op*);
  int32_t (*add_implementation)(void* ctx, const hr_implementation*);
  int32_t (*add_backward)(void* ctx, const hr_backward*);
  int32_t (*add_external)(void* ctx, const hr_external*);
  const char* (*last_error)(void* ctx);
  /* Tier 2: the host's headrace::Registry*, for plugins that link libheadrace.so; NULL unless the plugin's
   * headrace_plugin_toolchain matches the host's. */
  void* registry;
} hr_host;

typedef struct hr_plugin_info {
  size_t struct_size;
  uint32_t magic, abi_major, abi_minor;
  const char *name, *version;
  const char* toolchain; /* NULL for tier 1; HEADRACE_TOOLCHAIN for tier 2 */
} hr_plugin_info;

/* Every plugin exports both. headrace_plugin_info is read and checked before headrace_plugin_v1 is called; the entry
 * returns 0 on success and never throws. */
HEADRACE_EXPORT extern const hr_plugin_info headrace_plugin_info;
HEADRACE_EXPORT int32_t headrace_plugin_v1(const hr_host* host);

#ifdef __cplusplus
}
#endif
#endif
