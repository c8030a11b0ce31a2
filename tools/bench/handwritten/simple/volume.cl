// 27 points, a work-item for each result.
#define D 128
#define H 128
#define W 128

__kernel void volume(__global const float* a, __global const float* weights, __global float* out) {
  const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  float total = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int k = 0; k < 3; k++)
        total += a[(clamp(z + i - 1, 0, D - 1) * H + clamp(y + j - 1, 0, H - 1)) * W + clamp(x + k - 1, 0, W - 1)] *
                 weights[(i * 3 + j) * 3 + k];
  out[(z * H + y) * W + x] = total;
}
