/* A plan without symbolic sizes, of one output: program INPUT.npy… EXPECTED.npy. From the compiler's command line: NAME,
 * the plan's; SIZES, the inputs' bytes in the order of its parameters; INPUTS, in[0], in[1], …, as many. */
#include "common.h"

#define JOINED(a, b) a##_##b
#define OF(name, function) JOINED(name, function)

int main(int argc, char** argv) {
  struct device d = open_device();
  cl_command_queue queue = open_queue(d, 0);
  const size_t sizes[] = {SIZES}, bytes = OF(NAME, bytes_of_out)();
  enum { n = sizeof sizes / sizeof *sizes };
  OF(NAME, plan) * plan;
  cl_mem in[n], out;
  cl_event done;
  float* got;
  int i;
  CHECK(argc == n + 2);
  for (i = 0; i < n; i++) in[i] = input_buffer(d, argv[i + 1], sizes[i]);
  out = output_buffer(d, bytes);
  CHECK(OF(NAME, create)(d.context, d.id, NULL, &plan) == CL_SUCCESS);
  CHECK(OF(NAME, run)(plan, queue, INPUTS, out, 0, NULL, &done) == CL_SUCCESS);
  got = (float*)download(queue, out, bytes, done);
  expect_floats(got, argv[n + 1], bytes, 1e-5);
  free(got);
  OF(NAME, destroy)(plan);
  clReleaseEvent(done);
  for (i = 0; i < n; i++) clReleaseMemObject(in[i]);
  clReleaseMemObject(out);
  clReleaseCommandQueue(queue);
  clReleaseContext(d.context);
  return 0;
}
