// The mean of a point and its four neighbours: a row for each work-item, 16 columns at a time.
#define W 2048

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void jacobi(__global const float* restrict in, __global float* restrict out) {
  const int y = get_global_id(0);
  __global const float* p = in + (y + 1) * (W + 2) + 1;
  for (int x = 0; x < W; x += 16) {
    const float16 sum = vload16(0, p + x) + vload16(0, p + x - (W + 2)) + vload16(0, p + x - 1) +
                        vload16(0, p + x + 1) + vload16(0, p + x + (W + 2));
    vstore16(0.2f * sum, 0, out + y * W + x);
  }
}
