// A vector times a matrix, a work-item for each column.
#define N 2048
#define M 2048

__kernel void columns(__global const float* a, __global const float* x, __global float* out) {
  const int j = get_global_id(0);
  float total = 0;
  for (int i = 0; i < N; i++) total += a[i * M + j] * x[i];
  out[j] = total;
}
