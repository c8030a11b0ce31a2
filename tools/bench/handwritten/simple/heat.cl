// A step of heat in a box whose walls are cold.
#define D 128
#define H 128
#define W 128

float at(__global const float* x, int z, int y, int c) {
  return 0 <= z && z < D && 0 <= y && y < H && 0 <= c && c < W ? x[(z * H + y) * W + c] : 0.0f;
}

__kernel void heat(__global const float* x, __global float* out) {
  const int c = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  const float here = x[(z * H + y) * W + c];
  out[(z * H + y) * W + c] = here + 0.1f * (at(x, z - 1, y, c) + at(x, z + 1, y, c) + at(x, z, y - 1, c) +
                                            at(x, z, y + 1, c) + at(x, z, y, c - 1) + at(x, z, y, c + 1) - 6.0f * here);
}
