#!/usr/bin/env bash
# oclgrind.sh COMMAND…: runs a command with Oclgrind as its OpenCL platform, with OCLGRIND_OPTIONS more; fails if the command does, or if Oclgrind
# finds a race, an access out of bounds or a use of uninitialised memory.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Its check for uninitialised values does not know the instruction `freeze`, which optimised code contains.
export LIFT_BUILD_OPTIONS=-cl-opt-disable LIFTC_PLATFORM=Oclgrind LIFTC_CACHE=off
unset LIFTC_DEVICE
status=0
read -ra options <<<"${OCLGRIND_OPTIONS:-}"
oclgrind --data-races --uninitialized "${options[@]}" --log "$work/log" "$@" || status=$?
# It exits 0 whatever it finds: its log must be empty.
if [[ -s $work/log ]]; then
  head -c 20000 "$work/log"
  exit 1
fi
exit "$status"
