// A square matrix transposed in tiles of 16 by 16 that pass through registers: 16 rows are read, 16 are written.
#define N 2064
#define COLUMN(i) (float16)(r[0].s##i, r[1].s##i, r[2].s##i, r[3].s##i, r[4].s##i, r[5].s##i, r[6].s##i, r[7].s##i, \
                            r[8].s##i, r[9].s##i, r[10].s##i, r[11].s##i, r[12].s##i, r[13].s##i, r[14].s##i, r[15].s##i)

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void tiles(__global const float* restrict in, __global float* restrict out) {
  const int x = get_group_id(0) * 16, y = get_group_id(1) * 16;
  float16 r[16];
#pragma unroll
  for (int i = 0; i < 16; i++) r[i] = vload16(0, in + (y + i) * N + x);
  out += x * N + y;
  vstore16(COLUMN(0), 0, out);
  vstore16(COLUMN(1), 0, out + N);
  vstore16(COLUMN(2), 0, out + 2 * N);
  vstore16(COLUMN(3), 0, out + 3 * N);
  vstore16(COLUMN(4), 0, out + 4 * N);
  vstore16(COLUMN(5), 0, out + 5 * N);
  vstore16(COLUMN(6), 0, out + 6 * N);
  vstore16(COLUMN(7), 0, out + 7 * N);
  vstore16(COLUMN(8), 0, out + 8 * N);
  vstore16(COLUMN(9), 0, out + 9 * N);
  vstore16(COLUMN(a), 0, out + 10 * N);
  vstore16(COLUMN(b), 0, out + 11 * N);
  vstore16(COLUMN(c), 0, out + 12 * N);
  vstore16(COLUMN(d), 0, out + 13 * N);
  vstore16(COLUMN(e), 0, out + 14 * N);
  vstore16(COLUMN(f), 0, out + 15 * N);
}
