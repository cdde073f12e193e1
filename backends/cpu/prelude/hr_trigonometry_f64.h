/* Trigonometric and hyperbolic functions of doubles, and some inverses: branch-free like hr_math.h, so that loops over them
 * vectorise; within 3 ulp (math_test). Constants of the polynomials are fdlibm's. */
#ifdef __FMA__
/* 2/pi * 2^(32 k) modulo 4, as sums of four doubles. */
static const double hr_two_over_pi[4][31] = {
    {0x1.45f306dc9c883p-1,  -0x1.b1bbead603d8bp+0, 0x1.fc2757d1f534ep+0,  0x1.f534ddc0db629p+0,  0x1.b6c52b3278872p-1,
     0x1.3c439041fe516p+0,  0x1.fe5163abdebbcp+0,  -0x1.0a21d4f246dc9p-3, 0x1.b7246e3a424ddp+0,  -0x1.bdb22d1ff9b6dp+0,
     0x1.924bba8274648p-6,  -0x1.f62e6de301e21p+0, 0x1.fc3bd63962535p-1,  0x1.62534e7dd1047p-1,  -0x1.177dca0ad144cp+0,
     0x1.2ebb4484e99c7p+0,  0x1.d338e04d68bf0p-1,  -0x1.4ba081bec66e3p+0, 0x1.3991d63983534p+0,  0x1.835339f49c846p+0,
     0x1.3908bf177bf25p-1,  -0x1.081b5f13801dap-2, -0x1.c00ed00043f4dp-1, -0x1.0fd33f8086877p-3, -0x1.0d0ee74a5f593p-4,
     -0x1.4beb25c125930p-1, -0x1.25930261b069fp-1, -0x1.b069ec9161738p-1, -0x1.61738132c3403p-1, -0x1.61a015d28ad84p+0,
     0x1.7527bac7ebe5fp+0},
    {-0x1.6b01ec5417056p-55, 0x1.f47d4d377036ep-54,  -0x1.1f924eb53361ep-55, 0x1.664f10e4107f9p-54,
     0x1.07f9458eaf7afp-58,  0x1.d5ef5de2b0db9p-55,  0x1.586dc91b8e909p-54,  0x1.d2126e9700325p-59,
     0x1.700324977504fp-55,  -0x1.15f62e6de301ep-56, 0x1.cfe1deb1cb12ap-60,  -0x1.38d3b5963045ep-54,
     -0x1.822efb9415a29p-57, -0x1.0568a25dbd8b3p-55, 0x1.213a671c09ad1p-54,  0x1.35a2fbf209cc9p-59,
     -0x1.bec66e29c67cbp-56, 0x1.8e60d4ce7d272p-54,  -0x1.82d8dee81d108p-54, -0x1.d1081b5f13802p-58,
     0x1.d8ffc4bffef03p-59,  -0x1.0fd33f8086877p-67, 0x1.fde5e2316b415p-61,  -0x1.d297d64b824b2p-58,
     0x1.f6d367ecf27cbp-60,  -0x1.30d834f648b0cp-56, 0x1.b74f463f669e6p-56,  -0x1.32c3402ba515bp-57,
     0x1.16ba93dd63f5fp-55,  -0x1.4e050683a130cp-54, 0x1.7b3d0739f78a5p-56},
    {-0x1.6447e493ad4cep-109, -0x1.d6a66c3bc6fbep-108, 0x1.c820ff28b1d5fp-111,  0x1.163abdebbc562p-108,
     -0x1.d4f246dc8e2dfp-115, 0x1.1b8e909374b80p-110,  0x1.ba5c00c925dd4p-109,  -0x1.a22bec5cdbc60p-113,
     -0x1.cdbc603c429c7p-109, -0x1.0a71a76b2c609p-111, -0x1.63045df7282b4p-114, 0x1.1afa975da2427p-111,
     0x1.a24274ce38136p-111,  -0x1.c7eca5d040df6p-111, 0x1.f7e413991d63ap-108,  -0x1.4e33e566305b2p-115,
     0x1.9cfa4e422fc5ep-111,  0x1.17e2ef7e4a0ecp-110,  -0x1.b5f13801da001p-110, 0x1.2fffbc0b301fep-113,
     -0x1.9fc04343b9d29p-114, -0x1.d297d64b824b2p-122, -0x1.2e092c98130d8p-116, -0x1.8130d834f648bp-112,
     0x1.36e9e8c7ecd3dp-117,  0x1.8fd9a797fa8b6p-110,  -0x1.5d28ad8453814p-116, -0x1.14e050683a131p-114,
     0x1.7c5ecf41ce7dep-110,  0x1.ce7de294a4baap-110,  0x1.497535fdafd89p-111},
    {0x1.e21c820ff28b2p-163,  -0x1.ae9c5421443aap-168, -0x1.443a9e48db91cp-168, -0x1.236e4716f6c8bp-162,
     0x1.374b801924bbbp-170,  0x1.924bba8274648p-166,  0x1.3a32439fc3bd6p-165,  -0x1.e214e34ed658cp-168,
     0x1.894d39f74411bp-163,  0x1.1046bea5d7689p-165,  -0x1.44bb7b16638fep-168, 0x1.338e04d68befdp-165,
     -0x1.741037d8cdc54p-165, -0x1.9b8a719f2b318p-166, -0x1.f2b3182d8dee8p-162, 0x1.08bf177bf2507p-169,
     -0x1.036be27003b40p-167, 0x1.ff897ffde0598p-164,  0x1.e05980fef2f12p-164,  -0x1.a1dce94beb25cp-169,
     -0x1.f592e092c9813p-168, -0x1.8130d834f648bp-176, -0x1.a7b24585ce04dp-171, -0x1.738132c3402bap-169,
     -0x1.00ae9456c229cp-171, -0x1.5b08a7028341dp-165, -0x1.a0e84c2f8c608p-172, 0x1.0739f78a5292fp-168,
     0x1.4a525d4d7f6bfp-165,  -0x1.404a04ee072a3p-164, -0x1.ca8bdea7f33eep-170},
};
struct hr_turn64 {
  double r, rest; /* together; |r| <= pi / 4 */
  uint64_t quadrant;
};
struct hr_sum64 {
  double sum, rest;
};
static inline hr_sum64 hr_two_sum(double a, double b) {
  const double s = a + b, v = s - a;
  return {s, (a - (s - v)) + (b - v)};
}
/* Less the multiple of 4 that is nearest: exact. */
static inline double hr_modulo_4(double a) { return a - 4 * __builtin_rint(a * 0.25); }
/* x >= 0 as a number of quarter turns and the rest: x 2/pi to 210 bits, where x is cut down by 2^(32 k), k chosen such that what
 * the table leaves out are whole turns. */
