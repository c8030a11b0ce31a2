/* A plan for a device that has less than it needs: prints why it was not created. limits STATUS */
#include "common.h"

int main(int argc, char** argv) {
  struct device d = open_device();
  conv_plan* plan;
  CHECK(argc == 2);
  CHECK(conv_create(d.context, d.id, NULL, &plan) == atoi(argv[1]));
  printf("%s", conv_build_log(plan));
  conv_destroy(plan);
  CHECK(context_references(d) == 1);
  clReleaseContext(d.context);
  return 0;
}
