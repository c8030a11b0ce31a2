#!/usr/bin/env bash
# matrix.sh [RUNTIME…]: runs liftc on OpenCL implementations beside each other, by default on all: pocl, oclgrind (a
# simulator, with 32 KiB of local memory and groups of 64), intel (Intel's runtime for processors, of PyPI, into
# /opt/liftc-intel), rusticl (Mesa 22.3 of Debian 12 on llvmpipe). Installs what is missing. On each: the examples, the
# programs of tests/programs, the layers of shapes/odd.txt in every family, and 40 points of tuning; prints what was run
# and what was right. Fails when something is wrong. SHAPES names other layers, POINTS another number of points,
# PARTS some of: examples programs odd tuning, FAMILIES some of the families. PARTS=ratios, which wants an idle machine,
# measures the layers of shapes/vgg16.txt (or SHAPES) beside oneDNN on each runtime instead: a table of the time of
# oneDNN's fastest by ours, and of each runtime's ratios by those of the first one. REPETITIONS (5), medians. LIFTC, INTEL
# and RUSTICL name liftc and the libraries of these runtimes, where they lie elsewhere.
set -uo pipefail
cd "$(dirname "$0")/.."

runtimes=("$@")
(($# > 0)) || runtimes=(pocl oclgrind intel rusticl)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
liftc=${LIFTC:-$PWD/build/liftc}
wants() { [[ " ${PARTS:-examples programs odd tuning} " == *" $1 "* ]]; }
needed=(liftc)
wants programs && needed+=(test_programs_cl)
for target in "${needed[@]}"; do
  [[ -x build/$target || ( $target == liftc && -x $liftc ) ]] || scripts/build.sh release "${needed[@]}" || exit 1
done
export LIFTC_CACHE=off POCL_CACHE_DIR=$work/pocl XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/data
unset LIFTC_DEVICE OCL_ICD_VENDORS
mkdir -p "$POCL_CACHE_DIR"
cp tests/oclgrind.sh "$work/oclgrind.sh"

install() { # PACKAGE
  dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed ||
    env DEBIAN_FRONTEND=noninteractive apt-get --quiet=2 install --yes --no-install-recommends "$1" >/dev/null
}
only() { # LIBRARY: the only driver that the loader is told of
  mkdir -p "$work/vendors"
  echo "$1" >"$work/vendors/only.icd"
  export OCL_ICD_VENDORS=$work/vendors
}

# Of each runtime: how a command runs on it.
setup() {
  unset OCL_ICD_VENDORS RUSTICL_ENABLE
  on=() options=()
  case $1 in
    pocl) install pocl-opencl-icd && export LIFTC_PLATFORM='Portable Computing Language' ;;
    oclgrind)
      install oclgrind && export LIFTC_PLATFORM=Oclgrind
      export OCLGRIND_OPTIONS="--local-mem-size 32768 --max-wgsize 64"
      on=("$work/oclgrind.sh") options=(--build-options=-cl-opt-disable)  # as oclgrind.sh has it for test programs
      ;;
    intel)
      local library=${INTEL:-/opt/liftc-intel/lib/libintelocl.so}
      if [[ ! -e $library ]]; then
        install python3-venv
        python3 -m venv /opt/liftc-intel && /opt/liftc-intel/bin/pip install --quiet intel-opencl-rt intel-cmplr-lib-rt
      fi
      only "$library" && export LIFTC_PLATFORM=Intel
      ;;
    rusticl)
      [[ -n ${RUSTICL:-} ]] || install mesa-opencl-icd
      only "${RUSTICL:-libRusticlOpenCL.so.1}" && export LIFTC_PLATFORM=rusticl RUSTICL_ENABLE=llvmpipe
      ;;
    *) echo "matrix: no runtime '$1'" >&2 && return 1 ;;
  esac
}

