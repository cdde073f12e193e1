/* What generated programs stand on: the run's context, memory, parallel chunks, error reports, external calls. */
#define HR_COLD __attribute__((cold, noinline, unused))
#define HR_UNUSED __attribute__((unused))

/* See ExprCode::Choice. Zeros that the compiler doesn't know to be zeros, and a condition that it can't put into vectors. */
__attribute__((weak)) int64_t hr_apart[8];
static HR_UNUSED inline bool hr_alone(bool condition) {
#if defined(__GNUC__) && !defined(__clang__)
  __asm__("" : "+r"(condition));
#endif
  return condition;
}

struct hr_block {
  hr_block* previous;
  int64_t size, used;
  char pad[40];
};
static_assert(sizeof(hr_block) == 64, "data stays 64-byte aligned");
enum { HR_SCRATCH_SLOTS = 64 };
struct hr_program {
  const hr_runtime_api* runtime;
  const void* const* constants;
  const hr_external_binding* externals;
  void** persistent;
  hr_value* handles; /* constants as values */
  hr_block* spare;   /* the last run's arena */
  hr_block* scratch[HR_SCRATCH_SLOTS];
};
struct hr_x { /* one run */
  hr_program* program;
  hr_run* run;
  int32_t stop; /* non-zero: leave with this code */
  int32_t threads;
  hr_block *block, *spare;
  const char* blame; /* what an index out of range means here, if anything but that */
  int32_t site;      /* of a failed run: which statement (codegen_sites.cc) */
  hr_float_mode found; /* the caller's: external functions run in it */
};

/* A call that takes denormals for zero out of one that doesn't, or the other way round. */
struct hr_denormals_in {
  hr_float_mode before;
  explicit hr_denormals_in(int flush) : before(hr_denormals(flush)) {}
  ~hr_denormals_in() { hr_float_mode_swap(before); }
};

/* The message begins with the error's code in docs/errors.md. */
static HR_COLD void hr_fail(hr_x* x, int32_t code, const char* message) {
  int32_t running = 0;
  if (__atomic_compare_exchange_n(&x->stop, &running, code, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) && message)
    x->run->fail(x->run, message);
}
/* Out of a failed statement: its number in this function, on top of what the functions that it called added. */
static HR_COLD int32_t hr_at(hr_x* x, int32_t site) {
  x->site += site;
  return x->stop;
}
static HR_COLD int32_t hr_is(hr_x* x, int32_t site) {
  x->site = site;
  return x->stop;
}
static inline int32_t hr_stopped(hr_x* x) {
  if (x->run->cancel && *x->run->cancel) hr_fail(x, HR_CANCELLED, nullptr);
  return x->stop;
}
/* "WHAT[a, b]", for messages; the length of what fits. */
static HR_COLD int hr_print_ints(char* text, int size, const char* what, int rank, const int64_t* at) {
  int n = __builtin_snprintf(text, (size_t)size, "%s[", what);
  for (int d = 0; d < rank && n + 24 < size; ++d)
    n += __builtin_snprintf(text + n, (size_t)(size - n), d ? ", %lld" : "%lld", (long long)at[d]);
  if (n + 1 < size) n += __builtin_snprintf(text + n, (size_t)(size - n), "]");
  return n < size ? n : size - 1;
}
static HR_COLD void hr_bad_index(hr_x* x, const char* container, int rank, const int64_t* index, const int64_t* shape) {
  if (x->blame) return hr_fail(x, HR_FAILED, x->blame);
  char name[256], text[600];
  __builtin_snprintf(name, sizeof name, "E0650 index out of range: %s", container);
  const int n = hr_print_ints(text, 450, name, rank, index);
  hr_print_ints(text + n, (int)sizeof text - n, ", shape ", rank, shape);
  hr_fail(x, HR_FAILED, text);
}

