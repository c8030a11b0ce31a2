// The distances of points from one, less the least of them.
#define N (1 << 22)
#define GROUPS 256
#define ITEMS 64

float treeMin(__local float* tile, float value) {
  const int l = get_local_id(0);
  tile[l] = value;
  for (int width = ITEMS / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < width) tile[l] = fmin(tile[l], tile[l + width]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return tile[0];
}

__kernel void distances(__global const float* qx, __global const float* qy, __global const float* xs,
                        __global const float* ys, __global float* ds, __global float* parts) {
  __local float tile[ITEMS];
  float least = INFINITY;
  for (int i = get_global_id(0); i < N; i += GROUPS * ITEMS) {
    const float dx = xs[i] - *qx, dy = ys[i] - *qy;
    ds[i] = sqrt(dx * dx + dy * dy);
    least = fmin(least, ds[i]);
  }
  least = treeMin(tile, least);
  if (get_local_id(0) == 0) parts[get_group_id(0)] = least;
}

__kernel void least(__global const float* parts, __global float* out) {
  __local float tile[ITEMS];
  float m = INFINITY;
  for (int i = get_local_id(0); i < GROUPS; i += ITEMS) m = fmin(m, parts[i]);
  m = treeMin(tile, m);
  if (get_local_id(0) == 0) *out = m;
}

__kernel void subtracted(__global const float* ds, __global const float* least, __global float* out) {
  const int i = get_global_id(0);
  out[i] = ds[i] - *least;
}
