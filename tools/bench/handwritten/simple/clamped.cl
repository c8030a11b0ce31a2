// The mean of 27 neighbours.
#define D 128
#define H 128
#define W 128

__kernel void mean(__global const float* x, __global float* out) {
  const int c = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  float sum = 0;
  for (int i = -1; i <= 1; i++)
    for (int j = -1; j <= 1; j++)
      for (int k = -1; k <= 1; k++)
        sum += x[(clamp(z + i, 0, D - 1) * H + clamp(y + j, 0, H - 1)) * W + clamp(c + k, 0, W - 1)];
  out[(z * H + y) * W + c] = sum / 27.0f;
}
