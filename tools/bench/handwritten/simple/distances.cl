// Distances of all pairs, a work-item for each.
#define M 1024
#define D 64

__kernel void distances(__global const float* a, __global const float* b, __global float* out) {
  const int j = get_global_id(0), i = get_global_id(1);
  float total = 0;
  for (int d = 0; d < D; d++) {
    const float x = a[i * D + d] - b[j * D + d];
    total += x * x;
  }
  out[i * M + j] = sqrt(total);
}
