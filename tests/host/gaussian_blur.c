/* gaussian_blur.lift at fixed sizes: many launches of one kernel, temporaries that take turns.
 * gaussian_blur IMAGE.npy EXPECTED.npy */
#include "common.h"

int main(int argc, char** argv) {
  struct device d = open_device();
  cl_command_queue queue = open_queue(d, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  gaussianBlur_plan* plan;
  cl_mem image, out;
  cl_event done[2];
  unsigned char *got, *expected;
  size_t bytes, i;
  CHECK(argc == 3);
  image = input_buffer(d, argv[1], gaussianBlur_bytes_of_image());
  out = output_buffer(d, gaussianBlur_bytes_of_out());
  CHECK(gaussianBlur_create(d.context, d.id, "", &plan) == CL_SUCCESS);
  /* The second call uses the same temporaries without waiting for the first. */
  CHECK(gaussianBlur_run(plan, queue, image, out, 0, NULL, &done[0]) == CL_SUCCESS);
  CHECK(gaussianBlur_run(plan, queue, image, out, 1, &done[0], &done[1]) == CL_SUCCESS);
  gaussianBlur_destroy(plan); /* what is enqueued still completes */
  got = (unsigned char*)download(queue, out, gaussianBlur_bytes_of_out(), done[1]);
  expected = (unsigned char*)read_npy(argv[2], &bytes);
  CHECK(bytes == gaussianBlur_bytes_of_out());
  for (i = 0; i < bytes; i++) CHECK(abs((int)got[i] - (int)expected[i]) <= 1); /* rounding of x + 0.5 */
  free(got);
  free(expected);
  clReleaseEvent(done[0]);
  clReleaseEvent(done[1]);
  clReleaseMemObject(image);
  clReleaseMemObject(out);
  clReleaseCommandQueue(queue);
  clReleaseContext(d.context);
  return 0;
}
