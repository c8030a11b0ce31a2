// Rows, then columns, a work-item for each pixel.
#define H 1024
#define W 1024

__kernel void rows(__global const float* image, __global const float* gx, __global float* between) {
  const int x = get_global_id(0), y = get_global_id(1);
  float total = 0;
  for (int j = 0; j < 7; j++) total += image[y * W + clamp(x + j - 3, 0, W - 1)] * gx[j];
  between[y * W + x] = total;
}

__kernel void columns(__global const float* between, __global const float* gy, __global float* out) {
  const int x = get_global_id(0), y = get_global_id(1);
  float total = 0;
  for (int i = 0; i < 7; i++) total += between[clamp(y + i - 3, 0, H - 1) * W + x] * gy[i];
  out[y * W + x] = total;
}
