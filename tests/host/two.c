/* Two plans in one program: dot.lift for any size, and for this one. host.h includes the headers of both.
 * two X.npy Y.npy EXPECTED.npy */
#include "common.h"

enum { n = 1000 };

int main(int argc, char** argv) {
  struct device d = open_device();
  cl_command_queue queue = open_queue(d, 0);
  any_size_plan* any;
  this_size_plan* fixed;
  cl_mem x, y, out;
  cl_event done;
  float* z;
  int i;
  CHECK(argc == 4);
  x = input_buffer(d, argv[1], any_size_bytes_of_x(n));
  y = input_buffer(d, argv[2], this_size_bytes_of_y());
  out = output_buffer(d, any_size_bytes_of_out(n));
  CHECK(any_size_create(d.context, d.id, NULL, &any) == CL_SUCCESS);
  CHECK(this_size_create(d.context, d.id, NULL, &fixed) == CL_SUCCESS);
  for (i = 0; i < 2; i++) {
    if (i == 0)
      CHECK(any_size_run(any, queue, n, x, y, out, 0, NULL, &done) == CL_SUCCESS);
    else
      CHECK(this_size_run(fixed, queue, x, y, out, 0, NULL, &done) == CL_SUCCESS);
    z = (float*)download(queue, out, sizeof(float), done);
    clReleaseEvent(done);
    expect_floats(z, argv[3], sizeof(float), 1e-5);
    free(z);
  }
  any_size_destroy(any);
  this_size_destroy(fixed);
  clReleaseMemObject(x);
  clReleaseMemObject(y);
  clReleaseMemObject(out);
  clReleaseCommandQueue(queue);
  clReleaseContext(d.context);
  return 0;
}
