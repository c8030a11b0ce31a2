// Softmax of a vector. 256 groups of 64 work-items reduce to partial results, which every later kernel reads.
#define N (1 << 22)
#define GROUPS 256
#define ITEMS 64

float treeSum(__local float* tile, float value) {
  const int l = get_local_id(0);
  tile[l] = value;
  for (int width = ITEMS / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < width) tile[l] += tile[l + width];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return tile[0];
}

float treeMax(__local float* tile, float value) {
  const int l = get_local_id(0);
  tile[l] = value;
  for (int width = ITEMS / 2; width > 0; width /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < width) tile[l] = fmax(tile[l], tile[l + width]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return tile[0];
}

__kernel void greatestParts(__global const float* xs, __global float* parts) {
  __local float tile[ITEMS];
  float m = -INFINITY;
  for (int i = get_global_id(0); i < N; i += GROUPS * ITEMS) m = fmax(m, xs[i]);
  m = treeMax(tile, m);
  if (get_local_id(0) == 0) parts[get_group_id(0)] = m;
}

__kernel void greatest(__global const float* parts, __global float* out) {
  __local float tile[ITEMS];
  float m = -INFINITY;
  for (int i = get_local_id(0); i < GROUPS; i += ITEMS) m = fmax(m, parts[i]);
  m = treeMax(tile, m);
  if (get_local_id(0) == 0) *out = m;
}

__kernel void powers(__global const float* xs, __global const float* m, __global float* es, __global float* parts) {
  __local float tile[ITEMS];
  float sum = 0;
  for (int i = get_global_id(0); i < N; i += GROUPS * ITEMS) {
    const float e = exp(xs[i] - *m);
    es[i] = e;
    sum += e;
  }
  sum = treeSum(tile, sum);
  if (get_local_id(0) == 0) parts[get_group_id(0)] = sum;
}

__kernel void total(__global const float* parts, __global float* out) {
  __local float tile[ITEMS];
  float sum = 0;
  for (int i = get_local_id(0); i < GROUPS; i += ITEMS) sum += parts[i];
  sum = treeSum(tile, sum);
  if (get_local_id(0) == 0) *out = sum;
}

__kernel void divided(__global const float* es, __global const float* sum, __global float* out) {
  const int i = get_global_id(0);
  out[i] = es[i] / *sum;
}
