// How many of 400 steps each point of a window stays near; a row of points for each work-item.
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mandelbrot(__global const float* restrict corner, __global float* restrict out) {
  const int y = get_global_id(0);
  const float ci = (float)y * 0.005f - 1.28f + corner[1] * 0.01f;
  for (int x = 0; x < 512; x++) {
    const float cr = (float)x * 0.005f - 2.0f + corner[0] * 0.01f;
    float a = 0.0f, b = 0.0f, n = 0.0f;
    for (int i = 0; i < 400 && a * a + b * b <= 4.0f; i++) {
      const float next = a * a - b * b + cr;
      b = 2.0f * a * b + ci;
      a = next;
      n += 1.0f;
    }
    out[y * 512 + x] = n;
  }
}
