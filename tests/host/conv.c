/* A convolution layer. conv INPUT.npy WEIGHTS.npy BIASES.npy EXPECTED.npy */
#include "common.h"

int main(int argc, char** argv) {
  struct device d = open_device();
  cl_command_queue queue = open_queue(d, 0);
  conv_plan* plan;
  cl_mem input, weights, biases, out;
  cl_event done;
  float* got;
  CHECK(argc == 5);
  input = input_buffer(d, argv[1], conv_bytes_of_input());
  weights = input_buffer(d, argv[2], conv_bytes_of_weights());
  biases = input_buffer(d, argv[3], conv_bytes_of_biases());
  out = output_buffer(d, conv_bytes_of_out());
  CHECK(conv_create(d.context, d.id, NULL, &plan) == CL_SUCCESS);
  CHECK(conv_run(plan, queue, weights, biases, input, out, 0, NULL, &done) == CL_SUCCESS);
  got = (float*)download(queue, out, conv_bytes_of_out(), done);
  expect_floats(got, argv[4], conv_bytes_of_out(), 1e-5);
  free(got);
  conv_destroy(plan);
  clReleaseEvent(done);
  clReleaseMemObject(input);
  clReleaseMemObject(weights);
  clReleaseMemObject(biases);
  clReleaseMemObject(out);
  clReleaseCommandQueue(queue);
  clReleaseContext(d.context);
  return 0;
}
