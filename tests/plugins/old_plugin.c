/* A plugin of interface 1.0 or 1.1, with the structs as they were then: what it does not know of, a newer host must not read. */
#include <stddef.h>
#include <stdint.h>
#ifndef OLD_MINOR
#define OLD_MINOR 0
#endif
#define EXPORT __attribute__((visibility("default")))

typedef struct { int32_t kind, dtype, rank, flags; const int64_t* shape; void* data; int64_t count; const void* items; } value;
typedef struct { const char* name; int32_t present, dtype, rank; const char* const* shape; const value* constant; } port;
typedef struct { size_t size; const char *domain, *op, *name; int32_t version, n_in, n_out, n_attributes; const port *in, *out; const void* attributes; } node;
typedef struct { void* ctx; void (*put)(void*, const char*); } writer;
typedef struct {
  size_t size; const char *domain, *op, *name; int32_t since, until, priority; void* user;
  const char* (*condition)(void*, const node*); int32_t (*expand)(void*, const node*, const writer*, const writer*);
} implementation;
typedef struct call {
  size_t size; int32_t n_in, n_out, n_attributes, threads; const value* in; value* out; const void* attributes; void* state;
  int32_t (*allocate)(struct call*, int32_t, int32_t, int32_t, const int64_t*); void *set_strings, *append;
  void (*fail)(struct call*, const char*); void* host;
#if OLD_MINOR >= 1
  int32_t (*cancelled)(struct call*);
#endif
} call;
typedef struct {
  size_t size; const char *name, *symbol; int32_t thread_safe, reserved; const void* reserved_pointer;
  void* (*create)(const void*, int32_t); void (*destroy)(void*);
} external;
typedef struct {
  size_t size; uint32_t magic, major, minor; void* ctx;
  void *add_signature, *add_op; int32_t (*add_implementation)(void*, const implementation*); void* add_backward;
  int32_t (*add_external)(void*, const external*); const char* (*last_error)(void*); void* registry;
} host;
typedef struct { size_t size; uint32_t magic, major, minor; const char *name, *version, *toolchain; } info;

EXPORT extern const info headrace_plugin_info;
const info headrace_plugin_info = {sizeof(info), 0x48524143u, 1, OLD_MINOR, "old_plugin", "1", 0};

EXPORT int32_t old_neg(call* c) {
  if (c->size < sizeof(call) || !c->state) return c->fail(c, "no state"), 1;
  int64_t n = 1;
  for (int32_t d = 0; d < c->in[0].rank; ++d) n *= c->in[0].shape[d];
  for (int64_t i = 0; i < n; ++i) ((float*)c->out[0].data)[i] = -((const float*)c->in[0].data)[i] * *(const float*)c->state;
#if OLD_MINOR >= 1
  if (c->cancelled && c->cancelled(c)) return 1;
#endif
  return 0;
}
static float one = 1;
static void* create(const void* attributes, int32_t n) { return (void)attributes, (void)n, &one; }
static void destroy(void* state) { (void)state; }
static const char* condition(void* user, const node* n) { return (void)user, n->in[0].dtype == 22 ? NULL : "only f32"; }
static int32_t expand(void* user, const node* n, const writer* out, const writer* error) {
  (void)user, (void)error;
  const char* names[] = {"sdfg old(X: f32[", "], Y: f32["};
  for (int k = 0; k < 2; ++k) {
    out->put(out->ctx, names[k]);
    for (int32_t d = 0; d < n->in[0].rank; ++d) out->put(out->ctx, d ? ", " : ""), out->put(out->ctx, n->in[0].shape[d]);
  }
  out->put(out->ctx, "]) { call.old_neg(X = X) -> (Y = Y) }");
  return 0;
}

/* Behind each struct lies what would be wrong to take for a newer field. */
EXPORT int32_t headrace_plugin_v1(const host* h) {
  struct { implementation i; uintptr_t behind[16]; } i = {{sizeof(implementation), "onnx", "Neg", "old", 1, 0, 0, NULL, condition, expand}, {0}};
  struct { external e; uintptr_t behind[16]; } e = {{sizeof(external), "old_neg", "old_neg", 1, 0, NULL, create, destroy}, {0}};
  for (int k = 0; k < 16; ++k) i.behind[k] = e.behind[k] = 1;
  return h->add_external(h->ctx, &e.e) || h->add_implementation(h->ctx, &i.i);
}
