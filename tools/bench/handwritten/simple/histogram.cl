// A histogram of 1024 bins: one for each group in local memory, added up with atomics.
#define N (1 << 22)
#define BINS 1024
#define GROUPS 64
#define ITEMS 64

__kernel void clear(__global int* out) { out[get_global_id(0)] = 0; }

__kernel void count(__global const int* xs, __global int* out) {
  __local int bins[BINS];
  for (int b = get_local_id(0); b < BINS; b += ITEMS) bins[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < N; i += GROUPS * ITEMS)
    if (0 <= xs[i] && xs[i] < BINS) atomic_inc(&bins[xs[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int b = get_local_id(0); b < BINS; b += ITEMS) atomic_add(&out[b], bins[b]);
}
