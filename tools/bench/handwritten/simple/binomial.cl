// European puts on a binomial tree, a work-item for each.
#define STEPS 64

__kernel void puts(__global const float* rate, __global const float* volatility, __global const float* price,
                   __global const float* strike, __global const float* time, __global float* out) {
  const int i = get_global_id(0);
  const float dt = time[i] / STEPS;
  const float up = exp(*volatility * sqrt(dt)), down = 1.0f / up, discount = exp(-*rate * dt);
  const float p = (exp(*rate * dt) - down) / (up - down);
  float v[STEPS + 1];
  for (int k = 0; k <= STEPS; k++) v[k] = fmax(strike[i] - price[i] * pow(up, (float)(2 * k - STEPS)), 0.0f);
  for (int step = STEPS; step > 0; step--)
    for (int k = 0; k < step; k++) v[k] = discount * ((1.0f - p) * v[k] + p * v[k + 1]);
  out[i] = v[0];
}
