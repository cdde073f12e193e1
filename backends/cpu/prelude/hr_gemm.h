/* Contractions: C[i, j] += sum over k of A[i, k] * B[k, j], block by block. The operands are whatever expressions the program
 * has: generated code packs them into panels, A in strips of HR_ROWS rows, B row by row; the micro-kernel keeps
 * HR_ROWS x (2 vectors) sums in registers. Blocks are fixed by the shapes, so results do not depend on the thread count. */
#if defined(__AVX512F__)
#define HR_VECTOR_BYTES 64
#define HR_ROWS 8
#elif defined(__AVX__)
#define HR_VECTOR_BYTES 32
#define HR_ROWS 6
#else
#define HR_VECTOR_BYTES 16
#define HR_ROWS 4
#endif
enum { HR_BLOCK_ROWS = 192, HR_BLOCK_COLUMNS = 384, HR_BLOCK_DEPTH = 256, HR_GROUP_ROWS = 768 };
/* How a product is cut into units of work: even ones of at most HR_GROUP_ROWS x HR_BLOCK_COLUMNS, and smaller ones where
 * they would be too few for some threads. Columns are `outer` steps of `inner`; `others`: how often the product is done. */
struct hr_cut {
  int64_t row_step, row_units, column_step, column_units;
};
static HR_UNUSED hr_cut hr_cut_product(int64_t rows, int64_t outer, int64_t inner, int64_t others) {
  const int64_t columns = outer * inner;
  int64_t r = hr_most(1, (rows + HR_GROUP_ROWS - 1) / HR_GROUP_ROWS);
  int64_t c = hr_most(1, (columns + HR_BLOCK_COLUMNS - 1) / HR_BLOCK_COLUMNS);
  while (r * c * others < 4) {
    const int64_t tall = rows / (r + 1), wide = columns / (c + 1);
    if (tall < 64 && wide < 64) break;
    if (tall >= 64 && (tall >= wide || wide < 64)) ++r;
    else ++c;
  }
  hr_cut cut;
  cut.row_step = hr_most(1, ((rows + r - 1) / r + 23) / 24 * 24); /* a multiple of every HR_ROWS */
  cut.row_units = (rows + cut.row_step - 1) / cut.row_step;
  cut.column_step = hr_most(1, inner == 1 ? ((outer + c - 1) / c + 31) / 32 * 32 : (outer + c - 1) / c);
  cut.column_units = (outer + cut.column_step - 1) / cut.column_step;
  return cut;
}
template <typename T>
struct hr_vector_of {
  typedef T type __attribute__((vector_size(HR_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
};

#if defined(__clang__)
#define HR_CONTRACT
#define HR_CONTRACT_BODY _Pragma("clang fp contract(fast)")
#define HR_UNROLL _Pragma("unroll")
#else
#define HR_CONTRACT __attribute__((optimize("-ffp-contract=fast")))
#define HR_CONTRACT_BODY
#define HR_UNROLL _Pragma("GCC unroll 16")
#endif
/* c[r][v] (+)= over depth; a: [depth][HR_ROWS], b: rows of `ldb` elements. `rows` and `columns` may fall short of the full tile. */
template <typename T>
HR_CONTRACT static __attribute__((noinline)) void hr_micro(int64_t depth, const T* __restrict a, const T* __restrict b,
                                                           int64_t ldb, T* __restrict c, int64_t row_stride,
                                                           int64_t column_stride, int64_t rows, int64_t columns) {
  HR_CONTRACT_BODY
  typedef typename hr_vector_of<T>::type V;
  constexpr int W = HR_VECTOR_BYTES / (int)sizeof(T);
  V s[HR_ROWS][2] = {};
  for (int64_t k = 0; k < depth; ++k) {
    const V b0 = *(const V*)(b + k * ldb), b1 = *(const V*)(b + k * ldb + W);
    HR_UNROLL
    for (int r = 0; r < HR_ROWS; ++r) {
      s[r][0] += b0 * a[k * HR_ROWS + r];
      s[r][1] += b1 * a[k * HR_ROWS + r];
    }
  }
  if (rows == HR_ROWS && columns == 2 * W && column_stride == 1) {
    HR_UNROLL
    for (int r = 0; r < HR_ROWS; ++r) {
      V* p = (V*)(c + r * row_stride);
      V* q = (V*)(c + r * row_stride + W);
      *p += s[r][0];
      *q += s[r][1];
    }
    return;
  }
  T tile[HR_ROWS][2 * W];
  HR_UNROLL
  for (int r = 0; r < HR_ROWS; ++r) {
    *(V*)&tile[r][0] = s[r][0];
    *(V*)&tile[r][W] = s[r][1];
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j) c[r * row_stride + j * column_stride] += tile[r][j];
}

/* What memory holds the other way round goes into a panel by squares: rows are read as they lie, turned in registers. */
template <typename T>
struct hr_square {
  enum { N = 64 / (int)sizeof(T) };
  T at[N][N];
};
template <typename T>
static inline void hr_transpose(hr_square<T>* s) {
  constexpr int N = hr_square<T>::N;
#if defined(__clang__)
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < i; ++j) {
      const T t = s->at[i][j];
      s->at[i][j] = s->at[j][i];
      s->at[j][i] = t;
    }
#else
  typedef T V __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
  typedef decltype(V() == V()) I;
  I low, high;
  for (int i = 0; i < N; ++i) low[i] = i / 2 + i % 2 * N, high[i] = N / 2 + i / 2 + i % 2 * N;
  V r[N], t[N];
  HR_UNROLL
  for (int i = 0; i < N; ++i) r[i] = *(const V*)s->at[i];
  HR_UNROLL
  for (int step = 1; step < N; step *= 2) { /* riffling halves log2(N) times */
    HR_UNROLL
    for (int i = 0; i < N / 2; ++i) {
      t[2 * i] = __builtin_shuffle(r[i], r[i + N / 2], low);
      t[2 * i + 1] = __builtin_shuffle(r[i], r[i + N / 2], high);
    }
    HR_UNROLL
    for (int i = 0; i < N; ++i) r[i] = t[i];
  }
  HR_UNROLL
  for (int i = 0; i < N; ++i) *(V*)s->at[i] = r[i];
#endif
}
/* Rows [row_begin, row_end) by `columns` columns. The first reduced index runs over [0, k_trip), each step being k_inner deep.
 * pack_a(to, row, count, k0, k1, depth): strip s, depth d, row r at to[(s * depth + d) * HR_ROWS + r];
 * pack_b(to, ld, k0, k1): depth d, column j at to[d * ld + j]. c is element (0, first column). */
template <typename T, typename PackA, typename PackB>
static inline void hr_contract(hr_x* x, int64_t row_begin, int64_t row_end, int64_t columns, int64_t k_trip,
                               int64_t k_inner, T* c, int64_t row_stride, int64_t column_stride, const PackA& pack_a,
                               const PackB& pack_b) {
  constexpr int64_t tile = 2 * (HR_VECTOR_BYTES / (int64_t)sizeof(T));
  if (k_trip <= 0 || k_inner <= 0 || columns <= 0 || row_begin >= row_end) return;
  int64_t step = hr_most(1, HR_BLOCK_DEPTH / k_inner);
  const int64_t blocks = (k_trip + step - 1) / step;
  step = (k_trip + blocks - 1) / blocks; /* even blocks */
  const int64_t depth_max = step * k_inner;
  int64_t ld = (columns + tile - 1) / tile * tile;
  if (ld * (int64_t)sizeof(T) % 1024 == 0) ld += 64 / (int64_t)sizeof(T); /* rows in different cache sets */
  const int64_t a_bytes = ((int64_t)HR_BLOCK_ROWS + HR_ROWS) * depth_max * (int64_t)sizeof(T);
  char* scratch = (char*)hr_scratch_take(x, (a_bytes + 63) / 64 * 64 + (ld * depth_max + 64) * (int64_t)sizeof(T));
  if (!scratch) return;
  T* const a = (T*)scratch;
  T* const b = (T*)(scratch + (a_bytes + 63) / 64 * 64);
  for (int64_t k0 = 0; k0 < k_trip; k0 += step) {
    const int64_t k1 = hr_least(k_trip, k0 + step), depth = (k1 - k0) * k_inner;
    pack_b(b, ld, k0, k1);
    for (int64_t r0 = row_begin; r0 < row_end; r0 += HR_BLOCK_ROWS) {
      const int64_t rows = hr_least(HR_BLOCK_ROWS, row_end - r0);
      if (rows % HR_ROWS)
        __builtin_memset(a + rows / HR_ROWS * HR_ROWS * depth, 0, (size_t)(HR_ROWS * depth) * sizeof(T));
      pack_a(a, r0, rows, k0, k1, depth);
      for (int64_t j = 0; j < columns; j += tile)
        for (int64_t r = 0; r < rows; r += HR_ROWS)
          hr_micro<T>(depth, a + r * depth, b + j, ld, c + (r0 + r) * row_stride + j * column_stride, row_stride,
                      column_stride, hr_least(HR_ROWS, rows - r), hr_least(tile, columns - j));
    }
  }
  hr_scratch_give(x, scratch);
}
