// Softmax of every row, a work-item for each.
#define M 2048

__kernel void rows(__global const float* xs, __global float* out) {
  xs += get_global_id(0) * M;
  out += get_global_id(0) * M;
  float m = -INFINITY, sum = 0;
  for (int i = 0; i < M; i++) m = fmax(m, xs[i]);
  for (int i = 0; i < M; i++) {
    out[i] = exp(xs[i] - m);
    sum += out[i];
  }
  for (int i = 0; i < M; i++) out[i] /= sum;
}
