// Attention of several heads, a work-item for each query of each.
#define N 256
#define D 64

__kernel void attend(__global const float* q, __global const float* k, __global const float* v, __global float* out) {
  const int b = get_global_id(1);
  k += b * N * D;
  v += b * N * D;
  q += (b * N + get_global_id(0)) * D;
  out += (b * N + get_global_id(0)) * D;
  float s[N], m = -INFINITY, sum = 0;
  for (int j = 0; j < N; j++) {
    s[j] = 0;
    for (int d = 0; d < D; d++) s[j] += q[d] * k[j * D + d];
    s[j] *= rsqrt((float)D);
    m = fmax(m, s[j]);
  }
  for (int j = 0; j < N; j++) {
    s[j] = exp(s[j] - m);
    sum += s[j];
  }
  for (int d = 0; d < D; d++) {
    float total = 0;
    for (int j = 0; j < N; j++) total += s[j] * v[j * D + d];
    out[d] = total / sum;
  }
}
