// build_kernels FILE.cl OPTIONS: builds a file for the first OpenCL device, and creates its kernels, so that the driver's
// compiler runs through and says what it is asked to say. Exit status 1 when it does not build.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

static void need(cl_int error, const char* what) {
  if (error == CL_SUCCESS) return;
  fprintf(stderr, "build_kernels: %s: error %d\n", what, error);
  exit(2);
}

int main(int count, char** words) {
  if (count != 3) return fprintf(stderr, "build_kernels FILE.cl OPTIONS\n"), 2;
  FILE* file = fopen(words[1], "rb");
  if (!file) return perror(words[1]), 2;
  static char text[8 << 20];
  const size_t length = fread(text, 1, sizeof text, file);
  const char* source = text;
  fclose(file);

  cl_platform_id platform;
  cl_device_id device;
  cl_int error;
  need(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
  need(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
  char name[256];
  need(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL), "clGetDeviceInfo");
  fprintf(stderr, "device: %s\n", name);
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  need(error, "clCreateContext");
  cl_program program = clCreateProgramWithSource(context, 1, &source, &length, &error);
  need(error, "clCreateProgramWithSource");
  error = clBuildProgram(program, 1, &device, words[2], NULL, NULL);
  static char log[1 << 16];
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL) == CL_SUCCESS && log[0])
    fprintf(stderr, "%s\n", log);
  if (error != CL_SUCCESS) return fprintf(stderr, "build_kernels: the file does not build: error %d\n", error), 1;

  cl_kernel kernels[64];
  cl_uint kernelCount;
  need(clCreateKernelsInProgram(program, 64, kernels, &kernelCount), "clCreateKernelsInProgram");
  for (cl_uint k = 0; k < kernelCount; k++) {
    size_t group;
    need(clGetKernelInfo(kernels[k], CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL), "clGetKernelInfo");
    need(clGetKernelWorkGroupInfo(kernels[k], device, CL_KERNEL_WORK_GROUP_SIZE, sizeof group, &group, NULL),
         "clGetKernelWorkGroupInfo");
    fprintf(stderr, "kernel: %s, largest group %zu\n", name, group);
  }
  return 0;
}
