// The variance of a vector in two passes; 256 groups of 64 work-items leave partial sums.
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

__kernel void sums(__global const float* xs, __global float* parts) {
  __local float tile[ITEMS];
  float sum = 0;
  for (int i = get_global_id(0); i < N; i += GROUPS * ITEMS) sum += xs[i];
  sum = treeSum(tile, sum);
  if (get_local_id(0) == 0) parts[get_group_id(0)] = sum;
}

__kernel void squares(__global const float* xs, __global const float* mean, __global float* parts) {
  __local float tile[ITEMS];
  float sum = 0;
  for (int i = get_global_id(0); i < N; i += GROUPS * ITEMS) sum += (xs[i] - *mean) * (xs[i] - *mean);
  sum = treeSum(tile, sum);
  if (get_local_id(0) == 0) parts[get_group_id(0)] = sum;
}

__kernel void mean(__global const float* parts, __global float* out) {
  __local float tile[ITEMS];
  float sum = 0;
  for (int i = get_local_id(0); i < GROUPS; i += ITEMS) sum += parts[i];
  sum = treeSum(tile, sum);
  if (get_local_id(0) == 0) *out = sum / N;
}
