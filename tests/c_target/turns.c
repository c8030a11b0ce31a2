/* The same layer as a library of C and as OpenCL kernels, in turns. Processor time does not know who else is running. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "host.h"
#include "layer.h"

enum { runs = 61, warm = 3 };

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static float* filled(size_t bytes) {
  float* p = aligned_alloc(64, (bytes + 63) / 64 * 64);
  size_t i;
  if (p == NULL) exit(1);
  for (i = 0; i < bytes / sizeof *p; i++) p[i] = (float)rand() / (float)RAND_MAX - 0.5f;
  return p;
}

static int order(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void report(const char* who, double* wall, double* processor) {
  qsort(wall, runs, sizeof *wall, order);
  qsort(processor, runs, sizeof *processor, order);
  printf("%-7s wall: least %.2f, median %.2f ms; processor: least %.2f, median %.2f ms\n", who, wall[0],
         wall[runs / 2], processor[0], processor[runs / 2]);
}

int main(void) {
  static double wall[2][runs], processor[2][runs];
  const size_t bytes = layer_bytes_of_out();
  float* input = filled(layer_bytes_of_input());
  float* weights = filled(layer_bytes_of_weights());
  float* biases = filled(layer_bytes_of_biases());
  float *out = filled(bytes), *other = filled(bytes);
  layer_plan* plan = layer_create();
  cl_platform_id platform;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_mem in, w, b, o;
  ocl_plan* kernels;
  cl_int status;
  int run, k;
  size_t i;
  double worst = 0;
  if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS) return 3;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) return 3;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
  if (status != CL_SUCCESS) return 3;
  queue = clCreateCommandQueue(context, device, 0, &status);
  if (status != CL_SUCCESS || ocl_create(context, device, NULL, &kernels) != CL_SUCCESS) return 3;
  in = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, layer_bytes_of_input(), input, &status);
  w = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, layer_bytes_of_weights(), weights, &status);
  b = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, layer_bytes_of_biases(), biases, &status);
  o = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
  for (run = -warm; run < runs; run++)
    for (k = 0; k < 2; k++) {
      const double began = now(CLOCK_MONOTONIC), used = now(CLOCK_PROCESS_CPUTIME_ID);
      if (k == 0) {
        if (layer_run(plan, weights, biases, input, out) != 0) return 1;
      } else {
        if (ocl_run(kernels, queue, w, b, in, o, 0, NULL, NULL) != CL_SUCCESS) return 3;
        clFinish(queue);
      }
      if (run < 0) continue;
      wall[k][run] = now(CLOCK_MONOTONIC) - began;
      processor[k][run] = now(CLOCK_PROCESS_CPUTIME_ID) - used;
    }
  if (clEnqueueReadBuffer(queue, o, CL_TRUE, 0, bytes, other, 0, NULL, NULL) != CL_SUCCESS) return 3;
  for (i = 0; i < bytes / sizeof *out; i++) {
    const double difference = out[i] > other[i] ? out[i] - other[i] : other[i] - out[i];
    if (!(difference <= worst)) worst = difference;
  }
  report("C", wall[0], processor[0]);
  report("OpenCL", wall[1], processor[1]);
  printf("speed of C, of OpenCL's: %.2f; largest difference %g\n", wall[1][runs / 2] / wall[0][runs / 2], worst);
  return worst < 1e-3 ? 0 : 4;
}
