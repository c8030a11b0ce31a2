/* dot.lift with a symbolic size: several sizes and queues with one plan, sizes and buffers that do not fit.
 * dot N X.npy Y.npy EXPECTED.npy */
#include "common.h"

int main(int argc, char** argv) {
  struct device d = open_device();
  cl_command_queue in_order = open_queue(d, 0), out_of_order = open_queue(d, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  cl_uint references;
  dot_plan* plan;
  cl_mem x, y, out;
  cl_event done, gate;
  cl_int status;
  float* z;
  int n, i;
  CHECK(argc == 5);
  n = atoi(argv[1]);
  CHECK(dot_bytes_of_x(n) == (size_t)n * 4 && dot_bytes_of_y(n) == (size_t)n * 4 && dot_bytes_of_out(n) == 4);
  CHECK(dot_bytes_of_x(0) == 0 && dot_bytes_of_x(-5) == 0);
  x = input_buffer(d, argv[2], dot_bytes_of_x(n));
  y = input_buffer(d, argv[3], dot_bytes_of_y(n));
  out = output_buffer(d, dot_bytes_of_out(n));
  references = context_references(d);

  CHECK(dot_create(d.context, d.id, NULL, &plan) == CL_SUCCESS);
  CHECK(strcmp(dot_build_log(plan), "") == 0);
  for (i = 0; i < 6; i++) {
    cl_command_queue queue = i % 2 == 0 ? in_order : out_of_order;
    const int size = i < 4 ? n : n / i;
    CHECK(dot_run(plan, queue, size, x, y, out, 0, NULL, &done) == CL_SUCCESS);
    z = (float*)download(queue, out, sizeof(float), done);
    clReleaseEvent(done);
    if (size == n) expect_floats(z, argv[4], sizeof(float), 1e-5);
    free(z);
  }
  /* The work waits for the caller's event, and a second call for the first. */
  gate = clCreateUserEvent(d.context, &status);
  CHECK(status == CL_SUCCESS);
  CHECK(dot_run(plan, out_of_order, n, x, y, out, 1, &gate, NULL) == CL_SUCCESS);
  CHECK(dot_run(plan, out_of_order, n, x, y, out, 0, NULL, &done) == CL_SUCCESS);
  CHECK(clFlush(out_of_order) == CL_SUCCESS);
  CHECK(clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) == CL_SUCCESS);
  CHECK(status != CL_COMPLETE);
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE) == CL_SUCCESS);
  z = (float*)download(out_of_order, out, sizeof(float), done);
  expect_floats(z, argv[4], sizeof(float), 1e-5);
  free(z);
  clReleaseEvent(done);
  clReleaseEvent(gate);

  CHECK(dot_run(plan, in_order, 0, x, y, out, 0, NULL, &done) == CL_INVALID_VALUE && done == NULL);
  CHECK(dot_run(plan, in_order, n + 1, x, y, out, 0, NULL, NULL) == CL_INVALID_BUFFER_SIZE);
  CHECK(dot_run(plan, in_order, n, x, NULL, out, 0, NULL, NULL) == CL_INVALID_MEM_OBJECT);
  CHECK(dot_run(plan, in_order, n, x, y, out, 1, NULL, NULL) == CL_INVALID_EVENT_WAIT_LIST);
  CHECK(dot_run(NULL, in_order, n, x, y, out, 0, NULL, NULL) == CL_INVALID_VALUE);
  CHECK(clFinish(in_order) == CL_SUCCESS && clFinish(out_of_order) == CL_SUCCESS);
  dot_destroy(plan);
  CHECK(context_references(d) == references);

  /* Options that no compiler takes: an error, the log, nothing left behind. */
  status = dot_create(d.context, d.id, "-no-such-option", &plan);
  CHECK(status == CL_INVALID_BUILD_OPTIONS || status == CL_BUILD_PROGRAM_FAILURE);
  CHECK(plan != NULL && strstr(dot_build_log(plan), "-no-such-option") != NULL);
  CHECK(dot_run(plan, in_order, n, x, y, out, 0, NULL, NULL) == CL_INVALID_PROGRAM_EXECUTABLE);
  dot_destroy(plan);
  dot_destroy(NULL);
  CHECK(context_references(d) == references);
  CHECK(dot_create(d.context, d.id, NULL, NULL) == CL_INVALID_VALUE);
  CHECK(dot_create(NULL, d.id, NULL, &plan) == CL_INVALID_CONTEXT && plan == NULL);

  clReleaseMemObject(x);
  clReleaseMemObject(y);
  clReleaseMemObject(out);
  clReleaseCommandQueue(in_order);
  clReleaseCommandQueue(out_of_order);
  clReleaseContext(d.context);
  return 0;
}
