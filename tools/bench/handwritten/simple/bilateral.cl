// Means of seven by seven pixels, weighted by how near they are, and how like the one in the middle.
#define H 1024
#define W 1024

__kernel void bilateral(__global const float* image, __global float* out) {
  const int x = get_global_id(0), y = get_global_id(1);
  const float centre = image[y * W + x];
  float total = 0, weight = 0;
  for (int i = -3; i <= 3; i++)
    for (int j = -3; j <= 3; j++) {
      const float value = image[clamp(y + i, 0, H - 1) * W + clamp(x + j, 0, W - 1)];
      const float k = exp(-0.1f * (i * i + j * j) - 4.0f * (value - centre) * (value - centre));
      total += k * value;
      weight += k;
    }
  out[y * W + x] = total / weight;
}
