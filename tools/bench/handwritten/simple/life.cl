// A generation of the game of life on a torus.
#define H 1024
#define W 1024

__kernel void next(__global const int* cells, __global int* out) {
  const int x = get_global_id(0), y = get_global_id(1);
  int alive = 0;
  for (int i = -1; i <= 1; i++)
    for (int j = -1; j <= 1; j++) alive += cells[(y + i + H) % H * W + (x + j + W) % W];
  const int here = cells[y * W + x];
  alive -= here;
  out[y * W + x] = alive == 3 || (here == 1 && alive == 2);
}
