#!/usr/bin/env bash
# oclgrind.sh COMMAND…: runs a command with Oclgrind as its OpenCL platform, with OCLGRIND_OPTIONS more; fails if the command does, or if Oclgrind
# finds a race, an access out of bounds or a use of uninitialised memory. With IMAGES=1 it does not look for the last of these, since it
# takes what a kernel has written to an image for uninitialised.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Its check for uninitialised values does not know the instruction `freeze`, which optimised code contains.
export LIFT_BUILD_OPTIONS=-cl-opt-disable LIFTC_PLATFORM=Oclgrind LIFTC_CACHE=off
unset LIFTC_DEVICE
# It takes values for uninitialised in buffers that lie at the addresses of earlier ones: nothing is released.
echo 'int clReleaseMemObject(void *memory) { return memory == 0; }' | cc -shared -fPIC -x c - -o "$work/keep.so"
status=0
read -ra options <<<"${OCLGRIND_OPTIONS:-}"
((${IMAGES:-0})) || options+=(--uninitialized)
oclgrind --data-races "${options[@]}" --log "$work/log" \
  bash -c 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"' "$work/keep.so" "$@" || status=$?
# It exits 0 whatever it finds: its log must be empty.
if [[ -s $work/log ]]; then
  head -c 20000 "$work/log"
  exit 1
fi
exit "$status"
