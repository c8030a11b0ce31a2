// y = A x: four rows for each work-item, so that x is read once for four rows; 16 lanes.
#define M 2048
#define N 2048

float lanes(float16 a) {
  const float8 b = a.lo + a.hi;
  const float4 c = b.lo + b.hi;
  return (c.x + c.y) + (c.z + c.w);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void gemv(__global const float* restrict a, __global const float* restrict x, __global float* restrict y) {
  __global const float* row = a + get_global_id(0) * 4 * N;
  float16 s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  for (int j = 0; j < N; j += 16) {
    const float16 v = vload16(0, x + j);
    s0 = fma(vload16(0, row + j), v, s0);
    s1 = fma(vload16(0, row + N + j), v, s1);
    s2 = fma(vload16(0, row + 2 * N + j), v, s2);
    s3 = fma(vload16(0, row + 3 * N + j), v, s3);
  }
  y += get_global_id(0) * 4;
  y[0] = lanes(s0);
  y[1] = lanes(s1);
  y[2] = lanes(s2);
  y[3] = lanes(s3);
}
