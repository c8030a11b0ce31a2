// A step of two substances that react and spread on a torus.
#define H 1024
#define W 1024
#define SPREAD(u)                                                                                        \
  (u[(y + 1) % H * W + x] + u[(y + H - 1) % H * W + x] + u[y * W + (x + 1) % W] + u[y * W + (x + W - 1) % W] - \
   4.0f * u[y * W + x])

__kernel void reaction(__global const float* u, __global const float* v, __global float* u1, __global float* v1) {
  const int x = get_global_id(0), y = get_global_id(1), i = y * W + x;
  const float both = u[i] * v[i] * v[i];
  u1[i] = u[i] + 0.16f * SPREAD(u) - both + 0.035f * (1.0f - u[i]);
  v1[i] = v[i] + 0.08f * SPREAD(v) + both - 0.1f * v[i];
}
