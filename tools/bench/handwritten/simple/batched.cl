// Products of a batch, the second operand stored by its columns; a work-item for each result.
#define N 256
#define M 256
#define K 64

__kernel void products(__global const float* a, __global const float* c, __global float* out) {
  const int j = get_global_id(0), i = get_global_id(1), b = get_global_id(2);
  float total = 0;
  for (int k = 0; k < K; k++) total += a[(b * N + i) * K + k] * c[(b * M + j) * K + k];
  out[(b * N + i) * M + j] = total;
}
