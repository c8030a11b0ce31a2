#!/bin/bash
# Programs and sweeps run right on drivers with quirks (quirks.cpp): run.sh LIFTC QUIRKS_LIBRARY SOURCE_DIR WORK_DIR
set -euo pipefail
liftc=$1 library=$2 source=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
fail() { echo "$quirk: $*" >&2; exit 1; }
with() { LIFT_QUIRK=$quirk LD_PRELOAD=$library "$@"; }
conv=ic8ih8oc8kh3ph1

"$liftc" eval "$source/tests/programs/normalise.lift" --entry softmax -s n=5000 --fill random:1 -o expected.npy --quiet 2>eval.log ||
  { cat eval.log; exit 1; }
for quirk in none no-profiling no-clock small-groups modest; do
  with "$liftc" run "$source/tests/programs/normalise.lift" --entry softmax -s n=5000 --fill random:1 --expect expected.npy \
    --repeat 3 --json >run.json || fail "results are wrong"
  python3 - "$quirk" <<'END' || fail "$(cat run.json)"
import json, sys
run = json.load(open("run.json"))
host = sys.argv[1] in ("no-profiling", "no-clock")
sys.exit(not (run["ms"] > 0 and all(l["ms"] > 0 for l in run["launches"]) and (run.get("timer") == "host") == host))
END
  case $quirk in none | no-profiling) continue ;; esac
  with "$liftc" tune --conv $conv --points 4 --seed 1 --db "$quirk.sqlite" --json >tune.json 2>tune.log ||
    { cat tune.log; fail "the sweep ended"; }
  "$liftc" db export --db "$quirk.sqlite" >points.jsonl
  python3 - "$quirk" <<'END' || { cat points.jsonl; fail "records"; }
import json, sys
points = [json.loads(line) for line in open("points.jsonl")]
text = open("points.jsonl").read()
host = sys.argv[1] in ("no-profiling", "no-clock")
ok = len(points) >= 4 and '"crash"' not in text and ("host's clock" in text) == host
sys.exit(not ok)
END
done

# A driver that cannot be loaded is named.
quirk=unusable
mkdir vendors
echo /nowhere/libdriver.so >vendors/broken.icd
OCL_ICD_VENDORS=$work/vendors "$liftc" devices >list 2>warnings
grep -q "vendors/broken.icd.*/nowhere/libdriver.so" warnings || { cat warnings; fail "no warning"; }
echo "all quirks pass"
