// C = A B: a tile of 12 rows by 2 vectors of 16 columns for each work-item, held in registers; one column of A's tile
// and one row of B's at a time.
#define N 768
#define ROWS 12
#define VECTORS 2

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void mm(__global const float* restrict a, __global const float* restrict b, __global float* restrict c) {
  const int x = get_group_id(0) * 16 * VECTORS, y = get_group_id(1) * ROWS;
  float16 sum[ROWS][VECTORS];
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int v = 0; v < VECTORS; v++) sum[r][v] = 0;
#pragma unroll 4
  for (int k = 0; k < N; k++) {
    float16 row[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; v++) row[v] = vload16(v, b + k * N + x);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int v = 0; v < VECTORS; v++) sum[r][v] = fma((float16)(a[(y + r) * N + k]), row[v], sum[r][v]);
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++)
#pragma unroll
    for (int v = 0; v < VECTORS; v++) vstore16(sum[r][v], v, c + (y + r) * N + x);
}
