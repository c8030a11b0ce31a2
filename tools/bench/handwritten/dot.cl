// Inner product: a chunk of 2^16 elements for each work-item, in four chains of 16 lanes; a second kernel adds the
// partial sums.
#define CHUNK 65536
#define PARTS 64

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void partial(__global const float* restrict x, __global const float* restrict y, __global float* restrict parts) {
  const int begin = get_global_id(0) * CHUNK;
  float16 a0 = 0, a1 = 0, a2 = 0, a3 = 0;
  for (int i = begin; i < begin + CHUNK; i += 64) {
    a0 = fma(vload16(0, x + i), vload16(0, y + i), a0);
    a1 = fma(vload16(0, x + i + 16), vload16(0, y + i + 16), a1);
    a2 = fma(vload16(0, x + i + 32), vload16(0, y + i + 32), a2);
    a3 = fma(vload16(0, x + i + 48), vload16(0, y + i + 48), a3);
  }
  const float16 a = (a0 + a1) + (a2 + a3);
  const float8 b = a.lo + a.hi;
  const float4 c = b.lo + b.hi;
  parts[get_global_id(0)] = (c.x + c.y) + (c.z + c.w);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void total(__global const float* restrict parts, __global float* restrict out) {
  float sum = 0;
  for (int i = 0; i < PARTS; i++) sum += parts[i];
  *out = sum;
}
