#!/usr/bin/env bash
# turns.sh LIFTC [LAYER]: a convolution layer as C and as OpenCL, one after the other in one process.
set -euo pipefail
liftc=$(realpath "$1") layer=${2:-mb1ic128ih56oc256oh56kh3ph1}
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$liftc" conv "$layer" compile --family blocked --target c --prefix layer -o . >/dev/null
"$liftc" conv "$layer" compile --family blocked --prefix ocl -o . >/dev/null
"${CC:-cc}" -O3 -march=native -fopenmp -w -DCL_TARGET_OPENCL_VERSION=120 -I. "$here/turns.c" layer.c host.c -o turns \
  -lOpenCL -lm
OMP_WAIT_POLICY=passive ./turns
