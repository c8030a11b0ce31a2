// The median of 3 by 3 pixels, mirrored at the edges, by a network of exchanges.
#define H 1024
#define W 1024

int mirrored(int i, int n) { return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i; }

void sort3(float* a, float* b, float* c) {
  const float low = fmin(*a, *b), high = fmax(*a, *b);
  const float middle = fmin(high, *c);
  *c = fmax(high, *c);
  *a = fmin(low, middle);
  *b = fmax(low, middle);
}

__kernel void median(__global const float* image, __global float* out) {
  const int x = get_global_id(0), y = get_global_id(1);
  float w[9];
  for (int k = 0; k < 9; k++) w[k] = image[mirrored(y + k / 3 - 1, H) * W + mirrored(x + k % 3 - 1, W)];
  for (int r = 0; r < 9; r += 3) sort3(&w[r], &w[r + 1], &w[r + 2]);
  float low = fmax(w[0], fmax(w[3], w[6])), high = fmin(w[2], fmin(w[5], w[8]));
  sort3(&w[1], &w[4], &w[7]);
  sort3(&low, &w[4], &high);
  out[y * W + x] = w[4];
}
