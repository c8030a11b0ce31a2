// Layer normalisation, a work-item for each row.
#define M 2048

__kernel void rows(__global const float* gamma, __global const float* beta, __global const float* xs,
                   __global float* out) {
  xs += get_global_id(0) * M;
  out += get_global_id(0) * M;
  float mean = 0, variance = 0;
  for (int i = 0; i < M; i++) mean += xs[i];
  mean /= M;
  for (int i = 0; i < M; i++) variance += (xs[i] - mean) * (xs[i] - mean);
  const float scale = rsqrt(variance / M + 0.00001f);
  for (int i = 0; i < M; i++) out[i] = (xs[i] - mean) * scale * gamma[i] + beta[i];
}
