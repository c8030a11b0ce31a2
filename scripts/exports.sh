#!/usr/bin/env bash
# exports.sh [PROFILE…]: what `compile --profile` writes for devices that are not at hand, by default portable, mali-g72,
# mali-g57, adreno-630, intel-gpu, amd-gfx1030 and nvidia: layers, some of odd shapes, and programs, built by every compiler
# of `liftc offline` that is found, and its host.c, with the host program of tests/host, run on the runtimes of RUNTIMES
# (pocl intel rusticl; see scripts/runtime.sh). Prints a row for each profile and layer. Fails when a kernel does not
# build, for portable everywhere within the target's limits, for a device on its own target; when one spills there, or
# is wrong somewhere. TARGETS names the targets, by default all that are found; "own" is each profile's own.
# WORKS: other layers, and programs with their sizes, one a line.
# LIFTC names liftc, where it lies elsewhere.
set -uo pipefail
cd "$(dirname "$0")/.."

profiles=("$@")
(($# > 0)) || profiles=(portable mali-g72 mali-g57 adreno-630 intel-gpu amd-gfx1030 nvidia)
# Layers; programs and their sizes.
works=(mb1ic64ih28oc64kh3ph1 mb1ic3ih64oc32kh3sh2ph1 mb1ic19ih15oc33kh7ph3 mb2ic48ih14oc80kh1 mb1ic24ih17oc20kh5sh2ph2
  g4mb1ic32ih14oc48kh3ph1 g40mb1ic40ih14oc40kh3ph1 g7mb1ic7ih29oc7kh5sh2ph2
  "examples/matmul.lift m=33 n=65 k=40" "examples/dot.lift n=100000")
[[ -z ${WORKS:-} ]] || mapfile -t works <<<"$WORKS"
declare -A own=([mali-g72]=mali-g72 [mali-g57]=mali-g57 [adreno-630]=adreno-630 [intel-gpu]=dg2 [amd-gfx1030]=gfx1030 [nvidia]=sm_80)
liftc=${LIFTC:-$PWD/build/liftc} here=$PWD/tests/host
[[ -x $liftc ]] || scripts/build.sh release liftc || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LIFTC_CACHE=off POCL_CACHE_DIR=$work/pocl XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/data
mkdir -p "$POCL_CACHE_DIR"

read -ra runtimes <<<"${RUNTIMES:-pocl intel rusticl}"
for runtime in "${runtimes[@]}"; do scripts/runtime.sh "$runtime" || exit 1; done

# inputs FOLDER: of the plan that was compiled into it, a file of random elements for each input, as -i takes them, and
# the options that tests/host/program.c is built with.
inputs() {
  python3 - "$1/manifest.json" >"$work/inputs" <<'PYTHON'
import json, sys
manifest = json.load(open(sys.argv[1]))
name, inputs = manifest["name"], [b for b in manifest["buffers"] if b["role"] == "input"]
print(name)
print(", ".join(f"{name}_bytes_of_{b['name']}()" for b in inputs))
print(", ".join(f"in[{i}]" for i in range(len(inputs))))
for b in inputs:
    dims = "".join(f"[{n}]" for n in b["shape"])
    print(b["name"], f"def tensor(x: {dims}{b['type']}): {dims}{b['type']} = map(fun v => v, x)", sep="\t")
PYTHON
  { read -r name && read -r bytes && read -r arguments; } <"$work/inputs"
  files=() given=()
  local input program
  while IFS=$'\t' read -r input program; do
    echo "$program" >"$work/tensor.lift"
    "$liftc" eval "$work/tensor.lift" --fill random:7 -o "$work/$input.npy" --quiet || exit 1
    files+=("$work/$input.npy") given+=(-i "$input=$work/$input.npy")
  done < <(tail -n +4 "$work/inputs")
}

# What a JSON report of `liftc offline` says: of each target whether all kernels were built, and what they spill.
said() { # PROFILE OWN
  python3 -c '
import json, sys
(profile, own), failed, seen = sys.argv[1:], False, []
for row in json.load(sys.stdin)["rows"]:
    kernels = row["kernels"]
    # libclc has no images for NVIDIA; its own compiler has.
    built = all(k["built"] or "ocl_image" in k["error"] for k in kernels)
    within = all(k["ok"] for k in kernels)
    spills = sum(k.get("spills") or 0 for k in kernels)
    failed |= not built or (row["target"] == own and (not within or spills > 0)) or (profile == "portable" and not within)
    for k in kernels:
        if not k["built"] or (not k["ok"] and profile in ("portable", row["target"])):
            print(row["target"], k["kernel"], k["error"], sep=": ", file=sys.stderr)
    seen.append(row["target"] + ("" if within else " (beyond its limits)" if built else " FAILED") + (f" {spills} spills" if spills else ""))
print(", ".join(seen))
sys.exit(failed)' "$1" "$2"
}

failed=0
for what in "${works[@]}"; do
  read -ra words <<<"$what"
  if [[ $what == *.lift* ]]; then
    sizes=("${words[@]:1}")
    compile=(compile "${words[0]}" "${sizes[@]/#/-s}") reference=(eval "${words[0]}" "${sizes[@]/#/-s}")
  else
    compile=(conv "$what" compile --no-tuned) reference=(conv "$what" run --no-tuned --family naive)
  fi
  for profile in "${profiles[@]}"; do
    folder=$work/${words[0]##*/}.$profile
    "$liftc" "${compile[@]}" --profile "$profile" -o "$folder" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
    if [[ $profile == "${profiles[0]}" ]]; then
      inputs "$folder"
      scripts/runtime.sh pocl "$liftc" "${reference[@]}" "${given[@]}" -o "$work/expected.npy" \
        >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
    fi
    family=$(sed -nE 's/^  "family": "(.*)",$/\1/p' "$folder/manifest.json")
    targets=${TARGETS:-}
    [[ $targets != own ]] || targets=${own[$profile]:-spirv}
    # Its status is of all targets, of which each profile has its own.
    built=$({ "$liftc" offline "$folder" --json ${targets:+--target "$targets"} 2>"$work/log" || true; } |
      said "$profile" "${own[$profile]:-}") || failed=1
    cc -std=c99 -DCL_TARGET_OPENCL_VERSION=120 -DNAME="$name" -DSIZES="$bytes" -DINPUTS="$arguments" -I"$folder" -I"$here" \
      "$here/program.c" "$folder/host.c" -o "$folder/main" -lOpenCL -lm || exit 1
    ran=""
    for runtime in "${runtimes[@]}"; do
      if nice timeout 300 scripts/runtime.sh "$runtime" "$folder/main" "${files[@]}" "$work/expected.npy" \
        >"$work/log" 2>&1; then
        ran+="$runtime right, "
      else
        ran+="$runtime WRONG, " failed=1
        tail -n 2 "$work/log"
      fi
    done
    echo "| $profile | $what | $family | ${built} | ${ran%, } |"
  done
done
exit "$failed"
