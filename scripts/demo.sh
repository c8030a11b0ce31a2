#!/usr/bin/env bash
# Sets up, builds liftc and shows it at work on this machine's processor: a photograph is blurred, the nine convolution
# layers of VGG-16 are compiled, run, timed and checked against oneDNN, and two of them are tuned, for some minutes, and
# compared with other implementations. DEMO_TIME limits the tuning (default 4m).
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

export LIFTC_DB=out/tune.db  # the demo's own; it goes on where it was stopped
grep -E '"vgg16_(10|24)"' shapes/vgg16.txt >out/two_layers.txt
show build/liftc tune --shapes out/two_layers.txt --points 40 --time-limit "${DEMO_TIME-4m}"
show build/liftc bench --shapes out/two_layers.txt --peers onednn,openblas,probe --keep
show build/liftc db report -o out/report.html
echo "demo: what tuning has measured is in out/report.html"
