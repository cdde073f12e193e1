/* Headrace plugin API, tier 1: plain C, stable. A shared object that exports headrace_plugin_v1 can add ops, forward and
 * backward implementations and external functions; everything structural crosses as text (docs/notation.md).
 * The fluent C++ in headrace_plugin.hpp is header-only sugar over this file.
 *
 * Versioning: every struct starts with struct_size, set by whoever fills it. Fields are only ever added at the end; a
 * plugin built against a newer minor version loads on an older host if it uses only what the host's struct_size covers.
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
#define HEADRACE_ABI_MINOR 1
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
typedef struct hr_node {
  size_t struct_size;
  const char *domain, *op, *name; /* name: of the node in the model, for messages */
  int32_t version;
  int32_t n_inputs, n_outputs, n_attributes;
  const hr_port *inputs, *outputs;
  const hr_attribute* attributes;
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
} hr_call;
typedef int32_t (*hr_function)(hr_call* call); /* 0 = ok; else call->fail was called, or the run was cancelled */
/* Whether the run is cancelled, on a host of any minor version. */
static inline int32_t hr_call_cancelled(hr_call* call) {
  return call->struct_size > offsetof(hr_call, cancelled) && call->cancelled ? call->cancelled(call) : 0;
}

typedef struct hr_external {
  size_t struct_size;
  const char* name;   /* nodes of domain "call" name it */
  const char* symbol; /* exported by this plugin's shared object, of type hr_function */
  int32_t thread_safe;
  int32_t reserved; /* 0 */
  const void* reserved_pointer; /* NULL */
  void* (*create)(const hr_attribute* attributes, int32_t n);
  void (*destroy)(void* state);
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
