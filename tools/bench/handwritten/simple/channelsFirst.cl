// A 3 x 3 convolution with channels first, a work-item for each result.
#define H 56
#define W 56
#define C 64

__kernel void convolve(__global const float* image, __global const float* kernels, __global float* out) {
  const int x = get_global_id(0), y = get_global_id(1), f = get_global_id(2);
  float total = 0;
  for (int c = 0; c < C; c++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++)
        total += image[(c * (H + 2) + y + i) * (W + 2) + x + j] * kernels[((f * C + c) * 3 + i) * 3 + j];
  out[(f * H + y) * W + x] = total;
}
