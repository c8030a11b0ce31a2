/* failed.lift: a first call whose event fails does not count as the preparation. failed */
#include "common.h"

enum { n = 100, m = 5 };

int main(void) {
  struct device d = open_device();
  cl_command_queue first = open_queue(d, 0), second = open_queue(d, 0);
  float ones[n], places[m], *z;
  failed_plan* plan;
  cl_mem w, x, out;
  cl_event gate, done;
  cl_int status;
  int i;
  for (i = 0; i < n; i++) ones[i] = 1;
  for (i = 0; i < m; i++) places[i] = (float)i;
  w = clCreateBuffer(d.context, CL_MEM_COPY_HOST_PTR, sizeof ones, ones, &status);
  CHECK(status == CL_SUCCESS);
  x = clCreateBuffer(d.context, CL_MEM_COPY_HOST_PTR, sizeof places, places, &status);
  CHECK(status == CL_SUCCESS);
  out = output_buffer(d, sizeof places);
  CHECK(failed_create(d.context, d.id, NULL, &plan) == CL_SUCCESS);

  gate = clCreateUserEvent(d.context, &status);
  CHECK(status == CL_SUCCESS);
  CHECK(failed_run(plan, first, n, m, w, x, out, 1, &gate, &done) == CL_SUCCESS);
  CHECK(clSetUserEventStatus(gate, -1) == CL_SUCCESS);
  clWaitForEvents(1, &done);
  CHECK(clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) == CL_SUCCESS);
  CHECK(status < 0);
  clReleaseEvent(done);
  clReleaseEvent(gate);

  CHECK(failed_run(plan, second, n, m, w, x, out, 0, NULL, &done) == CL_SUCCESS);
  z = (float*)download(second, out, sizeof places, done);
  for (i = 0; i < m; i++) CHECK(z[i] == 2.0f * n * (float)i);
  free(z);
  clReleaseEvent(done);
  failed_destroy(plan);
  clReleaseMemObject(w);
  clReleaseMemObject(x);
  clReleaseMemObject(out);
  clReleaseCommandQueue(first);
  clReleaseCommandQueue(second);
  clReleaseContext(d.context);
  return 0;
}