static inline hr_turn64 hr_quarter(double x) {
  const uint64_t bits = hr_bits_f64(x),
                 over = bits > (uint64_t)(1023 + 52) << 52 ? bits - ((uint64_t)(1023 + 52) << 52) : 0;
  const uint64_t k = over >> 57;
  const double y = x * hr_f64_bits((uint64_t)1023 - 32 * k << 52);
  const double p0 = hr_two_over_pi[0][k], p1 = hr_two_over_pi[1][k], p2 = hr_two_over_pi[2][k],
               p3 = hr_two_over_pi[3][k];
  const double h0 = y * p0, h1 = y * p1, h2 = y * p2;
  const double l0 = hr_fma(y, p0, -h0), l1 = hr_fma(y, p1, -h1), l2 = hr_fma(y, p2, -h2);
  const hr_sum64 m1 = hr_two_sum(l0, h1), m2 = hr_two_sum(l1, h2);
  const hr_sum64 a = hr_two_sum(hr_modulo_4(h0), hr_modulo_4(m1.sum)), b = hr_two_sum(m1.rest, m2.sum);
  const double least = hr_fma(y, p3, l2) + m2.rest;
  const double n = __builtin_rint(a.sum + b.sum);
  const hr_sum64 c = hr_two_sum(a.sum - n, b.sum), d = hr_two_sum(c.sum, a.rest);
  const double w = d.rest + c.rest + b.rest + least, high = d.sum + w, low = (d.sum - high) + w;
  const double r = high * 1.5707963267948966;
  return {r, hr_fma(high, 1.5707963267948966, -r) + hr_fma(high, 6.123233995736766e-17, low * 1.5707963267948966),
          hr_bits_f64(n + 0x1.8p52)};
}
static inline double hr_sine(hr_turn64 t) {
  const double z = t.r * t.r, v = z * t.r;
  double p = 1.58969099521155010221e-10;
  p = hr_fma(p, z, -2.50507602534068634195e-08);
  p = hr_fma(p, z, 2.75573137070700676789e-06);
  p = hr_fma(p, z, -1.98412698298579493134e-04);
  p = hr_fma(p, z, 8.33333333332248946124e-03);
  return t.r - ((z * (0.5 * t.rest - v * p) - t.rest) - v * -1.66666666666666324348e-01);
}
static inline double hr_cosine(hr_turn64 t) {
  const double z = t.r * t.r, half = 0.5 * z, w = 1.0 - half;
  double p = -1.13596475577881948265e-11;
  p = hr_fma(p, z, 2.08757232129817482790e-09);
  p = hr_fma(p, z, -2.75573143513906633035e-07);
  p = hr_fma(p, z, 2.48015872894767294178e-05);
  p = hr_fma(p, z, -1.38888888888741095749e-03);
  p = hr_fma(p, z, 4.16666666666666019037e-02);
  return w + (((1.0 - w) - half) + hr_fma(z * z, p, -(t.r * t.rest)));
}
static inline double hr_sin(double a) {
  const double x = __builtin_fabs(a);
  const hr_turn64 t = hr_quarter(x);
  const double v = t.quadrant & 1 ? hr_cosine(t) : hr_sine(t), s = t.quadrant & 2 ? -v : v;
  return x < 0x1p-27 ? a : a < 0 ? -s : s;
}
static inline double hr_cos(double a) {
  const double x = __builtin_fabs(a);
  const hr_turn64 t = hr_quarter(x);
  const double v = t.quadrant & 1 ? hr_sine(t) : hr_cosine(t);
  return x < 0x1p-27 ? 1.0 : (t.quadrant + 1) & 2 ? -v : v;
}
static inline double hr_tan(double a) {
  const double x = __builtin_fabs(a);
  const hr_turn64 t = hr_quarter(x);
  const double s = hr_sine(t), c = hr_cosine(t), v = t.quadrant & 1 ? -c / s : s / c;
  return x < 0x1p-27 ? a : a < 0 ? -v : v;
}
#else
HR_DOUBLE1(sin)
HR_DOUBLE1(cos) HR_DOUBLE1(tan)
#endif
/* exp(a) / 2 for a >= 0, which reaches as far as sinh and cosh do. */
static inline double hr_half_exp(double a) {
  const hr_power p = hr_exp_parts(a > 711.0 ? 711.0 : a);
  return (p.s1 + p.s1 * p.e) * (p.s2 * 0.5);
}
static inline double hr_cosh(double a) {
  const double e = hr_half_exp(__builtin_fabs(a));
  return e + 0.25 / e;
}
static inline double hr_sinh(double a) {
  const double x = __builtin_fabs(a), m = hr_expm1(x > 1.0 ? 1.0 : x), e = hr_half_exp(x);
  return __builtin_copysign(x < 1.0 ? 0.5 * (m + m / (m + 1.0)) : e - 0.25 / e, a);
}
/* Four ranges below 39/16 and 1/x beyond them, each brought near 0. */
static inline double hr_atan(double a) {
  const double x = __builtin_fabs(a);
  const bool b0 = x >= 7.0 / 16, b1 = x >= 11.0 / 16, b2 = x >= 19.0 / 16, b3 = x >= 39.0 / 16;
  const double over = b3 ? -1.0 : b2 ? x - 1.5 : b1 ? x - 1.0 : b0 ? 2.0 * x - 1.0 : x;
  const double under = b3 ? x : b2 ? 1.0 + 1.5 * x : b1 ? x + 1.0 : b0 ? 2.0 + x : 1.0;
  const double high = b3   ? 1.57079632679489655800e+00
                      : b2 ? 9.82793723247329054082e-01
                      : b1 ? 7.85398163397448278999e-01
                      : b0 ? 4.63647609000806093515e-01
                           : 0.0;
  const double low = b3   ? 6.12323399573676603587e-17
                     : b2 ? 1.39033110312309984516e-17
                     : b1 ? 3.06161699786838301793e-17
                     : b0 ? 2.26987774529616870924e-17
                          : 0.0;
  const double t = over / under, z = t * t;
  double p = 1.62858201153657823623e-02;
  p = hr_fma(p, z, -3.65315727442169155270e-02);
  p = hr_fma(p, z, 4.97687799461593236017e-02);
  p = hr_fma(p, z, -5.83357013379057348645e-02);
  p = hr_fma(p, z, 6.66107313738753120669e-02);
  p = hr_fma(p, z, -7.69187620504482999495e-02);
  p = hr_fma(p, z, 9.09088713343650656196e-02);
  p = hr_fma(p, z, -1.11111104054623557880e-01);
  p = hr_fma(p, z, 1.42857142725034663711e-01);
  p = hr_fma(p, z, -1.99999999998764832476e-01);
  p = hr_fma(p, z, 3.33333333333329318027e-01);
  return __builtin_copysign(high - ((t * (p * z) - low) - t), a);
}
/* By log1p of what they are more than 1; beyond 2^28 as log(2 a). */
static inline double hr_asinh(double a) {
  const double x = __builtin_fabs(a), near = x > 0x1p28 ? 0x1p28 : x, z = near * near;
  const double l = hr_log1p(near + z / (1.0 + __builtin_sqrt(1.0 + z)));
  const double r = x > 0x1p28 ? hr_log(x) + 0.6931471805599453 : l;
  return __builtin_copysign(a != a || x < 0x1p-28 ? x : r, a);
}
static inline double hr_acosh(double a) {
  const double t = (a > 0x1p28 ? 0x1p28 : a) - 1.0, l = hr_log1p(t + __builtin_sqrt(2.0 * t + t * t));
  return a < 1.0 ? __builtin_nan("") : a > 0x1p28 ? hr_log(a) + 0.6931471805599453 : l;
}
static inline double hr_atanh(double a) {
  const double x = __builtin_fabs(a);
  return __builtin_copysign(x < 0x1p-28 ? x : 0.5 * hr_log1p(2.0 * x / (1.0 - x)), a);
}
