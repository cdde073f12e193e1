/* A square of numbers in registers: n lines of n that lie side by side, `from_step` apart, become the columns of n lines that are `to_step`
 * apart. In each stage every second block of s numbers of a line changes places with one of the line s below, for s = n/2 … 1
 * (J. O. Eklundh, A fast computer method for matrix transposing, 1972). Numbers of bf16 become f32; pairs of them stay pairs, and steps
 * count halves. */
#define HR_SQUARE static inline __attribute__((always_inline)) void
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector) && __has_builtin(__builtin_convertvector)
#define HR_SHUFFLES
#endif
#endif
#if defined(HR_SHUFFLES)
template <int s, class Line, int... i>
HR_SQUARE hr_change_blocks(Line* a, Line* b) {
  const int n = sizeof...(i);
  const Line first = __builtin_shufflevector(*a, *b, (i & s ? n + i - s : i)...);
  *b = __builtin_shufflevector(*a, *b, (i & s ? n + i : i + s)...);
  *a = first;
}
template <int n>
struct hr_line;
#define HR_LINE(n, ...)                                                                                 \
  template <>                                                                                           \
  struct hr_line<n> {                                                                                   \
    typedef float of __attribute__((vector_size(4 * n)));                                               \
    typedef float at __attribute__((vector_size(4 * n), aligned(4), may_alias));                        \
    typedef uint32_t bits __attribute__((vector_size(4 * n)));                                          \
    typedef uint16_t halves __attribute__((vector_size(2 * n), aligned(2), may_alias));                 \
    typedef float pairs __attribute__((vector_size(4 * n), aligned(2), may_alias));                     \
    HR_SQUARE read(of* line, const float* from) { *line = *(const at*)from; }                           \
    HR_SQUARE read(of* line, const uint16_t* from) {                                                    \
      *line = (of)(__builtin_convertvector(*(const halves*)from, bits) << 16);                          \
    }                                                                                                   \
    template <int s>                                                                                    \
    HR_SQUARE change(of* lines) {                                                                       \
      _Pragma("GCC unroll 16") for (int i = 0; i < n; ++i) if (!(i & s))                                \
          hr_change_blocks<s, of, __VA_ARGS__>(lines + i, lines + i + s);                               \
    }                                                                                                   \
  };
HR_LINE(8, 0, 1, 2, 3, 4, 5, 6, 7)
HR_LINE(16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#undef HR_LINE
template <int n>
HR_SQUARE hr_turn_square(typename hr_line<n>::of* lines) {
  if constexpr (n > 8) hr_line<n>::template change<8>(lines);
  hr_line<n>::template change<4>(lines);
  hr_line<n>::template change<2>(lines);
  hr_line<n>::template change<1>(lines);
}
template <int n>
HR_SQUARE hr_transpose_pairs(uint16_t* to, int64_t to_step, const uint16_t* from, int64_t from_step) {
  typename hr_line<n>::of lines[n];
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) lines[i] = *(const typename hr_line<n>::pairs*)(from + i * from_step);
  hr_turn_square<n>(lines);
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) *(typename hr_line<n>::pairs*)(to + i * to_step) = lines[i];
}
template <int n, class From>
HR_SQUARE hr_transpose(float* to, int64_t to_step, const From* from, int64_t from_step) {
  typedef hr_line<n> line;
  typename line::of lines[n];
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) line::read(lines + i, from + i * from_step);
  hr_turn_square<n>(lines);
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) *(typename line::at*)(to + i * to_step) = lines[i];
}
#undef HR_SHUFFLES
#else
static inline float hr_transposed(float x) { return x; }
static inline float hr_transposed(uint16_t x) { return hr_f32_bits((uint32_t)x << 16); }
template <int n, class From>
HR_SQUARE hr_transpose(float* to, int64_t to_step, const From* from, int64_t from_step) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) to[i * to_step + j] = hr_transposed(from[j * from_step + i]);
}
template <int n>
HR_SQUARE hr_transpose_pairs(uint16_t* to, int64_t to_step, const uint16_t* from, int64_t from_step) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < 2 * n; ++j) to[i * to_step + j] = from[j / 2 * from_step + 2 * i + j % 2];
}
#endif
#undef HR_SQUARE
