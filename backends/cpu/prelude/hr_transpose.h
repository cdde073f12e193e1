/* A square of numbers in registers: n lines of n that lie side by side, `from_step` apart, become the columns of n lines that are `to_step`
 * apart. In each stage every second block of s numbers of a line changes places with one of the line s below, for s = n/2 … 1
 * (J. O. Eklundh, A fast computer method for matrix transposing, 1972). Numbers of bf16 become f32 where such are stored; pairs of them stay
 * pairs, and steps count halves. */
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
template <int bytes, int n>
struct hr_line;
#define HR_LINE(bytes, number, whole, n, ...)                                                           \
  template <>                                                                                           \
  struct hr_line<bytes, n> {                                                                            \
    typedef number of __attribute__((vector_size(bytes * n)));                                          \
    typedef number at __attribute__((vector_size(bytes * n), aligned(2), may_alias));                   \
    typedef whole bits __attribute__((vector_size(bytes * n)));                                         \
    typedef uint16_t halves __attribute__((vector_size(2 * n), aligned(2), may_alias));                 \
    template <int s>                                                                                    \
    HR_SQUARE change(of* lines) {                                                                       \
      _Pragma("GCC unroll 16") for (int i = 0; i < n; ++i) if (!(i & s))                                \
          hr_change_blocks<s, of, __VA_ARGS__>(lines + i, lines + i + s);                               \
    }                                                                                                   \
  };
HR_LINE(4, float, uint32_t, 8, 0, 1, 2, 3, 4, 5, 6, 7)
HR_LINE(4, float, uint32_t, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
HR_LINE(8, double, uint64_t, 4, 0, 1, 2, 3)
HR_LINE(8, double, uint64_t, 8, 0, 1, 2, 3, 4, 5, 6, 7)
#undef HR_LINE
template <class Line, int n>
HR_SQUARE hr_turn_square(typename Line::of* lines) {
  if constexpr (n > 8) Line::template change<8>(lines);
  if constexpr (n > 4) Line::template change<4>(lines);
  Line::template change<2>(lines);
  Line::template change<1>(lines);
}
/* Numbers of two bytes are the upper halves of such of four on the way; of `T` is what is stored. */
template <int n, class T, class From>
HR_SQUARE hr_transpose(T* to, int64_t to_step, const From* from, int64_t from_step) {
  typedef hr_line<sizeof(T) == 2 ? 4 : sizeof(T), n> line;
  typename line::of lines[n];
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
    if constexpr (sizeof(From) == 2)
      lines[i] = (typename line::of)(__builtin_convertvector(*(const typename line::halves*)(from + i * from_step), typename line::bits) << 16);
    else
      lines[i] = *(const typename line::at*)(from + i * from_step);
  }
  hr_turn_square<line, n>(lines);
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) {
    if constexpr (sizeof(T) == 2)
      *(typename line::halves*)(to + i * to_step) = __builtin_convertvector((typename line::bits)lines[i] >> 16, typename line::halves);
    else
      *(typename line::at*)(to + i * to_step) = lines[i];
  }
}
template <int n>
HR_SQUARE hr_transpose_pairs(uint16_t* to, int64_t to_step, const uint16_t* from, int64_t from_step) {
  typedef hr_line<4, n> line;
  typename line::of lines[n];
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) lines[i] = *(const typename line::at*)(from + i * from_step);
  hr_turn_square<line, n>(lines);
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) *(typename line::at*)(to + i * to_step) = lines[i];
}
#undef HR_SHUFFLES
#else
template <int n, class T>
HR_SQUARE hr_transpose(T* to, int64_t to_step, const T* from, int64_t from_step) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) to[i * to_step + j] = from[j * from_step + i];
}
template <int n>
HR_SQUARE hr_transpose(float* to, int64_t to_step, const uint16_t* from, int64_t from_step) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) to[i * to_step + j] = hr_f32_bits((uint32_t)from[j * from_step + i] << 16);
}
template <int n>
HR_SQUARE hr_transpose_pairs(uint16_t* to, int64_t to_step, const uint16_t* from, int64_t from_step) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < 2 * n; ++j) to[i * to_step + j] = from[j / 2 * from_step + 2 * i + j % 2];
}
#endif
#undef HR_SQUARE
