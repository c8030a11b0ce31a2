// The nearest centre, a work-item for each point.
#define D 16
#define K 64

__kernel void assign(__global const float* points, __global const float* centres, __global int* out) {
  const int i = get_global_id(0);
  float least = INFINITY;
  int best = 0;
  for (int c = 0; c < K; c++) {
    float total = 0;
    for (int d = 0; d < D; d++) {
      const float x = points[i * D + d] - centres[c * D + d];
      total += x * x;
    }
    if (total < least) {
      least = total;
      best = c;
    }
  }
  out[i] = best;
}
