/* What the host programs of these tests share: a device, buffers, .npy files. */
#ifndef HOST_TEST_COMMON_H
#define HOST_TEST_COMMON_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

struct device {
  cl_device_id id;
  cl_context context;
};

static inline struct device open_device(void) {
  struct device d;
  cl_platform_id platform;
  cl_int status;
  CHECK(clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS);
  CHECK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d.id, NULL) == CL_SUCCESS);
  d.context = clCreateContext(NULL, 1, &d.id, NULL, NULL, &status);
  CHECK(status == CL_SUCCESS);
  return d;
}

static inline cl_command_queue open_queue(struct device d, cl_command_queue_properties properties) {
  cl_int status;
  cl_command_queue queue = clCreateCommandQueue(d.context, d.id, properties, &status);
  CHECK(status == CL_SUCCESS);
  return queue;
}

/* Whoever keeps the context keeps it from being destroyed: a leak shows here. */
static inline cl_uint context_references(struct device d) {
  cl_uint count = 0;
  CHECK(clGetContextInfo(d.context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, NULL) == CL_SUCCESS);
  return count;
}

/* The elements of a .npy file of version 1 or 2. */
static inline void* read_npy(const char* path, size_t* bytes) {
  FILE* f = fopen(path, "rb");
  unsigned char head[12];
  size_t start;
  long end;
  void* data;
  CHECK(f != NULL);
  CHECK(fread(head, 1, 12, f) == 12 && memcmp(head, "\x93NUMPY", 6) == 0);
  start = head[6] == 1 ? 10u + head[8] + 256u * head[9]
                       : 12u + head[8] + 256u * head[9] + 65536u * head[10] + 16777216u * head[11];
  CHECK(fseek(f, 0, SEEK_END) == 0 && (end = ftell(f)) >= (long)start);
  *bytes = (size_t)end - start;
  data = malloc(*bytes + 1);
  CHECK(data != NULL && fseek(f, (long)start, SEEK_SET) == 0);
  CHECK(fread(data, 1, *bytes, f) == *bytes);
  fclose(f);
  return data;
}

/* A buffer with the elements of a file, which must have so many bytes. */
static inline cl_mem input_buffer(struct device d, const char* path, size_t expected) {
  size_t bytes;
  cl_int status;
  void* data = read_npy(path, &bytes);
  cl_mem buffer;
  CHECK(bytes == expected);
  buffer = clCreateBuffer(d.context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, bytes, data, &status);
  CHECK(status == CL_SUCCESS);
  free(data);
  return buffer;
}

/* A buffer of 0xFF bytes, so that what is not written is seen. */
static inline cl_mem output_buffer(struct device d, size_t bytes) {
  cl_int status;
  void* data = malloc(bytes);
  cl_mem buffer;
  CHECK(data != NULL);
  memset(data, 0xFF, bytes);
  buffer = clCreateBuffer(d.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, data, &status);
  CHECK(status == CL_SUCCESS);
  free(data);
  return buffer;
}

static inline void* download(cl_command_queue queue, cl_mem buffer, size_t bytes, cl_event after) {
  void* data = malloc(bytes);
  CHECK(data != NULL);
  CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, data, 1, &after, NULL) == CL_SUCCESS);
  return data;
}

/* Elements relative to the largest expected one. */
static inline void expect_floats(const float* got, const char* path, size_t bytes, double tolerance) {
  size_t expected_bytes, i;
  float* expected = (float*)read_npy(path, &expected_bytes);
  double largest = 1e-30;
  CHECK(bytes == expected_bytes);
  for (i = 0; i < bytes / sizeof(float); i++) largest = fmax(largest, fabs(expected[i]));
  for (i = 0; i < bytes / sizeof(float); i++)
    if (!(fabs((double)got[i] - expected[i]) <= tolerance * largest)) {
      fprintf(stderr, "element %lu: %g, expected %g\n", (unsigned long)i, got[i], expected[i]);
      exit(1);
    }
  free(expected);
}

#endif
