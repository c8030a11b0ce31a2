#!/usr/bin/env bash
# matrix.sh [RUNTIME…]: runs liftc on OpenCL implementations beside each other (those of scripts/runtime.sh, which gets
# them without installing anything; by default pocl oclgrind intel rusticl pocl6 rusticl25) and prints a table for each:
# the examples, the programs of tests/programs, the layers of shapes/odd.txt in every family, each family in one sweep,
# and 40 points of tuning. What is wrong is said above the table. Fails when something is: a result, a time of zero, or a
# sweep with fewer results than layers. SHAPES names other layers, POINTS another number of points, PARTS some of:
# examples programs odd tuning, FAMILIES some of the families, STEP another step through the layers (5 on simulators).
# PARTS=ratios, which wants an idle machine, measures the layers of shapes/vgg16.txt (or SHAPES) beside oneDNN on each
# runtime instead, in ROUNDS (3) turns: a table of the time of oneDNN's fastest by ours, of each the least of its medians
# of REPETITIONS (5), for oneDNN, which uses no OpenCL here, over all runtimes, and of each runtime's ratios by those of
# the first one. LIFTC names liftc where it lies elsewhere.
set -uo pipefail
cd "$(dirname "$0")/.."

runtimes=("$@")
(($# > 0)) || runtimes=(pocl oclgrind intel rusticl pocl6 rusticl25)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
liftc=${LIFTC:-$PWD/build/liftc}
wants() { [[ " ${PARTS:-examples programs odd tuning} " == *" $1 "* ]]; }
needed=(liftc)
wants programs && needed+=(test_programs_cl)
for target in "${needed[@]}"; do
  [[ -x build/$target || ( $target == liftc && -x $liftc ) ]] || scripts/build.sh release "${needed[@]}" || exit 1
done
export LIFTC_CACHE=off XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/data

# on SECONDS COMMAND…: runs a command on the runtime; what it prints goes into files.
on() { nice -n "${NICE:-5}" timeout "$1" scripts/runtime.sh "$runtime" "${@:2}" >"$work/out" 2>"$work/log"; }
# row PART RUN RIGHT REMARK: of the table.
row() {
  (($2 == $3)) || failed=1
  echo "| $1 | $2 | $3 | $((SECONDS - began)) | $4 |" >>"$work/table"
  echo "$runtime: $1: $3 of $2 ${4:+($4)}" >&2
  began=$SECONDS
}
shown() { grep -vE '^ *$' "$work/log" "$work/out" -h | tail -n "$1" | cut -c1-200 | sed 's/^/    /' >&2; }

examples() {
  local all=0 right=0 example sizes
  for example in examples/*.lift; do
    read -ra sizes < <(sed -n 's/^-- test: *//p' "$example")
    "$liftc" eval "$example" "${sizes[@]}" --fill random:7 -o "$work/expected.npz" --quiet
    ((++all))
    if on 600 "$liftc" run "$example" "${sizes[@]}" --fill random:7 --expect "$work/expected.npz" "${options[@]}"; then
      ((++right))
    else
      echo "  $example: exit status $?" >&2 && shown 4
    fi
  done
  row examples "$all" "$right" ""
}
programs() {
  on 3000 build/test_programs_cl "${programs[@]}"
  local status=$?
  # Catch2's last lines: "All tests passed (N assertions in …", or "assertions: N | M passed | …".
  read -r checks passed < <(sed -nE 's/^All tests passed \(([0-9]+) assertions? in .*/\1 \1/p
    s/^assertions: *([0-9]+) \| *([0-9]+) passed.*/\1 \2/p' "$work/out") || true
  ((status == 0)) || grep -E '^( *[a-zA-Z_]+\.cpp|.*(FAILED|unexpected exception)|  )' "$work/out" | cut -c1-200 |
    head -n "${SHOWN:-12}" >&2
  local refused=$(grep -c '^without' "$work/out")
  ((refused > 0)) && refused="$refused of doubles refused" || refused=""
  row "tests/programs, checks" "${checks:-1}" "${passed:-0}" "$refused"
}
odd() {
  local families=${FAMILIES:-$("$liftc" conv ic8ih8oc8kh3ph1 check --family none 2>&1 | sed -n 's/^ *hint: its families are //p' | tr -d ,) tiled depthwise depthwiseTiled}
  local family layers images
  for family in $(tr ' ' '\n' <<<"$families" | sort -u); do
    grep -vE '^ *(#|$)' "${SHAPES:-shapes/odd.txt}" | awk -v s="$step" 'NR % s == 0' >"$work/layers"
    [[ $family == *Images ]] && images=1 || images=0  # for tests/oclgrind.sh
    IMAGES=$images on 3000 "$liftc" conv --shapes "$work/layers" check --family "$family" --no-tuned --repeat 1 --json "${options[@]}"
    # Where it takes no layer of the list there is this message only.
    if grep -q '^error: .* has no program for' "$work/log"; then
      sed 's/.*/{"error": "has no program for it"}/' "$work/layers" | paste -sd, | sed 's/.*/{"rows": [&]}/' >"$work/out"
    fi
    layers=$(wc -l <"$work/layers")
    read -r all right remark < <(python3 - "$layers" "$work/out" <<'PYTHON'
import json, sys
layers = int(sys.argv[1])
try:
    rows = json.load(open(sys.argv[2]))["rows"]
except Exception:
    rows = []
others = [r for r in rows if "has no program for" in r.get("error", "")]  # layers that the family is not for
wrong = [r for r in rows if r not in others and not r["ok"]]
zero = [r for r in rows if r.get("ok") and not r.get("ms")]
for r in wrong:
    print("  ", r["conv"], str(r.get("error") or r.get("max_rel_err"))[:180], file=sys.stderr)
missing = layers - len(rows)
remark = [f"{missing} layers not reached"] * (missing > 0) + [f"{len(zero)} times of zero"] * (len(zero) > 0)
print(layers - len(others), len(rows) - len(others) - len(wrong) - len(zero), ", ".join(remark))
PYTHON
    )
    [[ $remark != *reached* ]] || shown 3
    row "odd layers, $family" "$all" "$right" "$remark"
  done
}
tuning() {
  local points=${POINTS:-40}
  IMAGES=1 on 3000 "$liftc" tune --conv ic16ih14oc32kh3ph1 --points "$points" --db "$work/$runtime.db" --json "${options[@]}" || shown 3
  # Right: measured, in a time that is not zero, or said to be beyond the device's limits, or slower than tuning waits.
  read -r right remark < <(python3 - "$work/out" <<'PYTHON'
import json, sys
try:
    row = json.load(open(sys.argv[1]))["rows"][0]
    status = row["by_status"]
    best = row.get("best", {}).get("ms", 0)
    right = sum(n for s, n in status.items() if s in ("ok", "skipped", "build_timeout", "run_timeout")) if best > 0 else 0
    print(right, ", ".join(f"{n} {s}" for s, n in status.items()) + f"; best {best:.3g} ms")
except Exception as error:
    print(0, repr(error))
PYTHON
  )
  row "points of tuning" "$points" "$right" "$remark"
}

ratios() { # in turns
  for ((round = 0; round < ${ROUNDS:-3}; round++)); do
    for runtime in "${runtimes[@]}"; do
      export POCL_CACHE_DIR=$work/$runtime.cache
      mkdir -p "$POCL_CACHE_DIR"
      scripts/runtime.sh "$runtime" "$liftc" bench --shapes "${SHAPES:-shapes/vgg16.txt}" --peers onednn --no-tuned \
        --repetitions "${REPETITIONS:-5}" --json >"$work/ratios.$runtime.$round.json" 2>"$work/log" ||
        { failed=1 && tail -n 4 "$work/log"; }
    done
  done
}
print_ratios() { # RUNTIME…
  python3 - "$work" "${ROUNDS:-3}" "$@" <<'PYTHON'
import json, math, sys

work, rounds, *runtimes = sys.argv[1:]
ours, peers, table = {}, {}, {}
for runtime in runtimes:
    for r in range(int(rounds)):
        for row in json.load(open(f"{work}/ratios.{runtime}.{r}.json"))["rows"]:
            layer = row.get("name") or row["conv"]
            for times, key, ms in [(peers, layer, [p["ms"] for p in row["peers"].values() if p.get("ok")]),
                                   (ours, (layer, runtime), [row["ms"]] if row["ok"] else [])]:
                times[key] = sorted(ms + times.get(key, []))[:1]
for (layer, runtime), ms in ours.items():
    if ms and peers[layer]:
        table.setdefault(layer, {})[runtime] = peers[layer][0] / ms[0]
first, *others = runtimes
print("| Layer |" + "".join(f" {r} |" for r in runtimes) + "".join(f" {r} / {first} |" for r in others))
print("|---|" + "---|" * (len(runtimes) + len(others)))
def line(title, ratio):
    said = lambda x: " – |" if x is None else f" {x:.2f} |"
    by = [ratio[r] / ratio[first] if r in ratio and first in ratio else None for r in others]
    print(f"| {title} |" + "".join(said(ratio.get(r)) for r in runtimes) + "".join(map(said, by)))
for layer, ratio in table.items():
    line(layer, ratio)
whole = [ratio for ratio in table.values() if len(ratio) == len(runtimes)]
if whole:
    line(f"geometric mean of {len(whole)}",
         {r: math.exp(sum(math.log(ratio[r]) for ratio in whole) / len(whole)) for r in runtimes})
PYTHON
}

failed=0
for runtime in "${runtimes[@]}"; do
  scripts/runtime.sh "$runtime" || exit 1
  options=() programs=() step=${STEP:-1}
  # As tests/oclgrind.sh has it for test programs.
  [[ $runtime != oclgrind ]] || options=(--build-options=-cl-opt-disable) step=${STEP:-5}
  on 60 "$liftc" devices --json || { shown 4; exit 1; }
  device=$(sed -nE 's/^ *"(name|driver_version)": "(.*)",?$/\2/p' "$work/out" | head -n 2 | paste -sd ' ')
  printf '%s\n' "" "**$runtime**: $device" "" "| Part | Run | Right | Seconds | |" "|---|---|---|---|---|" >"$work/table"
  began=$SECONDS
  export POCL_CACHE_DIR=$work/$runtime.cache
  mkdir -p "$POCL_CACHE_DIR"
  wants examples && examples
  wants programs && programs
  wants odd && odd
  wants tuning && tuning
  wants ratios || cat "$work/table"
done
! wants ratios || { ratios && print_ratios "${runtimes[@]}"; }
exit "$failed"