/* A require whose condition is false: each {} of its message stands for the next value. */
static HR_COLD int32_t hr_unmet(hr_x* x, const char* message, const int64_t* values) {
  char text[1000];
  int n = 0;
  while (*message && n + 24 < (int)sizeof text) {
    if (message[0] == '{' && message[1] == '}') {
      n += __builtin_snprintf(text + n, sizeof text - (size_t)n, "%lld", (long long)*values++);
      message += 2;
    } else {
      text[n++] = *message++;
    }
  }
  text[n] = 0;
  hr_fail(x, HR_FAILED, text);
  return x->stop;
}

template <int N>
struct hr_ints {
  int64_t at[N];
};
template <int N>
static inline void hr_bad(hr_x* x, const char* container, hr_ints<N> index, hr_ints<N> shape) {
  hr_bad_index(x, container, N, index.at, shape.at);
}

/* Does a view lie within the `extent` elements of its base's memory? Reports where not. */
static HR_UNUSED bool hr_view_fits(hr_x* x, const char* view, const char* base, int64_t offset, int rank,
                                   const int64_t* shape, const int64_t* strides, int64_t extent) {
  __int128 low = offset, high = offset;
  for (int d = 0; d < rank; ++d) {
    if (shape[d] <= 0) return true;
    const __int128 reach = (__int128)strides[d] * (shape[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  if (low >= 0 && high < extent) return true;
  char text[600];
  __builtin_snprintf(text, sizeof text, "E0651 view %s reaches outside its base %s: elements %lld to %lld of %lld", view, base,
                     (long long)low, (long long)high, (long long)extent);
  hr_fail(x, HR_FAILED, text);
  return false;
}

static HR_UNUSED bool hr_size_agrees(hr_x* x, const char* callee, const char* argument, const char* port, int dimension,
                                     int64_t got, int64_t expected) {
  if (got == expected) return true;
  char text[600];
  __builtin_snprintf(text, sizeof text, "E0652 call of %s: argument %s is %lld long where dimension %d of %s is %lld", callee,
                     argument, (long long)got, dimension, port, (long long)expected);
  hr_fail(x, HR_FAILED, text);
  return false;
}

/* ---- memory: a stack of blocks, the largest kept for the next run ---- */
struct hr_mark {
  hr_block* block;
  int64_t used;
};
static inline hr_mark hr_begin(hr_x* x) { return {x->block, x->block ? x->block->used : 0}; }
static HR_UNUSED void* hr_take(hr_x* x, int64_t bytes) {
  if (bytes < 0 || bytes > (int64_t)1 << 60) {
    hr_fail(x, HR_OUT_OF_MEMORY, "E0661 the program's arena does not fit in the address space");
    return nullptr;
  }
  bytes = (bytes + 63) / 64 * 64;
  hr_block* b = x->block;
  if (!b || b->used + bytes > b->size) {
    int64_t size = bytes < 65536 ? 65536 : bytes;
    if (x->spare && x->spare->size >= size) {
      b = x->spare;
      x->spare = nullptr;
    } else {
      b = (hr_block*)x->program->runtime->arena_new(size + (int64_t)sizeof(hr_block));
      if (!b) {
        char text[80];
        __builtin_snprintf(text, sizeof text, "E0661 out of memory: the arena needs %lld bytes", (long long)size);
        hr_fail(x, HR_OUT_OF_MEMORY, text);
        return nullptr;
      }
      b->size = size;
    }
    b->used = 0;
    b->previous = x->block;
    x->block = b;
  }
  void* p = (char*)(b + 1) + b->used;
  b->used += bytes;
  return p;
}
static HR_UNUSED void hr_drop(hr_program* p, hr_block* b) {
  if (b) p->runtime->arena_delete(b, b->size + (int64_t)sizeof(hr_block));
}
static HR_UNUSED void hr_release(hr_x* x, hr_mark mark) {
  while (x->block != mark.block) {
    hr_block* b = x->block;
    x->block = b->previous;
    if (!x->spare || x->spare->size < b->size) {
      hr_drop(x->program, x->spare);
      x->spare = b;
    } else {
      hr_drop(x->program, b);
    }
  }
  if (x->block) x->block->used = mark.used;
}
/* What a worker needs while it runs a body: kept by the program, never zeroed. */
static HR_UNUSED void* hr_scratch_take(hr_x* x, int64_t bytes) {
  if (bytes < 0 || bytes > (int64_t)1 << 60)
    return hr_fail(x, HR_OUT_OF_MEMORY, "E0661 out of memory: a worker's buffers do not fit in the address space"), nullptr;
  for (int i = 0; i < HR_SCRATCH_SLOTS; ++i) {
    hr_block* b = __atomic_exchange_n(&x->program->scratch[i], nullptr, __ATOMIC_ACQ_REL);
    if (!b) continue;
    if (b->size >= bytes) return b + 1;
    hr_drop(x->program, b);
  }
  hr_block* b = (hr_block*)x->program->runtime->arena_new(bytes + (int64_t)sizeof(hr_block));
  if (!b) return hr_fail(x, HR_OUT_OF_MEMORY, "E0661 out of memory for a worker's buffers"), nullptr;
  b->size = bytes;
  return b + 1;
}
static HR_UNUSED void hr_scratch_give(hr_x* x, void* p) {
  hr_block* b = (hr_block*)p - 1;
  for (int i = 0; i < HR_SCRATCH_SLOTS && b; ++i) {
    hr_block* empty = nullptr;
    if (__atomic_compare_exchange_n(&x->program->scratch[i], &empty, b, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      b = nullptr;
  }
  hr_drop(x->program, b);
}
struct hr_worker {
  hr_x* x;
  char* data; /* null: the run has failed */
  hr_worker(hr_x* c, int64_t bytes) : x(c), data((char*)hr_scratch_take(c, bytes)) {}
  ~hr_worker() {
    if (data) hr_scratch_give(x, data);
  }
};
/* A size that knows whether it is one: int64 arithmetic that does not wrap. */
struct hr_size {
  int64_t value;
  bool wrapped = false;
};
static inline hr_size operator+(hr_size a, hr_size b) {
  hr_size r{0};
  r.wrapped = __builtin_add_overflow(a.value, b.value, &r.value) | a.wrapped | b.wrapped;
  return r;
}
static inline hr_size operator-(hr_size a, hr_size b) {
  hr_size r{0};
  r.wrapped = __builtin_sub_overflow(a.value, b.value, &r.value) | a.wrapped | b.wrapped;
  return r;
}
static inline hr_size operator*(hr_size a, hr_size b) {
  hr_size r{0};
  r.wrapped = __builtin_mul_overflow(a.value, b.value, &r.value) | a.wrapped | b.wrapped;
  return r;
}
static inline int64_t hr_count(hr_size s) { return s.wrapped ? INT64_MAX : s.value; }
static HR_UNUSED int64_t hr_extend(int64_t bytes, int64_t count, int64_t width) {
  int64_t size = hr_size_mul(count < 0 ? 0 : count, width);
  return hr_size_add(bytes, size < 0 ? -1 : hr_size_add(size, 63) & -64);
}
/* Containers whose size the run defines. */
struct hr_slot {
  void* data;
  int64_t capacity;
};
static HR_UNUSED int hr_resize(hr_x* x, hr_slot* s, int64_t count, int64_t width, const char* name) {
  int64_t bytes = hr_extend(0, count, width);
  if (bytes >= 0 && bytes < 64) bytes = 64;
  if (bytes >= 0 && bytes <= s->capacity) return 0;
  if (s->data) x->program->runtime->arena_delete(s->data, s->capacity);
  s->data = bytes < 0 ? nullptr : x->program->runtime->arena_new(bytes);
  s->capacity = s->data ? bytes : 0;
  if (!s->data) {
    char text[300];
    __builtin_snprintf(text, sizeof text, "E0661 out of memory: %.200s needs %lld bytes", name, (long long)bytes);
    hr_fail(x, HR_OUT_OF_MEMORY, bytes < 0 ? "E0661 out of memory: an array does not fit in the address space" : text);
  }
  return x->stop;
}
static HR_UNUSED void hr_free_slot(hr_x* x, hr_slot* s) {
  if (s->data) x->program->runtime->arena_delete(s->data, s->capacity);
}
static HR_COLD void* hr_no_output(hr_x* x, int32_t code, const char* why, const char* name, int32_t rank,
                                  const int64_t* shape) {
  char what[256], text[600];
  __builtin_snprintf(what, sizeof what, "%s output '%.200s' of shape ", why, name);
  hr_print_ints(text, sizeof text, what, rank, shape);
  hr_fail(x, code, text);
  return nullptr;
}
static HR_UNUSED void* hr_output(hr_x* x, int32_t index, int32_t dtype, int32_t rank, const int64_t* shape,
                                 const char* name) {
  for (int32_t d = 0; d < rank; ++d)
    if (shape[d] < 0) return hr_no_output(x, HR_FAILED, "E0662 negative size:", name, rank, shape);
  if (x->run->allocate(x->run, index, dtype, rank, shape))
    return hr_no_output(x, HR_OUT_OF_MEMORY, "E0661 out of memory for", name, rank, shape);
  return x->run->outputs[index].data;
}

/* ---- parallel chunks: fixed by the shapes, never by the thread count ---- */
static inline int64_t hr_grain(int64_t work) { return work >= 65536 ? 1 : work <= 0 ? 65536 : 65536 / work; }
static inline int64_t hr_least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t hr_most(int64_t a, int64_t b) { return a > b ? a : b; }
/* Of an index that compilers know nothing of: they would write other addresses in terms of this one, and not see which array those are in. */
template <class T>
static inline void hr_prefetch(const T* p, int64_t at) {
  asm("" : "+r"(at));
  __builtin_prefetch(p + at);
}
static HR_UNUSED int64_t hr_trip(int64_t begin, int64_t end, int64_t step) {
  const uint64_t b = (uint64_t)begin, e = (uint64_t)end, s = (uint64_t)step;
  if (step > 0) return end > begin ? (int64_t)((e - b - 1) / s + 1) : 0;
  return step < 0 && begin > end ? (int64_t)((b - e - 1) / (0 - s) + 1) : 0;
}
/* Once per file, not once per parallel map: compilers take as long for it as for a loop with lanes. */
static __attribute__((noinline, unused)) void hr_run_chunks(hr_x* x, int64_t total, int64_t grain,
                                                            void (*part)(const void*, int64_t, int64_t), const void* body) {
  if (total <= 0) return;
  if (total <= grain) return part(body, 0, total);
  struct Call {
    hr_x* x;
    void (*part)(const void*, int64_t, int64_t);
    const void* body;
    int64_t total, grain;
  } call = {x, part, body, total, grain};
  x->program->runtime->parallel_for((total + grain - 1) / grain,
                                    [](void* p, int64_t chunk) {
                                      const Call& c = *(const Call*)p;
                                      if (hr_stopped(c.x)) return;
                                      const int64_t begin = chunk * c.grain;
                                      c.part(c.body, begin, hr_least(c.total, begin + c.grain));
                                    },
                                    &call, x->threads);
}
template <typename Body>
static inline void hr_chunks(hr_x* x, int64_t total, int64_t grain, const Body& body) {
  hr_run_chunks(x, total, grain, [](const void* b, int64_t begin, int64_t end) { (*(const Body*)b)(begin, end); }, &body);
}

/* ---- strings, sequences and external functions ---- */
struct hr_box {
  hr_value value;
  void* memory;
}; /* owns all it refers to, as a list of blocks from malloc */
extern "C" void* malloc(size_t) noexcept;
extern "C" void free(void*) noexcept;
struct hr_piece {
  hr_piece* next;
  int64_t pad;
};
static HR_UNUSED void hr_free_box(hr_box* b) {
  for (hr_piece* p = (hr_piece*)b->memory; p;) {
    hr_piece* next = p->next;
    free(p);
    p = next;
  }
  b->memory = nullptr;
}
static HR_UNUSED void* hr_piece_new(hr_box* b, int64_t bytes) {
  hr_piece* p = bytes < 0 ? nullptr : (hr_piece*)malloc(sizeof(hr_piece) + (size_t)bytes);
  if (!p) return nullptr;
  p->next = (hr_piece*)b->memory;
  b->memory = p;
  return p + 1;
}
static HR_UNUSED hr_value hr_tensor(int32_t dtype, int32_t rank, const int64_t* shape, void* data) {
  hr_value v = {};
  v.kind = HR_TENSOR, v.dtype = dtype, v.rank = rank, v.shape = shape, v.data = data;
  return v;
}
static HR_UNUSED int64_t hr_count(const hr_value* v) {
  int64_t n = 1;
  for (int32_t d = 0; d < v->rank; ++d) n = hr_size_mul(n, v->shape[d]);
  return n;
}
static HR_UNUSED int64_t hr_width(int32_t dtype) {
  switch (dtype) {
    case HR_U16:
    case HR_I16:
    case HR_F16:
    case HR_BF16: return 2;
    case HR_U32:
    case HR_I32:
    case HR_F32: return 4;
    case HR_U64:
    case HR_I64:
    case HR_F64:
    case HR_C64: return 8;
    case HR_C128: return 16;
    case HR_STRING: return (int64_t)sizeof(hr_string);
    default: return 1;
  }
}
static HR_UNUSED int hr_copy_strings(hr_box* b, hr_string* to, const hr_string* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    char* text = (char*)hr_piece_new(b, from[i].size + 1);
    if (!text) return 1;
    __builtin_memcpy(text, from[i].data, (size_t)from[i].size);
    text[from[i].size] = 0;
    to[i].data = text, to[i].size = from[i].size;
  }
  return 0;
}
static HR_UNUSED int hr_copy_value(hr_box* b, hr_value* to, const hr_value* from) {
  *to = *from;
  if (from->kind == HR_TENSOR) {
    const int64_t n = hr_count(from);
    int64_t* shape = (int64_t*)hr_piece_new(b, from->rank * 8);
    void* data = hr_piece_new(b, hr_size_mul(n, hr_width(from->dtype)));
    if (!shape || !data) return 1;
    __builtin_memcpy(shape, from->shape, (size_t)from->rank * 8);
    to->shape = shape, to->data = data;
    if (from->dtype == HR_STRING) return hr_copy_strings(b, (hr_string*)data, (const hr_string*)from->data, n);
    __builtin_memcpy(data, from->data, (size_t)(n * hr_width(from->dtype)));
  } else if (from->kind == HR_SEQUENCE) {
    hr_value* items = (hr_value*)hr_piece_new(b, from->count * (int64_t)sizeof(hr_value));
    if (!items) return 1;
    for (int64_t i = 0; i < from->count; ++i)
      if (hr_copy_value(b, items + i, from->items + i)) return 1;
    to->items = items;
  }
  return 0;
}

struct hr_sink {
  hr_slot* slot;
  hr_value* handle;
  int32_t run_output;
  int64_t shape[16];
};
struct hr_call_host {
  hr_x* x;
  hr_sink* sinks;
  const char* name; /* of the function */
  hr_box made[16];
};
static HR_COLD int32_t hr_sink_refuse(hr_call* c, int32_t o, const char* what) {
  char text[200];
  __builtin_snprintf(text, sizeof text, "output %d %s", (int)o, what);
  c->fail(c, text);
  return 1;
}
static HR_UNUSED int32_t hr_sink_allocate(hr_call* c, int32_t o, int32_t dtype, int32_t rank, const int64_t* shape) {
  hr_call_host* h = (hr_call_host*)c->host;
  if (o < 0 || o >= c->n_outputs) return hr_sink_refuse(c, o, "does not exist");
  hr_sink* s = h->sinks + o;
  hr_value* v = c->outputs + o;
  if (rank < 0 || rank > 16) return hr_sink_refuse(c, o, "can't have so many dimensions");
  for (int32_t d = 0; d < rank; ++d)
    if (shape[d] < 0) return hr_sink_refuse(c, o, "can't have a negative size");
  if (!s->handle && v->kind == HR_TENSOR) {
    if (dtype != v->dtype) return hr_sink_refuse(c, o, "got another type than it has");
    if (rank != v->rank) return hr_sink_refuse(c, o, "got another number of dimensions than it has");
  }
  if (s->run_output >= 0 && v->kind != HR_ABSENT && (s->slot == nullptr && s->handle == nullptr)) {
    if (h->x->run->allocate(h->x->run, s->run_output, dtype, rank, shape)) return 1;
    *v = h->x->run->outputs[s->run_output];
    return 0;
  }
  int64_t count = 1;
  for (int32_t d = 0; d < rank; ++d) s->shape[d] = shape[d], count = hr_size_mul(count, shape[d]);
  if (s->handle) {
    void* data = hr_piece_new(&h->made[o], hr_size_mul(count, hr_width(dtype)));
    int64_t* dims = (int64_t*)hr_piece_new(&h->made[o], rank * 8);
    if (!data || !dims) return 1;
    __builtin_memcpy(dims, shape, (size_t)rank * 8);
    *v = hr_tensor(dtype, rank, dims, data);
    return 0;
  }
  if (!s->slot) { /* its memory is there */
    for (int32_t d = 0; d < rank && v->shape; ++d)
      if (shape[d] != v->shape[d]) return hr_sink_refuse(c, o, "got another shape than it has");
    return v->kind != HR_TENSOR;
  }
  if (hr_resize(h->x, s->slot, count, hr_width(dtype), "an external function's output")) return 1;
  *v = hr_tensor(dtype, rank, s->shape, s->slot->data);
  return 0;
}
static HR_UNUSED int32_t hr_sink_strings(hr_call* c, int32_t o, const hr_string* strings, int64_t count) {
  hr_call_host* h = (hr_call_host*)c->host;
  hr_sink* s = h->sinks + o;
  if (s->run_output >= 0 && !s->handle) return h->x->run->set_strings(h->x->run, s->run_output, strings, count);
  hr_value* v = c->outputs + o;
  hr_string* to = (hr_string*)hr_piece_new(&h->made[o], count * (int64_t)sizeof(hr_string));
  if (!to || hr_copy_strings(&h->made[o], to, strings, count)) return 1;
  v->data = to;
  return 0;
}
static HR_UNUSED int32_t hr_sink_append(hr_call* c, int32_t o, const hr_value* item) {
  hr_call_host* h = (hr_call_host*)c->host;
  hr_sink* s = h->sinks + o;
  if (s->run_output >= 0 && !s->handle) return h->x->run->append(h->x->run, s->run_output, item);
  hr_value* v = c->outputs + o;
  v->kind = HR_SEQUENCE;
  if ((v->count & (v->count - 1)) == 0) { /* grow at powers of two */
    hr_value* items = (hr_value*)hr_piece_new(&h->made[o], (v->count ? 2 * v->count : 1) * (int64_t)sizeof(hr_value));
    if (!items) return 1;
    if (v->count) __builtin_memcpy(items, v->items, (size_t)v->count * sizeof(hr_value));
    v->items = items;
  }
  return hr_copy_value(&h->made[o], (hr_value*)v->items + v->count++, item);
}
static HR_UNUSED void hr_sink_fail(hr_call* c, const char* message) {
  hr_call_host* h = (hr_call_host*)c->host;
  char text[1000];
  __builtin_snprintf(text, sizeof text, "E0654 external function %s failed: %s", h->name, message ? message : "no reason given");
  hr_fail(h->x, HR_FAILED, text);
}

static HR_UNUSED int32_t hr_sink_cancelled(hr_call* c) { return hr_stopped(((hr_call_host*)c->host)->x); }

/* What only some calls have: scratch, whose last bytes the function must leave alone, and strides by port. */
struct hr_call_more {
  void* scratch;
  int64_t scratch_bytes;
  const int64_t* const* input_strides;
  const int64_t* const* output_strides;
};
enum { HR_CANARY_BYTES = 64, HR_CANARY = 0xA5 };
static HR_UNUSED bool hr_canary_lives(const hr_call_more* m) {
  const unsigned char* end = (const unsigned char*)m->scratch + m->scratch_bytes;
  unsigned char wrong = 0;
  for (int i = 1; i <= HR_CANARY_BYTES; ++i) wrong |= end[-i] ^ HR_CANARY;
  return !wrong;
}
static HR_COLD void hr_wrote_beyond(hr_x* x, const char* name, int64_t bytes) {
  char text[400];
  __builtin_snprintf(text, sizeof text, "E0679 external function %.200s wrote beyond the %lld bytes of its scratch", name,
                     (long long)bytes);
  hr_fail(x, HR_FAILED, text);
}

/* Calls external function `index`; what it allocates goes to the sinks. */
static HR_UNUSED int32_t hr_call_external(hr_x* x, int index, const char* name, const hr_value* in, int n_in,
                                          hr_value* out, hr_sink* sinks, int n_out, const hr_attribute* attributes, int n_attributes,
                                          const hr_call_more* more = nullptr) {
  const hr_external_binding* b = x->program->externals + index;
  hr_call_host host = {};
  host.x = x, host.sinks = sinks, host.name = name;
  if (n_out > 16) return hr_fail(x, HR_FAILED, "E0665 an external function has more than 16 outputs"), x->stop;
  hr_call c = {};
  c.struct_size = sizeof c;
  c.n_inputs = n_in, c.n_outputs = n_out, c.n_attributes = n_attributes, c.threads = x->threads;
  c.inputs = in, c.outputs = out, c.attributes = attributes, c.state = b->state;
  c.allocate = hr_sink_allocate, c.set_strings = hr_sink_strings, c.append = hr_sink_append, c.fail = hr_sink_fail,
  c.host = &host, c.cancelled = x->run->cancel ? hr_sink_cancelled : nullptr;
  c.parallel_for = x->program->runtime->parallel_for;
  if (more) {
    c.input_strides = more->input_strides, c.output_strides = more->output_strides;
    if (more->scratch) {
      c.scratch = more->scratch, c.scratch_bytes = more->scratch_bytes - HR_CANARY_BYTES;
      __builtin_memset((char*)c.scratch + c.scratch_bytes, HR_CANARY, HR_CANARY_BYTES);
    }
  }
  const hr_float_mode ours = hr_float_mode_swap(x->found);
  const hr_runtime_api* runtime = x->program->runtime;
  const bool guards = runtime->struct_size >= __builtin_offsetof(hr_runtime_api, call) + sizeof runtime->call;
  const int32_t failed = guards ? runtime->call(b->function, &c) : b->function(&c);
  hr_float_mode_be(ours); /* whatever it left */
  if (more && more->scratch && !hr_canary_lives(more)) hr_wrote_beyond(x, name, c.scratch_bytes);
  if (failed && !x->stop) hr_sink_fail(&c, "it did not say why");
  for (int i = 0; i < n_out && !x->stop; ++i)
    if (!sinks[i].handle && out[i].kind == HR_TENSOR && out[i].rank && !out[i].shape) hr_sink_refuse(&c, i, "was not made");
  for (int i = 0; i < n_out; ++i) {
    if (!sinks[i].handle) {
      hr_free_box(&host.made[i]);
      continue;
    }
    hr_box* box = (hr_box*)sinks[i].handle; /* the value is the box's first member */
    void* old = box->memory;
    box->value = out[i];
    box->memory = host.made[i].memory;
    hr_box gone = {{}, old};
    hr_free_box(&gone);
  }
  return x->stop;
}
