#!/bin/bash
# Programs and sweeps run right on drivers with quirks (quirks.cpp): run.sh LIFTC QUIRKS_LIBRARY SOURCE_DIR WORK_DIR
set -euo pipefail
liftc=$1 library=$2 source=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
export POCL_DEVICES=${POCL_DEVICES:-pthread}  # timed by its own clock
fail() { echo "$quirk: $*" >&2; exit 1; }
# Whether the file has the text exactly where the quirk leaves only the host's clock.
said() {
  case $quirk in
    no-profiling | no-clock | slow-clock) grep -qF "$2" "$1" ;;
    *) ! grep -qF "$2" "$1" ;;
  esac
}
with() { LIFT_QUIRK=$quirk LD_PRELOAD=$library "$@"; }
conv=ic8ih8oc8kh3ph1
printf '%s\n' ic8ih12oc16kh3ph1 g4ic8ih9iw11oc12kh3sh2 >layers

"$liftc" eval "$source/tests/programs/normalise.lift" --entry softmax -s n=5000 --fill random:1 -o expected.npy --quiet 2>eval.log ||
  { cat eval.log; exit 1; }
for quirk in none no-profiling no-clock slow-clock small-groups flat-groups modest; do
  with "$liftc" run "$source/tests/programs/normalise.lift" --entry softmax -s n=5000 --fill random:1 --expect expected.npy \
    --repeat 3 --json >run.json || fail "results are wrong"
  if grep -qE '"ms": 0(\.0*)?,?$' run.json || [ "$(grep -c '"ms": ' run.json)" -lt 2 ]; then fail "$(cat run.json)"; fi
  said run.json '"timer": "host"' || fail "$(cat run.json)"
  case $quirk in none | no-profiling) continue ;; esac
  with "$liftc" conv --shapes layers check --family paper --no-tuned >check.log 2>&1 || { cat check.log; fail "layers are wrong"; }
  with "$liftc" tune --conv $conv --points 4 --seed 1 --db "$quirk.sqlite" --json >tune.json 2>tune.log ||
    { cat tune.log; fail "the sweep ended"; }
  "$liftc" db export --db "$quirk.sqlite" >points.jsonl
  if [ "$(wc -l <points.jsonl)" -lt 4 ] || grep -q '"crash"' points.jsonl; then cat points.jsonl; fail "records"; fi
  said points.jsonl "host's clock" || { cat points.jsonl; fail "whose clock it was"; }
done

# Sub-groups that a processor reports are left alone.
quirk=sub-groups
if "$liftc" devices --json | grep -m1 '"type"' | grep -q cpu; then
  with "$liftc" devices | grep -q "sub-groups" || fail "the quirk does not show"
  "$liftc" eval "$source/tests/programs/barriers.lift" --entry together -s m=37 -s n=2 --fill random:1 -o together.npy --quiet
  with "$liftc" run "$source/tests/programs/barriers.lift" --entry together -s m=37 -s n=2 --fill random:1 \
    --expect together.npy >run.log 2>&1 || { cat run.log; fail "they were used"; }
fi

# A processor's last cache is the system's account where the driver tells of a smaller one.
quirk=near-cache
if "$liftc" devices --json | grep -m1 '"type"' | grep -q cpu; then
  bytes=$(with "$liftc" devices --json | grep -m1 '"cache_bytes"' | tr -dc 0-9)
  ((bytes > 4096)) || fail "the last cache has $bytes bytes"
fi

# A device whose compiler is too old is refused for that; one that has no log, with what is known.
refused() { # QUIRK REASON
  quirk=$1
  if with "$liftc" run "$source/examples/dot.lift" -s n=100 --fill random:1 >run.log 2>&1; then fail "it was taken"; fi
  grep -q "$2" run.log || { cat run.log; fail "no reason"; }
}
refused opencl-1.1 "takes OpenCL C 1.1, kernels are OpenCL C 1.2"
refused silent "clBuildProgram failed with CL_INVALID_BUILD_OPTIONS"

# One that crashes is named before the process ends.
quirk=crashing status=0
with "$liftc" run "$source/examples/dot.lift" -s n=100 --fill random:1 --quiet >run.log 2>&1 || status=$?
[ "$status" -gt 128 ] || fail "status $status"
grep -q "error: the driver or a kernel crashed" run.log || { cat run.log; fail "no word of the driver"; }

# A driver that cannot be loaded is named.
quirk=unusable
mkdir vendors
echo /nowhere/libdriver.so >vendors/broken.icd
OCL_ICD_VENDORS=$work/vendors "$liftc" devices >list 2>warnings
grep -q "vendors/broken.icd.*/nowhere/libdriver.so" warnings || { cat warnings; fail "no warning"; }
echo "all quirks pass"
