// Attention, a work-item for each query.
#define KEYS 512
#define D 64

__kernel void attend(__global const float* queries, __global const float* keys, __global const float* values,
                     __global float* out) {
  queries += get_global_id(0) * D;
  out += get_global_id(0) * D;
  float s[KEYS], m = -INFINITY, sum = 0;
  for (int k = 0; k < KEYS; k++) {
    s[k] = 0;
    for (int d = 0; d < D; d++) s[k] += queries[d] * keys[k * D + d];
    s[k] *= rsqrt((float)D);
    m = fmax(m, s[k]);
  }
  for (int k = 0; k < KEYS; k++) {
    s[k] = exp(s[k] - m);
    sum += s[k];
  }
  for (int d = 0; d < D; d++) {
    float total = 0;
    for (int k = 0; k < KEYS; k++) total += s[k] * values[k * D + d];
    out[d] = total / sum;
  }
}
