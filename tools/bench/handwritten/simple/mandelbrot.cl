// How many steps a point stays near, a work-item for each.
#define STEPS 256
#define W 768

__kernel void count(__global int* out) {
  const int x = get_global_id(0), y = get_global_id(1);
  const float cr = x * 0.00390625f - 2.0f, ci = y * 0.00390625f - 1.0f;
  float a = 0, b = 0;
  int steps = 0;
  while (steps < STEPS && a * a + b * b <= 4.0f) {
    const float t = a * a - b * b + cr;
    b = 2.0f * a * b + ci;
    a = t;
    steps++;
  }
  out[y * W + x] = steps;
}
