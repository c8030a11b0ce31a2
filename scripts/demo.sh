#!/usr/bin/env bash
# Sets up, builds liftc and shows it at work on this machine's processor: a photograph is blurred, and the nine
# convolution layers of VGG-16 are compiled, run, timed and checked against oneDNN.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/build.sh release liftc

# The processor's OpenCL device, unless the caller wants another one.
export LIFTC_PLATFORM=${LIFTC_PLATFORM-Portable Computing Language}

show() {
  printf '\n$ %s\n' "$*"
  "$@"
}
mkdir -p out
show build/liftc devices
show build/liftc run examples/gaussian_blur.lift -i image=examples/data/photo.pgm -o out/blurred.pgm
echo "demo: examples/data/photo.pgm, blurred, is out/blurred.pgm"
show build/liftc conv --shapes shapes/vgg16.txt check
