// Mathematics: the library functions, fast intrinsics, 64-bit integers, double precision, bit tricks.
extern "C" __global__ void singles(const float* x, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float a = x[i];
  const float results[] = {sinf(a),          cosf(a),
                           tanf(a * 0.1f),   expf(a * 0.25f),
                           exp2f(a),         logf(fabsf(a) + 0.5f),
                           log2f(a * a + 1), powf(fabsf(a), 1.7f),
                           sqrtf(fabsf(a)),  rsqrtf(fabsf(a) + 1),
                           tanhf(a),         erff(a * 0.3f),
                           atan2f(a, 2),     asinf(a * 0.01f),
                           sinhf(a * 0.2f),  cbrtf(a),
                           fmodf(a, 3.3f),   remainderf(a, 2.2f),
                           floorf(a),        ceilf(a),
                           rintf(a),         truncf(a),
                           a / 3.7f,         1.0f / (a + 100),
                           ldexpf(a, 5),     hypotf(a, 2),
                           log1pf(fabsf(a)), expm1f(a * 0.1f),
                           copysignf(2, a),  fmaf(a, a, -1.0f)};
  for (int k = 0; k < 30; ++k) out[i * 30 + k] = results[k];
}

extern "C" __global__ void doubles(const double* x, double* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const double a = x[i];
  const double results[] = {sin(a),
                            cos(a),
                            exp(a * 0.25),
                            log(fabs(a) + 0.5),
                            pow(fabs(a), 1.7),
                            sqrt(fabs(a)),
                            tanh(a),
                            a / 3.7,
                            fma(a, a, -1.0),
                            floor(a),
                            rint(a),
                            cbrt(a),
                            rsqrt(fabs(a) + 1),
                            fmod(a, 3.3),
                            atan(a),
                            1.0 / (a + 100)};
  for (int k = 0; k < 16; ++k) out[i * 16 + k] = results[k];
}

extern "C" __global__ void fast(const float* x, float* out) {
  const float a = x[threadIdx.x];
  out[threadIdx.x * 6 + 0] = __sinf(a);
  out[threadIdx.x * 6 + 1] = __expf(a * 0.25f);
  out[threadIdx.x * 6 + 2] = __logf(fabsf(a) + 0.5f);
  out[threadIdx.x * 6 + 3] = __powf(fabsf(a) + 0.1f, 1.3f);
  out[threadIdx.x * 6 + 4] = __fdividef(a, 3.7f);
  out[threadIdx.x * 6 + 5] =
      __frcp_rn(a + 100) + __fsqrt_rz(fabsf(a)) + __fadd_ru(a, 1e-9f) + __fmul_rd(a, 1.1f) + __saturatef(a);
}

extern "C" __global__ void integers64(const long long* a, const long long* b, long long* out) {
  const long long x = a[threadIdx.x], y = b[threadIdx.x];
  const unsigned long long ux = (unsigned long long)x, uy = (unsigned long long)y;
  long long* row = out + threadIdx.x * 12;
  row[0] = x / y;
  row[1] = x % y;
  row[2] = (long long)(ux / uy);
  row[3] = (long long)(ux % uy);
  row[4] = x * y;
  row[5] = __mul64hi(x, y);
  row[6] = (long long)__umul64hi(ux, uy);
  row[7] = (x >> (y & 63)) ^ (long long)(ux << (uy & 63));
  row[8] = __popcll(ux) * 10000 + __clzll(x) * 100 + __ffsll(x);
  row[9] = (long long)__brevll(ux);
  row[10] = (x < y) + 2 * (ux < uy) + 4 * (x == y);
  row[11] = llabs(x) - (y > 0 ? y : -y);
}

extern "C" __global__ void bits(const unsigned* a, const unsigned* b, unsigned* out) {
  const unsigned x = a[threadIdx.x], y = b[threadIdx.x];
  unsigned* row = out + threadIdx.x * 14;
  row[0] = __brev(x);
  row[1] = __byte_perm(x, y, 0x6240 | (y & 0x1111));
  row[2] = __funnelshift_l(x, y, x & 63);
  row[3] = __funnelshift_rc(x, y, y & 63);
  row[4] = unsigned(__dp4a(int(x), int(y), 17));
  row[5] = __dp4a(x, y, 17u);
  row[6] = unsigned(__mulhi(int(x), int(y)));
  row[7] = __umulhi(x, y);
  row[8] = __usad(x, y, 5u);
  row[9] = unsigned(__clz(int(x))) * 100 + unsigned(__ffs(int(y)));
  row[10] = (x & y) | (~x & 0x12345678u) ^ (y & 0xff00ff00u);
  row[11] = unsigned(__hadd(int(x), int(y))) ^ __urhadd(x, y);
  row[12] = __vadd2(x, y) ^ __vmaxs4(x, y) ^ __vsub4(x, y);
  row[13] = x / (y | 1) + x % (y | 1) + unsigned(int(x) / int(y | 1));
}

extern "C" __global__ void conversions(const double* in, int* ints, long long* longs, float* floats) {
  const double d = in[threadIdx.x];
  const float f = float(d);
  int* i = ints + threadIdx.x * 8;
  long long* l = longs + threadIdx.x * 4;
  i[0] = int(d);
  i[1] = __float2int_rn(f);
  i[2] = __float2int_ru(f);
  i[3] = int(unsigned(fabsf(f)));
  i[4] = __float_as_int(f);
  i[5] = __double2hiint(d);
  i[6] = __double2loint(d);
  i[7] = int(short(int(f))) + (unsigned char)(int(f) & 0xff);
  l[0] = (long long)d;
  l[1] = __double2ll_rd(d);
  l[2] = (long long)(unsigned long long)fabs(d);
  l[3] = __double_as_longlong(d * 3);
  floats[threadIdx.x * 4 + 0] = f;
  floats[threadIdx.x * 4 + 1] = float(l[0]);
  floats[threadIdx.x * 4 + 2] = __uint2float_rz(unsigned(i[0]));
  floats[threadIdx.x * 4 + 3] = __double2float_ru(d);
}
