/* An iteration of a symbolic count: odd and even ones, and none, with one plan on several queues.
 * iterate N X.npy COUNT EXPECTED.npy EXPECTED_MAXIMUM.npy … */
#include "common.h"

int main(int argc, char** argv) {
  struct device d = open_device();
  cl_command_queue in_order = open_queue(d, 0), out_of_order = open_queue(d, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  iterate_plan* plan;
  cl_mem x, out, most;
  cl_event done;
  int n, i, round;
  CHECK(argc > 5 && argc % 3 == 0);
  n = atoi(argv[1]);
  x = input_buffer(d, argv[2], iterate_bytes_of_xs(0, n));
  CHECK(iterate_create(d.context, d.id, NULL, &plan) == CL_SUCCESS);
  for (round = 0; round < 2; round++)
    for (i = 3; i + 2 < argc; i += 3) {
      const int count = atoi(argv[i]);
      cl_command_queue queue = (i / 3 + round) % 2 == 0 ? in_order : out_of_order;
      const size_t bytes = iterate_bytes_of_out_0(count, n);
      float* z;
      CHECK(bytes == (size_t)n * sizeof(float) && iterate_bytes_of_out_1(count, n) == sizeof(float));
      out = output_buffer(d, bytes);
      most = output_buffer(d, sizeof(float));
      CHECK(iterate_run(plan, queue, count, n, x, out, most, 0, NULL, &done) == CL_SUCCESS);
      z = (float*)download(queue, out, bytes, done);
      expect_floats(z, argv[i + 1], bytes, 1e-5);
      free(z);
      z = (float*)download(queue, most, sizeof(float), done);
      expect_floats(z, argv[i + 2], sizeof(float), 1e-5);
      free(z);
      clReleaseEvent(done);
      clReleaseMemObject(out);
      clReleaseMemObject(most);
    }
  out = output_buffer(d, sizeof(float));
  CHECK(iterate_run(plan, in_order, -1, n, x, out, out, 0, NULL, NULL) == CL_INVALID_VALUE);
  CHECK(clFinish(in_order) == CL_SUCCESS && clFinish(out_of_order) == CL_SUCCESS);
  iterate_destroy(plan);
  clReleaseMemObject(x);
  clReleaseMemObject(out);
  clReleaseCommandQueue(in_order);
  clReleaseCommandQueue(out_of_order);
  clReleaseContext(d.context);
  return 0;
}
