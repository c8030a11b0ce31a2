#!/usr/bin/env bash
# exports.sh [PROFILE…]: what `compile --profile` writes for devices that are not at hand, by default portable, mali-g72,
# adreno-630, intel-gpu, amd-gfx1030 and nvidia: built by every compiler of `liftc offline` that is found, and its
# host.c, with the host program of tests/host, run on every runtime that is found (PoCL, Intel's for processors, rusticl
# of Mesa; scripts/matrix.sh installs them). Prints a row for each profile and layer. Fails when a kernel for portable, a
# Mali or an Adreno does not build everywhere, one for another device for that; when one spills on the target of its own
# profile, or is wrong somewhere. TARGETS names the targets, by default all that are found.
set -uo pipefail
cd "$(dirname "$0")/.."

profiles=("$@")
(($# > 0)) || profiles=(portable mali-g72 adreno-630 intel-gpu amd-gfx1030 nvidia)
layers=("64 28 64 3 1 1" "3 64 32 3 2 1")  # input channels, input size, output channels, kernel, stride, padding
declare -A own=([mali-g72]=mali-g72 [adreno-630]=adreno-630 [intel-gpu]=dg2 [amd-gfx1030]=gfx1030 [nvidia]=sm_80)
liftc=$PWD/build/liftc here=$PWD/tests/host
[[ -x $liftc ]] || scripts/build.sh release liftc || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LIFTC_CACHE=off POCL_CACHE_DIR=$work/pocl XDG_CACHE_HOME=$work/cache XDG_DATA_HOME=$work/data
mkdir -p "$POCL_CACHE_DIR"

# Directories with one .icd file each.
declare -A vendors=()
for runtime in pocl=libpocl.so.2 intel=/opt/liftc-intel/lib/libintelocl.so rusticl=libRusticlOpenCL.so.1; do
  name=${runtime%%=*} library=${runtime#*=}
  [[ -e $library ]] || ldconfig -p | grep -F "$library" >/dev/null || continue
  mkdir "$work/$name.icd"
  echo "$library" >"$work/$name.icd/only.icd"
  vendors[$name]=$work/$name.icd
done

# tensor FILE SIZES…: random elements, by way of a program that returns its input.
tensor() {
  local file=$1 dims="" n
  shift
  for n in "$@"; do dims+="[$n]"; done
  echo "def tensor(x: ${dims}f32): ${dims}f32 = map(fun v => v, x)" >"$work/tensor.lift"
  "$liftc" eval "$work/tensor.lift" --fill random:7 -o "$file" --quiet
}

# What a JSON report of `liftc offline` says: of each target whether all kernels were built, and what they spill.
said() { # PROFILE OWN
  python3 -c '
import json, sys
(profile, own), failed, seen = sys.argv[1:], False, []
everywhere = profile in ("portable", "mali-g72", "mali-g57", "adreno-630")
for row in json.load(sys.stdin)["rows"]:
    kernels = row["kernels"]
    # libclc has no images for NVIDIA; its own compiler has.
    ok = all(k["ok"] or "ocl_image" in k["error"] for k in kernels)
    spills = sum(k.get("spills") or 0 for k in kernels)
    failed |= (not ok and (everywhere or row["target"] == own)) or (row["target"] == own and spills > 0)
    seen.append(row["target"] + ("" if ok else " FAILED") + (f" {spills} spills" if spills else ""))
print(", ".join(seen))
sys.exit(failed)' "$1" "$2"
}

failed=0
for sizes in "${layers[@]}"; do
  read -r ic ih oc kh sh ph <<<"$sizes"
  layer=mb1ic${ic}ih${ih}oc${oc}kh${kh}sh${sh}ph${ph}
  tensor "$work/input.npy" 1 "$ih" "$ih" "$ic" && tensor "$work/weights.npy" "$oc" "$kh" "$kh" "$ic" &&
    tensor "$work/biases.npy" "$oc" || exit 1
  OCL_ICD_VENDORS=${vendors[pocl]:?no PoCL} "$liftc" conv "$layer" run --family naive -i input="$work/input.npy" \
    -i weights="$work/weights.npy" -i biases="$work/biases.npy" -o "$work/expected.npy" >/dev/null 2>&1 || exit 1
  for profile in "${profiles[@]}"; do
    folder=$work/$layer.$profile
    "$liftc" conv "$layer" compile --profile "$profile" --no-tuned -o "$folder" >/dev/null 2>&1 || exit 1
    family=$(sed -nE 's/^  "family": "(.*)",$/\1/p' "$folder/manifest.json")
    built=$("$liftc" offline "$folder" --json ${TARGETS:+--target "$TARGETS"} 2>"$work/log" | said "$profile" "${own[$profile]:-}") || {
      failed=1
      head -n 3 "$work/log"
    }
    cc -std=c99 -DCL_TARGET_OPENCL_VERSION=120 -I"$folder" -I"$here" "$here/conv.c" "$folder/host.c" \
      -o "$folder/main" -lOpenCL -lm || exit 1
    ran=""
    for runtime in "${!vendors[@]}"; do
      if OCL_ICD_VENDORS=${vendors[$runtime]} RUSTICL_ENABLE=llvmpipe nice timeout 300 "$folder/main" \
        "$work/"{input,weights,biases,expected}.npy >"$work/log" 2>&1; then
        ran+="$runtime right, "
      else
        ran+="$runtime WRONG, " failed=1
        tail -n 2 "$work/log"
      fi
    done
    echo "| $profile | $layer | $family | ${built} | ${ran%, } |"
  done
done
exit "$failed"