# run TITLE COMMAND…: counts a command, and shows the end of what it said when it fails. A layer that a family has no
# program for is not counted.
run() {
  local status=0
  nice timeout 600 "${on[@]}" "${@:2}" >"$work/log" 2>&1 || status=$?
  ! grep -q "has no program for" "$work/log" || return 1
  ((++all))
  if ((status == 0)); then
    ((++right))
    return 0
  fi
  echo "  $1: exit status $status"
  grep -vE '^ *$' "$work/log" | tail -n 4 | cut -c1-200 | sed 's/^/    /'
  return 1
}
counted() { # TITLE
  echo "$runtime: $1: $right of $all right"
  ((right == all)) || failed=1
  right=0 all=0
}

examples() {
  for example in examples/*.lift; do
    read -ra sizes < <(sed -n 's/^-- test: *//p' "$example")
    "$liftc" eval "$example" "${sizes[@]}" --fill random:7 -o "$work/expected.npz" --quiet
    run "$example" "$liftc" run "$example" "${sizes[@]}" --fill random:7 --expect "$work/expected.npz" \
      "${options[@]}"
  done
  counted examples
}
programs() {
  nice timeout 1800 "${on[@]}" build/test_programs_cl >"$work/programs" 2>&1 || failed=1
  echo "$runtime: programs: $(grep -E '^(test cases:|All tests passed)' "$work/programs" || tail -n 2 "$work/programs")"
  grep -E '^( *[a-zA-Z_]+\.cpp|.*(FAILED|unexpected exception)|  )' "$work/programs" | cut -c1-200 | head -n "${SHOWN:-12}"
}
odd() {
  # Of simulators only every fourth layer.
  step=1
  [[ $runtime == oclgrind ]] && step=4
  for family in ${FAMILIES:-naive blocked paper tiled tiledImages staged depthwise im2col winograd winograd2 winograd6 winogradFused}; do
    zero=0
    while read -r layer; do
      layer=${layer%%n\"*}
      run "$family $layer" "$liftc" conv "$layer" check --family "$family" --no-tuned --repeat 1 --json "${options[@]}"
      if grep -qE '"ms": 0(\.0)?,' "$work/log"; then ((zero++)); fi
    done < <(grep -vE '^ *(#|$)' "${SHAPES:-shapes/odd.txt}" | awk -v s="$step" 'NR % s == 0')
    ((zero == 0)) || { echo "$runtime: $zero times of zero" && failed=1; }
    counted "odd layers, $family"
  done
}
tuning() {
  run tune "$liftc" tune --conv ic16ih14oc32kh3ph1 --points "${POINTS:-40}" --db "$work/$runtime.db" --quiet "${options[@]}"
  right=0 all=0
  echo "$runtime: tuning: $("$liftc" db list --db "$work/$runtime.db" 2>/dev/null | tail -n +2 | awk '{n++} END {print n+0}') rows; $(grep -E 'best|points' "$work/log" | tail -n 2 | tr '\n' ' ')"
}

ratios() {
  "$liftc" bench --shapes "${SHAPES:-shapes/vgg16.txt}" --peers onednn --no-tuned \
    --repetitions "${REPETITIONS:-5}" --json >"$work/ratios.$runtime.json" 2>"$work/log" ||
    { failed=1 && tail -n 4 "$work/log"; }
}
print_ratios() { # RUNTIME…
  python3 - "$work" "$@" <<'PYTHON'
import json, math, sys

work, *runtimes = sys.argv[1:]
table = {}
for runtime in runtimes:
    for row in json.load(open(f"{work}/ratios.{runtime}.json"))["rows"]:
        times = [p["ms"] for p in row["peers"].values() if p.get("ok")]
        if row["ok"] and times:
            table.setdefault(row.get("name") or row["conv"], {})[runtime] = min(times) / row["ms"]
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
  setup "$runtime" || exit 1
  right=0 all=0
  run "device" "$liftc" devices --json && grep -m1 '"name"' "$work/log" | sed "s/^/$runtime:/"
  right=0 all=0
  wants examples && examples
  wants programs && programs
  wants odd && odd
  wants tuning && tuning
  wants ratios && ratios
done
! wants ratios || print_ratios "${runtimes[@]}"
exit "$failed"
