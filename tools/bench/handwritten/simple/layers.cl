// A layer of a network twice, a work-item for each result.
#define I 784
#define H 512
#define O 10

__kernel void hidden(__global const float* x, __global const float* w, __global const float* bias,
                     __global float* out) {
  const int j = get_global_id(0), i = get_global_id(1);
  float total = bias[j];
  for (int k = 0; k < I; k++) total += x[i * I + k] * w[j * I + k];
  out[i * H + j] = fmax(total, 0.0f);
}

__kernel void last(__global const float* x, __global const float* w, __global const float* bias, __global float* out) {
  const int i = get_global_id(0);
  for (int j = 0; j < O; j++) {
    float total = bias[j];
    for (int k = 0; k < H; k++) total += x[i * H + k] * w[j * H + k];
    out[i * O + j] = fmax(total, 0.0f);
  }
}
