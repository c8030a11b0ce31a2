// A 3 x 3 convolution with channels last, a work-item for each result.
#define H 56
#define W 56
#define C 64
#define F 64

__kernel void convolve(__global const float* image, __global const float* kernels, __global const float* bias,
                       __global float* out) {
  const int f = get_global_id(0), x = get_global_id(1), y = get_global_id(2);
  float total = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      const int r = y + i - 1, s = x + j - 1;
      if (r < 0 || r >= H || s < 0 || s >= W) continue;
      for (int c = 0; c < C; c++) total += image[(r * W + s) * C + c] * kernels[((f * 3 + i) * 3 + j) * C + c];
    }
  out[(y * W + x) * F + f] = fmax(total + bias[f], 0.0f);
}
