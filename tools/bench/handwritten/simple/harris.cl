// Harris corners: gradients, then their products summed over 3 by 3 windows, and the response.
#define H 1024
#define W 1024
#define AT(a, y, x) a[clamp(y, 0, H - 1) * W + clamp(x, 0, W - 1)]

__kernel void gradients(__global const float* image, __global float* ix, __global float* iy) {
  const int x = get_global_id(0), y = get_global_id(1);
  const float a = AT(image, y - 1, x - 1), b = AT(image, y - 1, x), c = AT(image, y - 1, x + 1);
  const float d = AT(image, y, x - 1), f = AT(image, y, x + 1);
  const float g = AT(image, y + 1, x - 1), h = AT(image, y + 1, x), i = AT(image, y + 1, x + 1);
  ix[y * W + x] = (c + 2.0f * f + i - a - 2.0f * d - g) / 8.0f;
  iy[y * W + x] = (g + 2.0f * h + i - a - 2.0f * b - c) / 8.0f;
}

__kernel void response(__global const float* ix, __global const float* iy, __global float* out) {
  const int x = get_global_id(0), y = get_global_id(1);
  float xx = 0, yy = 0, xy = 0;
  for (int i = -1; i <= 1; i++)
    for (int j = -1; j <= 1; j++) {
      const float gx = AT(ix, y + i, x + j), gy = AT(iy, y + i, x + j);
      xx += gx * gx;
      yy += gy * gy;
      xy += gx * gy;
    }
  out[y * W + x] = xx * yy - xy * xy - 0.04f * (xx + yy) * (xx + yy);
}
