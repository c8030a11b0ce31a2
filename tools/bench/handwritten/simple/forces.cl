// The forces on bodies, a work-item for each.
#define N 4096

__kernel void forces(__global const float* positions, __global const float* masses, __global float* out) {
  const int i = get_global_id(0);
  const float x = positions[3 * i], y = positions[3 * i + 1], z = positions[3 * i + 2];
  float fx = 0, fy = 0, fz = 0;
  for (int j = 0; j < N; j++) {
    const float dx = positions[3 * j] - x, dy = positions[3 * j + 1] - y, dz = positions[3 * j + 2] - z;
    const float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
    const float s = masses[j] / (r2 * sqrt(r2));
    fx += dx * s;
    fy += dy * s;
    fz += dz * s;
  }
  out[3 * i] = fx;
  out[3 * i + 1] = fy;
  out[3 * i + 2] = fz;
}
