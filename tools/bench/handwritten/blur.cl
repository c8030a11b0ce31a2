// A separable blur of 9 taps: along the rows of a padded image, then along its columns; 16 columns at a time.
#define H 1024
#define W 1024
#define TAPS 9

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void rows(__global const float* restrict weights, __global const float* restrict in, __global float* restrict out) {
  in += get_global_id(0) * (W + TAPS - 1);
  out += get_global_id(0) * W;
  for (int x = 0; x < W; x += 16) {
    float16 sum = 0;
#pragma unroll
    for (int t = 0; t < TAPS; t++) sum = fma((float16)(weights[t]), vload16(0, in + x + t), sum);
    vstore16(sum, 0, out + x);
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void columns(__global const float* restrict weights, __global const float* restrict in, __global float* restrict out) {
  in += get_global_id(0) * W;
  out += get_global_id(0) * W;
  for (int x = 0; x < W; x += 16) {
    float16 sum = 0;
#pragma unroll
    for (int t = 0; t < TAPS; t++) sum = fma((float16)(weights[t]), vload16(0, in + t * W + x), sum);
    vstore16(sum, 0, out + x);
  }
}
