/* exp, log and their kin of doubles: branch-free like hr_math.h, so that loops over them vectorise, and within 3 ulp
 * (math_test). Polynomials fitted to 40 digits at Chebyshev's points. */
/* a = n ln 2 + r with |r| <= ln 2 / 2; e = exp(r) - 1; exp(a) = (1 + e) * s1 * s2, in two steps because 2^n may be subnormal. */
struct hr_power {
  double e, s1, s2;
};
static inline double hr_two_to(double whole) { /* its low bits are the integer, once 1.5 * 2^52 is added */
  return hr_f64_bits((hr_bits_f64(whole + 0x1.8p52) << 52) + ((uint64_t)1023 << 52));
}
static inline hr_power hr_exp_parts(double a) {
  const double n = __builtin_rint(a * 1.4426950408889634);
  double r = hr_fma(n, -6.93147180369123816490e-01, a);
  r = hr_fma(n, -1.90821492927058770002e-10, r);
  double p = 2.5100424157005067e-08;
  p = hr_fma(p, r, 2.7620138719733994e-07);
  p = hr_fma(p, r, 2.7557268378684192e-06);
  p = hr_fma(p, r, 2.480152119021773e-05);
  p = hr_fma(p, r, 0.00019841269863105968);
  p = hr_fma(p, r, 0.0013888888917281794);
  p = hr_fma(p, r, 0.008333333333330051);
  p = hr_fma(p, r, 0.04166666666662399);
  p = hr_fma(p, r, 0.16666666666666669);
  p = hr_fma(p, r, 0.5000000000000001);
  const double half = __builtin_rint(n * 0.5);
  return {hr_fma(p * r, r, r), hr_two_to(half), hr_two_to(n - half)};
}
static inline double hr_exp(double a) {
  double x = a > 710.0 ? 710.0 : a;
  x = x < -750.0 ? -750.0 : x;
  const hr_power p = hr_exp_parts(x);
  return (p.s1 + p.s1 * p.e) * p.s2;
}
static inline double hr_expm1(double a) {
  double x = a > 710.0 ? 710.0 : a;
  x = x < -50.0 ? -50.0 : x;
  const hr_power p = hr_exp_parts(x);
  const double s = p.s1 * p.s2; /* infinite at the end of the range, where 1 matters no more */
  const double near = hr_fma(s, p.e, s - 1.0), far = (p.s1 + p.s1 * p.e) * p.s2;
  return __builtin_copysign(a > 40.0 ? far : near, a);
}
/* tanh by way of m = expm1(2 |a|). */
static inline double hr_tanh(double a) {
  const double x = __builtin_fabs(a), m = hr_expm1(2.0 * (x > 20.0 ? 20.0 : x));
  return __builtin_copysign(m / (m + 2.0), a);
}
/* log: mantissa m in [sqrt(1/2), sqrt(2)), atanh series of (m - 1) / (m + 1) (the constants are fdlibm's). */
static inline double hr_log(double a) {
  const bool tiny = a < 0x1p-1022;
  const uint64_t bits = hr_bits_f64(tiny ? a * 0x1p54 : a), from = bits - 0x3fe6a09e667f3bcdu;
  /* The exponent as a double: from / 2^52, rounded down, put into the mantissa of 2^52. */
  const double k = hr_f64_bits(((from + (uint64_t)1024 * ((uint64_t)1 << 52)) >> 52) | 0x4330000000000000u) -
                   (0x1p52 + 1024.0) - (tiny ? 54.0 : 0.0);
  const double f = hr_f64_bits(bits - (from & 0xfff0000000000000u)) - 1.0;
  const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  double p = 1.479819860511658591e-01;
  p = hr_fma(p, z, 1.531383769920937332e-01);
  p = hr_fma(p, z, 1.818357216161805012e-01);
  p = hr_fma(p, z, 2.222219843214978396e-01);
  p = hr_fma(p, z, 2.857142874366239149e-01);
  p = hr_fma(p, z, 3.999999999940941908e-01);
  p = hr_fma(p, z, 6.666666666666735130e-01);
  double r =
      hr_fma(k, 6.93147180369123816490e-01, f - (half - hr_fma(s, hr_fma(p, z, half), k * 1.90821492927058770002e-10)));
  r = a == __builtin_inf() ? a : r;
  r = a < 0 ? __builtin_nan("") : r;
  r = a == 0 ? -__builtin_inf() : r;
  return a != a ? a : r;
}
static inline double hr_log1p(double a) { /* Kahan: the error of 1 + a divides out */
  const double u = 1.0 + a, d = u - 1.0, l = hr_log(u);
  return d == 0 ? a : a == __builtin_inf() || a == -1.0 ? l : l * (a / d);
}
/* erf: odd polynomial below 1; beyond, 1 - exp(-a^2) q, q = exp(a^2) erfc(a) a polynomial in (a - 2) / (a + 3). */
static inline double hr_erf(double a) {
  const double x = __builtin_fabs(a), z = x * x;
  double p = 5.957176147748911e-11;
  p = hr_fma(p, z, -1.1372848856791674e-09);
  p = hr_fma(p, z, 1.4659775274047436e-08);
  p = hr_fma(p, z, -1.6350312701054695e-07);
  p = hr_fma(p, z, 1.6461000484121368e-06);
  p = hr_fma(p, z, -1.4925595266831182e-05);
  p = hr_fma(p, z, 0.0001205533111164271);
  p = hr_fma(p, z, -0.000854832698083379);
  p = hr_fma(p, z, 0.0052239776248180145);
  p = hr_fma(p, z, -0.026866170645076792);
  p = hr_fma(p, z, 0.11283791670954879);
  p = hr_fma(p, z, -0.3761263890318375);
  p = hr_fma(p, z, 1.1283791670955126);
  const double y = x > 6.0 ? 6.0 : x, t = (y - 2.0) / (y + 3.0);
  double q = 1.64365968992818e-05;
  q = hr_fma(q, t, -1.670088037114217e-05);
  q = hr_fma(q, t, -7.676314605581333e-05);
  q = hr_fma(q, t, 6.654446155731668e-05);
  q = hr_fma(q, t, 0.0004248061244644014);
  q = hr_fma(q, t, -0.0004930041361981138);
  q = hr_fma(q, t, -0.002378567381452614);
  q = hr_fma(q, t, 0.0059556944006294455);
  q = hr_fma(q, t, 0.007769788652548788);
  q = hr_fma(q, t, -0.07128989014261979);
  q = hr_fma(q, t, 0.20394656030835803);
  q = hr_fma(q, t, -0.37642439962744456);
  q = hr_fma(q, t, 0.5110865058207131);
  q = hr_fma(q, t, -0.533982309267448);
  q = hr_fma(q, t, 0.25539567631050575);
  const double far = 1.0 - hr_exp(-(y * y)) * q;
  return __builtin_copysign(x < 1.0 ? x * p : far, a);
}
